//! The values as OpenMetrics text, version 1.0.0.
//!
//! The name of a family is Kafka's: group, type and name joined by `_`, with `_` for what no name may hold, and the unit at
//! its end where there is one. Tags are labels of the same names, `is-future` is `is_future`.

use std::fmt::Write;

use super::{METRICS, Metric, MetricKind, Source, View};
use crate::format::names::{DirKind, classify_dir};
use crate::log::{FlushStats, Log};

pub(super) fn render(view: &View) -> String {
    let mut text = String::new();
    for metric in METRICS {
        // Of a timer the second row belongs to the family of the first.
        if metric.kind != MetricKind::TimerSum {
            describe(&mut text, metric);
        }
        let mut out = Samples {
            text: &mut text,
            name: sample_name(metric),
        };
        samples(&mut out, metric, view);
    }
    text.push_str("# EOF\n");
    text
}

/// `kafka.log:type=Log,name=Size` in bytes is `kafka_log_Log_Size_bytes`.
pub(super) fn family_name(metric: &Metric) -> String {
    let mut parts = vec![];
    let (group, properties) = metric.name().split_once(':').unwrap_or_default();
    parts.push(group);
    for property in properties.split(',') {
        if let Some(("type" | "name", value)) = property.split_once('=') {
            parts.push(value);
        }
    }
    if !metric.unit().is_empty() {
        parts.push(metric.unit());
    }
    parts
        .join("_")
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '_' })
        .collect()
}

fn sample_name(metric: &Metric) -> String {
    let suffix = match metric.kind {
        MetricKind::Gauge => "",
        MetricKind::Counter => "_total",
        MetricKind::TimerCount => "_count",
        MetricKind::TimerSum => "_sum",
    };
    family_name(metric) + suffix
}

// Writing to a string does not fail: the results are dropped.

fn describe(text: &mut String, metric: &Metric) {
    let name = family_name(metric);
    let kind = match metric.kind {
        MetricKind::Gauge => "gauge",
        MetricKind::Counter => "counter",
        MetricKind::TimerCount | MetricKind::TimerSum => "summary",
    };
    let _ = writeln!(text, "# TYPE {name} {kind}");
    if !metric.unit().is_empty() {
        let _ = writeln!(text, "# UNIT {name} {}", metric.unit());
    }
    let _ = writeln!(text, "# HELP {name} {}", escaped(metric.help()));
}

struct Samples<'t> {
    text: &'t mut String,
    name: String,
}

impl Samples<'_> {
    fn add(&mut self, labels: &[(&str, &str)], value: u64) {
        self.write(labels, format_args!("{value}"));
    }

    fn write(&mut self, labels: &[(&str, &str)], value: std::fmt::Arguments<'_>) {
        self.text.push_str(&self.name);
        for (i, (label, content)) in labels.iter().enumerate() {
            let before = if i == 0 { '{' } else { ',' };
            let _ = write!(self.text, "{before}{label}=\"{}\"", escaped(content));
        }
        if !labels.is_empty() {
            self.text.push('}');
        }
        let _ = writeln!(self.text, " {value}");
    }
}

fn samples(out: &mut Samples<'_>, metric: &Metric, view: &View) {
    let stats = &view.stats;
    match &metric.source {
        Source::Manager(of) => out.add(&[], of(stats)),
        Source::Dir(label, of) => {
            for dir in &stats.dirs {
                out.add(&[(label, &dir.path.to_string_lossy())], of(dir));
            }
        }
        Source::Loading => {
            for dir in &stats.dirs {
                for log in &dir.opening.at_work {
                    let thread = log.thread.to_string();
                    let path = dir.path.to_string_lossy();
                    out.add(&[("dir", &path), ("threadNum", &thread)], log.segments_left);
                }
            }
        }
        Source::Log(of, _) => {
            for log in &stats.logs {
                let partition = log.partition().partition.to_string();
                let labels = [
                    ("topic", &*log.partition().topic),
                    ("partition", &*partition),
                    ("is_future", "true"),
                ];
                let used = if is_future(log) { 3 } else { 2 };
                out.add(labels.get(..used).unwrap_or_default(), of(log));
            }
        }
        Source::Topic(of) => {
            out.add(&[], of(&stats.all_topics));
            for (topic, counts) in &stats.topics {
                out.add(&[("topic", topic)], of(counts));
            }
        }
        Source::AllTopics(of) => out.add(&[], of(&stats.all_topics)),
        Source::Flush(of) if metric.kind != MetricKind::TimerSum => {
            out.add(&[], of(&stats.flushes));
        }
        Source::Flush(_) => {
            let FlushStats { total_ns, .. } = stats.flushes;
            let (ms, ns) = (total_ns / 1_000_000, total_ns % 1_000_000);
            out.write(&[], format_args!("{ms}.{ns:06}"));
        }
        Source::Cleaner(of) => out.add(&[], of(&view.cleaner)),
        Source::DirtyDir(of) => {
            for dir in &view.cleaner.dirs {
                out.add(&[("logDirectory", &dir.path.to_string_lossy())], of(dir));
            }
        }
    }
}

/// Whether a log is a copy that is being moved.
fn is_future(log: &Log) -> bool {
    let dir = log.dir();
    matches!(
        classify_dir(dir.file_name().unwrap_or_default()),
        DirKind::Future(_)
    )
}

/// Text between quotes, and in a HELP line.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\")
        .replace('\n', "\\n")
        .replace('"', "\\\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_kafkas_as_far_as_openmetrics_allows() {
        let names: Vec<String> = METRICS.iter().map(family_name).collect();
        for name in [
            "kafka_log_LogManager_OfflineLogDirectoryCount",
            "kafka_log_Log_Size_bytes",
            "kafka_log_LogFlushStats_LogFlushRateAndTimeMs_milliseconds",
            "kafka_log_LogCleaner_max_clean_time_secs_seconds",
            "kafka_server_BrokerTopicMetrics_BytesInPerSec_bytes",
        ] {
            assert!(names.iter().any(|known| known == name), "{name}");
        }
    }

    #[test]
    fn labels_are_escaped() {
        let mut text = String::new();
        let mut out = Samples {
            text: &mut text,
            name: "x".to_owned(),
        };
        out.add(&[("a", "q\"b\\\n"), ("b", "")], 3);
        out.add(&[], u64::MAX);
        assert_eq!(
            text,
            "x{a=\"q\\\"b\\\\\\n\",b=\"\"} 3\nx 18446744073709551615\n"
        );
    }
}
