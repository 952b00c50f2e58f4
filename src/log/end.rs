//! The end of a log as readers see it: offset, segment and position that belong together, and the watermarks that go with
//! them, published without a lock.
//!
//! A sequence lock: the version is odd while the one writer, under the append lock, changes the values; a reader that
//! saw it odd, or different before and after, looks again. Every access is sequentially consistent, so a reader that
//! sees an end also sees the segment list and the sizes that were stored before it was published.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::SeqCst};

use crate::types::Offset;

/// Where a log ends (log.md 1.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogEnd {
    /// The next offset to be assigned.
    pub offset: Offset,
    /// Base of the active segment.
    pub segment_base: Offset,
    /// Bytes of complete batches in it.
    pub position: u64,
}

/// How far readers of an isolation may read (log.md 1.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Watermarks {
    /// What lies below is on all replicas.
    pub high_watermark: Offset,
    /// Where the oldest transaction begins that is open, or ended at or above the high watermark.
    pub first_unstable: Option<Offset>,
}

impl Watermarks {
    /// Readers of committed transactions stop here (state.md 5.3).
    #[must_use]
    pub fn last_stable_offset(&self) -> Offset {
        self.first_unstable
            .map_or(self.high_watermark, |first| first.min(self.high_watermark))
    }
}

/// A [`LogEnd`] with its [`Watermarks`] that one thread publishes and any number read.
#[derive(Debug)]
pub(super) struct PublishedEnd {
    version: AtomicU64,
    offset: AtomicI64,
    segment_base: AtomicI64,
    position: AtomicU64,
    high_watermark: AtomicI64,
    /// -1 for none.
    first_unstable: AtomicI64,
}

impl PublishedEnd {
    /// Published from the start.
    #[must_use]
    pub(super) fn new(end: LogEnd, watermarks: Watermarks) -> Self {
        Self {
            high_watermark: AtomicI64::new(watermarks.high_watermark.0),
            first_unstable: AtomicI64::new(watermarks.first_unstable.unwrap_or(Offset::NONE).0),
            version: AtomicU64::new(0),
            offset: AtomicI64::new(end.offset.0),
            segment_base: AtomicI64::new(end.segment_base.0),
            position: AtomicU64::new(end.position),
        }
    }

    /// Publishes an end. One thread at a time: the holder of the append lock.
    pub(super) fn publish(&self, end: LogEnd, watermarks: Watermarks) {
        let version = self.version.load(SeqCst);
        self.version.store(version + 1, SeqCst);
        self.offset.store(end.offset.0, SeqCst);
        self.segment_base.store(end.segment_base.0, SeqCst);
        self.position.store(end.position, SeqCst);
        self.high_watermark
            .store(watermarks.high_watermark.0, SeqCst);
        self.first_unstable
            .store(watermarks.first_unstable.unwrap_or(Offset::NONE).0, SeqCst);
        self.version.store(version + 2, SeqCst);
    }

    /// The end published last.
    #[must_use]
    pub(super) fn load(&self) -> LogEnd {
        self.load_all().0
    }

    /// What was published last.
    #[must_use]
    pub(super) fn load_all(&self) -> (LogEnd, Watermarks) {
        loop {
            let before = self.version.load(SeqCst);
            let end = LogEnd {
                offset: Offset(self.offset.load(SeqCst)),
                segment_base: Offset(self.segment_base.load(SeqCst)),
                position: self.position.load(SeqCst),
            };
            let first_unstable = Offset(self.first_unstable.load(SeqCst));
            let watermarks = Watermarks {
                high_watermark: Offset(self.high_watermark.load(SeqCst)),
                first_unstable: Some(first_unstable).filter(|first| first.0 >= 0),
            };
            if before.is_multiple_of(2) && self.version.load(SeqCst) == before {
                return (end, watermarks);
            }
            std::hint::spin_loop();
        }
    }

    /// Its offset alone.
    #[must_use]
    pub(super) fn offset(&self) -> Offset {
        Offset(self.offset.load(SeqCst))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicBool;

    #[test]
    fn readers_never_see_values_of_two_ends() {
        let end = |n: i64| LogEnd {
            offset: Offset(n),
            segment_base: Offset(3 * n),
            position: 7 * n.unsigned_abs(),
        };
        let marks = |n: i64| Watermarks {
            high_watermark: Offset(n - 1),
            first_unstable: (n % 2 == 0).then_some(Offset(n / 2)),
        };
        let published = PublishedEnd::new(end(0), marks(0));
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    let mut last = 0;
                    while !done.load(SeqCst) {
                        let (seen, watermarks) = published.load_all();
                        assert_eq!(seen, end(seen.offset.0));
                        assert_eq!(watermarks, marks(seen.offset.0));
                        assert!(seen.offset.0 >= last);
                        last = seen.offset.0;
                    }
                });
            }
            for n in 0..200_000 {
                published.publish(end(n), marks(n));
            }
            done.store(true, SeqCst);
        });
    }
}
