//! Handles: numbers that name objects, never pointers. Implements c-abi.md 1.2 and 1.13.
//!
//! Bits of an id: 63..56 kind, 55..32 generation, 31..0 slot. A slot gives each generation out once; when they are used up
//! it is retired, so an old id never names a new object. Looking an id up takes no lock: the slot's object is loaded
//! and has its id written in it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use arc_swap::ArcSwapOption;
use once_cell::sync::{Lazy, OnceCell};
use parking_lot::Mutex;

use super::appender::Appending;
use super::guard::Call;
use super::types::{
    klog_appender, klog_config, klog_cursor, klog_events, klog_log, klog_manager, klog_view,
    klog_waiter,
};
use crate::config::ConfigSet;
use crate::error::{Error, ErrorKind, Result};
use crate::log::{Cursor, Log, View};
use crate::manager::Manager;
use crate::service::{Appender, Ending, EventStream, Waiter};

/// Slots of one block; blocks are made as they are needed and stay.
const BLOCK_SLOTS: usize = 1024;
const BLOCKS: usize = 4096;
const GENERATION_MAX: u64 = 0x00ff_ffff;

/// What a handle can name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub(crate) enum Kind {
    Config = 1,
    Manager = 2,
    Log = 3,
    Cursor = 4,
    /// In [`super::tokens`].
    Cancel = 5,
    View = 8,
    Appender = 6,
    Waiter = 7,
    Events = 9,
}

/// An object behind a handle.
pub(crate) enum Object {
    Config(Mutex<ConfigSet>),
    Manager(OpenManager),
    Log(OpenLog),
    Cursor(Box<CursorSlot>),
    Events(EventStream, Arc<AtomicBool>),
    /// Held until it is taken out: nothing else is done with one.
    View(#[allow(dead_code)] View),
    Waiter(OpenWaiter, Arc<AtomicBool>),
    Appender(Appender, Arc<AtomicBool>),
}

/// What is armed comes back with its log's handle and the caller's own number.
pub(crate) type OpenWaiter = Waiter<(klog_log, u64)>;

pub(crate) struct OpenManager {
    pub(crate) manager: Arc<Manager>,
    pub(crate) poison: Arc<AtomicBool>,
    /// The clock with KLOG_OPEN_MANUAL_CLOCK. klog_tick sets it.
    pub(crate) clock: Option<Arc<crate::io::ManualClock>>,
    /// The thread that runs tasks, if one was wanted; gone once the manager is closed.
    pub(crate) background: parking_lot::Mutex<Option<crate::service::Background>>,
    /// What appends for appenders that nobody waits for.
    pub(crate) appending: Arc<Appending>,
    /// Its close, if one was called that need not wait for the end.
    pub(crate) closing: OnceCell<Arc<super::closing::Closing>>,
}

pub(crate) struct OpenLog {
    pub(crate) log: Arc<Log>,
    /// Of which it is; gone once that was closed.
    pub(crate) manager: std::sync::Weak<Manager>,
    pub(crate) poison: Arc<AtomicBool>,
    pub(crate) appending: Arc<Appending>,
    /// Ends what waits on this handle's behalf when it is closed.
    pub(crate) ending: Arc<Ending>,
}

/// A cursor that takes one call at a time.
pub(crate) struct CursorSlot {
    cursor: Mutex<OpenCursor>,
    poison: Arc<AtomicBool>,
    /// Ends a call that waits in it when it is closed.
    pub(crate) ending: Ending,
}

pub(crate) struct OpenCursor {
    pub(crate) cursor: Cursor,
    pub(crate) log: Arc<Log>,
    pub(crate) max_records: usize,
    pub(crate) waits: super::read::Waits,
    /// What each call takes for the log's latest epoch.
    pub(crate) epoch: Option<crate::types::LeaderEpoch>,
    /// Which batches packed calls told of; `None` if they tell of none.
    pub(crate) batches: Option<super::cursor::ToldBatches>,
    /// Header arrays of the records lent last.
    pub(crate) headers: Vec<super::types::klog_header>,
}

// SAFETY: the pointers in `headers` lead into memory that `cursor` owns; they are only ever read by the caller that the
// records were lent to, never through this struct by another thread.
unsafe impl Send for OpenCursor {}

struct Entry {
    id: u64,
    /// How often the process had forked when the object was made.
    forks: u64,
    object: Object,
}

#[derive(Default)]
struct Slot {
    entry: ArcSwapOption<Entry>,
}

#[derive(Default)]
struct Allocation {
    /// Slots given out so far.
    used: u32,
    /// Slots that are free again, with the generation they had.
    free: Vec<(u32, u64)>,
    open: u64,
}

struct Table {
    blocks: Box<[OnceCell<Box<[Slot]>>]>,
    allocation: Mutex<Allocation>,
}

static TABLE: Lazy<Table> = Lazy::new(|| Table {
    blocks: (0..BLOCKS).map(|_| OnceCell::new()).collect(),
    allocation: Mutex::new(Allocation::default()),
});

/// How often this process, or one above it, has forked since the first handle.
static FORKS: AtomicU64 = AtomicU64::new(0);

static WATCH_FORKS: std::sync::Once = std::sync::Once::new();

extern "C" fn forked() {
    FORKS.fetch_add(1, Ordering::SeqCst);
}

/// How often this process, or one above it, has forked.
pub(crate) fn forks() -> u64 {
    FORKS.load(Ordering::SeqCst)
}

pub(crate) fn watch_forks() {
    WATCH_FORKS.call_once(|| {
        // SAFETY: the handler touches one atomic and nothing else, which is allowed in a forked child. The library is
        // linked so that it is never unloaded.
        unsafe { libc::pthread_atfork(None, None, Some(forked)) };
    });
}

fn slot_of(index: u64) -> Option<&'static Slot> {
    let index = usize::try_from(index).ok()?;
    let block = TABLE.blocks.get(index / BLOCK_SLOTS)?.get()?;
    block.get(index % BLOCK_SLOTS)
}

/// How many handles are open.
pub(crate) fn open_count() -> u64 {
    TABLE.allocation.lock().open + super::tokens::open_count()
}

fn add(kind: Kind, object: Object) -> Result<u64> {
    watch_forks();
    let mut allocation = TABLE.allocation.lock();
    let (index, generation) = if let Some((index, generation)) = allocation.free.pop() {
        (index, generation + 1)
    } else {
        let index = allocation.used;
        let block = TABLE
            .blocks
            .get(index as usize / BLOCK_SLOTS)
            .ok_or_else(|| {
                Error::new(
                    ErrorKind::Limit,
                    format!("{index} handles are open or used up; close some"),
                )
            })?;
        block.get_or_init(|| (0..BLOCK_SLOTS).map(|_| Slot::default()).collect());
        allocation.used += 1;
        (index, 1)
    };
    allocation.open += 1;
    let id = ((kind as u64) << 56) | (generation << 32) | u64::from(index);
    let entry = Arc::new(Entry {
        id,
        forks: FORKS.load(Ordering::SeqCst),
        object,
    });
    if let Some(slot) = slot_of(u64::from(index)) {
        slot.entry.store(Some(entry));
    }
    Ok(id)
}

/// The object of an id, as long as the caller holds it. Errors in the order of c-abi.md 1.2.5.
fn find(kind: Kind, id: u64) -> Result<Arc<Entry>> {
    check_kind(kind, id)?;
    let entry = slot_of(id & 0xffff_ffff)
        .and_then(|slot| slot.entry.load_full())
        .filter(|entry| entry.id == id);
    let entry = entry.ok_or_else(|| {
        Error::new(
            ErrorKind::StaleHandle,
            format!("the {kind:?} handle {id:#x} was closed, or never opened"),
        )
    })?;
    if entry.forks != FORKS.load(Ordering::SeqCst) {
        return Err(Error::new(
            ErrorKind::Forked,
            "the handle was opened before this process was forked; only its close can be called here",
        ));
    }
    Ok(entry)
}

pub(crate) fn check_kind(kind: Kind, id: u64) -> Result<()> {
    if id == 0 {
        return Err(Error::new(
            ErrorKind::NullHandle,
            format!("the {kind:?} handle is null"),
        ));
    }
    if id >> 56 != kind as u64 {
        return Err(Error::new(
            ErrorKind::WrongKind,
            format!("the handle {id:#x} is no {kind:?} handle"),
        ));
    }
    Ok(())
}

/// An object that was taken out of the table.
pub(crate) enum Removed {
    /// Of this process.
    Own(Taken),
    /// Inherited by a fork: the memory is freed, nothing else may be touched.
    Inherited,
}

/// An object that is held, in the table or no more.
#[derive(Clone)]
pub(crate) struct Taken(Arc<Entry>);

impl Taken {
    pub(crate) fn object(&self) -> &Object {
        &self.0.object
    }

    pub(crate) fn manager(&self) -> Result<&OpenManager> {
        match &self.0.object {
            Object::Manager(open) => Ok(open),
            _ => Err(wrong_object()),
        }
    }
}

/// Holds the object of an open handle.
pub(crate) fn hold(kind: Kind, id: u64) -> Result<Taken> {
    find(kind, id).map(Taken)
}

/// Ends a handle: later calls with it are STALE_HANDLE.
pub(crate) fn remove(kind: Kind, id: u64) -> Result<Removed> {
    check_kind(kind, id)?;
    let stale = || {
        Error::new(
            ErrorKind::StaleHandle,
            format!("the {kind:?} handle {id:#x} was closed before"),
        )
    };
    let slot = slot_of(id & 0xffff_ffff).ok_or_else(stale)?;
    let entry = slot
        .entry
        .load_full()
        .filter(|entry| entry.id == id)
        .ok_or_else(stale)?;
    // Of two threads that close at once, one gets the object.
    let before = slot.entry.compare_and_swap(&entry, None);
    if before.as_ref().is_none_or(|b| !Arc::ptr_eq(b, &entry)) {
        return Err(stale());
    }
    drop(before);
    if entry.forks != FORKS.load(Ordering::SeqCst) {
        // The allocation's lock may have been held by a thread that is not in this process.
        return Ok(Removed::Inherited);
    }
    let mut allocation = TABLE.allocation.lock();
    allocation.open -= 1;
    let generation = (id >> 32) & GENERATION_MAX;
    if generation < GENERATION_MAX
        && let Ok(index) = u32::try_from(id & 0xffff_ffff)
    {
        allocation.free.push((index, generation));
    }
    Ok(Removed::Own(Taken(entry)))
}

/// Whether the call changes something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    Look,
    Change,
}

/// KLOG_ERR_POISONED for a change of a poisoned manager.
fn check_poison(call: &Call, poison: &Arc<AtomicBool>, access: Access) -> Result<()> {
    call.works_on(poison);
    if access == Access::Change && poison.load(Ordering::SeqCst) {
        return Err(Error::new(
            ErrorKind::Poisoned,
            "an earlier defect of klog poisoned this manager; close it, the next open recovers",
        ));
    }
    Ok(())
}

pub(crate) fn wrong_object() -> Error {
    Error::new(ErrorKind::Bug, "a handle's kind and its object differ")
}

pub(crate) fn add_config(config: ConfigSet) -> Result<klog_config> {
    Ok(klog_config {
        id: add(Kind::Config, Object::Config(Mutex::new(config)))?,
    })
}

pub(crate) fn add_manager(manager: OpenManager) -> Result<klog_manager> {
    Ok(klog_manager {
        id: add(Kind::Manager, Object::Manager(manager))?,
    })
}

pub(crate) fn add_log(log: OpenLog) -> Result<klog_log> {
    Ok(klog_log {
        id: add(Kind::Log, Object::Log(log))?,
    })
}

pub(crate) fn add_cursor(cursor: OpenCursor, poison: Arc<AtomicBool>) -> Result<klog_cursor> {
    Ok(klog_cursor {
        id: add(
            Kind::Cursor,
            Object::Cursor(Box::new(CursorSlot {
                cursor: Mutex::new(cursor),
                poison,
                ending: Ending::default(),
            })),
        )?,
    })
}

pub(crate) fn add_events(events: EventStream, poison: Arc<AtomicBool>) -> Result<klog_events> {
    Ok(klog_events {
        id: add(Kind::Events, Object::Events(events, poison))?,
    })
}

pub(crate) fn add_view(view: View) -> Result<klog_view> {
    Ok(klog_view {
        id: add(Kind::View, Object::View(view))?,
    })
}

pub(crate) fn add_waiter(waiter: OpenWaiter, poison: Arc<AtomicBool>) -> Result<klog_waiter> {
    Ok(klog_waiter {
        id: add(Kind::Waiter, Object::Waiter(waiter, poison))?,
    })
}

pub(crate) fn with_waiter<T>(
    call: &Call,
    waiter: klog_waiter,
    work: impl FnOnce(&OpenWaiter) -> Result<T>,
) -> Result<T> {
    let entry = find(Kind::Waiter, waiter.id)?;
    match &entry.object {
        Object::Waiter(open, poison) => {
            check_poison(call, poison, Access::Look)?;
            work(open)
        }
        _ => Err(wrong_object()),
    }
}

pub(crate) fn add_appender(appender: Appender, poison: Arc<AtomicBool>) -> Result<klog_appender> {
    Ok(klog_appender {
        id: add(Kind::Appender, Object::Appender(appender, poison))?,
    })
}

pub(crate) fn with_appender<T>(
    call: &Call,
    appender: klog_appender,
    work: impl FnOnce(&Appender) -> Result<T>,
) -> Result<T> {
    let entry = find(Kind::Appender, appender.id)?;
    match &entry.object {
        Object::Appender(open, poison) => {
            check_poison(call, poison, Access::Change)?;
            work(open)
        }
        _ => Err(wrong_object()),
    }
}

/// BUSY for a second call at the same time on a handle that takes one.
fn busy(kind: Kind) -> Error {
    Error::new(
        ErrorKind::Busy,
        format!("another call runs on this {kind:?} handle, which takes one at a time"),
    )
}

pub(crate) fn with_config<T>(
    config: klog_config,
    work: impl FnOnce(&mut ConfigSet) -> Result<T>,
) -> Result<T> {
    let entry = find(Kind::Config, config.id)?;
    match &entry.object {
        Object::Config(set) => work(&mut *set.try_lock().ok_or_else(|| busy(Kind::Config))?),
        _ => Err(wrong_object()),
    }
}

pub(crate) fn with_manager<T>(
    call: &Call,
    manager: klog_manager,
    access: Access,
    work: impl FnOnce(&OpenManager) -> Result<T>,
) -> Result<T> {
    let entry = find(Kind::Manager, manager.id)?;
    match &entry.object {
        Object::Manager(open) => {
            check_poison(call, &open.poison, access)?;
            if open.closing.get().is_some() {
                return Err(Error::new(ErrorKind::Closed, "the manager is closing"));
            }
            work(open)
        }
        _ => Err(wrong_object()),
    }
}

pub(crate) fn with_log<T>(
    call: &Call,
    log: klog_log,
    access: Access,
    work: impl FnOnce(&OpenLog) -> Result<T>,
) -> Result<T> {
    let entry = find(Kind::Log, log.id)?;
    match &entry.object {
        Object::Log(open) => {
            check_poison(call, &open.poison, access)?;
            work(open)
        }
        _ => Err(wrong_object()),
    }
}

pub(crate) fn with_cursor<T>(
    call: &Call,
    cursor: klog_cursor,
    work: impl FnOnce(&mut OpenCursor, &Ending) -> Result<T>,
) -> Result<T> {
    let entry = find(Kind::Cursor, cursor.id)?;
    match &entry.object {
        Object::Cursor(slot) => {
            check_poison(call, &slot.poison, Access::Look)?;
            let mut open = slot.cursor.try_lock().ok_or_else(|| busy(Kind::Cursor))?;
            work(&mut open, &slot.ending)
        }
        _ => Err(wrong_object()),
    }
}

pub(crate) fn with_events<T>(
    call: &Call,
    events: klog_events,
    work: impl FnOnce(&EventStream) -> Result<T>,
) -> Result<T> {
    let entry = find(Kind::Events, events.id)?;
    match &entry.object {
        Object::Events(stream, poison) => {
            check_poison(call, poison, Access::Look)?;
            work(stream)
        }
        _ => Err(wrong_object()),
    }
}
