//! Listings of a directory that miss a name, as they may while its owner puts a file in place.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use klog::error::Result;
use klog::io::{DirEntry, File, FileLock, FileSystem, OpenMode, RealFs, Stat};
use klog::log::Isolation;
use klog::manager::{Access, Manager, ManagerOptions};
use klog::types::TimestampMs;

use crate::pair::{all, followed};
use crate::support::engine::{Home, fill, t0};

/// How many listings of the log's directory may be the ones that miss a name.
const LISTINGS: usize = 24;

/// The machine's files, but that some listings of a log's directory lack a segment.
#[derive(Debug)]
struct Missing {
    segment: &'static str,
    /// From which listing on, and in how many.
    first: usize,
    count: usize,
    listings: Arc<AtomicUsize>,
}

impl FileSystem for Missing {
    fn list(&self, dir: &Path) -> Result<Vec<DirEntry>> {
        let mut entries = RealFs.list(dir)?;
        if dir.ends_with("t-0") {
            let n = self.listings.fetch_add(1, Ordering::SeqCst);
            if (self.first..self.first + self.count).contains(&n) {
                entries.retain(|entry| !entry.name.to_string_lossy().starts_with(self.segment));
            }
        }
        Ok(entries)
    }

    fn open(&self, path: &Path, mode: OpenMode) -> Result<Arc<dyn File>> {
        RealFs.open(path, mode)
    }

    fn create_dir(&self, path: &Path) -> Result<()> {
        RealFs.create_dir(path)
    }

    fn stat(&self, path: &Path) -> Result<Stat> {
        RealFs.stat(path)
    }

    fn canonicalize(&self, path: &Path) -> Result<PathBuf> {
        RealFs.canonicalize(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<()> {
        RealFs.rename(from, to)
    }

    fn remove_file(&self, path: &Path) -> Result<()> {
        RealFs.remove_file(path)
    }

    fn remove_dir(&self, path: &Path) -> Result<()> {
        RealFs.remove_dir(path)
    }

    fn sync_dir(&self, dir: &Path) -> Result<()> {
        RealFs.sync_dir(dir)
    }

    fn set_modified(&self, path: &Path, time: TimestampMs) -> Result<()> {
        RealFs.set_modified(path, time)
    }

    fn lock(&self, path: &Path) -> Result<Option<Box<dyn FileLock>>> {
        RealFs.lock(path)
    }
}

#[test]
fn a_segment_that_a_listing_misses_is_not_taken_for_gone() {
    let home = Home::new().set("internal.segment.bytes", 300);
    let owner = home.open();
    let owned = t0(&owner);
    fill(&owned, 14);
    let mut listings_max = 0;
    for segment in ["00000000000000000000", "00000000000000000004"] {
        for (first, count) in (0..LISTINGS).flat_map(|first| [(first, 1), (first, 2)]) {
            let listings = Arc::new(AtomicUsize::new(0));
            let follower = Manager::open(ManagerOptions {
                access: Access::ReadOnly,
                fs: Arc::new(Missing {
                    segment,
                    first,
                    count,
                    listings: Arc::clone(&listings),
                }),
                ..home.options()
            })
            .unwrap();
            let seen = followed(&follower, "t-0");
            for _ in 0..2 {
                let (own, found) = (
                    all(&owned, Isolation::LogEnd),
                    all(&seen, Isolation::LogEnd),
                );
                assert_eq!(
                    found, own,
                    "{segment} was missing from listing {first} on, in {count}"
                );
                follower.refresh().unwrap();
            }
            listings_max = listings_max.max(listings.load(Ordering::SeqCst));
        }
    }
    assert!(listings_max > LISTINGS / 2, "only {listings_max} listings");
}
