//! What the figures were measured on.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use super::kafka::Kafka;

fn said(command: &str, args: &[&str]) -> String {
    let output = Command::new(command).args(args).output();
    output.map_or_else(
        |_| "unknown".to_owned(),
        |output| String::from_utf8_lossy(&output.stdout).trim().to_owned(),
    )
}

fn field(path: &str, name: &str) -> String {
    let text = fs::read_to_string(path).unwrap_or_default();
    let line = text.lines().find(|line| line.starts_with(name));
    let value = line.and_then(|line| line.split_once(':'));
    value
        .map_or("unknown", |(_, value)| value.trim())
        .to_owned()
}

/// Lines about machine, programs and run.
pub(crate) fn facts(kafka: Option<&mut Kafka>, root: &Path, took: Duration) -> Vec<String> {
    let root = root.to_str().unwrap();
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    vec![
        format!(
            "processor: {}, {cores} cores",
            field("/proc/cpuinfo", "model name")
        ),
        format!("memory: {}", field("/proc/meminfo", "MemTotal")),
        format!("kernel: {}", said("uname", &["-sr"])),
        format!(
            "file system: {}",
            said("stat", &["--file-system", "--format=%T", root])
        ),
        format!("compiler: {}", said("rustc", &["--version"])),
        format!(
            "Kafka: {}",
            kafka.map_or("none".to_owned(), |kafka| kafka
                .ask(&["version"])
                .trim()
                .to_owned())
        ),
        format!(
            "klog: {}",
            said("git", &["describe", "--always", "--dirty"])
        ),
        format!("date: {}", said("date", &["-u", "+%Y-%m-%d"])),
        format!(
            "run: {} s; load at its end {}",
            took.as_secs(),
            load.split(' ').next().unwrap_or_default()
        ),
    ]
}
