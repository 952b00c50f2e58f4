//! Reads the batches of a log, and counts what is in them.

use std::sync::Arc;

use super::keys::KeyCounter;
use super::{LogStat, SegmentRun, Share};
use crate::error::Result;
use crate::format::decoder::RecordDecoder;
use crate::log::Log;
use crate::segment::BatchScan;
use crate::types::TimestampMs;

/// Records of larger batches are not looked at.
const BATCH_BYTES_MAX: u32 = 16 << 20;
const DAY_MS: i64 = 86_400_000;
/// Days beyond these are counted with the last one: a hostile log has one a record.
const DAYS_MAX: usize = 10_000;

/// Counts all that is stored of a log.
pub(super) fn count(log: &Log, stat: &mut LogStat) -> Result<()> {
    let mut keys = KeyCounter::new();
    let mut decoder = RecordDecoder::new();
    decoder.bound_memory(BATCH_BYTES_MAX as usize);
    let segments = log.segment_list();
    for (i, segment) in segments.iter().enumerate() {
        let next = segments.get(i + 1).map(|next| next.base_offset());
        let mut run = SegmentRun {
            base: segment.base_offset(),
            end: next.unwrap_or(stat.end),
            segments: 1,
            bytes: segment.size_bytes(),
            records: 0,
            times: None,
        };
        let mut scan = BatchScan::new(Arc::clone(segment.file()), 0..segment.size_bytes());
        loop {
            let scanned = match scan.next_batch() {
                Ok(Some(scanned)) => scanned,
                Ok(None) => break,
                Err(e) if e.is_corrupt_data() => {
                    stat.unread_batches += 1;
                    break;
                }
                Err(e) => return Err(e),
            };
            let header = scanned.header;
            let mut share = Share {
                batches: 1,
                stored_bytes: u64::from(header.size_bytes),
                ..Share::default()
            };
            let is_read = header.size_bytes <= BATCH_BYTES_MAX && {
                let batch = scan.bytes_of(&scanned)?;
                batch.ensure_valid().is_ok()
                    && decoder.begin(&batch).is_ok()
                    && loop {
                        match decoder.next(&batch) {
                            Err(_) => break false,
                            Ok(None) => break true,
                            Ok(Some(record)) => {
                                let len = |bytes: Option<&[u8]>| bytes.map_or(0, <[u8]>::len);
                                let headers = record.headers.into_iter();
                                let headers: usize =
                                    headers.map(|h| h.key.len() + len(h.value)).sum();
                                let payload = len(record.key) + len(record.value) + headers;
                                share.records += 1;
                                share.payload_bytes += payload as u64;
                                if record.is_control {
                                    continue;
                                }
                                match (record.key, record.value) {
                                    (None, _) => stat.null_keys += 1,
                                    (Some(_), None) => stat.tombstones += 1,
                                    _ => {}
                                }
                                if let Some(key) = record.key {
                                    keys.add(key);
                                }
                            }
                        }
                    }
            };
            stat.unread_batches += u64::from(!is_read);
            let codec = header
                .attributes
                .codec()
                .map_or("unknown", crate::format::codec::Codec::name);
            let day = header.max_timestamp.0.div_euclid(DAY_MS);
            let day = day.saturating_mul(DAY_MS);
            let day = match stat.days.last_key_value() {
                Some((last, _)) if stat.days.len() >= DAYS_MAX => *last,
                _ => day,
            };
            stat.total += share;
            *stat.codecs.entry(codec).or_default() += share;
            *stat.days.entry(day).or_default() += share;
            stat.timeline.add(header.max_timestamp, share);
            let size_log2 = header.size_bytes.max(1).ilog2();
            *stat.batch_sizes.entry(size_log2).or_default() += share;
            run.records += share.records;
            if header.max_timestamp != TimestampMs::NONE {
                run.see(header.max_timestamp);
            }
        }
        stat.runs.push(run);
    }
    stat.keys = keys.estimate();
    Ok(())
}
