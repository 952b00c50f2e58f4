//! `kafka-4.4.0-mixed.cleaned.txt` taken apart (fixtures/README.md 3.2).

use std::collections::BTreeMap;

use super::fixture;

/// One log cleaned under one set of settings.
#[derive(Clone, Debug, Default)]
pub(crate) struct Case {
    pub(crate) partition: String,
    pub(crate) letter: String,
    settings: BTreeMap<String, String>,
    pub(crate) passes: Vec<Pass>,
    /// The log's text after the last pass.
    pub(crate) text: Vec<String>,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Pass {
    settings: BTreeMap<String, String>,
    /// The `cleaned` line.
    pub(crate) cleaned: String,
    /// The `after` line.
    pub(crate) after: String,
}

fn settings(words: &str) -> BTreeMap<String, String> {
    let pairs = words.split(' ').filter_map(|word| word.split_once('='));
    pairs.map(|(k, v)| (k.to_owned(), v.to_owned())).collect()
}

impl Case {
    pub(crate) fn get(&self, key: &str) -> &str {
        &self.settings[key]
    }

    pub(crate) fn rolls(&self) -> bool {
        self.get("roll") == "1"
    }

    pub(crate) fn topic(&self) -> &str {
        self.partition.rsplit_once('-').unwrap().0
    }

    /// The topic keys that the log has.
    pub(crate) fn config(&self) -> Vec<(&'static str, String)> {
        let mut config = vec![("cleanup.policy", "compact".to_owned())];
        for (key, name) in [
            ("internal.segment.bytes", "segment_bytes"),
            ("segment.index.bytes", "index_bytes"),
            ("index.interval.bytes", "index_interval"),
            ("delete.retention.ms", "delete_retention_ms"),
            ("max.message.bytes", "max_message"),
        ] {
            config.push((key, self.get(name).to_owned()));
        }
        config
    }
}

impl Pass {
    pub(crate) fn number(&self, key: &str) -> i64 {
        self.settings[key].parse().unwrap()
    }
}

pub(crate) fn cases() -> Vec<Case> {
    let text = fixture::text("kafka-4.4.0-mixed.cleaned.txt");
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("cleaned 1"));
    let mut cases: Vec<Case> = Vec::new();
    for line in lines {
        if let Some(rest) = line.strip_prefix("case ") {
            let mut words = rest.splitn(3, ' ');
            cases.push(Case {
                partition: words.next().unwrap().to_owned(),
                letter: words.next().unwrap().to_owned(),
                settings: settings(words.next().unwrap()),
                ..Case::default()
            });
            continue;
        }
        let case = cases.last_mut().unwrap();
        match line.split(' ').next().unwrap() {
            "pass" => case.passes.push(Pass {
                settings: settings(line),
                ..Pass::default()
            }),
            "cleaned" => line.clone_into(&mut case.passes.last_mut().unwrap().cleaned),
            "after" => line.clone_into(&mut case.passes.last_mut().unwrap().after),
            _ => case.text.push(line.to_owned()),
        }
    }
    assert_eq!(cases.len(), 32);
    cases
}

/// A line without what depends on how well a compressor does; nothing is left of one that is all about it.
pub(crate) fn without_sizes(line: &str) -> Option<String> {
    let first = line.split(' ').next().unwrap();
    // Where entries are due depends on the bytes of the batches before.
    if first == "oi" || first == "ti" {
        return None;
    }
    let words = line.split(' ').filter(|word| {
        ![
            "pos=",
            "size=",
            "crc=",
            "bytes_read=",
            "bytes_written=",
            "clean_bytes=",
            "cleanable_bytes=",
        ]
        .iter()
        .any(|key| word.starts_with(key))
    });
    // `after BASE:SIZE ...`
    let words = words.map(|word| match first {
        "after" => word.split(':').next().unwrap(),
        _ => word,
    });
    Some(words.collect::<Vec<_>>().join(" "))
}
