//! Drives the referee (`tests/interop`): Kafka's own storage classes in a child process, one for each test binary that
//! asks. Its README describes the commands.
#![allow(dead_code, reason = "each test binary uses the part it needs")]
#![allow(
    clippy::panic,
    reason = "a referee that cannot answer fails the test that asked"
)]

use std::path::Path;
use std::process::Stdio;

use super::jvm::Jvm;

const MAIN_CLASS: &str = "io.klog.interop.Referee";
const HEAP_MIB: u32 = 512;

/// A running referee. It answers one request after the other and ends when dropped.
pub(crate) struct Referee(Jvm);

/// What Kafka's log manager found in a data directory, and what it said while it loaded and closed it.
#[derive(Debug, Default)]
pub(crate) struct ManagerReport {
    /// `TOPIC-PARTITION start=S end=E` for each log, sorted.
    pub(crate) logs: Vec<String>,
    /// `warn TEXT`, `error TEXT` and `recovered TEXT`. Empty when Kafka took the directory as it was.
    pub(crate) remarks: Vec<String>,
    /// Whether the marker of a clean shutdown is there afterwards.
    pub(crate) clean: bool,
}

impl Referee {
    /// Starts the JVM.
    ///
    /// # Panics
    /// If the referee was not built, or there is no Java.
    pub(crate) fn start() -> Self {
        Self(Jvm::start(MAIN_CLASS, HEAP_MIB, &[], Stdio::inherit()))
    }

    /// Starts a JVM that compiles what it runs as well as it can, for measuring.
    ///
    /// # Panics
    /// As [`Referee::start`].
    pub(crate) fn start_fast() -> Self {
        Self(Jvm::start_with(
            &[],
            MAIN_CLASS,
            4 * HEAP_MIB,
            &[],
            Stdio::inherit(),
        ))
    }

    /// Sends one request, the command first, and waits for its answer: the payload, or the text of the error.
    ///
    /// # Panics
    /// If a field holds a tab or a line end, or the referee is gone.
    pub(crate) fn call(&mut self, fields: &[&str]) -> Result<String, String> {
        self.0
            .exchange(fields)
            .unwrap_or_else(|error| panic!("the referee is gone at {fields:?}: {error}"))
    }

    /// The canonical text of a data directory as Kafka loads it. The directory stays as it is.
    ///
    /// # Panics
    /// If the referee answers with an error.
    pub(crate) fn dump(&mut self, dir: &Path) -> String {
        self.expect(&["dump", text(dir)])
    }

    /// Loads a data directory in place with Kafka's log manager and shuts it down cleanly. A directory that Kafka does
    /// not start on gives the text of the error.
    ///
    /// # Panics
    /// If the answer is not of the agreed form.
    pub(crate) fn manager(&mut self, dir: &Path) -> Result<ManagerReport, String> {
        let answer = self.call(&["manager", text(dir)])?;
        let mut report = ManagerReport::default();
        for line in answer.lines() {
            match line.split_once(' ') {
                Some(("log", rest)) => report.logs.push(rest.to_owned()),
                Some(("warn" | "error" | "recovered", _)) => report.remarks.push(line.to_owned()),
                Some(("clean", rest)) => report.clean = rest == "yes",
                _ => panic!("unexpected line of the referee: {line}"),
            }
        }
        Ok(report)
    }

    /// Like [`Referee::call`], for requests that must succeed; without the last line end.
    ///
    /// # Panics
    /// If the referee answers with an error.
    pub(crate) fn line(&mut self, fields: &[&str]) -> String {
        let mut answer = self.expect(fields);
        if answer.ends_with('\n') {
            answer.pop();
        }
        answer
    }

    fn expect(&mut self, fields: &[&str]) -> String {
        self.call(fields)
            .unwrap_or_else(|error| panic!("the referee refuses {fields:?}: {error}"))
    }
}

/// The name of the protocol error in an error's text, such as `OFFSET_OUT_OF_RANGE`. `UNKNOWN_SERVER_ERROR` stands for
/// exceptions that have none; `-` for a mistake in the request.
pub(crate) fn error_name(error: &str) -> &str {
    error
        .lines()
        .find_map(|line| line.strip_prefix("errors "))
        .unwrap_or("-")
}

fn text(path: &Path) -> &str {
    path.to_str()
        .unwrap_or_else(|| panic!("not UTF-8: {}", path.display()))
}
