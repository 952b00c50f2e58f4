//! Waiting until something is in a log: for an offset, or for enough bytes to read.

use std::sync::Arc;

use super::patience::{Look, Patience, wait_for};
use crate::error::{Error, ErrorKind, Result};
use crate::log::{
    Condition, Cursor, Isolation, Log, ReadOptions, ReadResult, RecordSlice, View, WaitKind,
};
use crate::types::Offset;

/// Waits until a condition holds, and answers where the end is then that was waited for.
///
/// TIMED_OUT, CANCELLED, CLOSED by `patience`. CLOSED and UNKNOWN_TOPIC_OR_PARTITION once the log is closed or deleted,
/// OFFSET_OUT_OF_RANGE once it is cut below the offset, DIR_OFFLINE once its directory is out of use and the condition does not
/// hold.
///
/// ```
/// use klog::config::ConfigSet;
/// use klog::error::ErrorKind;
/// use klog::format::builder::BatchBuilder;
/// use klog::log::{AppendOptions, Condition, WaitKind};
/// use klog::manager::{CreateOptions, Manager, ManagerOptions};
/// use klog::service::{Patience, wait};
/// use klog::types::{Offset, TimestampMs, TopicPartition};
///
/// # fn main() -> klog::Result<()> {
/// # let temporary = tempfile::tempdir().expect("a temporary directory");
/// # let data_dir = temporary.path().to_path_buf();
/// let config = std::sync::Arc::new(ConfigSet::broker().resolve()?);
/// let manager = Manager::open(ManagerOptions::new(vec![data_dir], config))?;
/// let log = manager.get_or_create_log(&TopicPartition::new("orders", 0), &CreateOptions::default())?;
/// let first = Condition { kind: WaitKind::LogEnd, offset: Offset(0), min_bytes: 0 };
/// assert_eq!(wait(&log, first, &Patience::NONE).unwrap_err().kind(), ErrorKind::TimedOut);
/// std::thread::scope(|scope| {
///     let waits = scope.spawn(|| wait(&log, first, &Patience::ENDLESS));
///     let mut builder = BatchBuilder::new();
///     builder.push(TimestampMs(1), None, Some(b"an order"), [].into_iter())?;
///     log.append(&mut builder, &AppendOptions::default())?;
///     assert_eq!(waits.join().expect("no panic")?, Offset(1));
///     Ok::<_, klog::Error>(())
/// })?;
/// # manager.close()
/// # }
/// ```
pub fn wait(log: &Log, condition: Condition, patience: &Patience<'_>) -> Result<Offset> {
    let mut watch = log.watch(condition);
    let watched = watch.clone();
    wait_for(
        patience,
        "the log did not get there",
        |bell| log.enlist(&watched, Arc::clone(bell) as _),
        || {
            let found = log.look_for(&mut watch)?;
            Ok(found.map_or(Look::NotYet, Look::There))
        },
    )
}

/// What a reader of an isolation waits for.
#[must_use]
pub const fn kind_of(isolation: Isolation) -> WaitKind {
    match isolation {
        Isolation::LogEnd => WaitKind::LogEnd,
        Isolation::HighWatermark => WaitKind::HighWatermark,
        Isolation::TxnCommitted => WaitKind::LastStable,
    }
}

/// Waits until there are `min_bytes` to be read from `start` on, one at least, or patience ends. What is less then is
/// enough for `read`, which comes in any case but for a call that was cancelled, and a log that was closed.
fn wait_to_read(
    log: &Log,
    start: Offset,
    isolation: Isolation,
    min_bytes: u64,
    patience: &Patience<'_>,
) -> Result<Waited> {
    let condition = Condition {
        kind: kind_of(isolation),
        offset: start,
        min_bytes,
    };
    match wait(log, condition, patience) {
        Ok(_) => Ok(Waited::ItIsThere),
        Err(e) if e.kind() == ErrorKind::TimedOut => Ok(Waited::InVain),
        // Of a log that was cut the read tells.
        Err(e) if e.kind() == ErrorKind::OffsetOutOfRange => Ok(Waited::ItIsThere),
        Err(e) => Err(e),
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Waited {
    ItIsThere,
    InVain,
}

fn nothing_came(start: Offset) -> Error {
    Error::new(
        ErrorKind::TimedOut,
        format!("nothing came at offset {start} within the timeout"),
    )
    .at_offset(start)
}

/// Reads as `read` does, once there are `min_bytes` to be read from `start` on, or as many as it could give; what is less is
/// given when patience ends, and TIMED_OUT if that is nothing. With [`Patience::NONE`] it reads what is there, and nothing is no
/// error. `read` is called once or more: [`Log::read`] or one of its kin.
pub fn read_waiting<T>(
    log: &Log,
    start: Offset,
    options: &ReadOptions,
    min_bytes: u64,
    patience: &Patience<'_>,
    read: impl FnMut() -> Result<(ReadResult, T)>,
) -> Result<(ReadResult, T)> {
    let came_to = |(found, _): &(ReadResult, T)| Came {
        bytes: found.bytes,
        next_offset: found.next_offset,
        readable_upto: found.readable_upto(options.isolation),
    };
    take_waiting(log, start, options, min_bytes, patience, read, came_to)
}

/// Takes a view as [`Log::view`], and waits for it as [`read_waiting`].
pub fn view_waiting(
    log: &Log,
    start: Offset,
    options: &ReadOptions,
    min_bytes: u64,
    patience: &Patience<'_>,
) -> Result<View> {
    let take = || log.view(start, options);
    let came_to = |view: &View| Came {
        bytes: view.bytes().len(),
        next_offset: view.next_offset(),
        readable_upto: view.readable_upto(),
    };
    take_waiting(log, start, options, min_bytes, patience, take, came_to)
}

/// What an attempt to read came to.
struct Came {
    bytes: usize,
    next_offset: Offset,
    readable_upto: Offset,
}

fn take_waiting<T>(
    log: &Log,
    start: Offset,
    options: &ReadOptions,
    min_bytes: u64,
    patience: &Patience<'_>,
    mut take: impl FnMut() -> Result<T>,
    came_to: impl Fn(&T) -> Came,
) -> Result<T> {
    patience.check()?;
    if patience.is_none() {
        return take();
    }
    // More than is asked for need not be there.
    let min_bytes = min_bytes.min(options.max_bytes as u64);
    let mut waited = Waited::ItIsThere;
    // Out of its range there is nothing to wait for.
    if start >= log.start_offset() && start <= log.end_offset() {
        waited = wait_to_read(log, start, options.isolation, min_bytes, patience)?;
    }
    let mut from = start;
    loop {
        let taken = take()?;
        let came = came_to(&taken);
        // Without bytes it may be there, and not to be given: larger than what was asked for.
        if came.bytes > 0 || (came.next_offset <= from && came.readable_upto > from) {
            return Ok(taken);
        }
        if waited == Waited::InVain {
            return Err(nothing_came(start));
        }
        // What is there was cleaned away, or left out by the bound: something must come behind it.
        from = from.max(came.next_offset);
        waited = wait_to_read(log, from, options.isolation, 0, patience)?;
    }
}

/// Takes records from a cursor as [`Cursor::next_records`], once there are `min_bytes` of stored batches behind its place, or
/// records that it has read already; what is less is given when patience ends, and TIMED_OUT if that is nothing. With
/// [`Patience::NONE`] nothing is no error. A cancelled call leaves the cursor where it was.
pub fn next_records_waiting<'c>(
    cursor: &'c mut Cursor,
    max: usize,
    min_bytes: u64,
    patience: &Patience<'_>,
) -> Result<RecordSlice<'c>> {
    patience.check()?;
    if patience.is_none() || max == 0 {
        return cursor.next_records(max);
    }
    let (log, isolation) = (Arc::clone(cursor.log()), cursor.isolation());
    let start = cursor.position();
    let is_in_range = start >= log.start_offset() && start <= log.end_offset();
    let mut waited = Waited::ItIsThere;
    if min_bytes > 1 && !cursor.has_read_ahead() && is_in_range {
        waited = wait_to_read(&log, start, isolation, min_bytes, patience)?;
    }
    while cursor.next_records(max)?.is_empty() {
        let place = cursor.position();
        if waited == Waited::InVain {
            return Err(nothing_came(place));
        }
        waited = wait_to_read(&log, place, isolation, 0, patience)?;
    }
    Ok(cursor.given_last())
}
