//! The parts of the page that are tables.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use klog::inspect::stat::{Cleaning, Deleting};
use klog::inspect::{FileUse, Taken};
use klog::log::{Finding, FindingKind};
use klog::types::TimestampMs;

use super::gather::{DETAILS_MAX, Gathered, Group, ROWS_MAX, TOPICS_MAX};
use super::html::{Table, Text, bar, cell};
use super::page::Content;
use super::{charts, plot};
use crate::units;

/// So many bars of logs.
const LOG_BARS_MAX: usize = 30;
/// So many problems of each kind.
const PROBLEMS_MAX: usize = 50;

/// All uses together.
pub(crate) fn sum(disk: &BTreeMap<FileUse, Taken>) -> Taken {
    let mut sum = Taken::default();
    for taken in disk.values() {
        sum.files += taken.files;
        sum.bytes += taken.bytes;
        sum.allocated_bytes += taken.allocated_bytes;
    }
    sum
}

/// What the room is taken by.
pub(crate) fn room(gathered: &Gathered, disk: &BTreeMap<FileUse, Taken>) -> String {
    let mut out = String::from("<section id=\"room\"><h2>What takes the room</h2>\n");
    let whole = sum(disk);
    let mut table = Table::new(&[
        ("files", "t"),
        ("on the disk", "n"),
        ("", "b"),
        ("share", "n w"),
        ("length", "n"),
        ("number", "n"),
    ]);
    for (what, taken) in disk {
        table.row(&[
            cell(name_of(*what)),
            units::bytes(taken.allocated_bytes),
            bar(taken.allocated_bytes, whole.allocated_bytes, "one"),
            units::percent(taken.allocated_bytes, whole.allocated_bytes),
            units::bytes(taken.bytes),
            units::count(taken.files),
        ]);
    }
    out.push_str(&table.end());
    out.push_str("<p class=\"note\">Indexes of the segments that are appended to are made in full length and are mostly holes: they take less on the disk than their length.</p>\n");
    let total = gathered.total.stored_bytes;
    let topics = gathered.topics();
    if (topics.len() as u64) < gathered.logs {
        out.push_str("<h3>The largest topics</h3>\n");
        let most = topics.first().map_or(0, |(_, sum)| sum.total.stored_bytes);
        let mut table = Table::new(&[
            ("topic", "t"),
            ("size", "n"),
            ("", "b"),
            ("share", "n w"),
            ("records", "n"),
            ("logs here", "n"),
        ]);
        for (name, sum) in topics.iter().take(TOPICS_MAX) {
            let stored = sum.total.stored_bytes;
            table.row(&[
                cell(name),
                units::bytes(stored),
                bar(stored, most, "one"),
                units::percent(stored, total),
                units::count(sum.total.records),
                units::count(sum.partitions),
            ]);
        }
        let behind = topics.get(TOPICS_MAX..).unwrap_or_default();
        rest(
            &mut table,
            behind.len() as u64,
            behind.iter().map(|(_, sum)| sum.total.stored_bytes).sum(),
            "topic",
        );
        out.push_str(&table.end());
    }
    out.push_str("<h3>The largest logs</h3>\n");
    let most = gathered
        .rows()
        .next()
        .map_or(0, |row| row.total.stored_bytes);
    let mut table = Table::new(&[
        ("log", "t"),
        ("size", "n"),
        ("", "b"),
        ("share", "n w"),
        ("records", "n"),
        ("segments", "n"),
    ]);
    let mut shown = 0;
    for row in gathered.rows().take(LOG_BARS_MAX) {
        let stored = row.total.stored_bytes;
        shown += stored;
        table.row(&[
            cell(&row.name),
            units::bytes(stored),
            bar(stored, most, "one"),
            units::percent(stored, total),
            units::count(row.total.records),
            units::count(row.segments as u64),
        ]);
    }
    let behind = gathered.logs.saturating_sub(LOG_BARS_MAX as u64);
    rest(&mut table, behind, total - shown, "log");
    out.push_str(&table.end());
    out.push_str("</section>\n");
    out
}

/// The row of what was left out.
fn rest(table: &mut Table, count: u64, bytes: u64, what: &str) {
    if count > 0 {
        let these = units::counted(count, what, &format!("{what}s"));
        table.rest(&format!(
            "and {these} more with {} in all",
            units::bytes(bytes)
        ));
    }
}

fn name_of(what: FileUse) -> &'static str {
    match what {
        FileUse::Segments => "segments (.log)",
        FileUse::Indexes => "indexes",
        FileUse::Snapshots => "producer snapshots",
        FileUse::Deleted => "deleted, but not removed yet (.deleted, -delete)",
        FileUse::Marked => "logs that are not in use (-stray, -future)",
        FileUse::ClusterMetadata => "the controllers' log (__cluster_metadata)",
        FileUse::Other => "all else",
    }
}

/// Codecs and batches.
pub(crate) fn codecs(gathered: &Gathered) -> String {
    let total = gathered.total.stored_bytes;
    let mut out = String::from("<section id=\"codecs\"><h2>Codecs and batches</h2>\n");
    out.push_str(&codec_table(&gathered.codecs, total));
    out.push_str("<p class=\"note\">The ratio is that of keys, values and headers to what is stored of them: above 1 compression saves more than batches cost.</p>\n");
    if let Some(sizes) = charts::batch_sizes(&gathered.batch_sizes) {
        let _ = write!(out, "<div class=\"plots\">\n{}</div>", plot::figure(&sizes));
    }
    let (records, batches) = (gathered.total.records, gathered.total.batches);
    if batches > 0 {
        let _ = writeln!(
            out,
            "<p>A batch has {:.1} records and {} on average.</p>",
            units::ratio(records, batches),
            units::bytes(total / batches)
        );
    }
    out.push_str("</section>\n");
    out
}

/// By codec.
pub(crate) fn codec_table(
    codecs: &BTreeMap<&'static str, klog::inspect::stat::Share>,
    total: u64,
) -> String {
    let mut table = Table::new(&[
        ("codec", "t"),
        ("size", "n"),
        ("", "b"),
        ("share", "n w"),
        ("ratio", "n"),
        ("records", "n"),
        ("batches", "n"),
    ]);
    for (codec, share) in codecs {
        table.row(&[
            cell(codec),
            units::bytes(share.stored_bytes),
            bar(share.stored_bytes, total, "one"),
            units::percent(share.stored_bytes, total),
            format!(
                "{:.2}",
                units::ratio(share.payload_bytes, share.stored_bytes)
            ),
            units::count(share.records),
            units::count(share.batches),
        ]);
    }
    table.end()
}

/// What would go, and what is held back by what.
pub(crate) fn holds(gathered: &Gathered, now: TimestampMs) -> String {
    let mut out = String::from("<section id=\"holds\"><h2>Deleting and cleaning</h2>\n");
    let columns = |goes| Table::new(&[("state", "t"), ("logs", "n"), ("size", "n"), (goes, "n")]);
    let row = |table: &mut Table, words: &str, group: &Group| {
        table.row(&[
            cell(words),
            units::count(group.logs),
            units::bytes(group.stored_bytes),
            units::bytes(group.goes_bytes),
        ]);
    };
    out.push_str("<h3>Retention</h3>\n");
    let mut table = columns("would go now");
    for (deleting, group) in &gathered.deleting {
        row(&mut table, words_of_deleting(*deleting), group);
    }
    out.push_str(&table.end());
    if let Some(due) = charts::due(&gathered.due) {
        let _ = write!(out, "<div class=\"plots\">\n{}</div>", plot::figure(&due));
        if let Some((first, _)) = gathered
            .due
            .spans()
            .iter()
            .find(|(start, _)| **start >= now.0)
        {
            let _ = writeln!(
                out,
                "<p>The next segment is due about {}, in {}.</p>",
                Text(&units::time(*first)),
                units::duration(first.abs_diff(now.0))
            );
        }
    }
    out.push_str("<h3>Compaction</h3>\n");
    let mut table = columns("would be saved now");
    for (cleaning, group) in &gathered.cleaning {
        row(&mut table, words_of_cleaning(*cleaning), group);
    }
    out.push_str(&table.end());
    let _ = writeln!(
        out,
        "<p>{} {} tombstones (a key without a value), {} have no key.</p>",
        units::count(gathered.tombstones),
        if gathered.tombstones == 1 {
            "record is one of the"
        } else {
            "records are"
        },
        units::count(gathered.null_keys)
    );
    out.push_str("<p class=\"note\">Below, each log says which key of its configuration and which offset hold it back.</p></section>\n");
    out
}

pub(crate) fn words_of_deleting(deleting: Deleting) -> &'static str {
    match deleting {
        Deleting::Off => "nothing is deleted: cleanup.policy has no delete",
        Deleting::KeepsAll => "nothing is deleted: retention.ms and retention.bytes are -1",
        Deleting::Waits => "nothing is old or large enough for retention.ms and retention.bytes",
        Deleting::Due => "the oldest segments would be deleted now",
    }
}

pub(crate) fn words_of_cleaning(cleaning: Cleaning) -> &'static str {
    match cleaning {
        Cleaning::Off => "not compacted: cleanup.policy has no compact",
        Cleaning::ActiveOnly => {
            "only the active segment is dirty, which is not cleaned before it rolls (segment.bytes, segment.ms)"
        }
        Cleaning::Unstable => "held back by an open transaction, or by the high watermark",
        Cleaning::TooYoung => "held back by min.compaction.lag.ms",
        Cleaning::TooClean => "held back by min.cleanable.dirty.ratio",
        Cleaning::Due => "would be cleaned now",
        Cleaning::Fails => "a pass of the cleaner would fail",
    }
}

/// A row for each of the largest logs.
pub(crate) fn all_logs(gathered: &Gathered) -> String {
    let mut out = String::from("<section id=\"logs\"><h2>Log by log</h2>\n");
    let mut table = Table::new(&[
        ("log", "t"),
        ("offsets", "n"),
        ("segments", "n"),
        ("size", "n"),
        ("records", "n"),
        ("ratio", "n"),
        ("keys, about", "n"),
        ("tombstones", "n"),
        ("retention takes now", "n"),
        ("a clean saves", "n"),
        ("why", "why"),
    ]);
    let mut shown = 0;
    for row in gathered.rows() {
        shown += row.total.stored_bytes;
        table.row(&[
            cell(&row.name),
            format!("{} to {}", units::signed(row.start), units::signed(row.end)),
            units::count(row.segments as u64),
            units::bytes(row.total.stored_bytes),
            units::count(row.total.records),
            format!(
                "{:.2}",
                units::ratio(row.total.payload_bytes, row.total.stored_bytes)
            ),
            units::count(row.keys),
            units::count(row.tombstones),
            match row.retention_takes {
                (0, _) => "-".to_owned(),
                (_, bytes) => units::bytes(bytes),
            },
            row.clean_saves.map_or_else(|| "-".to_owned(), units::bytes),
            format!(
                "<b>retention</b> {}<br/><b>cleaner</b> {}",
                Text(&row.retention),
                Text(&row.clean)
            ),
        ]);
    }
    let behind = gathered.logs.saturating_sub(ROWS_MAX as u64);
    rest(
        &mut table,
        behind,
        gathered.total.stored_bytes - shown,
        "log",
    );
    out.push_str(&table.end());
    out.push_str("</section>\n");
    out
}

/// What is wrong or odd.
pub(crate) fn problems(content: &Content, findings: &[Finding]) -> String {
    let told: Vec<&Finding> = findings
        .iter()
        .filter(|finding| finding.kind != FindingKind::Config)
        .collect();
    let flaws = content
        .verdict
        .as_ref()
        .map_or(&[][..], |verdict| &verdict.flaws);
    if told.is_empty() && flaws.is_empty() {
        return String::new();
    }
    let mut out = String::from("<section id=\"problems\"><h2>Problems</h2>\n");
    if !flaws.is_empty() {
        out.push_str("<h3>What klog verify finds</h3>\n");
        let mut table = Table::new(&[
            ("severity", "n"),
            ("file", "f"),
            ("what", "why"),
            ("what it costs, what mends it", "why"),
        ]);
        // The worst first.
        let mut flaws: Vec<_> = flaws.iter().collect();
        flaws.sort_by_key(|flaw| std::cmp::Reverse(flaw.severity));
        for flaw in flaws.iter().take(PROBLEMS_MAX) {
            let path = flaw.path.strip_prefix(&content.dir).unwrap_or(&flaw.path);
            let position = flaw
                .position
                .map_or_else(String::new, |at| format!(" at byte {}", units::count(at)));
            table.row(&[
                cell(flaw.severity.name()),
                cell(format!("{}{position}", path.display())),
                cell(&flaw.what),
                cell(format!("{}; mends it: {}", flaw.cost, flaw.mend)),
            ]);
        }
        let unlisted = content
            .verdict
            .as_ref()
            .map_or(0, |verdict| verdict.unlisted);
        more(&mut table, flaws.len(), unlisted);
        out.push_str(&table.end());
    }
    if !told.is_empty() {
        out.push_str("<h3>What loading found</h3>\n");
        let mut table = Table::new(&[("kind", "n"), ("where", "f"), ("what", "why")]);
        let mut sorted = told.clone();
        sorted.sort_by_key(|finding| finding.kind != FindingKind::Failed);
        for finding in sorted.iter().take(PROBLEMS_MAX) {
            let place = match &finding.partition {
                Some(partition) => partition.to_string(),
                None => finding.dir.display().to_string(),
            };
            table.row(&[cell(finding.kind.name()), cell(place), cell(&finding.text)]);
        }
        more(&mut table, told.len(), 0);
        out.push_str(&table.end());
    }
    out.push_str("</section>\n");
    out
}

fn more(table: &mut Table, count: usize, unlisted: u64) {
    let behind = count.saturating_sub(PROBLEMS_MAX) as u64 + unlisted;
    if behind > 0 {
        table.rest(&format!("and {} more", units::count(behind)));
    }
}

/// What bounds the page.
pub(crate) fn footer(gathered: &Gathered) -> String {
    let mut out = String::from("<footer><p>");
    let _ = write!(
        out,
        "This page shows at most {TOPICS_MAX} topics and {LOG_BARS_MAX} logs as bars, plots of the {DETAILS_MAX} largest logs, a row for each of the {ROWS_MAX} largest, and {PROBLEMS_MAX} problems of a kind; sums are of all {}. <code>klog stat --json</code> has all of each log, and <code>klog report DIR TOPIC-PARTITION</code> makes a page of one.",
        units::counted(gathered.logs, "log", "logs")
    );
    out.push_str("</p></footer>\n");
    out
}
