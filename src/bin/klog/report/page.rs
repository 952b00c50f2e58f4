//! The page as a whole: what is in it and in which order, and what stands at its top.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use klog::inspect::verify::Verdict;
use klog::inspect::{FileUse, Taken};
use klog::log::{Finding, FindingKind};
use klog::types::TimestampMs;

use super::gather::Gathered;
use super::html::Text;
use super::{charts, details, plot, sections};
use crate::units;

const STYLE: &str = include_str!("page.css");
/// Nothing is loaded, whatever the page's text might have a browser believe.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'";

/// What is on the page.
pub(crate) struct Content {
    /// The directory as it was named.
    pub(crate) dir: String,
    /// The log, if only one was asked for.
    pub(crate) only: Option<String>,
    pub(crate) now: TimestampMs,
    pub(crate) gathered: Gathered,
    pub(crate) disk: Option<BTreeMap<FileUse, Taken>>,
    pub(crate) verdict: Option<Verdict>,
}

/// The page.
pub(crate) fn render(content: &Content, findings: &[Finding]) -> String {
    let mut out = String::new();
    let what = match &content.only {
        Some(log) => format!("{log} in {}", content.dir),
        None => content.dir.clone(),
    };
    let _ = write!(
        out,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{}\"/>\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n\
         <meta name=\"color-scheme\" content=\"light dark\"/>\n\
         <link rel=\"icon\" href=\"data:,\"/>\n\
         <title>klog report: {}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n",
        Text(POLICY),
        Text(&what)
    );
    let _ = write!(
        out,
        "<header><h1>Kafka logs <code>{}</code></h1>\n<p>As of {}, by klog {}. Times are UTC, sizes in powers of 1024.</p></header>\n<main>\n",
        Text(&what),
        Text(&units::time(content.now.0)),
        env!("CARGO_PKG_VERSION")
    );
    out.push_str(&glance(content, findings));
    let gathered = &content.gathered;
    if gathered.logs > 0 {
        if let Some(disk) = &content.disk {
            out.push_str(&sections::room(gathered, disk));
        }
        out.push_str(&over_time(gathered));
        out.push_str(&sections::codecs(gathered));
        out.push_str(&sections::holds(gathered, content.now));
    }
    out.push_str(&sections::problems(content, findings));
    if gathered.logs > 0 {
        out.push_str(&details::all(gathered, content.now));
        out.push_str(&sections::all_logs(gathered));
    }
    out.push_str("</main>\n");
    out.push_str(&sections::footer(gathered));
    out.push_str("</body>\n</html>\n");
    out
}

/// The numbers that most people come for.
fn glance(content: &Content, findings: &[Finding]) -> String {
    let gathered = &content.gathered;
    let total = &gathered.total;
    let mut tiles: Vec<(String, String)> = Vec::new();
    let mut tile = |number: String, what: String| tiles.push((number, what));
    if let Some(disk) = &content.disk {
        let sum = sections::sum(disk);
        tile(
            units::bytes(sum.allocated_bytes),
            format!(
                "taken on the disk by {}",
                units::counted(sum.files, "file", "files")
            ),
        );
    }
    tile(
        units::bytes(total.stored_bytes),
        format!("in {}", units::counted(total.batches, "batch", "batches")),
    );
    tile(
        units::count(gathered.logs),
        format!(
            "{} of {}, {}",
            if gathered.logs == 1 { "log" } else { "logs" },
            units::counted(gathered.topics().len() as u64, "topic", "topics"),
            units::counted(gathered.segments, "segment", "segments")
        ),
    );
    tile(
        units::count(total.records),
        format!(
            "{}, {} of keys, values and headers",
            if total.records == 1 {
                "record"
            } else {
                "records"
            },
            units::bytes(total.payload_bytes)
        ),
    );
    let (segments, bytes) = gathered.retention_takes;
    tile(
        units::bytes(bytes),
        format!(
            "would be deleted by retention now: {}",
            units::counted(segments, "segment", "segments")
        ),
    );
    tile(
        units::bytes(gathered.clean_saves),
        "would be saved by a pass of the cleaner now".to_owned(),
    );
    let mut out =
        String::from("<section id=\"glance\"><h2>At a glance</h2>\n<ul class=\"tiles\">\n");
    for (number, what) in tiles {
        let _ = writeln!(out, "<li><b>{}</b> {}</li>", Text(&number), Text(&what));
    }
    out.push_str("</ul>\n");
    for (class, text) in verdicts(content, findings) {
        let _ = writeln!(out, "<p class=\"{class}\">{text}</p>");
    }
    out.push_str("</section>\n");
    out
}

/// What a reader should know before the numbers are believed: a class, and HTML.
fn verdicts(content: &Content, findings: &[Finding]) -> Vec<(&'static str, String)> {
    let gathered = &content.gathered;
    let mut said = Vec::new();
    let failed = findings
        .iter()
        .filter(|f| f.kind == FindingKind::Failed)
        .count() as u64;
    if failed > 0 {
        let logs = units::counted(failed, "log", "logs");
        said.push((
            "bad",
            format!("{logs} could not be read, and are in no number here: see <a href=\"#problems\">Problems</a>."),
        ));
    }
    if gathered.unread_batches > 0 {
        let batches = units::counted(gathered.unread_batches, "batch was", "batches were");
        said.push((
            "bad",
            format!(
                "{batches} not read: damaged, or larger than 16 MiB. <code>klog verify DIR</code> tells where."
            ),
        ));
    }
    match &content.verdict {
        Some(verdict) if verdict.is_damaged() => {
            said.push(("bad", "Files are damaged: see <a href=\"#problems\">Problems</a>.".to_owned()));
        }
        Some(_) => said.push(("good", "<code>klog verify</code> finds no damage.".to_owned())),
        None => said.push((
            "info",
            "Damage was not looked for: <code>klog verify DIR</code> does that, and <code>klog report --verify</code> puts what it finds here."
                .to_owned(),
        )),
    }
    if gathered.logs == 0 {
        said.push(("info", "There is no log in the directory.".to_owned()));
    } else if gathered.unconfigured > 0 {
        said.push((
            "info",
            format!(
                "No configuration was given for the topics of {} of {}: what is said of cleaning and deleting them is for Kafka's defaults. The directory does not hold the configurations of topics; give them with <code>--config TOPIC:KEY=VALUE</code> or <code>--properties FILE</code>.",
                units::count(gathered.unconfigured),
                units::counted(gathered.logs, "log", "logs")
            ),
        ));
    }
    said
}

fn over_time(gathered: &Gathered) -> String {
    let plots: String = [
        charts::over_time("Bytes over time", charts::What::Bytes, &gathered.timeline),
        charts::over_time(
            "Records over time",
            charts::What::Records,
            &gathered.timeline,
        ),
    ]
    .iter()
    .flatten()
    .map(plot::figure)
    .collect();
    format!(
        "<section id=\"time\"><h2>Over time</h2>\n<p>What is stored now, by the time of its records: a batch counts where its largest timestamp is.</p>\n<div class=\"plots\">\n{plots}</div></section>\n"
    )
}
