//! `klog dump-log`: what `kafka-dump-log.sh` of Kafka 4.4.0 prints, byte for byte.
//!
//! Where Kafka's tool ends with an exception, the first line of it goes to standard error, and the exit status is 1 as well. Files
//! are read piece by piece, and nothing is created.

mod batches;
mod control;
mod file_name;
mod index;
mod inflate;
mod java;
mod legacy;
mod log;
pub(crate) mod options;
mod out;
mod pairs;
mod parser;
mod producers;
mod records;
mod remote;
mod schema;
mod source;
mod stop;
mod streamed;
mod summary;
mod time_index;

use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;

use file_name::FileName;
use options::{Asked, Options};
use out::Out;
use stop::{Result, Stop};
use summary::Summary;

/// Batches and records up to this size are held as a whole.
const HELD_BYTES: usize = 8 * 1024 * 1024;

/// The version of Kafka whose output this is.
const KAFKA_VERSION: &str = "4.4.0";

/// Runs the command with what was typed behind its name.
pub(crate) fn run(args: impl Iterator<Item = OsString>, help: impl FnOnce()) -> ExitCode {
    let options = match options::parse(args) {
        Ok(Asked::Dump(options)) => options,
        Ok(Asked::Help) => {
            help();
            return ExitCode::SUCCESS;
        }
        Ok(Asked::Version) => {
            let _ = writeln!(std::io::stdout(), "{KAFKA_VERSION}");
            return ExitCode::SUCCESS;
        }
        Err(e) => {
            let _ = writeln!(std::io::stderr(), "klog: dump-log: {e}");
            return ExitCode::from(2);
        }
    };
    let (mut stdout, mut stderr) = (std::io::stdout().lock(), std::io::stderr().lock());
    let mut dump = Dump::new(&options, &mut stdout, &mut stderr);
    let ended = dump.all();
    dump.console.end(ended)
}

/// A run over files.
pub(crate) struct Dump<'w> {
    options: &'w Options,
    console: Console<'w>,
    summary: Summary,
}

/// Where text goes.
struct Console<'w> {
    out: Out<'w>,
    err: Out<'w>,
}

impl<'w> Dump<'w> {
    fn new(options: &'w Options, stdout: &'w mut dyn Write, stderr: &'w mut dyn Write) -> Self {
        Self {
            options,
            console: Console {
                out: Out::new(stdout),
                err: Out::new(stderr),
            },
            summary: Summary::default(),
        }
    }

    fn all(&mut self) -> Result<()> {
        for typed in &self.options.files {
            self.file(&FileName::new(typed))?;
        }
        self.console.out.flush();
        self.summary.print(&mut self.console.err)
    }

    fn file(&mut self, name: &FileName) -> Result<()> {
        let shown = name.to_string();
        self.console.out.text("Dumping ").text(&shown).line_end();
        match name.suffix() {
            Some(".log" | ".checkpoint") => self.log(name),
            Some(".index") => self.index(name),
            Some(".timeindex") => self.time_index(name),
            Some(".snapshot") => self.producer_snapshot(name),
            Some(".txnindex") => self.transaction_index(name),
            _ => {
                self.console
                    .complain(&format!("Ignoring unknown file {shown}"));
                Ok(())
            }
        }
    }
}

impl Console<'_> {
    /// Tells of something that is wrong, behind what was printed before.
    fn complain(&mut self, text: &str) {
        self.out.flush();
        self.err.text(text).line_end();
        self.err.flush();
    }

    fn end(mut self, ended: Result<()>) -> ExitCode {
        self.out.flush();
        let ended = ended.and_then(|()| self.out.check());
        let code = match ended {
            Ok(()) => ExitCode::SUCCESS,
            // Whoever reads our output has seen enough.
            Err(Stop::Output(e)) if e.kind() == std::io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
            Err(Stop::Output(e)) => {
                self.complain(&format!("klog: cannot write to standard output: {e}"));
                ExitCode::FAILURE
            }
            Err(Stop::Thrown(thrown)) => {
                self.complain(&thrown.to_string());
                ExitCode::FAILURE
            }
            Err(Stop::Failed(e)) => {
                self.complain(&format!("klog: {}: {e}", e.kind()));
                ExitCode::FAILURE
            }
        };
        self.err.flush();
        code
    }
}
