//! The leader epochs of a log with their file. Implements state.md 7, records.md 10, hard-cases.md HC17.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::error::Result;
use crate::format::epoch_checkpoint;
use crate::io::{
    FileSystem, OpenMode, read_file, remove_file_if_exists, replace_file, replace_file_loosely,
    replace_file_unnamed,
};
use crate::state::epochs::EpochCache;

/// The epoch cache and where it is stored.
#[derive(Debug)]
pub(super) struct EpochFile {
    fs: Arc<dyn FileSystem>,
    path: PathBuf,
    cache: EpochCache,
    /// What the file says; `None` if it must be written whatever the cache is.
    stored: Option<EpochCache>,
    /// Whether a power cut may take what the file says.
    is_loose: bool,
}

/// How the file was found.
#[derive(Debug)]
pub(super) enum EpochFileState {
    /// As it should be, or not there.
    Readable,
    /// It does not parse: the epochs must be taken from the log.
    Malformed(String),
}

impl EpochFile {
    /// Reads the file; one that is missing is created empty, as Kafka does.
    pub(super) fn open(fs: &Arc<dyn FileSystem>, dir: &Path) -> Result<(Self, EpochFileState)> {
        let path = dir.join(epoch_checkpoint::FILE);
        // What a crash left of a replacement means nothing.
        remove_file_if_exists(&**fs, &path.with_extension("tmp"))?;
        let mut opened = Self {
            fs: Arc::clone(fs),
            path,
            cache: EpochCache::default(),
            stored: Some(EpochCache::default()),
            is_loose: false,
        };
        let Some(content) = read_file(&**fs, &opened.path)? else {
            opened.fs.open(&opened.path, OpenMode::Create)?;
            return Ok((opened, EpochFileState::Readable));
        };
        match epoch_checkpoint::parse(&content) {
            Ok(lines) => {
                opened.cache = EpochCache::from_lines(&lines);
                let as_stored = opened.cache.entries() == lines.as_slice();
                opened.stored = as_stored.then(|| opened.cache.clone());
                Ok((opened, EpochFileState::Readable))
            }
            Err(e) => {
                opened.stored = None;
                Ok((opened, EpochFileState::Malformed(e.to_string())))
            }
        }
    }

    /// The epochs.
    #[must_use]
    pub(super) fn cache(&self) -> &EpochCache {
        &self.cache
    }

    /// The epochs, to be changed; [`Self::store`] makes the change durable.
    pub(super) fn cache_mut(&mut self) -> &mut EpochCache {
        &mut self.cache
    }

    /// What the file says may be in memory only: the process that wrote it may have been killed before its first flush. A file
    /// that says nothing cannot lose it, and stays as it is, as with Kafka.
    pub(super) fn distrust(&mut self) {
        self.is_loose = !self.cache.is_empty();
    }

    /// Writes the file if it does not say what the cache says, or not durably.
    pub(super) fn store(&mut self) -> Result<()> {
        if self.stored.as_ref() == Some(&self.cache) && !self.is_loose {
            return Ok(());
        }
        self.store_as(self.cache.clone())
    }

    /// Whether the file says what the cache says, as far as is known.
    #[must_use]
    pub(super) fn is_stored(&self) -> bool {
        self.stored.is_some()
    }

    /// Makes `next` the cache once its file is durable; if that fails the cache stays as it was, and which of the two the
    /// file has is not known.
    pub(super) fn store_as(&mut self, next: EpochCache) -> Result<()> {
        self.store_by(next, replace_file)?;
        self.is_loose = false;
        Ok(())
    }

    /// As [`Self::store_as`], but nothing of it is durable until [`Self::settle`].
    pub(super) fn store_loosely(&mut self, next: EpochCache) -> Result<()> {
        // What the file says counts as loose from the moment it may be the new one.
        self.is_loose = true;
        self.store_by(next, replace_file_loosely)
    }

    /// Makes what was stored loosely durable, but that it is this file and not the one before: that is up to the next sync of
    /// the directory. It is written anew, since a system may forget that it could not write the pages of a file that was
    /// closed.
    pub(super) fn settle(&mut self) -> Result<()> {
        if !self.is_loose {
            return Ok(());
        }
        self.store_by(self.cache.clone(), replace_file_unnamed)?;
        self.is_loose = false;
        Ok(())
    }

    fn store_by(
        &mut self,
        next: EpochCache,
        replace: fn(&dyn FileSystem, &Path, &[u8]) -> Result<()>,
    ) -> Result<()> {
        self.stored = None;
        replace(
            &*self.fs,
            &self.path,
            &epoch_checkpoint::write(next.entries()),
        )?;
        self.stored = Some(next.clone());
        self.cache = next;
        Ok(())
    }
}
