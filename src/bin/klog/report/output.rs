//! Where the page goes: whole or not at all, and never into a directory of logs.

use std::io::Write;
use std::path::{Path, PathBuf};

use klog::error::Error;
use klog::io::{EntryKind, FileSystem};

use crate::Failure;

/// What a Kafka log directory has, and others have not.
const OF_LOG_DIRS: [&str; 3] = [
    "meta.properties",
    "recovery-point-offset-checkpoint",
    ".kafka_cleanshutdown",
];

/// Where the page goes.
pub(crate) enum Target {
    Stdout,
    /// Replaced once the page is complete.
    File(PathBuf),
    /// A device or a pipe, which is written to.
    Special(PathBuf),
}

impl Target {
    /// Checks what was typed, before long work begins.
    pub(crate) fn of(
        fs: &dyn FileSystem,
        dir: &Path,
        file: &Path,
    ) -> std::result::Result<Self, Failure> {
        if file == "-" {
            return Ok(Self::Stdout);
        }
        let shown = file.display();
        let usage = |text: String| Failure::Usage(Error::invalid_argument(text));
        let path = match fs.stat(file) {
            Ok(stat) if stat.kind == EntryKind::Dir => {
                return Err(usage(format!("--output {shown}: is a directory")));
            }
            Ok(stat) if stat.kind == EntryKind::Other => {
                return Ok(Self::Special(file.to_path_buf()));
            }
            // What a link leads to is replaced, not the link.
            Ok(_) => fs.canonicalize(file)?,
            Err(e) if e.is_not_found() => new_file(fs, file)
                .ok_or_else(|| usage(format!("--output {shown}: its directory does not exist")))?,
            Err(e) => return Err(e.into()),
        };
        let logs = fs.canonicalize(dir).ok();
        for above in path.ancestors().skip(1) {
            let is_of_logs = logs.as_deref() == Some(above)
                || OF_LOG_DIRS
                    .iter()
                    .any(|name| fs.stat(&above.join(name)).is_ok());
            if is_of_logs {
                return Err(usage(format!(
                    "--output {shown}: lies inside of {}, a directory of logs, where a broker would meet it; name a file elsewhere",
                    above.display()
                )));
            }
        }
        Ok(Self::File(path))
    }

    /// Writes the page.
    pub(crate) fn write(&self, page: &str) -> std::result::Result<(), Failure> {
        let written = match self {
            Self::Stdout => {
                let mut out = std::io::stdout().lock();
                let written = out.write_all(page.as_bytes()).and_then(|()| out.flush());
                return written.map_err(|e| crate::output_error(&e).into());
            }
            Self::File(path) => replace(path, page).map_err(|e| (path, e)),
            Self::Special(path) => write_special(path, page).map_err(|e| (path, e)),
        };
        written.map_err(|(path, e)| Error::from_io("write to", path, &e).into())
    }
}

/// The full path of a file that is not there; none if its directory is not there either.
fn new_file(fs: &dyn FileSystem, file: &Path) -> Option<PathBuf> {
    let name = file.file_name()?;
    let parent = match file.parent()? {
        parent if parent.as_os_str().is_empty() => Path::new("."),
        parent => parent,
    };
    let parent = fs.canonicalize(parent).ok()?;
    let is_dir = fs
        .stat(&parent)
        .is_ok_and(|stat| stat.kind == EntryKind::Dir);
    is_dir.then(|| parent.join(name))
}

/// A file beside it takes its name, so that nobody meets half a page. It is as readable as a file that a program makes.
fn replace(path: &Path, page: &str) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    const READABLE: u32 = 0o666;
    let dir = path.parent().unwrap_or(Path::new("/"));
    let mut file = tempfile::Builder::new()
        .prefix(".klog-report-")
        .permissions(std::fs::Permissions::from_mode(READABLE))
        .tempfile_in(dir)?;
    file.write_all(page.as_bytes())?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|e| e.error)?;
    Ok(())
}

#[allow(
    clippy::disallowed_methods,
    reason = "a device or a pipe, which has no positions to write at"
)]
fn write_special(path: &Path, page: &str) -> std::io::Result<()> {
    std::fs::OpenOptions::new()
        .write(true)
        .open(path)?
        .write_all(page.as_bytes())
}
