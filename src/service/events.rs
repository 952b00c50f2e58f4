//! What happens, as a stream that is read when there is time: rolls, deletions, failures, and what opening found.
//!
//! A stream is bounded. When it is full the newest events are lost, counted, and an event of [`EventKind::Lost`] stands in
//! their place; what was there stays. Nobody who has something to tell ever waits for a reader.

use std::collections::VecDeque;
use std::os::fd::RawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;

use super::patience::{Look, Patience, wait_for};
use super::sleepers::Sleepers;
use crate::error::{Error, ErrorKind, Result};
use crate::io::{Deadline, EventFd};
use crate::log::{Event, EventKind, EventListener, Monitor};
use crate::manager::Manager;

/// How many events a stream holds if nothing else is asked for.
const DEFAULT_CAPACITY: usize = 1024;

/// What a stream brings, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventOptions {
    /// The kinds that are wanted, as bits ([`EventKind::bit`]); 0 is all. [`EventKind::Lost`] comes in any case.
    pub kinds: u64,
    /// How many events it holds; 0 is 1024.
    pub capacity: usize,
    /// Whether it has a descriptor.
    pub descriptor: Descriptor,
}

/// Whether a stream has a descriptor that a program can wait on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Descriptor {
    /// None.
    #[default]
    None,
    /// An eventfd, readable while [`EventStream::poll`] has something to answer: events, or that it is closed.
    EventFd,
}

impl Default for EventOptions {
    /// All kinds, as many as 1024, without a descriptor.
    fn default() -> Self {
        Self {
            kinds: 0,
            capacity: 0,
            descriptor: Descriptor::None,
        }
    }
}

/// The events of a manager from a moment on.
///
/// It begins with what opening found ([`Manager::report`], as events of the time when opening began) and with the
/// directories that are offline by now. So who comes after the opening misses nothing of it. What happened between the
/// opening and this moment otherwise is not told.
///
/// ```
/// use std::time::Duration;
///
/// use klog::config::ConfigSet;
/// use klog::log::EventKind;
/// use klog::manager::{CreateOptions, Manager, ManagerOptions};
/// use klog::service::{EventOptions, EventStream};
/// use klog::types::TopicPartition;
///
/// # fn main() -> klog::Result<()> {
/// # let temporary = tempfile::tempdir().expect("a temporary directory");
/// # let data_dir = temporary.path().to_path_buf();
/// let config = std::sync::Arc::new(ConfigSet::broker().resolve()?);
/// let manager = Manager::open(ManagerOptions::new(vec![data_dir], config))?;
/// let events = EventStream::open(&manager, EventOptions::default())?;
/// manager.get_or_create_log(&TopicPartition::new("orders", 0), &CreateOptions::default())?;
/// let first = events.poll(100, Some(Duration::from_secs(1)))?;
/// assert_eq!(first[0].kind, EventKind::LogCreated);
/// # manager.close()
/// # }
/// ```
#[derive(Debug)]
pub struct EventStream {
    queue: Arc<Queue>,
    monitor: Arc<Monitor>,
}

#[derive(Debug)]
struct Queue {
    /// Relaxed, pairs with nothing: it becomes 0 when the stream is dropped, and what comes at that moment is dropped too.
    kinds: AtomicU64,
    capacity: usize,
    waiting: Mutex<Waiting>,
    readers: Sleepers,
    fd: Option<EventFd>,
}

/// What waits for the reader.
#[derive(Debug, Default)]
struct Waiting {
    events: VecDeque<Arc<Event>>,
    /// Events that found no room behind these.
    lost: u64,
    /// The last of them.
    last_lost: Option<Arc<Event>>,
    is_closed: bool,
}

impl Waiting {
    /// Takes an event if there is room, behind what tells of those that were lost before it.
    fn push(&mut self, event: &Arc<Event>, capacity: usize) {
        if self.lost > 0 && self.events.len() + 2 <= capacity {
            let lost = self.take_lost();
            self.events.extend(lost);
        }
        if self.lost == 0 && self.events.len() < capacity {
            self.events.push_back(Arc::clone(event));
        } else {
            self.lost += 1;
            self.last_lost = Some(Arc::clone(event));
        }
    }

    /// The oldest event.
    fn pop(&mut self) -> Option<Arc<Event>> {
        self.events.pop_front().or_else(|| self.take_lost())
    }

    fn take_lost(&mut self) -> Option<Arc<Event>> {
        let last = self.last_lost.take()?;
        Some(Arc::new(Event {
            count: Some(std::mem::take(&mut self.lost)),
            ..Event::new(EventKind::Lost, last.time)
        }))
    }

    fn is_empty(&self) -> bool {
        self.events.is_empty() && self.lost == 0
    }
}

impl Queue {
    fn take(&self, waiting: &mut Waiting) -> Result<Option<Arc<Event>>> {
        if waiting.is_closed {
            return Err(Error::new(
                ErrorKind::Closed,
                "the stream of events, or its manager, is closed",
            ));
        }
        let event = waiting.pop();
        if waiting.is_empty()
            && let Some(fd) = &self.fd
        {
            fd.clear();
        }
        Ok(event)
    }
}

impl EventListener for Queue {
    fn wanted(&self) -> u64 {
        self.kinds.load(Ordering::Relaxed)
    }

    fn hear(&self, event: &Arc<Event>) {
        let mut waiting = self.waiting.lock();
        waiting.push(event, self.capacity);
        if let Some(fd) = &self.fd {
            fd.set();
        }
        drop(waiting);
        self.readers.wake_all();
    }

    fn end(&self) {
        self.waiting.lock().is_closed = true;
        if let Some(fd) = &self.fd {
            fd.set();
        }
        self.readers.wake_all();
    }
}

impl EventStream {
    /// Opens a stream. CLOSED if the manager is; NO_FILES if a descriptor is wanted and there is none.
    pub fn open(manager: &Manager, options: EventOptions) -> Result<Self> {
        let unknown = options.kinds & !EventKind::all_bits();
        if unknown != 0 {
            return Err(Error::invalid_argument(format!(
                "the mask of events has the unknown bits {unknown:#x}"
            )));
        }
        let queue = Arc::new(Queue {
            kinds: AtomicU64::new(match options.kinds {
                0 => EventKind::all_bits(),
                kinds => kinds,
            }),
            capacity: match options.capacity {
                0 => DEFAULT_CAPACITY,
                capacity => capacity,
            },
            waiting: Mutex::default(),
            readers: Sleepers::default(),
            fd: match options.descriptor {
                Descriptor::None => None,
                Descriptor::EventFd => Some(EventFd::new()?),
            },
        });
        manager.listen(&(Arc::clone(&queue) as Arc<dyn EventListener>))?;
        Ok(Self {
            queue,
            monitor: Arc::clone(manager.monitor()),
        })
    }

    /// The oldest events, up to `max`. Waits for the first one up to `timeout`, `None` without limit: TIMED_OUT if none came,
    /// CLOSED if the manager or this stream is closed, or is while it waits. What was not read by then is gone.
    pub fn poll(&self, max: usize, timeout: Option<Duration>) -> Result<Vec<Arc<Event>>> {
        let mut given = Vec::new();
        let patience = Patience::until(Deadline::within_or_never(timeout));
        self.poll_each(&patience, |event| {
            given.push(Arc::clone(event));
            if given.len() < max {
                Take::More
            } else {
                Take::Last
            }
        })?;
        Ok(given)
    }

    /// As [`Self::poll`], with more that can end the waiting, and an event at a time, until `take` has enough or there is none.
    /// How many were taken.
    pub fn poll_each(
        &self,
        patience: &Patience<'_>,
        mut take: impl FnMut(&Arc<Event>) -> Take,
    ) -> Result<usize> {
        let mut next = Some(self.wait(patience)?);
        let mut count = 0;
        while let Some(event) = next {
            // Not under the lock: who publishes must not wait for what is done here.
            match take(&event) {
                Take::More => count += 1,
                Take::Last => return Ok(count + 1),
                Take::PutBack => {
                    self.put_back(event);
                    return Ok(count);
                }
            }
            next = self.queue.take(&mut self.queue.waiting.lock())?;
        }
        Ok(count)
    }

    /// The number of its descriptor, if it has one. It is closed with the stream.
    #[must_use]
    pub fn raw_fd(&self) -> Option<RawFd> {
        self.queue.fd.as_ref().map(EventFd::raw_fd)
    }

    /// Ends the stream, for calls that wait in it too.
    pub fn close(&self) {
        self.queue.end();
    }

    fn wait(&self, patience: &Patience<'_>) -> Result<Arc<Event>> {
        wait_for(
            patience,
            "no event came",
            |bell| self.queue.readers.enlist(Arc::clone(bell) as _),
            || {
                let event = self.queue.take(&mut self.queue.waiting.lock())?;
                Ok(event.map_or(Look::NotYet, Look::There))
            },
        )
    }

    fn put_back(&self, event: Arc<Event>) {
        let mut waiting = self.queue.waiting.lock();
        // One more than the capacity, if another came meanwhile.
        waiting.events.push_front(event);
        if let Some(fd) = &self.queue.fd {
            fd.set();
        }
        drop(waiting);
        self.queue.readers.wake_all();
    }
}

/// What became of an event that was offered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Take {
    /// It was taken, and so is the next one.
    More,
    /// It was taken, and is enough.
    Last,
    /// It comes again with the next call.
    PutBack,
}

impl Drop for EventStream {
    fn drop(&mut self) {
        self.queue.kinds.store(0, Ordering::Relaxed);
        self.monitor.events().tidy();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::TimestampMs;

    fn event(time: i64) -> Arc<Event> {
        Arc::new(Event::new(EventKind::Rolled, TimestampMs(time)))
    }

    fn drained(waiting: &mut Waiting) -> Vec<(EventKind, i64, Option<u64>)> {
        std::iter::from_fn(|| waiting.pop())
            .map(|e| (e.kind, e.time.0, e.count))
            .collect()
    }

    #[test]
    fn the_oldest_stay_and_what_was_lost_is_told_in_its_place() {
        let (rolled, lost) = (EventKind::Rolled, EventKind::Lost);
        let mut waiting = Waiting::default();
        for time in 1..=5 {
            waiting.push(&event(time), 3);
        }
        // Room for one: what tells of the loss needs another, so this one is lost too.
        assert_eq!(waiting.pop().unwrap().time.0, 1);
        waiting.push(&event(6), 3);
        assert_eq!(
            drained(&mut waiting),
            [(rolled, 2, None), (rolled, 3, None), (lost, 6, Some(3))]
        );
        assert!(waiting.is_empty());
        for time in 1..=4 {
            waiting.push(&event(time), 3);
        }
        waiting.pop();
        waiting.pop();
        waiting.push(&event(7), 3);
        assert_eq!(
            drained(&mut waiting),
            [(rolled, 3, None), (lost, 4, Some(1)), (rolled, 7, None)]
        );
    }

    #[test]
    fn a_stream_for_one_event_never_stops_telling() {
        let mut waiting = Waiting::default();
        for round in 0..3 {
            waiting.push(&event(round), 1);
            waiting.push(&event(round), 1);
            let told = drained(&mut waiting);
            assert_eq!(told.len(), 2, "{told:?}");
        }
    }
}
