//! `klog append`: records of standard input, appended to one log.

use std::io::{BufRead, Read, Write};
use std::process::ExitCode;
use std::sync::Arc;

use klog::error::{Error, ErrorKind, Result};
use klog::format::batch::{Next, PREFIX_AND_MAGIC_BYTES, next_in_file};
use klog::format::builder::{BatchBuilder, BatchOptions};
use klog::format::codec::Codec;
use klog::log::{AppendOptions, Log, Origin};
use klog::manager::{CreateOptions, Manager, ManagerOptions};
use klog::types::{LeaderEpoch, Offset, TimestampMs};

use super::args::AppendArgs;
use super::records::{Format, Incoming};
use super::{Failure, config_args, output_error, tell};

/// The longest line that is read.
const LINE_BYTES_MAX: u64 = 16 << 20;

/// Appends what standard input has, and closes the directory in order.
pub(crate) fn append(args: &AppendArgs) -> std::result::Result<ExitCode, Failure> {
    let format = args.format.resolve().map_err(Failure::Usage)?;
    if let Format::Template(template) = &format {
        template.ensure_readable().map_err(Failure::Usage)?;
    }
    let config = config_args::resolve(&args.log.dir.config, Some(&args.log.partition))?;
    let manager = Manager::open(ManagerOptions::new(vec![args.log.dir.dir.clone()], config))?;
    let mut findings = manager.report().to_vec();
    findings.retain(|f| f.partition.as_ref() == Some(&args.log.partition));
    tell(&findings);
    let done = log_of(&manager, args).and_then(|log| {
        let mut input = std::io::stdin().lock();
        let mut writer = Writer::new(&log, args);
        let fed = match format {
            Format::Raw => writer.take_raw(&mut input),
            format => writer.take_lines(&mut input, &format),
        };
        match fed {
            Ok(()) => Ok(writer.done),
            // Whole batches before it are in the log.
            Err(e) => Err(e.context(writer.done.sentence())),
        }
    });
    let closed = manager.close();
    let done = done?;
    closed?;
    writeln!(std::io::stdout(), "{}", done.line()).map_err(|e| output_error(&e))?;
    Ok(ExitCode::SUCCESS)
}

fn log_of(manager: &Manager, args: &AppendArgs) -> Result<Arc<Log>> {
    if args.create {
        return manager.get_or_create_log(&args.log.partition, &CreateOptions::default());
    }
    manager.log(&args.log.partition).map_err(|e| {
        if e.kind() == ErrorKind::UnknownTopicOrPartition {
            e.context("--create makes it")
        } else {
            e
        }
    })
}

/// What was appended so far.
#[derive(Clone, Copy, Default)]
struct Done {
    records: u64,
    batches: u64,
    range: Option<(Offset, Offset)>,
}

impl Done {
    fn line(self) -> String {
        let (records, batches) = (self.records, self.batches);
        match self.range {
            Some((first, last)) => {
                format!("appended records={records} batches={batches} first={first} last={last}")
            }
            None => format!("appended records={records} batches={batches} first=- last=-"),
        }
    }

    fn sentence(self) -> String {
        match self.range {
            Some((first, last)) => {
                format!("after {} records, offsets {first}..{last}", self.records)
            }
            None => "nothing was appended".to_owned(),
        }
    }
}

/// Collects records into batches and appends them.
struct Writer<'a> {
    log: &'a Log,
    args: &'a AppendArgs,
    builder: BatchBuilder,
    /// Of the batch that is collected.
    batch: Option<Batch>,
    last_offset: i64,
    done: Done,
}

/// What the records of a batch have to share.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Batch {
    base_offset: i64,
    codec: Option<Codec>,
    leader_epoch: LeaderEpoch,
    append_time: Option<TimestampMs>,
}

impl<'a> Writer<'a> {
    fn new(log: &'a Log, args: &'a AppendArgs) -> Self {
        Self {
            log,
            args,
            builder: BatchBuilder::new(),
            batch: None,
            last_offset: -1,
            done: Done::default(),
        }
    }

    fn take_lines(&mut self, input: &mut impl BufRead, format: &Format) -> Result<()> {
        let mut line = Vec::new();
        let mut number = 0_u64;
        loop {
            line.clear();
            number += 1;
            let read = input
                .take(LINE_BYTES_MAX + 1)
                .read_until(b'\n', &mut line)
                .map_err(|e| input_error(&e))?;
            if read == 0 {
                return self.flush();
            }
            if line.len() as u64 > LINE_BYTES_MAX {
                return Err(Error::new(
                    ErrorKind::TooLarge,
                    format!(
                        "line {number} is longer than {LINE_BYTES_MAX} bytes; --format raw takes such records"
                    ),
                ));
            }
            if line.last() == Some(&b'\n') {
                line.pop();
            }
            format
                .read(&line)
                .and_then(|record| self.add(&record))
                .map_err(|e| e.context(format_args!("line {number} of standard input")))?;
        }
    }

    fn add(&mut self, record: &Incoming) -> Result<()> {
        let keep = self.args.keep_offsets;
        let offset = match (record.offset, keep) {
            (Some(offset), true) => offset,
            (None, true) => {
                return Err(Error::invalid_argument(
                    "--keep-offsets needs an offset in each record",
                ));
            }
            (_, false) => 0,
        };
        let timestamp = TimestampMs(record.timestamp.unwrap_or_else(|| self.log.now().0));
        let wanted = Batch {
            base_offset: offset,
            codec: self.args.codec.map(Into::into).or(record.codec),
            // Records of old formats have none: they are the first leader's.
            leader_epoch: if keep {
                record.leader_epoch.max(LeaderEpoch(0))
            } else {
                LeaderEpoch::NONE
            },
            append_time: (keep && record.is_append_time).then_some(timestamp),
        };
        let fits = self.batch.is_some_and(|batch| {
            let delta = offset.checked_sub(batch.base_offset);
            let is_near = !keep || delta.is_some_and(|delta| i32::try_from(delta).is_ok());
            let room = self
                .args
                .batch_bytes
                .saturating_sub(self.builder.uncompressed_bytes());
            is_near
                && record.bytes() <= room
                && Batch {
                    base_offset: 0,
                    ..batch
                } == Batch {
                    base_offset: 0,
                    ..wanted
                }
        });
        if !fits {
            self.flush()?;
            self.batch = Some(wanted);
        }
        let (key, value) = (record.key.as_deref(), record.value.as_deref());
        if keep {
            if offset <= self.last_offset {
                return Err(Error::invalid_argument(format!(
                    "the offset {offset} is not above {} of the record before",
                    self.last_offset
                )));
            }
            self.last_offset = offset;
            let base = self.batch.map_or(offset, |batch| batch.base_offset);
            let delta = i32::try_from(offset - base).unwrap_or(i32::MAX);
            self.builder
                .push_at(delta, timestamp, key, value, record.headers())
        } else {
            self.builder.push(timestamp, key, value, record.headers())
        }
    }

    fn flush(&mut self) -> Result<()> {
        let Some(batch) = self.batch.take() else {
            return Ok(());
        };
        let records = u64::try_from(self.builder.record_count()).unwrap_or(0);
        let appended = if self.args.keep_offsets {
            let bytes = self.builder.finish(&BatchOptions {
                base_offset: Offset(batch.base_offset),
                leader_epoch: batch.leader_epoch,
                codec: batch.codec.unwrap_or(Codec::None),
                log_append_time: batch.append_time,
                ..BatchOptions::default()
            })?;
            self.log.append_batches(bytes, &follower())?
        } else {
            let options = AppendOptions {
                codec: batch.codec,
                ..AppendOptions::default()
            };
            self.log.append(&mut self.builder, &options)?
        };
        self.builder.clear();
        self.count(records, appended.first_offset, appended.last_offset);
        Ok(())
    }

    fn take_raw(&mut self, input: &mut impl Read) -> Result<()> {
        let mut bytes = Vec::new();
        let mut position = 0_u64;
        loop {
            bytes.clear();
            let read = input
                .take(PREFIX_AND_MAGIC_BYTES as u64)
                .read_to_end(&mut bytes)
                .map_err(|e| input_error(&e))?;
            if read == 0 {
                return Ok(());
            }
            let at = |e: Error| e.context(format_args!("byte {position} of standard input"));
            let cut_off = || at(Error::corrupt("the input ends inside a batch"));
            let prefix = bytes
                .first_chunk::<PREFIX_AND_MAGIC_BYTES>()
                .ok_or_else(cut_off)?;
            let Next::Batch(size) = next_in_file(prefix, u64::MAX).map_err(at)? else {
                return Err(cut_off());
            };
            if size as usize > self.args.max_batch_bytes {
                return Err(at(Error::new(
                    ErrorKind::TooLarge,
                    format!("a batch of {size} bytes; raise --max-batch-bytes to take it"),
                )));
            }
            input
                .take(u64::from(size) - read as u64)
                .read_to_end(&mut bytes)
                .map_err(|e| input_error(&e))?;
            if bytes.len() < size as usize {
                return Err(cut_off());
            }
            let appended = self.log.append_batches(&bytes, &follower()).map_err(at)?;
            self.count(
                u64::from(appended.records),
                appended.first_offset,
                appended.last_offset,
            );
            position += u64::from(size);
        }
    }

    fn count(&mut self, records: u64, first: Offset, last: Offset) {
        self.done.records += records;
        self.done.batches += 1;
        let first = self.done.range.map_or(first, |(first, _)| first);
        self.done.range = Some((first, last));
    }
}

/// Batches that bring their offsets are taken as those of a leader.
fn follower() -> AppendOptions {
    AppendOptions {
        origin: Origin::Replication,
        ..AppendOptions::default()
    }
}

fn input_error(error: &std::io::Error) -> Error {
    Error::new(
        ErrorKind::KafkaStorage,
        format!("cannot read standard input: {error}"),
    )
}
