//! A contestant in another language: a program that does the work and says how long it took.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use super::peer::{Job, Peer, Result};

pub struct Program {
    name: &'static str,
    does: &'static str,
    records: PathBuf,
    child: Child,
    requests: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

impl Program {
    /// Starts it; `records` is the file that its records come from.
    pub fn start(
        name: &'static str,
        does: &'static str,
        command: &mut Command,
        records: &Path,
    ) -> Result<Self> {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        Ok(Self {
            name,
            does,
            records: records.to_path_buf(),
            requests: child.stdin.take(),
            answers: BufReader::new(child.stdout.take().ok_or("no standard output")?),
            child,
        })
    }
}

impl Peer for Program {
    fn name(&self) -> &'static str {
        self.name
    }

    fn does(&self) -> &'static str {
        self.does
    }

    fn run(&mut self, job: &Job<'_>) -> Result<f64> {
        let requests = self.requests.as_mut().ok_or("it has ended")?;
        writeln!(
            requests,
            "{}\t{}\t{}\t{}\t{}",
            job.work.name(),
            job.dir.display(),
            self.records.display(),
            job.size,
            job.threads
        )?;
        let mut line = String::new();
        self.answers.read_line(&mut line)?;
        match line.trim_end().split_once(' ') {
            Some(("ns", ns)) => Ok(ns.parse::<f64>()? / 1e9),
            Some(("error", error)) => Err(error.into()),
            _ => Err("it has ended".into()),
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // It ends when its input does.
        drop(self.requests.take());
        let _ = self.child.wait();
    }
}
