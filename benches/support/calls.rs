//! What calls of the C ABI cost, as multiples of an empty one that is measured beside them: guard, handle, answer. The log lies in
//! a file system in memory where there is one, so that no disk is measured; what the same bytes cost there by pwrite and pread is
//! measured beside it.
#![allow(
    clippy::wildcard_imports,
    clippy::disallowed_methods,
    reason = "names of C, and times of a machine"
)]

use std::ffi::{CString, c_void};
use std::hint::black_box;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::ptr::{null, null_mut};
use std::time::Instant;

use klog::ffi::append::{klog_append, klog_append_one, klog_append_packed};
use klog::ffi::appender::{klog_appender_add, klog_appender_flush, klog_appender_open};
use klog::ffi::codec::{klog_decode_packed, klog_encode};
use klog::ffi::constants::*;
use klog::ffi::cursor::{
    klog_cursor_next, klog_cursor_next_packed, klog_cursor_open, klog_cursor_seek,
};
use klog::ffi::log::{klog_log_end_offset, klog_log_get_info, klog_log_open};
use klog::ffi::manager::{klog_manager_close, klog_manager_open};
use klog::ffi::testing::klog_testing_empty_call;
use klog::ffi::truncate::klog_truncate_fully;
use klog::ffi::types::*;

const LOT: usize = 100;

/// What one thing costs: its name, and nanoseconds for each call or record.
pub(crate) type Cost = (&'static str, f64);

/// A struct of the ABI with its size, all else zero.
fn sized<T: Copy>() -> T {
    // SAFETY: integers and pointers, for which zero is a value; each begins with its size.
    unsafe {
        let mut made: T = std::mem::zeroed();
        (&raw mut made)
            .cast::<u32>()
            .write(u32::try_from(size_of::<T>()).unwrap());
        made
    }
}

fn must(status: klog_status) {
    assert_eq!(status, KLOG_OK);
}

/// Where nothing is written to a disk, if there is such a place.
fn in_memory() -> PathBuf {
    let shared = Path::new("/dev/shm");
    if shared.is_dir() {
        shared.to_path_buf()
    } else {
        std::env::temp_dir()
    }
}

/// The cheapest of `rounds` rounds of `calls` calls, each of which counts `share` times, in ns.
fn cheapest(rounds: usize, calls: usize, share: usize, call: impl FnMut()) -> f64 {
    cheapest_after(|| (), rounds, calls, share, call)
}

/// As above, with something to be done before each round.
fn cheapest_after(
    before: impl Fn(),
    rounds: usize,
    calls: usize,
    share: usize,
    mut call: impl FnMut(),
) -> f64 {
    let mut best = f64::INFINITY;
    for _ in 0..rounds {
        before();
        let began = Instant::now();
        for _ in 0..calls {
            call();
        }
        best = best.min(began.elapsed().as_nanos() as f64);
    }
    best / (calls * share) as f64
}

struct Subject {
    manager: klog_manager,
    log: klog_log,
    records: Vec<klog_record>,
    packed: Vec<u8>,
    dir: tempfile::TempDir,
}

const KEY: &[u8; 12] = b"key-00000001";
const VALUE: &[u8; 100] = &[b'v'; 100];

impl Subject {
    fn new() -> Self {
        let dir = tempfile::tempdir_in(in_memory()).unwrap();
        let path = CString::new(dir.path().to_str().unwrap()).unwrap();
        let paths = [path.as_ptr()];
        let mut options: klog_manager_options = sized();
        options.dirs = paths.as_ptr();
        options.dir_count = 1;
        let mut manager = klog_manager { id: 0 };
        must(klog_manager_open(
            &raw const options,
            &raw mut manager,
            null_mut(),
        ));
        let mut create: klog_log_options = sized();
        create.flags = KLOG_LOG_CREATE;
        let mut log = klog_log { id: 0 };
        let name = c"calls";
        must(klog_log_open(
            manager,
            name.as_ptr(),
            name.count_bytes(),
            0,
            &raw const create,
            &raw mut log,
            null_mut(),
        ));
        // SAFETY: integers and pointers, for which zero is a value.
        let mut record: klog_record = unsafe { std::mem::zeroed() };
        record.key = KEY.as_ptr().cast();
        record.key_len = KEY.len() as u64;
        record.value = VALUE.as_ptr().cast();
        record.value_len = VALUE.len() as u64;
        record.flags = KLOG_RECORD_HAS_TIMESTAMP;
        record.timestamp_ms = 1_700_000_000_000;
        let records = vec![record; LOT];
        let packed = packed(&records);
        Self {
            manager,
            log,
            records,
            packed,
            dir,
        }
    }

    /// Begins the log anew, so that no round writes into a longer one.
    fn empty(&self) {
        must(klog_truncate_fully(self.log, 0, -1, null_mut()));
    }

    fn append(&self) {
        must(klog_append(
            self.log,
            self.records.as_ptr(),
            LOT,
            null(),
            null_mut(),
            null_mut(),
        ));
    }
}

/// Records as a packed buffer to be appended.
fn packed(records: &[klog_record]) -> Vec<u8> {
    let (mut batch, mut buffer) = (vec![0_u8; 1 << 16], vec![0_u8; 1 << 16]);
    let mut needed = 0;
    must(klog_encode(
        records.as_ptr(),
        records.len(),
        null(),
        0,
        batch.as_mut_ptr().cast(),
        batch.len(),
        &raw mut needed,
        null_mut(),
    ));
    let mut result: klog_read_result = sized();
    must(klog_decode_packed(
        batch.as_ptr().cast(),
        needed,
        0,
        buffer.as_mut_ptr().cast(),
        buffer.len(),
        &raw mut result,
        null_mut(),
    ));
    let len = u64::from_le_bytes(buffer[24..32].try_into().unwrap());
    buffer.truncate(usize::try_from(len).unwrap());
    buffer
}

/// Measures; the first is the empty call.
pub(crate) fn measure(rounds: usize, calls: usize) -> Vec<Cost> {
    let subject = Subject::new();
    let log = subject.log;
    let mut costs = Vec::new();
    let empty: extern "C" fn(klog_log) -> klog_status = black_box(klog_testing_empty_call);
    costs.push((
        "an empty call",
        cheapest(rounds, calls, 1, || must(empty(log))),
    ));
    let end_offset: extern "C" fn(klog_log, *mut i64) -> klog_status =
        black_box(klog_log_end_offset);
    let mut end = 0;
    costs.push((
        "klog_log_end_offset",
        cheapest(rounds, calls, 1, || must(end_offset(log, &raw mut end))),
    ));
    let mut info: klog_log_info = sized();
    costs.push((
        "klog_log_get_info",
        cheapest(rounds, calls / 10, 1, || {
            must(klog_log_get_info(log, &raw mut info, null_mut()));
        }),
    ));
    raw_costs(&subject, rounds, calls, &mut costs);
    append_costs(&subject, rounds, calls, &mut costs);
    read_costs(&subject, rounds, calls, &mut costs);
    must(klog_manager_close(
        subject.manager,
        KLOG_CLOSE_ABANDON,
        -1,
        null_mut(),
    ));
    costs
}

/// The bytes of 100 records, as they are stored.
const LOT_BYTES: usize = 12_061;

fn raw_costs(subject: &Subject, rounds: usize, calls: usize, costs: &mut Vec<Cost>) {
    let path = subject.dir.path().join("raw");
    let file = std::fs::File::options()
        .read(true)
        .write(true)
        .create_new(true)
        .open(path)
        .unwrap();
    let mut bytes = vec![7; LOT_BYTES * 20];
    let mut at = 0;
    costs.push((
        "the bytes of a record by pwrite of 100",
        cheapest_after(
            || file.set_len(0).unwrap(),
            rounds,
            calls / 200,
            LOT,
            || {
                at = (at + LOT_BYTES as u64) % (LOT_BYTES * (calls / 200)) as u64;
                file.write_all_at(&bytes[..LOT_BYTES], at).unwrap();
            },
        ),
    ));
    costs.push((
        "the bytes of a record by pread of 2000",
        cheapest(rounds, calls / 4000, LOT * 20, || {
            file.read_exact_at(&mut bytes, 0).unwrap();
        }),
    ));
}

/// What an append does before anything is written: checks, encoding, checksum.
fn encode_cost(subject: &Subject, rounds: usize, calls: usize) -> f64 {
    let mut batch = vec![0_u8; 1 << 16];
    cheapest(rounds, calls / 200, LOT, || {
        must(klog_encode(
            subject.records.as_ptr(),
            LOT,
            null(),
            0,
            batch.as_mut_ptr().cast(),
            batch.len(),
            null_mut(),
            null_mut(),
        ));
    })
}

fn append_costs(subject: &Subject, rounds: usize, calls: usize, costs: &mut Vec<Cost>) {
    let log = subject.log;
    costs.push((
        "a record in klog_encode of 100",
        encode_cost(subject, rounds, calls),
    ));
    costs.push((
        "klog_append_one",
        cheapest_after(
            || subject.empty(),
            rounds,
            calls / 50,
            1,
            || {
                must(klog_append_one(
                    log,
                    KEY.as_ptr().cast(),
                    KEY.len(),
                    VALUE.as_ptr().cast(),
                    VALUE.len(),
                    1_700_000_000_000,
                    null_mut(),
                    null_mut(),
                ));
            },
        ),
    ));
    costs.push((
        "a record in klog_append of 100",
        cheapest_after(
            || subject.empty(),
            rounds,
            calls / 200,
            LOT,
            || subject.append(),
        ),
    ));
    costs.push((
        "a record in klog_append_packed of 100",
        cheapest_after(
            || subject.empty(),
            rounds,
            calls / 200,
            LOT,
            || {
                must(klog_append_packed(
                    log,
                    subject.packed.as_ptr().cast(),
                    subject.packed.len(),
                    null(),
                    null_mut(),
                    null_mut(),
                ));
            },
        ),
    ));
    let mut appender = klog_appender { id: 0 };
    must(klog_appender_open(
        log,
        null(),
        &raw mut appender,
        null_mut(),
    ));
    let add = |count: usize| {
        must(klog_appender_add(
            appender,
            subject.records.as_ptr(),
            count,
            -1,
            null_mut(),
            null_mut(),
        ));
    };
    costs.push((
        "a record in klog_appender_add of 100, with its flush",
        cheapest_after(
            || subject.empty(),
            rounds,
            calls / 2000,
            LOT * 10,
            || {
                (0..10).for_each(|_| add(LOT));
                must(klog_appender_flush(appender, -1, null_mut()));
            },
        ),
    ));
    costs.push((
        "klog_appender_add of one record, with its part of the flush",
        cheapest_after(
            || subject.empty(),
            rounds,
            calls / 2000,
            LOT,
            || {
                (0..LOT).for_each(|_| add(1));
                must(klog_appender_flush(appender, -1, null_mut()));
            },
        ),
    ));
}

fn read_costs(subject: &Subject, rounds: usize, calls: usize, costs: &mut Vec<Cost>) {
    let log = subject.log;
    subject.empty();
    // As many as a cursor reads at a time.
    let lots = 20;
    (0..lots).for_each(|_| subject.append());
    let mut cursor = klog_cursor { id: 0 };
    must(klog_cursor_open(
        log,
        0,
        null(),
        &raw mut cursor,
        null_mut(),
    ));
    let mut places = vec![subject.records[0]; LOT];
    let mut result: klog_read_result = sized();
    costs.push((
        "a record in klog_cursor_next of 100",
        cheapest(rounds, calls / 4000, LOT * lots, || {
            must(klog_cursor_seek(cursor, 0, null_mut()));
            for _ in 0..lots {
                must(klog_cursor_next(
                    cursor,
                    places.as_mut_ptr(),
                    LOT,
                    &raw mut result,
                    null_mut(),
                ));
            }
        }),
    ));
    let mut buffer = vec![0_u8; 1 << 20];
    costs.push((
        "a record in klog_cursor_next_packed of 2000",
        cheapest(rounds, calls / 4000, LOT * lots, || {
            must(klog_cursor_seek(cursor, 0, null_mut()));
            let mut left = LOT * lots;
            while left > 0 {
                must(klog_cursor_next_packed(
                    cursor,
                    buffer.as_mut_ptr().cast::<c_void>(),
                    buffer.len(),
                    &raw mut result,
                    null_mut(),
                ));
                left -= result.records as usize;
            }
        }),
    ));
}
