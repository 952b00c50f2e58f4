//! Looking at segments ahead of their turn, in threads of their own, so that one large log is recovered by several.
//!
//! What a thread finds changes nothing: the recovery takes it over in the order of the segments, and drops it where the log is
//! cut before. A thread waits when it is too far ahead, so that memory is bounded. Implements design.md 5.9, manager.md 2.3.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::Scope;

use super::progress::RecoveryProgress;
use super::threads::SpareThreads;
use crate::error::{Error, ErrorKind, Result};
use crate::format::batch::{Batch, BatchHeader, HEADER_BYTES};
use crate::io::thread;
use crate::segment::{Recovery, RecoverySink, Segment, SegmentWriter, Verified};
use crate::types::{LeaderEpoch, Offset, to_usize};

/// How many batches may wait for the recovery. One takes about 150 bytes, a control batch its own bytes too.
const WAITING_MAX: usize = 8192;
/// How many segments may wait for the recovery: small ones are looked at faster than they are recovered.
const SEGMENTS_MAX: usize = 32;

/// What a thread tells of a segment, in order.
enum Told {
    /// A batch that producers, transactions or leader epochs depend on.
    Batch(BatchHeader, Option<Box<[u8]>>),
    /// That was all.
    Done(Result<Verified>),
}

/// A segment that a thread looks at, or has looked at.
pub(super) struct Ahead(Receiver<Told>);

impl Ahead {
    /// As [`Segment::recover`].
    pub(super) fn recover(
        self,
        segment: Arc<Segment>,
        sink: &mut dyn RecoverySink,
    ) -> Result<(SegmentWriter, Recovery)> {
        let mut aborted = Vec::new();
        loop {
            match self.0.recv() {
                Ok(Told::Batch(header, control)) => {
                    let control = control.as_deref().map(Batch::new).transpose()?;
                    aborted.extend(sink.batch(&header, control.as_ref())?);
                }
                Ok(Told::Done(verified)) => return segment.accept(verified?, &aborted),
                Err(_) => {
                    return Err(Error::new(
                        ErrorKind::Bug,
                        format!(
                            "the thread that looked at segment {} ended early",
                            segment.base_offset()
                        ),
                    ));
                }
            }
        }
    }
}

/// The segments that threads look at.
pub(super) struct ReadAhead<'scope, 'env> {
    scope: &'scope Scope<'scope, 'env>,
    spare: &'env SpareThreads,
    progress: Option<&'env dyn RecoveryProgress>,
    ahead: BTreeMap<Offset, Ahead>,
    /// Whether the recovery has ended, so that nobody needs to look any more.
    is_over: Arc<AtomicBool>,
}

impl Drop for ReadAhead<'_, '_> {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::SeqCst);
    }
}

impl<'scope, 'env> ReadAhead<'scope, 'env> {
    pub(super) fn new(
        scope: &'scope Scope<'scope, 'env>,
        spare: &'env SpareThreads,
        progress: Option<&'env dyn RecoveryProgress>,
    ) -> Self {
        Self {
            scope,
            spare,
            progress,
            ahead: BTreeMap::new(),
            is_over: Arc::default(),
        }
    }

    /// What is known of a segment whose turn it is.
    pub(super) fn take(&mut self, base: Offset) -> Option<Ahead> {
        self.ahead.remove(&base)
    }

    /// Lets the threads that are free look at the next of these segments.
    pub(super) fn look_at(&mut self, next: &[Arc<Segment>]) {
        for segment in next {
            if self.ahead.contains_key(&segment.base_offset()) {
                continue;
            }
            if self.ahead.len() >= SEGMENTS_MAX {
                return;
            }
            let Some(spare) = self.spare.take() else {
                return;
            };
            // The places are made beforehand: no more than there can be batches, and the end.
            let batches = to_usize(segment.size_bytes()) / HEADER_BYTES + 1;
            let (tell, told) = sync_channel(batches.min(WAITING_MAX));
            let progress = self.progress;
            let (own, is_over) = (Arc::clone(segment), Arc::clone(&self.is_over));
            let work = move || {
                look(&own, &tell, &is_over, progress);
                drop(spare);
            };
            let worker = thread::builder("klog-recovery-ahead");
            let spawned = thread::with_signals_blocked(|| worker.spawn_scoped(self.scope, work));
            if spawned.is_err() {
                return;
            }
            self.ahead.insert(segment.base_offset(), Ahead(told));
        }
    }
}

/// Looks at a segment and tells what counts. Ends early if nobody wants to know any more.
fn look(
    segment: &Segment,
    tell: &SyncSender<Told>,
    is_over: &AtomicBool,
    progress: Option<&dyn RecoveryProgress>,
) {
    let gone = || Error::new(ErrorKind::Cancelled, "the recovery went another way");
    let mut epoch: Option<LeaderEpoch> = None;
    let mut last = None;
    let verified = segment.verify(|header, control| {
        if is_over.load(Ordering::SeqCst) {
            return Err(gone());
        }
        if let Some(progress) = progress {
            progress.has_read(u64::from(header.size_bytes));
        }
        if !header.is_v2() {
            // Nothing follows from batches of old formats.
            return Ok(());
        }
        if epoch == Some(header.leader_epoch) && !header.has_producer_id() {
            last = Some(*header);
            return Ok(());
        }
        epoch = Some(header.leader_epoch);
        last = None;
        let control = control.map(|batch| Box::from(batch.bytes()));
        tell.send(Told::Batch(*header, control)).map_err(|_| gone())
    });
    // The last batch that counts says how far the state of the producers goes.
    let is_wanted = last.is_none_or(|header| tell.send(Told::Batch(header, None)).is_ok());
    if is_wanted {
        let _ = tell.send(Told::Done(verified));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::builder::{BatchBuilder, BatchOptions};
    use crate::io::{FileSystem, SimFs};
    use crate::segment::SegmentOptions;
    use crate::types::TimestampMs;
    use std::path::Path;

    struct Bases(Vec<Offset>);

    impl RecoverySink for Bases {
        fn batch(
            &mut self,
            header: &BatchHeader,
            _: Option<&Batch<'_>>,
        ) -> Result<Option<crate::format::txn_index::AbortedTxn>> {
            self.0.push(header.base_offset);
            Ok(None)
        }
    }

    fn segment(base: i64) -> Arc<Segment> {
        let fs: Arc<dyn FileSystem> = Arc::new(SimFs::new());
        let dir: Arc<Path> = Path::new("/").into();
        let options = SegmentOptions {
            index_interval_bytes: 0,
            index_bytes_max: 1000,
        };
        let now = TimestampMs(1);
        let mut writer = Segment::create(&fs, &dir, Offset(base), options, None, now).unwrap();
        let mut builder = BatchBuilder::new();
        for offset in base..base + 5 {
            builder.clear();
            builder.push(now, None, Some(b"v"), [].into_iter()).unwrap();
            let batch = BatchOptions {
                base_offset: Offset(offset),
                ..BatchOptions::default()
            };
            let bytes = builder.finish(&batch).unwrap();
            writer.store(bytes).unwrap();
            writer.commit(&[*Batch::new(bytes).unwrap().header()]);
        }
        writer.close()
    }

    #[test]
    fn free_threads_look_at_what_comes_next_and_tell_what_counts() {
        let spare = SpareThreads::default();
        spare.add(2);
        let segments: Vec<_> = [0, 5, 10, 15].map(segment).into();
        std::thread::scope(|scope| {
            let mut ahead = ReadAhead::new(scope, &spare, None);
            ahead.look_at(&segments[1..]);
            let taken: Vec<bool> = segments
                .iter()
                .map(|s| ahead.ahead.contains_key(&s.base_offset()))
                .collect();
            assert!(taken[1] && !taken[0]);
            for segment in &segments[1..] {
                let Some(looked_at) = ahead.take(segment.base_offset()) else {
                    continue;
                };
                let base = segment.base_offset();
                let mut sink = Bases(Vec::new());
                let (writer, recovery) = looked_at.recover(Arc::clone(segment), &mut sink).unwrap();
                assert_eq!(recovery.truncated_bytes, 0);
                assert_eq!(writer.segment().size_bytes(), segment.size_bytes());
                // The first one, for its epoch, and the last one.
                assert_eq!(sink.0, [base, Offset(base.0 + 4)]);
            }
        });
        assert!(spare.take().is_some() && spare.take().is_some());
        let _both = (spare.take(), spare.take());
    }
}
