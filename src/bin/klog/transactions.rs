//! `klog transactions`.

use std::io::Write;
use std::process::ExitCode;
use std::sync::Arc;

use klog::inspect::{aborted_lines, ask_log, ask_logs, open_lines, stable_line};
use klog::io::{Clock, FileSystem, RealFs, SystemClock};
use klog::log::Log;
use klog::types::TimestampMs;

use super::args::TransactionsArgs;
use super::{Failure, config_args, output_error, tell};

/// Older transactions hang, where nothing else is said: the default of `transaction.max.timeout.ms`.
const HANGING_MS: i64 = 15 * 60 * 1000;

/// Prints the transactions of one log, or of all with the log's name in front of each line.
pub(crate) fn transactions(args: &TransactionsArgs) -> std::result::Result<ExitCode, Failure> {
    let config = config_args::resolve(&args.dir.config, args.partition.as_ref())?;
    let fs: Arc<dyn FileSystem> = Arc::new(RealFs);
    let now = args.now_ms.map_or_else(|| SystemClock.now(), TimestampMs);
    let older_ms = match (args.hanging, args.older_than) {
        (_, Some(age)) => i64::try_from(age.as_millis()).unwrap_or(i64::MAX),
        (true, None) => HANGING_MS,
        (false, None) => i64::MIN,
    };
    let lines = |log: &Log| {
        let open = open_lines(log, now, older_ms);
        if args.hanging {
            return Ok(open);
        }
        Ok(stable_line(log) + &aborted_lines(log)? + &open)
    };
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    let findings = if let Some(partition) = &args.partition {
        let (text, findings) = ask_log(&fs, &args.dir.dir, partition, &config, lines)?;
        out.write_all(text.as_bytes())
            .map_err(|e| output_error(&e))?;
        findings
    } else {
        let (answers, findings) = ask_logs(&fs, &args.dir.dir, &config, lines)?;
        for (partition, text) in answers {
            for line in text.lines() {
                writeln!(out, "{partition} {line}").map_err(|e| output_error(&e))?;
            }
        }
        findings
    };
    out.flush().map_err(|e| output_error(&e))?;
    let told = tell(&findings);
    Ok(if args.partition.is_some() {
        ExitCode::SUCCESS
    } else {
        told
    })
}
