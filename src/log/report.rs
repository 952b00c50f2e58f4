//! What loading found and did: one finding a line (c-abi.md 3.2.10).

use std::fmt;
use std::path::PathBuf;

use crate::error::ErrorKind;
use crate::types::TopicPartition;

/// What kind of finding it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FindingKind {
    /// Bytes that were not known to be good were read again; some may have been cut off.
    Recovered,
    /// A derived file was missing or wrong and was made anew, or a small file was replaced.
    Repaired,
    /// Something that is not Kafka's was left alone.
    Ignored,
    /// A configuration key was not used.
    Config,
    /// A log or directory could not be opened.
    Failed,
}

impl FindingKind {
    /// The word in the report.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Recovered => "recovered",
            Self::Repaired => "repaired",
            Self::Ignored => "ignored",
            Self::Config => "config",
            Self::Failed => "failed",
        }
    }
}

/// One finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What kind.
    pub kind: FindingKind,
    /// The log directory.
    pub dir: PathBuf,
    /// The log, if it concerns one.
    pub partition: Option<TopicPartition>,
    /// The status of a failure.
    pub status: Option<ErrorKind>,
    /// What was found and done.
    pub text: String,
}

impl fmt::Display for Finding {
    /// `kind TAB dir TAB topic-partition or "-" TAB status name or "-" TAB text`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let partition = self
            .partition
            .as_ref()
            .map_or_else(|| "-".to_owned(), ToString::to_string);
        let status = self.status.map_or("-", ErrorKind::name);
        write!(
            f,
            "{}\t{}\t{}\t{status}\t{}",
            self.kind.name(),
            escape(&self.dir.to_string_lossy()),
            escape(&partition),
            escape(&self.text)
        )
    }
}

/// Text for a field of a line: tab, line feed and backslash are written as escapes.
#[must_use]
pub fn escape(text: &str) -> String {
    text.replace('\\', "\\\\")
        .replace('\t', "\\t")
        .replace('\n', "\\n")
}

/// Findings of one log, gathered while it loads.
#[derive(Debug, Default)]
pub struct LoadNotes {
    /// What was found, in order.
    pub notes: Vec<(FindingKind, String)>,
    /// Segments that were recovered.
    pub segments_recovered: u64,
    /// Bytes that were cut off.
    pub bytes_truncated: u64,
    /// Segments whose indexes were made anew, those of recovered segments not counted.
    pub indexes_rebuilt: u64,
}

impl LoadNotes {
    /// Adds a finding.
    pub fn note(&mut self, kind: FindingKind, text: impl Into<String>) {
        self.notes.push((kind, text.into()));
    }
}
