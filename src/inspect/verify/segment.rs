//! One segment: its batches one by one, and its indexes beside them.

use std::path::{Path, PathBuf};

use super::index::{OffsetCheck, TimeCheck, Zeros};
use super::txns::{Transactions, TxnCheck};
use super::{
    EPOCHS, GAP, LOST_TAIL, MAGIC, MISSING, ODD_OFFSETS, REBUILT, Report, UNSEEN, index, txns,
};
use crate::error::{ErrorKind, Result};
use crate::format::codec::Decompressor;
use crate::format::control::{self, ABORT, COMMIT};
use crate::format::decoder::RecordDecoder;
use crate::format::legacy;
use crate::format::names::SegmentFileKind;
use crate::io::{FileSystem, OpenMode, exists};
use crate::segment::{BatchScan, Scanned, path_of};
use crate::state::epochs::EpochCache;
use crate::types::{MAX_RELATIVE_OFFSET, Offset};

/// Records of larger batches are not looked at.
const BATCH_BYTES_MAX: u32 = 16 << 20;
const BODY_BYTES_MAX: usize = 16 << 20;

/// What is known of a log while its segments are walked.
#[allow(
    clippy::struct_excessive_bools,
    reason = "what was met, each by itself"
)]
pub(super) struct Walk {
    /// The next offset.
    pub(super) expected: Offset,
    pub(super) txns: Transactions,
    pub(super) epochs: Option<EpochCache>,
    /// Below this offset compaction has been.
    pub(super) cleaned_upto: Offset,
    /// Where the log starts for readers: epochs below are forgotten.
    pub(super) log_start: Offset,
    /// Whether a batch that readers get has a leader epoch.
    pub(super) has_epochs: bool,
    /// Whether a batch is of an old format: then epochs before it were forgotten.
    pub(super) has_old: bool,
    /// Whether a batch is a producer's.
    pub(super) has_producers: bool,
    /// Batches whose epoch the checkpoint does not know: where, and what of them.
    pub(super) unknown_epochs: Vec<(PathBuf, u64, String)>,
    /// Whether the segment before has no batch.
    is_last_empty: bool,
    /// Whether a segment has gaps inside, as compaction leaves them.
    has_gaps: bool,
    decoder: RecordDecoder,
}

impl Walk {
    pub(super) fn new(
        first: Offset,
        log_start: Offset,
        epochs: Option<EpochCache>,
        cleaned_upto: Offset,
    ) -> Self {
        let mut decoder = RecordDecoder::new();
        decoder.bound_memory(BODY_BYTES_MAX);
        Self {
            expected: first,
            txns: Transactions::new(first == Offset::ZERO),
            epochs,
            cleaned_upto,
            log_start,
            has_epochs: false,
            has_old: false,
            has_producers: false,
            unknown_epochs: Vec::new(),
            is_last_empty: false,
            has_gaps: false,
            decoder,
        }
    }
}

/// Whether a segment is the last one.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Rank {
    Sealed,
    Active { is_clean: bool },
}

/// Looks at the segment at `base`. `next_base` is that of the one behind it.
pub(super) fn check(
    fs: &dyn FileSystem,
    dir: &Path,
    base: Offset,
    next_base: Option<Offset>,
    rank: Rank,
    walk: &mut Walk,
    report: &mut Report,
) -> Result<()> {
    let path = path_of(dir, base, SegmentFileKind::Log);
    let file = fs.open(&path, OpenMode::Read)?;
    let len = file.len()?;
    report.verdict.looked.segments += 1;
    report.verdict.looked.bytes += len;
    if len > u64::from(MAX_RELATIVE_OFFSET) {
        let what = format!("{len} bytes, more than the {MAX_RELATIVE_OFFSET} of a segment");
        report.damage(&path, None, what, LOST_TAIL);
    }
    if base > walk.expected {
        let what = format!("offsets {}..{base} are missing before it", walk.expected);
        // Compaction takes the batches at a segment's end too.
        // An append too far from an empty segment's base begins another one.
        let is_far = walk.is_last_empty && base.relative_to(walk.expected).is_none();
        // One that replaced segments may have been interrupted before it wrote its checkpoint.
        let is_compacted = walk.cleaned_upto >= Offset::ZERO;
        if (walk.has_gaps || is_far || is_compacted) && base > walk.cleaned_upto {
            report.note(&path, None, what, GAP);
        } else if base > walk.cleaned_upto {
            report.damage(&path, None, what, MISSING);
        }
        walk.txns.is_complete = false;
    } else if base < walk.expected {
        let what = format!(
            "the segment begins at {base}, the one before ends at {}",
            walk.expected
        );
        report.damage(&path, None, what, ODD_OFFSETS);
    }
    walk.expected = base;
    walk.is_last_empty = len == 0;
    let mut checks = Checks::open(fs, dir, base, len, rank, walk, report)?;
    let mut scan = BatchScan::new(file, 0..len);
    let is_whole = loop {
        let position = scan.position();
        let scanned = match scan.next_batch() {
            Ok(Some(scanned)) => scanned,
            Ok(None) => break scan.rest_bytes() == 0,
            Err(e) if e.is_corrupt_data() => {
                report.damage(&path, Some(position), e.to_string(), LOST_TAIL);
                checks.end(&path, false, walk, report)?;
                return Ok(());
            }
            Err(e) => return Err(e),
        };
        report.verdict.looked.batches += 1;
        checks.batch(&path, base, next_base, &mut scan, &scanned, walk, report)?;
    };
    if let Some(what) = scan.trailing() {
        report.damage(&path, Some(scan.position()), what, LOST_TAIL);
    }
    checks.end(&path, is_whole, walk, report)
}

struct Checks {
    offsets: OffsetCheck,
    times: TimeCheck,
    txns: TxnCheck,
    gaps: u64,
    first_gap: Option<(u64, Offset, Offset)>,
}

impl Checks {
    fn open(
        fs: &dyn FileSystem,
        dir: &Path,
        base: Offset,
        log_bytes: u64,
        rank: Rank,
        walk: &Walk,
        report: &mut Report,
    ) -> Result<Self> {
        let zeros = match rank {
            Rank::Active { is_clean: false } => Zeros::Allowed,
            _ => Zeros::Refused,
        };
        let offsets_path = path_of(dir, base, SegmentFileKind::OffsetIndex);
        let times_path = path_of(dir, base, SegmentFileKind::TimeIndex);
        let txns_path = path_of(dir, base, SegmentFileKind::TxnIndex);
        let offsets = index::offsets(fs, &offsets_path, report)?;
        let times = index::times(fs, &times_path, report)?;
        let txns = txns::open(fs, &txns_path, report)?;
        for (entries, path) in [(&offsets, &offsets_path), (&times, &times_path)] {
            if entries.is_none() && log_bytes > 0 && !exists(fs, path)? {
                report.damage(path, None, "the file is missing", REBUILT);
            }
        }
        for entries in [&offsets, &times, &txns].into_iter().flatten() {
            let rest = entries.rest_bytes();
            if rest > 0 {
                let what = format!("{rest} bytes behind the last whole entry");
                report.damage(&entries.path, None, what, REBUILT);
            }
        }
        let is_compacted = base < walk.cleaned_upto;
        let mut checks = Self {
            offsets: OffsetCheck::new(offsets, base, zeros),
            times: TimeCheck::new(times, base, zeros),
            txns: TxnCheck::new(txns, txns_path, base, is_compacted),
            gaps: 0,
            first_gap: None,
        };
        checks.offsets.step(report)?;
        checks.times.step(report)?;
        checks.txns.step(report)?;
        Ok(checks)
    }

    #[allow(clippy::too_many_arguments, reason = "one step of one walk")]
    fn batch(
        &mut self,
        path: &Path,
        base: Offset,
        next_base: Option<Offset>,
        scan: &mut BatchScan,
        scanned: &Scanned,
        walk: &mut Walk,
        report: &mut Report,
    ) -> Result<()> {
        let (at, header) = (scanned.position, &scanned.header);
        self.offsets.batch(at, header, report)?;
        self.times.batch(header, report)?;
        let sum = scan.ensure_valid(scanned);
        if header.magic > 2 || header.magic < 0 {
            let what = format!("magic {}, known are 0 to 2", header.magic);
            let words = if sum.is_ok() { MAGIC } else { LOST_TAIL };
            report.damage(path, Some(at), what, words);
        }
        let is_valid = match sum {
            Ok(()) => true,
            Err(e) if e.is_corrupt_data() => {
                report.damage(path, Some(at), e.to_string(), LOST_TAIL);
                false
            }
            Err(e) => return Err(e),
        };
        let is_small = header.size_bytes <= BATCH_BYTES_MAX;
        // What cannot be decoded is told below.
        let first = if header.is_v2() {
            Some(header.base_offset)
        } else if is_small {
            let mut decompressor = Decompressor::new();
            decompressor.bound_memory(BODY_BYTES_MAX);
            legacy::base_offset(&scan.bytes_of(scanned)?, &mut decompressor).ok()
        } else {
            None
        };
        let behind = header.last_offset.saturating_next();
        if let Some(first) = first {
            if first < walk.expected || header.last_offset < first {
                let what = format!(
                    "offsets {first}..{}, expected was {} or more",
                    header.last_offset, walk.expected
                );
                report.damage(path, Some(at), what, ODD_OFFSETS);
            } else if first > walk.expected && first > walk.cleaned_upto {
                self.gaps += 1;
                self.first_gap.get_or_insert((at, walk.expected, first));
            }
        }
        let is_far = header.last_offset.relative_to(base).is_none();
        if is_far || next_base.is_some_and(|next| header.last_offset >= next) {
            let what = format!(
                "offset {} does not belong to this segment",
                header.last_offset
            );
            report.damage(path, Some(at), what, ODD_OFFSETS);
        } else {
            walk.expected = walk.expected.max(behind);
        }
        walk.has_old |= !header.is_v2();
        walk.has_producers |= header.is_v2() && header.has_producer_id();
        walk.has_epochs |=
            header.is_v2() && header.leader_epoch.0 >= 0 && header.last_offset >= walk.log_start;
        if let Some(epochs) = walk.epochs.as_ref().filter(|_| header.is_v2()) {
            let epoch = header.leader_epoch;
            let from = header.base_offset.max(walk.log_start);
            if epoch.0 >= 0
                && header.last_offset >= walk.log_start
                && epochs.epoch_for_offset(from) != Some(epoch)
            {
                let known = epochs.epoch_for_offset(from);
                let says = known.map_or_else(|| "none".to_owned(), |e| e.to_string());
                let what = format!(
                    "the batch at offset {} has the leader epoch {epoch}, the checkpoint says {says}",
                    header.base_offset
                );
                if known.is_some() {
                    report.damage(path, Some(at), what, EPOCHS);
                } else if walk.unknown_epochs.len() < 20 {
                    walk.unknown_epochs.push((path.to_path_buf(), at, what));
                }
            }
        }
        if is_valid {
            self.records(path, scan, scanned, walk, report)?;
        }
        Ok(())
    }

    fn records(
        &mut self,
        path: &Path,
        scan: &mut BatchScan,
        scanned: &Scanned,
        walk: &mut Walk,
        report: &mut Report,
    ) -> Result<()> {
        let (at, header) = (scanned.position, &scanned.header);
        if header.size_bytes > BATCH_BYTES_MAX {
            let what = format!("a batch of {} bytes", header.size_bytes);
            report.note(path, Some(at), what, UNSEEN);
            return Ok(());
        }
        if header.is_v2() && header.attributes.is_transactional() && !header.attributes.is_control()
        {
            walk.txns.data(header);
        }
        let batch = scan.bytes_of(scanned)?;
        let mut marker = None;
        let mut count = 0;
        let decoded = (|| -> Result<()> {
            walk.decoder.begin(&batch)?;
            while let Some(record) = walk.decoder.next(&batch)? {
                count += 1;
                if header.is_v2() && record.is_control {
                    let key = control::parse_key(record.key)?;
                    if matches!(key.control_type, ABORT | COMMIT) {
                        marker = Some(control::parse_end_marker(key, record.value)?.commit);
                    }
                }
            }
            Ok(())
        })();
        report.verdict.looked.records += count;
        match decoded {
            Err(e) if e.kind() == ErrorKind::TooLarge => {
                report.note(path, Some(at), e.to_string(), UNSEEN);
            }
            Err(e) => report.damage(path, Some(at), e.to_string(), LOST_TAIL),
            Ok(()) => {}
        }
        match marker {
            Some(commit) => self.txns.marker(header, !commit, &mut walk.txns, report),
            None => Ok(()),
        }
    }

    fn end(
        &mut self,
        path: &Path,
        is_whole: bool,
        walk: &mut Walk,
        report: &mut Report,
    ) -> Result<()> {
        if let Some((at, from, to)) = self.first_gap {
            walk.has_gaps = true;
            let what = match self.gaps {
                1 => format!("a gap: offsets {from}..{to} are not there"),
                gaps => format!("{gaps} gaps, the first of them offsets {from}..{to}"),
            };
            report.note(path, Some(at), what, GAP);
        }
        self.offsets.end(is_whole, report)?;
        self.times.end(is_whole, report)?;
        self.txns.end(is_whole, walk.expected, report)
    }
}
