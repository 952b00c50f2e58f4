//! Appending to many logs in one call.

use std::sync::Arc;

use super::append::{append_options, push_packed, push_record, with_builder};
use super::args::{array, array_mut, bytes, read_input, size};
use super::constants::*;
use super::guard::{Call, guard};
use super::handles::{self, Access, OpenLog};
use super::types::{
    klog_append_item, klog_append_options, klog_error, klog_log, klog_manager, klog_packed_item,
    klog_status,
};
use crate::error::{Error, Result};
use crate::format::packed::PackedReader;
use crate::log::{AppendOptions, AppendResult, Log, WriteDurability};
use crate::manager::Manager;
use crate::types::Offset;

/// Appends to many logs of a manager in one call: each item is a batch of its own, as klog_append would append it, and has its
/// own answer. Items are appended in order, several of one log too; one that fails does not keep the others from being appended.
/// With KLOG_DURABILITY_FSYNC each log is synced once, after all items.
///
/// KLOG_OK if every item was appended; else the status of the first one that was not, which err describes. Every item is
/// written in both cases, unless an argument of the call itself is wrong: then nothing was appended, and no item is written.
/// KLOG_APPEND_IF_LOG_END and record_errors are for one log: with them the call is KLOG_ERR_INVALID_ARGUMENT.
///
/// Thread class T0, cost class C2, with KLOG_DURABILITY_FSYNC C3. items is required unless count is 0; opts and err are
/// nullable.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn klog_append_many(
    manager: klog_manager,
    items: *mut klog_append_item,
    count: usize,
    opts: *const klog_append_options,
    err: *mut klog_error,
) -> klog_status {
    guard("klog_append_many", err, |call| {
        append_all(call, manager, array_mut(items, count, "items")?, opts)
    })
}

/// As klog_append_many, each item from a packed buffer.
///
/// Thread class T0, cost class C2, with KLOG_DURABILITY_FSYNC C3. items is required unless count is 0; opts and err are
/// nullable.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn klog_append_many_packed(
    manager: klog_manager,
    items: *mut klog_packed_item,
    count: usize,
    opts: *const klog_append_options,
    err: *mut klog_error,
) -> klog_status {
    guard("klog_append_many_packed", err, |call| {
        append_all(call, manager, array_mut(items, count, "items")?, opts)
    })
}

/// What both kinds of items have.
trait Item {
    fn log(&self) -> klog_log;
    fn append(&self, open: &OpenLog, options: &AppendOptions) -> Result<AppendResult>;
    fn put(&mut self, result: &Result<AppendResult>);
}

macro_rules! put_result {
    ($item:expr, $result:expr) => {{
        let (first, last, time, status, kafka_code) = match $result {
            Ok(done) => (
                done.first_offset.0,
                done.last_offset.0,
                done.log_append_time.0,
                KLOG_OK,
                0,
            ),
            Err(e) => (-1, -1, -1, e.kind().status(), e.kafka_code()),
        };
        $item.first_offset = first;
        $item.last_offset = last;
        $item.log_append_time_ms = time;
        $item.status = status;
        $item.kafka_code = kafka_code;
    }};
}

impl Item for klog_append_item {
    fn log(&self) -> klog_log {
        self.log
    }

    fn append(&self, open: &OpenLog, options: &AppendOptions) -> Result<AppendResult> {
        check_item(self.reserved)?;
        let count = size(self.count, "an item's count")?;
        let records = array(self.records, count, "an item's records")?;
        let now = open.log.now();
        with_builder(|builder| {
            for (index, record) in records.iter().enumerate() {
                push_record(builder, record, index, now)?;
            }
            open.log.append(builder, options)
        })
    }

    fn put(&mut self, result: &Result<AppendResult>) {
        put_result!(self, result);
    }
}

impl Item for klog_packed_item {
    fn log(&self) -> klog_log {
        self.log
    }

    fn append(&self, open: &OpenLog, options: &AppendOptions) -> Result<AppendResult> {
        check_item(self.reserved)?;
        let len = size(self.len, "an item's len")?;
        let mut reader = PackedReader::new(bytes(self.packed, len, "an item's packed")?)?;
        let now = open.log.now();
        with_builder(|builder| {
            push_packed(builder, &mut reader, now)?;
            open.log.append(builder, options)
        })
    }

    fn put(&mut self, result: &Result<AppendResult>) {
        put_result!(self, result);
    }
}

fn check_item(reserved: u64) -> Result<()> {
    if reserved == 0 {
        return Ok(());
    }
    Err(Error::invalid_argument(
        "a reserved field of an item is not 0",
    ))
}

/// The options of appends that are not one: of several logs, or later.
pub(crate) fn shared_options(given: &klog_append_options) -> Result<AppendOptions> {
    let options = append_options(given)?;
    if given.record_errors_cap != 0 || !given.record_errors.is_null() {
        return Err(Error::invalid_argument(
            "opts.record_errors are for one append; leave them null here",
        ));
    }
    if options.expected_log_end.is_some() {
        return Err(Error::invalid_argument(
            "KLOG_APPEND_IF_LOG_END compares the end of one log at one append; leave it away here",
        ));
    }
    Ok(options)
}

fn append_all<I: Item>(
    call: &Call,
    manager: klog_manager,
    items: &mut [I],
    opts: *const klog_append_options,
) -> Result<()> {
    let wanted = shared_options(&read_input(opts)?)?;
    let manager = handles::with_manager(call, manager, Access::Change, |open| {
        Ok(Arc::clone(&open.manager))
    })?;
    let options = AppendOptions {
        durability: WriteDurability::PageCache,
        ..wanted
    };
    let mut results = Vec::new();
    results.try_reserve(items.len()).map_err(|_| {
        Error::new(
            crate::error::ErrorKind::NoMemory,
            format!("no memory for {} items", items.len()),
        )
    })?;
    for item in &*items {
        let appended = handles::with_log(call, item.log(), Access::Change, |open| {
            check_manager(open, &manager)?;
            let done = item.append(open, &options)?;
            Ok((Arc::clone(&open.log), done))
        });
        results.push(appended);
    }
    if wanted.durability == WriteDurability::Synced {
        sync_all(&mut results);
    }
    let mut first_failure = Ok(());
    for (item, result) in items.iter_mut().zip(results) {
        let result = result.map(|(_, done)| done);
        item.put(&result);
        if let Err(e) = result
            && first_failure.is_ok()
        {
            first_failure = Err(e);
        }
    }
    first_failure
}

fn check_manager(open: &OpenLog, manager: &Arc<Manager>) -> Result<()> {
    if std::ptr::eq(open.manager.as_ptr(), Arc::as_ptr(manager)) {
        return Ok(());
    }
    Err(Error::invalid_argument(format!(
        "the log {} is of another manager",
        open.log.partition()
    )))
}

/// Makes durable what was appended, each log once; where that fails, nothing of the log counts as appended.
fn sync_all(results: &mut [Result<(Arc<Log>, AppendResult)>]) {
    let mut ends: Vec<(Arc<Log>, Offset)> = Vec::new();
    let mut at = std::collections::HashMap::new();
    for (log, done) in results.iter().flatten() {
        let end = done.last_offset.next();
        let index = *at.entry(Arc::as_ptr(log)).or_insert_with(|| {
            ends.push((Arc::clone(log), end));
            ends.len() - 1
        });
        if let Some(known) = ends.get_mut(index) {
            known.1 = known.1.max(end);
        }
    }
    for (log, end) in ends {
        let Err(error) = log.flush_appended(end) else {
            continue;
        };
        for result in &mut *results {
            if matches!(result, Ok((other, _)) if Arc::ptr_eq(other, &log)) {
                *result = Err(error.clone());
            }
        }
    }
}
