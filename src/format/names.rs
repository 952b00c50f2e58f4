//! Names of files and directories. Implements records.md 11.6, 11.9-11.11, manager.md 2.6, 2.7, log.md 8.1.

use std::ffi::OsStr;
use std::fmt::Write as _;

use super::uuid::Uuid;
use crate::error::{Error, ErrorKind, Result};
use crate::types::{Offset, TopicPartition};

/// Decimal digits of an offset in a file name.
const OFFSET_DIGITS: usize = 20;
/// The longest name of a topic.
pub const MAX_TOPIC_CHARS: usize = 249;
/// Longest name of a directory, in bytes.
pub const MAX_NAME_BYTES: usize = 255;
/// The topic of KRaft's own log, which no log manager touches.
pub const CLUSTER_METADATA_TOPIC: &str = "__cluster_metadata";
/// A directory of tiered storage, which no log manager touches.
pub const REMOTE_INDEX_CACHE: &str = "remote-log-index-cache";

/// What a file of a segment holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SegmentFileKind {
    /// `.log`: the batches.
    Log,
    /// `.index`: offsets to positions.
    OffsetIndex,
    /// `.timeindex`: timestamps to offsets.
    TimeIndex,
    /// `.txnindex`: aborted transactions.
    TxnIndex,
    /// `.snapshot`: producer state up to the offset in the name.
    Snapshot,
}

impl SegmentFileKind {
    const ALL: [(Self, &'static str); 5] = [
        (Self::Log, ".log"),
        (Self::OffsetIndex, ".index"),
        (Self::TimeIndex, ".timeindex"),
        (Self::TxnIndex, ".txnindex"),
        (Self::Snapshot, ".snapshot"),
    ];

    /// The four files that make a segment, in the order in which they are renamed and removed (records.md 11.8).
    pub const OF_SEGMENT: [Self; 4] = [
        Self::Log,
        Self::OffsetIndex,
        Self::TimeIndex,
        Self::TxnIndex,
    ];

    /// The end of the name, with its dot.
    #[must_use]
    pub const fn extension(self) -> &'static str {
        match self {
            Self::Log => ".log",
            Self::OffsetIndex => ".index",
            Self::TimeIndex => ".timeindex",
            Self::TxnIndex => ".txnindex",
            Self::Snapshot => ".snapshot",
        }
    }
}

/// In what state a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FileState {
    /// In use.
    Live,
    /// `.cleaned`: being written by the cleaner or a split.
    Cleaned,
    /// `.swap`: complete, about to replace others.
    Swap,
    /// `.deleted`: waiting for its removal.
    Deleted,
}

impl FileState {
    /// What is behind the kind's extension.
    #[must_use]
    pub const fn suffix(self) -> &'static str {
        match self {
            Self::Live => "",
            Self::Cleaned => ".cleaned",
            Self::Swap => ".swap",
            Self::Deleted => ".deleted",
        }
    }

    /// A number for it, of no meaning outside of the process.
    pub(crate) const fn number(self) -> u8 {
        self as u8
    }

    /// The state of a number.
    pub(crate) const fn from_number(number: u8) -> Self {
        match number {
            1 => Self::Cleaned,
            2 => Self::Swap,
            3 => Self::Deleted,
            _ => Self::Live,
        }
    }
}

/// A file of a partition's directory whose name is Kafka's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SegmentFile {
    /// The offset in its name.
    pub offset: Offset,
    /// What it holds.
    pub kind: SegmentFileKind,
    /// Its state.
    pub state: FileState,
}

impl SegmentFile {
    /// A live file.
    #[must_use]
    pub const fn live(offset: Offset, kind: SegmentFileKind) -> Self {
        Self {
            offset,
            kind,
            state: FileState::Live,
        }
    }

    /// The same file in another state.
    #[must_use]
    pub const fn in_state(self, state: FileState) -> Self {
        Self { state, ..self }
    }

    /// Reads a name: exactly 20 digits, a known extension, a known suffix or none. Anything else is not Kafka's and
    /// is left alone (hard-cases.md HC21).
    #[must_use]
    pub fn parse(name: &OsStr) -> Option<Self> {
        let name = name.to_str()?;
        let (digits, rest) = name.split_at_checked(OFFSET_DIGITS)?;
        if !digits.bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
        let offset = Offset(digits.parse().ok()?);
        let (kind, suffix) = SegmentFileKind::ALL
            .iter()
            .find_map(|(kind, ext)| Some((*kind, rest.strip_prefix(ext)?)))?;
        let state = match suffix {
            "" => FileState::Live,
            ".cleaned" => FileState::Cleaned,
            ".swap" => FileState::Swap,
            ".deleted" => FileState::Deleted,
            _ => return None,
        };
        Some(Self {
            offset,
            kind,
            state,
        })
    }

    /// The file's name.
    #[must_use]
    pub fn name(&self) -> String {
        format!(
            "{:020}{}{}",
            self.offset.0,
            self.kind.extension(),
            self.state.suffix()
        )
    }
}

/// What a sub-directory of a log directory is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DirKind {
    /// `topic-partition`: a log.
    Log(TopicPartition),
    /// `topic-partition.uuid-future`: a copy that is being moved here.
    Future(TopicPartition),
    /// `topic-partition.uuid-delete`: a log that waits for its removal.
    Delete,
    /// `topic-partition.uuid-stray`: a log that its broker no longer has.
    Stray,
    /// KRaft's own log.
    ClusterMetadata,
    /// Kafka's, but no log.
    Other,
    /// Not Kafka's: left alone.
    Unknown,
}

/// Tells what a sub-directory is by its name (manager.md 2.6, 2.7).
#[must_use]
pub fn classify_dir(name: &OsStr) -> DirKind {
    let Some(name) = name.to_str() else {
        return DirKind::Unknown;
    };
    if name == REMOTE_INDEX_CACHE {
        return DirKind::Other;
    }
    let marked: Option<fn(TopicPartition) -> DirKind> = if name.ends_with("-delete") {
        Some(|_| DirKind::Delete)
    } else if name.ends_with("-future") {
        Some(DirKind::Future)
    } else if name.ends_with("-stray") {
        Some(|_| DirKind::Stray)
    } else {
        None
    };
    let partition = match marked {
        Some(_) => unmarked_name(name).and_then(parse_topic_partition),
        None => parse_topic_partition(name),
    };
    match partition {
        None => DirKind::Unknown,
        Some(partition) if &*partition.topic == CLUSTER_METADATA_TOPIC => DirKind::ClusterMetadata,
        Some(partition) => marked.map_or(DirKind::Log as fn(_) -> _, |kind| kind)(partition),
    }
}

/// The name of a log's directory that is marked, as in `delete`: the partition, an id, the mark. A long topic is cut so that
/// the name stays a possible one (manager.md 8.3).
#[must_use]
pub fn marked_dir_name(partition: &TopicPartition, id: Uuid, mark: &str) -> String {
    let mut hex = String::with_capacity(32);
    for byte in id.0 {
        let _ = write!(hex, "{byte:02x}");
    }
    let rest = format!("-{}.{hex}-{mark}", partition.partition);
    let room = MAX_NAME_BYTES.saturating_sub(rest.len());
    let topic: &str = &partition.topic;
    let topic = topic
        .get(..topic.floor_char_boundary(room))
        .unwrap_or(topic);
    format!("{topic}{rest}")
}

/// The name in front of the last dot, if the whole is `x-y.z-suffix` without blanks.
fn unmarked_name(name: &str) -> Option<&str> {
    if name.chars().any(char::is_whitespace) {
        return None;
    }
    let (partition, unique) = name.rsplit_once('.')?;
    let (unique, _) = unique.rsplit_once('-')?;
    let (topic, number) = partition.rsplit_once('-')?;
    (!unique.is_empty() && !topic.is_empty() && !number.is_empty()).then_some(partition)
}

/// `topic-partition`, split at the last dash.
#[must_use]
pub fn parse_topic_partition(name: &str) -> Option<TopicPartition> {
    let (topic, partition) = name.rsplit_once('-')?;
    if topic.is_empty() || partition.is_empty() {
        return None;
    }
    Some(TopicPartition::new(topic, partition.parse().ok()?))
}

/// Whether a topic may have this name (records.md 11.11).
pub fn check_topic(topic: &str) -> Result<()> {
    let problem = if topic.is_empty() {
        "is empty"
    } else if topic == "." || topic == ".." {
        "is '.' or '..'"
    } else if topic.len() > MAX_TOPIC_CHARS {
        "is longer than 249 characters"
    } else if !topic
        .bytes()
        .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-'))
    {
        "has characters other than a-z, A-Z, 0-9, '.', '_' and '-'"
    } else {
        return Ok(());
    };
    let shown: String = topic.chars().take(60).collect();
    Err(Error::new(
        ErrorKind::InvalidTopic,
        format!("the topic name {shown:?} {problem}"),
    ))
}

/// Whether a partition may have this number.
pub fn check_partition(partition: i32) -> Result<()> {
    if partition >= 0 {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::InvalidPartitions,
        format!("the partition number {partition} is negative"),
    )
    .in_partition(partition))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn dir(name: &str) -> DirKind {
        classify_dir(OsStr::new(name))
    }

    fn log(topic: &str, partition: i32) -> DirKind {
        DirKind::Log(TopicPartition::new(topic, partition))
    }

    #[test]
    fn manager_md_8_3_marked_names_have_255_characters_at_most() {
        let id = Uuid([0xab; 16]);
        let name = |topic: &str| marked_dir_name(&TopicPartition::new(topic, 12), id, "delete");
        assert_eq!(name("a.b"), format!("a.b-12.{}-delete", "ab".repeat(16)));
        let long = name(&"t".repeat(249));
        assert_eq!(long.len(), 255);
        assert!(long.starts_with("ttt") && long.ends_with("-delete"));
        assert_eq!(classify_dir(OsStr::new(&long)), DirKind::Delete);
    }

    #[test]
    fn file_names_are_20_digits_and_a_known_end() {
        let file = SegmentFile::live(Offset(42), SegmentFileKind::TimeIndex);
        assert_eq!(file.name(), "00000000000000000042.timeindex");
        for state in [
            FileState::Live,
            FileState::Cleaned,
            FileState::Swap,
            FileState::Deleted,
        ] {
            for (kind, _) in SegmentFileKind::ALL {
                let file = SegmentFile {
                    offset: Offset(i64::MAX),
                    kind,
                    state,
                };
                assert_eq!(SegmentFile::parse(OsStr::new(&file.name())), Some(file));
            }
        }
    }

    #[test]
    fn hc21_other_names_are_not_kafkas() {
        for name in [
            "foo.log",
            "foo.index",
            "foo.snapshot",
            "foo.swap",
            "foo.cleaned",
            ".nfs0001.snapshot",
            "00000000000000000002.log.bak",
            "0.log",
            "-5.log",
            "-0000000000000000005.log",
            "00000000000000000009",
            "99999999999999999999.log",
            "00000000000000000000.log.deleted.deleted",
            "00000000000000000000.checkpoint",
            "+0000000000000000000.log",
        ] {
            assert_eq!(SegmentFile::parse(OsStr::new(name)), None, "{name}");
        }
    }

    #[test]
    fn records_md_11_10_and_manager_md_2_7_directory_names() {
        assert_eq!(dir("orders-3"), log("orders", 3));
        assert_eq!(dir("orders--1"), log("orders-", 1));
        assert_eq!(dir("orders-+1"), log("orders", 1));
        assert_eq!(dir("orders-00"), log("orders", 0));
        assert_eq!(dir(".hid-1"), log(".hid", 1));
        assert_eq!(dir("a b-1"), log("a b", 1));
        assert_eq!(dir("x-0.y-0.z-delete"), DirKind::Delete);
        assert_eq!(
            dir("a-1.u-future"),
            DirKind::Future(TopicPartition::new("a", 1))
        );
        assert_eq!(dir("a-1.u-future-delete"), DirKind::Delete);
        assert_eq!(dir("a-1.abc-stray"), DirKind::Stray);
        assert_eq!(dir("__cluster_metadata-0"), DirKind::ClusterMetadata);
        assert_eq!(
            dir("__cluster_metadata-0.u-delete"),
            DirKind::ClusterMetadata
        );
        assert_eq!(dir("remote-log-index-cache"), DirKind::Other);
        for name in [
            "orders",
            "-0",
            "orders-",
            "orders-x",
            "orders-0-delete",
            "orders-0.-delete",
            "orders-0.abc-deleted",
            "a-1-delete",
            "a-1.-delete",
            "a-1.x y-delete",
            "a-1.b.c-delete",
            "-1",
            "a-",
            "a-99999999999",
            "lost+found",
            ".snapshot",
            "foo",
            "a-b",
            "t-0.bak",
        ] {
            assert_eq!(dir(name), DirKind::Unknown, "{name}");
        }
    }

    #[test]
    fn topic_names_are_kafkas() {
        for good in ["a", "A.b_c-9", &"x".repeat(249), "..."] {
            assert!(check_topic(good).is_ok(), "{good}");
        }
        for bad in [
            "",
            ".",
            "..",
            "a/b",
            "a b",
            "\u{e9}",
            "a\0",
            &"x".repeat(250),
        ] {
            assert_eq!(
                check_topic(bad).unwrap_err().kind(),
                ErrorKind::InvalidTopic,
                "{bad}"
            );
        }
    }

    proptest! {
        #[test]
        fn any_name_is_classified(name in ".{0,40}") {
            let _ = SegmentFile::parse(OsStr::new(&name));
            let _ = classify_dir(OsStr::new(&name));
        }
    }
}
