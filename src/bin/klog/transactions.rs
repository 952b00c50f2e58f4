//! `klog transactions`.

use std::cell::RefCell;
use std::io::Write;
use std::process::ExitCode;
use std::sync::Arc;

use klog::inspect::{Print, ask_log, ask_logs, print_aborted, print_open, stable_line};
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
    let print_of = |log: &Log, print: &mut Print<'_>| {
        if !args.hanging {
            print(&mut stable_line(log))?;
            print_aborted(log, print)?;
        }
        print_open(log, now, older_ms, print)
    };
    let out = RefCell::new(std::io::BufWriter::new(std::io::stdout().lock()));
    let findings = if let Some(partition) = &args.partition {
        let ask = |log: &Log| {
            print_of(log, &mut |text| {
                let written = out.borrow_mut().write_all(text.as_bytes());
                text.clear();
                written.map_err(|e| output_error(&e))
            })
        };
        ask_log(&fs, &args.dir.dir, partition, &config, ask)?.1
    } else {
        let ask = |log: &Log| {
            print_of(log, &mut |text| {
                for line in text.lines() {
                    writeln!(out.borrow_mut(), "{} {line}", log.partition())
                        .map_err(|e| output_error(&e))?;
                }
                text.clear();
                Ok(())
            })
        };
        ask_logs(&fs, &args.dir.dir, &config, ask)?.1
    };
    let mut out = out.into_inner();
    out.flush().map_err(|e| output_error(&e))?;
    let told = tell(&findings);
    Ok(if args.partition.is_some() {
        ExitCode::SUCCESS
    } else {
        told
    })
}
