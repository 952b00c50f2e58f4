//! Names of files and directories.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use klog::format::names::{
    CLUSTER_METADATA_TOPIC, DirKind, FileState, SegmentFile, SegmentFileKind, check_topic,
    classify_dir, parse_topic_partition,
};
use klog::types::{Offset, TopicPartition};

pub(super) fn body(data: &[u8]) {
    let name = OsStr::from_bytes(data);
    if let Some(file) = SegmentFile::parse(name) {
        assert_eq!(
            file.name().as_bytes(),
            data,
            "a file is written as its name was read"
        );
        assert!(file.offset.0 >= 0);
        for state in [
            FileState::Live,
            FileState::Cleaned,
            FileState::Swap,
            FileState::Deleted,
        ] {
            let other = file.in_state(state);
            assert_eq!(SegmentFile::parse(OsStr::new(&other.name())), Some(other));
        }
    }
    let of = match classify_dir(name) {
        DirKind::Log(partition) | DirKind::Future(partition) => Some(partition),
        _ => None,
    };
    if let Some(partition) = of {
        assert!(!partition.topic.is_empty() && &*partition.topic != CLUSTER_METADATA_TOPIC);
        assert_eq!(
            parse_topic_partition(&partition.to_string()),
            Some(partition)
        );
    }
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    // Each topic that may be made has a directory that is known again.
    if check_topic(text).is_ok() && text != CLUSTER_METADATA_TOPIC {
        for number in [0, 1, i32::MAX] {
            let partition = TopicPartition::new(text, number);
            let name = partition.to_string();
            assert_eq!(
                classify_dir(OsStr::new(&name)),
                DirKind::Log(partition.clone())
            );
            let unique = "0123456789abcdef0123456789abcdef";
            assert_eq!(
                classify_dir(OsStr::new(&format!("{name}.{unique}-future"))),
                DirKind::Future(partition)
            );
            assert_eq!(
                classify_dir(OsStr::new(&format!("{name}.{unique}-delete"))),
                DirKind::Delete
            );
            assert_eq!(
                classify_dir(OsStr::new(&format!("{name}.{unique}-stray"))),
                DirKind::Stray
            );
        }
    }
}

pub(super) fn seeds() -> Vec<Vec<u8>> {
    let file = |offset, kind, state| {
        SegmentFile {
            offset: Offset(offset),
            kind,
            state,
        }
        .name()
        .into_bytes()
    };
    let mut seeds = vec![
        file(0, SegmentFileKind::Log, FileState::Live),
        file(42, SegmentFileKind::TimeIndex, FileState::Swap),
        file(i64::MAX, SegmentFileKind::Snapshot, FileState::Deleted),
        file(7, SegmentFileKind::TxnIndex, FileState::Cleaned),
    ];
    for name in [
        "orders-3",
        "orders--1",
        "a.b_c-d-12",
        "a-1.0123456789abcdef0123456789abcdef-future",
        "a-1.0123456789abcdef0123456789abcdef-delete",
        "a-1.u-stray",
        "__cluster_metadata-0",
        "remote-log-index-cache",
        "lost+found",
        "a-2147483648",
        "99999999999999999999.log",
        "-delete-0",
    ] {
        seeds.push(name.as_bytes().to_vec());
    }
    seeds
}
