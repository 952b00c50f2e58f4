//! What is damaged in a log directory, found without writing: every file is read as it lies, not as a load would leave it.
//!
//! Memory is bounded whatever a file claims: batches are summed in pieces, indexes are read beside the log, entry by entry.
//! Reports what recovery would lose or make anew ([`Severity::Damage`]) apart from what is only odd ([`Severity::Note`]).

mod index;
mod partition;
mod segment;
mod small_files;
mod txns;

use std::fmt;
use std::path::{Path, PathBuf};

use super::ensure_is_dir;
use crate::error::Result;
use crate::format::checkpoint::Offsets;
use crate::format::names::{DirKind, classify_dir};
use crate::io::{EntryKind, FileSystem, exists};
use crate::types::TopicPartition;

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Nothing is lost or wrong by it.
    Note,
    /// Records are lost or cannot be found, or a file says what is not so.
    Damage,
}

impl Severity {
    /// The word for it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Damage => "damage",
        }
    }
}

/// Something that is not as a writer leaves it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flaw {
    /// How bad it is.
    pub severity: Severity,
    /// The log, if it is of one.
    pub partition: Option<TopicPartition>,
    /// The file or directory.
    pub path: PathBuf,
    /// Where in the file, in bytes.
    pub position: Option<u64>,
    /// What was found, and what was expected.
    pub what: String,
    /// What it costs.
    pub cost: &'static str,
    /// What would mend it.
    pub mend: &'static str,
}

impl Flaw {
    /// Whether it is about leader epochs, which the batches tell as well.
    pub(super) fn is_of_epochs(&self) -> bool {
        self.cost == EPOCHS.cost || self.path.ends_with(crate::format::epoch_checkpoint::FILE)
    }
}

impl fmt::Display for Flaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.severity.name(), self.path.display())?;
        if let Some(position) = self.position {
            write!(f, " at {position}")?;
        }
        write!(
            f,
            ": {}; costs: {}; mends it: {}",
            self.what, self.cost, self.mend
        )
    }
}

/// How much was looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Looked {
    /// Logs.
    pub logs: u64,
    /// Segments.
    pub segments: u64,
    /// Batches.
    pub batches: u64,
    /// Records.
    pub records: u64,
    /// Bytes of `.log` files.
    pub bytes: u64,
}

/// What verifying gave.
#[derive(Clone, Debug, Default)]
pub struct Verdict {
    /// All flaws, by directory in the order of the names.
    pub flaws: Vec<Flaw>,
    /// How much was looked at.
    pub looked: Looked,
    /// How many flaws were found beyond those listed: a hostile file has one at every byte.
    pub unlisted: u64,
}

impl Verdict {
    /// Whether anything is damaged.
    #[must_use]
    pub fn is_damaged(&self) -> bool {
        self.unlisted > 0
            || self
                .flaws
                .iter()
                .any(|flaw| flaw.severity == Severity::Damage)
    }
}

/// So many flaws are listed of one file, and so many in all.
const FLAWS_OF_FILE: u64 = 20;
const FLAWS_MAX: usize = 20_000;

/// What a log is checked against besides its own files.
struct Known<'a> {
    is_clean: bool,
    recovery_points: &'a Offsets,
    log_starts: &'a Offsets,
    cleaned_upto: &'a Offsets,
}

/// Where flaws go.
struct Report {
    verdict: Verdict,
    partition: Option<TopicPartition>,
    last_path: PathBuf,
    of_last: u64,
}

impl Report {
    fn add(
        &mut self,
        severity: Severity,
        path: &Path,
        position: Option<u64>,
        what: String,
        words: Words,
    ) {
        if self.last_path == path {
            self.of_last += 1;
        } else {
            self.last_path = path.to_path_buf();
            self.of_last = 1;
        }
        if self.of_last > FLAWS_OF_FILE || self.verdict.flaws.len() >= FLAWS_MAX {
            self.verdict.unlisted += u64::from(severity == Severity::Damage);
            return;
        }
        self.verdict.flaws.push(Flaw {
            severity,
            partition: self.partition.clone(),
            path: path.to_path_buf(),
            position,
            what,
            cost: words.cost,
            mend: words.mend,
        });
    }

    fn damage(
        &mut self,
        path: &Path,
        position: Option<u64>,
        what: impl Into<String>,
        words: Words,
    ) {
        self.add(Severity::Damage, path, position, what.into(), words);
    }

    fn note(&mut self, path: &Path, position: Option<u64>, what: impl Into<String>, words: Words) {
        self.add(Severity::Note, path, position, what.into(), words);
    }
}

/// What a kind of flaw costs, and what mends it.
#[derive(Clone, Copy)]
struct Words {
    cost: &'static str,
    mend: &'static str,
}

const LOST_TAIL: Words = Words {
    cost: "recovery cuts the log here: this batch and all behind it, later segments too, are lost to readers",
    mend: "a replica's copy of the log; else `klog repair`, which keeps what it cuts",
};
const ODD_OFFSETS: Words = Words {
    cost: "readers meet offsets twice or out of order",
    mend: "`klog repair`, where a recovery cuts the log or a segment was replaced; else a replica's copy of the log",
};
const MAGIC: Words = Words {
    cost: "clients refuse the batch: they read no further than here",
    mend: "`klog repair`, which writes the magic that its checksum is of",
};
const MISSING: Words = Words {
    cost: "the records with these offsets are gone",
    mend: "a replica's copy of the log, or a backup of the segment; `klog repair` has nothing to fill the hole with",
};
const REBUILT: Words = Words {
    cost: "look-ups go wrong or are slow until it is made anew from the log; no record is lost",
    mend: "`klog repair`, or removing the file before the next start",
};
const ABORTED: Words = Words {
    cost: "readers of committed data may see aborted records, or wait",
    mend: "`klog repair`, which makes it anew from the log",
};
const STATE: Words = Words {
    cost: "the state of producers is replayed from older files and the log: a slower start",
    mend: "nothing to do, or `klog repair`",
};
const EPOCHS: Words = Words {
    cost: "followers may be told the wrong end of an epoch and cut too much or too little",
    mend: "`klog repair`, which takes the epochs from the batches, and sets one batch between others right; else a replica's copy of the log",
};
const NO_ID: Words = Words {
    cost: "a broker of Kafka 4 takes the log for a stray one at its start and puts it aside; klog needs no id",
    mend: "a partition.metadata with the topic's id, as `kafka-topics.sh --describe` tells it; or `klog adopt`",
};
const STARTUP: Words = Words {
    cost: "Kafka takes the directory offline or does not start",
    mend: "writing the file anew; `klog repair` does what a load can do",
};
const SMALL: Words = Words {
    cost: "the file counts as empty: whole logs are read again at the next start",
    mend: "nothing to do: it is written anew; or `klog repair`",
};
const IGNORED: Words = Words {
    cost: "space only: Kafka does not look at it",
    mend: "removing it, if nobody needs it",
};
const LEFTOVER: Words = Words {
    cost: "nothing: the next start finishes or undoes what was interrupted",
    mend: "the next start, or `klog repair`",
};
const GAP: Words = Words {
    cost: "nothing, if compaction or a leader's cut made it; else the records in between are gone",
    mend: "nothing to do, or a replica's copy of the log",
};
const SPARSE: Words = Words {
    cost: "look-ups read the segment from its beginning; no record is lost",
    mend: "nothing to do if index.interval.bytes is large; else removing the file before the next start",
};
const PREALLOCATED: Words = Words {
    cost: "nothing: the next start makes the index anew",
    mend: "the next start, or `klog repair`",
};
const UNSEEN: Words = Words {
    cost: "its records were not looked at, its checksum was",
    mend: "nothing to do",
};

/// Looks at every file of `dir`, or of one log in it.
pub fn verify(fs: &dyn FileSystem, dir: &Path, only: Option<&TopicPartition>) -> Result<Verdict> {
    ensure_is_dir(fs, dir)?;
    let mut report = Report {
        verdict: Verdict::default(),
        partition: None,
        last_path: PathBuf::new(),
        of_last: 0,
    };
    let is_clean = exists(fs, &dir.join(crate::format::marker::FILE))?;
    let checkpoints = small_files::checkpoints(fs, dir, &mut report)?;
    let known = Known {
        is_clean,
        recovery_points: &checkpoints.recovery_points,
        log_starts: &checkpoints.log_starts,
        cleaned_upto: &checkpoints.cleaned_upto,
    };
    let mut entries = fs.list(dir)?;
    entries.sort_by(|a, b| a.name.cmp(&b.name));
    for entry in entries {
        let path = dir.join(&entry.name);
        if entry.kind != EntryKind::Dir {
            small_files::name_in_dir(&path, &entry, &mut report);
            continue;
        }
        match classify_dir(&entry.name) {
            DirKind::Log(partition) => {
                if only.is_some_and(|only| *only != partition) {
                    continue;
                }
                report.partition = Some(partition.clone());
                partition::check(fs, &path, &partition, &known, &mut report)?;
                report.partition = None;
            }
            DirKind::Unknown if only.is_none() => {
                report.note(
                    &path,
                    None,
                    "a directory whose name is none of Kafka's",
                    IGNORED,
                );
            }
            DirKind::Future(_) if only.is_none() => {
                report.note(
                    &path,
                    None,
                    "a copy of a log that is being moved here",
                    LEFTOVER,
                );
            }
            _ => {}
        }
    }
    Ok(report.verdict)
}
