//! Managers: log directories that are open.

use std::ffi::c_char;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use once_cell::sync::OnceCell;

use super::appender::Appending;
use super::args::{
    array, check_flags, check_output, check_required, check_reserved, copy_growable, give_text,
    path, read_input, size, text,
};
use super::config::put_handle;
use super::constants::*;
use super::guard::guard;
use super::handles::{self, Access, OpenManager};
use super::metrics::Opening;
use super::types::{
    klog_config, klog_error, klog_log, klog_manager, klog_manager_info, klog_manager_options,
    klog_status,
};
use crate::config::{ConfigSet, Resolved};
use crate::error::{Error, ErrorKind, Result};
use crate::format::uuid::Uuid;
use crate::io::{Clock, Deadline, ManualClock, SystemClock, UnmappedFs};
use crate::log::Log;
use crate::log::escape;
use crate::manager::{self, HighWatermarks, Manager, ManagerOptions, MissingDir};
use crate::service::Background;
use crate::types::TimestampMs;

/// Opens log directories: locks them, and loads and recovers every log in them. A directory or log that cannot be opened
/// is reported (klog_manager_report) and left as it is; the others are served. Fails if no directory can be used
/// (KLOG_ERR_LOG_DIR_NOT_FOUND, KLOG_ERR_KAFKA_STORAGE_ERROR), or if one is owned by another manager, broker or process
/// (KLOG_ERR_DIR_LOCKED); then nothing is open and nothing was changed. With KLOG_OPEN_READ_ONLY nothing is locked or changed
/// in any case: what follows of a load is seen by this manager alone. klog_manager_open_progress tells another thread how far
/// it is.
///
/// Thread class T2, cost class C3. opts and out are required; out is null on failure; err is nullable.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn klog_manager_open(
    opts: *const klog_manager_options,
    out: *mut klog_manager,
    err: *mut klog_error,
) -> klog_status {
    guard("klog_manager_open", err, |_| {
        check_required(opts, "opts")?;
        check_required(out, "out")?;
        let made = read_input(opts)
            .and_then(|options| open(&options))
            .and_then(handles::add_manager);
        put_handle(out, made, klog_manager { id: 0 })
    })
}

fn open(options: &klog_manager_options) -> Result<OpenManager> {
    let known = KLOG_OPEN_MANUAL_CLOCK
        | KLOG_OPEN_HAS_BROKER_EPOCH
        | KLOG_OPEN_CREATE_DIRS
        | KLOG_OPEN_HW_FROM_CHECKPOINT
        | KLOG_OPEN_READ_ONLY
        | KLOG_OPEN_NO_MMAP;
    check_flags(options.flags, known, "opts.flags")?;
    check_reserved(&options.reserved, "opts")?;
    let mut dirs = Vec::new();
    for &dir in array(
        options.dirs,
        size(options.dir_count, "opts.dir_count")?,
        "opts.dirs",
    )? {
        dirs.push(path(dir, super::args::NTS, "a path of opts.dirs")?);
    }
    let config = resolve(options)?;
    if dirs.is_empty() {
        dirs = config.broker.log_dirs.clone().unwrap_or_default();
    }
    if dirs.is_empty() {
        return Err(Error::invalid_argument(
            "no log directory was given: neither opts.dirs nor log.dirs of the config",
        ));
    }
    let is_read_only = options.flags & KLOG_OPEN_READ_ONLY != 0;
    let manual = options.flags & KLOG_OPEN_MANUAL_CLOCK != 0;
    let clock = manual.then(|| Arc::new(ManualClock::new(TimestampMs(options.now_ms))));
    let opening = Opening::begin();
    let mut defaults = ManagerOptions::new(dirs, config);
    #[cfg(feature = "test-hooks")]
    {
        defaults.fs = super::testing::watched(defaults.fs);
    }
    if options.flags & KLOG_OPEN_NO_MMAP != 0 {
        defaults.fs = Arc::new(UnmappedFs::new(defaults.fs));
    }
    let manager = Manager::open(ManagerOptions {
        progress: Some(opening.progress()),
        missing_dir: if options.flags & KLOG_OPEN_CREATE_DIRS == 0 {
            MissingDir::Refuse
        } else {
            MissingDir::Create
        },
        access: if is_read_only {
            manager::Access::ReadOnly
        } else {
            manager::Access::Own
        },
        clock: clock.clone().map_or_else(
            || Arc::new(SystemClock) as Arc<dyn Clock>,
            |c| c as Arc<dyn Clock>,
        ),
        recovery_threads: Some(options.recovery_threads as usize).filter(|&threads| threads > 0),
        broker_epoch: if options.flags & KLOG_OPEN_HAS_BROKER_EPOCH == 0 {
            -1
        } else {
            options.broker_epoch
        },
        high_watermarks: if options.flags & KLOG_OPEN_HW_FROM_CHECKPOINT == 0 {
            HighWatermarks::FollowEnd
        } else {
            HighWatermarks::FromCheckpoint
        },
        ..defaults
    })?;
    let manager = Arc::new(manager);
    let poison = Arc::new(AtomicBool::new(false));
    let background = match options.background_threads {
        0 => None,
        _ if is_read_only => None,
        _ => Some(Background::start(&manager, Arc::clone(&poison))?),
    };
    let has_thread = options.background_threads > 0 && !is_read_only;
    Ok(OpenManager {
        manager,
        appending: Appending::new(has_thread, Arc::clone(&poison)),
        poison,
        clock,
        background: parking_lot::Mutex::new(background),
        closing: OnceCell::new(),
    })
}

fn resolve(options: &klog_manager_options) -> Result<Arc<Resolved>> {
    let resolved = if options.config.id == 0 {
        ConfigSet::broker().resolve()?
    } else {
        handles::with_config(options.config, |set| set.resolve())?
    };
    Ok(Arc::new(resolved))
}

/// Takes in what the owner of the directories did since the last look, with KLOG_OPEN_READ_ONLY: what it appended, rolled,
/// cleaned, cut, deleted and created. With a log of id 0 in all logs, else in that one. Nothing else does, but for a read that
/// finds its segment gone: it looks at that log and starts over. It costs as much as there is new, so it may be called again
/// and again. A batch that is not written to its end is not seen yet. Handles stay good; those of a log that was deleted
/// answer KLOG_ERR_UNKNOWN_TOPIC_OR_PARTITION from now on, also if another one has its name. Cursors go on from where they
/// are. The first failure is answered, the other logs are looked at all the same. On a manager that owns its directories:
/// KLOG_OK, and nothing happens.
///
/// Thread class T0, cost class C2; C3 if a log was cut and must be loaded anew. err is nullable.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn klog_manager_refresh(
    manager: klog_manager,
    only: klog_log,
    err: *mut klog_error,
) -> klog_status {
    guard("klog_manager_refresh", err, |call| {
        let named: Option<Arc<Log>> = match only.id {
            0 => None,
            _ => Some(handles::with_log(call, only, Access::Look, |open| {
                Ok(Arc::clone(&open.log))
            })?),
        };
        handles::with_manager(call, manager, Access::Change, |open| match &named {
            Some(log) => open.manager.refresh_log(log),
            None => open.manager.refresh(),
        })
    })
}

/// Counts of a manager, and what its open did.
///
/// Thread class T0, cost class C1. out is required; err is nullable.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn klog_manager_get_info(
    manager: klog_manager,
    out: *mut klog_manager_info,
    err: *mut klog_error,
) -> klog_status {
    guard("klog_manager_get_info", err, |call| {
        check_output(out, "out")?;
        handles::with_manager(call, manager, Access::Look, |open| {
            let dirs = open.manager.dirs();
            let online = dirs.iter().filter(|dir| dir.failure.is_none()).count();
            let counts = open.manager.open_counts();
            copy_growable(
                out,
                klog_manager_info {
                    struct_size: 0,
                    flags: 0,
                    logs: open.manager.logs().len() as u64,
                    segments_recovered: counts.segments_recovered,
                    bytes_truncated: counts.bytes_truncated,
                    indexes_rebuilt: counts.indexes_rebuilt,
                    dirs_online: u32::try_from(online).unwrap_or(u32::MAX),
                    dirs_offline: u32::try_from(dirs.len() - online).unwrap_or(u32::MAX),
                    open_handles: handles::open_count(),
                    pinned_bytes: open.manager.pinned_bytes(),
                    reserved: [0; 8],
                },
            );
            Ok(())
        })
    })
}

/// What the open found and did, a finding a line: kind TAB directory TAB topic-partition or "-" TAB status or "-" TAB text
/// LF. Kinds: recovered, repaired, ignored, config, failed. Tab, LF and backslash inside a field are \t, \n, \\.
///
/// Thread class T0, cost class C1. buf may be null with cap 0; needed and err are nullable.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn klog_manager_report(
    manager: klog_manager,
    buf: *mut c_char,
    cap: usize,
    needed: *mut usize,
    err: *mut klog_error,
) -> klog_status {
    guard("klog_manager_report", err, |call| {
        let text = handles::with_manager(call, manager, Access::Look, |open| {
            Ok(lines(open.manager.report().iter().map(ToString::to_string)))
        })?;
        give_text(&text, buf, cap, needed)
    })
}

/// Every log, sorted: topic-partition TAB directory TAB topic id or "-" TAB flags LF. Flags: "-", or "unmanaged" for a
/// topic that was given no configuration, or "failed" for a log that could not be opened.
///
/// Thread class T0, cost class C1. buf may be null with cap 0; needed and err are nullable.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn klog_manager_list(
    manager: klog_manager,
    buf: *mut c_char,
    cap: usize,
    needed: *mut usize,
    err: *mut klog_error,
) -> klog_status {
    guard("klog_manager_list", err, |call| {
        let text =
            handles::with_manager(call, manager, Access::Look, |open| Ok(list(&open.manager)))?;
        give_text(&text, buf, cap, needed)
    })
}

fn list(manager: &Manager) -> String {
    let mut logs: Vec<_> = manager
        .logs()
        .iter()
        .map(|log| {
            let id = log
                .topic_id()
                .map_or_else(|| "-".to_owned(), |id| id.to_string());
            let managed = manager.is_managed(log);
            (
                log.partition().clone(),
                log.dir().to_path_buf(),
                id,
                if managed { "-" } else { "unmanaged" },
            )
        })
        .collect();
    let failed = manager.failed_logs().into_iter();
    logs.extend(failed.map(|f| (f.partition, f.dir, "-".to_owned(), "failed")));
    logs.sort();
    self::lines(logs.iter().map(|(partition, dir, id, flags)| {
        format!(
            "{}\t{}\t{id}\t{flags}",
            escape(&partition.to_string()),
            escape(&dir.to_string_lossy())
        )
    }))
}

/// Lines as one text.
pub(crate) fn lines(lines: impl Iterator<Item = String>) -> String {
    lines.fold(String::new(), |text, line| text + &line + "\n")
}

/// The path of directory number index, and whether it works: KLOG_OK in *state, or the status of what took it offline.
/// KLOG_ERR_END behind the last.
///
/// Thread class T0, cost class C1. buf may be null with cap 0; needed, state and err are nullable.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn klog_manager_dir_info(
    manager: klog_manager,
    index: u32,
    buf: *mut c_char,
    cap: usize,
    needed: *mut usize,
    state: *mut klog_status,
    err: *mut klog_error,
) -> klog_status {
    guard("klog_manager_dir_info", err, |call| {
        let dirs =
            handles::with_manager(call, manager, Access::Look, |open| Ok(open.manager.dirs()))?;
        let dir = dirs.get(index as usize).ok_or_else(|| {
            Error::new(
                ErrorKind::End,
                format!("there is no directory number {index}"),
            )
        })?;
        give_text(&dir.path.to_string_lossy(), buf, cap, needed)?;
        if !state.is_null() {
            let status = dir.failure.as_ref().map_or(KLOG_OK, |e| e.kind().status());
            // SAFETY: not null, and the header requires a status there.
            unsafe { state.write_unaligned(status) };
        }
        Ok(())
    })
}

/// Says whose a directory is: writes its meta.properties of version 1, so that a broker of that cluster takes the directory
/// for its own. Nothing else writes that file. dir is its number in klog_manager_dir_info; directory_id has 16 bytes, null
/// is a random one. A file that says the same stays.
///
/// Thread class T2, cost class C3. cluster_id is required; directory_id and err are nullable. KLOG_ERR_INVALID_ARGUMENT if
/// the file says something else, or another directory is of another cluster or node.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn klog_meta_create(
    manager: klog_manager,
    dir: u32,
    cluster_id: *const c_char,
    cluster_id_len: usize,
    node_id: i32,
    directory_id: *const u8,
    err: *mut klog_error,
) -> klog_status {
    guard("klog_meta_create", err, |call| {
        let cluster_id = text(cluster_id, cluster_id_len, "cluster_id")?;
        let directory_id = if directory_id.is_null() {
            None
        } else {
            // SAFETY: not null, and the header requires 16 bytes there.
            Some(Uuid(unsafe { directory_id.cast::<[u8; 16]>().read() }))
        };
        handles::with_manager(call, manager, Access::Change, |open| {
            let dir = super::moving::dir_path(&open.manager, dir)?;
            open.manager
                .create_meta(&dir, cluster_id, node_id, directory_id)
        })
    })
}

/// Changes broker keys while logs are open: what topics without overrides of these keys go by, and the manager itself.
/// Either all changes are made or none. changes is a broker config with nothing but the keys to change.
///
/// Thread class T0, cost class C2. err is nullable. KLOG_ERR_INVALID_CONFIG for keys that cannot be changed while logs are
/// open, or values that they do not take.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn klog_manager_set_config(
    manager: klog_manager,
    changes: klog_config,
    err: *mut klog_error,
) -> klog_status {
    guard("klog_manager_set_config", err, |call| {
        let changes = handles::with_config(changes, |set| Ok(set.clone()))?;
        handles::with_manager(call, manager, Access::Change, |open| {
            open.manager.set_config(&changes)
        })
    })
}

/// Makes every log durable.
///
/// Thread class T0, cost class C3. flags is 0; err is nullable.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn klog_flush_all(
    manager: klog_manager,
    flags: u32,
    err: *mut klog_error,
) -> klog_status {
    guard("klog_flush_all", err, |call| {
        check_flags(flags, 0, "flags")?;
        handles::with_manager(call, manager, Access::Change, |open| {
            open.manager.flush_all()
        })
    })
}

/// Writes the checkpoints of all directories now: KLOG_CHECKPOINT_ bits. They are written together.
///
/// Thread class T0, cost class C3. err is nullable.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn klog_checkpoint(
    manager: klog_manager,
    which: u32,
    err: *mut klog_error,
) -> klog_status {
    guard("klog_checkpoint", err, |call| {
        check_flags(
            which,
            KLOG_CHECKPOINT_RECOVERY_POINT | KLOG_CHECKPOINT_LOG_START,
            "which",
        )?;
        handles::with_manager(call, manager, Access::Change, |open| match which {
            0 => Ok(()),
            _ => open.manager.checkpoint(),
        })
    })
}

/// Closes every log in order, writes checkpoints and clean-shutdown files, and gives the directories back. The logs, cursors,
/// appenders, waiters and event streams of this manager answer KLOG_ERR_CLOSED from now on; calls that wait for them wake with
/// it, and calls that are inside end first. What appenders hold that was not appended is dropped: close them before. The handle
/// ends, also with an error, which says what could not be stored; the next open recovers that. With KLOG_CLOSE_ABANDON nothing
/// is written.
///
/// KLOG_ERR_TIMED_OUT if that took longer than timeout_ms (-1 is no limit, 0 only begins it): it goes on in a thread of the
/// library, calls with the handle answer KLOG_ERR_CLOSED, and the close may be called again, to wait for it and learn how it ended;
/// its flags do not count any more.
///
/// Thread class T2, cost class C4. err is nullable.
#[unsafe(no_mangle)]
pub extern "C" fn klog_manager_close(
    manager: klog_manager,
    flags: u32,
    timeout_ms: i64,
    err: *mut klog_error,
) -> klog_status {
    guard("klog_manager_close", err, |call| {
        check_flags(flags, KLOG_CLOSE_ABANDON, "flags")?;
        super::closing::close(call, manager, flags, Deadline::after(timeout_ms)?)
    })
}

/// A directory that a log is to be made in.
pub(crate) fn absolute(dir: &Path) -> Result<PathBuf> {
    std::path::absolute(dir).map_err(|e| Error::from_io("resolve", dir, &e))
}
