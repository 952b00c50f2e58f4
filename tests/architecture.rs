//! The shape of the sources: imports point downwards only, `unsafe` stays in its rooms, bytes and state machines do no I/O,
//! every file says what it is for (design.md 2; style.md 2).
#![allow(clippy::unwrap_used, clippy::disallowed_methods)]

use std::fs;
use std::path::{Path, PathBuf};

/// The layers, the highest first. Those in one row do not see each other.
const LAYERS: [&[&str]; 11] = [
    &["ffi", "bin"],
    &["inspect", "service"],
    &["manager"],
    &["cleaner"],
    &["log"],
    &["segment"],
    &["state"],
    &["format"],
    &["io"],
    &["config"],
    &["error", "types"],
];

struct Source {
    path: PathBuf,
    layer: String,
    text: String,
}

impl Source {
    /// Its lines of code with their numbers, without comments.
    fn code(&self) -> impl Iterator<Item = (usize, &str)> {
        let lines = self
            .text
            .lines()
            .enumerate()
            .map(|(i, line)| (i + 1, line.trim_start()));
        lines
            .filter(|(_, line)| !line.starts_with("//"))
            .map(|(i, line)| (i, line.split(" // ").next().unwrap()))
    }

    fn is_test(&self) -> bool {
        let name = self.path.file_name().unwrap().to_str().unwrap();
        name == "tests.rs"
            || self
                .path
                .components()
                .any(|part| part.as_os_str() == "tests")
    }

    /// The code before the unit tests at the file's end.
    fn product_code(&self) -> impl Iterator<Item = (usize, &str)> {
        self.code()
            .take_while(|(_, line)| !line.starts_with("#[cfg(test)]"))
    }

    fn at(&self, line: usize) -> String {
        format!("{}:{line}", self.path.display())
    }
}

fn sources() -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut found = Vec::new();
    let mut todo = vec![root.clone()];
    while let Some(dir) = todo.pop() {
        for entry in fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                todo.push(path);
                continue;
            }
            let inside = path.strip_prefix(&root).unwrap();
            let layer = inside
                .components()
                .next()
                .unwrap()
                .as_os_str()
                .to_str()
                .unwrap();
            let layer = layer.trim_end_matches(".rs").to_owned();
            let text = fs::read_to_string(&path).unwrap();
            found.push(Source { path, layer, text });
        }
    }
    assert!(
        found.len() > 100,
        "the sources are elsewhere: {} files",
        found.len()
    );
    found
        .into_iter()
        .filter(|source| source.layer != "lib")
        .collect()
}

fn rank(layer: &str) -> Option<usize> {
    LAYERS.iter().position(|row| row.contains(&layer))
}

/// Where each name of a layer after `crate::` or `klog::` stands in a line.
fn imports(line: &str) -> Vec<String> {
    let mut found = Vec::new();
    for root in ["crate::", "klog::"] {
        for (at, _) in line.match_indices(root) {
            let rest = &line[at + root.len()..];
            match rest.strip_prefix('{').map(|group| group.split_once('}')) {
                None => found.push(name(rest)),
                Some(Some((group, _))) => {
                    found.extend(group.split(',').map(|part| name(part.trim())));
                }
                Some(None) => unreachable!("one layer a line, please: {line}"),
            }
        }
    }
    found
}

fn name(text: &str) -> String {
    text.chars()
        .take_while(|c| c.is_ascii_alphanumeric() || *c == '_')
        .collect()
}

#[test]
fn imports_point_downwards_only() {
    let mut wrong = Vec::new();
    let mut count = 0;
    for source in sources() {
        let own = rank(&source.layer).unwrap_or_else(|| {
            unreachable!(
                "{} is in no layer: say in LAYERS where it belongs",
                source.layer
            )
        });
        for (number, line) in source.code() {
            for target in imports(line) {
                let Some(other) = rank(&target) else { continue };
                count += 1;
                if target != source.layer && other <= own {
                    wrong.push(format!(
                        "{}: {} sees {target}",
                        source.at(number),
                        source.layer
                    ));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(count > 300, "imports are not recognised any more: {count}");
}

#[test]
fn unsafe_is_only_where_the_system_and_c_begin() {
    for source in sources() {
        if ["io", "ffi"].contains(&source.layer.as_str()) {
            continue;
        }
        for (number, line) in source.code() {
            assert!(
                !line.contains("unsafe "),
                "{}: unsafe outside of io and ffi",
                source.at(number)
            );
        }
    }
}

#[test]
fn formats_and_state_machines_do_no_io_and_hold_no_lock() {
    let words = [
        "std::fs",
        "std::net",
        "parking_lot",
        "Mutex",
        "RwLock",
        "Atomic",
        "crate::io",
        "std::thread",
    ];
    for source in sources()
        .iter()
        .filter(|s| ["format", "state"].contains(&s.layer.as_str()))
    {
        for (number, line) in source.product_code() {
            for word in words {
                assert!(!line.contains(word), "{}: {word}", source.at(number));
            }
        }
    }
}

#[test]
fn every_file_says_what_it_is_for_and_is_ascii() {
    for source in sources() {
        let is_style = source.path.extension().is_some_and(|end| end == "css");
        let head = if is_style { "/* " } else { "//! " };
        assert!(
            source.text.starts_with(head),
            "{} does not say what it is for",
            source.path.display()
        );
        assert!(
            source.text.is_ascii(),
            "{} holds more than ASCII",
            source.path.display()
        );
    }
}

#[test]
fn every_file_holds_one_concept() {
    for source in sources() {
        let lines = source.text.lines().count();
        assert!(
            lines <= 700,
            "{} has {lines} lines: it has two concepts",
            source.path.display()
        );
    }
}

#[test]
fn nothing_is_left_for_later_in_the_code() {
    for source in sources() {
        for (number, line) in source.code() {
            for word in ["todo!", "unimplemented!", "dbg!(", "TODO", "FIXME"] {
                assert!(!line.contains(word), "{}: {word}", source.at(number));
            }
        }
        assert!(
            source.is_test() || !source.text.contains("#[ignore"),
            "{}: an ignored test shows nothing",
            source.path.display()
        );
    }
}
