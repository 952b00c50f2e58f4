//! What others see of a pass while it runs, and how they end it. Implements cleaner.md 3.7, 3.12.

use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU8, AtomicU64, Ordering};

use super::throttle::Throttle;
use crate::error::{Error, ErrorKind, Result};
use crate::types::{Offset, TimestampMs};

/// What a pass is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Nothing: it has not begun, or is over.
    Idle,
    /// Reads the dirty part to learn the last offset of each key.
    Mapping,
    /// Writes segments anew.
    Copying,
    /// Puts a group of them in the place of the old ones.
    Swapping,
}

/// A pass as others see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// What it is at.
    pub phase: Phase,
    /// Bytes read in this phase.
    pub bytes_done: u64,
    /// Bytes to read in this phase.
    pub bytes_total: u64,
    /// Where the dirty part began.
    pub first_dirty: Offset,
    /// Up to where it is cleaned.
    pub end: Offset,
    /// When it began.
    pub started: TimestampMs,
}

/// Whether the caller wants a pass to end.
pub type CancelCheck<'a> = &'a (dyn Fn() -> Result<()> + Sync);

/// The shared side of a pass.
#[derive(Debug)]
pub struct Watch {
    is_aborted: AtomicBool,
    phase: AtomicU8,
    bytes_done: AtomicU64,
    bytes_total: AtomicU64,
    first_dirty: AtomicI64,
    end: AtomicI64,
    started: AtomicI64,
}

impl Default for Watch {
    fn default() -> Self {
        Self {
            is_aborted: AtomicBool::new(false),
            phase: AtomicU8::new(0),
            bytes_done: AtomicU64::new(0),
            bytes_total: AtomicU64::new(0),
            first_dirty: AtomicI64::new(-1),
            end: AtomicI64::new(-1),
            started: AtomicI64::new(-1),
        }
    }
}

impl Watch {
    /// Lets the pass end at its next look.
    pub fn abort(&self) {
        self.is_aborted.store(true, Ordering::SeqCst);
    }

    /// Whether it was asked to end.
    #[must_use]
    pub fn is_aborted(&self) -> bool {
        self.is_aborted.load(Ordering::SeqCst)
    }

    /// How far it is.
    #[must_use]
    pub fn progress(&self) -> Progress {
        Progress {
            phase: match self.phase.load(Ordering::SeqCst) {
                1 => Phase::Mapping,
                2 => Phase::Copying,
                3 => Phase::Swapping,
                _ => Phase::Idle,
            },
            bytes_done: self.bytes_done.load(Ordering::SeqCst),
            bytes_total: self.bytes_total.load(Ordering::SeqCst),
            first_dirty: Offset(self.first_dirty.load(Ordering::SeqCst)),
            end: Offset(self.end.load(Ordering::SeqCst)),
            started: TimestampMs(self.started.load(Ordering::SeqCst)),
        }
    }

    pub(super) fn begin(&self, first_dirty: Offset, end: Offset, now: TimestampMs) {
        self.first_dirty.store(first_dirty.0, Ordering::SeqCst);
        self.end.store(end.0, Ordering::SeqCst);
        self.started.store(now.0, Ordering::SeqCst);
    }

    pub(super) fn enter(&self, phase: Phase, bytes_total: u64) {
        self.bytes_done.store(0, Ordering::SeqCst);
        self.bytes_total.store(bytes_total, Ordering::SeqCst);
        self.go_on_to(phase);
    }

    /// Another phase that goes on with the same bytes.
    pub(super) fn go_on_to(&self, phase: Phase) {
        let number = match phase {
            Phase::Idle => 0,
            Phase::Mapping => 1,
            Phase::Copying => 2,
            Phase::Swapping => 3,
        };
        self.phase.store(number, Ordering::SeqCst);
    }

    fn did(&self, bytes: u64) {
        self.bytes_done.fetch_add(bytes, Ordering::SeqCst);
    }
}

/// The pass's side: what it tells and asks as it goes.
pub(super) struct Steps<'a> {
    pub(super) watch: &'a Watch,
    pub(super) throttle: Option<&'a Throttle>,
    pub(super) cancel: Option<CancelCheck<'a>>,
    pending_bytes: u64,
}

/// After so many bytes others are heard and told.
const STEP_BYTES: u64 = 256 * 1024;

impl<'a> Steps<'a> {
    pub(super) fn new(
        watch: &'a Watch,
        throttle: Option<&'a Throttle>,
        cancel: Option<CancelCheck<'a>>,
    ) -> Self {
        Self {
            watch,
            throttle,
            cancel,
            pending_bytes: 0,
        }
    }

    /// So many bytes were read.
    pub(super) fn read(&mut self, bytes: u64) -> Result<()> {
        self.pending_bytes += bytes;
        if self.pending_bytes < STEP_BYTES {
            return Ok(());
        }
        self.settle()
    }

    /// Tells what was read, waits if it was too fast, and asks whether to go on.
    pub(super) fn settle(&mut self) -> Result<()> {
        let bytes = std::mem::take(&mut self.pending_bytes);
        self.watch.did(bytes);
        self.throttled(bytes);
        self.check()
    }

    /// So many bytes were written.
    pub(super) fn throttled(&self, bytes: u64) {
        if let Some(throttle) = self.throttle
            && bytes > 0
        {
            throttle.passed(bytes);
        }
    }

    pub(super) fn check(&self) -> Result<()> {
        if self.watch.is_aborted() {
            return Err(Error::new(
                ErrorKind::CleanAborted,
                "the cleaning was aborted for another change of the log",
            ));
        }
        self.cancel.map_or(Ok(()), |cancel| cancel())
    }
}
