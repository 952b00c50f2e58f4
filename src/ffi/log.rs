//! Logs of a manager.

use std::ffi::c_char;
use std::sync::Arc;

use super::args::{
    check_flags, check_output, check_required, check_reserved, copy_growable, path, read_input,
    size, topic,
};
use super::config::put_handle;
use super::constants::*;
use super::guard::guard;
use super::handles::{self, Access, Kind, Object, OpenLog, Removed};
use super::manager::absolute;
use super::types::{
    klog_config, klog_error, klog_log, klog_log_info, klog_log_options, klog_manager, klog_status,
    klog_timestamp_offset,
};
use crate::error::{Error, Result};
use crate::format::names::{check_partition, check_topic};
use crate::format::uuid::Uuid;
use crate::log::{Log, TimeTarget};
use crate::manager::CreateOptions;
use crate::types::{Offset, TopicPartition};

/// Opens a log of a manager; with KLOG_LOG_CREATE it is made if there is none. Handles of one partition lead to one log.
/// A log that was made is there after a power cut once it was flushed (klog_flush, also without records), or the manager closed.
/// KLOG_ERR_UNKNOWN_TOPIC_OR_PARTITION if there is none; the status of its load if that failed.
///
/// Thread class T2, cost class C2. topic and out are required; opts may be null; out is null on failure; err is nullable.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn klog_log_open(
    manager: klog_manager,
    topic_name: *const c_char,
    topic_len: usize,
    partition: i32,
    opts: *const klog_log_options,
    out: *mut klog_log,
    err: *mut klog_error,
) -> klog_status {
    guard("klog_log_open", err, |call| {
        check_required(out, "out")?;
        let made = (|| {
            let options = read_input(opts)?;
            check_flags(
                options.flags,
                KLOG_LOG_CREATE | KLOG_LOG_HAS_TOPIC_ID | KLOG_LOG_MANUAL_HW,
                "opts.flags",
            )?;
            check_reserved(&options.reserved, "opts")?;
            let topic = topic(topic_name, topic_len)?;
            check_topic(topic)?;
            check_partition(partition)?;
            let partition = TopicPartition::new(topic, partition);
            let access = if options.flags & KLOG_LOG_CREATE == 0 {
                Access::Look
            } else {
                Access::Change
            };
            handles::with_manager(call, manager, access, |open| {
                let log = open_log(&open.manager, &partition, &options)?;
                handles::add_log(OpenLog {
                    log,
                    manager: Arc::downgrade(&open.manager),
                    poison: Arc::clone(&open.poison),
                    appending: Arc::clone(&open.appending),
                    ending: Arc::default(),
                })
            })
        })();
        put_handle(out, made, klog_log { id: 0 })
    })
}

/// Loads a log again that failed to load when its manager was opened, as after a crash: the cause is mended, or of two
/// directories of one partition one is left. KLOG_OK also if the log is loaded already;
/// KLOG_ERR_UNKNOWN_TOPIC_OR_PARTITION if there is none; the status of the load if it fails again.
///
/// Thread class T2, cost class C3. topic is required; err is nullable.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn klog_log_retry(
    manager: klog_manager,
    topic_name: *const c_char,
    topic_len: usize,
    partition: i32,
    err: *mut klog_error,
) -> klog_status {
    guard("klog_log_retry", err, |call| {
        let topic = topic(topic_name, topic_len)?;
        check_topic(topic)?;
        check_partition(partition)?;
        let partition = TopicPartition::new(topic, partition);
        handles::with_manager(call, manager, Access::Change, |open| {
            open.manager.retry_log(&partition).map(|_| ())
        })
    })
}

fn open_log(
    manager: &crate::manager::Manager,
    partition: &TopicPartition,
    options: &klog_log_options,
) -> Result<Arc<Log>> {
    let topic_id = (options.flags & KLOG_LOG_HAS_TOPIC_ID != 0).then_some(Uuid(options.topic_id));
    let overrides = match options.config.id {
        0 => None,
        _ => Some(handles::with_config(options.config, |set| {
            set.topic_overrides()
        })?),
    };
    let is_manual = options.flags & KLOG_LOG_MANUAL_HW != 0;
    // Checked before anything is made.
    if let Some(overrides) = &overrides {
        manager.config().topic_defaults.overlaid(overrides)?;
    }
    let log = if options.flags & KLOG_LOG_CREATE == 0 {
        let log = manager.log(partition)?;
        if let Some(id) = topic_id {
            log.assign_topic_id(id)?;
        }
        if is_manual {
            log.leave_high_watermark_to_caller()?;
        }
        log
    } else {
        let dir = if options.dir.is_null() && options.dir_len == 0 {
            None
        } else {
            Some(absolute(&path(
                options.dir,
                size(options.dir_len, "opts.dir_len")?,
                "opts.dir",
            )?)?)
        };
        manager.get_or_create_log(
            partition,
            &CreateOptions {
                topic_id,
                dir,
                directory_id: None,
                is_watermark_manual: is_manual,
            },
        )?
    };
    if let Some(overrides) = overrides {
        manager.set_topic_config(&partition.topic, &overrides)?;
    }
    Ok(log)
}

/// Gives the log's topic these overrides, instead of those that it had; all logs of the topic go by them from now on, and
/// are managed. overrides is a topic config; an empty one leaves the defaults.
///
/// Thread class T0, cost class C1. err is nullable. KLOG_ERR_INVALID_CONFIG if they contradict each other.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn klog_log_set_config(
    log: klog_log,
    overrides: klog_config,
    err: *mut klog_error,
) -> klog_status {
    guard("klog_log_set_config", err, |call| {
        let overrides = handles::with_config(overrides, |set| set.topic_overrides())?;
        handles::with_log(call, log, Access::Change, |open| {
            super::maintain::manager_of(open)?
                .set_topic_config(&open.log.partition().topic, &overrides)
        })
    })
}

/// The next offset to be assigned: the cheapest call.
///
/// Thread class T0, cost class C0. out is required.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn klog_log_end_offset(log: klog_log, out: *mut i64) -> klog_status {
    guard("klog_log_end_offset", std::ptr::null_mut(), |call| {
        check_required(out, "out")?;
        handles::with_log(call, log, Access::Look, |open| {
            open.log.check_open()?;
            // SAFETY: not null, and the header requires an int64_t there.
            unsafe { out.write_unaligned(open.log.end_offset().0) };
            Ok(())
        })
    })
}

/// Offsets, epochs and sizes of a log: one consistent snapshot.
///
/// Thread class T0, cost class C1. out is required; err is nullable.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn klog_log_get_info(
    log: klog_log,
    out: *mut klog_log_info,
    err: *mut klog_error,
) -> klog_status {
    guard("klog_log_get_info", err, |call| {
        check_output(out, "out")?;
        handles::with_log(call, log, Access::Look, |open| {
            open.log.check_open()?;
            let info = open.log.info();
            copy_growable(
                out,
                klog_log_info {
                    struct_size: 0,
                    flags: if info.topic_id.is_some() {
                        KLOG_LOG_HAS_TOPIC_ID
                    } else {
                        0
                    },
                    partition: open.log.partition().partition,
                    latest_epoch: info.latest_epoch.map_or(-1, |epoch| epoch.0),
                    topic_id: info.topic_id.unwrap_or(Uuid::ZERO).0,
                    log_start_offset: info.log_start_offset.0,
                    high_watermark: info.high_watermark.0,
                    last_stable_offset: info.last_stable_offset.0,
                    log_end_offset: info.log_end_offset.0,
                    recovery_point: info.recovery_point.0,
                    first_dirty_offset: open
                        .manager
                        .upgrade()
                        .and_then(|manager| manager.first_dirty_offset(&open.log))
                        .map_or(-1, |offset| offset.0),
                    segments: info.segments as u64,
                    bytes: info.bytes,
                    producers: info.producers as u64,
                    reserved: [0; 8],
                },
            );
            Ok(())
        })
    })
}

/// The offset for a time: of the first record at or after timestamp_ms in the first segment that reaches it. -1 latest,
/// -2 and -4 earliest, -3 the first record with the largest timestamp; -5 and -6 are KLOG_ERR_UNSUPPORTED. No record: offset
/// -1 and KLOG_OK.
///
/// Thread class T0, cost class C2. out is required; err is nullable.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn klog_offset_for_timestamp(
    log: klog_log,
    timestamp_ms: i64,
    out: *mut klog_timestamp_offset,
    err: *mut klog_error,
) -> klog_status {
    guard("klog_offset_for_timestamp", err, |call| {
        check_output(out, "out")?;
        let target = TimeTarget::from_kafka(timestamp_ms)?;
        handles::with_log(call, log, Access::Look, |open| {
            let found = open.log.offset_for_timestamp(target)?;
            copy_growable(
                out,
                klog_timestamp_offset {
                    struct_size: 0,
                    flags: 0,
                    timestamp_ms: found.map_or(-1, |f| f.timestamp.0),
                    offset: found.map_or(-1, |f| f.offset.0),
                    leader_epoch: found
                        .and_then(|f| f.leader_epoch)
                        .map_or(-1, |epoch| epoch.0),
                    reserved0: 0,
                },
            );
            Ok(())
        })
    })
}

/// Makes everything below upto_offset durable, -1 for all of the log, and moves the recovery point. A failure takes the log
/// directory offline.
///
/// Thread class T0, cost class C3. flags is 0; err is nullable.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn klog_flush(
    log: klog_log,
    upto_offset: i64,
    flags: u32,
    err: *mut klog_error,
) -> klog_status {
    guard("klog_flush", err, |call| {
        check_flags(flags, 0, "flags")?;
        if upto_offset < -1 {
            return Err(Error::invalid_argument(format!(
                "upto_offset is {upto_offset}, -1 is the log end"
            )));
        }
        handles::with_log(call, log, Access::Change, |open| {
            open.log.check_open()?;
            if upto_offset == -1 {
                open.log.flush()
            } else {
                open.log.flush_to(Offset(upto_offset))
            }
        })
    })
}

/// Begins a new segment at the log end; its base offset is written to *new_base_offset.
///
/// Thread class T0, cost class C3. new_base_offset and err are nullable.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn klog_roll(
    log: klog_log,
    new_base_offset: *mut i64,
    err: *mut klog_error,
) -> klog_status {
    guard("klog_roll", err, |call| {
        handles::with_log(call, log, Access::Change, |open| {
            let base = open.log.roll()?;
            if !new_base_offset.is_null() {
                // SAFETY: not null, and the header requires an int64_t there.
                unsafe { new_base_offset.write_unaligned(base.0) };
            }
            Ok(())
        })
    })
}

/// Ends the handle. The log stays open in its manager. Calls that wait with this handle answer KLOG_ERR_CLOSED, and so does
/// what was armed with it.
///
/// Thread class T2, cost class C1.
#[unsafe(no_mangle)]
pub extern "C" fn klog_log_close(log: klog_log) -> klog_status {
    guard("klog_log_close", std::ptr::null_mut(), |_| {
        if let Removed::Own(taken) = handles::remove(Kind::Log, log.id)?
            && let Object::Log(open) = taken.object()
        {
            open.ending.come();
        }
        Ok(())
    })
}
