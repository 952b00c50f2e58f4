//! Batches to records and back without a log (c-abi.md 3.2.8).

use std::ptr::{null, null_mut};

use klog::ffi::append::*;
use klog::ffi::codec::*;
use klog::ffi::constants::*;
use klog::ffi::read::*;
use klog::ffi::types::*;
use klog::format::batch::Batch;
use klog::format::packed::PackedReader;

use crate::calls::*;

const TIME: i64 = 1_700_000_000_000;

fn bytes_of(pointer: *const std::ffi::c_void, len: u64) -> Option<Vec<u8>> {
    // SAFETY: what a call lent, while what it points into lives.
    (!pointer.is_null())
        .then(|| unsafe { std::slice::from_raw_parts(pointer.cast::<u8>(), len as usize).to_vec() })
}

type Plain = (
    i64,
    i64,
    Option<Vec<u8>>,
    Option<Vec<u8>>,
    Vec<(Vec<u8>, Option<Vec<u8>>)>,
);

fn plain(record: &klog_record) -> Plain {
    let headers = match record.header_count {
        0 => &[][..],
        // SAFETY: as above.
        count => unsafe { std::slice::from_raw_parts(record.headers, count as usize) },
    };
    let headers = headers.iter().map(|h| {
        let key = bytes_of(h.key.cast(), h.key_len).unwrap_or_default();
        (key, bytes_of(h.value, h.value_len))
    });
    (
        record.offset,
        record.timestamp_ms,
        bytes_of(record.key, record.key_len),
        bytes_of(record.value, record.value_len),
        headers.collect(),
    )
}

fn encode(records: &[klog_record], compression: i32, base: i64) -> Vec<u8> {
    let mut options = init!(klog_append_options);
    options.compression = compression;
    let mut needed = 0;
    let (count, opts) = (records.len(), &raw const options);
    refused(KLOG_ERR_BUFFER_TOO_SMALL, "", |e| {
        klog_encode(
            records.as_ptr(),
            count,
            opts,
            base,
            null_mut(),
            0,
            &raw mut needed,
            e,
        )
    });
    let mut buf = vec![0; needed];
    ok(|e| {
        klog_encode(
            records.as_ptr(),
            count,
            opts,
            base,
            buf.as_mut_ptr().cast(),
            needed,
            null_mut(),
            e,
        )
    });
    buf
}

/// Decodes with exactly the room that the batches say they need, batch after batch.
fn decode(batches: &[u8], flags: u32) -> Vec<Plain> {
    let mut found = Vec::new();
    let mut at = 0;
    loop {
        let rest = &batches[at..];
        let mut result = init!(klog_read_result);
        let data = rest.as_ptr().cast();
        let (status, message, _) = call(|e| {
            klog_decode(
                data,
                rest.len(),
                flags,
                null_mut(),
                0,
                null_mut(),
                0,
                &raw mut result,
                e,
            )
        });
        match status {
            KLOG_ERR_END => return found,
            KLOG_OK => assert_eq!(result.records, 0),
            KLOG_ERR_BUFFER_TOO_SMALL => {
                let cap = result.records as usize;
                // Neither the records nor the bytes lie on any boundary that they were not asked to.
                let mut buf = vec![0xdb_u8; result.bytes_needed as usize + 1];
                let room = &mut buf[1..];
                let mut records = vec![record(b"", b""); cap];
                for (cap, room_len) in [
                    (cap.saturating_sub(1), room.len()),
                    (cap, room.len().saturating_sub(1)),
                ] {
                    if cap < records.len() || !room.is_empty() {
                        refused(KLOG_ERR_BUFFER_TOO_SMALL, "", |e| {
                            klog_decode(
                                data,
                                rest.len(),
                                flags,
                                records.as_mut_ptr(),
                                cap,
                                room.as_mut_ptr().cast(),
                                room_len,
                                &raw mut result,
                                e,
                            )
                        });
                    }
                }
                ok(|e| {
                    klog_decode(
                        data,
                        rest.len(),
                        flags,
                        records.as_mut_ptr(),
                        cap,
                        room.as_mut_ptr().cast(),
                        room.len(),
                        &raw mut result,
                        e,
                    )
                });
                assert_eq!(result.records as usize, cap);
                found.extend(records.iter().map(plain));
            }
            other => panic!("{other}: {message}"),
        }
        at += result.bytes as usize;
    }
}

fn decode_packed(batches: &[u8], cap: usize) -> (Vec<u8>, klog_read_result) {
    let mut buf = vec![0xdb; cap];
    let mut result = init!(klog_read_result);
    ok(|e| {
        klog_decode_packed(
            batches.as_ptr().cast(),
            batches.len(),
            0,
            buf.as_mut_ptr().cast(),
            cap,
            &raw mut result,
            e,
        )
    });
    let used = u64::from_le_bytes(buf[24..32].try_into().unwrap()) as usize;
    buf.truncate(used);
    (buf, result)
}

#[test]
fn what_is_encoded_is_decoded_in_every_codec_and_form() {
    let headers = [
        klog_header {
            key: c"h".as_ptr(),
            key_len: 1,
            value: b"x".as_ptr().cast(),
            value_len: 1,
        },
        klog_header {
            key: null(),
            key_len: 0,
            value: null(),
            value_len: 0,
        },
    ];
    let long = vec![7u8; 100_000];
    let mut records = [record(b"a", b"1"), record(b"", &long), record(b"c", b"")];
    records[1].key = null();
    records[2].value = null();
    records[2].headers = headers.as_ptr();
    records[2].header_count = 2;
    for (n, record) in records.iter_mut().enumerate() {
        record.flags = KLOG_RECORD_HAS_TIMESTAMP;
        record.timestamp_ms = TIME + n as i64;
    }
    let mut batches = Vec::new();
    let mut expected = Vec::new();
    for codec in KLOG_COMPRESSION_CONFIG..=KLOG_COMPRESSION_ZSTD {
        let base = 10 * i64::from(codec);
        let batch = encode(&records, codec, base);
        for (n, record) in records.iter().enumerate() {
            let mut record = *record;
            record.offset = base + n as i64;
            expected.push(plain(&record));
        }
        // The packed twin makes the same bytes.
        let (packed, _) = decode_packed(&batch, 200_000);
        let mut options = init!(klog_append_options);
        options.compression = codec;
        let mut again = vec![0; batch.len()];
        let mut needed = 0;
        let for_append = without_reading(&packed);
        ok(|e| {
            klog_encode_packed(
                for_append.as_ptr().cast(),
                for_append.len(),
                &raw const options,
                base,
                again.as_mut_ptr().cast(),
                again.len(),
                &raw mut needed,
                e,
            )
        });
        assert_eq!((needed, &again), (batch.len(), &batch));
        batches.extend_from_slice(&batch);
    }
    assert_eq!(decode(&batches, 0), expected);
    // Half a batch behind them is left.
    let half = batches[..50].to_vec();
    batches.extend_from_slice(&half);
    assert_eq!(decode(&batches, 0), expected);
}

/// A packed buffer that a read gave, as one to be appended: without what only reading sets.
fn without_reading(packed: &[u8]) -> Vec<u8> {
    let mut packed = packed.to_vec();
    packed[16..24].copy_from_slice(&(-1i64).to_le_bytes());
    let mut at = 32;
    while at < packed.len() {
        let len = u32::from_le_bytes(packed[at..at + 4].try_into().unwrap()) as usize;
        packed[at + 8..at + 16].copy_from_slice(&(-1i64).to_le_bytes());
        at += len;
    }
    let mut reader = PackedReader::new(&packed).unwrap();
    while reader.next_record().unwrap().is_some() {}
    packed
}

#[test]
fn a_packed_buffer_takes_as_many_whole_batches_as_fit() {
    let one = encode(
        &[record(b"k", b"v"), record(b"k", b"w")],
        KLOG_COMPRESSION_NONE,
        0,
    );
    let batches = [one.clone(), one.clone(), one.clone()].concat();
    let entry = 56;
    let mut result = init!(klog_read_result);
    let mut buf = [0u8; 1024];
    refused(KLOG_ERR_BUFFER_TOO_SMALL, "", |e| {
        klog_decode_packed(
            batches.as_ptr().cast(),
            batches.len(),
            0,
            buf.as_mut_ptr().cast(),
            20,
            &raw mut result,
            e,
        )
    });
    assert_eq!((result.records, result.bytes_needed), (2, 32 + 2 * entry));
    for (cap, fit) in [
        (32 + 2 * entry, 1),
        (32 + 3 * entry, 1),
        (32 + 4 * entry, 2),
        (1000, 3),
    ] {
        let (packed, result) = decode_packed(&batches, cap as usize);
        assert_eq!((result.batches, result.records), (fit, 2 * fit));
        assert_eq!(packed.len() as u64, 32 + u64::from(2 * fit) * entry);
        assert_eq!(result.bytes as usize, fit as usize * one.len());
        assert_eq!(packed[8..12], (2 * fit).to_le_bytes());
    }
    refused(KLOG_ERR_END, "", |e| {
        klog_decode_packed(
            null(),
            0,
            0,
            buf.as_mut_ptr().cast(),
            buf.len(),
            &raw mut result,
            e,
        )
    });
}

#[test]
fn damage_is_told_with_its_place_behind_what_is_good() {
    let one = encode(&[record(b"k", b"v")], KLOG_COMPRESSION_NONE, 5);
    let mut batches = [one.clone(), one.clone()].concat();
    batches[one.len() + 60] ^= 1;
    let mut records = [record(b"", b""); 4];
    let mut result = init!(klog_read_result);
    ok(|e| {
        klog_decode(
            batches.as_ptr().cast(),
            batches.len(),
            0,
            records.as_mut_ptr(),
            4,
            null_mut(),
            0,
            &raw mut result,
            e,
        )
    });
    assert_eq!((result.records, result.bytes as usize), (1, one.len()));
    let rest = &batches[one.len()..];
    let err = refused(KLOG_ERR_CORRUPT_MESSAGE, "", |e| {
        klog_decode(
            rest.as_ptr().cast(),
            rest.len(),
            0,
            records.as_mut_ptr(),
            4,
            null_mut(),
            0,
            &raw mut result,
            e,
        )
    });
    assert_eq!((err.offset, err.position), (5, 0));
    let garbage = [0u8; 100];
    refused(KLOG_ERR_CORRUPT_MESSAGE, "", |e| {
        klog_decode_packed(
            garbage.as_ptr().cast(),
            100,
            0,
            batches.as_mut_ptr().cast(),
            100,
            &raw mut result,
            e,
        )
    });
}

#[test]
fn control_records_are_given_only_when_asked_for() {
    let root = tempfile::tempdir().unwrap();
    let owner = manager(root.path());
    let t = log(owner, "t");
    ok(|e| klog_append_marker(t, 1, 0, 1, 0, null_mut(), e));
    let mut buf = vec![0u8; 1024];
    let mut read = init!(klog_read_result);
    ok(|e| {
        klog_read(
            t,
            0,
            null(),
            buf.as_mut_ptr().cast(),
            buf.len(),
            &raw mut read,
            e,
        )
    });
    let batches = &buf[..read.bytes as usize];
    assert_eq!(decode(batches, 0).len(), 0);
    assert_eq!(decode(batches, KLOG_READ_CONTROL).len(), 1);
    close(owner);
}

#[test]
fn a_batch_says_what_its_options_say() {
    let mut options = init!(klog_append_options);
    options.flags = KLOG_APPEND_HAS_PRODUCER | KLOG_APPEND_TRANSACTIONAL | KLOG_APPEND_HAS_EPOCH;
    options.producer_id = 9;
    options.producer_epoch = 3;
    options.base_sequence = 70;
    options.leader_epoch = 4;
    let one = record(b"k", b"v");
    let mut buf = [0u8; 200];
    let mut needed = 0;
    let mut with = |options: &klog_append_options, base| {
        call(|e| {
            klog_encode(
                &raw const one,
                1,
                options,
                base,
                buf.as_mut_ptr().cast(),
                200,
                &raw mut needed,
                e,
            )
        })
    };
    assert_eq!(with(&options, 12).0, KLOG_OK);
    for (change, part) in [
        (
            (|o| o.flags = KLOG_APPEND_IF_LOG_END) as fn(&mut klog_append_options),
            "flags",
        ),
        (|o| o.origin = 1, "origin"),
        (|o| o.durability = 1, "durability"),
        (|o| o.compression = 9, "compression"),
        (|o| o.producer_epoch = 40_000, "producer_epoch"),
        (|o| o.flags = KLOG_APPEND_TRANSACTIONAL, "HAS_PRODUCER"),
        (|o| o.reserved[2] = 1, "reserved"),
    ] {
        let mut wrong = options;
        change(&mut wrong);
        let (status, message, _) = with(&wrong, 0);
        assert_eq!(status, KLOG_ERR_INVALID_ARGUMENT, "{message}");
        assert!(message.contains(part), "{message} {part}");
    }
    assert_eq!(with(&options, -1).0, KLOG_ERR_INVALID_ARGUMENT);
    assert_eq!(with(&options, 12).0, KLOG_OK);
    let header = *Batch::new(&buf[..needed]).unwrap().header();
    assert_eq!((header.base_offset.0, header.leader_epoch.0), (12, 4));
    assert_eq!(
        (
            header.producer_id.0,
            header.producer_epoch,
            header.base_sequence
        ),
        (9, 3, 70)
    );
    assert!(header.attributes.is_transactional());
    ok(|e| klog_encode(null(), 0, null(), 0, null_mut(), 0, &raw mut needed, e));
    assert_eq!(needed, 0, "no records are no batch");
    let err = refused(KLOG_ERR_NULL_ARGUMENT, "records", |e| {
        klog_encode(null(), 1, null(), 0, null_mut(), 0, null_mut(), e)
    });
    assert_eq!(err.status, KLOG_ERR_NULL_ARGUMENT);
    refused(KLOG_ERR_NULL_ARGUMENT, "packed", |e| {
        klog_encode_packed(null(), 8, null(), 0, null_mut(), 0, null_mut(), e)
    });
}

#[test]
fn decoding_names_what_is_null() {
    let mut result = init!(klog_read_result);
    let out = &raw mut result;
    let some = [0u8; 10].as_ptr().cast();
    for (part, call) in [
        (
            "batches",
            &(|e| klog_decode(null(), 9, 0, null_mut(), 0, null_mut(), 0, out, e))
                as &dyn Fn(*mut klog_error) -> klog_status,
        ),
        ("records", &|e| {
            klog_decode(null(), 0, 0, null_mut(), 1, null_mut(), 0, out, e)
        }),
        ("buf", &|e| {
            klog_decode(null(), 0, 0, null_mut(), 0, null_mut(), 1, out, e)
        }),
        ("out", &|e| {
            klog_decode(some, 10, 0, null_mut(), 0, null_mut(), 0, null_mut(), e)
        }),
        ("buf", &|e| {
            klog_decode_packed(some, 10, 0, null_mut(), 0, out, e)
        }),
        ("out", &|e| {
            klog_decode_packed(some, 10, 0, null_mut(), 0, null_mut(), e)
        }),
    ] {
        refused(KLOG_ERR_NULL_ARGUMENT, part, call);
    }
    refused(KLOG_ERR_INVALID_ARGUMENT, "flags", |e| {
        klog_decode(
            some,
            10,
            KLOG_READ_SLICE,
            null_mut(),
            0,
            null_mut(),
            0,
            out,
            e,
        )
    });
}
