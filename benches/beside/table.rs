//! The table: on standard output as it grows, and in docs/benchmarks.md.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use super::rounds::{Beside, Row, Spread, Unit, Verdict};

const BEGIN: &str = "<!-- made by `make bench`: begin -->";
const END: &str = "<!-- made by `make bench`: end -->";

fn rate(spread: Spread, unit: Unit) -> String {
    format!("{:.2}", spread.median / unit.size)
}

fn with_range(spread: Spread, size: f64) -> String {
    format!(
        "{:.2} ({:.2}-{:.2})",
        spread.median / size,
        spread.least / size,
        spread.most / size
    )
}

fn ratio(beside: &Beside) -> String {
    let mut text = match beside.ratio.median {
        ratio if ratio.is_nan() => "neither has any".to_owned(),
        ratio if ratio.is_infinite() => "klog has none".to_owned(),
        _ => with_range(beside.ratio, 1.0),
    };
    if let Some(floor) = beside.floor {
        let verdict = if beside.is_met() { "ok" } else { "MISSED" };
        write!(text, ", asked {floor:.1}: {verdict}").unwrap();
    }
    text
}

pub(crate) fn print_head() {
    println!("klog as a multiple of Kafka and of the other; medians of rounds, and the range");
}

pub(crate) fn print(row: &Row) {
    let mut line = format!(
        "{:<34} klog {} {}",
        row.name,
        with_range(row.klog, row.unit.size),
        row.unit.name
    );
    if let Some(kafka) = &row.kafka {
        write!(
            line,
            "; Kafka {}: {}",
            rate(kafka.rate, row.unit),
            ratio(kafka)
        )
        .unwrap();
    }
    if let Some((name, other)) = &row.other {
        write!(
            line,
            "; {name} {}: {}",
            rate(other.rate, row.unit),
            ratio(other)
        )
        .unwrap();
    }
    if let Verdict::BeyondRaw(raw, name) = row.verdict() {
        write!(line, "; beyond raw, which is {raw:.2} x {name}").unwrap();
    }
    println!("{line}");
}

/// Puts the table between its marks.
pub(crate) fn write(rows: &[Row], facts: &[String]) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/benchmarks.md");
    let old = fs::read_to_string(&path).unwrap();
    let (before, rest) = old.split_once(BEGIN).unwrap();
    let (_, after) = rest.split_once(END).unwrap();
    let made = made(rows, facts);
    fs::write(&path, format!("{before}{BEGIN}\n{made}{END}{after}")).unwrap();
}

fn made(rows: &[Row], facts: &[String]) -> String {
    let mut text = String::new();
    for fact in facts {
        writeln!(text, "- {fact}").unwrap();
    }
    text.push_str("\n| work | unit | klog | Kafka | klog / Kafka | other | klog / other | |\n|---|---|---|---|---|---|---|---|\n");
    for row in rows {
        let kafka = row.kafka.as_ref().map_or_else(Default::default, |kafka| {
            (with_range(kafka.rate, row.unit.size), ratio(kafka))
        });
        let other = row
            .other
            .as_ref()
            .map_or_else(Default::default, |(name, other)| {
                let rate = with_range(other.rate, row.unit.size);
                (format!("{name}: {rate}"), ratio(other))
            });
        let verdict = match row.verdict() {
            Verdict::NothingAsked => String::new(),
            Verdict::Met => "ok".to_owned(),
            Verdict::BeyondRaw(raw, name) => format!("**beyond raw**, which is {raw:.2} x {name}"),
            Verdict::Missed => "**MISSED**".to_owned(),
        };
        writeln!(
            text,
            "| {} | {} | {} | {} | {} | {} | {} | {verdict} |",
            row.name,
            row.unit.name,
            with_range(row.klog, row.unit.size),
            kafka.0,
            kafka.1,
            other.0,
            other.1
        )
        .unwrap();
    }
    text.push_str("\nWhat each row includes:\n\n");
    for row in rows {
        writeln!(text, "- {}: {}.", row.name, row.includes).unwrap();
    }
    text
}
