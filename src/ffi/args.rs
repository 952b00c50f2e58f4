//! Following a caller's pointers, once they were checked.

use std::ffi::{CStr, c_char, c_void};
use std::path::PathBuf;

use super::constants::*;
use super::types::*;
use crate::error::{Error, ErrorKind, Result};
use crate::log::Isolation;

/// `KLOG_NTS`: the text ends with a NUL. The header defines it as SIZE_MAX, which cbindgen cannot.
pub(crate) const NTS: usize = usize::MAX;

/// A struct of a caller beyond this size is a mistake, most likely memory that was not set.
const STRUCT_BYTES_MAX: u32 = 64 * 1024;

/// A struct that begins with its size, and may be older or newer than the library.
///
/// # Safety
/// `#[repr(C)]`, the first field is `struct_size: u32`, every bit pattern of the type is a value, and there is no
/// padding.
pub(crate) unsafe trait Growable: Copy {
    /// Its name, for messages.
    const NAME: &'static str;
}

macro_rules! growable {
    ($($name:ident)*) => {
        $(
            // SAFETY: repr(C), integers, pointers and arrays of them only, `struct_size` first; no padding, which the
            // sizes in layout.rs show.
            unsafe impl Growable for $name {
                const NAME: &'static str = stringify!($name);
            }
        )*
    };
}

growable! {
    klog_error klog_manager_options klog_manager_info klog_log_options klog_log_info klog_append_options
    klog_append_result klog_read_options klog_read_result klog_timestamp_offset
    klog_epoch_offset klog_retain_result klog_tick_result klog_metric klog_open_progress
    klog_clean_options klog_clean_result klog_clean_progress
    klog_view_info
    klog_wait_options klog_appender_options
}

/// The size that the caller wrote into its struct, which is not null.
pub(crate) fn growable_size<T: Growable>(pointer: *const T) -> u32 {
    // SAFETY: the header requires that a struct pointer that is not null leads to at least its size field; no alignment
    // is asked for.
    unsafe { pointer.cast::<u32>().read_unaligned() }
}

fn struct_size_error<T: Growable>(size: u32) -> Error {
    Error::new(
        ErrorKind::StructSize,
        format!(
            "{}.struct_size is {size}; set it to sizeof({}), which is {} in this library",
            T::NAME,
            T::NAME,
            size_of::<T>()
        ),
    )
}

/// Whether an output struct can be written: not null, of a size that this ABI has known.
pub(crate) fn check_output<T: Growable>(pointer: *mut T, name: &str) -> Result<()> {
    check_required(pointer, name)?;
    let size = growable_size(pointer);
    // The first release's size is the smallest; larger ones are later headers.
    if (size as usize) < size_of::<T>() || size > STRUCT_BYTES_MAX || !size.is_multiple_of(8) {
        return Err(struct_size_error::<T>(size));
    }
    Ok(())
}

/// Writes an output struct that was checked: as much as both sides know, the rest zero. Its size field stays.
pub(crate) fn copy_growable<T: Growable>(to: *mut T, value: T) {
    let size = growable_size(to) as usize;
    let known = size.min(size_of::<T>());
    let head = size_of::<u32>();
    let from = (&raw const value).cast::<u8>();
    // SAFETY: `to` leads to `size` bytes, as its size field says and the header requires; `value` has `known` bytes;
    // they are different objects. The first four bytes, the size, are left.
    unsafe {
        std::ptr::copy_nonoverlapping(from.add(head), to.cast::<u8>().add(head), known - head);
        std::ptr::write_bytes(to.cast::<u8>().add(known), 0, size - known);
    }
}

/// Reads an input struct: null is all defaults. What the caller has and this library does not know must be zero.
pub(crate) fn read_input<T: Growable>(pointer: *const T) -> Result<T> {
    // SAFETY: every bit pattern of a growable struct is a value, zero is the default of every field.
    let mut value: T = unsafe { std::mem::zeroed() };
    if pointer.is_null() {
        return Ok(value);
    }
    let size = growable_size(pointer);
    if (size as usize) < size_of::<T>() || size > STRUCT_BYTES_MAX || !size.is_multiple_of(8) {
        return Err(struct_size_error::<T>(size));
    }
    let extra = size as usize - size_of::<T>();
    // SAFETY: the struct has `size` bytes, at least as many as `T`; see above.
    let tail = unsafe {
        std::ptr::copy_nonoverlapping(
            pointer.cast::<u8>(),
            (&raw mut value).cast::<u8>(),
            size_of::<T>(),
        );
        std::slice::from_raw_parts(pointer.cast::<u8>().add(size_of::<T>()), extra)
    };
    if tail.iter().any(|&b| b != 0) {
        return Err(struct_size_error::<T>(size));
    }
    Ok(value)
}

/// NULL_ARGUMENT, naming the parameter, for a null pointer.
#[inline]
pub(crate) fn check_required<T>(pointer: *const T, name: &str) -> Result<()> {
    if pointer.is_null() {
        return Err(null_argument(name));
    }
    Ok(())
}

#[cold]
fn null_argument(name: &str) -> Error {
    Error::new(ErrorKind::NullArgument, format!("{name} is null"))
}

/// INVALID_ARGUMENT for bits that this library does not know.
pub(crate) fn check_flags(flags: u32, known: u32, name: &str) -> Result<()> {
    if flags & !known == 0 {
        return Ok(());
    }
    Err(Error::invalid_argument(format!(
        "{name} has unknown bits: {:#x}",
        flags & !known
    )))
}

/// INVALID_ARGUMENT for a reserved field that is not zero.
pub(crate) fn check_reserved(fields: &[u64], name: &str) -> Result<()> {
    if fields.iter().all(|&field| field == 0) {
        return Ok(());
    }
    Err(Error::invalid_argument(format!(
        "a reserved field of {name} is not 0"
    )))
}

/// The bytes that a caller gave; null only with length 0. They live as long as the call.
#[inline]
pub(crate) fn bytes<'a>(pointer: *const c_void, len: usize, name: &str) -> Result<&'a [u8]> {
    if len == 0 {
        return Ok(&[]);
    }
    check_required(pointer, name)?;
    check_len(len, name)?;
    // SAFETY: not null, and the header requires `len` readable bytes there for the duration of the call. The lifetime is
    // the caller's to bound: no function keeps the slice.
    Ok(unsafe { std::slice::from_raw_parts(pointer.cast::<u8>(), len) })
}

/// A buffer that a caller lends for writing; null only with capacity 0.
pub(crate) fn buffer<'a>(pointer: *mut c_void, len: usize, name: &str) -> Result<&'a mut [u8]> {
    if len == 0 {
        return Ok(&mut []);
    }
    check_required(pointer, name)?;
    check_len(len, name)?;
    // SAFETY: not null, and the header requires `len` writable bytes that nobody else touches during the call.
    Ok(unsafe { std::slice::from_raw_parts_mut(pointer.cast::<u8>(), len) })
}

/// An array that a caller gave; null only with count 0.
#[inline]
pub(crate) fn array<'a, T>(pointer: *const T, count: usize, name: &str) -> Result<&'a [T]> {
    if count == 0 {
        return Ok(&[]);
    }
    check_required(pointer, name)?;
    check_len(count.saturating_mul(size_of::<T>()), name)?;
    if !pointer.is_aligned() {
        return Err(Error::invalid_argument(format!(
            "{name} is not aligned for its type"
        )));
    }
    // SAFETY: not null, aligned, and the header requires `count` readable elements there during the call.
    Ok(unsafe { std::slice::from_raw_parts(pointer, count) })
}

/// As [`array`], for writing.
pub(crate) fn array_mut<'a, T>(pointer: *mut T, count: usize, name: &str) -> Result<&'a mut [T]> {
    if count == 0 {
        return Ok(&mut []);
    }
    check_required(pointer, name)?;
    check_len(count.saturating_mul(size_of::<T>()), name)?;
    if !pointer.is_aligned() {
        return Err(Error::invalid_argument(format!(
            "{name} is not aligned for its type"
        )));
    }
    // SAFETY: not null, aligned, and the header requires `count` writable elements that nobody else touches meanwhile.
    Ok(unsafe { std::slice::from_raw_parts_mut(pointer, count) })
}

#[inline]
fn check_len(len: usize, name: &str) -> Result<()> {
    // No object is larger; a slice of such a length would be undefined.
    if isize::try_from(len).is_err() {
        return Err(beyond_memory(len, name));
    }
    Ok(())
}

#[cold]
fn beyond_memory(len: usize, name: &str) -> Error {
    Error::new(
        ErrorKind::TooLarge,
        format!("{name} has a length of {len} bytes, more than memory"),
    )
}

/// The bytes of a text: `len` of them, or up to the NUL with [`NTS`].
pub(crate) fn text_bytes<'a>(pointer: *const c_char, len: usize, name: &str) -> Result<&'a [u8]> {
    if len != NTS {
        return bytes(pointer.cast(), len, name);
    }
    check_required(pointer, name)?;
    // SAFETY: not null, and KLOG_NTS says that a NUL ends the text.
    Ok(unsafe { CStr::from_ptr(pointer) }.to_bytes())
}

/// A text in UTF-8.
pub(crate) fn text<'a>(pointer: *const c_char, len: usize, name: &str) -> Result<&'a str> {
    let bytes = text_bytes(pointer, len, name)?;
    std::str::from_utf8(bytes).map_err(|e| {
        Error::invalid_argument(format!("{name} is not UTF-8 at byte {}", e.valid_up_to()))
            .at_position(e.valid_up_to() as u64)
    })
}

/// The name of a topic: what is not UTF-8 is no topic name either.
pub(crate) fn topic<'a>(pointer: *const c_char, len: usize) -> Result<&'a str> {
    let bytes = text_bytes(pointer, len, "topic")?;
    std::str::from_utf8(bytes).map_err(|e| {
        Error::new(
            ErrorKind::InvalidTopic,
            format!(
                "the topic name is not UTF-8 at byte {}; allowed are a-z, A-Z, 0-9, '.', '_', '-'",
                e.valid_up_to()
            ),
        )
        .at_position(e.valid_up_to() as u64)
    })
}

/// A path: bytes without NUL.
pub(crate) fn path(pointer: *const c_char, len: usize, name: &str) -> Result<PathBuf> {
    use std::os::unix::ffi::OsStrExt;
    let bytes = text_bytes(pointer, len, name)?;
    if let Some(at) = bytes.iter().position(|&b| b == 0) {
        return Err(
            Error::invalid_argument(format!("{name} has a NUL at byte {at}"))
                .at_position(at as u64),
        );
    }
    if bytes.is_empty() {
        return Err(Error::invalid_argument(format!("{name} is empty")));
    }
    Ok(PathBuf::from(std::ffi::OsStr::from_bytes(bytes)))
}

/// Gives a text to the caller: its length to `needed`, the text and a NUL to `out` if they fit.
pub(crate) fn give_text(
    text: &str,
    out: *mut c_char,
    cap: usize,
    needed: *mut usize,
) -> Result<()> {
    let with_nul = text.len() + 1;
    if !needed.is_null() {
        // SAFETY: not null, and the header requires a size_t there.
        unsafe { needed.write_unaligned(with_nul) };
    }
    if cap < with_nul {
        return Err(Error::new(
            ErrorKind::BufferTooSmall,
            format!("the text needs {with_nul} bytes, {cap} are given"),
        )
        .at_position(with_nul as u64));
    }
    let out = buffer(out.cast(), cap, "buf")?;
    if let Some((place, rest)) = out.split_at_mut_checked(text.len()) {
        place.copy_from_slice(text.as_bytes());
        if let Some(nul) = rest.first_mut() {
            *nul = 0;
        }
    }
    Ok(())
}

/// Gives an array to the caller: how many there are to `needed`, and all of them to `out` if they fit.
pub(crate) fn give_array<T: Copy>(
    items: &[T],
    out: *mut T,
    cap: usize,
    needed: *mut usize,
) -> Result<()> {
    if !needed.is_null() {
        // SAFETY: not null, and the header requires a size_t there.
        unsafe { needed.write_unaligned(items.len()) };
    }
    if cap < items.len() {
        return Err(Error::new(
            ErrorKind::BufferTooSmall,
            format!("there are {}, buf holds {cap}", items.len()),
        )
        .at_position(items.len() as u64));
    }
    for (place, item) in array_mut(out, cap, "buf")?.iter_mut().zip(items) {
        *place = *item;
    }
    Ok(())
}

/// A `size_t` of a struct's `u64` field.
#[inline]
pub(crate) fn size(value: u64, name: &str) -> Result<usize> {
    if value == u64::MAX {
        Ok(NTS)
    } else {
        usize::try_from(value).map_err(|_| too_large(value, name))
    }
}

fn too_large(value: u64, name: &str) -> Error {
    Error::new(
        ErrorKind::TooLarge,
        format!("{name} is {value}, more than memory"),
    )
}

/// Checks the length of one key, value or header: Kafka's length field is an int.
#[inline]
pub(crate) fn check_int_len(len: u64, name: &str, record: usize) -> Result<usize> {
    match i32::try_from(len) {
        Ok(_) => size(len, name),
        Err(_) => Err(beyond_int(len, name, record)),
    }
}

#[cold]
fn beyond_int(len: u64, name: &str, record: usize) -> Error {
    Error::new(
        ErrorKind::TooLarge,
        format!("the {name} of record {record} has {len} bytes, at most 2147483647"),
    )
    .at_record(record)
}

/// A KLOG_ISOLATION_ constant.
pub(crate) fn isolation(isolation: u32) -> Result<Isolation> {
    match isolation {
        KLOG_ISOLATION_LOG_END => Ok(Isolation::LogEnd),
        KLOG_ISOLATION_HIGH_WATERMARK => Ok(Isolation::HighWatermark),
        KLOG_ISOLATION_TXN_COMMITTED => Ok(Isolation::TxnCommitted),
        other => Err(Error::invalid_argument(format!(
            "isolation {other} is none of the KLOG_ISOLATION_ constants"
        ))),
    }
}
