//! `klog cat`: records of one log, printed.

use std::io::Write;
use std::process::ExitCode;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use klog::config::Resolved;
use klog::error::{Error, ErrorKind, Result};
use klog::format::batches::Batches;
use klog::format::record::Record;
use klog::log::{CursorOptions, FirstBatch, Isolation, Log, ReadOptions, TimeTarget};
use klog::manager::{Access, Manager, ManagerOptions};
use klog::types::{Offset, TimestampMs};

use super::args::{CatArgs, Place};
use super::records::Format;
use super::{Failure, config_args, output_error, tell};

/// How often a log that is followed is looked at.
const FOLLOW_PAUSE: Duration = Duration::from_millis(100);
/// Records that are taken from the log at once.
const RECORDS_AT_ONCE: usize = 1000;
/// Bytes that are read of raw batches at once, if none is larger.
const RAW_BYTES: usize = 1 << 20;

/// Prints records.
pub(crate) fn cat(args: &CatArgs) -> std::result::Result<ExitCode, Failure> {
    let format = args.format.resolve().map_err(Failure::Usage)?;
    let config = config_args::resolve(&args.log.dir.config, Some(&args.log.partition))?;
    let manager = open(args, &config)?;
    let log = manager.log(&args.log.partition)?;
    let mut findings = manager.report().to_vec();
    findings.retain(|f| f.partition.as_ref() == Some(&args.log.partition));
    tell(&findings);
    let from = offset_of(&log, args.from)?;
    let upto = match args.to {
        Some(place) => offset_of(&log, place)?,
        None if args.follow => Offset::MAX,
        None => log.end_offset(),
    };
    let filter = Filter::new(args).map_err(Failure::Usage)?;
    if matches!(format, Format::Raw) && !filter.is_empty() {
        return Err(Failure::Usage(Error::invalid_argument(
            "raw batches are given whole: --key, --key-prefix, --header and --count need another format",
        )));
    }
    let mut printer = Printer {
        out: std::io::BufWriter::with_capacity(1 << 16, std::io::stdout().lock()),
        left: args.count.unwrap_or(u64::MAX),
        filter,
        upto,
    };
    let look = || manager.refresh_log(&log);
    match format {
        Format::Raw => printer.print_raw(args, &log, from, look)?,
        format => printer.print_records(args, &log, from, &format, look)?,
    }
    printer.flush()?;
    Ok(ExitCode::SUCCESS)
}

fn open(args: &CatArgs, config: &Arc<Resolved>) -> Result<Manager> {
    Manager::open(ManagerOptions {
        access: Access::ReadOnly,
        ..ManagerOptions::new(vec![args.log.dir.dir.clone()], Arc::clone(config))
    })
}

fn offset_of(log: &Log, place: Place) -> Result<Offset> {
    Ok(match place {
        Place::Start => log.start_offset(),
        Place::End => log.end_offset(),
        Place::Offset(offset) => Offset(offset),
        Place::BeforeEnd(n) => Offset(log.end_offset().0.saturating_sub(n)).max(log.start_offset()),
        Place::Time(ms) => {
            let found = log.offset_for_timestamp(TimeTarget::At(TimestampMs(ms)))?;
            // What comes later is later in time too, as far as producers' clocks go.
            match found {
                Some(record) => record.offset,
                None => log.end_offset(),
            }
        }
    })
}

/// Which records are wanted.
struct Filter {
    key: Option<Vec<u8>>,
    key_prefix: Option<Vec<u8>>,
    headers: Vec<(Vec<u8>, Option<Vec<u8>>)>,
    has_count: bool,
}

impl Filter {
    fn new(args: &CatArgs) -> Result<Self> {
        let headers = args.headers.iter().map(|text| {
            let (name, value) = match text.split_once('=') {
                Some((name, value)) => (name, Some(value.as_bytes().to_vec())),
                None => (text.as_str(), None),
            };
            if name.is_empty() {
                return Err(Error::invalid_argument(format!(
                    "--header {text}: expected NAME or NAME=VALUE"
                )));
            }
            Ok((name.as_bytes().to_vec(), value))
        });
        Ok(Self {
            key: args.key.as_ref().map(|key| key.as_bytes().to_vec()),
            key_prefix: args.key_prefix.as_ref().map(|key| key.as_bytes().to_vec()),
            headers: headers.collect::<Result<_>>()?,
            has_count: args.count.is_some(),
        })
    }

    fn is_empty(&self) -> bool {
        self.key.is_none()
            && self.key_prefix.is_none()
            && self.headers.is_empty()
            && !self.has_count
    }

    fn wants(&self, record: &Record<'_>) -> bool {
        let has_key = self
            .key
            .as_deref()
            .is_none_or(|key| record.key == Some(key));
        let has_prefix = self
            .key_prefix
            .as_deref()
            .is_none_or(|prefix| record.key.is_some_and(|key| key.starts_with(prefix)));
        has_key
            && has_prefix
            && self.headers.iter().all(|(name, value)| {
                record.headers.into_iter().any(|header| {
                    header.key == name
                        && value
                            .as_deref()
                            .is_none_or(|value| header.value == Some(value))
                })
            })
    }
}

struct Printer<W: Write> {
    out: W,
    left: u64,
    filter: Filter,
    upto: Offset,
}

impl<W: Write> Printer<W> {
    fn flush(&mut self) -> Result<()> {
        self.out.flush().map_err(|e| output_error(&e))
    }

    fn print_records(
        &mut self,
        args: &CatArgs,
        log: &Arc<Log>,
        from: Offset,
        format: &Format,
        look: impl Fn() -> Result<()>,
    ) -> Result<()> {
        let mut cursor = log.cursor(
            from,
            CursorOptions {
                isolation: args.isolation(),
                batch_bytes_max: args.max_batch_bytes,
                ..CursorOptions::default()
            },
        );
        let pause = Pause::new();
        loop {
            // A place behind the end is the cursor's to refuse.
            let is_behind = cursor.position() >= self.upto && from <= log.end_offset();
            let mut is_done = is_behind || self.left == 0;
            if is_done {
                return Ok(());
            }
            let place = cursor.position();
            let records = match cursor.next_records(RECORDS_AT_ONCE) {
                Ok(records) => records,
                Err(e) => {
                    let start = passed_over(&e, args, log, place)?;
                    cursor.seek(start);
                    continue;
                }
            };
            for (i, record) in records.iter().enumerate() {
                if record.offset >= self.upto || self.left == 0 {
                    is_done = true;
                    break;
                }
                let Some(batch) = records.batch_of(i).filter(|_| self.filter.wants(&record)) else {
                    continue;
                };
                self.left -= 1;
                format
                    .write(&mut self.out, &record, batch)
                    .map_err(|e| output_error(&e))?;
            }
            if is_done || (records.is_empty() && !args.follow) {
                return Ok(());
            }
            if records.is_empty() {
                self.flush()?;
                pause.wait();
                look()?;
            }
        }
    }

    fn print_raw(
        &mut self,
        args: &CatArgs,
        log: &Arc<Log>,
        from: Offset,
        look: impl Fn() -> Result<()>,
    ) -> Result<()> {
        let mut buffer = vec![0; RAW_BYTES];
        let mut next = from;
        let options = ReadOptions {
            max_bytes: RAW_BYTES,
            first_batch: FirstBatch::Always,
            isolation: args.isolation(),
            ..ReadOptions::default()
        };
        let pause = Pause::new();
        while next < self.upto {
            let read = match log.read(next, &mut buffer, &options) {
                Err(e) if e.kind() == ErrorKind::BufferTooSmall => {
                    let needed = usize::try_from(e.position().unwrap_or(0)).unwrap_or(usize::MAX);
                    if needed <= buffer.len() {
                        return Err(e);
                    }
                    if needed > args.max_batch_bytes {
                        let error = Error::new(
                            ErrorKind::TooLarge,
                            format!("the batch at offset {next} has {needed} bytes"),
                        );
                        return Err(with_advice(error, args));
                    }
                    buffer.resize(needed, 0);
                    continue;
                }
                Err(e) => {
                    next = passed_over(&e, args, log, next)?;
                    continue;
                }
                Ok(read) => read,
            };
            let mut batches = Batches::new(buffer.get(..read.bytes).unwrap_or_default());
            while let Some(batch) = batches.next_batch()? {
                batch.ensure_valid()?;
                if batch.header().is_v2() && batch.header().base_offset >= self.upto {
                    return Ok(());
                }
                self.out
                    .write_all(batch.bytes())
                    .map_err(|e| output_error(&e))?;
            }
            next = next.max(read.next_offset);
            if read.bytes == 0 {
                if !args.follow {
                    return Ok(());
                }
                self.flush()?;
                pause.wait();
                look()?;
            }
        }
        Ok(())
    }
}

/// Waits between two looks at a log.
struct Pause {
    wait: mpsc::Receiver<()>,
    _held: mpsc::Sender<()>,
}

impl Pause {
    fn new() -> Self {
        let (held, wait) = mpsc::channel();
        Self { wait, _held: held }
    }

    fn wait(&self) {
        // Nobody sends: it is the time that passes.
        let _ = self.wait.recv_timeout(FOLLOW_PAUSE);
    }
}

/// Where a follower goes on if retention was faster than it; the error if that is another one.
fn passed_over(error: &Error, args: &CatArgs, log: &Log, place: Offset) -> Result<Offset> {
    let start = log.start_offset();
    if args.follow && error.kind() == ErrorKind::OffsetOutOfRange && place < start {
        let partition = &args.log.partition;
        eprintln!("klog: {partition}: offsets {place}..{start} were deleted before they were read");
        return Ok(start);
    }
    Err(with_advice(error.clone(), args))
}

fn with_advice(error: Error, args: &CatArgs) -> Error {
    match error.kind() {
        ErrorKind::TooLarge => error.context(format!(
            "{}: raise --max-batch-bytes to read it",
            args.log.partition
        )),
        ErrorKind::OffsetOutOfRange => {
            error.context("nothing is there (any more); `klog ls` tells the offsets")
        }
        _ => error,
    }
}

impl CatArgs {
    fn isolation(&self) -> Isolation {
        if self.committed {
            Isolation::TxnCommitted
        } else {
            Isolation::LogEnd
        }
    }
}
