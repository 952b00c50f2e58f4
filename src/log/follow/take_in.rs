//! Taking in what the owner of a log appended: batch after batch, each checked as recovery checks it. A batch that is not
//! whole yet is not there yet.

use std::sync::Arc;

use super::listing::Listing;
use super::overlay;
use crate::error::Result;
use crate::format::batch::{
    Batch, BatchHeader, HEADER_BYTES, Next, PREFIX_AND_MAGIC_BYTES, next_in_file,
};
use crate::format::control;
use crate::format::names::SegmentFileKind;
use crate::format::txn_index::AbortedTxn;
use crate::log::load::segment_options;
use crate::log::{LoadNotes, Log, SegmentList};
use crate::segment::{BatchScan, Scanned, Segment, path_of};
use crate::types::Offset;

/// How many batches are taken in at a time: others wait for the append lock meanwhile.
const BATCHES_MAX: usize = 512;

/// How far taking in has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Progress {
    /// At the end of what there is.
    AtEnd,
    /// At the end of what was known of; since the owner rolled there may be more.
    Rolled,
    /// What lies behind the end is nothing that can follow it.
    Odd,
}

/// How a segment goes on behind what is known of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Behind {
    /// Not at all.
    Nothing,
    /// With bytes that are no batch, or not yet.
    Unfinished,
    /// With offsets that are too far from its base.
    Overflow,
}

/// A batch, and its bytes if producers learn from them.
struct Found {
    scanned: Scanned,
    control: Option<Vec<u8>>,
}

impl Log {
    /// Takes in what the active segment has behind the known end, then the segments above it that
    /// `listing` has.
    pub(super) fn take_in(
        &self,
        listing: &Listing,
        last: &mut Option<Scanned>,
    ) -> Result<Progress> {
        let mut has_rolled = false;
        loop {
            let active = Arc::clone(self.lock_writer().active.segment());
            let behind = self.take_in_segment(&active, last)?;
            if behind == Behind::Overflow {
                return Ok(Progress::Odd);
            }
            match listing.base_above(active.base_offset()) {
                Some(_) if behind == Behind::Unfinished => break,
                Some(base) if base >= self.end_offset() => {
                    self.go_on_in(base)?;
                    *last = None;
                    has_rolled = true;
                }
                Some(base) => {
                    // What a roll left that failed: a load drops it.
                    let path = path_of(&self.dir(), base, SegmentFileKind::Log);
                    return Ok(if self.fs.stat(&path)?.len == 0 {
                        Progress::AtEnd
                    } else {
                        Progress::Odd
                    });
                }
                None => break,
            }
        }
        Ok(if has_rolled {
            Progress::Rolled
        } else {
            Progress::AtEnd
        })
    }

    fn take_in_segment(
        &self,
        segment: &Arc<Segment>,
        last: &mut Option<Scanned>,
    ) -> Result<Behind> {
        let position = segment.size_bytes();
        let len = segment.file().take_in_growth()?;
        if len <= position {
            return Ok(Behind::Nothing);
        }
        if !begins_batch(segment, position, len)? {
            return Ok(Behind::Unfinished);
        }
        let mut scan = BatchScan::new(Arc::clone(segment.file()), position..len);
        let mut expected = self.end_offset();
        loop {
            let mut found = Vec::new();
            let mut ends_with = None;
            while ends_with.is_none() && found.len() < BATCHES_MAX {
                match next_found(&mut scan, expected, segment.base_offset())? {
                    Ok(batch) => {
                        expected = batch.scanned.header.last_offset.next();
                        found.push(batch);
                    }
                    Err(behind) => ends_with = Some(behind),
                }
            }
            if let Some(batch) = found.last() {
                *last = Some(batch.scanned);
                self.let_count(segment, &found)?;
            }
            if let Some(behind) = ends_with {
                return Ok(behind);
            }
        }
    }

    /// Lets batches count that lie behind the end: for producers, epochs, indexes, and then for readers.
    fn let_count(&self, segment: &Segment, found: &[Found]) -> Result<()> {
        // What recovery would find odd in them it finds at the next load.
        let mut notes = LoadNotes::default();
        let mut writer = self.lock_writer();
        for Found { scanned, control } in found {
            let header = &scanned.header;
            let epochs = writer.epochs.cache_mut();
            if header.is_v2() {
                let _ = epochs.assign_recovered(header.leader_epoch, header.base_offset);
            } else {
                let _ = epochs.clear();
            }
            let control = control.as_deref().map(Batch::new).transpose()?;
            let ended = writer.producers.apply(header, control.as_ref(), &mut notes);
            if let Some((txn, last_stable_offset)) = ended.filter(|(txn, _)| txn.is_aborted) {
                segment.note_aborted(AbortedTxn {
                    producer_id: txn.producer_id,
                    first_offset: txn.first_offset,
                    last_offset: txn.last_offset,
                    last_stable_offset,
                });
            }
        }
        let headers: Vec<BatchHeader> = found.iter().map(|found| found.scanned.header).collect();
        writer.active.commit(&headers);
        if let Some(last) = headers.last() {
            writer.end = last.last_offset.next();
        }
        writer.follow_end();
        self.publish(&writer);
        Ok(())
    }

    /// Goes on in the segment that the owner rolled to. The one before is closed: its indexes are in files by now.
    fn go_on_in(&self, base: Offset) -> Result<()> {
        let options = segment_options(&self.config());
        let now = self.clock.now();
        let next = Segment::follow(&overlay(&self.fs), &self.dir(), base, options, now)?;
        let before = Arc::clone(self.lock_writer().active.segment());
        let closed = self
            .open_closed(before.base_offset())
            .unwrap_or_default()
            .filter(|closed| closed.size_bytes() == before.size_bytes());
        let mut writer = self.lock_writer();
        let list = self.segments();
        let segments = list
            .iter()
            .cloned()
            .chain(closed)
            .chain([Arc::clone(next.segment())]);
        // Before the end: a reader that sees the new one finds its segment.
        self.segments.store(Arc::new(SegmentList::new(segments)));
        writer.active = next;
        writer.end = base.max(writer.end);
        writer.follow_end();
        self.publish(&writer);
        Ok(())
    }
}

/// The next batch that can follow what ends at `expected`; else what is there.
fn next_found(
    scan: &mut BatchScan,
    expected: Offset,
    segment_base: Offset,
) -> Result<std::result::Result<Found, Behind>> {
    let scanned = match scan.next_valid(expected) {
        Ok(Some(scanned)) => scanned,
        Ok(None) if scan.rest_bytes() == 0 => return Ok(Err(Behind::Nothing)),
        Ok(None) => return Ok(Err(Behind::Unfinished)),
        // Also what its owner has not written to the end yet.
        Err(e) if e.is_corrupt_data() => return Ok(Err(Behind::Unfinished)),
        Err(e) => return Err(e),
    };
    let header = &scanned.header;
    if header.last_offset.relative_to(segment_base).is_none() {
        return Ok(Err(Behind::Overflow));
    }
    let is_marker = control::is_marker(header);
    let control = if is_marker {
        Some(scan.bytes_of(&scanned)?.bytes().to_vec())
    } else {
        None
    };
    Ok(Ok(Found { scanned, control }))
}

/// Whether a whole batch may lie at `position`, by the size that it tells: a file that was made at its full size is not read
/// to its end each time.
fn begins_batch(segment: &Segment, position: u64, len: u64) -> Result<bool> {
    let mut prefix = [0; PREFIX_AND_MAGIC_BYTES];
    if segment.file().read_at(&mut prefix, position)? < prefix.len() {
        return Ok(false);
    }
    Ok(matches!(
        next_in_file(&prefix, len - position),
        Ok(Next::Batch(_))
    ))
}

/// The header of the batch that lies where one is known.
pub(super) fn header_at(segment: &Segment, known: &Scanned) -> Result<Option<BatchHeader>> {
    let mut head = [0; HEADER_BYTES];
    let size = HEADER_BYTES.min(known.header.size_bytes as usize);
    let head = head.get_mut(..size).unwrap_or_default();
    let read = segment.file().read_at(head, known.position)?;
    Ok(head.get(..read).and_then(BatchHeader::parse))
}
