//! Kafka's own classes in one JVM that may optimise; the times are measured inside of it (`Speed.java`).

use std::path::{Path, PathBuf};
use std::process::Stdio;

use super::jvm::Jvm;

const MAIN_CLASS: &str = "io.klog.interop.Speed";
const HEAP_MIB: u32 = 2048;

pub(crate) struct Kafka {
    jvm: Jvm,
    records: PathBuf,
}

impl Kafka {
    /// Starts the JVM; the records that it appends are in that file.
    pub(crate) fn start(records: &Path) -> Self {
        Self {
            jvm: Jvm::start_with(&[], MAIN_CLASS, HEAP_MIB, &[], Stdio::inherit()),
            records: records.to_path_buf(),
        }
    }

    /// One request; its answer must be a good one.
    pub(crate) fn ask(&mut self, fields: &[&str]) -> String {
        let answer = self.jvm.exchange(fields).unwrap();
        answer.unwrap_or_else(|error| panic!("Kafka refuses {fields:?}: {error}"))
    }

    /// How many seconds the work took: the command with a directory and other fields.
    pub(crate) fn seconds(&mut self, command: &str, dir: &Path, fields: &[&str]) -> f64 {
        let mut all = vec![command, dir.to_str().unwrap()];
        all.extend(fields);
        number(&self.ask(&all), "ns") / 1e9
    }

    /// The same of a command that takes the file of records.
    pub(crate) fn seconds_with_records(
        &mut self,
        command: &str,
        dir: &Path,
        fields: &[&str],
    ) -> f64 {
        number(&self.ask_with_records(command, dir, fields), "ns") / 1e9
    }

    /// The whole answer of a command that takes a directory and the file of records.
    pub(crate) fn ask_with_records(
        &mut self,
        command: &str,
        dir: &Path,
        fields: &[&str],
    ) -> String {
        let records = self.records.clone();
        let mut all = vec![command, dir.to_str().unwrap(), records.to_str().unwrap()];
        all.extend(fields);
        self.ask(&all)
    }
}

/// A number of an answer.
pub(crate) fn number(answer: &str, name: &str) -> f64 {
    let mut fields = answer.split_whitespace();
    let value = fields.find_map(|field| field.strip_prefix(name)?.strip_prefix('='));
    value.unwrap().parse().unwrap()
}
