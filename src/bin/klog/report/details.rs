//! The largest logs, each with its plots and with what holds it back.

use std::fmt::Write as _;

use klog::inspect::stat::{KEYS_ERROR, LogStat};
use klog::types::TimestampMs;

use super::gather::Gathered;
use super::html::Text;
use super::{charts, plot, sections};
use crate::units;

/// All of them.
pub(crate) fn all(gathered: &Gathered, now: TimestampMs) -> String {
    let shown = gathered.details().len() as u64;
    let title = if gathered.logs == 1 {
        "The log"
    } else {
        "The largest logs, one by one"
    };
    let mut out = format!("<section id=\"details\"><h2>{title}</h2>\n");
    if shown < gathered.logs {
        let _ = writeln!(
            out,
            "<p>{} of {}; <code>klog report DIR TOPIC-PARTITION</code> makes a page of any one.</p>",
            units::count(shown),
            units::counted(gathered.logs, "log", "logs")
        );
    }
    for stat in gathered.details() {
        out.push_str(&one(stat, now));
    }
    out.push_str("</section>\n");
    out
}

fn one(stat: &LogStat, now: TimestampMs) -> String {
    let mut out = format!(
        "<article>\n<h3>{}</h3>\n<dl>\n",
        Text(&stat.partition.to_string())
    );
    for (name, value) in facts(stat) {
        let _ = writeln!(
            out,
            "<div><dt>{}</dt><dd>{}</dd></div>",
            Text(name),
            Text(&value)
        );
    }
    out.push_str("</dl>\n<ul class=\"holds\">\n");
    if !stat.has_config {
        out.push_str("<li>No configuration was given for the topic: what follows is for Kafka's defaults.</li>\n");
    }
    let _ = writeln!(
        out,
        "<li><b>Deleting:</b> {}{}</li>",
        Text(&stat.retention),
        Text(&due_text(stat, now))
    );
    let _ = writeln!(out, "<li><b>Cleaning:</b> {}.</li>", Text(&stat.clean));
    out.push_str("</ul>\n");
    if stat.codecs.len() > 1 {
        out.push_str(&sections::codec_table(
            &stat.codecs,
            stat.total.stored_bytes,
        ));
    }
    out.push_str("<div class=\"plots\">\n");
    let plots = [
        charts::over_time("Bytes over time", charts::What::Bytes, &stat.timeline),
        charts::over_time("Records over time", charts::What::Records, &stat.timeline),
        charts::segments(stat),
        charts::segment_times(stat),
        charts::batch_sizes(&stat.batch_sizes),
    ];
    for plot in plots.iter().flatten() {
        out.push_str(&plot::figure(plot));
    }
    out.push_str("</div>\n</article>\n");
    out
}

fn facts(stat: &LogStat) -> Vec<(&'static str, String)> {
    let total = &stat.total;
    let codecs: Vec<&str> = stat.codecs.keys().copied().collect();
    let mut facts = vec![
        (
            "Size",
            format!(
                "{} in {}",
                units::bytes(total.stored_bytes),
                units::counted(stat.segments as u64, "segment", "segments")
            ),
        ),
        (
            "Records",
            format!(
                "{} in {}",
                units::counted(total.records, "record", "records"),
                units::counted(total.batches, "batch", "batches")
            ),
        ),
        (
            "Offsets",
            format!(
                "{} to {}",
                units::signed(stat.start.0),
                units::signed(stat.end.0)
            ),
        ),
    ];
    let mut times = stat.timeline.spans().keys();
    if let Some(first) = times.next() {
        let last = times.next_back().unwrap_or(first);
        facts.push((
            "Times",
            format!("{} to {}", units::time(*first), units::time(*last)),
        ));
    }
    facts.push((
        "Compression",
        format!(
            "{}, ratio {:.2}",
            codecs.join(", "),
            units::ratio(total.payload_bytes, total.stored_bytes)
        ),
    ));
    facts.push((
        "Keys",
        format!(
            "about {} (within {:.1} % mostly), {} without a key",
            units::count(stat.keys),
            KEYS_ERROR * 200.0,
            units::counted(stat.null_keys, "record", "records")
        ),
    ));
    facts.push((
        "Tombstones",
        units::counted(stat.tombstones, "record", "records"),
    ));
    let (segments, bytes) = stat.retention_takes;
    facts.push((
        "Retention would delete now",
        format!(
            "{} in {}",
            units::bytes(bytes),
            units::counted(segments as u64, "segment", "segments")
        ),
    ));
    facts.push((
        "A clean would save now",
        stat.clean_saves
            .map_or_else(|| "nothing".to_owned(), units::bytes),
    ));
    if stat.unread_batches > 0 {
        facts.push((
            "Not read",
            units::counted(stat.unread_batches, "batch", "batches"),
        ));
    }
    facts
}

/// When age takes the oldest segment, in words.
fn due_text(stat: &LogStat, now: TimestampMs) -> String {
    match stat.next_due {
        Some(due) if due > now => format!(
            ". The oldest segment that stays goes by age at {}, in {}.",
            units::time(due.0),
            units::duration(due.0.abs_diff(now.0))
        ),
        _ => ".".to_owned(),
    }
}
