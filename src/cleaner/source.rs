//! The batches of a segment as the cleaner reads them: each in its place, or an error that says where. Implements cleaner.md
//! 5.7, hard-cases.md HC1.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use super::pass::PassOptions;
use crate::error::{Error, ErrorKind, Result};
use crate::format::names::SegmentFileKind;
use crate::segment::{BatchScan, Scanned, Segment};
use crate::types::Offset;

/// The batches of a segment, which must be whole.
pub(super) struct Source {
    pub(super) scan: BatchScan,
    pub(super) name: SourceName,
    /// The next batch has no offset below.
    expected: Offset,
    /// Nor one from here on.
    upper: Offset,
    held_bytes_max: Option<usize>,
}

/// Says in an error where the batch is that it is about.
pub(super) struct SourceName(PathBuf);

impl SourceName {
    pub(super) fn put_on(&self, error: Error, scanned: &Scanned) -> Error {
        error
            .in_file(&self.0)
            .at_position(scanned.position)
            .context(format_args!(
                "{} at position {}",
                self.0.display(),
                scanned.position
            ))
    }
}

impl Source {
    /// The batches between two positions.
    pub(super) fn new(
        segment: &Arc<Segment>,
        positions: Range<u64>,
        upper: Offset,
        options: &PassOptions,
    ) -> Self {
        Self {
            expected: segment.base_offset(),
            upper,
            scan: BatchScan::reading(Arc::clone(segment.file()), positions, options.read_bytes),
            held_bytes_max: options.held_bytes_max,
            name: SourceName(segment.path(SegmentFileKind::Log)),
        }
    }

    /// The next batch. A segment that does not end with one is CORRUPT_MESSAGE, as are a magic that nobody knows and offsets
    /// that do not rise: they lie outside of the checksum, and a batch that claims later ones would replace good records.
    pub(super) fn next(&mut self) -> Result<Option<Scanned>> {
        let at = self.scan.position();
        let place = |error: Error| {
            error
                .in_file(&self.name.0)
                .context(format_args!("{} at position {at}", self.name.0.display()))
        };
        let scanned = self.scan.next_batch().map_err(place)?;
        let Some(scanned) = scanned else {
            return match self.scan.trailing() {
                None => Ok(None),
                Some(what) => Err(place(Error::corrupt(what).at_position(at))),
            };
        };
        if !(0..=2).contains(&scanned.header.magic) {
            let what = format!("unknown magic {} of a batch", scanned.header.magic);
            return Err(place(Error::corrupt(what).at_position(at)));
        }
        let header = &scanned.header;
        if let Some(max) = self.held_bytes_max
            && header.size_bytes as usize > max
        {
            let what = format!(
                "a batch of {} bytes, above the limit of {max}",
                header.size_bytes
            );
            return Err(place(Error::new(ErrorKind::TooLarge, what).at_position(at)));
        }
        if !header.follows(self.expected) || header.last_offset >= self.upper {
            let what = format!(
                "a batch has the offsets {}..{}, expected were some from {} on and below {}",
                header.base_offset, header.last_offset, self.expected, self.upper
            );
            return Err(place(Error::corrupt(what).at_position(at)));
        }
        self.expected = header.last_offset.next();
        Ok(Some(scanned))
    }
}
