//! Looking at log directories without changing anything.
//!
//! Every look is an ordinary load on an overlay (design.md 3): it answers exactly what a load would leave, takes no lock
//! and writes nothing, so the directory may be a live broker's. Implements fixtures/README.md 2.

mod batch_text;
pub mod copy;
mod disk_use;
mod dump;
mod list;
mod mend;
pub mod repair;
pub mod stat;
mod state_lines;
pub mod verify;

pub use batch_text::Print;
pub use disk_use::{FileUse, Taken, disk_use};
pub use dump::{DumpOptions, dump, log_text};
pub use list::{LogLine, list_logs};
pub use state_lines::{
    print_aborted, print_open, print_producers, producer_lines, stable_line, time_line,
};

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use crate::config::Resolved;
use crate::error::{Error, ErrorKind, Result};
use crate::io::{Clock, EntryKind, FileSystem, ManualClock, OverlayFs};
use crate::log::{Finding, FindingKind, Log};
use crate::manager::{
    CleanOptions, CleanedLog, FailedLog, Manager, ManagerOptions, Pass, Retained,
};
use crate::types::{TimestampMs, TopicPartition};

/// How often a directory is looked at whose files go away meanwhile.
const LOOKS_MAX: usize = 5;

/// A manager over a directory that changes nothing on disk.
struct Look {
    manager: Manager,
    fs: Arc<OverlayFs>,
}

impl Look {
    /// Looks at `dir`. A live owner may remove files between our listing and our reading; then another look finds the
    /// directory in order.
    fn at(
        base: &Arc<dyn FileSystem>,
        clock: &Arc<dyn Clock>,
        dir: &Path,
        config: &Arc<Resolved>,
    ) -> Result<Self> {
        ensure_is_dir(&**base, dir)?;
        let mut looks = 0;
        loop {
            let look = Self::once(base, clock, dir, config)?;
            looks += 1;
            if looks == LOOKS_MAX || !look.manager.failed_logs().iter().any(has_vanished) {
                return Ok(look);
            }
        }
    }

    fn once(
        base: &Arc<dyn FileSystem>,
        clock: &Arc<dyn Clock>,
        dir: &Path,
        config: &Arc<Resolved>,
    ) -> Result<Self> {
        // What a load makes is as old as the clock says: at a stated time, a look at one directory always gives the same.
        let fs = Arc::new(OverlayFs::with_clock(Arc::clone(base), Arc::clone(clock)));
        let options = ManagerOptions {
            fs: Arc::clone(&fs) as Arc<dyn FileSystem>,
            clock: Arc::clone(clock),
            ..ManagerOptions::new(vec![dir.to_path_buf()], Arc::clone(config))
        };
        Ok(Self {
            manager: Manager::open(options)?,
            fs,
        })
    }

    /// The logs that cannot be loaded. One that is gone is none of them.
    fn failed_logs(&self) -> impl Iterator<Item = FailedLog> {
        self.manager
            .failed_logs()
            .into_iter()
            .filter(|failed| !has_vanished(failed))
    }

    /// What loading found. That a log went away is told and no failure.
    fn findings(&self) -> Vec<Finding> {
        let vanished: Vec<_> = self
            .manager
            .failed_logs()
            .into_iter()
            .filter(has_vanished)
            .map(|f| f.partition)
            .collect();
        let mut findings = self.manager.report().to_vec();
        for finding in findings
            .iter_mut()
            .filter(|finding| finding.kind == FindingKind::Failed)
        {
            if finding
                .partition
                .as_ref()
                .is_some_and(|partition| vanished.contains(partition))
            {
                finding.kind = FindingKind::Ignored;
                finding.status = None;
                finding.text = format!("went away while it was looked at: {}", finding.text);
            }
        }
        findings
    }
}

/// Asks a log of a directory, as a load would leave it; and what loading found of it. Nothing is written, no lock is taken.
pub fn ask_log<T>(
    base: &Arc<dyn FileSystem>,
    dir: &Path,
    partition: &TopicPartition,
    config: &Arc<Resolved>,
    ask: impl FnOnce(&Log) -> Result<T>,
) -> Result<(T, Vec<Finding>)> {
    // At time 0 no producer expires.
    let clock: Arc<dyn Clock> = Arc::new(ManualClock::new(TimestampMs(0)));
    let look = Look::at(base, &clock, dir, config)?;
    let answer = ask(&*look.manager.log(partition)?)?;
    let mut findings = look.findings();
    findings.retain(|finding| finding.partition.as_ref().is_none_or(|p| p == partition));
    Ok((answer, findings))
}

/// What each log answered.
pub type Answers<T> = Vec<(TopicPartition, T)>;

/// Asks every log of a directory, as [`ask_log`] asks one; in the order of their names.
pub fn ask_logs<T>(
    base: &Arc<dyn FileSystem>,
    dir: &Path,
    config: &Arc<Resolved>,
    ask: impl Fn(&Log) -> Result<T>,
) -> Result<(Answers<T>, Vec<Finding>)> {
    let clock: Arc<dyn Clock> = Arc::new(ManualClock::new(TimestampMs(0)));
    let look = Look::at(base, &clock, dir, config)?;
    let mut answers = Vec::new();
    for log in look.manager.logs() {
        answers.push((log.partition().clone(), ask(&log)?));
    }
    Ok((answers, look.findings()))
}

/// What retention would take of each managed log of a directory at a time, or of one log; and what loading found. Nothing is
/// written, no lock is taken.
pub fn dry_retain(
    base: &Arc<dyn FileSystem>,
    dir: &Path,
    only: Option<&TopicPartition>,
    config: &Arc<Resolved>,
    now: TimestampMs,
) -> Result<(Vec<Retained>, Vec<Finding>)> {
    let clock: Arc<dyn Clock> = Arc::new(ManualClock::new(now));
    let look = Look::at(base, &clock, dir, config)?;
    let done = match only {
        Some(partition) => vec![
            look.manager
                .retain(&look.manager.log(partition)?, Pass::Apply)?,
        ],
        None => look.manager.retain_all(Pass::Apply)?,
    };
    Ok((done, look.findings()))
}

/// What a pass of the cleaner would do to each managed log of a directory that is dirty enough, or to one log; and what loading
/// found. Nothing is written, no lock is taken.
pub fn dry_clean(
    base: &Arc<dyn FileSystem>,
    dir: &Path,
    only: Option<&TopicPartition>,
    config: &Arc<Resolved>,
    now: TimestampMs,
    options: &CleanOptions<'_>,
) -> Result<(Vec<CleanedLog>, Vec<Finding>)> {
    let clock: Arc<dyn Clock> = Arc::new(ManualClock::new(now));
    let look = Look::at(base, &clock, dir, config)?;
    let options = CleanOptions {
        pass: Some(Pass::DryRun),
        ..*options
    };
    let mut done = Vec::new();
    if let Some(partition) = only {
        done.extend(look.manager.clean_one(partition, &options)?);
    } else {
        // Nothing changes by a pass: each log has one.
        let mut seen = BTreeSet::new();
        while let Some(pass) = look.manager.clean_filthiest(&options, &seen)? {
            seen.insert(pass.partition.clone());
            done.push(pass);
        }
    }
    Ok((done, look.findings()))
}

/// Whether a log could not be loaded because its files are gone.
fn has_vanished(failed: &FailedLog) -> bool {
    failed.error.is_not_found()
}

/// LOG_DIR_NOT_FOUND for what is no directory.
fn ensure_is_dir(fs: &dyn FileSystem, dir: &Path) -> Result<()> {
    let what = match fs.stat(dir) {
        Ok(stat) if stat.kind == EntryKind::Dir => return Ok(()),
        Ok(_) => "is not a directory",
        Err(e) if e.is_not_found() => "does not exist",
        Err(e) => return Err(e),
    };
    Err(Error::new(
        ErrorKind::LogDirNotFound,
        format!("the log directory {} {what}", dir.display()),
    )
    .in_file(dir))
}
