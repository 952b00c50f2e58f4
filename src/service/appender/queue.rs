//! What was added and is not appended yet: the batch that is being filled, those that are full, and what became of earlier
//! ones. Values only; who holds the lock is [`super`]'s matter.

use std::collections::VecDeque;
use std::sync::Arc;

use once_cell::sync::OnceCell;

use crate::error::{Error, ErrorKind, Result};
use crate::format::builder::BatchBuilder;
use crate::io::Deadline;
use crate::log::AppendResult;
use crate::service::sleepers::Sleepers;
use crate::types::Offset;

/// How much of what became of batches is kept: an add counts 1, and a batch so many as its own memory is worth.
const KEPT_MAX: usize = 1 << 20;
const KEPT_PER_BATCH: usize = 64;
/// Builders that wait for the next batch, with their memory.
const SPARE_BUILDERS_MAX: usize = 4;
/// One with more memory than this is given up.
const SPARE_BYTES_MAX: usize = 4 << 20;

/// Adds that are appended together.
#[derive(Debug)]
pub(super) struct Batch {
    /// The ticket of its first add.
    pub(super) first_ticket: u64,
    pub(super) outcome: OnceCell<Outcome>,
    /// Who waits for the outcome, or until it is its turn.
    pub(super) sleepers: Sleepers,
}

/// What became of a batch.
#[derive(Debug)]
pub(super) struct Outcome {
    result: Result<AppendResult>,
    /// Where each add begins, in records from the first.
    starts: Box<[u32]>,
}

impl Outcome {
    /// What an add of the batch gets: its own offsets and count; all else is the batch's.
    pub(super) fn of_add(&self, number: u64) -> Result<AppendResult> {
        let result = self.result.clone()?;
        let number = usize::try_from(number).unwrap_or(usize::MAX);
        let start = self.starts.get(number).copied().unwrap_or(0);
        let end = number
            .checked_add(1)
            .and_then(|next| self.starts.get(next).copied())
            .unwrap_or(result.records);
        Ok(AppendResult {
            first_offset: result.first_offset + i64::from(start),
            last_offset: result.first_offset + (i64::from(end) - 1),
            records: end.saturating_sub(start),
            ..result
        })
    }
}

/// A batch with its records.
pub(super) struct Filling {
    pub(super) batch: Arc<Batch>,
    pub(super) builder: BatchBuilder,
    pub(super) starts: Vec<u32>,
    /// When it is to be appended although it is not full.
    pub(super) due: Deadline,
    /// What it counts in the queue.
    pub(super) bytes: usize,
}

/// Everything that is added, in order.
#[derive(Default)]
pub(super) struct Queue {
    /// How many adds there were.
    pub(super) tickets: u64,
    pub(super) filling: Option<Filling>,
    pub(super) full: VecDeque<Filling>,
    /// Those that are being appended.
    pub(super) in_work: Vec<Arc<Batch>>,
    /// Those whose outcome is known, the oldest first.
    done: VecDeque<Arc<Batch>>,
    kept: usize,
    /// Bytes of what is filling, full or in work.
    pub(super) bytes: usize,
    spare: Vec<BatchBuilder>,
}

impl Queue {
    /// The batch that is being filled: a new one, if there is none, with nothing in it.
    pub(super) fn filling(&mut self) -> &mut Filling {
        let (first_ticket, spare) = (self.tickets + 1, &mut self.spare);
        self.filling.get_or_insert_with(|| Filling {
            batch: Arc::new(Batch {
                first_ticket,
                outcome: OnceCell::new(),
                sleepers: Sleepers::default(),
            }),
            builder: spare.pop().unwrap_or_default(),
            starts: Vec::new(),
            due: Deadline::NEVER,
            bytes: 0,
        })
    }

    /// Nothing more goes into the batch that is being filled.
    pub(super) fn close_filling(&mut self) {
        if let Some(filling) = self.filling.take_if(|filling| !filling.starts.is_empty()) {
            self.full.push_back(filling);
        }
    }

    /// The records that were just put into the batch that is being filled count as an add: its ticket.
    pub(super) fn count_add(&mut self, start: u32, bytes: usize) -> u64 {
        self.tickets += 1;
        self.bytes += bytes;
        if let Some(filling) = &mut self.filling {
            filling.starts.push(start);
            filling.bytes += bytes;
        }
        self.tickets
    }

    /// Takes what is to be appended now: what is full, and what is being filled if it is due.
    pub(super) fn take_due(&mut self, is_due: impl FnOnce(&Filling) -> bool) -> Vec<Filling> {
        if self.filling.as_ref().is_some_and(is_due) {
            self.close_filling();
        }
        let taken: Vec<Filling> = self.full.drain(..).collect();
        self.in_work
            .extend(taken.iter().map(|filling| Arc::clone(&filling.batch)));
        taken
    }

    /// Drops everything that is not in work. Who sleeps for it is to be woken by the caller.
    pub(super) fn drop_all(&mut self) -> Vec<Arc<Batch>> {
        self.close_filling();
        let all: Vec<Filling> = self.full.drain(..).collect();
        let batches = all.iter().map(|filling| Arc::clone(&filling.batch));
        let batches = batches.collect();
        for filling in all {
            self.settle(filling, Err(dropped()));
        }
        batches
    }

    /// What became of batches that were taken. Who sleeps for them is to be woken by the caller.
    pub(super) fn finish(&mut self, taken: Vec<(Filling, Result<AppendResult>)>) {
        self.in_work.clear();
        for (filling, result) in taken {
            self.settle(filling, result);
        }
    }

    fn settle(&mut self, filling: Filling, result: Result<AppendResult>) {
        self.bytes -= filling.bytes;
        self.kept += KEPT_PER_BATCH + filling.starts.len();
        let outcome = Outcome {
            result,
            starts: filling.starts.into_boxed_slice(),
        };
        let _ = filling.batch.outcome.set(outcome);
        // Behind what was added before: what is dropped may be settled before that.
        let first_ticket = filling.batch.first_ticket;
        let at = self
            .done
            .partition_point(|batch| batch.first_ticket < first_ticket);
        self.done.insert(at, filling.batch);
        if self.spare.len() < SPARE_BUILDERS_MAX
            && filling.builder.capacity_bytes() <= SPARE_BYTES_MAX
        {
            let mut builder = filling.builder;
            builder.clear();
            self.spare.push(builder);
        }
        while self.kept > KEPT_MAX
            && self.done.len() > 1
            && let Some(oldest) = self.done.pop_front()
        {
            let adds = oldest.outcome.get().map_or(0, |o| o.starts.len());
            self.kept -= KEPT_PER_BATCH + adds;
        }
    }

    /// Batches whose outcome is not known, in order.
    pub(super) fn pending(&self) -> impl Iterator<Item = &Arc<Batch>> {
        let filling = self.filling.iter().filter(|f| !f.starts.is_empty());
        let waiting = self.full.iter().chain(filling);
        let waiting = waiting.map(|filling| &filling.batch);
        self.in_work.iter().chain(waiting)
    }

    /// The last batch whose outcome is not known.
    pub(super) fn last_pending(&self) -> Option<Arc<Batch>> {
        self.pending().last().cloned()
    }

    /// The batch of a ticket. INVALID_ARGUMENT for one that was not given out, or whose outcome is not kept any more.
    pub(super) fn batch_of(&self, ticket: u64) -> Result<Arc<Batch>> {
        let wrong = |what: &str| Error::invalid_argument(format!("the ticket {ticket} {what}"));
        if ticket == 0 || ticket > self.tickets {
            return Err(wrong("was not given out by this appender"));
        }
        let mut pending: Vec<_> = self.pending().collect();
        let at = pending.partition_point(|batch| batch.first_ticket <= ticket);
        if at > 0 {
            return Ok(Arc::clone(pending.swap_remove(at - 1)));
        }
        let at = self
            .done
            .partition_point(|batch| batch.first_ticket <= ticket);
        at.checked_sub(1)
            .and_then(|at| self.done.get(at))
            .cloned()
            .ok_or_else(|| wrong("is so old that its result is not kept any more"))
    }
}

/// The result of an add of no records.
pub(super) fn nothing_added(log_start_offset: Offset) -> AppendResult {
    AppendResult {
        first_offset: Offset::NONE,
        last_offset: Offset::NONE,
        log_start_offset,
        log_append_time: crate::types::TimestampMs::NONE,
        max_timestamp: crate::types::TimestampMs::NONE,
        bytes_appended: 0,
        records: 0,
    }
}

/// CLOSED, for what is not appended any more.
pub(super) fn dropped() -> Error {
    Error::new(
        ErrorKind::Closed,
        "the appender was closed before these records were appended",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::TimestampMs;

    fn add(queue: &mut Queue, records: u32) -> u64 {
        let filling = queue.filling();
        let start = filling.builder.record_count();
        for _ in 0..records {
            filling
                .builder
                .push(TimestampMs(1), None, Some(b"v"), [].into_iter())
                .unwrap();
        }
        queue.count_add(start.try_into().unwrap(), 10)
    }

    fn done(first: i64, records: u32) -> AppendResult {
        AppendResult {
            first_offset: Offset(first),
            last_offset: Offset(first) + (i64::from(records) - 1),
            records,
            ..nothing_added(Offset(0))
        }
    }

    #[test]
    fn each_ticket_finds_its_batch_and_its_own_offsets() {
        let mut queue = Queue::default();
        let tickets = [add(&mut queue, 2), add(&mut queue, 1), add(&mut queue, 3)];
        assert_eq!(tickets, [1, 2, 3]);
        queue.close_filling();
        assert_eq!(add(&mut queue, 1), 4);
        assert_eq!(queue.bytes, 40);
        assert_eq!(queue.batch_of(4).unwrap().first_ticket, 4);
        let taken = queue.take_due(|_| false);
        assert_eq!((taken.len(), queue.in_work.len()), (1, 1));
        assert_eq!(queue.batch_of(3).unwrap().first_ticket, 1);
        queue.finish(taken.into_iter().map(|f| (f, Ok(done(100, 6)))).collect());
        assert_eq!(queue.bytes, 10);
        let batch = queue.batch_of(2).unwrap();
        let of = |number| {
            let add = batch.outcome.get().unwrap().of_add(number).unwrap();
            (add.first_offset.0, add.last_offset.0, add.records)
        };
        assert_eq!(
            [of(0), of(1), of(2)],
            [(100, 101, 2), (102, 102, 1), (103, 105, 3)]
        );
        for unknown in [0, 5, u64::MAX] {
            let error = queue.batch_of(unknown).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        }
    }

    #[test]
    fn what_became_of_old_batches_is_forgotten_and_memory_stays_bounded() {
        let mut queue = Queue::default();
        let batches = u64::try_from(2 * KEPT_MAX / KEPT_PER_BATCH).unwrap();
        for _ in 0..batches {
            add(&mut queue, 1);
            let taken = queue.take_due(|_| true);
            queue.finish(taken.into_iter().map(|f| (f, Ok(done(0, 1)))).collect());
        }
        assert!(queue.kept <= KEPT_MAX && queue.done.len() > 10_000);
        assert!(queue.batch_of(1).is_err());
        assert!(queue.batch_of(batches - 10_000).is_ok());
        assert!(queue.batch_of(batches).is_ok());
    }
}
