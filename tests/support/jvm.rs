//! A program of `tests/interop` in a JVM of its own, and its protocol: a request is a line of fields, an answer a line with
//! its size and then its text. `tests/interop/README.md` describes it.
#![allow(dead_code, reason = "each test binary uses the part it needs")]
#![allow(
    clippy::panic,
    reason = "a program that cannot answer fails the test that asked"
)]

use std::env;
use std::ffi::{OsStr, OsString};
use std::io::{BufRead, BufReader, Error, ErrorKind, Read, Result, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// A start that is quick rather than code that is fast: most runs last seconds.
const FLAGS: [&str; 2] = ["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"];

/// A running program. It answers one request after the other and ends with its input.
pub(crate) struct Jvm {
    child: Child,
    /// Gone once the program is told to end.
    requests: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

impl Jvm {
    /// Starts the JVM with a heap of so many MiB; standard error goes there.
    ///
    /// # Panics
    /// If the programs were not built, or there is no Java.
    pub(crate) fn start(
        main_class: &str,
        heap_mib: u32,
        arguments: &[&OsStr],
        errors: Stdio,
    ) -> Self {
        Self::start_with(&FLAGS, main_class, heap_mib, arguments, errors)
    }

    /// The same with other flags of the JVM.
    pub(crate) fn start_with(
        flags: &[&str],
        main_class: &str,
        heap_mib: u32,
        arguments: &[&OsStr],
        errors: Stdio,
    ) -> Self {
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
            .arg(format!("-Xmx{heap_mib}m"))
            .args(flags)
            .arg("-cp")
            .arg(class_path)
            .arg(main_class)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(errors)
            .spawn()
            .unwrap_or_else(|error| {
                panic!(
                    "cannot start {}: {error}; Kafka's side of the tests needs Java 17",
                    java().display()
                )
            });
        let requests = child.stdin.take();
        let Some(answers) = child.stdout.take() else {
            panic!("{main_class} has no standard output")
        };
        Self {
            child,
            requests,
            answers: BufReader::new(answers),
        }
    }

    /// Sends one request, the command first, and waits for its answer: the payload, or the text of the error. The outer
    /// error says that the program is gone.
    ///
    /// # Panics
    /// If a field holds a tab or a line end.
    pub(crate) fn exchange(
        &mut self,
        fields: &[&str],
    ) -> Result<std::result::Result<String, String>> {
        for field in fields {
            assert!(
                !field.contains(['\t', '\n', '\r']),
                "not a field of a request: {field:?}"
            );
        }
        let requests = self.requests.as_mut().ok_or(ErrorKind::BrokenPipe)?;
        let mut request = fields.join("\t");
        request.push('\n');
        requests.write_all(request.as_bytes())?;
        requests.flush()?;
        let mut head = String::new();
        self.answers.read_line(&mut head)?;
        let (kind, size) = head
            .trim_end()
            .split_once(' ')
            .ok_or(ErrorKind::UnexpectedEof)?;
        let size = size.parse::<usize>().map_err(Error::other)?;
        let mut payload = vec![0; size];
        self.answers.read_exact(&mut payload)?;
        let payload = String::from_utf8(payload).map_err(Error::other)?;
        match kind {
            "ok" => Ok(Ok(payload)),
            "error" => Ok(Err(payload)),
            _ => Err(Error::other(format!("unknown answer {kind}"))),
        }
    }

    /// Ends the process at once, as a crash does.
    pub(crate) fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Jvm {
    fn drop(&mut self) {
        // The program ends when its input does.
        drop(self.requests.take());
        // An error here would only hide the test's own.
        let _ = self.child.wait();
    }
}

/// A JVM with Kafka's own jars, as a user of its tools starts one; what it runs is to be added.
pub(crate) fn java_with_kafka() -> Command {
    let lib = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/interop/target/lib");
    let mut command = Command::new(java());
    command.arg("-cp").arg(lib.join("*"));
    command
}

fn java() -> PathBuf {
    env::var_os("JAVA_HOME").map_or_else(
        || PathBuf::from("java"),
        |home| Path::new(&home).join("bin/java"),
    )
}
