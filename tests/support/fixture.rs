//! The archives of `tests/fixtures` and what is expected of them.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;
use tempfile::TempDir;

use super::tree;

/// Every archive.
pub(crate) const NAMES: [&str; 8] = [
    "kafka-3.9.1-clean",
    "kafka-4.4.0-broker",
    "kafka-4.4.0-crash",
    "kafka-4.4.0-mixed",
    "kafka-4.4.0-torn",
    "kafka-4.4.0-torn-checkpoint",
    "kafka-4.4.0-torn-clean",
    "kafka-legacy",
];

/// A log directory from an archive, unpacked with its times; gone when dropped.
pub(crate) struct Fixture {
    pub(crate) dir: PathBuf,
    _root: TempDir,
}

/// The folder of the archives.
pub(crate) fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures")
}

pub(crate) fn extract(name: &str) -> Fixture {
    let root = tree::scratch();
    let archive = fs::File::open(folder().join(format!("{name}.tar.gz"))).unwrap();
    tar::Archive::new(GzDecoder::new(archive))
        .unpack(root.path())
        .unwrap();
    Fixture {
        dir: root.path().join(name),
        _root: root,
    }
}

/// Kafka's canonical text of an archive.
pub(crate) fn expected(name: &str) -> String {
    text(&format!("{name}.expected.txt"))
}

/// A text of the folder, plain or packed.
pub(crate) fn text(name: &str) -> String {
    let plain = folder().join(name);
    if plain.is_file() {
        return fs::read_to_string(plain).unwrap();
    }
    let mut text = String::new();
    let packed = fs::File::open(folder().join(format!("{name}.gz"))).unwrap();
    GzDecoder::new(packed).read_to_string(&mut text).unwrap();
    text
}

/// A line of `deviating.txt`: partitions whose text klog does not share with Kafka.
#[derive(Clone, Debug)]
pub(crate) struct Deviating {
    /// `torn` or `torn-clean`.
    pub(crate) archive: String,
    /// The name without `t-` and `-0`; `*` stands for anything.
    pub(crate) pattern: String,
    /// Rows of deviations.md.
    pub(crate) rules: Vec<String>,
}

impl Deviating {
    /// Whether it is about this partition of this archive.
    pub(crate) fn covers(&self, archive: &str, partition: &str) -> bool {
        archive == format!("kafka-4.4.0-{}", self.archive)
            && damage_of(partition).is_some_and(|name| matches(&self.pattern, name))
    }
}

/// The name of the damage of a torn partition: `t-NAME-0`.
pub(crate) fn damage_of(partition: &str) -> Option<&str> {
    partition.strip_prefix("t-")?.strip_suffix("-0")
}

pub(crate) fn deviating() -> Vec<Deviating> {
    let list = fs::read_to_string(folder().join("deviating.txt")).unwrap();
    let lines = list
        .lines()
        .filter(|line| !line.starts_with('#') && !line.is_empty());
    lines
        .map(|line| {
            let fields: Vec<&str> = line.split_whitespace().collect();
            let [archive, pattern, rules] = fields[..] else {
                panic!("bad line of deviating.txt: {line}")
            };
            Deviating {
                archive: archive.to_owned(),
                pattern: pattern.to_owned(),
                rules: rules.split(',').map(str::to_owned).collect(),
            }
        })
        .collect()
}

fn matches(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((front, rest)) => name.strip_prefix(front).is_some_and(|behind| {
            (0..=behind.len()).any(|skipped| {
                behind.is_char_boundary(skipped) && matches(rest, &behind[skipped..])
            })
        }),
    }
}
