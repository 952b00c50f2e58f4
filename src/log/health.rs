//! Whether a log directory still works. An I/O error that may have lost data takes the whole directory offline, and it
//! stays so until it is opened again (manager.md 11, design.md 5.6).

use std::path::{Path, PathBuf};

use parking_lot::RwLock;

use crate::error::{Error, ErrorKind, Result};

/// The state of one log directory, shared by everything that lives in it.
#[derive(Debug)]
pub struct DirHealth {
    path: PathBuf,
    failure: RwLock<Option<Error>>,
}

impl DirHealth {
    /// A directory that works.
    #[must_use]
    pub fn new(path: PathBuf) -> Self {
        Self {
            path,
            failure: RwLock::new(None),
        }
    }

    /// The directory.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The failure that took it offline.
    #[must_use]
    pub fn failure(&self) -> Option<Error> {
        self.failure.read().clone()
    }

    /// DIR_OFFLINE if it does not work any more.
    pub fn check(&self) -> Result<()> {
        match &*self.failure.read() {
            None => Ok(()),
            Some(failure) => Err(Error::new(
                ErrorKind::DirOffline,
                format!(
                    "the log directory {} is offline since an earlier failure ({failure}); close and reopen the manager",
                    self.path.display()
                ),
            )
            .in_file(&self.path)
            .taking_dir_offline()),
        }
    }

    /// Takes the directory offline for this failure and gives it back, marked. The first failure is remembered.
    #[must_use]
    pub fn fail(&self, error: Error) -> Error {
        let mut failure = self.failure.write();
        if failure.is_none() {
            *failure = Some(error.clone());
        }
        error.taking_dir_offline()
    }

    /// As [`Self::fail`] for failures that may have lost data: I/O errors, and any failed sync. A full disk and a lack of
    /// descriptors lose nothing: they are for the one call only (deviations.md D19, D37).
    #[must_use]
    pub fn judge(&self, error: Error) -> Error {
        if error.kind() == ErrorKind::KafkaStorage && error.is_io() {
            self.fail(error)
        } else {
            error
        }
    }
}
