//! `klog stat`.

use std::io::Write;
use std::process::ExitCode;
use std::sync::Arc;

use klog::inspect::stat::{KEYS_ERROR, LogStat, Share, stat as look};
use klog::io::{Clock, FileSystem, RealFs, SystemClock};
use klog::types::TimestampMs;
use serde_json::{Value, json};

use super::args::StatArgs;
use super::{Failure, config_args, output_error, progress, tell, units};

/// Prints what logs are made of and what holds them back from being smaller.
pub(crate) fn stat(args: &StatArgs) -> std::result::Result<ExitCode, Failure> {
    let config = config_args::resolve(&args.dir.config, args.partition.as_ref())?;
    let fs: Arc<dyn FileSystem> = Arc::new(RealFs);
    let now = args.now_ms.map_or_else(|| SystemClock.now(), TimestampMs);
    let (stats, findings) = progress::show("reading", || {
        look(&fs, &args.dir.dir, args.partition.as_ref(), &config, now)
    })?;
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    let written = if args.json {
        let logs: Vec<Value> = stats.iter().map(to_json).collect();
        writeln!(out, "{}", json!({ "logs": logs }))
    } else {
        stats.iter().try_for_each(|stat| write_log(&mut out, stat))
    };
    written
        .and_then(|()| out.flush())
        .map_err(|e| output_error(&e))?;
    Ok(tell(&findings))
}

fn write_log(out: &mut dyn Write, stat: &LogStat) -> std::io::Result<()> {
    writeln!(
        out,
        "log {} start={} end={} segments={} {} tombstones={} null_keys={} keys={} keys_error={KEYS_ERROR} unread_batches={}",
        stat.partition,
        stat.start,
        stat.end,
        stat.segments,
        share(&stat.total),
        stat.tombstones,
        stat.null_keys,
        stat.keys,
        stat.unread_batches,
    )?;
    for (codec, of_codec) in &stat.codecs {
        writeln!(
            out,
            "codec {codec} {} ratio={:.2}",
            share(of_codec),
            units::ratio(of_codec.payload_bytes, of_codec.stored_bytes)
        )?;
    }
    for (day, of_day) in &stat.days {
        writeln!(out, "day {} {}", units::date(*day), share(of_day))?;
    }
    if !stat.has_config {
        writeln!(
            out,
            "config none was given for the topic: what follows is for Kafka's defaults"
        )?;
    }
    let saves = stat
        .clean_saves
        .map_or_else(|| "-".to_owned(), |n| n.to_string());
    writeln!(out, "clean saves={saves} {}", stat.clean)?;
    let (segments, bytes) = stat.retention_takes;
    writeln!(
        out,
        "retain segments={segments} bytes={bytes} {}",
        stat.retention
    )
}

fn share(share: &Share) -> String {
    format!(
        "batches={} records={} bytes={} payload_bytes={}",
        share.batches, share.records, share.stored_bytes, share.payload_bytes
    )
}

fn to_json(stat: &LogStat) -> Value {
    let share = |share: &Share| {
        json!({
            "batches": share.batches,
            "records": share.records,
            "bytes": share.stored_bytes,
            "payload_bytes": share.payload_bytes,
        })
    };
    json!({
        "log": stat.partition.to_string(),
        "start": stat.start.0,
        "end": stat.end.0,
        "segments": stat.segments,
        "total": share(&stat.total),
        "codecs": stat.codecs.iter().map(|(codec, s)| ((*codec).to_owned(), share(s))).collect::<serde_json::Map<_, _>>(),
        "days": stat.days.iter().map(|(day, s)| (units::date(*day), share(s))).collect::<serde_json::Map<_, _>>(),
        "tombstones": stat.tombstones,
        "null_keys": stat.null_keys,
        "keys": stat.keys,
        "keys_error": KEYS_ERROR,
        "unread_batches": stat.unread_batches,
        "has_config": stat.has_config,
        "clean": {"saves_bytes": stat.clean_saves, "why": stat.clean},
        "retain": {"segments": stat.retention_takes.0, "bytes": stat.retention_takes.1, "why": stat.retention},
    })
}
