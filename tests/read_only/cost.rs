//! What a refresh costs, counted where klog meets the disk.

use std::sync::Arc;

use klog::config::ConfigSet;
use klog::io::{ManualClock, SimFs};
use klog::log::Isolation;
use klog::manager::{Access, Manager, ManagerOptions, MissingDir};
use klog::types::TimestampMs;

use crate::pair::{all, followed};
use crate::support::engine::{NOW, Rec, append, rec, t0};

/// How much the log holds.
const LOG_BYTES: u64 = 50 << 20;
/// What one look may read besides what is new.
const LOOK_BYTES: u64 = 1024;

fn open(disk: &SimFs, access: Access) -> Manager {
    let config = Arc::new(ConfigSet::broker().resolve().unwrap());
    Manager::open(ManagerOptions {
        access,
        missing_dir: MissingDir::Create,
        fs: Arc::new(disk.clone()),
        clock: Arc::new(ManualClock::new(TimestampMs(NOW))),
        ..ManagerOptions::new(vec!["/data".into()], config)
    })
    .unwrap()
}

fn big_batch(of_kib: usize) -> Vec<Rec> {
    (0..of_kib)
        .map(|i| rec(NOW, &format!("key {i}"), &"v".repeat(1000)))
        .collect()
}

#[test]
fn a_refresh_reads_what_is_new_and_not_the_log() {
    let disk = SimFs::new();
    let owner = open(&disk, Access::Own);
    let owned = t0(&owner);
    while owned.info().bytes < LOG_BYTES {
        append(&owned, &big_batch(500));
    }
    let follower = open(&disk, Access::ReadOnly);
    let seen = followed(&follower, "t-0");
    assert_eq!(seen.end_offset(), owned.end_offset());
    let cost = |refresh: &dyn Fn()| {
        let (before, bytes) = (disk.counts(), seen.info().bytes);
        refresh();
        let after = disk.counts();
        assert_eq!(after.changes, before.changes);
        (
            after.bytes_read - before.bytes_read,
            seen.info().bytes - bytes,
        )
    };
    let mut worst = 0;
    for kib in [1, 1, 100, 10, 900, 1] {
        append(&owned, &big_batch(kib));
        let (read, new) = cost(&|| follower.refresh_log(&seen).unwrap());
        assert_eq!(seen.end_offset(), owned.end_offset());
        assert!(
            read <= new + LOOK_BYTES,
            "{read} bytes read for {new} new ones"
        );
        worst = worst.max(read - new);
    }
    // Nothing new, of one log or of all.
    let (read, _) = cost(&|| follower.refresh_log(&seen).unwrap());
    assert!(read <= LOOK_BYTES, "{read}");
    let (all_read, _) = cost(&|| follower.refresh().unwrap());
    println!(
        "of {} bytes: {read} read if nothing is new, at most {worst} besides the new ones",
        seen.info().bytes
    );
    assert!(all_read <= LOOK_BYTES, "{all_read}");
    // A roll costs no more.
    owned.roll().unwrap();
    append(&owned, &big_batch(1));
    let (read, new) = cost(&|| follower.refresh().unwrap());
    println!("{read} bytes read for a roll and {new} new ones");
    assert!(read <= 256 * 1024, "{read} bytes read for a roll");
    assert_eq!(
        all(&seen, Isolation::LogEnd).len() as i64,
        owned.end_offset().0
    );
}
