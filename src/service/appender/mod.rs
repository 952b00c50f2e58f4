//! Group commit: many threads add small lots of records, which are appended to one log in few batches, and synced together.
//!
//! **Who does the work.** There is one at a time who appends: a thread that waits for a ticket, flushes, or finds the queue
//! full, whoever comes first; while that one works the others add to the next batch. An [`AppenderThread`], if there is
//! one, does it when nobody waits and a batch is full or its time has come. Without one an appender has no thread at all:
//! what nobody waits for is appended when the queue is full.
//!
//! **Order.** Batches are appended in the order in which they were filled, so what a thread adds keeps its order, and lies
//! in the log in the order of the tickets. A batch that is refused does not hold up those behind it.
//!
//! **Durability.** With [`WriteDurability::Synced`] all batches that wait are appended, then made durable by one sync.

mod queue;
mod thread;

use std::fmt;
use std::sync::Arc;
use std::sync::Weak;
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};

use super::patience::{Look, Patience, wait_for};
use super::sleepers::Sleepers;
use crate::error::{Error, ErrorKind, Result};
use crate::format::builder::BatchBuilder;
use crate::io::Deadline;
use crate::log::{AppendOptions, AppendResult, Log, Origin, ProducerStamp, Wake, WriteDurability};
use crate::types::TimestampMs;

use queue::{Batch, Filling, Queue, dropped, nothing_added};
pub use thread::AppenderThread;

/// How an appender works.
#[derive(Clone, Debug)]
pub struct AppenderOptions {
    /// How its batches are appended. Of a producer the base sequence counts for the first batch, and goes on from there.
    pub append: AppendOptions,
    /// A batch is closed when it holds so many bytes, uncompressed, or as many as the topic allows. An add is never split:
    /// larger ones are a batch of their own.
    pub batch_bytes: usize,
    /// Adds wait while so many bytes are not appended yet.
    pub queue_bytes: usize,
    /// How long a batch that is not full waits for more records.
    pub linger: Duration,
    /// What appends if nobody waits.
    pub thread: Option<Arc<AppenderThread>>,
}

impl Default for AppenderOptions {
    /// 64 KiB a batch, 16 MiB in the queue, no lingering, no thread.
    fn default() -> Self {
        Self {
            append: AppendOptions::default(),
            batch_bytes: 64 * 1024,
            queue_bytes: 16 * 1024 * 1024,
            linger: Duration::ZERO,
            thread: None,
        }
    }
}

/// What stands for the records of one add.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket(pub u64);

impl Ticket {
    /// Of an add without records.
    pub const NOTHING: Self = Self(0);
}

/// What happens to records that are not appended yet when an appender is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leftover {
    /// They are appended.
    Append,
    /// They are dropped; their tickets answer CLOSED.
    Drop,
}

/// Appends what many threads add to one log.
///
/// When it is dropped, what was not appended is dropped with it: close it, or flush it before. Close it before its manager:
/// afterwards what is left answers CLOSED.
///
/// ```
/// use klog::config::ConfigSet;
/// use klog::manager::{CreateOptions, Manager, ManagerOptions};
/// use klog::service::{Appender, AppenderOptions, Leftover, Patience};
/// use klog::types::{Offset, TimestampMs, TopicPartition};
///
/// # fn main() -> klog::Result<()> {
/// # let temporary = tempfile::tempdir().expect("a temporary directory");
/// # let data_dir = temporary.path().to_path_buf();
/// let config = std::sync::Arc::new(ConfigSet::broker().resolve()?);
/// let manager = Manager::open(ManagerOptions::new(vec![data_dir], config))?;
/// let log = manager.get_or_create_log(&TopicPartition::new("orders", 0), &CreateOptions::default())?;
/// let appender = Appender::open(&log, AppenderOptions::default())?;
/// let first = appender.add(&Patience::ENDLESS, |batch| {
///     batch.push(TimestampMs(1), Some(b"42"), Some(b"an order"), [].into_iter())
/// })?;
/// let second = appender.add(&Patience::ENDLESS, |batch| {
///     batch.push(TimestampMs(2), Some(b"43"), Some(b"another"), [].into_iter())
/// })?;
/// assert_eq!(appender.wait(second, &Patience::ENDLESS)?.first_offset, Offset(1));
/// assert_eq!(appender.wait(first, &Patience::ENDLESS)?.first_offset, Offset(0));
/// appender.close(Leftover::Append)?;
/// # manager.close()
/// # }
/// ```
#[derive(Debug)]
pub struct Appender {
    core: Arc<Core>,
}

/// What threads share.
struct Core {
    log: Arc<Log>,
    options: AppenderOptions,
    state: Mutex<State>,
    /// Who waits for room in the queue.
    adders: Sleepers,
    own: Weak<Core>,
}

impl fmt::Debug for Core {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Core")
            .field("log", self.log.partition())
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

#[derive(Default)]
struct State {
    queue: Queue,
    /// Whether somebody appends.
    is_working: bool,
    is_closed: bool,
    /// When the thread was asked to come, if it has not come since.
    called_for: Option<Deadline>,
    /// The next sequence number of the producer.
    sequence: i32,
    /// The first failure that no flush has answered.
    failure: Option<Error>,
}

impl Appender {
    /// Opens one. INVALID_ARGUMENT for options that only make sense for one append: an expected log end; and for another
    /// origin than a client. CLOSED, UNKNOWN_TOPIC_OR_PARTITION, READ_ONLY for logs that take no appends.
    pub fn open(log: &Arc<Log>, options: AppenderOptions) -> Result<Self> {
        log.check_open()?;
        log.check_owned()?;
        if options.append.expected_log_end.is_some() {
            return Err(Error::invalid_argument(
                "an appender cannot compare the log end: it appends when it is time to",
            ));
        }
        if options.append.origin != Origin::Client {
            return Err(Error::invalid_argument(
                "another origin than a client brings ready batches, not records",
            ));
        }
        let core = Arc::new_cyclic(|own| Core {
            log: Arc::clone(log),
            state: Mutex::new(State {
                sequence: options.append.producer.map_or(0, |p| p.base_sequence),
                ..State::default()
            }),
            options,
            adders: Sleepers::default(),
            own: Weak::clone(own),
        });
        let weak: Weak<Core> = Arc::downgrade(&core);
        log.wake_at_end(weak);
        Ok(Self { core })
    }

    /// Adds what `fill` puts into the batch, all or nothing, to be appended together and in this order. Waits only while the
    /// queue is full: TIMED_OUT, or QUEUE_FULL with [`Patience::NONE`]. `fill` may be called again, then with an empty batch;
    /// what it fails with is the answer, and nothing was added. CLOSED once the appender or the log is closed.
    pub fn add(
        &self,
        patience: &Patience<'_>,
        mut fill: impl FnMut(&mut BatchBuilder) -> Result<()>,
    ) -> Result<Ticket> {
        let added = wait_for(
            patience,
            "the queue did not get room",
            |bell| self.core.adders.enlist(Arc::clone(bell) as _),
            || self.core.try_add(&mut fill),
        );
        added.map_err(|e| match e.kind() {
            ErrorKind::TimedOut if patience.is_none() => Error::new(
                ErrorKind::QueueFull,
                format!(
                    "{} bytes and more wait to be appended to {}",
                    self.core.options.queue_bytes,
                    self.core.log.partition()
                ),
            ),
            _ => e,
        })
    }

    /// The time of the log's clock.
    #[must_use]
    pub fn now(&self) -> TimestampMs {
        self.core.log.now()
    }

    /// Waits until the records of an add are appended, and durable if that is asked for: their offsets. It fails as the
    /// append of their batch did. TIMED_OUT, CANCELLED: they are still on their way, and can be waited for again.
    /// INVALID_ARGUMENT for a ticket of another appender, and for one so old that its result is not kept: those of the last
    /// 16,000 adds are.
    pub fn wait(&self, ticket: Ticket, patience: &Patience<'_>) -> Result<AppendResult> {
        if ticket == Ticket::NOTHING {
            return Ok(nothing_added(self.core.log.start_offset()));
        }
        let batch = self.core.state.lock().queue.batch_of(ticket.0)?;
        self.core.wait_for_batch(&batch, patience)?;
        match batch.outcome.get() {
            Some(outcome) => outcome.of_add(ticket.0 - batch.first_ticket),
            None => Err(Error::new(
                ErrorKind::Bug,
                "a batch is done without an outcome",
            )),
        }
    }

    /// Waits until everything is appended that was added before. The first failure since the last flush is answered, also that
    /// of records added before that one, which nobody waited for.
    pub fn flush(&self, patience: &Patience<'_>) -> Result<()> {
        let last = {
            let mut state = self.core.state.lock();
            if let Some(filling) = &mut state.queue.filling {
                filling.due = Deadline::AT_ONCE;
            }
            state.queue.last_pending()
        };
        if let Some(last) = last {
            self.core.wait_for_batch(&last, patience)?;
        }
        match self.core.state.lock().failure.take() {
            None => Ok(()),
            Some(failure) => Err(failure),
        }
    }

    /// Takes no records any more, and sees to those that are left. Fails as [`Self::flush`] does; it is closed all the same.
    pub fn close(&self, leftover: Leftover) -> Result<()> {
        let dropped = {
            let mut state = self.core.state.lock();
            state.is_closed = true;
            match leftover {
                Leftover::Append => Vec::new(),
                Leftover::Drop => state.queue.drop_all(),
            }
        };
        self.core.wake_those(&dropped);
        match leftover {
            Leftover::Append => self.flush(&Patience::ENDLESS),
            Leftover::Drop => Ok(()),
        }
    }
}

impl Core {
    fn try_add(
        &self,
        fill: &mut impl FnMut(&mut BatchBuilder) -> Result<()>,
    ) -> Result<Look<Ticket>> {
        let mut state = self.state.lock();
        loop {
            if state.is_closed {
                return Err(dropped());
            }
            self.log.check_open()?;
            if state.queue.bytes < self.options.queue_bytes.max(1) {
                return self.put(&mut state, fill).map(Look::There);
            }
            if state.is_working {
                return Ok(Look::NotYet);
            }
            // Nobody sees to it, so this one does.
            state.queue.close_filling();
            state = self.work(state);
        }
    }

    /// Puts records into the batch that is being filled, or into a new one if that would get too large.
    fn put(
        &self,
        state: &mut State,
        fill: &mut impl FnMut(&mut BatchBuilder) -> Result<()>,
    ) -> Result<Ticket> {
        let allowed = usize::try_from(self.log.config().max_message_bytes).unwrap_or(usize::MAX);
        let limit = self.options.batch_bytes.min(allowed);
        let filling = state.queue.filling();
        let mark = filling.builder.mark();
        let is_first = mark.record_count() == 0;
        let filled = fill(&mut filling.builder);
        let bytes = filling.builder.uncompressed_bytes();
        if !is_first && (filled.is_err() || bytes > limit) {
            filling.builder.rewind(&mark);
            if filled.is_err() {
                // Alone, so that what is wrong with a record is told by its own number.
                fill(&mut BatchBuilder::new())?;
            }
            // It is too much for this batch; the next one is empty, whatever it holds then.
            state.queue.close_filling();
            return self.put(state, fill);
        }
        if filled.is_err() || filling.builder.record_count() == mark.record_count() {
            filling.builder.rewind(&mark);
            return filled.map(|()| Ticket::NOTHING);
        }
        if is_first {
            filling.due = Deadline::within(self.options.linger);
        }
        let start = u32::try_from(mark.record_count()).unwrap_or(0);
        let added = if is_first {
            bytes
        } else {
            bytes - mark.bytes()
        };
        let ticket = state.queue.count_add(start, added);
        if bytes >= limit {
            state.queue.close_filling();
        }
        self.call_thread(state);
        Ok(Ticket(ticket))
    }

    /// Asks the thread to come when there is something to do, if it was not asked to come by then.
    fn call_thread(&self, state: &mut State) {
        let Some(thread) = &self.options.thread else {
            return;
        };
        let next = if state.queue.full.is_empty() {
            state.queue.filling.as_ref().map(|filling| filling.due)
        } else {
            Some(Deadline::AT_ONCE)
        };
        if let Some(next) = next
            && state.called_for.is_none_or(|called| next < called)
        {
            state.called_for = Some(next);
            thread.call(next, Weak::clone(&self.own));
        }
    }

    fn is_due(&self, filling: &Filling, is_closed: bool) -> bool {
        filling.due.has_passed() || is_closed || self.log.check_open().is_err()
    }

    /// Sleeps until the outcome of a batch is known, or brings it about.
    fn wait_for_batch(&self, batch: &Arc<Batch>, patience: &Patience<'_>) -> Result<()> {
        wait_for(
            patience,
            "the records were not appended",
            |bell| batch.sleepers.enlist(Arc::clone(bell) as _),
            || {
                let state = self.state.lock();
                if batch.outcome.get().is_some() {
                    return Ok(Look::There(()));
                }
                if state.is_working {
                    return Ok(Look::NotYet);
                }
                if let Some(filling) = &state.queue.filling
                    && Arc::ptr_eq(&filling.batch, batch)
                    && !self.is_due(filling, state.is_closed)
                {
                    return Ok(Look::NotBefore(filling.due));
                }
                drop(self.work(state));
                Ok(match batch.outcome.get() {
                    Some(_) => Look::There(()),
                    None => Look::NotYet,
                })
            },
        )
    }

    /// What the thread does when it comes.
    fn come(&self) {
        let mut state = self.state.lock();
        state.called_for = None;
        if !state.is_working {
            let is_due = !state.queue.full.is_empty()
                || (state.queue.filling.as_ref())
                    .is_some_and(|filling| self.is_due(filling, state.is_closed));
            if is_due {
                state = self.work(state);
            }
        }
        // Who works calls it again.
        if !state.is_working {
            self.call_thread(&mut state);
        }
    }

    /// Appends what is due. One at a time: the caller has seen under the lock that nobody does.
    fn work<'s>(&'s self, mut state: MutexGuard<'s, State>) -> MutexGuard<'s, State> {
        let is_closed = state.is_closed;
        let taken = state
            .queue
            .take_due(|filling| self.is_due(filling, is_closed));
        if taken.is_empty() {
            return state;
        }
        state.is_working = true;
        let sequence = state.sequence;
        drop(state);
        let mut work = Work {
            core: self,
            taken: taken.into_iter().map(|filling| (filling, None)).collect(),
            sequence,
        };
        work.append();
        drop(work);
        self.state.lock()
    }

    /// Lets those know that wait for batches, and for room; and those whose turn it may be.
    fn wake_those(&self, batches: &[Arc<Batch>]) {
        for batch in batches {
            batch.sleepers.wake_all();
        }
        self.adders.wake_all();
    }
}

impl Wake for Core {
    /// The log is closed, or its directory out of use: nobody lingers any more.
    fn wake(&self) {
        let pending: Vec<_> = self.state.lock().queue.pending().cloned().collect();
        self.wake_those(&pending);
    }
}

/// Batches that are being appended. Dropping it tells what became of them, also if that was a panic.
struct Work<'c> {
    core: &'c Core,
    taken: Vec<(Filling, Option<Result<AppendResult>>)>,
    sequence: i32,
}

impl Work<'_> {
    fn append(&mut self) {
        let options = &self.core.options.append;
        let is_synced = options.durability == WriteDurability::Synced;
        for (filling, outcome) in &mut self.taken {
            let options = AppendOptions {
                durability: WriteDurability::PageCache,
                producer: options.producer.map(|producer| ProducerStamp {
                    base_sequence: self.sequence,
                    ..producer
                }),
                ..*options
            };
            let appended = self.core.log.append(&mut filling.builder, &options);
            if appended.is_ok() {
                self.sequence = next_sequence(self.sequence, filling.builder.record_count());
            }
            *outcome = Some(appended);
        }
        let appended = self.taken.iter().filter_map(|(_, outcome)| match outcome {
            Some(Ok(done)) => Some(done.last_offset.next()),
            _ => None,
        });
        if is_synced
            && let Some(upto) = appended.max()
            && let Err(error) = self.core.log.flush_appended(upto)
        {
            for (_, outcome) in &mut self.taken {
                if let Some(Ok(_)) = outcome {
                    *outcome = Some(Err(error.clone()));
                }
            }
        }
    }
}

impl Drop for Work<'_> {
    fn drop(&mut self) {
        let defect = || {
            Err(Error::new(
                ErrorKind::Panic,
                "an append failed by a defect of klog; close the manager",
            ))
        };
        let taken: Vec<_> = std::mem::take(&mut self.taken)
            .into_iter()
            .map(|(filling, outcome)| (filling, outcome.unwrap_or_else(defect)))
            .collect();
        let mut batches: Vec<_> = taken.iter().map(|(f, _)| Arc::clone(&f.batch)).collect();
        let failure = taken.iter().find_map(|(_, outcome)| outcome.clone().err());
        {
            let mut state = self.core.state.lock();
            state.queue.finish(taken);
            state.sequence = self.sequence;
            if state.failure.is_none() {
                state.failure = failure;
            }
            state.is_working = false;
            self.core.call_thread(&mut state);
            // It may be the turn of those that wait for what came meanwhile.
            batches.extend(state.queue.pending().cloned());
        }
        self.core.wake_those(&batches);
    }
}

/// The sequence number behind `records` records: after the largest comes 0 (state.md 2).
fn next_sequence(base: i32, records: i32) -> i32 {
    let next = i64::from(base) + i64::from(records);
    i32::try_from(next % (i64::from(i32::MAX) + 1)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sequence_numbers_go_round() {
        assert_eq!(next_sequence(0, 5), 5);
        assert_eq!(next_sequence(i32::MAX, 1), 0);
        assert_eq!(next_sequence(i32::MAX - 1, 3), 1);
    }
}
