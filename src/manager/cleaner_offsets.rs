//! The first dirty offsets that are stored for each directory. Implements cleaner.md 1.7-1.12, deviations.md D84, D85.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::path::PathBuf;

use super::dirs::LogDir;
use super::{Access, Manager};
use crate::error::Result;
use crate::format::checkpoint::{self, CLEANER_FILE, Offsets};
use crate::io::{SMALL_FILE_BYTES_MAX, read_parsed, replace_file};
use crate::log::Log;
use crate::types::{Offset, TopicPartition};

impl Manager {
    /// The stored first dirty offset of a log, in the directory that holds it.
    pub(super) fn cleaner_offset(&self, log: &Log) -> Result<Option<Offset>> {
        let Some(dir) = self.dir_of(log) else {
            return Ok(None);
        };
        let mut known = self.cleaning.offsets.lock();
        Ok(self
            .known_cleaner_offsets(&mut known, dir)?
            .get(log.partition())
            .copied())
    }

    /// Where the dirty part of a log begins, as far as its compaction came; `None` if it was never compacted, or another
    /// process owns it.
    #[must_use]
    pub fn first_dirty_offset(&self, log: &Log) -> Option<Offset> {
        match self.access() {
            Access::Own => self.cleaner_offset(log).unwrap_or_default(),
            Access::ReadOnly => None,
        }
    }

    /// Stores the first dirty offset of a log.
    pub(super) fn store_cleaner_offset(&self, log: &Log, offset: Offset) -> Result<()> {
        self.change_cleaner_offsets(log, |offsets| {
            offsets.insert(log.partition().clone(), offset);
            true
        })
    }

    /// The log is about to be cut so that it is dirty from `offset` on: what is stored must not lie above.
    pub(super) fn lower_cleaner_offset(&self, log: &Log, offset: Offset) -> Result<()> {
        self.change_cleaner_offsets(log, |offsets| match offsets.get_mut(log.partition()) {
            Some(stored) if *stored > offset => {
                *stored = offset;
                true
            }
            _ => false,
        })
    }

    /// Forgets the first dirty offset of a log that goes: one that is made anew under its name is dirty from its start.
    pub(super) fn remove_cleaner_offset(&self, log: &Log) -> Result<()> {
        self.change_cleaner_offsets(log, |offsets| offsets.remove(log.partition()).is_some())
    }

    /// A log is about to come to a directory: what stands there of an older one of its name must not vouch for it.
    pub(super) fn forget_cleaner_offset_in(
        &self,
        dir: &LogDir,
        partition: &TopicPartition,
    ) -> Result<()> {
        self.change_cleaner_offsets_in(dir, partition, |offsets| {
            offsets.remove(partition).is_some()
        })
    }

    /// A log has moved: its first dirty offset goes with it. A crash in between loses it, and the log is cleaned from its
    /// start.
    pub(super) fn move_cleaner_offset(&self, log: &Log, from: &LogDir) -> Result<()> {
        let partition = log.partition();
        let mut stored = None;
        self.change_cleaner_offsets_in(from, partition, |offsets| {
            stored = offsets.remove(partition);
            stored.is_some()
        })?;
        match stored {
            Some(offset) => self.store_cleaner_offset(log, offset),
            None => Ok(()),
        }
    }

    /// Reads the file of a log's directory, changes the entries, and writes them if `change` says that it did. Entries of
    /// partitions that are not there any more go.
    fn change_cleaner_offsets(
        &self,
        log: &Log,
        change: impl FnOnce(&mut Offsets) -> bool,
    ) -> Result<()> {
        match self.dir_of(log) {
            Some(dir) => self.change_cleaner_offsets_in(dir, log.partition(), change),
            None => Ok(()),
        }
    }

    fn change_cleaner_offsets_in(
        &self,
        dir: &LogDir,
        own: &TopicPartition,
        change: impl FnOnce(&mut Offsets) -> bool,
    ) -> Result<()> {
        dir.health.check()?;
        let mut known = self.cleaning.offsets.lock();
        let mut offsets = self.known_cleaner_offsets(&mut known, dir)?.clone();
        if !change(&mut offsets) {
            return Ok(());
        }
        let failed = self.failed_in(dir);
        let is_known = |partition: &TopicPartition| {
            partition == own
                || failed.contains(partition)
                || self
                    .logs
                    .read()
                    .get(partition)
                    .is_some_and(|log| dir.holds(log))
        };
        offsets.retain(|partition, _| is_known(partition));
        let content = checkpoint::write(&offsets);
        let written = replace_file(&*self.fs, &dir.path.join(CLEANER_FILE), &content)
            .map_err(|e| dir.health.judge(e));
        match written {
            Ok(()) => drop(known.insert(dir.path.clone(), offsets)),
            // Which of both the file has is not known.
            Err(_) => drop(known.remove(&dir.path)),
        }
        written
    }

    /// What the file of a directory says: read once, as nobody else writes it.
    fn known_cleaner_offsets<'k>(
        &self,
        known: &'k mut BTreeMap<PathBuf, Offsets>,
        dir: &LogDir,
    ) -> Result<&'k Offsets> {
        if self.access() == Access::ReadOnly {
            known.remove(&dir.path);
        }
        match known.entry(dir.path.clone()) {
            Entry::Occupied(entry) => Ok(entry.into_mut()),
            Entry::Vacant(entry) => Ok(entry.insert(self.read_cleaner_offsets(dir)?)),
        }
    }

    /// A malformed file counts as empty, and the next change writes it anew: the logs are dirty from their starts then.
    fn read_cleaner_offsets(&self, dir: &LogDir) -> Result<Offsets> {
        let path = dir.path.join(CLEANER_FILE);
        let read = read_parsed(&*self.fs, &path, SMALL_FILE_BYTES_MAX, checkpoint::parse)
            .map_err(|e| dir.health.judge(e))?;
        Ok(read.and_then(Result::ok).unwrap_or_default())
    }
}
