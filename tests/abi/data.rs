//! Records in and out, in every form.

use std::ptr::{null, null_mut};

use klog::ffi::append::*;
use klog::ffi::constants::*;
use klog::ffi::cursor::*;
use klog::ffi::read::*;
use klog::ffi::types::*;

use crate::calls::*;

/// Appends through the three forms, reads through the three forms: the same records.
#[test]
fn arrays_packed_buffers_and_batches_are_three_forms_of_the_same() {
    let root = tempfile::tempdir().unwrap();
    let owner = manager(root.path());
    let t = log(owner, "t");
    append_an_array(t);
    let mut cursor = klog_cursor { id: 0 };
    ok(|e| klog_cursor_open(t, 0, null(), &raw mut cursor, e));
    append_what_comes_packed(t, cursor);
    append_what_comes_as_a_batch(t);
    check_three_copies(cursor);
    assert_eq!(klog_cursor_close(cursor), KLOG_OK);
    close(owner);
}

/// Three records, one with a null value, one with headers.
fn append_an_array(t: klog_log) {
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
    let mut records = [record(b"a", b"1"), record(b"", b""), record(b"c", b"3")];
    records[1].value = null();
    records[2].headers = headers.as_ptr();
    records[2].header_count = 2;
    for (i, r) in records.iter_mut().enumerate() {
        r.flags = KLOG_RECORD_HAS_TIMESTAMP;
        r.timestamp_ms = 100 + i as i64;
    }
    let mut result = init!(klog_append_result);
    ok(|e| klog_append(t, records.as_ptr(), 3, null(), &raw mut result, e));
    assert_eq!(
        (
            result.first_offset,
            result.last_offset,
            result.records,
            result.max_timestamp
        ),
        (0, 2, 3, 102)
    );
}

/// Packed out, packed in.
fn append_what_comes_packed(t: klog_log, cursor: klog_cursor) {
    let mut result = init!(klog_append_result);
    let mut packed = vec![0u8; 4096];
    let mut read = init!(klog_read_result);
    let small =
        call(|e| klog_cursor_next_packed(cursor, packed.as_mut_ptr().cast(), 60, &raw mut read, e));
    assert_eq!(
        (small.0, read.bytes_needed),
        (KLOG_ERR_BUFFER_TOO_SMALL, 32 + 56)
    );
    ok(|e| {
        klog_cursor_next_packed(
            cursor,
            packed.as_mut_ptr().cast(),
            32 + 56,
            &raw mut read,
            e,
        )
    });
    assert_eq!(
        (read.records, read.first_offset, read.next_offset),
        (1, 0, 1),
        "one entry fits, the rest comes later"
    );
    ok(|e| klog_cursor_seek(cursor, 0, e));
    ok(|e| {
        klog_cursor_next_packed(
            cursor,
            packed.as_mut_ptr().cast(),
            packed.len(),
            &raw mut read,
            e,
        )
    });
    assert_eq!((read.records, read.next_offset), (3, 3));
    packed.truncate(read.bytes as usize);
    // What only reading sets must be cleared before it is appended: offsets are ignored, the kind is the same.
    ok(|e| {
        klog_append_packed(
            t,
            packed.as_ptr().cast(),
            packed.len(),
            null(),
            &raw mut result,
            e,
        )
    });
    assert_eq!((result.first_offset, result.last_offset), (3, 5));
}

/// A batch out, a batch in: its offset is 0 in the hands of a producer.
fn append_what_comes_as_a_batch(t: klog_log) {
    let mut result = init!(klog_append_result);
    let mut read = init!(klog_read_result);
    let mut batch = vec![0u8; 4096];
    ok(|e| {
        klog_read(
            t,
            0,
            null(),
            batch.as_mut_ptr().cast(),
            batch.len(),
            &raw mut read,
            e,
        )
    });
    assert_eq!(
        (
            read.batches,
            read.next_offset,
            read.segment_base_offset,
            read.position
        ),
        (2, 6, 0, 0)
    );
    let first_len = (read.bytes / 2) as usize;
    ok(|e| {
        klog_append_batches(
            t,
            batch.as_ptr().cast(),
            first_len,
            null(),
            &raw mut result,
            e,
        )
    });
    assert_eq!(
        (result.first_offset, result.last_offset, result.records),
        (6, 8, 3)
    );
    let err = refused(KLOG_ERR_INVALID_RECORD, "one batch", |e| {
        let twice = [&batch[..first_len], &batch[..first_len]].concat();
        klog_append_batches(t, twice.as_ptr().cast(), twice.len(), null(), null_mut(), e)
    });
    assert_eq!(err.kafka_code, 87);
    let mut torn = batch[..first_len].to_vec();
    torn[first_len - 1] ^= 1;
    refused(KLOG_ERR_CORRUPT_MESSAGE, "checksum", |e| {
        klog_append_batches(t, torn.as_ptr().cast(), torn.len(), null(), null_mut(), e)
    });
    ok(|e| klog_append_batches(t, batch.as_ptr().cast(), 30, null(), &raw mut result, e));
    assert_eq!(
        (result.first_offset, result.records),
        (-1, 0),
        "a cut batch is nothing, as in Kafka"
    );
}

/// All copies read alike.
fn check_three_copies(cursor: klog_cursor) {
    let mut read = init!(klog_read_result);
    ok(|e| klog_cursor_seek(cursor, 0, e));
    let mut places = [record(b"", b""); 64];
    ok(|e| klog_cursor_next(cursor, places.as_mut_ptr(), 64, &raw mut read, e));
    assert_eq!(read.records, 9);
    let bytes = |p: *const std::ffi::c_void, len: u64| {
        // SAFETY: lent by the cursor until its next call.
        (!p.is_null()).then(|| unsafe { std::slice::from_raw_parts(p.cast::<u8>(), len as usize) })
    };
    for (i, place) in places.iter().take(9).enumerate() {
        let (want_key, want_value): (&[u8], Option<&[u8]>) = match i % 3 {
            0 => (b"a", Some(b"1")),
            1 => (b"", None),
            _ => (b"c", Some(b"3")),
        };
        assert_eq!(place.offset, i as i64);
        assert_eq!(place.timestamp_ms, 100 + (i % 3) as i64);
        assert_eq!(bytes(place.key, place.key_len), Some(want_key));
        assert_eq!(bytes(place.value, place.value_len), want_value);
        assert_eq!(place.header_count, if i % 3 == 2 { 2 } else { 0 });
        if i % 3 == 2 {
            // SAFETY: two headers, lent by the cursor.
            let own = unsafe { std::slice::from_raw_parts(place.headers, 2) };
            assert_eq!(bytes(own[0].value, own[0].value_len), Some(&b"x"[..]));
            assert_eq!((own[1].key_len, own[1].value.is_null()), (0, true));
        }
    }
    assert_eq!(
        klog_cursor_next(cursor, places.as_mut_ptr(), 64, &raw mut read, null_mut()),
        KLOG_ERR_END
    );
    assert_eq!(read.next_offset, 9, "END says where the log ends");
}

#[test]
fn hc44_b_no_pointer_is_kept() {
    let root = tempfile::tempdir().unwrap();
    let owner = manager(root.path());
    let t = log(owner, "t");
    for round in 0..50u8 {
        let mut value = vec![round; 1000];
        let one = record(b"k", &value);
        ok(|e| klog_append(t, &raw const one, 1, null(), null_mut(), e));
        value.fill(0xdb);
    }
    let mut cursor = klog_cursor { id: 0 };
    ok(|e| klog_cursor_open(t, 0, null(), &raw mut cursor, e));
    let mut places = [record(b"", b""); 64];
    let mut read = init!(klog_read_result);
    ok(|e| klog_cursor_next(cursor, places.as_mut_ptr(), 64, &raw mut read, e));
    for (i, place) in places.iter().take(50).enumerate() {
        // SAFETY: lent by the cursor.
        let value = unsafe {
            std::slice::from_raw_parts(place.value.cast::<u8>(), place.value_len as usize)
        };
        assert!(value.iter().all(|&b| b as usize == i));
    }
    close(owner);
}

#[test]
fn an_older_leader_epoch_is_fenced_unless_it_is_asked_for() {
    let root = tempfile::tempdir().unwrap();
    let owner = manager(root.path());
    let t = log(owner, "t");
    let one = record(b"k", b"v");
    let append = |epoch, flags, err| {
        let mut options = init!(klog_append_options);
        options.flags = KLOG_APPEND_HAS_EPOCH | flags;
        options.leader_epoch = epoch;
        klog_append(t, &raw const one, 1, &raw const options, null_mut(), err)
    };
    ok(|e| append(5, 0, e));
    refused(KLOG_ERR_FENCED_LEADER_EPOCH, "older", |e| append(4, 0, e));
    ok(|e| append(4, KLOG_APPEND_ANY_EPOCH, e));
    assert_eq!(end_offset(t), 2);
    close(owner);
}
