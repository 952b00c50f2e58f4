//! One line a log: what `klog ls` prints.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::Look;
use crate::config::Resolved;
use crate::error::Result;
use crate::io::{Clock, FileSystem, SystemClock};
use crate::log::Finding;
use crate::types::{Offset, TopicPartition};

/// A log at a glance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogLine {
    /// Topic and partition.
    pub partition: TopicPartition,
    /// The first offset that can be read.
    pub start: Offset,
    /// The next offset to be assigned.
    pub end: Offset,
    /// How many segments.
    pub segments: usize,
    /// Bytes of all `.log` files.
    pub bytes: u64,
    /// Its directory.
    pub dir: PathBuf,
}

impl fmt::Display for LogLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            partition,
            start,
            end,
            segments,
            bytes,
            dir,
        } = self;
        write!(
            f,
            "{partition} start={start} end={end} segments={segments} bytes={bytes} dir={}",
            dir.display()
        )
    }
}

/// Every log of a directory as a load would leave it, by topic, then partition, and what loading found.
pub fn list_logs(
    base: &Arc<dyn FileSystem>,
    dir: &Path,
    config: &Arc<Resolved>,
) -> Result<(Vec<LogLine>, Vec<Finding>)> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let look = Look::at(base, &clock, dir, config)?;
    let lines = look.manager.logs().into_iter().map(|log| {
        let info = log.info();
        LogLine {
            partition: log.partition().clone(),
            start: info.log_start_offset,
            end: info.log_end_offset,
            segments: info.segments,
            bytes: info.bytes,
            dir: log.dir().to_path_buf(),
        }
    });
    Ok((lines.collect(), look.findings()))
}
