//! The leader epochs of a log that was made and not flushed yet.

use super::*;

/// Neither its names nor the leader epoch that begins with it: hundreds of partitions are made at once.
#[test]
fn making_a_log_and_appending_to_it_waits_for_no_sync() {
    let disk = SimFs::new();
    let manager = open(&disk);
    disk.start_trace();
    append_in_epoch(&make(&manager, "a"), 3, WriteDurability::PageCache);
    let trace = disk.trace();
    let is_sync = |op: &&Op| matches!(op.kind, OpKind::Sync | OpKind::SyncDir);
    assert_eq!(trace.iter().find(is_sync), None, "{trace:?}");
}

fn append_in_epoch(log: &Log, epoch: i32, durability: WriteDurability) {
    let options = AppendOptions {
        leader_epoch: Some(LeaderEpoch(epoch)),
        durability,
        ..AppendOptions::default()
    };
    append_as(log, &options).unwrap();
}

/// A new log of two epochs, of which nothing was flushed.
fn in_two_epochs(disk: &SimFs) -> (Manager, Arc<Log>) {
    let manager = open(disk);
    let log = make(&manager, "a");
    append_in_epoch(&log, 3, WriteDurability::PageCache);
    append_in_epoch(&log, 5, WriteDurability::PageCache);
    (manager, log)
}

/// Makes all of `log` durable, so that a recovery does not read again what tells of its epochs: whatever a power cut leaves
/// has them.
fn check_epochs(disk: &SimFs, manager: &Manager, log: &Log) {
    log.roll().unwrap();
    append_in_epoch(log, 5, WriteDurability::Synced);
    manager.checkpoint().unwrap();
    for seed in 0..CUTS {
        let manager = open(&disk.after_power_cut(seed));
        let found = manager.log(&partition("a")).unwrap();
        assert_eq!(found.epochs(), log.epochs(), "cut {seed}");
    }
}

#[test]
fn the_epochs_of_a_new_log_survive_every_power_cut() {
    let disk = SimFs::new();
    let (manager, log) = in_two_epochs(&disk);
    check_epochs(&disk, &manager, &log);
}

/// What it wrote is in memory still, and looks like what was stored in order.
#[test]
fn the_epochs_of_a_new_log_whose_process_was_killed_survive_every_power_cut() {
    let disk = SimFs::new();
    in_two_epochs(&disk).0.abandon();
    let manager = open(&disk);
    let log = manager.log(&partition("a")).unwrap();
    check_epochs(&disk, &manager, &log);
}

/// The disk is full when the epochs are to be made durable: that flush fails, and the next one makes them so.
#[test]
fn a_flush_that_could_not_store_the_epochs_of_a_new_log_is_made_good_by_the_next() {
    let disk = SimFs::new();
    let (manager, log) = in_two_epochs(&disk);
    let epochs = format!("{DIR}/a-0/leader-epoch-checkpoint.tmp");
    disk.inject(Fault::once(OpKind::Write, &epochs, libc::ENOSPC));
    let refused = log.flush().unwrap_err();
    assert_eq!(refused.os_errno(), Some(libc::ENOSPC), "{refused}");
    assert_eq!(offsets(&log), [0, 1]);
    check_epochs(&disk, &manager, &log);
}

/// The file of a new epoch is replaced while the names are synced: whether that sync saw it nobody knows.
#[test]
fn an_epoch_that_begins_while_the_names_are_synced_is_durable_by_itself() {
    let armed: Arc<Mutex<Option<Arc<Log>>>> = Arc::default();
    let arm = Arc::clone(&armed);
    let syncs = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&syncs);
    let manager = open_watched("/data/logs/a-0", move || {
        count.fetch_add(1, Ordering::SeqCst);
        let log = arm.lock().unwrap().take();
        if let Some(log) = log {
            let options = AppendOptions {
                leader_epoch: Some(LeaderEpoch(7)),
                ..AppendOptions::default()
            };
            append_as(&log, &options)?;
        }
        Ok(())
    });
    let log = make(&manager, "a");
    append(&log, 1);
    *armed.lock().unwrap() = Some(Arc::clone(&log));
    let before = syncs.load(Ordering::SeqCst);
    log.flush().unwrap();
    assert_eq!(
        syncs.load(Ordering::SeqCst),
        before + 2,
        "that of the names, and that of the epoch"
    );
}
