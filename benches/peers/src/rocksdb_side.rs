//! RocksDB as a queue, offsets as keys, through its C interface.

use std::ffi::{CStr, CString, c_char, c_int, c_uchar, c_void};
use std::hint::black_box;
use std::ptr::{null_mut, with_exposed_provenance_mut};
use std::sync::atomic::{AtomicU64, Ordering};

use super::peer::{EACH, Job, Peer, Result, Work, at_random, in_threads, timed};

type Handle = *mut c_void;

unsafe extern "C" {
    fn rocksdb_options_create() -> Handle;
    fn rocksdb_options_destroy(options: Handle);
    fn rocksdb_options_set_create_if_missing(options: Handle, yes: c_uchar);
    fn rocksdb_options_set_compression(options: Handle, kind: c_int);
    fn rocksdb_open(options: Handle, path: *const c_char, error: *mut *mut c_char) -> Handle;
    fn rocksdb_close(db: Handle);
    fn rocksdb_free(pointer: *mut c_void);
    fn rocksdb_writeoptions_create() -> Handle;
    fn rocksdb_writeoptions_destroy(options: Handle);
    fn rocksdb_writeoptions_set_sync(options: Handle, yes: c_uchar);
    fn rocksdb_readoptions_create() -> Handle;
    fn rocksdb_readoptions_destroy(options: Handle);
    fn rocksdb_writebatch_create() -> Handle;
    fn rocksdb_writebatch_clear(batch: Handle);
    fn rocksdb_writebatch_destroy(batch: Handle);
    fn rocksdb_writebatch_put(
        batch: Handle,
        key: *const c_char,
        key_len: usize,
        value: *const c_char,
        value_len: usize,
    );
    fn rocksdb_write(db: Handle, options: Handle, batch: Handle, error: *mut *mut c_char);
    fn rocksdb_put(
        db: Handle,
        options: Handle,
        key: *const c_char,
        key_len: usize,
        value: *const c_char,
        value_len: usize,
        error: *mut *mut c_char,
    );
    fn rocksdb_get_pinned(
        db: Handle,
        options: Handle,
        key: *const c_char,
        key_len: usize,
        error: *mut *mut c_char,
    ) -> Handle;
    fn rocksdb_pinnableslice_destroy(slice: Handle);
    fn rocksdb_pinnableslice_value(slice: Handle, len: *mut usize) -> *const c_char;
    fn rocksdb_create_iterator(db: Handle, options: Handle) -> Handle;
    fn rocksdb_iter_destroy(iterator: Handle);
    fn rocksdb_iter_seek_to_first(iterator: Handle);
    fn rocksdb_iter_valid(iterator: Handle) -> c_uchar;
    fn rocksdb_iter_next(iterator: Handle);
    fn rocksdb_iter_value(iterator: Handle, len: *mut usize) -> *const c_char;
}

pub struct RocksDb;

/// An open database with its options. RocksDB's own handles may be used from any thread.
struct Opened {
    db: Handle,
    write: Handle,
    read: Handle,
}

// SAFETY: the C interface is made for use from many threads, other than batches and iterators, which stay with one here.
unsafe impl Sync for Opened {}

impl Opened {
    fn at(job: &Job<'_>) -> Result<Self> {
        let path = CString::new(job.dir.to_str().unwrap())?;
        let mut error = null_mut();
        // SAFETY: handles are made by the library and used as its header says.
        let opened = unsafe {
            let options = rocksdb_options_create();
            rocksdb_options_set_create_if_missing(options, 1);
            // Nobody else compresses.
            rocksdb_options_set_compression(options, 0);
            let db = rocksdb_open(options, path.as_ptr(), &raw mut error);
            rocksdb_options_destroy(options);
            let write = rocksdb_writeoptions_create();
            rocksdb_writeoptions_set_sync(write, u8::from(job.work == Work::Synced));
            Self {
                db,
                write,
                read: rocksdb_readoptions_create(),
            }
        };
        checked(error)?;
        Ok(opened)
    }

    fn put(&self, n: u64, value: &[u8]) -> Result<()> {
        let key = n.to_be_bytes();
        let mut error = null_mut();
        // SAFETY: the handles are open, the bytes live.
        unsafe {
            rocksdb_put(
                self.db,
                self.write,
                key.as_ptr().cast(),
                key.len(),
                value.as_ptr().cast(),
                value.len(),
                &raw mut error,
            );
        }
        checked(error)
    }

    fn append(&self, job: &Job<'_>) -> Result<()> {
        // SAFETY: as above; the batch is this thread's.
        unsafe {
            let batch = rocksdb_writebatch_create();
            for n in (0..job.size).step_by(EACH as usize) {
                rocksdb_writebatch_clear(batch);
                for n in n..n + EACH {
                    let (key, value) = (n.to_be_bytes(), job.data.payload(n));
                    rocksdb_writebatch_put(
                        batch,
                        key.as_ptr().cast(),
                        key.len(),
                        value.as_ptr().cast(),
                        value.len(),
                    );
                }
                let mut error = null_mut();
                rocksdb_write(self.db, self.write, batch, &raw mut error);
                checked(error)?;
            }
            rocksdb_writebatch_destroy(batch);
        }
        Ok(())
    }

    fn count(&self) -> u64 {
        let mut found = 0;
        // SAFETY: as above; the iterator is this thread's.
        unsafe {
            let iterator = rocksdb_create_iterator(self.db, self.read);
            rocksdb_iter_seek_to_first(iterator);
            while rocksdb_iter_valid(iterator) != 0 {
                let mut len = 0;
                black_box(rocksdb_iter_value(iterator, &raw mut len));
                found += 1;
                rocksdb_iter_next(iterator);
            }
            rocksdb_iter_destroy(iterator);
        }
        found
    }

    fn get(&self, n: u64) -> Result<()> {
        let key = n.to_be_bytes();
        let mut error = null_mut();
        // SAFETY: as above.
        unsafe {
            let found = rocksdb_get_pinned(
                self.db,
                self.read,
                key.as_ptr().cast(),
                key.len(),
                &raw mut error,
            );
            checked(error)?;
            if found.is_null() {
                return Err("no record".into());
            }
            let mut len = 0;
            black_box(rocksdb_pinnableslice_value(found, &raw mut len));
            rocksdb_pinnableslice_destroy(found);
        }
        Ok(())
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        // SAFETY: nothing uses them any more.
        unsafe {
            rocksdb_writeoptions_destroy(self.write);
            rocksdb_readoptions_destroy(self.read);
            if self.db != with_exposed_provenance_mut(0) {
                rocksdb_close(self.db);
            }
        }
    }
}

fn checked(error: *mut c_char) -> Result<()> {
    if error.is_null() {
        return Ok(());
    }
    // SAFETY: the library gave a text, which is the caller's to free.
    let text = unsafe {
        let text = CStr::from_ptr(error).to_string_lossy().into_owned();
        rocksdb_free(error.cast());
        text
    };
    Err(text.into())
}

impl Peer for RocksDb {
    fn name(&self) -> &'static str {
        "RocksDB"
    }

    fn does(&self) -> &'static str {
        "checksums of log and blocks; copied to log, memtable and, later, tables; a sync is an fdatasync of the log that writers share"
    }

    fn run(&mut self, job: &Job<'_>) -> Result<f64> {
        let opened = Opened::at(job)?;
        match job.work {
            Work::Append => timed(|| opened.append(job)),
            Work::Single => {
                timed(|| (0..job.size).try_for_each(|n| opened.put(n, job.data.payload(n))))
            }
            Work::Synced => {
                let next = AtomicU64::new(0);
                let opened = &opened;
                in_threads(job.threads, |_| {
                    (0..job.size / job.threads).try_for_each(|_| {
                        let n = next.fetch_add(1, Ordering::Relaxed);
                        opened.put(n, job.data.payload(n))
                    })
                })
            }
            Work::Scan => timed(|| {
                assert_eq!(opened.count(), job.size);
                Ok(())
            }),
            Work::Random => {
                let end = opened.count();
                timed(|| at_random(job.size, end, |n| opened.get(n)))
            }
        }
    }
}
