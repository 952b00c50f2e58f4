//! Foreign batches through the C interface: klog_decode and klog_decode_packed, with as much room as they ask for, and less. What
//! they lend is what a decoder gives.

use std::ptr::null_mut;

use klog::ffi::codec::{klog_decode, klog_decode_packed};
use klog::ffi::constants::{KLOG_ERR_BUFFER_TOO_SMALL, KLOG_OK, KLOG_READ_CONTROL};
use klog::ffi::types::{klog_header, klog_read_result, klog_record};
use klog::format::batch::{Batch, HEADER_BYTES, seal};
use klog::format::batches::Batches;

use super::batch::{Decoded, decode};

/// A result struct with its size and all else zero.
fn result() -> klog_read_result {
    // SAFETY: integers, for which zero is a value.
    let mut result: klog_read_result = unsafe { std::mem::zeroed() };
    result.struct_size = u32::try_from(size_of::<klog_read_result>()).unwrap();
    result
}

pub(super) fn body(data: &[u8]) {
    as_batches(data);
    // With a size, a magic and a checksum that are right more is looked at.
    if data.len() >= HEADER_BYTES {
        let mut fixed = data.to_vec();
        fixed[8..12].copy_from_slice(&u32::try_from(data.len() - 12).unwrap().to_be_bytes());
        fixed[16] = 2;
        seal(&mut fixed);
        as_batches(&fixed);
    }
}

fn as_batches(data: &[u8]) {
    let mut walk = Batches::new(data);
    let Ok(Some(batch)) = walk.next_batch() else {
        let mut out = result();
        let status = klog_decode(
            data.as_ptr().cast(),
            data.len(),
            KLOG_READ_CONTROL,
            null_mut(),
            0,
            null_mut(),
            0,
            &raw mut out,
            null_mut(),
        );
        assert!(status != KLOG_OK && status != KLOG_ERR_BUFFER_TOO_SMALL);
        return;
    };
    let expected = decode(&batch);
    // A small batch may stand for gigabytes, which is for its caller to bound.
    if expected.failed {
        return;
    }
    check(batch, &expected.records);
}

fn check(batch: Batch<'_>, expected: &[Decoded]) {
    let bytes = batch.bytes();
    let call = |records: &mut [klog_record], room: &mut [u8]| {
        let mut out = result();
        let status = klog_decode(
            bytes.as_ptr().cast(),
            bytes.len(),
            KLOG_READ_CONTROL,
            records.as_mut_ptr(),
            records.len(),
            room.as_mut_ptr().cast(),
            room.len(),
            &raw mut out,
            null_mut(),
        );
        (status, out)
    };
    let (status, asked) = call(&mut [], &mut []);
    let (count, needed) = (asked.records as usize, size(asked.bytes_needed));
    assert_eq!(status == KLOG_OK, expected.is_empty());
    assert_eq!(count, expected.len());
    // SAFETY: integers and pointers, for which zero is a value.
    let mut records = vec![unsafe { std::mem::zeroed::<klog_record>() }; count];
    let mut memory = vec![0; needed + 1];
    let room = &mut memory[1..];
    if needed > 0 && count > 0 {
        assert_eq!(
            call(&mut records, &mut room[1..]).0,
            KLOG_ERR_BUFFER_TOO_SMALL
        );
    }
    let (status, out) = call(&mut records, room);
    assert_eq!(
        (status, out.records as usize, size(out.bytes)),
        (KLOG_OK, count, bytes.len())
    );
    for (lent, expected) in records.iter().zip(expected) {
        assert_eq!(&owned(lent), expected);
    }
    let mut packed = vec![0; 32];
    let mut out = result();
    let mut pack = |packed: &mut Vec<u8>| {
        let status = klog_decode_packed(
            bytes.as_ptr().cast(),
            bytes.len(),
            KLOG_READ_CONTROL,
            packed.as_mut_ptr().cast(),
            packed.len(),
            &raw mut out,
            null_mut(),
        );
        (status, out)
    };
    if let (KLOG_ERR_BUFFER_TOO_SMALL, out) = pack(&mut packed) {
        packed.resize(size(out.bytes_needed), 0);
    }
    let (status, out) = pack(&mut packed);
    assert_eq!((status, out.records as usize), (KLOG_OK, count));
    assert_eq!(packed[24..32], (packed.len() as u64).to_le_bytes());
}

fn size(counted: u64) -> usize {
    usize::try_from(counted).expect("what lies in memory")
}

fn owned(record: &klog_record) -> Decoded {
    let bytes = |pointer: *const std::ffi::c_void, len: u64| {
        (!pointer.is_null()).then(|| {
            // SAFETY: what a call lent, of a batch and a buffer that live.
            unsafe { std::slice::from_raw_parts(pointer.cast::<u8>(), size(len)) }.to_vec()
        })
    };
    let headers: &[klog_header] = match record.header_count {
        0 => &[],
        // SAFETY: as above.
        count => unsafe { std::slice::from_raw_parts(record.headers, size(count)) },
    };
    Decoded {
        offset: klog::types::Offset(record.offset),
        timestamp: record.timestamp_ms,
        sequence: record.sequence,
        key: bytes(record.key, record.key_len),
        value: bytes(record.value, record.value_len),
        headers: headers
            .iter()
            .map(|h| {
                (
                    bytes(h.key.cast(), h.key_len).unwrap_or_default(),
                    bytes(h.value, h.value_len),
                )
            })
            .collect(),
    }
}

pub(super) fn seeds() -> Vec<Vec<u8>> {
    super::batch::seeds()
}
