//! Makes the bytes of appends, good and bad ones.

use klog::format::batch;
use klog::format::builder::{BatchBuilder, BatchOptions};
use klog::format::codec::{Codec, Compressor};
use klog::format::control::write_end_marker;
use klog::format::legacy::{OldMessage, write_message, write_wrapper};
use klog::format::record::Header;
use klog::types::{LeaderEpoch, Offset, ProducerId, TimestampMs};

use crate::support::engine::{Rec, batch as build};

/// Where the fields of a batch of magic 2 stand.
pub(crate) mod at {
    pub(crate) const SIZE: usize = 8;
    pub(crate) const MAGIC: usize = 16;
    pub(crate) const ATTRIBUTES: usize = 21;
    pub(crate) const LAST_DELTA: usize = 23;
    pub(crate) const BASE_TIMESTAMP: usize = 27;
    pub(crate) const COUNT: usize = 57;
    pub(crate) const RECORDS: usize = 61;
}

/// What a batch says besides its records.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spec {
    pub(crate) base: i64,
    pub(crate) leader_epoch: i32,
    pub(crate) codec: Codec,
    pub(crate) append_time: Option<i64>,
    pub(crate) producer: i64,
    pub(crate) epoch: i16,
    pub(crate) sequence: i32,
    pub(crate) transactional: bool,
}

impl Spec {
    pub(crate) fn plain(codec: Codec) -> Self {
        Self {
            base: 0,
            leader_epoch: -1,
            codec,
            append_time: None,
            producer: -1,
            epoch: -1,
            sequence: -1,
            transactional: false,
        }
    }

    fn options(&self) -> BatchOptions {
        BatchOptions {
            base_offset: Offset(self.base),
            leader_epoch: LeaderEpoch(self.leader_epoch),
            codec: self.codec,
            log_append_time: self.append_time.map(TimestampMs),
            producer_id: ProducerId(self.producer),
            producer_epoch: self.epoch,
            base_sequence: self.sequence,
            transactional: self.transactional,
            ..BatchOptions::default()
        }
    }

    pub(crate) fn batch(&self, records: &[Rec]) -> Vec<u8> {
        build(records, &self.options())
    }

    /// A batch whose offsets have a gap, while its header says that there is none.
    pub(crate) fn with_a_gap(&self, records: &[Rec]) -> Vec<u8> {
        let mut builder = BatchBuilder::new();
        for (record, n) in records.iter().zip(0..) {
            let delta = if n == 0 { 0 } else { n + 1 };
            let (key, value) = (record.key.as_deref(), record.value.as_deref());
            let no_headers: [Header<'_>; 0] = [];
            builder
                .push_at(
                    delta,
                    TimestampMs(record.ts),
                    key,
                    value,
                    no_headers.into_iter(),
                )
                .unwrap();
        }
        let options = BatchOptions {
            last_offset_delta: Some(records.len() as i32 - 1),
            ..self.options()
        };
        builder.finish(&options).unwrap().to_vec()
    }

    /// The marker of the end of a transaction.
    pub(crate) fn marker(&self, commit: bool, coordinator_epoch: i32, timestamp: i64) -> Vec<u8> {
        let mut builder = BatchBuilder::new();
        let options = BatchOptions {
            codec: Codec::None,
            ..self.options()
        };
        let time = TimestampMs(timestamp);
        write_end_marker(&mut builder, commit, coordinator_epoch, time, &options)
            .unwrap()
            .to_vec()
    }

    /// A control batch of a producer whose type no transaction has.
    pub(crate) fn unknown_marker(&self, timestamp: i64) -> Vec<u8> {
        let record = Rec {
            ts: timestamp,
            key: Some(vec![0, 0, 0, 9]),
            value: Some(vec![0, 0, 0, 0, 0, 1]),
            headers: Vec::new(),
        };
        let options = BatchOptions {
            control: true,
            transactional: true,
            codec: Codec::None,
            base_sequence: -1,
            ..self.options()
        };
        build(&[record], &options)
    }
}

/// A message of magic 0 or 1 for each record. Headers are lost.
pub(crate) fn old_messages(magic: i8, base: i64, records: &[Rec]) -> Vec<u8> {
    let mut out = Vec::new();
    for (record, offset) in records.iter().zip(base..) {
        write_message(&mut out, magic, 0, &old(record, offset));
    }
    out
}

/// A wrapper of magic 1 that holds the records compressed; its offset is the last one.
pub(crate) fn old_wrapper(codec: Codec, base: i64, records: &[Rec]) -> Vec<u8> {
    let mut inner = Vec::new();
    for (record, offset) in records.iter().zip(0..) {
        write_message(&mut inner, 1, 0, &old(record, offset));
    }
    let newest = records.iter().max_by_key(|record| record.ts).unwrap();
    let last = base + records.len() as i64 - 1;
    let mut out = Vec::new();
    let wrapper = OldMessage {
        value: None,
        key: None,
        ..old(newest, last)
    };
    let mut compressor = Compressor::new();
    write_wrapper(&mut out, 1, 0, codec, &wrapper, &inner, &mut compressor).unwrap();
    out
}

fn old(record: &Rec, offset: i64) -> OldMessage<'_> {
    OldMessage {
        offset: Offset(offset),
        timestamp: TimestampMs(record.ts),
        key: record.key.as_deref(),
        value: record.value.as_deref(),
    }
}

/// The bytes with others at a place, and the right checksum of that.
pub(crate) fn patched(mut bytes: Vec<u8>, at: usize, with: &[u8]) -> Vec<u8> {
    bytes[at..at + with.len()].copy_from_slice(with);
    batch::seal(&mut bytes);
    bytes
}

/// A batch with this many records more in its header than it has.
pub(crate) fn with_more_records(bytes: Vec<u8>, more: i32) -> Vec<u8> {
    let add = |bytes: &[u8], at: usize| {
        let field: [u8; 4] = bytes[at..at + 4].try_into().unwrap();
        (i32::from_be_bytes(field) + more).to_be_bytes()
    };
    let (last, count) = (add(&bytes, at::LAST_DELTA), add(&bytes, at::COUNT));
    patched(patched(bytes, at::LAST_DELTA, &last), at::COUNT, &count)
}

/// A batch with these bytes in place of its records.
pub(crate) fn with_records(bytes: &[u8], records: &[u8]) -> Vec<u8> {
    let mut all = bytes[..at::RECORDS].to_vec();
    all.extend_from_slice(records);
    let size = (all.len() as i32 - 12).to_be_bytes();
    patched(all, at::SIZE, &size)
}

/// A message of magic 1 whose key goes past its end.
pub(crate) fn key_past_message(record: &Rec) -> Vec<u8> {
    let mut bytes = old_messages(1, 0, std::slice::from_ref(record));
    bytes[26..30].copy_from_slice(&1_000_i32.to_be_bytes());
    let crc = crc32fast::hash(&bytes[16..]);
    bytes[12..16].copy_from_slice(&crc.to_be_bytes());
    bytes
}
