//! `klog retain`.

use std::io::Write;
use std::process::ExitCode;
use std::sync::Arc;

use klog::error::Result;
use klog::inspect::dry_retain;
use klog::io::{Clock, FileSystem, ManualClock, RealFs, SystemClock};
use klog::log::Finding;
use klog::manager::{Manager, ManagerOptions, Pass, Retained};
use klog::types::{TimestampMs, TopicPartition};

use super::args::DirArgs;
use super::{Failure, config_args, output_error, progress, tell};

/// Deletes what has expired and prints a line for each log that was looked at; names the others on standard error.
pub(crate) fn retain(
    args: &DirArgs,
    partition: Option<&TopicPartition>,
    now_ms: Option<i64>,
    dry_run: bool,
) -> std::result::Result<ExitCode, Failure> {
    let config = config_args::resolve(&args.config, partition)?;
    let now = now_ms.map_or_else(|| SystemClock.now(), TimestampMs);
    let fs: Arc<dyn FileSystem> = Arc::new(RealFs);
    if let Some(named) = partition
        && config.overrides_for(&named.topic).is_none()
    {
        eprintln!(
            "klog: {named}: no configuration was given; with the defaults it would be kept for {} ms; name a key, as in --config retention.ms=...",
            config.log_config(&named.topic).retention_ms.unwrap_or(-1)
        );
        return Ok(ExitCode::FAILURE);
    }
    let (done, unmanaged, findings) = if dry_run {
        let (done, findings) = dry_retain(&fs, &args.dir, partition, &config, now)?;
        (done, Vec::new(), findings)
    } else {
        let options = ManagerOptions {
            clock: Arc::new(ManualClock::new(now)),
            ..ManagerOptions::new(vec![args.dir.clone()], config)
        };
        progress::show("deleting", || apply(options, partition))?
    };
    let mut out = std::io::stdout().lock();
    for log in &done {
        writeln!(
            out,
            "retained {} deleted={} start={} end={}",
            log.partition, log.deleted.segments, log.log_start, log.log_end
        )
        .map_err(|e| output_error(&e))?;
    }
    for partition in unmanaged {
        eprintln!("klog: {partition}: left alone: no configuration was given for its topic");
    }
    Ok(tell(&findings))
}

type Done = (Vec<Retained>, Vec<TopicPartition>, Vec<Finding>);

fn apply(options: ManagerOptions, partition: Option<&TopicPartition>) -> Result<Done> {
    let manager = Manager::open(options)?;
    let done = match partition {
        Some(partition) => vec![manager.retain(&manager.log(partition)?, Pass::Apply)?],
        None => manager.retain_all(Pass::Apply)?,
    };
    let mut unmanaged = Vec::new();
    for log in manager.logs() {
        // Nobody reads them here.
        log.remove_retired_by(TimestampMs(i64::MAX))?;
        if partition.is_none() && !manager.is_managed(&log) {
            unmanaged.push(log.partition().clone());
        }
    }
    let findings = manager.report().to_vec();
    manager.close()?;
    Ok((done, unmanaged, findings))
}
