//! What can be typed.

use std::path::PathBuf;

use clap::{CommandFactory, Parser, Subcommand};
use klog::format::codec::Codec;
use klog::format::names::parse_topic_partition;
use klog::types::TopicPartition;

use super::manual;
use super::records::{Format, Template};

/// Look at Kafka data directories, verify, repair, copy, clean and recover them, hand logs over.
///
/// Opens the data directories of an Apache Kafka broker without a broker and without a JVM. All commands but retain, clean,
/// append, repair, copy, adopt and recover leave it as it is and take no lock: a broker may be running on it.
///
/// Standard output carries the stated lines and nothing else; what is for a person goes to standard error.
#[derive(Debug, Parser)]
#[command(
    name = "klog",
    version,
    max_term_width = 100,
    after_long_help = manual::KLOG
)]
pub(crate) struct Args {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The subcommands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// List the logs, a line each. Changes nothing; the directory may be a live broker's.
    #[command(after_long_help = manual::LS)]
    Ls(DirArgs),
    /// Print what a load would leave, as canonical text. Changes nothing; the directory may be a live broker's.
    #[command(after_long_help = manual::DUMP)]
    Dump {
        /// Where and how.
        #[command(flatten)]
        dir: DirArgs,
        /// Only this log.
        #[arg(value_name = "TOPIC-PARTITION", value_parser = parse_partition)]
        partition: Option<TopicPartition>,
    },
    /// Print files as kafka-dump-log.sh of Kafka 4.4.0 prints them, with its options. Changes nothing.
    ///
    /// Byte for byte: .log, .index, .timeindex, .snapshot, .txnindex and .checkpoint. Where Kafka's tool ends with an exception,
    /// standard error has its first line and the exit status is 1. Java classes are not run: as decoders of keys and values
    /// there are StringDecoder, IntegerDecoder and LongDecoder of org.apache.kafka.tools.api.
    #[command(name = "dump-log", after_long_help = manual::DUMP_LOG)]
    DumpLog(crate::dump_log::options::Listed),
    /// Look offsets up by time: a `time` line for each timestamp, in the order given. Changes nothing.
    #[command(after_long_help = manual::OFFSETS)]
    Offsets {
        /// Which log.
        #[command(flatten)]
        log: LogArgs,
        /// Milliseconds since 1970; or -1 latest, -2 earliest, -3 the largest timestamp, -4 earliest.
        #[arg(
            long = "timestamp",
            value_name = "T",
            required = true,
            allow_negative_numbers = true
        )]
        timestamps: Vec<i64>,
    },
    /// Print the last stable offset, every aborted transaction and every open one; of one log or of all. Changes nothing.
    ///
    /// The time of an open one is when its producer wrote last. Of all logs, each line has the log's name in front.
    #[command(after_long_help = manual::TRANSACTIONS)]
    Transactions(TransactionsArgs),
    /// Print what is known of each producer. Changes nothing.
    #[command(after_long_help = manual::PRODUCERS)]
    Producers(LogArgs),
    /// Delete what has expired of each log whose configuration was given, and close the directory in order.
    #[command(after_long_help = manual::RETAIN)]
    Retain {
        /// Where and how.
        #[command(flatten)]
        dir: DirArgs,
        /// Only this log.
        #[arg(value_name = "TOPIC-PARTITION", value_parser = parse_partition)]
        partition: Option<TopicPartition>,
        /// What time it is, in ms since 1970; the machine's clock without it.
        #[arg(long = "now-ms", value_name = "MS", allow_negative_numbers = true)]
        now_ms: Option<i64>,
        /// Only say what would go. Changes nothing; the directory may be a live broker's.
        #[arg(long)]
        dry_run: bool,
    },
    /// Compact each log whose configuration was given and that is dirty enough, and close the directory in order.
    ///
    /// Prints a line for each pass. A log that is named is cleaned whatever share of it is dirty; its configuration must have
    /// compact in cleanup.policy.
    #[command(after_long_help = manual::CLEAN)]
    Clean {
        /// Where and how.
        #[command(flatten)]
        dir: DirArgs,
        /// Only this log, in one pass.
        #[arg(value_name = "TOPIC-PARTITION", value_parser = parse_partition)]
        partition: Option<TopicPartition>,
        /// How it is cleaned.
        #[command(flatten)]
        clean: CleanArgs,
    },
    /// Hand a log that klog wrote in a directory of its own to a broker, which is stopped and has its topic.
    ///
    /// The broker's log of that partition must be empty; a copy takes its place, under the broker's topic id and the
    /// leader epoch 0. Producers that wrote it are forgotten: the broker gives their ids to others. SRC keeps its log.
    #[command(after_long_help = manual::ADOPT)]
    Adopt {
        /// The directory that has the log.
        #[arg(value_name = "SRC")]
        source: PathBuf,
        /// Where it goes, and how both directories are read.
        #[command(flatten)]
        broker: BrokerArgs,
        /// The log, by its name in both.
        #[arg(value_name = "TOPIC-PARTITION", value_parser = parse_partition)]
        partition: TopicPartition,
    },
    /// Load every log for real, as a broker does after a crash, and close the directory in order.
    #[command(after_long_help = manual::RECOVER)]
    Recover(DirArgs),
    /// Print the records of a log. Changes nothing; the directory may be a live broker's.
    ///
    /// As text with a tab between offset, timestamp, key, value and headers, as JSON lines, by a template, or as the batches are
    /// stored.
    #[command(after_long_help = manual::CAT)]
    Cat(CatArgs),
    /// Append records of standard input to a log, in the formats that `cat` prints, and close the directory in order.
    #[command(after_long_help = manual::APPEND)]
    Append(AppendArgs),
    /// Look for damage in every file: what, where, what it costs, what would mend it. Changes nothing; 1 if there is any.
    ///
    /// Files are looked at as they lie; each finding has its file and its position. A note is odd and loses nothing.
    #[command(after_long_help = manual::VERIFY)]
    Verify(VerifyArgs),
    /// Say what recovery would do about damage; --apply does it and keeps what it cuts.
    ///
    /// Damaged logs are recovered from their first byte on: each is cut behind its last good batch, and what is made from the
    /// log is made anew. All bytes that go are copied first into a folder outside of DIR.
    #[command(after_long_help = manual::REPAIR)]
    Repair(RepairArgs),
    /// Copy logs into another directory, also a live broker's: a prefix of each, verified, closed in order.
    ///
    /// What DST holds already does not travel again: copy once more to bring it up to date.
    #[command(after_long_help = manual::COPY)]
    Copy(CopyArgs),
    /// Print what logs are made of, and why they are not cleaned or deleted. Changes nothing.
    ///
    /// Batches, records and bytes, by codec and by day, tombstones, about how many keys there are; what a pass of the cleaner
    /// would save and what retention would delete, or which key of the configuration and which offset hold them back.
    #[command(after_long_help = manual::STAT)]
    Stat(StatArgs),
    /// Write what `stat` tells as one page of HTML with plots, readable without a network. Changes nothing in DIR.
    ///
    /// The page has everything in it: no scripts, no fonts, nothing that is loaded. Of many logs it shows the largest and sums
    /// of the others; name a log for a page of its own.
    #[command(after_long_help = manual::REPORT)]
    Report(ReportArgs),
    /// Print what a shell needs to complete the commands and options.
    #[command(after_long_help = manual::COMPLETIONS)]
    Completions {
        /// The shell.
        #[arg(value_name = "SHELL")]
        shell: clap_complete::Shell,
    },
    /// Print a page of the manual, in the language of man, or write all of them.
    #[command(after_long_help = manual::MAN)]
    Man {
        /// The command whose page is printed; without it that of klog.
        #[arg(value_name = "COMMAND", conflicts_with = "out")]
        command: Option<String>,
        /// Write all pages into this directory: klog.1, and klog-COMMAND.1 for each command.
        #[arg(long, value_name = "DIR")]
        out: Option<PathBuf>,
    },
}

/// Prints the help of a subcommand.
pub(crate) fn print_help_of(name: &str) {
    let mut all = Args::command();
    all.build();
    if let Some(command) = all.find_subcommand_mut(name) {
        let _ = command.print_long_help();
    }
}

/// How logs are cleaned.
#[derive(Debug, clap::Args)]
pub(crate) struct CleanArgs {
    /// Where the dirty part of the log begins; where its checkpoint says without it.
    #[arg(
        long,
        value_name = "N",
        requires = "partition",
        allow_negative_numbers = true
    )]
    pub(crate) first_dirty_offset: Option<i64>,
    /// What time it is, in ms since 1970; the machine's clock without it.
    #[arg(long = "now-ms", value_name = "MS", allow_negative_numbers = true)]
    pub(crate) now_ms: Option<i64>,
    /// Memory of the map from key to last offset, 24 bytes a key and some; a cleaner thread's share of
    /// log.cleaner.dedupe.buffer.size without it.
    #[arg(long, value_name = "N")]
    pub(crate) map_bytes: Option<u64>,
    /// The largest batch that is cleaned, and the most of a compressed one that is held; a log with a larger one is left as it is.
    #[arg(long, value_name = "N", default_value_t = 16 << 20)]
    pub(crate) max_batch_bytes: usize,
    /// Begin a new active segment first: the active one is never cleaned.
    #[arg(long, requires = "partition")]
    pub(crate) roll: bool,
    /// Only say what a pass would do. Changes nothing; the directory may be a live broker's.
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// A directory and how it is read.
#[derive(Debug, clap::Args)]
pub(crate) struct DirArgs {
    /// The log directory.
    #[arg(value_name = "DIR")]
    pub(crate) dir: PathBuf,
    /// The configuration.
    #[command(flatten)]
    pub(crate) config: ConfigArgs,
}

/// The directory of a broker.
#[derive(Debug, clap::Args)]
pub(crate) struct BrokerArgs {
    /// The broker's log directory.
    #[arg(value_name = "BROKER-DIR")]
    pub(crate) dir: PathBuf,
    /// The configuration.
    #[command(flatten)]
    pub(crate) config: ConfigArgs,
}

/// One log of a directory.
#[derive(Debug, clap::Args)]
pub(crate) struct LogArgs {
    /// The directory and how it is read.
    #[command(flatten)]
    pub(crate) dir: DirArgs,
    /// The log.
    #[arg(value_name = "TOPIC-PARTITION", value_parser = parse_partition)]
    pub(crate) partition: TopicPartition,
}

/// Configuration by Kafka's keys.
#[derive(Debug, clap::Args)]
pub(crate) struct ConfigArgs {
    /// A broker key; a topic key for the log that is named; or a topic key for TOPIC.
    #[arg(long = "config", value_name = "[TOPIC:]KEY=VALUE")]
    pub(crate) pairs: Vec<String>,
    /// A file as a broker's server.properties, with `topic.NAME.KEY` lines for topics.
    #[arg(long, value_name = "FILE")]
    pub(crate) properties: Vec<PathBuf>,
}

/// What is printed of a log.
#[derive(Debug, clap::Args)]
pub(crate) struct CatArgs {
    /// Which log.
    #[command(flatten)]
    pub(crate) log: LogArgs,
    /// Where to begin: an offset, `start`, `end`, `-N` for N before the end, `@TIME` for a time in ms since 1970 or as in
    /// 2026-01-31T12:00:00Z.
    #[arg(long, value_name = "PLACE", default_value = "start", value_parser = parse_place, allow_hyphen_values = true)]
    pub(crate) from: Place,
    /// Where to stop, before that offset; the end without it.
    #[arg(long, value_name = "PLACE", value_parser = parse_place, allow_hyphen_values = true)]
    pub(crate) to: Option<Place>,
    /// Print so many records and stop.
    #[arg(long, short = 'n', value_name = "N")]
    pub(crate) count: Option<u64>,
    /// Only records with this key.
    #[arg(long, value_name = "TEXT")]
    pub(crate) key: Option<String>,
    /// Only records whose key begins so.
    #[arg(long, value_name = "TEXT")]
    pub(crate) key_prefix: Option<String>,
    /// Only records with this header; given more than once, with each of them.
    #[arg(long = "header", value_name = "NAME[=VALUE]")]
    pub(crate) headers: Vec<String>,
    /// Pass over records of transactions that were aborted, and stop where one is open. Raw batches are given as to a
    /// consumer, which leaves aborted ones out itself.
    #[arg(long)]
    pub(crate) committed: bool,
    /// At the end wait for more, until interrupted.
    #[arg(long, short = 'f')]
    pub(crate) follow: bool,
    /// How records are written.
    #[command(flatten)]
    pub(crate) format: FormatArgs,
    /// The largest batch that is read, and the largest record of a compressed one.
    #[arg(long, value_name = "N", default_value_t = 16 << 20)]
    pub(crate) max_batch_bytes: usize,
}

/// What is appended, and how.
#[derive(Debug, clap::Args)]
pub(crate) struct AppendArgs {
    /// Which log.
    #[command(flatten)]
    pub(crate) log: LogArgs,
    /// How the records are written.
    #[command(flatten)]
    pub(crate) format: FormatArgs,
    /// Make the log if it is not there.
    #[arg(long)]
    pub(crate) create: bool,
    /// Give each record the offset that its line says, as a follower does; raw batches always keep theirs.
    #[arg(long)]
    pub(crate) keep_offsets: bool,
    /// Compress with this codec; without it as the line says, or as the topic's compression.type does.
    #[arg(long, value_name = "CODEC")]
    pub(crate) codec: Option<CodecName>,
    /// Bytes of a batch before it is compressed; a larger record gets one of its own.
    #[arg(long, value_name = "N", default_value_t = 16384)]
    pub(crate) batch_bytes: usize,
    /// The largest raw batch that is taken.
    #[arg(long, value_name = "N", default_value_t = 16 << 20)]
    pub(crate) max_batch_bytes: usize,
}

/// Which transactions are told.
#[derive(Debug, clap::Args)]
pub(crate) struct TransactionsArgs {
    /// The directory and how it is read.
    #[command(flatten)]
    pub(crate) dir: DirArgs,
    /// The log; without it every log, with its name in front of each line.
    #[arg(value_name = "TOPIC-PARTITION", value_parser = parse_partition)]
    pub(crate) partition: Option<TopicPartition>,
    /// Only open transactions whose producer has written nothing for a while.
    #[arg(long)]
    pub(crate) hanging: bool,
    /// How long a while is, as in 90s or 2h; 15m without it.
    #[arg(long, value_name = "D", requires = "hanging", value_parser = humantime::parse_duration)]
    pub(crate) older_than: Option<std::time::Duration>,
    /// What time it is, in ms since 1970; the machine's clock without it.
    #[arg(long = "now-ms", value_name = "MS", allow_negative_numbers = true)]
    pub(crate) now_ms: Option<i64>,
}

/// What is copied where.
#[derive(Debug, clap::Args)]
pub(crate) struct CopyArgs {
    /// The directory to copy from.
    #[arg(value_name = "SRC")]
    pub(crate) source: PathBuf,
    /// The directory to copy to; made if it is not there.
    #[arg(value_name = "DST")]
    pub(crate) target: PathBuf,
    /// Only these logs.
    #[arg(value_name = "TOPIC-PARTITION", value_parser = parse_partition)]
    pub(crate) partitions: Vec<TopicPartition>,
    /// The configuration.
    #[command(flatten)]
    pub(crate) config: ConfigArgs,
}

/// What is told of logs.
#[derive(Debug, clap::Args)]
pub(crate) struct StatArgs {
    /// The directory and how it is read.
    #[command(flatten)]
    pub(crate) dir: DirArgs,
    /// Only this log.
    #[arg(value_name = "TOPIC-PARTITION", value_parser = parse_partition)]
    pub(crate) partition: Option<TopicPartition>,
    /// Print one JSON object.
    #[arg(long)]
    pub(crate) json: bool,
    /// What time it is, in ms since 1970; the machine's clock without it.
    #[arg(long = "now-ms", value_name = "MS", allow_negative_numbers = true)]
    pub(crate) now_ms: Option<i64>,
}

/// What is told on a page.
#[derive(Debug, clap::Args)]
pub(crate) struct ReportArgs {
    /// The directory and how it is read.
    #[command(flatten)]
    pub(crate) dir: DirArgs,
    /// Only this log.
    #[arg(value_name = "TOPIC-PARTITION", value_parser = parse_partition)]
    pub(crate) partition: Option<TopicPartition>,
    /// Where the page goes; `-` is standard output. A file of that name is replaced once the page is complete. It may not
    /// lie inside of a directory of logs.
    #[arg(long, short = 'o', value_name = "FILE")]
    pub(crate) output: PathBuf,
    /// List what `klog verify` finds, too. All is read once more for it.
    #[arg(long)]
    pub(crate) verify: bool,
    /// What time it is, in ms since 1970; the machine's clock without it. The same directory gives the same page at the same
    /// time.
    #[arg(long = "now-ms", value_name = "MS", allow_negative_numbers = true)]
    pub(crate) now_ms: Option<i64>,
}

/// What is verified.
#[derive(Debug, clap::Args)]
pub(crate) struct VerifyArgs {
    /// The log directory.
    #[arg(value_name = "DIR")]
    pub(crate) dir: PathBuf,
    /// Only this log.
    #[arg(value_name = "TOPIC-PARTITION", value_parser = parse_partition)]
    pub(crate) partition: Option<TopicPartition>,
    /// Print one JSON object.
    #[arg(long)]
    pub(crate) json: bool,
}

/// What is repaired.
#[derive(Debug, clap::Args)]
pub(crate) struct RepairArgs {
    /// The directory and how it is read.
    #[command(flatten)]
    pub(crate) dir: DirArgs,
    /// Do it. The directory's broker has to be stopped.
    #[arg(long)]
    pub(crate) apply: bool,
    /// The folder for what is cut; not inside of DIR. DIR.quarantine-TIME without it.
    #[arg(long, value_name = "PATH")]
    pub(crate) quarantine: Option<PathBuf>,
}

/// How records are written or read.
#[derive(Debug, clap::Args)]
pub(crate) struct FormatArgs {
    /// The format.
    #[arg(
        long,
        value_name = "FORMAT",
        default_value = "text",
        conflicts_with = "template"
    )]
    format: FormatName,
    /// A line for each record: %k key, %v value, %h headers (escaped); %K %V as they are; %o offset, %T timestamp.
    #[arg(long, value_name = "TEMPLATE")]
    template: Option<String>,
}

impl FormatArgs {
    /// The format that is meant.
    pub(crate) fn resolve(&self) -> klog::Result<Format> {
        if let Some(template) = &self.template {
            return Template::parse(template).map(Format::Template);
        }
        Ok(match self.format {
            FormatName::Text => Format::Text,
            FormatName::Json => Format::Json,
            FormatName::Raw => Format::Raw,
        })
    }
}

/// Names of formats.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum FormatName {
    /// `offset TAB timestamp TAB key TAB value [TAB headers]`; control characters and what is no UTF-8 as \xNN, null as \N.
    Text,
    /// A JSON object a line; bytes that are no UTF-8 as base64 under the name with _base64.
    Json,
    /// The batches as they are stored.
    Raw,
}

/// Names of codecs.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub(crate) enum CodecName {
    /// Not compressed.
    None,
    /// gzip.
    Gzip,
    /// snappy.
    Snappy,
    /// LZ4.
    Lz4,
    /// Zstandard.
    Zstd,
}

impl From<CodecName> for Codec {
    fn from(name: CodecName) -> Self {
        match name {
            CodecName::None => Self::None,
            CodecName::Gzip => Self::Gzip,
            CodecName::Snappy => Self::Snappy,
            CodecName::Lz4 => Self::Lz4,
            CodecName::Zstd => Self::Zstd,
        }
    }
}

/// A place in a log.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Place {
    /// The first record.
    Start,
    /// Behind the last one.
    End,
    /// An offset.
    Offset(i64),
    /// So many offsets before the end.
    BeforeEnd(i64),
    /// The first record at or after a time, in ms since 1970.
    Time(i64),
}

fn parse_place(text: &str) -> Result<Place, String> {
    let expected = || {
        format!(
            "{text:?}: expected an offset, start, end, -N, or @TIME in ms since 1970 or as 2026-01-31T12:00:00Z"
        )
    };
    match text {
        "start" => return Ok(Place::Start),
        "end" => return Ok(Place::End),
        _ => {}
    }
    if let Some(time) = text.strip_prefix('@') {
        return parse_time(time).map(Place::Time).ok_or_else(expected);
    }
    let (is_before_end, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text),
    };
    let number = digits
        .parse()
        .ok()
        .filter(|n: &i64| *n >= 0 && !digits.starts_with('+'));
    let place = if is_before_end {
        Place::BeforeEnd
    } else {
        Place::Offset
    };
    number.map(place).ok_or_else(expected)
}

/// Milliseconds since 1970 of a number, or of a time in UTC.
fn parse_time(text: &str) -> Option<i64> {
    if let Ok(ms) = text.parse() {
        return Some(ms);
    }
    let time = humantime::parse_rfc3339_weak(text).ok()?;
    let since = time.duration_since(std::time::UNIX_EPOCH).ok()?;
    i64::try_from(since.as_millis()).ok()
}

fn parse_partition(text: &str) -> Result<TopicPartition, String> {
    parse_topic_partition(text)
        .ok_or_else(|| format!("{text:?} is not of the form TOPIC-PARTITION, as in orders-0"))
}
