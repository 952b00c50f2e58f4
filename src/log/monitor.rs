//! What all logs of one manager tell about themselves: events, and how long flushes take. Implements manager.md 14
//! (LogFlushStats).

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::events::EventHub;
use crate::io::{Clock, Stopwatch, SystemClock};
use crate::types::TimestampMs;

/// Shared by the directories and logs of a manager.
#[derive(Debug)]
pub(crate) struct Monitor {
    clock: Arc<dyn Clock>,
    since: TimestampMs,
    events: EventHub,
    flush_count: AtomicU64,
    flush_ns: AtomicU64,
    /// Shared with the views, which outlive everything else.
    pinned_bytes: Arc<AtomicU64>,
}

/// Flushes of segments so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct FlushStats {
    /// How many.
    pub count: u64,
    /// How long all of them took together, in nanoseconds.
    pub total_ns: u64,
}

impl Default for Monitor {
    /// One that nobody looks at.
    fn default() -> Self {
        Self::new(Arc::new(SystemClock))
    }
}

impl Monitor {
    /// One that begins now, by this clock.
    pub(crate) fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            since: clock.now(),
            clock,
            events: EventHub::default(),
            flush_count: AtomicU64::new(0),
            flush_ns: AtomicU64::new(0),
            pinned_bytes: Arc::default(),
        }
    }

    /// When it began.
    pub(crate) fn since(&self) -> TimestampMs {
        self.since
    }

    /// The wall time.
    pub(crate) fn now(&self) -> TimestampMs {
        self.clock.now()
    }

    /// Where events are published.
    pub(crate) fn events(&self) -> &EventHub {
        &self.events
    }

    /// Does a flush and counts it, also one that fails.
    pub(super) fn time_flush<T>(&self, flush: impl FnOnce() -> T) -> T {
        let watch = Stopwatch::start();
        let answer = flush();
        // Relaxed, pairs with nothing: see counters.rs.
        self.flush_ns
            .fetch_add(watch.elapsed_ns(), Ordering::Relaxed);
        self.flush_count.fetch_add(1, Ordering::Relaxed);
        answer
    }

    /// Bytes that views hold.
    pub(crate) fn pinned_bytes(&self) -> &Arc<AtomicU64> {
        &self.pinned_bytes
    }

    /// Flushes so far.
    pub(crate) fn flushes(&self) -> FlushStats {
        FlushStats {
            count: self.flush_count.load(Ordering::Relaxed),
            total_ns: self.flush_ns.load(Ordering::Relaxed),
        }
    }
}
