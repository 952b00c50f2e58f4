//! What can be typed behind `klog dump-log`. It is read as Kafka's option parser reads it (one dash or two, `=`, optional
//! arguments), so that command lines go on working; the table for clap is what help and completions are made of.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

use super::parser::{Coordinator, Decoder, Parser};

/// As clap shows it.
#[derive(Debug, clap::Args)]
#[allow(clippy::struct_excessive_bools, reason = "each is an option")]
pub(crate) struct Listed {
    /// The files, with commas between them: .log, .index, .timeindex, .snapshot, .txnindex, .checkpoint.
    #[arg(long, value_name = "FILE,...")]
    files: Option<OsString>,
    /// Print keys and values of records.
    #[arg(long)]
    print_data_log: bool,
    /// Print a line for each record too; so does whatever prints keys and values.
    #[arg(long)]
    deep_iteration: bool,
    /// Hold indexes against their log without printing them.
    #[arg(long)]
    verify_index_only: bool,
    /// Only make the check of indexes that a broker makes when it starts.
    #[arg(long)]
    index_sanity_check: bool,
    /// The largest batch that an index entry may lead to.
    #[arg(long, value_name = "BYTES", default_value_t = 5_242_880)]
    max_message_size: i32,
    /// Read so much of each log and no more.
    #[arg(long, value_name = "BYTES", default_value_t = i32::MAX)]
    max_bytes: i32,
    /// Print keys and values only, without offsets and the like; control records are left out too.
    #[arg(long)]
    skip_record_metadata: bool,
    /// How keys are read: StringDecoder, IntegerDecoder or LongDecoder of org.apache.kafka.tools.api.
    #[arg(long, value_name = "CLASS")]
    key_decoder_class: Option<String>,
    /// How values are read: as keys.
    #[arg(long, value_name = "CLASS")]
    value_decoder_class: Option<String>,
    /// Read records as those of __consumer_offsets.
    #[arg(long)]
    offsets_decoder: bool,
    /// Read records as those of __transaction_state.
    #[arg(long)]
    transaction_log_decoder: bool,
    /// Read records as those of __cluster_metadata.
    #[arg(long)]
    cluster_metadata_decoder: bool,
    /// Read records as those of __remote_log_metadata.
    #[arg(long)]
    remote_log_metadata_decoder: bool,
    /// Read records as those of __share_group_state.
    #[arg(long)]
    share_group_state_decoder: bool,
    /// Print the version of Kafka whose output this is.
    #[arg(long)]
    version: bool,
}

/// What is to be done.
pub(crate) enum Asked {
    Help,
    Version,
    Dump(Options),
}

/// What was asked for, where it matters.
#[allow(clippy::struct_excessive_bools, reason = "each is an option")]
pub(crate) struct Options {
    pub(crate) files: Vec<Vec<u8>>,
    pub(crate) prints_contents: bool,
    deep: bool,
    pub(crate) verifies_only: bool,
    pub(crate) checks_sanity: bool,
    pub(crate) max_message_size: i32,
    pub(crate) max_bytes: i32,
    pub(crate) skips_record_metadata: bool,
    pub(crate) parser: Parser,
}

impl Options {
    pub(crate) fn is_deep(&self) -> bool {
        self.deep || self.prints_contents
    }
}

/// Whether an option has an argument.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Argument {
    None,
    Optional,
    Required,
}

const OPTIONS: &[(&str, Argument)] = &[
    ("cluster-metadata-decoder", Argument::None),
    ("deep-iteration", Argument::None),
    ("files", Argument::Required),
    ("help", Argument::None),
    ("index-sanity-check", Argument::None),
    ("key-decoder-class", Argument::Optional),
    ("max-bytes", Argument::Required),
    ("max-message-size", Argument::Required),
    ("offsets-decoder", Argument::None),
    ("print-data-log", Argument::None),
    ("remote-log-metadata-decoder", Argument::None),
    ("share-group-state-decoder", Argument::None),
    ("skip-record-metadata", Argument::None),
    ("transaction-log-decoder", Argument::None),
    ("value-decoder-class", Argument::Optional),
    ("verify-index-only", Argument::None),
    ("version", Argument::None),
];

const DECODERS: &str = "org.apache.kafka.tools.api.";

/// The options that were typed, each with its argument.
struct Typed(Vec<(&'static str, Option<Vec<u8>>)>);

/// Reads the command line.
pub(crate) fn parse(args: impl Iterator<Item = OsString>) -> Result<Asked, String> {
    let typed = typed(args.map(OsString::into_vec).collect())?;
    if typed.has("help") {
        return Ok(Asked::Help);
    }
    if typed.has("version") {
        return Ok(Asked::Version);
    }
    let files = typed.one("files")?.ok_or("--files FILE,... is required")?;
    let parser = typed.parser()?;
    let decodes = [
        "print-data-log",
        "offsets-decoder",
        "transaction-log-decoder",
        "cluster-metadata-decoder",
        "remote-log-metadata-decoder",
        "value-decoder-class",
        "key-decoder-class",
        "share-group-state-decoder",
    ];
    Ok(Asked::Dump(Options {
        files: split(files),
        prints_contents: decodes.iter().any(|name| typed.has(name)),
        deep: typed.has("deep-iteration"),
        verifies_only: typed.has("verify-index-only"),
        checks_sanity: typed.has("index-sanity-check"),
        max_message_size: typed.number("max-message-size", 5_242_880)?,
        max_bytes: typed.number("max-bytes", i32::MAX)?,
        skips_record_metadata: typed.has("skip-record-metadata"),
        parser,
    }))
}

fn typed(args: Vec<Vec<u8>>) -> Result<Typed, String> {
    let mut found = Vec::new();
    let mut args = args.into_iter().peekable();
    while let Some(arg) = args.next() {
        let name = match arg.as_slice() {
            b"--" => break,
            b"-h" => b"help",
            [b'-', b'-', name @ ..] | [b'-', name @ ..] if !name.is_empty() => name,
            // Kafka's tool looks at no argument that belongs to no option.
            _ => continue,
        };
        let (name, value) = match name.iter().position(|&byte| byte == b'=') {
            Some(at) => (&name[..at], Some(name[at + 1..].to_vec())),
            None => (name, None),
        };
        let (name, argument) = recognize(name)
            .ok_or_else(|| format!("{} is not an option", String::from_utf8_lossy(&arg)))?;
        let value = match argument {
            Argument::None => None,
            Argument::Required => match value.filter(|value| !value.is_empty()) {
                Some(value) => Some(value),
                None => Some(
                    args.next()
                        .ok_or_else(|| format!("--{name} wants an argument"))?,
                ),
            },
            Argument::Optional => {
                value.or_else(|| args.next_if(|next| !next.starts_with(b"-") || next == b"-"))
            }
        };
        found.push((name, value));
    }
    Ok(Typed(found))
}

fn recognize(name: &[u8]) -> Option<(&'static str, Argument)> {
    let known = OPTIONS.iter().find(|(known, _)| known.as_bytes() == name);
    known.copied()
}

impl Typed {
    fn has(&self, name: &str) -> bool {
        self.0.iter().any(|(known, _)| *known == name)
    }

    fn one(&self, name: &str) -> Result<Option<&[u8]>, String> {
        let mut values = self.0.iter().filter(|(known, _)| *known == name);
        let first = values.next().and_then(|(_, value)| value.as_deref());
        if values.next().is_some() {
            return Err(format!("--{name} was given more than once"));
        }
        Ok(first)
    }

    fn number(&self, name: &str, default: i32) -> Result<i32, String> {
        let Some(text) = self.one(name)? else {
            return Ok(default);
        };
        let text = String::from_utf8_lossy(text);
        text.parse()
            .map_err(|_| format!("--{name} wants a number of 32 bits, not {text:?}"))
    }

    fn parser(&self) -> Result<Parser, String> {
        let named = [
            ("offsets-decoder", Parser::Coordinator(Coordinator::Group)),
            (
                "transaction-log-decoder",
                Parser::Coordinator(Coordinator::Transaction),
            ),
            ("cluster-metadata-decoder", Parser::ClusterMetadata),
            ("remote-log-metadata-decoder", Parser::RemoteLogMetadata),
            (
                "share-group-state-decoder",
                Parser::Coordinator(Coordinator::Share),
            ),
        ];
        for (name, parser) in named {
            if self.has(name) {
                return Ok(parser);
            }
        }
        Ok(Parser::Plain {
            key: self.decoder("key-decoder-class")?,
            value: self.decoder("value-decoder-class")?,
        })
    }

    fn decoder(&self, name: &str) -> Result<Decoder, String> {
        let Some(class) = self.one(name)? else {
            return Ok(Decoder::Text);
        };
        let class = String::from_utf8_lossy(class);
        match class.strip_prefix(DECODERS) {
            Some("StringDecoder") => Ok(Decoder::Text),
            Some("IntegerDecoder") => Ok(Decoder::Int),
            Some("LongDecoder") => Ok(Decoder::Long),
            _ => Err(format!(
                "--{name} {class}: klog runs no Java classes; it has {DECODERS}StringDecoder, IntegerDecoder and LongDecoder"
            )),
        }
    }
}

/// As Java splits at commas: nothing behind the last one is no file.
fn split(files: &[u8]) -> Vec<Vec<u8>> {
    let mut parts: Vec<Vec<u8>> = files
        .split(|&byte| byte == b',')
        .map(<[u8]>::to_vec)
        .collect();
    if !files.is_empty() {
        while parts.last().is_some_and(Vec::is_empty) {
            parts.pop();
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse_all(args: &[&str]) -> Result<Asked, String> {
        parse(args.iter().map(OsString::from))
    }

    fn options(args: &[&str]) -> Options {
        match parse_all(args) {
            Ok(Asked::Dump(options)) => options,
            Ok(_) => panic!("no dump"),
            Err(e) => panic!("{e}"),
        }
    }

    #[test]
    fn command_lines_for_kafka_are_understood() {
        let found = options(&[
            "--files",
            "a.log,b.index,,",
            "--print-data-log",
            "--max-bytes=17",
            "extra",
        ]);
        assert_eq!(found.files, [b"a.log".to_vec(), b"b.index".to_vec()]);
        assert!(found.prints_contents && found.is_deep() && !found.verifies_only);
        assert_eq!((found.max_bytes, found.max_message_size), (17, 5_242_880));
        let found = options(&["-files=a.log", "--value-decoder-class", "--deep-iteration"]);
        assert!(found.prints_contents);
    }

    #[test]
    fn wrong_usage_is_refused() {
        for args in [
            &["--deep-iteration"][..],
            &["--files"],
            &["--files", "a", "--files", "b"],
            &["--files", "a", "--max-b", "1"],
            &["--files", "a", "--max-bytes", "many"],
            &["--files", "a", "--nothing"],
            &["--files", "a", "--key-decoder-class", "org.example.Decoder"],
        ] {
            assert!(parse_all(args).is_err(), "{args:?}");
        }
    }

    #[test]
    fn clap_lists_what_is_understood() {
        use clap::Args;
        let listed = Listed::augment_args(clap::Command::new("dump-log").disable_help_flag(true));
        let mut names: Vec<&str> = listed
            .get_arguments()
            .filter_map(clap::Arg::get_long)
            .collect();
        names.push("help");
        names.sort_unstable();
        let known: Vec<&str> = OPTIONS.iter().map(|(name, _)| *name).collect();
        assert_eq!(names, known);
    }
}
