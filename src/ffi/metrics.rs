//! Metrics, and how far an opening is.

use std::ffi::c_char;
use std::path::Path;
use std::sync::Arc;

use parking_lot::Mutex;

use super::args::{check_output, check_required, copy_growable, give_array, give_text, path};
use super::constants::*;
use super::guard::guard;
use super::handles::{self, Access};
use super::manager::{absolute, lines};
use super::types::{
    klog_error, klog_log, klog_manager, klog_metric, klog_open_progress, klog_status,
};
use crate::error::{Error, ErrorKind};
use crate::log::{Log, escape};
use crate::manager::{DirOpening, LogOpening, OpenProgress};
use crate::service::metrics::{self, METRICS, MetricKind};

/// What metric number index is. KLOG_ERR_END behind the last. The texts live as long as the process; new metrics come at the
/// end.
///
/// Thread class T0, cost class C0. out is required; err is nullable.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn klog_metric_describe(
    index: u32,
    out: *mut klog_metric,
    err: *mut klog_error,
) -> klog_status {
    guard("klog_metric_describe", err, |_| {
        check_output(out, "out")?;
        let metric = METRICS.get(index as usize).ok_or_else(|| {
            Error::new(ErrorKind::End, format!("there is no metric number {index}"))
        })?;
        copy_growable(
            out,
            klog_metric {
                struct_size: 0,
                r#type: match metric.kind() {
                    MetricKind::Gauge => KLOG_METRIC_GAUGE,
                    MetricKind::Counter => KLOG_METRIC_COUNTER,
                    MetricKind::TimerCount => KLOG_METRIC_TIMER_COUNT,
                    MetricKind::TimerSum => KLOG_METRIC_TIMER_SUM,
                },
                name: metric.c_name().as_ptr(),
                unit: metric.c_unit().as_ptr(),
                help: metric.c_help().as_ptr(),
            },
        );
        Ok(())
    })
}

/// The values of all metrics, in the order of klog_metric_describe; *count is how many there are. With a log those of this
/// log, of its topic, of its directory, or of the manager, whichever is the narrowest that there is. With a log of id 0 those
/// of the whole manager: numbers of logs and directories are added up, of RetentionSizeInPercent it is the largest.
/// KLOG_ERR_UNKNOWN_TOPIC_OR_PARTITION for a log of another manager, and for one that was deleted.
///
/// Thread class T0, cost class C1. values is required unless cap is 0; count and err are nullable.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn klog_metrics_read(
    manager: klog_manager,
    only: klog_log,
    values: *mut u64,
    cap: usize,
    count: *mut usize,
    err: *mut klog_error,
) -> klog_status {
    guard("klog_metrics_read", err, |call| {
        let named: Option<Arc<Log>> = match only.id {
            0 => None,
            _ => Some(handles::with_log(call, only, Access::Look, |open| {
                Ok(Arc::clone(&open.log))
            })?),
        };
        let read = handles::with_manager(call, manager, Access::Look, |open| {
            metrics::read(&open.manager, named.as_ref())
        })?;
        give_array(&read, values, cap, count)
    })
}

/// All metrics as text, for a scraper: format is KLOG_METRICS_OPENMETRICS. *needed is the length with its NUL. Logs come and
/// go: ask for the size and the text with some room in between.
///
/// Thread class T0, cost class C1. buf may be null with cap 0; needed and err are nullable.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn klog_metrics_text(
    manager: klog_manager,
    format: u32,
    buf: *mut c_char,
    cap: usize,
    needed: *mut usize,
    err: *mut klog_error,
) -> klog_status {
    guard("klog_metrics_text", err, |call| {
        if format != KLOG_METRICS_OPENMETRICS {
            return Err(Error::invalid_argument(format!(
                "format {format} is none of the KLOG_METRICS_ constants"
            )));
        }
        let text = handles::with_manager(call, manager, Access::Look, |open| {
            metrics::text(&open.manager)
        })?;
        give_text(&text, buf, cap, needed)
    })
}

/// The openings that run in this process. The manager's handle is not there yet, so a directory names its opening.
static OPENINGS: Mutex<Vec<Arc<OpenProgress>>> = Mutex::new(Vec::new());

/// An opening that can be looked at, until this is dropped.
pub(crate) struct Opening(Arc<OpenProgress>);

impl Opening {
    pub(crate) fn begin() -> Self {
        let progress = Arc::new(OpenProgress::default());
        OPENINGS.lock().push(Arc::clone(&progress));
        Self(progress)
    }

    pub(crate) fn progress(&self) -> Arc<OpenProgress> {
        Arc::clone(&self.0)
    }

    fn of(dir: &Path) -> Option<DirOpening> {
        let openings = OPENINGS.lock().clone();
        let mut dirs = openings.iter().flat_map(|progress| progress.dirs());
        dirs.find(|opening| opening.path == dir)
    }
}

impl Drop for Opening {
    fn drop(&mut self) {
        OPENINGS
            .lock()
            .retain(|progress| !Arc::ptr_eq(progress, &self.0));
    }
}

/// How far the opening of a log directory is: for another thread while klog_manager_open runs, which may take minutes. dir is
/// the directory as it was given there. buf gets a line for each log that is being loaded: topic-partition TAB number of the
/// thread TAB segments left TAB bytes to be read TAB bytes read LF. Without a buffer only out is written.
///
/// KLOG_ERR_END while no opening of this process has that directory: before it owns it, and once it is done.
///
/// Thread class T0, cost class C1. dir and out are required; buf may be null with cap 0; needed and err are nullable.
#[unsafe(no_mangle)]
#[must_use]
pub extern "C" fn klog_manager_open_progress(
    dir: *const c_char,
    dir_len: usize,
    out: *mut klog_open_progress,
    buf: *mut c_char,
    cap: usize,
    needed: *mut usize,
    err: *mut klog_error,
) -> klog_status {
    guard("klog_manager_open_progress", err, |_| {
        check_output(out, "out")?;
        if cap > 0 {
            check_required(buf, "buf")?;
        }
        let dir = absolute(&path(dir, dir_len, "dir")?)?;
        let opening = Opening::of(&dir).ok_or_else(|| {
            Error::new(
                ErrorKind::End,
                format!("{} is not being opened", dir.display()),
            )
        })?;
        if !(buf.is_null() && cap == 0) {
            give_text(&lines(opening.at_work.iter().map(line)), buf, cap, needed)?;
        }
        copy_growable(
            out,
            klog_open_progress {
                struct_size: 0,
                flags: 0,
                logs_total: opening.logs_total,
                logs_left: opening.logs_left,
                segments_left: opening.segments_left,
                bytes_total: opening.bytes_total,
                bytes_done: opening.bytes_done,
                reserved: [0; 4],
            },
        );
        Ok(())
    })
}

fn line(log: &LogOpening) -> String {
    format!(
        "{}\t{}\t{}\t{}\t{}",
        escape(&log.partition.to_string()),
        log.thread,
        log.segments_left,
        log.bytes_total,
        log.bytes_done
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_opening_is_seen_as_long_as_it_lasts() {
        let opening = Opening::begin();
        let progress = opening.progress();
        let is_seen = || {
            let openings = OPENINGS.lock();
            openings.iter().any(|seen| Arc::ptr_eq(seen, &progress))
        };
        assert!(is_seen());
        assert!(Opening::of(Path::new("/nowhere")).is_none());
        drop(opening);
        assert!(!is_seen());
    }
}
