//! Calls of the C ABI in any order, with option structs of any content, on handles that are open, closed, or none: each ends with
//! a status; what is refused changes nothing; where the log ends is what the calls that were not refused say, also after a close.
#![allow(
    clippy::wildcard_imports,
    clippy::disallowed_methods,
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    clippy::cast_lossless
)]

use std::ffi::{CString, c_void};
use std::path::Path;
use std::ptr::{null, null_mut};

use klog::ErrorKind;
use klog::ffi::append::*;
use klog::ffi::appender::*;
use klog::ffi::cancel::*;
use klog::ffi::clean::*;
use klog::ffi::codec::*;
use klog::ffi::constants::*;
use klog::ffi::cursor::*;
use klog::ffi::log::*;
use klog::ffi::maintain::*;
use klog::ffi::manager::*;
use klog::ffi::metrics::*;
use klog::ffi::offsets::*;
use klog::ffi::read::*;
use klog::ffi::truncate::*;
use klog::ffi::types::*;
use klog::ffi::view::*;
use klog::ffi::wait::*;

use super::Choices;

/// Room behind every struct for what a newer header may have there.
const STRUCT_BYTES: usize = 512;
const STEPS_MAX: usize = 60;

/// A struct with its size, and bytes of the input here and there.
struct Struct {
    bytes: Box<[u64; STRUCT_BYTES / 8]>,
}

impl Struct {
    /// One of the input. `pointers` are the places of pointers: they are null.
    fn any<T>(choices: &mut Choices<'_>, pointers: &[usize]) -> Self {
        let mut made = Self::plain::<T>();
        for _ in 0..choices.below(4) {
            let at = choices.below(size_of::<T>() / 4) * 4;
            let value = match choices.below(4) {
                0 => 1,
                1 => u32::MAX,
                2 => u32::from(choices.u8()),
                _ => 1 << choices.below(32),
            };
            made.put(at, value);
        }
        // No longer than the room that there is.
        let size = made.get(0) % (STRUCT_BYTES as u32 + 1);
        made.put(0, size);
        for &at in pointers {
            made.put(at, 0);
            made.put(at + 4, 0);
        }
        made
    }

    fn plain<T>() -> Self {
        let mut made = Self {
            bytes: Box::new([0; STRUCT_BYTES / 8]),
        };
        made.put(0, size_of::<T>() as u32);
        made
    }

    fn get(&self, at: usize) -> u32 {
        let word = self.bytes[at / 8];
        if at.is_multiple_of(8) {
            word as u32
        } else {
            (word >> 32) as u32
        }
    }

    fn put(&mut self, at: usize, value: u32) {
        let shift = at % 8 * 8;
        let word = &mut self.bytes[at / 8];
        *word = *word & !(0xffff_ffff << shift) | u64::from(value) << shift;
    }

    fn put_long(&mut self, at: usize, value: u64) {
        self.put(at, value as u32);
        self.put(at + 4, (value >> 32) as u32);
    }

    fn at<T>(&mut self) -> *mut T {
        self.bytes.as_mut_ptr().cast()
    }
}

/// The place of a field.
macro_rules! place {
    ($type:ty, $field:ident) => {
        std::mem::offset_of!($type, $field)
    };
}

struct World {
    dir: tempfile::TempDir,
    manager: klog_manager,
    log: klog_log,
    /// Handles that were given out, of every kind, open and closed.
    cursors: Vec<klog_cursor>,
    views: Vec<klog_view>,
    appenders: Vec<klog_appender>,
    waiters: Vec<klog_waiter>,
    cancels: Vec<klog_cancel>,
    /// Where the log ends.
    end: i64,
}

/// A status that a call may answer, and whether it is KLOG_OK.
fn good(status: klog_status) -> bool {
    let kind = ErrorKind::from_status(status);
    assert!(status == KLOG_OK || kind.is_some(), "status {status}");
    let defects = [KLOG_ERR_PANIC, KLOG_ERR_POISONED, KLOG_ERR_BUG];
    assert!(!defects.contains(&status), "a defect: {status}");
    status == KLOG_OK
}

fn open(dir: &Path) -> (klog_manager, klog_log) {
    let path = CString::new(dir.to_str().unwrap()).unwrap();
    let paths = [path.as_ptr()];
    let mut options = Struct::plain::<klog_manager_options>();
    options.put_long(place!(klog_manager_options, dirs), paths.as_ptr() as u64);
    options.put_long(place!(klog_manager_options, dir_count), 1);
    options.put(4, KLOG_OPEN_MANUAL_CLOCK);
    let (mut manager, mut log) = (klog_manager { id: 0 }, klog_log { id: 0 });
    assert!(good(klog_manager_open(
        options.at(),
        &raw mut manager,
        null_mut()
    )));
    let mut create = Struct::plain::<klog_log_options>();
    create.put(4, KLOG_LOG_CREATE);
    let opened = klog_log_open(
        manager,
        c"t".as_ptr(),
        1,
        0,
        create.at(),
        &raw mut log,
        null_mut(),
    );
    assert!(good(opened));
    (manager, log)
}

/// One of what was given out, or what was not.
fn pick<T: Copy>(choices: &mut Choices<'_>, all: &[T], none: T) -> T {
    let at = choices.below(all.len() + 1);
    all.get(at).copied().unwrap_or(none)
}

/// A small number, below 0 too, or a very large one.
fn number(choices: &mut Choices<'_>) -> i64 {
    match choices.u8() {
        255 => i64::MAX,
        254 => i64::MIN,
        byte => i64::from(byte) / 4 - 5,
    }
}

/// What was fuzzed of how long a call may sleep: nothing here wakes one.
fn do_not_sleep(options: &mut Struct, at: usize) {
    if options.get(at + 4) != u32::MAX || options.get(at) == u32::MAX {
        options.put_long(at, 0);
    }
}

fn append_options(choices: &mut Choices<'_>) -> Struct {
    Struct::any::<klog_append_options>(choices, &[place!(klog_append_options, record_errors)])
}

fn read_options(choices: &mut Choices<'_>, world: &World) -> Struct {
    let cancel = place!(klog_read_options, cancel);
    let mut options = Struct::any::<klog_read_options>(choices, &[cancel]);
    do_not_sleep(&mut options, place!(klog_read_options, timeout_ms));
    options.put_long(
        cancel,
        pick(choices, &world.cancels, klog_cancel { id: 0 }).id,
    );
    options
}

fn records(choices: &mut Choices<'_>) -> Vec<klog_record> {
    let mut all = Vec::new();
    for _ in 0..choices.below(4) {
        // SAFETY: integers and pointers, for which zero is a value.
        let mut record: klog_record = unsafe { std::mem::zeroed() };
        record.key = c"key".as_ptr().cast();
        record.key_len = choices.below(4) as u64;
        record.flags = match choices.below(8) {
            0 => 1 << choices.below(32),
            _ => 0,
        };
        all.push(record);
    }
    all
}

impl World {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let (manager, log) = open(dir.path());
        Self {
            dir,
            manager,
            log,
            cursors: Vec::new(),
            views: Vec::new(),
            appenders: Vec::new(),
            waiters: Vec::new(),
            cancels: Vec::new(),
            end: 0,
        }
    }

    /// Takes in what an append says that it did. A repeated batch of a producer has the offsets of the first one.
    fn appended(&mut self, status: klog_status, result: &mut Struct) {
        if !good(status) {
            return;
        }
        let result = result.at::<klog_append_result>();
        // SAFETY: the struct's own room.
        let (first, last) = unsafe { ((*result).first_offset, (*result).last_offset) };
        if first >= self.end {
            self.end = last + 1;
        }
        assert!(last < self.end, "{first}..{last} of {}", self.end);
    }

    fn check(&self) {
        let mut end = 0;
        assert!(good(klog_log_end_offset(self.log, &raw mut end)));
        assert_eq!(end, self.end, "the log end");
        let mut info = Struct::plain::<klog_log_info>();
        assert!(good(klog_log_get_info(self.log, info.at(), null_mut())));
        // SAFETY: the struct's own room.
        let info = unsafe { *info.at::<klog_log_info>() };
        let order = [
            info.log_start_offset,
            info.last_stable_offset,
            info.high_watermark,
            info.log_end_offset,
        ];
        assert!(order.is_sorted(), "{order:?}");
    }

    /// Closes the manager, as a program ends or as it is killed, and opens the directory again.
    fn reopen(&mut self, flags: u32) {
        for &appender in &self.appenders {
            good(klog_appender_close(
                appender,
                KLOG_CLOSE_DISCARD,
                null_mut(),
            ));
        }
        assert!(good(klog_manager_close(
            self.manager,
            flags,
            -1,
            null_mut()
        )));
        let mut end = 0;
        assert_eq!(klog_log_end_offset(self.log, &raw mut end), KLOG_ERR_CLOSED);
        assert!(good(klog_log_close(self.log)));
        (self.manager, self.log) = open(self.dir.path());
    }

    fn append(&mut self, choices: &mut Choices<'_>) {
        let mut options = append_options(choices);
        let mut result = Struct::plain::<klog_append_result>();
        let (log, opts, out) = (self.log, options.at(), result.at());
        let status = match choices.below(5) {
            0 | 1 => {
                let records = records(choices);
                klog_append(log, records.as_ptr(), records.len(), opts, out, null_mut())
            }
            2 => {
                let bytes = choices.long_bytes();
                klog_append_packed(
                    log,
                    bytes.as_ptr().cast(),
                    bytes.len(),
                    opts,
                    out,
                    null_mut(),
                )
            }
            3 => {
                let records = records(choices);
                let mut batch = [0_u8; 512];
                let mut len = 0;
                let status = klog_encode(
                    records.as_ptr(),
                    records.len(),
                    null(),
                    number(choices),
                    batch.as_mut_ptr().cast(),
                    batch.len(),
                    &raw mut len,
                    null_mut(),
                );
                if !good(status) {
                    return;
                }
                let at = choices.u8();
                if let Some(byte) = batch.get_mut(usize::from(at)).filter(|_| at > 60) {
                    *byte ^= choices.u8();
                }
                klog_append_batches(log, batch.as_ptr().cast(), len, opts, out, null_mut())
            }
            _ => klog_append_marker(
                log,
                number(choices),
                number(choices) as i32,
                u32::from(choices.u8() & 3),
                number(choices) as i32,
                out,
                null_mut(),
            ),
        };
        self.appended(status, &mut result);
    }

    fn read(&mut self, choices: &mut Choices<'_>) {
        let mut options = read_options(choices, self);
        let offset = number(choices);
        let mut buf = [0_u8; 700];
        let cap = choices.below(3) * 350;
        let mut result = Struct::plain::<klog_read_result>();
        let (mut cursor, mut view) = (klog_cursor { id: 9 }, klog_view { id: 9 });
        match choices.below(5) {
            0 => {
                let place = buf.as_mut_ptr().cast();
                good(klog_read(
                    self.log,
                    offset,
                    options.at(),
                    place,
                    cap,
                    result.at(),
                    null_mut(),
                ));
            }
            1 => {
                let opts = options.at();
                let status = klog_cursor_open(self.log, offset, opts, &raw mut cursor, null_mut());
                assert_eq!(good(status), cursor.id != 0);
                self.cursors.extend((cursor.id != 0).then_some(cursor));
            }
            2 => {
                let mut info = Struct::plain::<klog_view_info>();
                let (opts, out) = (options.at(), &raw mut view);
                let status = klog_view_open(self.log, offset, opts, out, info.at(), null_mut());
                assert_eq!(good(status), view.id != 0);
                self.views.extend((view.id != 0).then_some(view));
            }
            3 => {
                let batches = choices.long_bytes();
                good(klog_decode_packed(
                    batches.as_ptr().cast(),
                    batches.len(),
                    u32::from(choices.u8()),
                    buf.as_mut_ptr().cast(),
                    cap,
                    result.at(),
                    null_mut(),
                ));
            }
            _ => {
                let of = pick(choices, &self.cursors, klog_cursor { id: 0 });
                let place: *mut c_void = buf.as_mut_ptr().cast();
                // SAFETY: integers and pointers, for which zero is a value.
                let mut places: [klog_record; 3] = unsafe { std::mem::zeroed() };
                good(match choices.below(4) {
                    0 => klog_cursor_next(of, places.as_mut_ptr(), 3, result.at(), null_mut()),
                    1 => klog_cursor_next_packed(of, place, cap, result.at(), null_mut()),
                    2 => klog_cursor_seek(of, offset, null_mut()),
                    _ => klog_cursor_close(of),
                });
            }
        }
        if choices.u8() & 1 == 0 {
            good(klog_view_close(pick(
                choices,
                &self.views,
                klog_view { id: 0 },
            )));
        }
    }

    /// What cuts the log, or leaves it as it is.
    fn cut(&mut self, choices: &mut Choices<'_>) {
        let offset = number(choices);
        match choices.below(4) {
            0 => {
                let mut truncated = 0;
                let status = klog_truncate_to(self.log, offset, &raw mut truncated, null_mut());
                if good(status) && truncated != 0 {
                    assert!(offset < self.end);
                    // A cut inside a batch takes all of it away.
                    let mut end = 0;
                    good(klog_log_end_offset(self.log, &raw mut end));
                    assert!(end <= offset, "{end} after a cut to {offset}");
                    self.end = end;
                }
            }
            1 if choices.u8() < 60 => {
                // A start above the end is a state of its own, which tests/holes.rs looks at (log.md 1.2).
                let start = number(choices).min(offset);
                if good(klog_truncate_fully(self.log, offset, start, null_mut())) {
                    self.end = offset;
                }
            }
            2 => {
                good(klog_delete_records(
                    self.log,
                    offset,
                    null_mut(),
                    null_mut(),
                ));
            }
            _ => {
                good(klog_high_watermark_set(
                    self.log,
                    offset,
                    null_mut(),
                    null_mut(),
                ));
            }
        }
    }

    fn keep_up(&mut self, choices: &mut Choices<'_>) {
        let only = if choices.u8() & 1 == 0 {
            self.log
        } else {
            klog_log { id: 0 }
        };
        let flags = u32::from(choices.u8() & 3);
        let mut room = [0_u8; 300];
        let (text, mut needed) = (room.as_mut_ptr().cast(), 0);
        let needed = &raw mut needed;
        good(match choices.below(12) {
            0 => klog_roll(self.log, null_mut(), null_mut()),
            1 => klog_flush(self.log, number(choices), flags, null_mut()),
            2 => klog_retain(self.manager, only, flags, null_mut(), null_mut()),
            3 => {
                let cancel = place!(klog_clean_options, cancel);
                let mut options = Struct::any::<klog_clean_options>(choices, &[cancel]);
                // Neither slow nor large.
                options.put_long(place!(klog_clean_options, io_bytes_per_second), 0);
                options.put_long(place!(klog_clean_options, map_bytes), 1 << 16);
                klog_clean(self.manager, only, options.at(), null_mut(), null_mut())
            }
            4 => klog_clean_pause(self.log, null_mut()),
            5 => klog_clean_resume(self.log, null_mut()),
            6 => {
                let epoch = number(choices) as i32;
                klog_epoch_assign(self.log, epoch, number(choices), null_mut())
            }
            7 => {
                let mut found = Struct::any::<klog_timestamp_offset>(choices, &[]);
                klog_offset_for_timestamp(self.log, number(choices), found.at(), null_mut())
            }
            8 => {
                let mut found = Struct::any::<klog_epoch_offset>(choices, &[]);
                klog_offset_for_epoch(self.log, number(choices) as i32, found.at(), null_mut())
            }
            9 => klog_manager_list(self.manager, text, choices.below(300), needed, null_mut()),
            10 => klog_metrics_text(self.manager, flags, text, 300, needed, null_mut()),
            _ => klog_checkpoint(self.manager, flags, null_mut()),
        });
    }

    fn wait(&mut self, choices: &mut Choices<'_>) {
        let cancel = place!(klog_wait_options, cancel);
        let mut options = Struct::any::<klog_wait_options>(choices, &[cancel]);
        do_not_sleep(&mut options, place!(klog_wait_options, timeout_ms));
        let mut token = pick(choices, &self.cancels, klog_cancel { id: 0 });
        let mut waiter = pick(choices, &self.waiters, klog_waiter { id: 0 });
        options.put_long(cancel, token.id);
        // SAFETY: integers, for which zero is a value.
        let mut ready: [klog_ready; 2] = unsafe { std::mem::zeroed() };
        match choices.below(8) {
            0 => {
                good(klog_wait(self.log, options.at(), null_mut(), null_mut()));
            }
            1 => {
                if good(klog_waiter_open(
                    self.manager,
                    &raw mut waiter,
                    null_mut(),
                    null_mut(),
                )) {
                    self.waiters.push(waiter);
                }
            }
            2 => {
                options.put_long(cancel, 0);
                good(klog_waiter_arm(
                    waiter,
                    self.log,
                    options.at(),
                    7,
                    null_mut(),
                ));
            }
            3 => {
                let places = ready.as_mut_ptr();
                good(klog_waiter_poll(
                    waiter,
                    places,
                    2,
                    null_mut(),
                    0,
                    null_mut(),
                ));
            }
            4 => {
                good(klog_waiter_close(waiter));
            }
            5 => {
                assert!(good(klog_cancel_create(&raw mut token, null_mut())));
                self.cancels.push(token);
            }
            6 => {
                good(klog_cancel_fire(token));
            }
            _ => {
                good(klog_cancel_close(token));
            }
        }
    }

    fn gather(&mut self, choices: &mut Choices<'_>) {
        let append = place!(klog_appender_options, append);
        let mut options = Struct::any::<klog_appender_options>(choices, &[append]);
        let mut appender = pick(choices, &self.appenders, klog_appender { id: 0 });
        let (mut ticket, records) = (0, records(choices));
        let mut result = Struct::plain::<klog_append_result>();
        match choices.below(6) {
            0 => {
                let mut shared = append_options(choices);
                if choices.u8() & 1 == 0 {
                    options.put_long(append, shared.at::<u8>() as u64);
                }
                let out = &raw mut appender;
                if good(klog_appender_open(self.log, options.at(), out, null_mut())) {
                    self.appenders.push(appender);
                }
            }
            1 | 2 => {
                let (from, count) = (records.as_ptr(), records.len());
                good(klog_appender_add(
                    appender,
                    from,
                    count,
                    0,
                    &raw mut ticket,
                    null_mut(),
                ));
            }
            3 => {
                good(klog_appender_flush(appender, 0, null_mut()));
            }
            4 => {
                ticket = choices.below(6) as u64;
                let never = klog_cancel { id: 0 };
                good(klog_appender_wait(
                    appender,
                    ticket,
                    0,
                    never,
                    result.at(),
                    null_mut(),
                ));
            }
            _ => {
                let flags = u32::from(choices.u8() & 3);
                good(klog_appender_close(appender, flags, null_mut()));
            }
        }
        // An appender may append more than it is asked about; where the log ends then is told by the log alone.
        let before = self.end;
        good(klog_log_end_offset(self.log, &raw mut self.end));
        assert!(self.end >= before);
    }
}

pub(super) fn body(data: &[u8]) {
    let mut choices = Choices(data);
    let mut world = World::new();
    for _ in 0..STEPS_MAX {
        if choices.is_empty() {
            break;
        }
        match choices.below(16) {
            0..5 => world.append(&mut choices),
            5..8 => world.read(&mut choices),
            8 => world.cut(&mut choices),
            9 | 10 => world.keep_up(&mut choices),
            11 | 12 => world.wait(&mut choices),
            13 | 14 => world.gather(&mut choices),
            _ => {
                let is_abandoned = choices.u8() & 1 == 1;
                world.reopen(if is_abandoned { KLOG_CLOSE_ABANDON } else { 0 });
            }
        }
        world.check();
    }
    world.reopen(0);
    world.check();
    close_all(&world);
}

/// Whatever is closed already answers that.
fn close_all(world: &World) {
    assert!(good(klog_manager_close(world.manager, 0, -1, null_mut())));
    world.cursors.iter().for_each(|&cursor| {
        good(klog_cursor_close(cursor));
    });
    world.views.iter().for_each(|&view| {
        good(klog_view_close(view));
    });
    world.waiters.iter().for_each(|&waiter| {
        good(klog_waiter_close(waiter));
    });
    world.cancels.iter().for_each(|&cancel| {
        good(klog_cancel_close(cancel));
    });
    good(klog_log_close(world.log));
}

pub(super) fn seeds() -> Vec<Vec<u8>> {
    // Each kind of step by itself, and all in turn, with numbers that do not repeat soon.
    let mut all: Vec<Vec<u8>> = (0..16).map(|step| vec![step; 200]).collect();
    let mut turns = Vec::new();
    for n in 0_u32..600 {
        turns.push((n.wrapping_mul(2_654_435_761) >> 13) as u8);
    }
    all.push(turns);
    all
}
