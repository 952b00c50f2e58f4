//! Index entries and producer snapshots.

use std::collections::BTreeSet;

use klog::format::crc::crc32c;
use klog::format::offset_index::{self, OffsetEntry};
use klog::format::snapshot;
use klog::format::time_index::{self, TimeEntry};
use klog::format::txn_index::{self, AbortedTxn};
use klog::state::producers::Producers;
use klog::types::{Offset, ProducerId, TimestampMs};

use super::Choices;

/// Base offset, size of the log, then entries.
pub(super) fn offset_index(data: &[u8]) {
    let mut choices = Choices(data);
    let base = Offset(choices.i64());
    let log_bytes = u64::from(u32::from_be_bytes(choices.array()));
    let bytes = choices.0;
    let len = bytes.len() / offset_index::ENTRY_BYTES;
    let entries: Vec<OffsetEntry> = (0..len)
        .map(|i| OffsetEntry::decode(bytes, i, base).expect("whole entries decode"))
        .collect();
    assert_eq!(OffsetEntry::decode(bytes, len, base), None);
    for (i, entry) in entries.iter().enumerate() {
        let at = i * offset_index::ENTRY_BYTES;
        if let Some(encoded) = entry.encode(base) {
            assert_eq!(
                encoded,
                bytes[at..at + offset_index::ENTRY_BYTES],
                "an entry is written as it was read"
            );
        }
    }
    if !offset_index::is_sane(bytes, base, log_bytes) {
        return;
    }
    assert!(entries.is_sorted_by(|a, b| a.offset < b.offset && a.position < b.position));
    assert!(
        entries
            .iter()
            .all(|e| u64::from(e.position) < log_bytes && e.encode(base).is_some())
    );
    for target in targets(entries.iter().map(|e| e.offset.0), base.0) {
        let found = offset_index::floor(len, |i| entries[i].offset.0 <= target);
        assert_eq!(found, entries.iter().rposition(|e| e.offset.0 <= target));
    }
}

fn targets(of: impl Iterator<Item = i64>, base: i64) -> BTreeSet<i64> {
    let around = of
        .take(50)
        .flat_map(|t| [t.wrapping_sub(1), t, t.wrapping_add(1)]);
    around.chain([base, i64::MIN, i64::MAX, 0]).collect()
}

pub(super) fn offset_seeds() -> Vec<Vec<u8>> {
    let seed = |base: i64, log_bytes: u32, entries: &[(i64, u32)]| {
        let entries = entries.iter().map(|&(offset, position)| OffsetEntry {
            offset: Offset(offset),
            position,
        });
        let bytes: Vec<u8> = entries
            .flat_map(|e| e.encode(Offset(base)).unwrap())
            .collect();
        [&base.to_be_bytes()[..], &log_bytes.to_be_bytes(), &bytes].concat()
    };
    vec![
        seed(100, 9000, &[(103, 109), (250, 4096), (2000, 8201)]),
        seed(0, 100, &[(0, 0), (1, 1)]),
        seed(i64::MAX - 10, 100, &[(i64::MAX - 3, 7), (i64::MAX, 9)]),
        seed(0, 0x7fff_ffff, &[(0x7fff_ffff, 0x7fff_fffe)]),
        seed(0, 0, &[]),
    ]
}

/// Base offset, end offset, then entries.
pub(super) fn time_index(data: &[u8]) {
    let mut choices = Choices(data);
    let (base, end) = (Offset(choices.i64()), Offset(choices.i64()));
    let bytes = choices.0;
    let len = bytes.len() / time_index::ENTRY_BYTES;
    let entries: Vec<TimeEntry> = (0..len)
        .map(|i| TimeEntry::decode(bytes, i, base).expect("whole entries decode"))
        .collect();
    assert_eq!(TimeEntry::decode(bytes, len, base), None);
    for (i, entry) in entries.iter().enumerate() {
        let at = i * time_index::ENTRY_BYTES;
        if let Some(encoded) = entry.encode(base) {
            assert_eq!(
                encoded,
                bytes[at..at + time_index::ENTRY_BYTES],
                "an entry is written as it was read"
            );
        }
    }
    if time_index::is_sane(bytes, base, end) {
        assert!(entries.is_sorted_by(|a, b| a.timestamp < b.timestamp && a.offset <= b.offset));
        assert!(
            entries
                .iter()
                .all(|e| e.offset < end && e.timestamp.0 >= 0 && e.encode(base).is_some())
        );
    }
}

pub(super) fn time_seeds() -> Vec<Vec<u8>> {
    let seed = |base: i64, end: i64, entries: &[(i64, i64)]| {
        let entries = entries.iter().map(|&(t, o)| TimeEntry {
            timestamp: TimestampMs(t),
            offset: Offset(o),
        });
        let bytes: Vec<u8> = entries
            .flat_map(|e| e.encode(Offset(base)).unwrap())
            .collect();
        [&base.to_be_bytes()[..], &end.to_be_bytes(), &bytes].concat()
    };
    vec![
        seed(
            100,
            300,
            &[
                (1_700_000_000_000, 103),
                (1_700_000_000_005, 250),
                (1_700_000_000_009, 250),
            ],
        ),
        seed(0, 1, &[(0, 0)]),
        seed(i64::MAX - 1, i64::MAX, &[(i64::MAX, i64::MAX - 1)]),
        seed(0, 0, &[]),
    ]
}

/// A range of offsets, then entries.
pub(super) fn txn_index(data: &[u8]) {
    let mut choices = Choices(data);
    let (from, upto) = (Offset(choices.i64()), Offset(choices.i64()));
    let bytes = choices.0;
    let Ok(entries) = txn_index::parse(bytes) else {
        let entries = || bytes.chunks_exact(txn_index::ENTRY_BYTES);
        let marker = |entry: &[u8]| i64::from_be_bytes(entry[18..26].try_into().unwrap());
        assert!(
            entries().any(|entry| entry[..2] != [0, 0])
                || !entries().map(marker).is_sorted_by(|a, b| a < b),
            "only a version is refused, and a marker that does not lie behind the one before"
        );
        return;
    };
    assert!(entries.is_sorted_by(|a, b| a.last_offset < b.last_offset));
    let whole = entries.len() * txn_index::ENTRY_BYTES;
    let encoded: Vec<u8> = entries.iter().flat_map(AbortedTxn::encode).collect();
    assert_eq!(
        encoded,
        bytes[..whole],
        "entries are written as they were read"
    );
    assert!(bytes.len() - whole < txn_index::ENTRY_BYTES);
    let collected = txn_index::collect(&entries, from, upto);
    let until = entries.iter().position(|e| e.last_stable_offset >= upto);
    let looked_at = &entries[..until.map_or(entries.len(), |i| i + 1)];
    let touching = looked_at
        .iter()
        .filter(|e| e.last_offset >= from && e.first_offset < upto);
    assert!(collected.aborted.iter().eq(touching));
    assert_eq!(collected.is_complete, until.is_some());
}

pub(super) fn txn_seeds() -> Vec<Vec<u8>> {
    let txn = |pid, first, last, lso| AbortedTxn {
        producer_id: ProducerId(pid),
        first_offset: Offset(first),
        last_offset: Offset(last),
        last_stable_offset: Offset(lso),
    };
    let entries: Vec<u8> = [txn(4001, 110, 120, 115), txn(4002, 105, 130, 131)]
        .iter()
        .flat_map(AbortedTxn::encode)
        .collect();
    let range = |from: i64, upto: i64| [from.to_be_bytes(), upto.to_be_bytes()].concat();
    vec![
        [range(100, 115), entries.clone()].concat(),
        [range(121, 140), entries].concat(),
        range(0, 0),
    ]
}

/// A snapshot as it is, and with its version and checksum put right.
pub(super) fn snapshot(data: &[u8]) {
    check_snapshot(data);
    if data.len() >= 10 {
        let mut sealed = data.to_vec();
        sealed[..2].copy_from_slice(&[0, 1]);
        let crc = crc32c(&sealed[6..]);
        sealed[2..6].copy_from_slice(&crc.to_be_bytes());
        check_snapshot(&sealed);
    }
}

fn check_snapshot(bytes: &[u8]) {
    let Ok(entries) = snapshot::parse(bytes) else {
        return;
    };
    assert!(
        entries.len() * 46 + 10 <= bytes.len(),
        "every entry is there"
    );
    let written = snapshot::write(&entries);
    assert_eq!(snapshot::parse(&written).unwrap(), entries);
    assert_eq!(written.len(), 10 + 46 * entries.len());
    // What the state makes of it is kept by the state.
    for (now, expiration_ms) in [
        (0, i64::MAX),
        (i64::MAX, 1),
        (1_700_000_000_000, 86_400_000),
    ] {
        let mut producers = Producers::default();
        let taken = |producers: &Producers| -> Vec<snapshot::ProducerEntry> {
            producers.stored().map(|stored| stored.entry()).collect()
        };
        let load = |producers: &mut Producers, entries: &[snapshot::ProducerEntry]| {
            let mut loading = producers.load(TimestampMs(now), expiration_ms);
            for entry in entries {
                loading.take(entry);
            }
        };
        load(&mut producers, &entries);
        let once = taken(&producers);
        assert!(once.is_sorted_by_key(|e| e.producer_id) && once.len() <= entries.len());
        let mut again = Producers::default();
        load(&mut again, &once);
        assert_eq!(taken(&again), once);
    }
}

pub(super) fn snapshot_seeds() -> Vec<Vec<u8>> {
    let entry = |id: i64, offset: i64, txn: Option<i64>| snapshot::ProducerEntry {
        producer_id: ProducerId(id),
        epoch: 7,
        last_sequence: 44,
        last_offset: Offset(offset),
        offset_delta: 3,
        timestamp: TimestampMs(1_700_000_000_070),
        coordinator_epoch: 12,
        txn_first_offset: txn.map(Offset),
    };
    vec![
        snapshot::write(&[entry(4001, 103, None), entry(4002, -1, Some(490))]),
        snapshot::write(&[entry(1, 5, None), entry(1, 9, Some(2)), entry(0, 0, None)]),
        snapshot::write(&[]),
    ]
}
