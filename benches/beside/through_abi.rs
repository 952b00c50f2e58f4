//! Rows of the same work through the functions of the C ABI, beside the same from Rust.

use std::ffi::CString;
use std::path::{Path, PathBuf};
use std::ptr::{null, null_mut};

use klog::ffi::append::klog_append;
use klog::ffi::constants::{
    KLOG_CLOSE_ABANDON, KLOG_ERR_END, KLOG_LOG_CREATE, KLOG_OK, KLOG_RECORD_HAS_TIMESTAMP,
};
use klog::ffi::cursor::{klog_cursor_next, klog_cursor_open};
use klog::ffi::log::klog_log_open;
use klog::ffi::manager::{klog_manager_close, klog_manager_open};
use klog::ffi::types::{
    klog_cursor, klog_log, klog_log_options, klog_manager, klog_manager_options, klog_read_result,
    klog_record, klog_status,
};

use super::append::append_by_klog;
use super::clock::Worked;
use super::data::{Data, EACH, TIME};
use super::read::{asked, open as open_by_rust, scan_by_klog};
use super::rounds::{Contest, KafkaWork, M_RECORDS, Work};
use super::{Bench, fresh};

/// How many records a call of the cursor may give.
const SCANNED_AT_ONCE: usize = 1000;

/// A struct of the ABI with its size, all else zero.
fn sized<T: Copy>() -> T {
    // SAFETY: integers and pointers, for which zero is a value; each begins with its size.
    unsafe {
        let mut made: T = std::mem::zeroed();
        (&raw mut made).cast::<u32>().write(size_of::<T>() as u32);
        made
    }
}

fn must(status: klog_status) {
    assert_eq!(status, KLOG_OK);
}

/// A log as a program in C opens it.
struct Opened {
    manager: klog_manager,
    log: klog_log,
}

impl Opened {
    /// The partition t-0 of the directory, made if it is not there.
    fn at(dir: &Path) -> Self {
        let path = CString::new(dir.to_str().unwrap()).unwrap();
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
        let mut options: klog_log_options = sized();
        options.flags = KLOG_LOG_CREATE;
        let mut log = klog_log { id: 0 };
        must(klog_log_open(
            manager,
            c"t".as_ptr(),
            1,
            0,
            &raw const options,
            &raw mut log,
            null_mut(),
        ));
        Self { manager, log }
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        must(klog_manager_close(
            self.manager,
            KLOG_CLOSE_ABANDON,
            -1,
            null_mut(),
        ));
    }
}

fn append(data: &Data, dir: PathBuf, batches: u64) -> Work<'_> {
    Box::new(move || {
        let opened = Opened::at(&fresh(&dir));
        // SAFETY: integers and pointers, for which zero is a value.
        let empty: klog_record = unsafe { std::mem::zeroed() };
        let mut records = vec![empty; EACH as usize];
        let began = Worked::start();
        for _ in 0..batches {
            for (n, (record, (key, value))) in records.iter_mut().zip(data.records()).enumerate() {
                record.key = key.as_ptr().cast();
                record.key_len = key.len() as u64;
                record.value = value.as_ptr().cast();
                record.value_len = value.len() as u64;
                record.flags = KLOG_RECORD_HAS_TIMESTAMP;
                record.timestamp_ms = TIME + n as i64;
            }
            must(klog_append(
                opened.log,
                records.as_ptr(),
                records.len(),
                null(),
                null_mut(),
                null_mut(),
            ));
        }
        (batches * EACH) as f64 / began.seconds()
    })
}

fn scan(dir: PathBuf, records: u64) -> Work<'static> {
    Box::new(move || {
        let opened = Opened::at(&dir);
        let mut cursor = klog_cursor { id: 0 };
        must(klog_cursor_open(
            opened.log,
            0,
            null(),
            &raw mut cursor,
            null_mut(),
        ));
        // SAFETY: integers and pointers, for which zero is a value.
        let empty: klog_record = unsafe { std::mem::zeroed() };
        let mut places = vec![empty; SCANNED_AT_ONCE];
        let mut result: klog_read_result = sized();
        let mut count = 0;
        let began = Worked::start();
        loop {
            let status = klog_cursor_next(
                cursor,
                places.as_mut_ptr(),
                places.len(),
                &raw mut result,
                null_mut(),
            );
            if status == KLOG_ERR_END {
                break;
            }
            must(status);
            let given = u64::from(result.records);
            for place in &places[..given as usize] {
                std::hint::black_box((place.offset, place.key, place.value));
            }
            count += given;
        }
        let seconds = began.seconds();
        assert_eq!(count, records);
        records as f64 / seconds
    })
}

pub(crate) fn rows(bench: &mut Bench) {
    let data = Data::new();
    let batches = bench.size.batches;
    let kafka_dir = bench.path("kafka");
    let by_kafka: KafkaWork<'_> = Box::new(move |kafka| {
        let fields = [&batches.to_string(), "100", "none"];
        let dir = fresh(&kafka_dir);
        (batches * EACH) as f64 / kafka.seconds_with_records("append_built", &dir, &fields)
    });
    bench.run(Contest {
        name: "build and append, C ABI",
        includes: "klog_append of 100 structs that are filled each time, beside the same from Rust",
        unit: M_RECORDS,
        klog: append(&data, bench.path("klog"), batches),
        kafka: Some((by_kafka, None)),
        other: Some((
            "Rust",
            append_by_klog(&data, bench.path("klog-rust"), batches),
            None,
        )),
        limit: None,
    });
    let name = "scan, C ABI";
    if !bench.wants(name) {
        return;
    }
    let dirs = ["read-klog", "read-kafka", "read-rust"].map(|name| bench.path(name));
    for dir in &dirs {
        data.write_log(&fresh(dir), batches, &klog::log::AppendOptions::default());
    }
    let records = batches * EACH;
    bench.run(Contest {
        name,
        includes: "klog_cursor_next, 1,000 structs a call, beside the same from Rust",
        unit: M_RECORDS,
        klog: scan(dirs[0].clone(), records),
        kafka: Some((asked("scan", &dirs[1], records as f64, None), None)),
        other: Some(("Rust", scan_by_klog(open_by_rust(&dirs[2]), records), None)),
        limit: None,
    });
}
