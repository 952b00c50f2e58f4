//! `klog clean`.

use std::collections::BTreeSet;
use std::io::Write;
use std::process::ExitCode;
use std::sync::Arc;

use klog::cleaner::filter::Fate;
use klog::cleaner::stats::Cleaned;
use klog::error::Result;
use klog::inspect::dry_clean;
use klog::io::{Clock, FileSystem, ManualClock, RealFs, SystemClock};
use klog::log::Finding;
use klog::manager::{CleanOptions, CleanedLog, Manager, ManagerOptions, Pass, Roll};
use klog::types::{Offset, TimestampMs, TopicPartition};

use super::args::{CleanArgs, DirArgs};
use super::{Failure, config_args, output_error, progress, tell};

/// Cleans one log, or all that are dirty enough, and prints a line for each pass.
pub(crate) fn clean(
    dir: &DirArgs,
    partition: Option<&TopicPartition>,
    args: &CleanArgs,
) -> std::result::Result<ExitCode, Failure> {
    let config = config_args::resolve(&dir.config, partition)?;
    let now = args.now_ms.map_or_else(|| SystemClock.now(), TimestampMs);
    let fs: Arc<dyn FileSystem> = Arc::new(RealFs);
    let options = CleanOptions {
        map_bytes: args.map_bytes,
        held_bytes_max: Some(args.max_batch_bytes),
        first_dirty: args.first_dirty_offset.map(Offset),
        roll: if args.roll { Roll::First } else { Roll::Leave },
        pass: args.dry_run.then_some(Pass::DryRun),
        ..CleanOptions::default()
    };
    let (done, findings) = if args.dry_run {
        progress::show("reading", || {
            dry_clean(&fs, &dir.dir, partition, &config, now, &options)
        })?
    } else {
        let manager_options = ManagerOptions {
            clock: Arc::new(ManualClock::new(now)),
            ..ManagerOptions::new(vec![dir.dir.clone()], config)
        };
        progress::show("cleaning", || apply(manager_options, partition, &options))?
    };
    let mut out = std::io::stdout().lock();
    let mut any_failed = false;
    for log in &done {
        let line = match &log.outcome {
            Ok(cleaned) => line_of(cleaned),
            Err(e) => {
                any_failed = true;
                eprintln!("klog: {}: {}: {e}", log.partition, e.kind());
                "cleaned error".to_owned()
            }
        };
        let written = match partition {
            Some(_) => writeln!(out, "{line}"),
            None => writeln!(out, "{} {line}", log.partition),
        };
        written.map_err(|e| output_error(&e))?;
    }
    let told = tell(&findings);
    Ok(if any_failed { ExitCode::FAILURE } else { told })
}

/// The line of a pass (fixtures/README.md 3.2).
fn line_of(cleaned: &Cleaned) -> String {
    let stats = &cleaned.stats;
    format!(
        "cleaned end={} read={} written={} bytes_read={} bytes_written={} invalid={}",
        cleaned.end,
        stats.read_records,
        stats.kept_records(),
        stats.read_bytes,
        stats.written_bytes,
        stats.records(Fate::DropNoKey)
    )
}

fn apply(
    manager_options: ManagerOptions,
    partition: Option<&TopicPartition>,
    options: &CleanOptions<'_>,
) -> Result<(Vec<CleanedLog>, Vec<Finding>)> {
    let manager = Manager::open(manager_options)?;
    let mut done = Vec::new();
    match partition {
        Some(partition) => match manager.clean_one(partition, options) {
            Ok(pass) => done.extend(pass),
            Err(e) => {
                manager.close()?;
                return Err(e);
            }
        },
        None => {
            while let Some(pass) = manager.clean_filthiest(options, &BTreeSet::new())? {
                done.push(pass);
            }
        }
    }
    for log in manager.logs() {
        // Nobody reads them here.
        log.remove_retired_by(TimestampMs(i64::MAX))?;
    }
    let findings = manager.report().to_vec();
    manager.close()?;
    Ok((done, findings))
}
