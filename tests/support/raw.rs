//! A second, simpler reading of `.log` files, for expectations that do not come from klog's own code: batches by their
//! size fields and checksums (records.md 2.2, 2.13, 2.14, 4), and the index entries that recovery makes of them
//! (records.md 6.7, 7.3, 7.4).

/// A batch as it lies in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RawBatch {
    pub(crate) position: u64,
    pub(crate) size: u64,
    /// Of magic 0 and 1 the offset field, which of a wrapper is the last offset.
    pub(crate) base: i64,
    pub(crate) last: i64,
    pub(crate) magic: i8,
    pub(crate) max_timestamp: i64,
    pub(crate) leader_epoch: i32,
    pub(crate) crc_ok: bool,
}

impl RawBatch {
    pub(crate) fn end(&self) -> u64 {
        self.position + self.size
    }
}

fn number<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    bytes[at..at + N].try_into().unwrap()
}

/// The batch at `position`, if a whole one is there.
pub(crate) fn batch_at(log: &[u8], position: u64) -> Option<RawBatch> {
    let bytes = log.get(position as usize..)?;
    if bytes.len() < 18 {
        return None;
    }
    let size = 12 + i64::from(i32::from_be_bytes(number(bytes, 8)));
    let magic = bytes[16] as i8;
    let least = if magic >= 2 { 61 } else { 26 };
    let bytes = usize::try_from(size)
        .ok()
        .filter(|&size| size >= least)
        .and_then(|size| bytes.get(..size))?;
    let offset = i64::from_be_bytes(number(bytes, 0));
    let common = RawBatch {
        position,
        size: bytes.len() as u64,
        base: offset,
        last: offset,
        magic,
        max_timestamp: -1,
        leader_epoch: -1,
        crc_ok: false,
    };
    Some(if magic >= 2 {
        RawBatch {
            last: offset.wrapping_add(i64::from(i32::from_be_bytes(number(bytes, 23)))),
            max_timestamp: i64::from_be_bytes(number(bytes, 35)),
            leader_epoch: i32::from_be_bytes(number(bytes, 12)),
            crc_ok: u32::from_be_bytes(number(bytes, 17)) == crc32c::crc32c(&bytes[21..]),
            ..common
        }
    } else {
        RawBatch {
            max_timestamp: if magic == 1 {
                i64::from_be_bytes(number(bytes, 18))
            } else {
                -1
            },
            crc_ok: u32::from_be_bytes(number(bytes, 12)) == crc32fast::hash(&bytes[16..]),
            ..common
        }
    })
}

/// The batches of a file from `position` on, as long as they are whole, good, and their offsets rise.
pub(crate) fn intact_from(log: &[u8], position: u64, expected: i64) -> Vec<RawBatch> {
    let mut found: Vec<RawBatch> = Vec::new();
    let mut next = (position, expected);
    while let Some(batch) =
        batch_at(log, next.0).filter(|b| b.crc_ok && b.base >= next.1 && b.last >= b.base)
    {
        next = (batch.end(), batch.last + 1);
        found.push(batch);
    }
    found
}

/// The intact beginning of a file.
pub(crate) fn intact(log: &[u8]) -> Vec<RawBatch> {
    intact_from(log, 0, i64::MIN)
}

/// `oi` and `ti` lines of the index that recovery makes of these batches.
pub(crate) fn recovered_index(batches: &[RawBatch], interval: u64) -> Vec<String> {
    let (mut offsets, mut times) = (Vec::new(), Vec::new());
    let mut max = (-1, -1);
    let mut last_time = -1;
    let mut indexed_to = 0;
    for batch in batches {
        if batch.max_timestamp > max.0 {
            max = (batch.max_timestamp, batch.last);
        }
        if batch.position - indexed_to > interval {
            offsets.push(format!("oi {} {}", batch.last, batch.position));
            if max.0 > last_time {
                times.push(format!("ti {} {}", max.0, max.1));
                last_time = max.0;
            }
            indexed_to = batch.position;
        }
    }
    if max.0 > last_time {
        times.push(format!("ti {} {}", max.0, max.1));
    }
    offsets.extend(times);
    offsets
}

/// Whether an offset index may be believed (hard-cases.md HC11): whole entries that rise, positions inside the log, and
/// the last one leads to a batch that ends with its offset.
pub(crate) fn is_sane_offset_index(index: &[u8], log: &[u8], base: i64) -> bool {
    let entries: Vec<(i64, i64)> = index
        .chunks_exact(8)
        .map(|e| {
            (
                i64::from(i32::from_be_bytes(number(e, 0))),
                i64::from(i32::from_be_bytes(number(e, 4))),
            )
        })
        .collect();
    index.len().is_multiple_of(8)
        && entries
            .iter()
            .all(|e| e.0 >= 0 && e.1 >= 0 && (e.1 as usize) < log.len())
        && entries
            .windows(2)
            .all(|pair| pair[0].0 < pair[1].0 && pair[0].1 < pair[1].1)
        && entries
            .last()
            .is_none_or(|e| batch_at(log, e.1 as u64).is_some_and(|b| b.last == base + e.0))
}

/// Whether a time index may be believed (log.md W8): whole entries, times rising and offsets not falling, none only
/// where the first batch has no time, and the last one tells a batch of the log.
pub(crate) fn is_sane_time_index(index: &[u8], log: &[u8], base: i64) -> bool {
    let entries: Vec<(i64, i64)> = index
        .chunks_exact(12)
        .map(|e| {
            (
                i64::from_be_bytes(number(e, 0)),
                base + i64::from(i32::from_be_bytes(number(e, 8))),
            )
        })
        .collect();
    let batches = intact(log);
    index.len().is_multiple_of(12)
        && entries
            .windows(2)
            .all(|pair| pair[0].0 < pair[1].0 && pair[0].1 <= pair[1].1)
        && match entries.last() {
            None => batches.first().is_none_or(|first| first.max_timestamp < 0),
            Some(last) => batches.iter().any(|b| (b.max_timestamp, b.last) == *last),
        }
}
