//! From the crate's error to the caller's `klog_error`.

use std::ffi::c_char;
use std::os::unix::ffi::OsStrExt;

use super::args::{copy_growable, growable_size};
use super::constants::*;
use super::types::{klog_error, klog_status};
use crate::error::{Error, ErrorKind};

/// The smallest struct of a caller: everything but the texts.
const HEAD_BYTES: u32 = 64;

/// Whether the caller's struct can be written to; else the status to answer.
pub(crate) fn check(err: *const klog_error) -> Result<(), klog_status> {
    if err.is_null() {
        return Ok(());
    }
    let size = growable_size(err);
    if size < HEAD_BYTES || !size.is_multiple_of(8) {
        Err(KLOG_ERR_STRUCT_SIZE)
    } else {
        Ok(())
    }
}

/// Describes a failure in the caller's struct, which may be null, as far as there is room.
pub(crate) fn fill(err: *mut klog_error, error: &Error) {
    if err.is_null() {
        return;
    }
    let mut out = empty(error.kind());
    out.kafka_code = error.kafka_code();
    out.os_errno = error.os_errno().unwrap_or(0);
    out.flags = flags(error);
    out.partition = error.partition().unwrap_or(-1);
    out.offset = error.offset().unwrap_or(-1);
    out.position = error
        .position()
        .and_then(|p| i64::try_from(p).ok())
        .unwrap_or(-1);
    out.record_index = error
        .record_index()
        .and_then(|i| i32::try_from(i).ok())
        .unwrap_or(-1);
    let size = growable_size(err) as usize;
    let message_at = std::mem::offset_of!(klog_error, message);
    let path_at = std::mem::offset_of!(klog_error, path);
    let room = |at: usize, len: usize| size.saturating_sub(at).min(len);
    // END and BUFFER_TOO_SMALL are no failures: no text is made for them.
    if !matches!(error.kind(), ErrorKind::End | ErrorKind::BufferTooSmall) {
        let message = error.message().as_bytes();
        let (len, cut) = put_text(
            &mut out.message,
            room(message_at, 448),
            message,
            TextCut::AtCharacter,
        );
        out.message_len = len;
        out.flags |= if cut { KLOG_ERRF_MESSAGE_CUT } else { 0 };
        if let Some(path) = error.path() {
            let (len, cut) = put_text(
                &mut out.path,
                room(path_at, 512),
                path.as_os_str().as_bytes(),
                TextCut::Anywhere,
            );
            out.path_len = len;
            out.flags |= if cut { KLOG_ERRF_PATH_CUT } else { 0 };
        }
    }
    copy_growable(err, out);
}

fn empty(kind: ErrorKind) -> klog_error {
    klog_error {
        struct_size: 0,
        status: kind.status(),
        kafka_code: 0,
        os_errno: 0,
        flags: 0,
        partition: -1,
        offset: -1,
        position: -1,
        record_index: -1,
        message_len: 0,
        path_len: 0,
        reserved0: 0,
        reserved1: 0,
        message: [0; 448],
        path: [0; 512],
    }
}

fn flags(error: &Error) -> u32 {
    let kind = error.kind();
    [
        (kind.is_retriable(), KLOG_ERRF_RETRIABLE),
        (kind.is_fatal(), KLOG_ERRF_FATAL),
        (error.took_dir_offline(), KLOG_ERRF_DIR_OFFLINE),
        (kind.is_caller_bug(), KLOG_ERRF_CALLER_BUG),
    ]
    .iter()
    .filter(|(on, _)| *on)
    .fold(0, |flags, (_, bit)| flags | bit)
}

#[derive(Clone, Copy, PartialEq)]
enum TextCut {
    AtCharacter,
    Anywhere,
}

/// Puts a text with its NUL into the first `room` bytes of a field. Its length, and whether it was cut.
#[allow(clippy::cast_possible_wrap)] // bytes as C's char
fn put_text(field: &mut [c_char], room: usize, text: &[u8], at: TextCut) -> (u32, bool) {
    let max = room.saturating_sub(1);
    let mut len = text.len().min(max);
    if at == TextCut::AtCharacter && len < text.len() {
        while len > 0 && text.get(len).is_some_and(|b| b & 0xc0 == 0x80) {
            len -= 1;
        }
    }
    for (place, byte) in field.iter_mut().zip(text.iter().take(len)) {
        *place = *byte as c_char;
    }
    (u32::try_from(len).unwrap_or(0), len < text.len())
}
