//! The `klog` command: looks at Kafka data directories, recovers them, hands logs over.
//!
//! Parsing and printing only; the work is the library's. Standard output carries the stated lines and nothing else,
//! everything for a person goes to standard error. Exit status: 0 done, 1 an error, 2 wrong usage.

mod adopt;
mod append;
mod args;
mod cat;
mod clean;
mod config_args;
mod copy;
mod dump_log;
mod manual;
mod progress;
mod records;
mod report;
mod retain;
mod stat;
mod transactions;
mod units;
mod verify;

use std::io::Write;
use std::process::ExitCode;
use std::sync::Arc;

use clap::{CommandFactory, Parser};
use klog::error::{Error, ErrorKind, Result};
use klog::inspect::{DumpOptions, Print, ask_log, dump, list_logs, print_producers, time_line};
use klog::io::{FileSystem, RealFs};
use klog::log::{Finding, FindingKind, Log};
use klog::manager::{Manager, ManagerOptions};
use klog::types::TimestampMs;

use args::{Args, Command, DirArgs, LogArgs};

fn main() -> ExitCode {
    // Command lines for Kafka's tool are not read as clap would.
    let mut typed = std::env::args_os().skip(1);
    if typed.next().is_some_and(|command| command == "dump-log") {
        return dump_log::run(typed, || args::print_help_of("dump-log"));
    }
    // clap answers --help and --version with 0, and wrong usage with 2.
    let args = Args::parse();
    match run(&args.command) {
        Ok(code) => code,
        Err(Failure::Usage(e)) => {
            eprintln!("klog: {e}");
            ExitCode::from(2)
        }
        // Whoever reads our output has seen enough.
        Err(Failure::Error(e)) if e.os_errno() == Some(libc::EPIPE) => ExitCode::SUCCESS,
        Err(Failure::Error(e)) => {
            eprintln!("klog: {}: {e}", e.kind());
            ExitCode::FAILURE
        }
    }
}

enum Failure {
    Usage(Error),
    Error(Error),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Error(error)
    }
}

fn run(command: &Command) -> std::result::Result<ExitCode, Failure> {
    match command {
        Command::Ls(dir) => Ok(ls(dir)?),
        Command::Dump { dir, partition } => Ok(dump_dir(dir, partition.as_ref())?),
        // Where it comes first, it was run before clap read the command line.
        Command::DumpLog(_) => Err(Failure::Usage(Error::invalid_argument(
            "dump-log must be the first argument",
        ))),
        Command::Recover(dir) => Ok(recover(dir)?),
        Command::Retain {
            dir,
            partition,
            now_ms,
            dry_run,
        } => retain::retain(dir, partition.as_ref(), *now_ms, *dry_run),
        Command::Clean {
            dir,
            partition,
            clean,
        } => clean::clean(dir, partition.as_ref(), clean),
        Command::Adopt {
            source,
            broker,
            partition,
        } => adopt::adopt(source, broker, partition),
        Command::Offsets { log, timestamps } => ask(log, |log, print| {
            let lines = timestamps.iter().map(|&ts| time_line(log, ts));
            print(&mut lines.collect::<Result<String>>()?)
        }),
        Command::Transactions(args) => transactions::transactions(args),
        Command::Copy(args) => copy::copy(args),
        Command::Stat(args) => stat::stat(args),
        Command::Report(args) => report::report(args),
        Command::Completions { shell } => completions(*shell),
        Command::Man { command, out } => manual::man(command.as_deref(), out.as_deref()),
        Command::Cat(args) => cat::cat(args),
        Command::Append(args) => append::append(args),
        Command::Verify(args) => verify::verify(args),
        Command::Repair(args) => verify::repair(args),
        Command::Producers(log) => ask(log, print_producers),
    }
}

/// Prints completions. They are made in memory: what makes them takes no failure to write.
fn completions(shell: clap_complete::Shell) -> std::result::Result<ExitCode, Failure> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut Args::command(), "klog", &mut text);
    std::io::stdout()
        .write_all(&text)
        .map_err(|e| output_error(&e))?;
    Ok(ExitCode::SUCCESS)
}

fn ls(args: &DirArgs) -> std::result::Result<ExitCode, Failure> {
    let config = config_args::resolve(&args.config, None)?;
    let fs: Arc<dyn FileSystem> = Arc::new(RealFs);
    let (lines, findings) = progress::show("reading", || list_logs(&fs, &args.dir, &config))?;
    let mut out = std::io::stdout().lock();
    for line in lines {
        writeln!(out, "{line}").map_err(|e| output_error(&e))?;
    }
    Ok(tell(&findings))
}

fn dump_dir(
    args: &DirArgs,
    partition: Option<&klog::types::TopicPartition>,
) -> std::result::Result<ExitCode, Failure> {
    let config = config_args::resolve(&args.config, partition)?;
    let fs: Arc<dyn FileSystem> = Arc::new(RealFs);
    let options = DumpOptions {
        only: partition.cloned(),
        config,
        now: TimestampMs(0),
    };
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    let findings = dump(&fs, &args.dir, &options, &mut out)?;
    out.flush().map_err(|e| output_error(&e))?;
    // A log that cannot be loaded is a line of the text.
    tell(&findings);
    Ok(ExitCode::SUCCESS)
}

/// Prints what one log answers.
fn ask(
    args: &LogArgs,
    lines: impl FnOnce(&Log, &mut Print<'_>) -> Result<()>,
) -> std::result::Result<ExitCode, Failure> {
    let config = config_args::resolve_for_lookup(&args.dir.config, Some(&args.partition))?;
    let fs: Arc<dyn FileSystem> = Arc::new(RealFs);
    let mut out = std::io::stdout().lock();
    let mut print = |text: &mut String| {
        let written = out.write_all(text.as_bytes());
        text.clear();
        written.map_err(|e| output_error(&e))
    };
    let ask = |log: &Log| lines(log, &mut print);
    let ((), findings) = ask_log(&fs, &args.dir.dir, &args.partition, &config, ask)?;
    out.flush().map_err(|e| output_error(&e))?;
    tell(&findings);
    Ok(ExitCode::SUCCESS)
}

fn recover(args: &DirArgs) -> std::result::Result<ExitCode, Failure> {
    let config = config_args::resolve(&args.config, None)?;
    let options = ManagerOptions::new(vec![args.dir.clone()], config);
    let findings = progress::show("recovering", || -> Result<Vec<Finding>> {
        let manager = Manager::open(options)?;
        let findings = manager.report().to_vec();
        manager.close()?;
        Ok(findings)
    })?;
    Ok(tell(&findings))
}

/// Prints what loading found for a person; a failure among it is the command's. What is odd about the configuration was
/// said when it was read.
fn tell(findings: &[Finding]) -> ExitCode {
    for finding in findings
        .iter()
        .filter(|finding| finding.kind != FindingKind::Config)
    {
        let place = match &finding.partition {
            Some(partition) => partition.to_string(),
            None => finding.dir.display().to_string(),
        };
        eprintln!("klog: {}: {place}: {}", finding.kind.name(), finding.text);
    }
    if findings
        .iter()
        .any(|finding| finding.kind == FindingKind::Failed)
    {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    }
}

fn output_error(error: &std::io::Error) -> Error {
    match error.raw_os_error() {
        Some(_) => Error::from_io("write to", std::path::Path::new("standard output"), error),
        None => Error::new(
            ErrorKind::KafkaStorage,
            format!("cannot write to standard output: {error}"),
        ),
    }
}
