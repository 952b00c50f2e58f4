//! Putting a damaged log directory in order: what recovery would do, known before it is done, and nothing thrown away.
//!
//! A plan is a whole recovery of the damaged logs on an overlay: the list of its changes. Applying it copies every byte that
//! will go into a quarantine folder outside of the directory, makes that durable, and then recovers for real. Whatever
//! interrupts that, the directory is one that was not closed in order, as after a crash.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::mend::mend;
use super::verify::{Severity, Verdict, verify};
use crate::config::Resolved;
use crate::error::{Error, ErrorKind, Result};
use crate::format::checkpoint::{self, RECOVERY_POINT_FILE};
use crate::format::{epoch_checkpoint, marker};
use crate::io::{
    File, FileLock, FileSystem, OpenMode, OverlayFs, SMALL_FILE_BYTES_MAX, create_dir_all, exists,
    read_parsed, remove_file_if_exists, replace_file, sync_name,
};
use crate::log::Finding;
use crate::manager::{Manager, ManagerOptions};
use crate::types::{TopicPartition, to_usize};

/// Files are compared and copied in pieces of this size.
const PIECE_BYTES: usize = 1 << 20;

/// What becomes of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It goes.
    Removed,
    /// It loses its end, from here on.
    Cut(u64),
    /// It gets another content.
    Rewritten,
    /// It comes.
    Made,
}

/// A file that a repair changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Its path below the directory.
    pub path: PathBuf,
    /// What becomes of it.
    pub fate: Fate,
    /// Its bytes now.
    pub bytes_before: u64,
    /// Its bytes then.
    pub bytes_after: u64,
}

impl Change {
    /// The bytes that go to the quarantine, as a range of the file as it is now.
    #[must_use]
    pub fn quarantined(&self) -> std::ops::Range<u64> {
        match self.fate {
            Fate::Removed | Fate::Rewritten => 0..self.bytes_before,
            Fate::Cut(from) => from..self.bytes_before,
            Fate::Made => 0..0,
        }
    }

    /// The name of its piece in the quarantine.
    #[must_use]
    pub fn piece(&self) -> PathBuf {
        match self.fate {
            Fate::Cut(from) => {
                let mut name = self.path.as_os_str().to_owned();
                name.push(format!(".from-{from}"));
                PathBuf::from(name)
            }
            _ => self.path.clone(),
        }
    }
}

/// What a repair would do.
#[derive(Clone, Debug)]
pub struct Plan {
    /// What is damaged.
    pub verdict: Verdict,
    /// The files that change, by name.
    pub changes: Vec<Change>,
    /// What recovery says of them.
    pub findings: Vec<Finding>,
}

/// What a repair did.
#[derive(Clone, Debug)]
pub struct Repaired {
    /// The plan that was carried out.
    pub plan: Plan,
    /// Where the bytes are that went; none if none did.
    pub quarantine: Option<PathBuf>,
    /// What is still damaged: recovery brings no lost records back.
    pub left: Verdict,
}

/// What repairing `dir` would do. Writes nothing.
pub fn plan(base: &Arc<dyn FileSystem>, dir: &Path, config: &Arc<Resolved>) -> Result<Plan> {
    let verdict = verify(&**base, dir, None)?;
    let overlay = Arc::new(OverlayFs::new(Arc::clone(base)));
    if !verdict.is_damaged() {
        return Ok(Plan {
            verdict,
            changes: Vec::new(),
            findings: Vec::new(),
        });
    }
    mend(&*overlay, dir, &verdict)?;
    forget(&*overlay, dir, &verdict)?;
    let fs: Arc<dyn FileSystem> = Arc::clone(&overlay) as Arc<dyn FileSystem>;
    let findings = recover(&fs, dir, config)?;
    let root = base.canonicalize(dir)?;
    let mut changes = Vec::new();
    for path in overlay.changed_paths() {
        let Some(inside) = inside(&path, dir, &root) else {
            continue;
        };
        changes.extend(change(&**base, &*overlay, &path, inside)?);
    }
    Ok(Plan {
        verdict,
        changes,
        findings,
    })
}

/// Repairs `dir`. What is cut goes into `quarantine`, which must not be there yet and lies outside of it.
pub fn apply(
    fs: &Arc<dyn FileSystem>,
    dir: &Path,
    config: &Arc<Resolved>,
    quarantine: &Path,
) -> Result<Repaired> {
    let lock = lock(&**fs, dir)?;
    let plan = plan(fs, dir, config)?;
    if !plan.verdict.is_damaged() {
        return Ok(Repaired {
            left: plan.verdict.clone(),
            plan,
            quarantine: None,
        });
    }
    ensure_outside(&**fs, dir, quarantine)?;
    let kept = keep(&**fs, dir, quarantine, &plan)?;
    mend(&**fs, dir, &plan.verdict)?;
    forget(&**fs, dir, &plan.verdict)?;
    // The recovery takes it anew.
    drop(lock);
    recover(fs, dir, config)?;
    Ok(Repaired {
        left: verify(&**fs, dir, None)?,
        plan,
        quarantine: kept.then(|| quarantine.to_path_buf()),
    })
}

fn lock(fs: &dyn FileSystem, dir: &Path) -> Result<Box<dyn FileLock>> {
    fs.lock(&dir.join(".lock"))?.ok_or_else(|| {
        Error::new(
            ErrorKind::DirLocked,
            format!(
                "{} is in use by another process: stop the broker first",
                dir.display()
            ),
        )
        .in_file(dir)
    })
}

/// Lets the next load recover the damaged logs from their first byte on, and the others as after a crash.
fn forget(fs: &dyn FileSystem, dir: &Path, verdict: &Verdict) -> Result<()> {
    if remove_file_if_exists(fs, &dir.join(marker::FILE))? {
        fs.sync_dir(dir)?;
    }
    let damaged: BTreeSet<&TopicPartition> = verdict
        .flaws
        .iter()
        .filter(|flaw| flaw.severity == Severity::Damage)
        .filter_map(|flaw| flaw.partition.as_ref())
        .collect();
    // Recovery adds to what the file says; from none it takes what the batches say.
    for flaw in verdict
        .flaws
        .iter()
        .filter(|flaw| flaw.severity == Severity::Damage && flaw.is_of_epochs())
    {
        if let Some(partition) = &flaw.partition {
            let file = dir.join(partition.to_string()).join(epoch_checkpoint::FILE);
            remove_file_if_exists(fs, &file)?;
        }
    }
    let path = dir.join(RECOVERY_POINT_FILE);
    let known = read_parsed(fs, &path, SMALL_FILE_BYTES_MAX, checkpoint::parse)?
        .and_then(Result::ok)
        .unwrap_or_default();
    let kept = known
        .into_iter()
        // Flaws beyond those that are listed may be of any log.
        .filter(|(partition, _)| verdict.unlisted == 0 && !damaged.contains(partition))
        .collect();
    replace_file(fs, &path, &checkpoint::write(&kept))
}

fn recover(fs: &Arc<dyn FileSystem>, dir: &Path, config: &Arc<Resolved>) -> Result<Vec<Finding>> {
    let manager = Manager::open(ManagerOptions {
        fs: Arc::clone(fs),
        ..ManagerOptions::new(vec![dir.to_path_buf()], Arc::clone(config))
    })?;
    let findings = manager.report().to_vec();
    manager.close()?;
    Ok(findings)
}

fn inside<'p>(path: &'p Path, dir: &Path, root: &Path) -> Option<&'p Path> {
    path.strip_prefix(dir)
        .or_else(|_| path.strip_prefix(root))
        .ok()
}

/// How a file of the overlay differs from that of the base; none if it does not.
fn change(
    base: &dyn FileSystem,
    overlay: &dyn FileSystem,
    path: &Path,
    inside: &Path,
) -> Result<Option<Change>> {
    let (before, after) = (open(base, path)?, open(overlay, path)?);
    let len = |file: &Option<Arc<dyn File>>| file.as_ref().map_or(Ok(0), |file| file.len());
    let (bytes_before, bytes_after) = (len(&before)?, len(&after)?);
    let fate = match (&before, &after) {
        (None, None) => return Ok(None),
        (None, Some(_)) => Fate::Made,
        (Some(_), None) => Fate::Removed,
        (Some(before), Some(after)) => {
            let common = bytes_before.min(bytes_after);
            if !is_same(&**before, &**after, common)? {
                Fate::Rewritten
            } else if bytes_after < bytes_before {
                Fate::Cut(bytes_after)
            } else if bytes_after > bytes_before {
                Fate::Rewritten
            } else {
                return Ok(None);
            }
        }
    };
    Ok(Some(Change {
        path: inside.to_path_buf(),
        fate,
        bytes_before,
        bytes_after,
    }))
}

/// A file; none if there is none of that name, or it is no file.
fn open(fs: &dyn FileSystem, path: &Path) -> Result<Option<Arc<dyn File>>> {
    match fs.stat(path) {
        Ok(stat) if stat.kind == crate::io::EntryKind::File => {
            fs.open(path, OpenMode::Read).map(Some)
        }
        Ok(_) => Ok(None),
        Err(e) if e.is_not_found() => Ok(None),
        Err(e) => Err(e),
    }
}

fn is_same(a: &dyn File, b: &dyn File, len: u64) -> Result<bool> {
    let mut pieces = (vec![0; PIECE_BYTES], vec![0; PIECE_BYTES]);
    let mut at = 0;
    while at < len {
        let n = to_usize(len - at).min(PIECE_BYTES);
        let (of_a, of_b) = (
            pieces.0.get_mut(..n).unwrap_or_default(),
            pieces.1.get_mut(..n).unwrap_or_default(),
        );
        if a.read_at(of_a, at)? != n || b.read_at(of_b, at)? != n || of_a != of_b {
            return Ok(false);
        }
        at += n as u64;
    }
    Ok(true)
}

fn ensure_outside(fs: &dyn FileSystem, dir: &Path, quarantine: &Path) -> Result<()> {
    let refuse = |why: &str| {
        Err(Error::invalid_argument(format!(
            "the quarantine {} {why}: name another with --quarantine",
            quarantine.display()
        )))
    };
    if exists(fs, quarantine)? {
        return refuse("is there already");
    }
    let root = fs.canonicalize(dir)?;
    let above = quarantine
        .ancestors()
        .skip(1)
        .map(|above| {
            if above.as_os_str().is_empty() {
                Path::new(".")
            } else {
                above
            }
        })
        .find(|above| fs.stat(above).is_ok());
    match above {
        Some(above) if fs.canonicalize(above)?.starts_with(&root) => {
            refuse("lies inside of the log directory")
        }
        _ => Ok(()),
    }
}

/// Copies what will go. Whether anything will.
fn keep(fs: &dyn FileSystem, dir: &Path, quarantine: &Path, plan: &Plan) -> Result<bool> {
    let mut any = false;
    for change in &plan.changes {
        let range = change.quarantined();
        // An empty file is not worth a copy, unless it is one that goes.
        if range.is_empty() && change.fate != Fate::Removed {
            continue;
        }
        let to = quarantine.join(change.piece());
        if let Some(parent) = to.parent() {
            create_dir_all(fs, parent)?;
        }
        let source = fs.open(&dir.join(&change.path), OpenMode::Read)?;
        let target = fs.open(&to, OpenMode::Truncate)?;
        let (mut piece, zeros) = (vec![0; PIECE_BYTES], vec![0; PIECE_BYTES]);
        let mut at = range.start;
        // A hole stays one: files of indexes may be all hole.
        while let Some(written) = source.written_from(at)?.filter(|at| *at < range.end) {
            at = written;
            let n = to_usize(range.end - at).min(PIECE_BYTES);
            let bytes = piece.get_mut(..n).unwrap_or_default();
            let read = source.read_at(bytes, at)?;
            if read < n {
                return Err(shorter(&change.path));
            }
            if zeros.get(..n) != Some(&*bytes) {
                target.write_at(bytes, at - range.start)?;
            }
            at += n as u64;
        }
        if source.len()? < range.end {
            return Err(shorter(&change.path));
        }
        target.set_len(range.end - range.start)?;
        target.sync()?;
        sync_name(fs, &to)?;
        any = true;
    }
    Ok(any)
}

fn shorter(path: &Path) -> Error {
    Error::new(
        ErrorKind::KafkaStorage,
        format!("{} became shorter: somebody writes to it", path.display()),
    )
}
