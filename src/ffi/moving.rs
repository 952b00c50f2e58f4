//! Logs that change their directory, and partitions that are in several.

use std::ffi::c_char;

use super::args::topic;
use super::cancel::go_on;
use super::guard::guard;
use super::handles::{self, Access};
use super::maintain::manager_of;
use super::types::{klog_cancel, klog_error, klog_log, klog_manager, klog_status};
use crate::error::{Error, ErrorKind, Result};
use crate::format::names::{check_partition, check_topic};
use crate::manager::Manager;
use crate::types::TopicPartition;

/// Moves a log to another of its manager's directories, by its number in klog_manager_dir_info. Appends and reads of it go
/// on, but for a moment at the end, and all handles stay good. Its old files are removed after the default
/// file.delete.delay.ms. If the time is up, or cancel is fired, what was copied stays, and the next call goes on from there;
/// a call with the directory that the log is in gives it up. After any other error the log is where it was, or,
/// if only the old directory failed at the very end, where it was to go.
///
/// Thread class T0, cost class C3. timeout_ms -1 is no limit; cancel may be null, err is nullable. KLOG_ERR_BUSY if the log
/// is being moved already; KLOG_ERR_LOG_DIR_NOT_FOUND if there is no such directory.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn klog_log_move(
    log: klog_log,
    to_dir: u32,
    timeout_ms: i64,
    cancel: klog_cancel,
    err: *mut klog_error,
) -> klog_status {
    guard("klog_log_move", err, |call| {
        let go_on = go_on(cancel, timeout_ms)?;
        handles::with_log(call, log, Access::Change, |open| {
            let manager = manager_of(open)?;
            let to = dir_path(&manager, to_dir)?;
            manager.move_log(&open.log, &to, go_on)
        })
    })
}

/// Drops one of the copies of a partition that was found in several directories, so that none of them was loaded: the one in
/// the directory of this number. It is removed as klog_log_delete removes. When one is left klog_log_retry loads it.
///
/// Thread class T2, cost class C2. topic is required; err is nullable. KLOG_ERR_INVALID_ARGUMENT if the partition was not
/// found in several directories, or not in this one, or only there is a copy left.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn klog_manager_resolve(
    manager: klog_manager,
    topic_name: *const c_char,
    topic_len: usize,
    partition: i32,
    drop_dir: u32,
    err: *mut klog_error,
) -> klog_status {
    guard("klog_manager_resolve", err, |call| {
        let partition = named(topic_name, topic_len, partition)?;
        handles::with_manager(call, manager, Access::Change, |open| {
            let dir = dir_path(&open.manager, drop_dir)?;
            open.manager.resolve(&partition, &dir)
        })
    })
}

/// Lets a copy that was on its way to another directory be the partition's log, where there is none: the directory that it
/// came from is lost, or not among those of this manager. It may lack what was appended last there.
///
/// Thread class T2, cost class C3. topic is required; err is nullable. KLOG_ERR_INVALID_ARGUMENT if there is no such copy, or
/// the log is there.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn klog_log_promote(
    manager: klog_manager,
    topic_name: *const c_char,
    topic_len: usize,
    partition: i32,
    err: *mut klog_error,
) -> klog_status {
    guard("klog_log_promote", err, |call| {
        let partition = named(topic_name, topic_len, partition)?;
        handles::with_manager(call, manager, Access::Change, |open| {
            open.manager.promote_future(&partition).map(drop)
        })
    })
}

fn named(topic_name: *const c_char, topic_len: usize, partition: i32) -> Result<TopicPartition> {
    let topic = topic(topic_name, topic_len)?;
    check_topic(topic)?;
    check_partition(partition)?;
    Ok(TopicPartition::new(topic, partition))
}

pub(crate) fn dir_path(manager: &Manager, index: u32) -> Result<std::path::PathBuf> {
    let dirs = manager.dirs();
    match dirs.get(index as usize) {
        Some(dir) => Ok(dir.path.clone()),
        None => Err(Error::new(
            ErrorKind::LogDirNotFound,
            format!(
                "there is no directory number {index}, the manager has {}",
                dirs.len()
            ),
        )),
    }
}
