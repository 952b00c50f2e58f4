//! Compares the files of two closed logs.

use std::fs;
use std::path::Path;

use klog::format::snapshot;

use super::side::{Opening, State};
use crate::kafka::{partition_files, unlike};
use crate::support::canonical::{LogLines, Text};
use crate::support::engine::CLEAN_MARKER;
use crate::support::tree::{self, Content};

/// Where the files of two logs differ that were closed in order, a line for each; `reencodes` if batches and what depends
/// on their sizes are each side's own. Both end in this state.
pub(crate) fn differences(
    left: &Path,
    right: &Path,
    state: &State,
    reencodes: bool,
) -> Vec<String> {
    let files = |dir: &Path| {
        let mut files = partition_files(dir);
        files.retain(|path, _| !is_stray(path, state));
        if reencodes {
            files.retain(|path, _| {
                !matches!(
                    path.extension().and_then(|ending| ending.to_str()),
                    Some("log" | "index")
                )
            });
        }
        sort_snapshots(&mut files);
        // No epochs: before the first one was written, or after all were dropped (state.md 7.7).
        for (path, content) in &mut files {
            if path.ends_with("leader-epoch-checkpoint") && content.as_deref() == Some(b"0\n0\n") {
                *content = Some(Vec::new());
            }
        }
        files
    };
    tree::differences(&files(left), &files(right))
}

/// Whether the next load removes the file before it looks at anything (state.md 6.4, 6.5): a snapshot at no segment's base, or
/// not above the log start, that is not the last one.
fn is_stray(path: &Path, state: &State) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    let offset = name.and_then(|name| name.strip_suffix(".snapshot")?.parse::<i64>().ok());
    offset.is_some_and(|offset| {
        let is_base = state.segments.iter().any(|(base, _)| *base == offset);
        let is_last = offset == state.end;
        !is_last && (!is_base || offset <= state.start && state.start < state.end)
    })
}

/// The order of a snapshot's entries is nobody's rule (state.md 6.1).
fn sort_snapshots(files: &mut Content) {
    for (path, content) in files {
        if path.extension() != Some("snapshot".as_ref()) {
            continue;
        }
        let parsed = content.as_deref().map(snapshot::parse);
        if let Some(Ok(mut entries)) = parsed {
            entries.sort_by_key(|entry| entry.producer_id);
            *content = Some(snapshot::write(&entries));
        }
    }
}

/// Where two dumps of the same log differ.
pub(crate) fn dump_difference(left: &str, right: &str, reencodes: bool) -> Option<String> {
    let log = |text: &str| {
        let lines = Text::parse(text).log("t-0").clone();
        if reencodes {
            without_sizes(&lines)
        } else {
            lines
        }
    };
    unlike(&log(left), &log(right))
}

/// The lines without what depends on how bytes were compressed.
fn without_sizes(lines: &LogLines) -> LogLines {
    let kept = lines.0.iter().filter(|line| !line.starts_with("oi "));
    let strip = |line: &String| {
        if let Some((segment, _)) = line
            .split_once(" size=")
            .filter(|_| line.starts_with("seg "))
        {
            return format!("{segment} size=0");
        }
        if !line.starts_with("batch ") {
            return line.clone();
        }
        let words = line.split(' ');
        let kept: Vec<&str> = words
            .filter(|word| {
                !["pos=", "size=", "crc="]
                    .iter()
                    .any(|front| word.starts_with(front))
            })
            .collect();
        kept.join(" ")
    };
    LogLines(kept.map(strip).collect())
}

/// Makes a directory one that was closed in order, or was not, with these checkpoints.
pub(crate) fn write_checkpoints(dir: &Path, opening: &Opening) {
    let marker = dir.join(CLEAN_MARKER);
    if opening.clean {
        fs::write(marker, "{\"version\":0,\"brokerEpoch\":-1}").unwrap();
    } else {
        let _ = fs::remove_file(marker);
    }
    for (name, offset) in [
        ("recovery-point-offset-checkpoint", opening.recovery_point),
        ("log-start-offset-checkpoint", opening.start),
    ] {
        fs::write(dir.join(name), format!("0\n1\nt 0 {offset}\n")).unwrap();
    }
}
