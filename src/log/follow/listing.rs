//! The segment files of a log whose directory another process changes, and what has become of them since the last look.
//!
//! A directory is not listed at one moment: a file that is renamed meanwhile may be missed, and files of before and after a
//! replacement may be met together. So a listing counts only once a second one says the same of all that is below the active
//! segment, where its owner changes something seldom.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::error::Result;
use crate::format::names::{FileState, SegmentFile, SegmentFileKind};
use crate::io::{FileIdentity, FileSystem, exists};
use crate::log::SegmentList;
use crate::log::load::list_segment_files;
use crate::types::Offset;

/// How often a directory is listed whose files change meanwhile.
const LISTINGS_MAX: usize = 10;

/// The segment files of a directory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Listing {
    /// Which file each `.log` is.
    logs: BTreeMap<Offset, FileIdentity>,
    /// All files of segments that are in use or about to be.
    files: BTreeSet<SegmentFile>,
}

/// What a look at the directory found of the segments below the active one, and of that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Below {
    /// All as before.
    Unchanged,
    /// Some are gone, or others are in their place.
    Changed,
    /// The log must be loaded anew: its active segment is another one, or a replacement is half done.
    Unknown,
}

impl Listing {
    /// Lists a directory once; `None` if a file went away meanwhile.
    fn take(fs: &dyn FileSystem, dir: &Path) -> Result<Option<Self>> {
        let mut taken = Self::default();
        for file in list_segment_files(fs, dir)? {
            let is_in_use = matches!(file.state, FileState::Live | FileState::Swap);
            if !is_in_use || file.kind == SegmentFileKind::Snapshot {
                continue;
            }
            if file.kind == SegmentFileKind::Log && file.state == FileState::Live {
                match fs.stat(&dir.join(file.name())) {
                    Ok(stat) => taken.logs.insert(file.offset, stat.identity),
                    Err(e) if e.is_not_found() => return Ok(None),
                    Err(e) => return Err(e),
                };
            }
            taken.files.insert(file);
        }
        Ok(Some(taken))
    }

    /// Lists a directory until what lies below the active segment stands still; `None` if it does not.
    pub(super) fn settled(fs: &dyn FileSystem, dir: &Path) -> Result<Option<Self>> {
        let mut before: Option<Self> = None;
        for _ in 0..LISTINGS_MAX {
            let now = Self::take(fs, dir)?;
            if let (Some(before), Some(now)) = (&before, &now) {
                let active = before.logs.keys().next_back().copied();
                if before.agrees_below(now, active.unwrap_or(Offset::MAX)) {
                    return Ok(Some(now.clone()));
                }
            }
            before = now;
        }
        Ok(None)
    }

    /// Whether segments that this listing has, and a later one does not, are gone. A name may be missed that is put in place
    /// while a directory is listed.
    pub(super) fn are_gone_since(
        &self,
        now: &Self,
        active: Offset,
        fs: &dyn FileSystem,
        dir: &Path,
    ) -> Result<bool> {
        for base in self
            .bases_below(active)
            .filter(|&base| now.log(base).is_none())
        {
            let live = SegmentFile::live(base, SegmentFileKind::Log);
            let swap = live.in_state(FileState::Swap);
            // One of the two is there all the time while a segment is replaced: they are asked for in turns.
            for file in [live, swap, live, swap, live] {
                let is_known = now.files.contains(&file);
                if !is_known && exists(fs, &dir.join(file.name()))? {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// Whether a list of segments has just the bases that lie below the active one here.
    pub(super) fn has_bases(&self, segments: &SegmentList, active: Offset) -> bool {
        let own = segments.iter().map(|segment| segment.base_offset());
        self.bases_below(active)
            .eq(own.filter(|&base| base < active))
    }

    /// Which file the `.log` with this base is.
    pub(super) fn log(&self, base: Offset) -> Option<FileIdentity> {
        self.logs.get(&base).copied()
    }

    /// The bases below one.
    pub(super) fn bases_below(&self, active: Offset) -> impl Iterator<Item = Offset> {
        self.logs.range(..active).map(|(&base, _)| base)
    }

    /// The lowest base above one.
    pub(super) fn base_above(&self, active: Offset) -> Option<Offset> {
        self.logs
            .range(active.next()..)
            .next()
            .map(|(&base, _)| base)
    }

    /// Whether segments are being put in the place of others.
    pub(super) fn is_replacing(&self) -> bool {
        self.files.iter().any(|file| file.state == FileState::Swap)
    }

    fn agrees_below(&self, other: &Self, active: Offset) -> bool {
        let files = |listing: &Self| -> Vec<SegmentFile> {
            let below = |file: &&SegmentFile| file.offset < active;
            listing.files.iter().filter(below).copied().collect()
        };
        self.logs.range(..active).eq(other.logs.range(..active)) && files(self) == files(other)
    }

    /// What has become of the segments up to the active one, from the last look to this one.
    pub(super) fn below(&self, now: &Self, active: Offset) -> Below {
        if self.log(active) != now.log(active) {
            Below::Unknown
        } else if self.agrees_below(now, active) {
            Below::Unchanged
        } else if self.is_replacing() || now.is_replacing() {
            Below::Unknown
        } else {
            Below::Changed
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identity(inode: u64) -> FileIdentity {
        FileIdentity {
            device: 1,
            inode,
            born_ns: 0,
        }
    }

    fn listing(logs: &[(i64, u64)], swaps: &[i64]) -> Listing {
        let mut made = Listing::default();
        for &(base, inode) in logs {
            made.logs.insert(Offset(base), identity(inode));
            made.files
                .insert(SegmentFile::live(Offset(base), SegmentFileKind::Log));
        }
        for &base in swaps {
            let file = SegmentFile::live(Offset(base), SegmentFileKind::Log);
            made.files.insert(file.in_state(FileState::Swap));
        }
        made
    }

    #[test]
    fn what_the_owner_does_below_the_active_segment_is_told_apart() {
        let before = listing(&[(0, 1), (10, 2), (20, 3)], &[]);
        let become_of =
            |logs: &[(i64, u64)], swaps: &[i64]| before.below(&listing(logs, swaps), Offset(20));
        // Appended to, rolled.
        assert_eq!(
            become_of(&[(0, 1), (10, 2), (20, 3)], &[]),
            Below::Unchanged
        );
        assert_eq!(
            become_of(&[(0, 1), (10, 2), (20, 3), (30, 4)], &[]),
            Below::Unchanged
        );
        // Retention, the cleaner.
        assert_eq!(become_of(&[(10, 2), (20, 3)], &[]), Below::Changed);
        assert_eq!(become_of(&[(0, 9), (20, 3)], &[]), Below::Changed);
        assert_eq!(become_of(&[(10, 2), (20, 3)], &[0]), Below::Unknown);
        // Cut below the active segment, begun anew at its base.
        assert_eq!(become_of(&[(0, 1), (10, 2)], &[]), Below::Unknown);
        assert_eq!(become_of(&[(0, 1), (10, 2), (20, 7)], &[]), Below::Unknown);
    }

    #[test]
    fn a_replacement_that_stays_half_done_is_news_once() {
        let half_done = listing(&[(10, 2), (20, 3)], &[0]);
        assert_eq!(half_done.below(&half_done, Offset(20)), Below::Unchanged);
        let undone = listing(&[(0, 1), (10, 2), (20, 3)], &[]);
        assert_eq!(half_done.below(&undone, Offset(20)), Below::Unknown);
    }
}
