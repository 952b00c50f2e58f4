//! Looking at log directories without changing anything.
//!
//! Every look is an ordinary load on an overlay (design.md 3): it answers exactly what a load would leave, takes no lock
//! and writes nothing, so the directory may be a live broker's. Implements fixtures/README.md 2.

mod batch_text;
mod dump;
mod list;

pub use dump::{DumpOptions, dump};
pub use list::{LogLine, list_logs};

use std::path::Path;
use std::sync::Arc;

use crate::config::Resolved;
use crate::error::{Error, ErrorKind, Result};
use crate::io::{Clock, EntryKind, FileSystem, OverlayFs};
use crate::manager::{Manager, ManagerOptions};

/// A manager over `dir` that changes nothing on disk.
fn look(
    base: &Arc<dyn FileSystem>,
    clock: Arc<dyn Clock>,
    dir: &Path,
    config: &Arc<Resolved>,
) -> Result<(Manager, Arc<OverlayFs>)> {
    ensure_is_dir(&**base, dir)?;
    let overlay = Arc::new(OverlayFs::new(Arc::clone(base)));
    let fs: Arc<dyn FileSystem> = Arc::clone(&overlay) as Arc<dyn FileSystem>;
    let options =
        ManagerOptions { fs, clock, ..ManagerOptions::new(vec![dir.to_path_buf()], Arc::clone(config)) };
    Ok((Manager::open(options)?, overlay))
}

/// LOG_DIR_NOT_FOUND for what is no directory.
fn ensure_is_dir(fs: &dyn FileSystem, dir: &Path) -> Result<()> {
    let what = match fs.stat(dir) {
        Ok(stat) if stat.kind == EntryKind::Dir => return Ok(()),
        Ok(_) => "is not a directory",
        Err(e) if e.is_not_found() => "does not exist",
        Err(e) => return Err(e),
    };
    Err(Error::new(ErrorKind::LogDirNotFound, format!("the log directory {} {what}", dir.display()))
        .in_file(dir))
}
