//! Readiness of many logs at once: each is armed for one condition, and those whose condition holds are taken together, by
//! a thread that waits or by a program that waits on a descriptor.
//!
//! Being armed costs an entry in the list of those who wait for that log; nothing is scanned. What is taken was looked at
//! then and there: an entry that was woken for nothing is armed again, and never given.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::fmt::Debug;
use std::os::fd::RawFd;
use std::sync::Arc;
use std::sync::Weak;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;

use super::patience::{Ending, Look, Patience, wait_for};
use super::sleepers::Sleepers;
use crate::error::{Error, ErrorKind, Result};
use crate::io::{Deadline, WaitFd};
use crate::log::{Condition, Enlisted, Event, EventListener, Log, Monitor, Wake, Watch};
use crate::manager::Manager;
use crate::types::Offset;

/// Many logs that are waited for at once. `T` is what comes back with each.
///
/// It is closed with its manager, and when it is dropped. Any number of threads may use it.
///
/// ```
/// use klog::config::ConfigSet;
/// use klog::format::builder::BatchBuilder;
/// use klog::io::Deadline;
/// use klog::log::{AppendOptions, Condition, WaitKind};
/// use klog::manager::{CreateOptions, Manager, ManagerOptions};
/// use klog::service::{Patience, Waiter};
/// use klog::types::{Offset, TimestampMs, TopicPartition};
///
/// # fn main() -> klog::Result<()> {
/// # let temporary = tempfile::tempdir().expect("a temporary directory");
/// # let data_dir = temporary.path().to_path_buf();
/// let config = std::sync::Arc::new(ConfigSet::broker().resolve()?);
/// let manager = Manager::open(ManagerOptions::new(vec![data_dir], config))?;
/// let log = manager.get_or_create_log(&TopicPartition::new("orders", 0), &CreateOptions::default())?;
/// let waiter = Waiter::open(&manager)?;
/// let first = Condition { kind: WaitKind::LogEnd, offset: Offset(0), min_bytes: 0 };
/// waiter.arm(&log, first, Deadline::NEVER, "orders", None)?;
/// let mut builder = BatchBuilder::new();
/// builder.push(TimestampMs(1), None, Some(b"an order"), [].into_iter())?;
/// log.append(&mut builder, &AppendOptions::default())?;
/// let ready = waiter.poll(100, &Patience::ENDLESS)?;
/// assert_eq!((ready[0].tag, ready[0].outcome.clone()?), ("orders", Offset(1)));
/// # manager.close()
/// # }
/// ```
#[derive(Debug)]
pub struct Waiter<T: Tag> {
    shared: Arc<Shared<T>>,
    monitor: Arc<Monitor>,
    process: u32,
}

/// What can come back with a log that is ready.
pub trait Tag: Clone + Debug + Send + Sync + 'static {}

impl<T: Clone + Debug + Send + Sync + 'static> Tag for T {}

/// A log whose condition holds, or never will.
#[derive(Clone, Debug)]
pub struct Ready<T> {
    /// What it was armed with.
    pub tag: T,
    /// What was waited for.
    pub condition: Condition,
    /// Where the end is that was waited for; or what [`super::wait`] fails with, TIMED_OUT among it.
    pub outcome: Result<Offset>,
}

#[derive(Debug)]
struct Shared<T: Tag> {
    state: Mutex<State<T>>,
    fd: WaitFd,
    pollers: Sleepers,
}

#[derive(Debug)]
struct State<T: Tag> {
    next_id: u64,
    armed: HashMap<u64, Arc<Armed<T>>>,
    /// Those to be looked at, the first woken first.
    woken: VecDeque<u64>,
    /// When those with a timeout are to be looked at.
    timeouts: BTreeSet<(Deadline, u64)>,
    /// What the descriptor's timer is set to.
    timer: Deadline,
    is_closed: bool,
}

#[derive(Debug)]
struct Armed<T: Tag> {
    id: u64,
    log: Arc<Log>,
    tag: T,
    deadline: Deadline,
    ending: Option<Arc<Ending>>,
    watch: Mutex<Watch>,
    is_woken: AtomicBool,
    places: Mutex<Places>,
    shared: Weak<Shared<T>>,
}

/// Where it is enlisted.
#[derive(Debug, Default)]
struct Places {
    at_log: Option<Enlisted>,
    at_ending: Option<u64>,
}

/// What the lists hold: not the entry itself, which holds its places in them.
#[derive(Debug)]
struct Caller<T: Tag>(Weak<Armed<T>>);

impl<T: Tag> Wake for Caller<T> {
    fn wake(&self) {
        if let Some(armed) = self.0.upgrade() {
            armed.wake();
        }
    }
}

impl<T: Tag> Armed<T> {
    fn wake(&self) {
        let Some(shared) = self.shared.upgrade() else {
            return;
        };
        if self.is_woken.swap(true, Ordering::SeqCst) {
            return;
        }
        {
            let mut state = shared.state.lock();
            if !state.armed.contains_key(&self.id) {
                return;
            }
            state.woken.push_back(self.id);
            shared.fd.set();
        }
        shared.pollers.wake_all();
    }

    /// Lets it be woken from now on, and wakes it if there is something already.
    fn enlist(self: &Arc<Self>) {
        let caller = || Arc::new(Caller(Arc::downgrade(self))) as Arc<dyn Wake>;
        let watch = self.watch.lock().clone();
        let at_log = self.log.enlist(&watch, caller());
        let before = {
            let mut places = self.places.lock();
            if places.at_ending.is_none()
                && let Some(ending) = &self.ending
            {
                places.at_ending = Some(ending.sleepers().add(caller()));
            }
            places.at_log.replace(at_log)
        };
        drop(before);
        if self.deadline.has_passed() || self.look().is_some() {
            self.wake();
        }
    }

    /// What it ends with, if it ends.
    fn look(&self) -> Option<Result<Offset>> {
        let ended = self.ending.as_ref().map_or(Ok(()), |ending| ending.check());
        match ended.and_then(|()| self.log.look_for(&mut self.watch.lock())) {
            Ok(found) => found.map(Ok),
            Err(e) => Some(Err(e)),
        }
    }
}

impl<T: Tag> Drop for Armed<T> {
    fn drop(&mut self) {
        if let (Some(ending), Some(id)) = (&self.ending, self.places.get_mut().at_ending) {
            ending.sleepers().remove(id);
        }
    }
}

impl<T: Tag> Shared<T> {
    fn close(&self) {
        let armed = {
            let mut state = self.state.lock();
            state.is_closed = true;
            state.woken.clear();
            state.timeouts.clear();
            self.fd.set();
            std::mem::take(&mut state.armed)
        };
        // Not under the lock: each leaves its lists.
        drop(armed);
        self.pollers.wake_all();
    }

    /// Lets the descriptor tell when the next timeout has come.
    fn set_timer(&self, state: &mut State<T>) {
        let next = state
            .timeouts
            .first()
            .map_or(Deadline::NEVER, |(at, _)| *at);
        if state.timer != next {
            state.timer = next;
            self.fd.set_time(next);
        }
    }

    /// Up to `max` entries to be looked at, which are armed no more.
    fn take_woken(&self, max: usize) -> Result<Vec<Arc<Armed<T>>>> {
        let mut state = self.state.lock();
        if state.is_closed {
            return Err(closed());
        }
        while let Some(&(at, id)) = state.timeouts.first()
            && at.has_passed()
        {
            state.timeouts.remove(&(at, id));
            let is_new = state
                .armed
                .get(&id)
                .is_some_and(|armed| !armed.is_woken.swap(true, Ordering::SeqCst));
            if is_new {
                state.woken.push_back(id);
            }
        }
        let mut taken = Vec::new();
        while taken.len() < max
            && let Some(id) = state.woken.pop_front()
        {
            if let Some(armed) = state.armed.remove(&id) {
                state.timeouts.remove(&(armed.deadline, id));
                taken.push(armed);
            }
        }
        if state.woken.is_empty() {
            self.fd.clear();
        } else {
            self.fd.set();
        }
        self.set_timer(&mut state);
        Ok(taken)
    }

    /// Arms an entry, for the first time or again.
    fn arm(&self, armed: &Arc<Armed<T>>) -> Result<()> {
        {
            let mut state = self.state.lock();
            if state.is_closed {
                return Err(closed());
            }
            armed.is_woken.store(false, Ordering::SeqCst);
            state.armed.insert(armed.id, Arc::clone(armed));
            if armed.deadline < Deadline::NEVER {
                state.timeouts.insert((armed.deadline, armed.id));
                self.set_timer(&mut state);
            }
        }
        // One that sleeps is to know of the new timeout.
        if armed.deadline < Deadline::NEVER {
            self.pollers.wake_all();
        }
        armed.enlist();
        Ok(())
    }

    fn poll(&self, max: usize) -> Result<Look<Vec<Ready<T>>>> {
        let mut ready = Vec::new();
        loop {
            let woken = self.take_woken(max - ready.len())?;
            if woken.is_empty() {
                break;
            }
            for armed in woken {
                let outcome = match armed.look() {
                    Some(outcome) => outcome,
                    None if armed.deadline.has_passed() => Err(timed_out(&armed.log)),
                    None => {
                        self.arm(&armed)?;
                        continue;
                    }
                };
                ready.push(Ready {
                    tag: armed.tag.clone(),
                    condition: *armed.watch.lock().condition(),
                    outcome,
                });
            }
        }
        if !ready.is_empty() || max == 0 {
            return Ok(Look::There(ready));
        }
        let next = self.state.lock().timeouts.first().map(|(at, _)| *at);
        Ok(next.map_or(Look::NotYet, Look::NotBefore))
    }
}

impl<T: Tag> EventListener for Shared<T> {
    fn wanted(&self) -> u64 {
        0
    }

    fn hear(&self, _: &Arc<Event>) {}

    fn end(&self) {
        self.close();
    }
}

impl<T: Tag> Waiter<T> {
    /// Opens one. CLOSED if the manager is; NO_FILES without the three descriptors that it needs.
    pub fn open(manager: &Manager) -> Result<Self> {
        let shared = Arc::new(Shared {
            state: Mutex::new(State {
                next_id: 0,
                armed: HashMap::new(),
                woken: VecDeque::new(),
                timeouts: BTreeSet::new(),
                timer: Deadline::NEVER,
                is_closed: false,
            }),
            fd: WaitFd::new()?,
            pollers: Sleepers::default(),
        });
        manager.listen(&(Arc::clone(&shared) as Arc<dyn EventListener>))?;
        Ok(Self {
            shared,
            monitor: Arc::clone(manager.monitor()),
            process: std::process::id(),
        })
    }

    /// Arms it for a log, once: when the condition holds, or never will, or the deadline has passed, or `ending` has come, the
    /// next poll gives it, with `tag`. A log may be armed several times.
    pub fn arm(
        &self,
        log: &Arc<Log>,
        condition: Condition,
        deadline: Deadline,
        tag: T,
        ending: Option<Arc<Ending>>,
    ) -> Result<()> {
        let watch = log.watch(condition);
        let id = {
            let mut state = self.shared.state.lock();
            state.next_id += 1;
            state.next_id
        };
        self.shared.arm(&Arc::new(Armed {
            id,
            log: Arc::clone(log),
            tag,
            deadline,
            ending,
            watch: Mutex::new(watch),
            is_woken: AtomicBool::new(false),
            places: Mutex::default(),
            shared: Arc::downgrade(&self.shared),
        }))
    }

    /// Takes up to `max` of those that are ready, the first woken first, and waits for the first one. TIMED_OUT if none was
    /// in time; CLOSED if this, or its manager, is closed.
    pub fn poll(&self, max: usize, patience: &Patience<'_>) -> Result<Vec<Ready<T>>> {
        wait_for(
            patience,
            "no log got ready",
            |bell| self.shared.pollers.enlist(Arc::clone(bell) as _),
            || self.shared.poll(max),
        )
    }

    /// The number of its descriptor, which is readable while [`Self::poll`] has something to answer. It is closed when this is
    /// dropped.
    #[must_use]
    pub fn raw_fd(&self) -> RawFd {
        self.shared.fd.raw_fd()
    }

    /// Ends it, for calls that wait in it too. What was armed is armed no more.
    pub fn close(&self) {
        self.shared.close();
    }
}

impl<T: Tag> Drop for Waiter<T> {
    fn drop(&mut self) {
        if self.process == std::process::id() {
            self.shared.close();
            self.monitor.events().tidy();
        } else {
            // In a forked child its locks may be held for ever: it is left as it is.
            std::mem::forget(Arc::clone(&self.shared));
        }
    }
}

fn closed() -> Error {
    Error::new(ErrorKind::Closed, "the waiter, or its manager, is closed")
}

fn timed_out(log: &Log) -> Error {
    Error::new(
        ErrorKind::TimedOut,
        format!(
            "the log {} did not get there within the timeout",
            log.partition()
        ),
    )
    .in_partition(log.partition().partition)
}
