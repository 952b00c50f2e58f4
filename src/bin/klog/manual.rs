//! `klog man`: pages of the manual, made from the same definitions as the commands.
//!
//! What the definitions of options cannot say (examples, exit statuses, what else to read) is the text behind the long help. A
//! line that ends with a colon begins a section of the page, and what is indented stays as it is.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Command, CommandFactory};
use clap_mangen::Man;
use clap_mangen::roff::{Roff, roman};
use klog::error::Error;
use klog::io::{FileSystem, OpenMode, RealFs, create_dir_all};

use crate::args::Args;
use crate::{Failure, output_error};

pub(crate) const KLOG: &str = "\
Exit status:
  0  Done.
  1  An error, or damage that was found; standard error says what, where, and what to do.
  2  Wrong usage.

Examples:
  klog ls /var/lib/kafka/data
  klog stat /var/lib/kafka/data orders-0 --config cleanup.policy=compact
  klog report /var/lib/kafka/data -o kafka.html
  klog verify /var/lib/kafka/data
  klog offsets /var/lib/kafka/data orders-0 --timestamp=1700000000000
  klog retain --config orders:retention.ms=86400000 --dry-run /var/lib/kafka/data

See also:
  Each command has a page of its own, as klog-cat(1).
  The header klog.h is the manual of the library;
  `pkg-config --cflags --libs klog` tells a compiler where it is.";

pub(crate) const LS: &str = "\
Output:
  TOPIC-PARTITION start=S end=E segments=N bytes=B dir=PATH

Examples:
  klog ls /var/lib/kafka/data";

pub(crate) const DUMP: &str = "\
Examples:
  klog dump /var/lib/kafka/data
  klog dump /var/lib/kafka/data orders-0";

pub(crate) const DUMP_LOG: &str = "\
Examples:
  klog dump-log --print-data-log --files data/orders-0/00000000000000000000.log
  klog dump-log --offsets-decoder --files data/__consumer_offsets-7/00000000000000000000.log
  klog dump-log --verify-index-only --files data/orders-0/00000000000000000000.index";

pub(crate) const OFFSETS: &str = "\
Examples:
  klog offsets /var/lib/kafka/data orders-0 --timestamp=1700000000000
  klog offsets /var/lib/kafka/data orders-0 --timestamp=-1 --timestamp=-2";

pub(crate) const TRANSACTIONS: &str = "\
Output:
  of an open one: open producer=P first=F ts=T age_ms=A

Examples:
  klog transactions /var/lib/kafka/data payments-0
  klog transactions /var/lib/kafka/data --hanging --older-than 15m";

pub(crate) const PRODUCERS: &str = "\
Examples:
  klog producers /var/lib/kafka/data orders-0";

pub(crate) const RETAIN: &str = "\
Output:
  retained TOPIC-PARTITION deleted=SEGMENTS start=S end=E

Examples:
  klog retain --config orders:retention.ms=86400000 --dry-run /var/lib/kafka/data
  klog retain --properties server.properties /var/lib/kafka/data";

pub(crate) const CLEAN: &str = "\
Examples:
  klog clean /var/lib/kafka/data users-0 --config cleanup.policy=compact --dry-run
  klog clean /var/lib/kafka/data --config users:cleanup.policy=compact";

pub(crate) const ADOPT: &str = "\
Examples:
  klog adopt recorded /var/lib/kafka/data orders-0";

pub(crate) const RECOVER: &str = "\
Examples:
  klog recover /var/lib/kafka/data";

pub(crate) const CAT: &str = "\
Examples:
  klog cat /var/lib/kafka/data orders-0 --from -10
  klog cat /var/lib/kafka/data orders-0 --from @2026-01-31T12:00:00Z --format json
  klog cat /var/lib/kafka/data orders-0 --template '%k %v'
  klog cat /var/lib/kafka/data orders-0 --from end --follow";

pub(crate) const APPEND: &str = "\
Examples:
  printf 'order-7\\tpaid\\n' | klog append data orders-0 --create --template '%k %v'
  klog cat a orders-0 --format json | klog append b orders-0 --create --format json
  klog cat a orders-0 --format raw | klog append b orders-0 --create --format raw";

pub(crate) const VERIFY: &str = "\
Exit status:
  0  Nothing is damaged.
  1  Something is damaged, or could not be read.
  2  Wrong usage.

Examples:
  klog verify /var/lib/kafka/data
  klog verify /var/lib/kafka/data orders-0 --json";

pub(crate) const REPAIR: &str = "\
Examples:
  klog repair /var/lib/kafka/data
  klog repair /var/lib/kafka/data --apply --quarantine /var/tmp/cut";

pub(crate) const COPY: &str = "\
Examples:
  klog copy /var/lib/kafka/data /mnt/copy
  klog copy /var/lib/kafka/data /mnt/copy orders-0 orders-1";

pub(crate) const STAT: &str = "\
Examples:
  klog stat /var/lib/kafka/data
  klog stat /var/lib/kafka/data orders-0 --config cleanup.policy=compact
  klog stat /var/lib/kafka/data --properties server.properties --json";

pub(crate) const REPORT: &str = "\
Examples:
  klog report /var/lib/kafka/data -o kafka.html
  klog report /var/lib/kafka/data --properties server.properties --verify -o kafka.html
  klog report /var/lib/kafka/data orders-0 --config retention.ms=86400000 -o orders-0.html";

pub(crate) const COMPLETIONS: &str = "\
Examples:
  klog completions bash > /etc/bash_completion.d/klog
  klog completions zsh > /usr/local/share/zsh/site-functions/_klog
  klog completions fish > ~/.config/fish/completions/klog.fish";

pub(crate) const MAN: &str = "\
Examples:
  klog man report | man -l -
  klog man --out /usr/local/share/man/man1";

/// Prints a page, or writes all of them.
pub(crate) fn man(
    command: Option<&str>,
    out: Option<&Path>,
) -> std::result::Result<ExitCode, Failure> {
    if let Some(dir) = out {
        write_all(dir)?;
        return Ok(ExitCode::SUCCESS);
    }
    let wanted = command.map_or_else(|| "klog.1".to_owned(), |name| format!("klog-{name}.1"));
    let page = pages().find(|(name, _)| *name == wanted).ok_or_else(|| {
        let name = command.unwrap_or_default();
        Failure::Usage(Error::invalid_argument(format!(
            "{name}: there is no such command"
        )))
    })?;
    let mut out = std::io::stdout().lock();
    out.write_all(&page.1)
        .and_then(|()| out.flush())
        .map_err(|e| output_error(&e))?;
    Ok(ExitCode::SUCCESS)
}

fn write_all(dir: &Path) -> klog::Result<()> {
    create_dir_all(&RealFs, dir)?;
    for (name, page) in pages() {
        let path: PathBuf = dir.join(name);
        RealFs.open(&path, OpenMode::Truncate)?.write_at(&page, 0)?;
    }
    Ok(())
}

/// Every page with the name of its file: that of the whole first.
fn pages() -> impl Iterator<Item = (String, Vec<u8>)> {
    // It has no page: what it prints is in the pages.
    let mut all = Args::command()
        .disable_help_subcommand(true)
        .subcommand_help_heading("COMMANDS");
    all.build();
    let mut commands = vec![all.clone()];
    commands.extend(all.get_subcommands().cloned());
    commands.into_iter().map(|command| {
        let man = Man::new(command.clone());
        (man.get_filename(), render(&man, &command))
    })
}

fn render(man: &Man, command: &Command) -> Vec<u8> {
    let mut page = Vec::new();
    // Without a date: it is that of the version. Options are not to be broken at their hyphens.
    let _ = writeln!(
        page,
        ".TH \"{}\" 1 \"\" \"klog {}\" \"User Commands\"\n.nh",
        man.get_filename().trim_end_matches(".1").to_uppercase(),
        env!("CARGO_PKG_VERSION")
    );
    // What writes into memory does not fail.
    let _ = man.render_name_section(&mut page);
    let _ = man.render_synopsis_section(&mut page);
    let _ = man.render_description_section(&mut page);
    if command.has_subcommands() {
        let _ = man.render_subcommands_section(&mut page);
    }
    let _ = man.render_options_section(&mut page);
    if let Some(text) = command.get_after_long_help() {
        let _ = sections(&text.to_string()).to_writer(&mut page);
    }
    page
}

/// The sections of a text behind a long help.
fn sections(text: &str) -> Roff {
    let mut roff = Roff::default();
    let mut is_example = false;
    for line in text.lines() {
        let indented = line.strip_prefix("  ");
        if is_example && indented.is_none() {
            roff.control("EE", []);
            is_example = false;
        }
        match (indented, line.strip_suffix(':')) {
            (Some(line), _) => {
                if !is_example {
                    roff.control("EX", []);
                    is_example = true;
                }
                roff.text([roman(line)]);
            }
            (None, Some(title)) => {
                roff.control("SH", [title.to_uppercase().as_str()]);
            }
            (None, None) if line.is_empty() => {}
            (None, None) => {
                roff.text([roman(line)]);
            }
        }
    }
    if is_example {
        roff.control("EE", []);
    }
    roff
}
