//! A look over the records of an uncompressed batch that takes from each only what validation asks for. Implements
//! records.md 2.9 and 2.11 for bytes in memory, as [`super::decoder`] does, with the same findings.

#![allow(clippy::inline_always)] // as in the decoder

use super::batch::BatchHeader;
use super::record::{parse_brief, usual_brief};
use super::varint::read_varint;
use crate::error::{Error, Result};
use crate::types::{Offset, TimestampMs};

/// What a record says of itself without its content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Brief {
    /// Its timestamp minus the batch's base timestamp.
    pub timestamp_delta: i64,
    /// Its offset minus the batch's base offset.
    pub offset_delta: i32,
    /// Whether its key is not null.
    pub has_key: bool,
}

impl Brief {
    /// Its timestamp, as a reader sees it.
    #[must_use]
    #[inline(always)]
    pub fn timestamp(&self, header: &BatchHeader) -> TimestampMs {
        if header.attributes.is_log_append_time() {
            return header.max_timestamp;
        }
        TimestampMs(header.base_timestamp.0.wrapping_add(self.timestamp_delta))
    }

    /// Its offset.
    #[must_use]
    #[inline(always)]
    pub fn offset(&self, header: &BatchHeader) -> Offset {
        header.base_offset + i64::from(self.offset_delta)
    }
}

/// Walks over `count` records as they are stored, one after the other, without copying or allocating, until `take` wants no
/// more. INVALID_RECORD if that is no count, if a record is not whole, or if something follows the last one. Without records the
/// bytes are not looked at.
#[inline(always)]
pub fn skim(records: &[u8], count: i32, mut take: impl FnMut(Brief) -> bool) -> Result<()> {
    if count < 0 {
        return Err(Error::invalid_record(format!(
            "a batch has the record count {count}"
        )));
    }
    let (mut rest, mut left) = (records, count);
    while left > 0 {
        let (brief, behind) = match usual_brief(rest) {
            Some(usual) => usual,
            None => any_brief(rest, left)?,
        };
        rest = behind;
        left -= 1;
        if left == 0 && !rest.is_empty() {
            return Err(left_over(rest.len()));
        }
        if !take(brief) {
            break;
        }
    }
    Ok(())
}

/// The record at the front of `rest`, be it an unusual or a wrong one, with what follows it.
#[inline(never)]
fn any_brief(rest: &[u8], left: i32) -> Result<(Brief, &[u8])> {
    if rest.is_empty() {
        return Err(premature(left));
    }
    let (len, n) = read_varint(rest)?;
    let behind = rest.get(n..).unwrap_or_default();
    let body = usize::try_from(len)
        .ok()
        .and_then(|len| behind.split_at_checked(len));
    let Some((body, behind)) = body else {
        return Err(overrun(len, behind.len()));
    };
    Ok((parse_brief(body)?, behind))
}

#[cold]
fn premature(left: i32) -> Error {
    Error::invalid_record(format!("a batch ends {left} records before its last"))
}

#[cold]
fn overrun(len: i32, left: usize) -> Error {
    Error::invalid_record(format!(
        "a batch has a record of {len} bytes, {left} are left"
    ))
}

#[cold]
fn left_over(bytes: usize) -> Error {
    Error::invalid_record(format!("a batch has {bytes} bytes behind its last record"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;
    use crate::format::batch::{Batch, HEADER_BYTES};
    use crate::format::builder::{BatchBuilder, BatchOptions};
    use crate::format::decoder::RecordDecoder;
    use crate::format::record::Header;
    use proptest::prelude::*;

    fn sample() -> Vec<u8> {
        let mut builder = BatchBuilder::new();
        let header = [Header {
            key: b"h",
            value: None,
        }];
        for (i, key) in [Some(b"k".as_slice()), None, Some(b"")]
            .into_iter()
            .enumerate()
        {
            let headers = header.get(..i % 2).unwrap().iter().copied();
            builder
                .push(TimestampMs(100 * i as i64), key, Some(&[7; 70]), headers)
                .unwrap();
        }
        builder.finish(&BatchOptions::default()).unwrap().to_vec()
    }

    fn briefs(records: &[u8], count: i32) -> Result<Vec<Brief>> {
        let mut briefs = Vec::new();
        skim(records, count, |brief| {
            briefs.push(brief);
            true
        })?;
        Ok(briefs)
    }

    #[test]
    fn each_record_tells_its_deltas_and_whether_it_has_a_key() {
        let batch = sample();
        let met = briefs(&batch[HEADER_BYTES..], 3).unwrap();
        let found: Vec<_> = met
            .iter()
            .map(|b| (b.timestamp_delta, b.offset_delta, b.has_key))
            .collect();
        assert_eq!(found, [(0, 0, true), (100, 1, false), (200, 2, true)]);
        // records.md 2.11: without records the bytes are not looked at.
        assert_eq!(briefs(&batch[HEADER_BYTES..], 0).unwrap(), []);
        for count in [-1, 2, 4] {
            let error = briefs(&batch[HEADER_BYTES..], count).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidRecord, "count {count}");
        }
    }

    proptest! {
        #[test]
        fn it_finds_what_the_decoder_finds(flips in proptest::collection::vec((0usize..300, any::<u8>()), 0..3), count in -1i32..5) {
            let mut bytes = sample();
            for (at, value) in flips {
                let at = HEADER_BYTES + at % (bytes.len() - HEADER_BYTES);
                bytes[at] = value;
            }
            bytes[57..61].copy_from_slice(&count.to_be_bytes());
            let batch = Batch::new(&bytes).unwrap();
            let mut decoder = RecordDecoder::new();
            let decoded = decoder.begin(&batch).and_then(|()| {
                let mut found = Vec::new();
                while let Some(record) = decoder.next(&batch)? {
                    found.push((record.timestamp.0, record.offset, record.key.is_some()));
                }
                Ok(found)
            });
            let base = batch.header().base_timestamp.0;
            let skimmed = briefs(batch.records_bytes(), count).map(|briefs| {
                briefs
                    .iter()
                    .map(|b| (base.wrapping_add(b.timestamp_delta), Offset(i64::from(b.offset_delta)), b.has_key))
                    .collect::<Vec<_>>()
            });
            prop_assert_eq!(skimmed.map_err(|e| e.kind()), decoded.map_err(|e| e.kind()));
        }
    }
}
