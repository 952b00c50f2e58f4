//! Big-endian integers at a position of a byte slice (records.md 1.1).

/// `N` bytes at `at`.
pub(super) fn array<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..)?.first_chunk().copied()
}

pub(super) fn i16_at(bytes: &[u8], at: usize) -> Option<i16> {
    array(bytes, at).map(i16::from_be_bytes)
}

pub(super) fn i32_at(bytes: &[u8], at: usize) -> Option<i32> {
    array(bytes, at).map(i32::from_be_bytes)
}

pub(super) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    array(bytes, at).map(u32::from_be_bytes)
}

pub(super) fn i64_at(bytes: &[u8], at: usize) -> Option<i64> {
    array(bytes, at).map(i64::from_be_bytes)
}

/// Overwrites the bytes at `at`; a slice that is too short stays as it is.
pub(super) fn put<const N: usize>(bytes: &mut [u8], at: usize, value: [u8; N]) {
    if let Some(place) = bytes.get_mut(at..).and_then(|rest| rest.first_chunk_mut()) {
        *place = value;
    }
}
