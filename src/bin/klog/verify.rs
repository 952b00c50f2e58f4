//! `klog verify` and `klog repair`.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use klog::error::{Error, Result};
use klog::inspect::repair::{self, Fate, Plan};
use klog::inspect::verify::{Flaw, Verdict, verify as look};
use klog::io::{Clock, FileSystem, RealFs, SystemClock};
use serde_json::json;

use super::args::{RepairArgs, VerifyArgs};
use super::{Failure, config_args, output_error, progress};

/// Prints what is damaged.
pub(crate) fn verify(args: &VerifyArgs) -> std::result::Result<ExitCode, Failure> {
    let verdict = progress::show("verifying", || {
        look(&RealFs, &args.dir, args.partition.as_ref())
    })?;
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    let looked = verdict.looked;
    let written = if args.json {
        let text = json!({
            "damaged": verdict.is_damaged(),
            "flaws": verdict.flaws.iter().map(to_json).collect::<Vec<_>>(),
            "unlisted": verdict.unlisted,
            "looked_at": {
                "logs": looked.logs,
                "segments": looked.segments,
                "batches": looked.batches,
                "records": looked.records,
                "bytes": looked.bytes,
            },
        });
        writeln!(out, "{text}")
    } else {
        write_flaws(&mut out, &verdict).and_then(|()| {
            writeln!(
                out,
                "verified logs={} segments={} batches={} records={} bytes={} damages={} notes={}",
                looked.logs,
                looked.segments,
                looked.batches,
                looked.records,
                looked.bytes,
                count(&verdict, "damage"),
                count(&verdict, "note"),
            )
        })
    };
    written
        .and_then(|()| out.flush())
        .map_err(|e| output_error(&e))?;
    Ok(code_of(&verdict))
}

fn code_of(verdict: &Verdict) -> ExitCode {
    if verdict.is_damaged() {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    }
}

fn count(verdict: &Verdict, severity: &str) -> u64 {
    let listed = verdict
        .flaws
        .iter()
        .filter(|flaw| flaw.severity.name() == severity);
    let unlisted = if severity == "damage" {
        verdict.unlisted
    } else {
        0
    };
    listed.count() as u64 + unlisted
}

fn write_flaws(out: &mut dyn Write, verdict: &Verdict) -> std::io::Result<()> {
    for flaw in &verdict.flaws {
        writeln!(out, "{flaw}")?;
    }
    if verdict.unlisted > 0 {
        writeln!(out, "and {} damages more", verdict.unlisted)?;
    }
    Ok(())
}

fn to_json(flaw: &Flaw) -> serde_json::Value {
    json!({
        "severity": flaw.severity.name(),
        "log": flaw.partition.as_ref().map(ToString::to_string),
        "file": flaw.path.to_string_lossy(),
        "position": flaw.position,
        "what": flaw.what,
        "cost": flaw.cost,
        "mend": flaw.mend,
    })
}

/// Says what a repair would do, or does it.
pub(crate) fn repair(args: &RepairArgs) -> std::result::Result<ExitCode, Failure> {
    let config = config_args::resolve(&args.dir.config, None)?;
    let fs: Arc<dyn FileSystem> = Arc::new(RealFs);
    let dir = &args.dir.dir;
    let quarantine = match &args.quarantine {
        Some(path) => path.clone(),
        None => beside(&*fs, dir)?,
    };
    let mut out = std::io::stdout().lock();
    if !args.apply {
        let plan = progress::show("planning", || repair::plan(&fs, dir, &config))?;
        write_plan(&mut out, &plan).map_err(|e| output_error(&e))?;
        if plan.verdict.is_damaged() {
            let place = quarantine.display();
            eprintln!("klog: nothing was changed; --apply does it, and keeps what goes in {place}");
        }
        return Ok(ExitCode::SUCCESS);
    }
    let done = progress::show("repairing", || {
        repair::apply(&fs, dir, &config, &quarantine)
    })?;
    write_plan(&mut out, &done.plan)
        .and_then(|()| match &done.quarantine {
            Some(path) => writeln!(out, "quarantine {}", path.display()),
            None => Ok(()),
        })
        .and_then(|()| write_flaws(&mut out, &done.left))
        .map_err(|e| output_error(&e))?;
    Ok(code_of(&done.left))
}

/// A folder beside a directory, named by the time.
fn beside(fs: &dyn FileSystem, dir: &Path) -> Result<PathBuf> {
    let dir = fs.canonicalize(dir)?;
    let name = dir.file_name().ok_or_else(|| {
        Error::invalid_argument(
            "the root directory has no place beside it: name one with --quarantine",
        )
    })?;
    let mut name = name.to_owned();
    name.push(format!(".quarantine-{}", SystemClock.now()));
    Ok(dir.with_file_name(name))
}

fn write_plan(out: &mut dyn Write, plan: &Plan) -> std::io::Result<()> {
    write_flaws(out, &plan.verdict)?;
    for change in &plan.changes {
        let path = change.path.display();
        let (before, after) = (change.bytes_before, change.bytes_after);
        match change.fate {
            Fate::Removed => writeln!(out, "remove {path} bytes={before}")?,
            Fate::Cut(from) => writeln!(out, "cut {path} from={from} bytes={}", before - from)?,
            Fate::Rewritten => writeln!(out, "rewrite {path} bytes={before} to={after}")?,
            Fate::Made => writeln!(out, "make {path} bytes={after}")?,
        }
    }
    if !plan.verdict.is_damaged() {
        writeln!(out, "nothing to repair")?;
    }
    Ok(())
}
