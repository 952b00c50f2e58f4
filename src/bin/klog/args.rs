//! What can be typed.

use std::path::PathBuf;

use clap::{CommandFactory, Parser, Subcommand};
use klog::format::names::parse_topic_partition;
use klog::types::TopicPartition;

/// Looks at Kafka data directories, and recovers them.
#[derive(Debug, Parser)]
#[command(name = "klog", version, max_term_width = 100)]
pub(crate) struct Args {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The subcommands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// List the logs, a line each. Changes nothing; the directory may be a live broker's.
    Ls(DirArgs),
    /// Print what a load would leave, as canonical text. Changes nothing; the directory may be a live broker's.
    Dump {
        /// Where and how.
        #[command(flatten)]
        dir: DirArgs,
        /// Only this log.
        #[arg(value_name = "TOPIC-PARTITION", value_parser = parse_partition)]
        partition: Option<TopicPartition>,
    },
    /// Print files as kafka-dump-log.sh of Kafka 4.4.0 prints them, with its options. Changes nothing.
    #[command(name = "dump-log")]
    DumpLog(crate::dump_log::options::Listed),
    /// Look offsets up by time: a `time` line for each timestamp, in the order given. Changes nothing.
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
    /// Print the last stable offset and every aborted transaction. Changes nothing.
    Transactions(LogArgs),
    /// Print what is known of each producer. Changes nothing.
    Producers(LogArgs),
    /// Delete what has expired of each log whose configuration was given, and close the directory in order.
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
    Recover(DirArgs),
}

/// Prints the help of a subcommand.
pub(crate) fn print_help_of(name: &str) {
    let mut all = Args::command();
    all.build();
    if let Some(command) = all.find_subcommand_mut(name) {
        let _ = command.print_help();
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

fn parse_partition(text: &str) -> Result<TopicPartition, String> {
    parse_topic_partition(text)
        .ok_or_else(|| format!("{text:?} is not of the form TOPIC-PARTITION, as in orders-0"))
}
