//! The log directories: which of them can be used, and whose they are. Implements manager.md 1.2-1.6.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::ManagerOptions;
use super::checkpoints::Checkpoints;
use crate::error::{Error, ErrorKind, Result};
use crate::format::checkpoint::{LOG_START_FILE, RECOVERY_POINT_FILE};
use crate::format::meta_properties::{self, MetaProperties};
use crate::io::{EntryKind, FileLock, FileSystem, OpenMode, create_dir_all, read_file, sync_name};
use crate::log::{DirHealth, Finding, FindingKind, Log, Monitor};

/// What to do about a log directory that does not exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum MissingDir {
    /// LOG_DIR_NOT_FOUND: a misspelt path must not become an empty directory.
    #[default]
    Refuse,
    /// Make it, with those above it, as Kafka does.
    Create,
}

/// Name of the file that holds a directory's lock.
pub(super) const LOCK_FILE: &str = ".lock";

/// A log directory.
#[derive(Debug)]
pub(super) struct LogDir {
    pub(super) path: PathBuf,
    pub(super) health: Arc<DirHealth>,
    /// What its `meta.properties` says.
    pub(super) meta: parking_lot::RwLock<MetaProperties>,
    pub(super) was_clean: bool,
    /// Held from opening to closing.
    pub(super) lock: parking_lot::Mutex<Option<Box<dyn FileLock>>>,
    pub(super) checkpoints: Checkpoints,
    /// Held while checkpoints are written, from looking at the logs on: an older look must not be written over a later one.
    pub(super) checkpointing: parking_lot::Mutex<()>,
}

impl LogDir {
    fn new(path: PathBuf, monitor: &Arc<Monitor>) -> Self {
        Self {
            health: Arc::new(DirHealth::watched(path.clone(), Arc::clone(monitor))),
            path,
            meta: parking_lot::RwLock::default(),
            was_clean: false,
            lock: parking_lot::Mutex::new(None),
            checkpoints: Checkpoints::default(),
            checkpointing: parking_lot::Mutex::new(()),
        }
    }

    /// Whether a log lies in it.
    pub(super) fn holds(&self, log: &Log) -> bool {
        log.dir().parent() == Some(self.path.as_path())
    }

    pub(super) fn is_online(&self) -> bool {
        self.health.failure().is_none()
    }

    /// Takes the directory out of use for this opening.
    pub(super) fn fail(&self, error: Error, report: &mut Vec<Finding>) {
        report.push(Finding {
            kind: FindingKind::Failed,
            dir: self.path.clone(),
            partition: None,
            status: Some(error.kind()),
            text: error.message().to_owned(),
        });
        let _ = self.health.fail(error);
    }
}

/// Opens the directories as far as that needs no log: validates, locks, reads whose they are. A directory that fails is
/// offline; two names of one directory, a foreign lock, and no directory left are errors of the whole.
pub(super) fn open_dirs(
    options: &ManagerOptions,
    monitor: &Arc<Monitor>,
    report: &mut Vec<Finding>,
) -> Result<Vec<LogDir>> {
    let fs = &*options.fs;
    if options.dirs.is_empty() {
        return Err(Error::invalid_argument("no log directory was given"));
    }
    options.config.broker.check_dirs(&options.dirs)?;
    let mut dirs: Vec<LogDir> = Vec::new();
    let mut seen: Vec<PathBuf> = Vec::new();
    for given in &options.dirs {
        let path = absolute(given)?;
        let dir = LogDir::new(path.clone(), monitor);
        match validate(fs, &path, options.missing_dir) {
            Ok(canonical) => {
                if seen.contains(&canonical) {
                    let all: Vec<String> = options
                        .dirs
                        .iter()
                        .map(|d| d.display().to_string())
                        .collect();
                    return Err(Error::invalid_argument(format!(
                        "Duplicate log directory found: {}",
                        all.join(", ")
                    ))
                    .in_file(&path));
                }
                if let Some(other) = seen
                    .iter()
                    .find(|other| canonical.starts_with(other) || other.starts_with(&canonical))
                {
                    return Err(Error::invalid_argument(format!(
                        "the log directories {} and {} lie one in the other; take two that lie side by side",
                        other.display(),
                        canonical.display()
                    ))
                    .in_file(&path));
                }
                seen.push(canonical);
            }
            Err(e) => dir.fail(e, report),
        }
        dirs.push(dir);
    }
    ensure_any_online(&dirs)?;
    for dir in dirs.iter().filter(|dir| dir.is_online()) {
        match fs.lock(&dir.path.join(LOCK_FILE)) {
            Ok(Some(lock)) => *dir.lock.lock() = Some(lock),
            Ok(None) => {
                return Err(Error::new(
                    ErrorKind::DirLocked,
                    format!(
                        "cannot lock {} in {}: another process or manager is using this directory; close it first",
                        LOCK_FILE,
                        dir.path.display()
                    ),
                )
                .in_file(&dir.path));
            }
            Err(e) => dir.fail(e, report),
        }
    }
    for dir in dirs.iter_mut().filter(|dir| dir.is_online()) {
        match read_meta(fs, &dir.path) {
            Ok(meta) => *dir.meta.get_mut() = meta,
            Err(e) => dir.fail(e, report),
        }
    }
    check_ensemble(&dirs, report);
    for dir in dirs.iter().filter(|dir| dir.is_online()) {
        let made = [RECOVERY_POINT_FILE, LOG_START_FILE]
            .iter()
            .try_for_each(|name| fs.open(&dir.path.join(name), OpenMode::Create).map(|_| ()));
        if let Err(e) = made {
            dir.fail(e, report);
        }
    }
    ensure_any_online(&dirs)?;
    Ok(dirs)
}

/// An error if no directory is left; that of the first one.
pub(super) fn ensure_any_online(dirs: &[LogDir]) -> Result<()> {
    if dirs.iter().any(LogDir::is_online) {
        return Ok(());
    }
    match dirs.first().and_then(|dir| dir.health.failure()) {
        Some(failure) => Err(failure),
        None => Err(Error::invalid_argument("no log directory was given")),
    }
}

fn absolute(path: &Path) -> Result<PathBuf> {
    if path.as_os_str().is_empty() {
        return Err(Error::invalid_argument(
            "the path of a log directory is empty",
        ));
    }
    std::path::absolute(path).map_err(|e| Error::from_io("resolve", path, &e))
}

fn validate(fs: &dyn FileSystem, path: &Path, missing: MissingDir) -> Result<PathBuf> {
    match fs.stat(path) {
        Err(e) if e.is_not_found() && missing == MissingDir::Create => create_dir_all(fs, path)
            .map_err(|e| {
                e.context(format_args!(
                    "Failed to create data directory {}",
                    path.display()
                ))
            })?,
        Err(e) if e.is_not_found() => {
            return Err(Error::new(
                ErrorKind::LogDirNotFound,
                format!(
                    "the log directory {} does not exist; make it first, or ask for it to be made",
                    path.display()
                ),
            )
            .in_file(path));
        }
        Err(e) => return Err(e),
        Ok(stat) if stat.kind != EntryKind::Dir => {
            return Err(Error::new(
                ErrorKind::LogDirNotFound,
                format!("{} is not a directory: it cannot hold logs", path.display()),
            )
            .in_file(path));
        }
        // Who made it may have been killed before its name was durable, on which all in it depends.
        Ok(_) => sync_name(fs, path)?,
    }
    // That it can be read shows here, before anything is written into it.
    fs.list(path)?;
    fs.canonicalize(path)
}

fn read_meta(fs: &dyn FileSystem, dir: &Path) -> Result<MetaProperties> {
    let path = dir.join(meta_properties::FILE);
    match read_file(fs, &path)? {
        Some(content) => meta_properties::parse(&content).map_err(|e| e.in_file(&path)),
        None => Ok(MetaProperties::default()),
    }
}

/// The checks that a broker makes across its directories (manager.md 1.6); who breaks them fails, the first one stays.
fn check_ensemble(dirs: &[LogDir], report: &mut Vec<Finding>) {
    for (i, dir) in dirs.iter().enumerate().filter(|(_, dir)| dir.is_online()) {
        let own = &dir.meta.read();
        let mut earlier = dirs
            .get(..i)
            .unwrap_or_default()
            .iter()
            .filter(|other| other.is_online());
        let problem = if own
            .directory_id
            .is_some_and(crate::format::uuid::Uuid::is_reserved)
        {
            Some("its directory.id is reserved".to_owned())
        } else {
            earlier
                .find_map(|other| {
                    contradiction(own, &other.meta.read()).map(|what| (what, &other.path))
                })
                .map(|(what, path)| format!("its {what} contradicts that of {}", path.display()))
        };
        if let Some(problem) = problem {
            let path = dir.path.join(meta_properties::FILE);
            let error = Error::new(
                ErrorKind::CorruptState,
                format!("{}: {problem}", path.display()),
            )
            .in_file(&path);
            dir.fail(error, report);
        }
    }
}

pub(super) fn contradiction(own: &MetaProperties, other: &MetaProperties) -> Option<&'static str> {
    fn differ<T: PartialEq>(a: Option<&T>, b: Option<&T>) -> bool {
        matches!((a, b), (Some(a), Some(b)) if a != b)
    }
    if own.directory_id.is_some() && own.directory_id == other.directory_id {
        Some("directory.id, which must be its own,")
    } else if differ(own.cluster_id.as_ref(), other.cluster_id.as_ref()) {
        Some("cluster.id")
    } else if differ(own.node_id.as_ref(), other.node_id.as_ref()) {
        Some("node.id")
    } else {
        None
    }
}
