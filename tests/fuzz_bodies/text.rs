//! The text files of a log directory, and configurations.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use klog::config::{ConfigSet, parse_properties};
use klog::format::checkpoint;
use klog::format::epoch_checkpoint::{self, EpochEntry};
use klog::format::meta_properties;
use klog::format::partition_metadata;
use klog::format::uuid::Uuid;
use klog::state::epochs::EpochCache;
use klog::types::{LeaderEpoch, Offset, TopicPartition};
use klog::{Error, ErrorKind};

fn assert_kind(error: &Error, kind: ErrorKind) {
    assert_eq!(error.kind(), kind, "{error:?}");
    assert!(!error.message().is_empty());
}

pub(super) fn offset_checkpoint(data: &[u8]) {
    match checkpoint::parse(data) {
        Ok(offsets) => {
            let written = checkpoint::write(&offsets);
            assert_eq!(checkpoint::parse(&written).unwrap(), offsets);
            assert_eq!(
                checkpoint::write(&checkpoint::parse(&written).unwrap()),
                written
            );
        }
        Err(error) => {
            assert_kind(&error, ErrorKind::CorruptState);
            assert!(
                error.record_index().is_some_and(|line| line >= 1),
                "the line is named"
            );
        }
    }
}

pub(super) fn offset_seeds() -> Vec<Vec<u8>> {
    let offsets = [
        (TopicPartition::new("orders", 0), Offset(1234)),
        (TopicPartition::new("a.b_c-d", 12), Offset(0)),
    ];
    let mut seeds = vec![checkpoint::write(&offsets.into_iter().collect())];
    for text in [
        "",
        "0",
        "0\n",
        "0\n0\n",
        "0\r\n1\r\nt 0 5\r\n",
        "0\n1\nt\t0   5\n",
        "0\n1\nt +0 -5",
        "0\r1\rt 0 5\r",
    ] {
        seeds.push(text.into());
    }
    seeds.push(b"0\n2\nt 0 9223372036854775807\nt 0 -9223372036854775808\n".to_vec());
    seeds
}

pub(super) fn epoch_checkpoint(data: &[u8]) {
    let entries = match epoch_checkpoint::parse(data) {
        Ok(entries) => entries,
        Err(error) => return assert_kind(&error, ErrorKind::CorruptState),
    };
    assert_eq!(
        epoch_checkpoint::parse(&epoch_checkpoint::write(&entries)).unwrap(),
        entries
    );
    let cache = EpochCache::from_lines(&entries);
    let rising = |entries: &[EpochEntry]| {
        entries.is_sorted_by(|a, b| a.epoch < b.epoch && a.start_offset < b.start_offset)
    };
    assert!(rising(cache.entries()));
    assert_eq!(EpochCache::from_lines(cache.entries()), cache);
    assert_eq!(
        cache.latest(),
        entries.last().map(|e| e.epoch),
        "the last line always counts"
    );
    for entry in &entries {
        for offset in [
            entry.start_offset,
            entry.start_offset + 1,
            entry.start_offset + -1,
        ] {
            let naive = cache
                .entries()
                .iter()
                .rfind(|e| e.start_offset <= offset)
                .map(|e| e.epoch);
            assert_eq!(cache.epoch_for_offset(offset), naive);
            let (mut cut, mut begun) = (cache.clone(), cache.clone());
            let _ = cut.truncate_from_end(offset);
            assert!(
                cut.entries()
                    .iter()
                    .all(|e| e.start_offset < offset || offset.0 < 0)
            );
            let _ = begun.truncate_from_start(offset);
            assert!(rising(cut.entries()) && rising(begun.entries()));
            assert_eq!(
                begun.epoch_for_offset(offset),
                naive,
                "who holds the start stays"
            );
        }
        let end = cache.end_offset_for(entry.epoch, Offset::MAX);
        assert!(end.is_none_or(|(epoch, _)| epoch <= entry.epoch));
    }
}

pub(super) fn epoch_seeds() -> Vec<Vec<u8>> {
    let entries: Vec<EpochEntry> = [(0, 0), (3, 1500), (4, 1501)]
        .map(|(e, o)| EpochEntry {
            epoch: LeaderEpoch(e),
            start_offset: Offset(o),
        })
        .to_vec();
    let mut seeds = vec![
        epoch_checkpoint::write(&entries),
        epoch_checkpoint::write(&[]),
    ];
    for text in [
        "0\n3\n5 10\n3 20\n4 5\n",
        "0\n1\n2147483647 9223372036854775807\n",
        "0\n1\n0  0\r\n",
        "0\n2\n0 0\n",
    ] {
        seeds.push(text.into());
    }
    seeds
}

pub(super) fn partition_metadata(data: &[u8]) {
    match partition_metadata::parse(data) {
        Ok(id) => {
            assert_ne!(id, Uuid::ZERO);
            assert_eq!(
                partition_metadata::parse(&partition_metadata::write(id)).unwrap(),
                id
            );
        }
        Err(error) => assert_kind(&error, ErrorKind::CorruptState),
    }
    // The text of an id, and its bytes.
    if let Ok(text) = std::str::from_utf8(data)
        && let Ok(id) = Uuid::parse(text)
    {
        assert_eq!(Uuid::parse(&id.to_string()).unwrap(), id);
    }
    if let Some(bytes) = data.first_chunk() {
        let id = Uuid(*bytes);
        assert_eq!(Uuid::parse(&id.to_string()).unwrap(), id);
        assert_eq!(id.to_string().len(), 22);
        assert!(!id.is_reserved() || bytes[..8] == [0; 8]);
    }
}

pub(super) fn metadata_seeds() -> Vec<Vec<u8>> {
    let mut seeds = vec![partition_metadata::write(Uuid([7; 16]))];
    for text in [
        "version: 1\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ\nmore\n",
        "version: 0\nanything:  AAAAAAAAAAAAAAAAAAAAAQ",
        "version: 0\n",
        "AAAAAAAAAAAAAAAAAAAAAQ==",
        "0123456789abcdef",
    ] {
        seeds.push(text.into());
    }
    seeds
}

pub(super) fn meta_properties(data: &[u8]) {
    let all = match meta_properties::properties(data) {
        Ok(all) => all,
        Err(error) => {
            assert_kind(&error, ErrorKind::CorruptState);
            assert!(meta_properties::parse(data).is_err());
            return;
        }
    };
    assert!(all.is_sorted_by(|a, b| a.0 < b.0), "each key once");
    // The same properties written plainly, with every character escaped that could mean something.
    let text: String = all
        .iter()
        .flat_map(|(key, value)| [escaped(key), "=".into(), escaped(value), "\n".into()])
        .collect();
    assert_eq!(meta_properties::properties(text.as_bytes()).unwrap(), all);
    match meta_properties::parse(data) {
        Ok(meta) => assert_eq!(meta_properties::parse(text.as_bytes()).unwrap(), meta),
        Err(error) => assert_kind(&error, ErrorKind::CorruptState),
    }
}

fn escaped(text: &str) -> String {
    let mut out = String::new();
    for unit in text.encode_utf16() {
        let _ = write!(out, "\\u{unit:04x}");
    }
    out
}

pub(super) fn properties_seeds() -> Vec<Vec<u8>> {
    [
        "#\n#Mon Nov 30 02:52:59 UTC 2026\nnode.id=1\ndirectory.id=Ehx7oGy6RYuFZd6eHiM37g\nversion=1\n\
         cluster.id=JgxuGe9URy-E-ceaL04lEw\n",
        "version=0\nbroker.id=7\ncluster.id=x\n",
        "version=1\nnode.id=1\ncluster.id=\\u0041\\\n  b\\=c\n",
        "a : b\r\n! c\r\nd\\ e=f\\\\\n",
        "directory.id=AAAAAAAAAAAAAAAAAAAAAQ==\n\\uD83D\\uDE00=1",
    ]
    .map(Into::into)
    .to_vec()
}

pub(super) fn config(data: &[u8]) {
    let parsed = parse_properties(data);
    if let Ok(properties) = &parsed {
        assert!(properties.is_sorted_by(|a, b| a.line < b.line));
        let keys: BTreeSet<_> = properties.iter().map(|p| &p.key).collect();
        assert_eq!(keys.len(), properties.len(), "of each key the last counts");
    }
    for empty in [ConfigSet::broker(), ConfigSet::topic()] {
        let mut set = empty.clone();
        let loaded = set.load_properties(data);
        let Ok(properties) = &parsed else {
            assert_kind(&loaded.unwrap_err(), ErrorKind::InvalidConfig);
            assert_eq!(set, empty, "an error leaves nothing behind");
            continue;
        };
        if let Err(error) = loaded {
            assert_kind(&error, ErrorKind::InvalidConfig);
            assert_eq!(set, empty, "an error leaves nothing behind");
        } else {
            // What a key says is what it may be set to.
            for property in properties {
                if let Ok(Some(value)) = set.get(&property.key) {
                    let mut again = empty.clone();
                    again.set(&property.key, &value).unwrap();
                    assert_eq!(again.get(&property.key).unwrap(), Some(value));
                }
            }
        }
        if let Ok(resolved) = set.resolve() {
            assert_eq!(set.resolve().unwrap(), resolved);
            let topics: Vec<String> = resolved.topics().map(str::to_owned).collect();
            for topic in topics {
                let _ = resolved.log_config(&topic).max_segment_ms();
            }
        }
    }
}

pub(super) fn config_seeds() -> Vec<Vec<u8>> {
    [
        "log.retention.hours=24\nlog.segment.bytes=16777216\ntopic.audit.cleanup.policy=compact\n",
        "log.dirs=/a,/b\nnum.recovery.threads.per.data.dir=4\nlog.cleaner.dedupe.buffer.size=134217728\n",
        "cleanup.policy=compact,delete\nmin.cleanable.dirty.ratio=0.5\nsegment.bytes=1048576\nretention.ms=-1\n",
        "compression.type=zstd\ncompression.zstd.level=-5\nmessage.timestamp.type=LogAppendTime\n",
        "topic.a.b.segment.bytes=1048576\ntopic.x.internal.segment.bytes=100\nunknown.key=1\n",
        "log.roll.ms=\nlog.index.size.max.bytes=12\nlog.message.format.version=3.0\n",
    ]
    .map(Into::into)
    .to_vec()
}
