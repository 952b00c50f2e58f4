//! Drives the referee (`tests/interop`): Kafka's own storage classes in a child process, one for each test binary that
//! asks. Its README describes the commands.
#![allow(dead_code, reason = "each test binary uses the part it needs")]
#![allow(
    clippy::panic,
    reason = "a referee that cannot answer fails the test that asked"
)]

use std::env;
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// A small heap, and a start that is quick rather than code that is fast: most runs last seconds.
const JVM_FLAGS: [&str; 3] = ["-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"];
const MAIN_CLASS: &str = "io.klog.interop.Referee";

/// A running referee. It answers one request after the other and ends when dropped.
pub(crate) struct Referee {
    child: Child,
    /// Gone once the referee is told to end.
    requests: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

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
        let target = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/interop/target");
        let jar = target.join("klog-interop.jar");
        assert!(
            jar.is_file(),
            "{} is missing: run `make interop` first",
            jar.display()
        );
        let mut class_path = OsString::from(&jar);
        class_path.push(":");
        class_path.push(target.join("lib").join("*"));
        let mut child = Command::new(java())
            .args(JVM_FLAGS)
            .arg("-cp")
            .arg(class_path)
            .arg(MAIN_CLASS)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| {
                panic!(
                    "cannot start {}: {error}; the referee needs Java 17",
                    java().display()
                )
            });
        let requests = child.stdin.take();
        let Some(answers) = child.stdout.take() else {
            panic!("the referee has no standard output")
        };
        Self {
            child,
            requests,
            answers: BufReader::new(answers),
        }
    }

    /// Sends one request, the command first, and waits for its answer: the payload, or the text of the error.
    ///
    /// # Panics
    /// If a field holds a tab or a line end, or the referee is gone.
    pub(crate) fn call(&mut self, fields: &[&str]) -> Result<String, String> {
        for field in fields {
            assert!(
                !field.contains(['\t', '\n', '\r']),
                "not a field of a request: {field:?}"
            );
        }
        self.exchange(fields)
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

    fn exchange(&mut self, fields: &[&str]) -> std::io::Result<Result<String, String>> {
        let requests = self
            .requests
            .as_mut()
            .ok_or(std::io::ErrorKind::BrokenPipe)?;
        let mut request = fields.join("\t");
        request.push('\n');
        requests.write_all(request.as_bytes())?;
        requests.flush()?;
        let mut head = String::new();
        self.answers.read_line(&mut head)?;
        let (kind, size) = head
            .trim_end()
            .split_once(' ')
            .ok_or(std::io::ErrorKind::UnexpectedEof)?;
        let size = size.parse::<usize>().map_err(std::io::Error::other)?;
        let mut payload = vec![0; size];
        self.answers.read_exact(&mut payload)?;
        let payload = String::from_utf8(payload).map_err(std::io::Error::other)?;
        match kind {
            "ok" => Ok(Ok(payload)),
            "error" => Ok(Err(payload)),
            _ => Err(std::io::Error::other(format!("unknown answer {kind}"))),
        }
    }
}

impl Drop for Referee {
    fn drop(&mut self) {
        // The referee ends when its input does.
        drop(self.requests.take());
        // An error here would only hide the test's own.
        let _ = self.child.wait();
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

fn java() -> PathBuf {
    env::var_os("JAVA_HOME").map_or_else(
        || PathBuf::from("java"),
        |home| Path::new(&home).join("bin/java"),
    )
}
