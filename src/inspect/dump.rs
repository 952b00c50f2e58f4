//! The canonical text of a log directory: what a load would leave, one fact a line. Implements fixtures/README.md 2.

use std::fmt::Write as _;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use super::batch_text::{HELD_BYTES_MAX, write_batch};
use super::{Look, ensure_is_dir, print_aborted, print_producers, stable_line};
use crate::config::Resolved;
use crate::error::{Error, ErrorKind, Result};
use crate::format::checkpoint::{
    self, CLEANER_FILE, HIGH_WATERMARK_FILE, LOG_START_FILE, Offsets, RECOVERY_POINT_FILE,
};
use crate::format::decoder::RecordDecoder;
use crate::format::marker;
use crate::format::meta_properties;
use crate::format::names::{DirKind, classify_dir};
use crate::io::{
    Clock, EntryKind, FileSystem, ManualClock, SMALL_FILE_BYTES_MAX, exists, read_file, read_parsed,
};
use crate::log::{Finding, FindingKind, Log};
use crate::segment::{BatchScan, Segment};
use crate::types::{TimestampMs, TopicPartition};

/// What to dump.
#[derive(Clone, Debug)]
pub struct DumpOptions {
    /// Only this log; `None` is all.
    pub only: Option<TopicPartition>,
    /// How logs are loaded.
    pub config: Arc<Resolved>,
    /// What time it is: 0 lets no producer expire.
    pub now: TimestampMs,
}

/// Writes the text of `dir` and answers what loading found.
pub fn dump(
    base: &Arc<dyn FileSystem>,
    dir: &Path,
    options: &DumpOptions,
    out: &mut dyn Write,
) -> Result<Vec<Finding>> {
    // The head is read before loading, which takes the marker.
    let clock: Arc<dyn Clock> = Arc::new(ManualClock::new(options.now));
    ensure_is_dir(&**base, dir)?;
    let head = head(&**base, dir)?;
    let look = Look::at(base, &clock, dir, &options.config)?;
    let entries = entries_in_order(&look, options.only.as_ref());
    if let (Some(only), true) = (&options.only, entries.is_empty()) {
        return Err(look
            .manager
            .log(only)
            .err()
            .unwrap_or_else(|| Error::new(ErrorKind::Bug, "a log was not listed")));
    }
    let mut text = head;
    let print = |text: &mut String, out: &mut dyn Write| -> Result<()> {
        out.write_all(text.as_bytes())
            .map_err(|e| Error::from_io("write to", Path::new("the output"), &e))?;
        text.clear();
        Ok(())
    };
    print(&mut text, out)?;
    let mut findings = look.findings();
    for entry in entries {
        match entry {
            Entry::Log(log) => {
                write_log(&mut text, &log, out, print, &mut findings)?;
                write_files(&mut text, &*look.fs, &log.dir())?;
            }
            Entry::Failed(partition) => {
                let _ = writeln!(text, "log {partition} error");
            }
        }
        print(&mut text, out)?;
    }
    Ok(findings)
}

/// The text of a log that is open, as it is now. `fs` is the file system that it is on.
pub fn log_text(fs: &dyn FileSystem, log: &Arc<Log>) -> Result<String> {
    let mut text = String::new();
    let mut out = Vec::new();
    let keep = |text: &mut String, out: &mut dyn Write| -> Result<()> {
        out.write_all(text.as_bytes())
            .map_err(|e| Error::from_io("write to", Path::new("the output"), &e))?;
        text.clear();
        Ok(())
    };
    write_log(&mut text, log, &mut out, keep, &mut Vec::new())?;
    write_files(&mut text, fs, &log.dir())?;
    keep(&mut text, &mut out)?;
    Ok(String::from_utf8_lossy(&out).into_owned())
}

enum Entry {
    Log(Arc<Log>),
    Failed(TopicPartition),
}

fn entries_in_order(look: &Look, only: Option<&TopicPartition>) -> Vec<Entry> {
    let mut entries: Vec<(TopicPartition, Entry)> = look
        .manager
        .logs()
        .into_iter()
        .map(|log| (log.partition().clone(), Entry::Log(log)))
        .collect();
    entries.extend(
        look.failed_logs()
            .map(|f| (f.partition.clone(), Entry::Failed(f.partition.clone()))),
    );
    entries.retain(|(partition, _)| only.is_none_or(|only| only == partition));
    entries.sort_by(|a, b| a.0.cmp(&b.0));
    entries.into_iter().map(|(_, entry)| entry).collect()
}

fn head(fs: &dyn FileSystem, dir: &Path) -> Result<String> {
    let mut text = String::from("dump 1\n");
    let clean = if exists(fs, &dir.join(marker::FILE))? {
        "yes"
    } else {
        "no"
    };
    let _ = writeln!(text, "clean {clean}");
    if let Some(content) = read_file(fs, &dir.join(meta_properties::FILE))? {
        for (key, value) in meta_properties::properties(&content)? {
            let _ = writeln!(text, "meta {key}={value}");
        }
    }
    for name in [
        CLEANER_FILE,
        LOG_START_FILE,
        RECOVERY_POINT_FILE,
        HIGH_WATERMARK_FILE,
    ] {
        let read = read_parsed(fs, &dir.join(name), SMALL_FILE_BYTES_MAX, checkpoint::parse)?;
        match read.unwrap_or_else(|| Ok(Offsets::new())) {
            Ok(offsets) => {
                for (partition, offset) in offsets {
                    let _ = writeln!(text, "checkpoint {name} {partition} {offset}");
                }
            }
            Err(_) => {
                let _ = writeln!(text, "checkpoint {name} unreadable");
            }
        }
    }
    let mut dirs: Vec<_> = fs
        .list(dir)?
        .into_iter()
        .filter(|e| e.kind == EntryKind::Dir)
        .collect();
    dirs.sort_by(|a, b| a.name.cmp(&b.name));
    for entry in dirs {
        let kind = match classify_dir(&entry.name) {
            DirKind::Log(_) => continue,
            DirKind::ClusterMetadata => "metadata",
            DirKind::Delete => "delete",
            DirKind::Stray => "stray",
            DirKind::Future(_) => "future",
            DirKind::Other => "other",
            DirKind::Unknown => "unknown",
        };
        let _ = writeln!(text, "dir {} {kind}", entry.name.display());
    }
    Ok(text)
}

fn write_log(
    text: &mut String,
    log: &Arc<Log>,
    out: &mut dyn Write,
    print: impl Fn(&mut String, &mut dyn Write) -> Result<()>,
    findings: &mut Vec<Finding>,
) -> Result<()> {
    let dir = log.dir();
    let mut note = |text| {
        findings.push(Finding {
            kind: FindingKind::Ignored,
            dir: dir.parent().unwrap_or(&dir).to_path_buf(),
            partition: Some(log.partition().clone()),
            status: None,
            text,
        });
    };
    let info = log.info();
    let _ = writeln!(
        text,
        "log {} start={} end={} segments={} recovery_point={} topic_id={}",
        log.partition(),
        info.log_start_offset,
        info.log_end_offset,
        info.segments,
        info.recovery_point,
        info.topic_id
            .map_or_else(|| "none".to_owned(), |id| id.to_string()),
    );
    let segments = log.segment_list();
    for segment in &segments {
        write_segment(text, segment, out, &print, &mut note)?;
    }
    for entry in log.epochs() {
        let _ = writeln!(text, "epoch {} {}", entry.epoch, entry.start_offset);
    }
    // There may be hundreds of thousands of them.
    print(text, out)?;
    print_producers(log, &mut |lines| print(lines, out))?;
    print_aborted(log, &mut |lines| print(lines, out))?;
    text.push_str(&stable_line(log));
    Ok(())
}

fn write_segment(
    text: &mut String,
    segment: &Arc<Segment>,
    out: &mut dyn Write,
    print: impl Fn(&mut String, &mut dyn Write) -> Result<()>,
    note: &mut dyn FnMut(String),
) -> Result<()> {
    let size = segment.size_bytes();
    let _ = writeln!(text, "seg {} size={size}", segment.base_offset());
    let offsets = segment.with_indexes(|indexes| indexes.offset_entries())?;
    write_runs(
        text,
        offsets
            .iter()
            .map(|e| format!("oi {} {}", e.offset, e.position)),
    );
    let times = segment.with_indexes(|indexes| indexes.time_entries())?;
    write_runs(
        text,
        times
            .iter()
            .map(|e| format!("ti {} {}", e.timestamp, e.offset)),
    );
    let mut decoder = RecordDecoder::new();
    decoder.bound_memory(HELD_BYTES_MAX as usize);
    let mut scan = BatchScan::new(Arc::clone(segment.file()), 0..size);
    loop {
        let position = scan.position();
        match scan.next_batch() {
            Ok(Some(scanned)) => {
                let mut flush = |text: &mut String| print(text, out);
                let problem = write_batch(text, &mut scan, &scanned, &mut decoder, &mut flush)?;
                if let Some(problem) = problem {
                    note(format!(
                        "records of the batch at position {position} of segment {} are not listed: {problem}",
                        segment.base_offset()
                    ));
                }
                print(text, out)?;
            }
            Ok(None) => break,
            Err(e) if e.is_corrupt_data() => {
                let _ = writeln!(text, "bad pos={position}");
                return Ok(());
            }
            Err(e) => return Err(e),
        }
    }
    let rest = scan.rest_bytes();
    if rest > 0 {
        let _ = writeln!(text, "rest pos={} bytes={rest}", scan.position());
    }
    Ok(())
}

/// Writes lines, equal ones that follow each other once with their number.
fn write_runs(text: &mut String, lines: impl Iterator<Item = String>) {
    let mut run: Option<(String, usize)> = None;
    let flush = |text: &mut String, (line, n): (String, usize)| {
        let _ = if n > 1 {
            writeln!(text, "{line} x{n}")
        } else {
            writeln!(text, "{line}")
        };
    };
    for line in lines {
        match &mut run {
            Some((last, n)) if *last == line => *n += 1,
            _ => {
                if let Some(done) = run.replace((line, 1)) {
                    flush(text, done);
                }
            }
        }
    }
    if let Some(done) = run {
        flush(text, done);
    }
}

fn write_files(text: &mut String, fs: &dyn FileSystem, dir: &Path) -> Result<()> {
    let entries = match fs.list(dir) {
        // Its owner removed the directory since it was loaded: it has no files any more.
        Err(e) if e.is_not_found() => return Ok(()),
        listed => listed?,
    };
    let mut names: Vec<_> = entries.into_iter().map(|entry| entry.name).collect();
    names.sort();
    for name in names
        .iter()
        .map(|name| name.display().to_string())
        .filter(|name| !name.ends_with(".deleted"))
    {
        let _ = writeln!(text, "file {name}");
    }
    Ok(())
}
