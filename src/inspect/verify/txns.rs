//! Transactions of a log as its batches tell them, and the transaction index of each segment beside it.

use std::collections::HashMap;

use super::index::Entries;
use super::{ABORTED, Report};
use crate::error::Result;
use crate::format::batch::BatchHeader;
use crate::format::txn_index::{self, AbortedTxn};
use crate::types::{Offset, ProducerId};

/// Beyond so many open transactions none is followed any more: a hostile log opens one a batch.
const OPEN_MAX: usize = 200_000;

/// The open transactions while a log is walked.
pub(super) struct Transactions {
    open: HashMap<ProducerId, Offset>,
    /// Whether all that is open is known: the log was read from its first offset on and lost no batches.
    pub(super) is_complete: bool,
}

impl Transactions {
    pub(super) fn new(is_complete: bool) -> Self {
        Self {
            open: HashMap::new(),
            is_complete,
        }
    }

    pub(super) fn data(&mut self, header: &BatchHeader) {
        if self.open.len() >= OPEN_MAX {
            self.is_complete = false;
            self.open.clear();
        }
        self.open
            .entry(header.producer_id)
            .or_insert(header.base_offset);
    }

    fn end(&mut self, producer: ProducerId) -> Option<Offset> {
        self.open.remove(&producer)
    }

    fn first_open(&self) -> Option<Offset> {
        self.open.values().min().copied()
    }
}

/// The transaction index of a segment, walked beside it.
pub(super) struct TxnCheck {
    entries: Option<Entries>,
    path: std::path::PathBuf,
    base: Offset,
    next: Option<(u64, AbortedTxn)>,
    /// Where the marker of the entry before lies.
    last: Option<Offset>,
    /// Whether compaction may have taken markers.
    is_compacted: bool,
}

impl TxnCheck {
    pub(super) fn new(
        entries: Option<Entries>,
        path: std::path::PathBuf,
        base: Offset,
        is_compacted: bool,
    ) -> Self {
        Self {
            entries,
            path,
            base,
            next: None,
            last: None,
            is_compacted,
        }
    }

    pub(super) fn step(&mut self, report: &mut Report) -> Result<()> {
        self.next = None;
        while let Some(entries) = &mut self.entries {
            let Some((position, bytes)) = entries.next()? else {
                return Ok(());
            };
            let txn = match txn_index::parse(bytes) {
                Ok(parsed) => parsed.first().copied(),
                Err(e) => {
                    report.damage(&self.path, Some(position), e.to_string(), super::STARTUP);
                    self.entries = None;
                    return Ok(());
                }
            };
            let Some(txn) = txn else {
                return Ok(());
            };
            if let Some(before) = self.last.filter(|before| *before >= txn.last_offset) {
                // As whoever loads it: what is behind counts no more, be it gigabytes of zeros.
                let what = format!(
                    "a transaction aborted at {} behind one aborted at {before}: they have to rise",
                    txn.last_offset
                );
                report.damage(&self.path, Some(position), what, ABORTED);
                self.entries = None;
                return Ok(());
            }
            self.last = Some(txn.last_offset);
            if txn.last_offset >= self.base && txn.first_offset <= txn.last_offset {
                self.next = Some((position, txn));
                return Ok(());
            }
            let what = format!(
                "an aborted transaction {}..{} in the segment at {}",
                txn.first_offset, txn.last_offset, self.base
            );
            report.damage(&self.path, Some(position), what, ABORTED);
        }
        Ok(())
    }

    /// A marker in the log.
    pub(super) fn marker(
        &mut self,
        header: &BatchHeader,
        is_abort: bool,
        txns: &mut Transactions,
        report: &mut Report,
    ) -> Result<()> {
        let first = txns.end(header.producer_id);
        let at = header.last_offset;
        self.pass_below(at, report)?;
        let entry = self.next.filter(|(_, txn)| txn.last_offset == at);
        match (entry, is_abort) {
            (None, false) => {}
            (Some((position, txn)), false) => {
                let what = format!("producer {} did not abort at {at}", txn.producer_id);
                report.damage(&self.path, Some(position), what, ABORTED);
                self.step(report)?;
            }
            (None, true) => {
                if let Some(first) = first
                    && self.entries.is_some() | self.next.is_none()
                {
                    let what = format!(
                        "the transaction {first}..{at} that producer {} aborted is missing",
                        header.producer_id
                    );
                    report.damage(&self.path, None, what, ABORTED);
                }
            }
            (Some((position, txn)), true) => {
                let stable = txns.first_open().unwrap_or(at.saturating_next());
                let is_first_wrong = first.is_some_and(|first| {
                    first != txn.first_offset && !(self.is_compacted && txn.first_offset < first)
                });
                let is_wrong = txn.producer_id != header.producer_id
                    || is_first_wrong
                    || txn.last_stable_offset.0 < 0
                    || (txns.is_complete && !self.is_compacted && txn.last_stable_offset != stable);
                if is_wrong {
                    let what = format!(
                        "the entry says producer {} {}..{} stable {}, the log producer {} {}..{at} stable {stable}",
                        txn.producer_id,
                        txn.first_offset,
                        txn.last_offset,
                        txn.last_stable_offset,
                        header.producer_id,
                        first.map_or_else(|| "?".to_owned(), |f| f.to_string()),
                    );
                    report.damage(&self.path, Some(position), what, ABORTED);
                }
                self.step(report)?;
            }
        }
        Ok(())
    }

    /// Tells of entries that no marker below `at` stands for.
    fn pass_below(&mut self, at: Offset, report: &mut Report) -> Result<()> {
        while let Some((position, txn)) = self.next.filter(|(_, txn)| txn.last_offset < at) {
            if !self.is_compacted {
                let what = format!("no transaction was aborted at {}", txn.last_offset);
                report.damage(&self.path, Some(position), what, ABORTED);
            }
            self.step(report)?;
        }
        Ok(())
    }

    pub(super) fn end(&mut self, is_whole: bool, next: Offset, report: &mut Report) -> Result<()> {
        if !is_whole {
            return Ok(());
        }
        self.pass_below(next, report)?;
        while let Some((position, txn)) = self.next {
            let what = format!(
                "a transaction aborted at {}, behind the end of the segment",
                txn.last_offset
            );
            report.damage(&self.path, Some(position), what, ABORTED);
            self.step(report)?;
        }
        Ok(())
    }
}

/// Opens a transaction index.
pub(super) fn open(
    fs: &dyn crate::io::FileSystem,
    path: &std::path::Path,
    report: &mut Report,
) -> Result<Option<Entries>> {
    Entries::open(fs, path, txn_index::ENTRY_BYTES, report)
}
