//! From what was counted to plots.
#![allow(
    clippy::cast_precision_loss,
    reason = "places in a picture of a few hundred points"
)]

use std::collections::BTreeMap;
use std::fmt::Write as _;

use klog::inspect::stat::{LogStat, SegmentRun, Share, Timeline, wider};

use super::plot::{Axis, Bar, Plot};
use super::scale;
use crate::units;

/// A plot of time has no more bars.
const BARS_MAX: i64 = 72;
const Y_STEPS: usize = 4;
const X_STEPS: usize = 6;
/// Spans at the ends that hold less than one of so many are left out, if that shows the rest better.
const OUTSIDE_SHARE: u64 = 200;
/// How many times longer the axis would be with them.
const OUTSIDE_STRETCH: i64 = 4;

/// What is plotted of each span.
#[derive(Clone, Copy)]
pub(crate) enum What {
    Bytes,
    Records,
}

impl What {
    fn of(self, share: &Share) -> u64 {
        match self {
            Self::Bytes => share.stored_bytes,
            Self::Records => share.records,
        }
    }

    fn axis(self, max: u64) -> Axis {
        match self {
            Self::Bytes => Axis::up("bytes as stored", scale::of_bytes(max as f64, Y_STEPS)),
            Self::Records => Axis::up("records", scale::of_counts(max as f64, Y_STEPS)),
        }
    }
}

/// Counts over time; none if there are none.
pub(crate) fn over_time(title: &str, what: What, timeline: &Timeline) -> Option<Plot> {
    let inside = inside(timeline, what)?;
    let wide = timeline.widened(inside.width_ms);
    let width = wide.width_ms();
    let shown: BTreeMap<i64, Share> = wide
        .spans()
        .range(inside.first.saturating_sub(width - 1)..=inside.last)
        .map(|(start, share)| (*start, *share))
        .collect();
    let first = *shown.keys().next()?;
    let end = shown.keys().next_back()?.saturating_add(width);
    let max = shown.values().map(|share| what.of(share)).max()?;
    let bars = shown
        .iter()
        .map(|(start, share)| Bar {
            from: *start as f64,
            to: start.saturating_add(width) as f64,
            bottom: 0.0,
            top: what.of(share) as f64,
            class: "one",
            label: format!(
                "{} and {} after: {}",
                units::time(*start),
                units::duration(width.unsigned_abs()),
                share_text(share)
            ),
        })
        .collect();
    let mut note = format!("A bar is {}.", units::duration(width.unsigned_abs()));
    let outside = timeline
        .spans()
        .range(..first)
        .chain(timeline.spans().range(end..));
    let (spans, left_out) = outside.fold((0, 0), |(spans, sum), (_, share)| {
        (spans + 1, sum + what.of(share))
    });
    if spans > 0 {
        let text = match what {
            What::Bytes => units::bytes(left_out),
            What::Records => units::counted(left_out, "record", "records"),
        };
        let (from, to) = (
            timeline.spans().keys().next()?,
            timeline.spans().keys().next_back()?,
        );
        let _ = write!(
            note,
            " Not shown: {text} far away from the others, between {} and {}.",
            units::time(*from),
            units::time(*to)
        );
    }
    let timeless = what.of(&timeline.timeless());
    if timeless > 0 {
        let text = match what {
            What::Bytes => units::bytes(timeless),
            What::Records => units::counted(timeless, "record", "records"),
        };
        let _ = write!(note, " Without a timestamp: {text}.");
    }
    Some(Plot {
        title: title.to_owned(),
        note,
        x: Axis {
            title: time_title(first, end),
            from: first as f64,
            to: end as f64,
            ticks: scale::of_times(first, end, X_STEPS),
        },
        y: what.axis(max),
        bars,
        legend: Vec::new(),
    })
}

/// The part of the time that is shown, and how wide its bars are.
struct Inside {
    first: i64,
    last: i64,
    width_ms: i64,
}

fn inside(timeline: &Timeline, what: What) -> Option<Inside> {
    let spans = timeline.spans();
    let (mut first, mut last) = (*spans.keys().next()?, *spans.keys().next_back()?);
    let whole: u64 = spans.values().map(|share| what.of(share)).sum();
    let room = whole / OUTSIDE_SHARE;
    let core = |mut keys: Box<dyn Iterator<Item = (&i64, &Share)> + '_>| {
        let mut left_out = 0;
        keys.find_map(|(start, share)| {
            left_out += what.of(share);
            (left_out > room).then_some(*start)
        })
    };
    let from = core(Box::new(spans.iter())).unwrap_or(first);
    let to = core(Box::new(spans.iter().rev())).unwrap_or(last);
    let length = |from: i64, to: i64| to.saturating_sub(from).saturating_add(timeline.width_ms());
    if length(first, last) / OUTSIDE_STRETCH >= length(from, to) {
        (first, last) = (from, to);
    }
    let mut width_ms = timeline.width_ms();
    while length(first, last) / width_ms > BARS_MAX {
        width_ms = wider(width_ms);
    }
    Some(Inside {
        first,
        last,
        width_ms,
    })
}

fn time_title(first: i64, end: i64) -> String {
    let (from, to) = (units::date(first), units::date(end.saturating_sub(1)));
    if from == to {
        format!("time (UTC), {from}")
    } else {
        format!("time (UTC), {from} to {to}")
    }
}

fn share_text(share: &Share) -> String {
    let mut parts = vec![units::bytes(share.stored_bytes)];
    if share.batches > 0 {
        parts.push(units::counted(share.records, "record", "records"));
        parts.push(units::counted(share.batches, "batch", "batches"));
    }
    parts.join(", ")
}

/// When bytes go by age.
pub(crate) fn due(due: &Timeline) -> Option<Plot> {
    let mut plot = over_time("What retention.ms will delete, and when", What::Bytes, due)?;
    "bytes that go".clone_into(&mut plot.y.title);
    plot.note
        .push_str(" If nothing is appended; what would go now is left out.");
    for bar in &mut plot.bars {
        bar.class = "goes";
    }
    Some(plot)
}

/// How large batches are.
pub(crate) fn batch_sizes(sizes: &BTreeMap<u32, Share>) -> Option<Plot> {
    let (first, last) = (*sizes.keys().next()?, *sizes.keys().next_back()?);
    let max = sizes.values().map(|share| share.batches).max()?;
    let bars = sizes
        .iter()
        .map(|(power, share)| Bar {
            from: f64::from(*power),
            to: f64::from(power + 1),
            bottom: 0.0,
            top: share.batches as f64,
            class: "one",
            label: format!(
                "{} to {}: {}",
                units::bytes(1 << power),
                units::bytes(1 << (power + 1)),
                share_text(share)
            ),
        })
        .collect();
    Some(Plot {
        title: "How large batches are".to_owned(),
        note: "Sizes double from bar to bar.".to_owned(),
        x: Axis {
            title: "size of a batch as stored".to_owned(),
            from: f64::from(first),
            to: f64::from(last + 1),
            ticks: scale::of_powers(first, last + 1, 7),
        },
        y: Axis::up("batches", scale::of_counts(max as f64, Y_STEPS)),
        bars,
        legend: Vec::new(),
    })
}

/// The segments of a log, where they lie and how large they are.
pub(crate) fn segments(stat: &LogStat) -> Option<Plot> {
    let runs = stat.runs.list();
    let (first, last) = (runs.first()?, runs.last()?);
    let max = runs.iter().map(|run| run.bytes).max()?;
    let (from, to) = (first.base.0, last.end.0.max(first.base.0 + 1));
    let goes = stat.retention_takes.0 > 0;
    let bars: Vec<Bar> = runs
        .iter()
        .enumerate()
        .map(|(i, run)| Bar {
            from: run.base.0 as f64,
            to: run.end.0 as f64,
            bottom: 0.0,
            top: run.bytes as f64,
            class: match run {
                run if goes && run.end <= stat.retention_upto => "goes",
                _ if i + 1 == runs.len() => "active",
                _ => "one",
            },
            label: run_text(run),
        })
        .collect();
    let per_run = stat.runs.per_run() as u64;
    let mut legend = vec![("active", "with the active segment"), ("one", "older")];
    if runs.len() == 1 {
        legend.pop();
    }
    if goes {
        legend.push(("goes", "retention would delete it now"));
    }
    Some(Plot {
        title: "Segments by offset".to_owned(),
        note: if per_run == 1 {
            "A bar is a segment.".to_owned()
        } else {
            format!("A bar is {} segments.", units::count(per_run))
        },
        x: Axis {
            title: "offset".to_owned(),
            from: from as f64,
            to: to as f64,
            ticks: scale::of_offsets(from as f64, to as f64, 5),
        },
        y: Axis::up("bytes of .log files", scale::of_bytes(max as f64, Y_STEPS)),
        bars,
        legend,
    })
}

/// The same by time: which times each segment holds.
pub(crate) fn segment_times(stat: &LogStat) -> Option<Plot> {
    let timed: Vec<(&SegmentRun, i64, i64)> = stat
        .runs
        .list()
        .iter()
        .filter_map(|run| {
            let (first, last) = run.times?;
            Some((run, first.0, last.0))
        })
        .collect();
    let first = timed.iter().map(|(_, first, _)| *first).min()?;
    let last = timed.iter().map(|(_, _, last)| *last).max()?;
    let base = stat.runs.list().first()?.base.0;
    let to = stat.end.0.max(base.saturating_add(1));
    let goes = stat.retention_takes.0 > 0;
    let end = last.max(first.saturating_add(60_000));
    let bars = timed
        .iter()
        .map(|(run, first, last)| Bar {
            from: *first as f64,
            to: *last as f64,
            bottom: run.base.0 as f64,
            top: run.end.0 as f64,
            class: match run {
                run if goes && run.end <= stat.retention_upto => "goes",
                run if run.end == stat.end => "active",
                _ => "one",
            },
            label: run_text(run),
        })
        .collect();
    Some(Plot {
        title: "Segments by time".to_owned(),
        note:
            "From the first to the last timestamp, and from the first to the last offset of each."
                .to_owned(),
        x: Axis {
            title: time_title(first, end),
            from: first as f64,
            to: end as f64,
            ticks: scale::of_times(first, end, X_STEPS),
        },
        y: Axis {
            title: "offset".to_owned(),
            from: base as f64,
            to: to as f64,
            ticks: scale::of_offsets(base as f64, to as f64, 6),
        },
        bars,
        legend: Vec::new(),
    })
}

fn run_text(run: &SegmentRun) -> String {
    let mut text = format!(
        "offsets {} to {}: {}, {}",
        units::signed(run.base.0),
        units::signed(run.end.0),
        units::bytes(run.bytes),
        units::counted(run.records, "record", "records")
    );
    if run.segments > 1 {
        let _ = write!(text, ", {} segments", units::count(run.segments as u64));
    }
    if let Some((first, last)) = run.times {
        let _ = write!(
            text,
            ", {} to {}",
            units::time(first.0),
            units::time(last.0)
        );
    }
    text
}
