//! What the simulated disk keeps and forgets, and how it fails on demand.

use super::*;

fn path(text: &str) -> &Path {
    Path::new(text)
}

fn read(fs: &SimFs, name: &str) -> Option<Vec<u8>> {
    crate::io::read_file(fs, path(name)).unwrap()
}

#[test]
fn what_was_synced_survives_every_power_cut() {
    let fs = SimFs::new();
    fs.create_dir(path("/d")).unwrap();
    fs.sync_dir(path("/")).unwrap();
    let file = fs.open(path("/d/a"), OpenMode::Create).unwrap();
    file.write_at(&[7; 3000], 0).unwrap();
    file.sync().unwrap();
    fs.sync_dir(path("/d")).unwrap();
    file.write_at(&[8; 3000], 3000).unwrap();
    for seed in 0..500 {
        let after = fs.after_power_cut(seed);
        assert_eq!(
            read(&after, "/d/a").unwrap()[..3000],
            [7; 3000],
            "seed {seed}"
        );
    }
}

#[test]
fn unsynced_bytes_and_names_are_lost_kept_or_torn_by_seed() {
    let fs = SimFs::new();
    fs.open(path("/a"), OpenMode::Create)
        .unwrap()
        .write_at(&[1; 2000], 0)
        .unwrap();
    let outcomes: std::collections::BTreeSet<_> = (0..300)
        .map(|seed| {
            read(&fs.after_power_cut(seed), "/a")
                .map(|c| c.iter().map(|&b| u64::from(b)).sum::<u64>())
        })
        .collect();
    assert!(outcomes.contains(&None), "the name can be lost");
    assert!(outcomes.contains(&Some(0)), "the bytes can be lost");
    assert!(outcomes.contains(&Some(2000)), "all can be kept");
    assert!(outcomes.len() > 5, "a write can be torn: {outcomes:?}");
    assert_eq!(
        read(&fs, "/a").unwrap().len(),
        2000,
        "the running disk goes on"
    );
}

#[test]
fn a_sync_of_a_file_does_not_make_its_name_durable() {
    let fs = SimFs::new();
    let file = fs.open(path("/a"), OpenMode::Create).unwrap();
    file.write_at(b"x", 0).unwrap();
    file.sync().unwrap();
    assert!((0..100).any(|seed| read(&fs.after_power_cut(seed), "/a").is_none()));
    fs.sync_dir(path("/")).unwrap();
    assert!((0..100).all(|seed| read(&fs.after_power_cut(seed), "/a").is_some()));
}

#[test]
fn a_replaced_file_is_the_old_or_the_new_one_after_any_cut() {
    let fs = SimFs::new();
    crate::io::replace_file(&fs, path("/c"), b"old").unwrap();
    fs.record_moments();
    crate::io::replace_file(&fs, path("/c"), b"new").unwrap();
    for moment in fs.take_moments() {
        for seed in 0..200 {
            let content = read(&moment.after_power_cut(seed), "/c").unwrap();
            assert!(content == b"old" || content == b"new", "{content:?}");
        }
    }
}

#[test]
fn faults_come_when_they_are_due_and_store_what_they_are_told() {
    let fs = SimFs::new();
    let file = fs.open(path("/a"), OpenMode::Create).unwrap();
    fs.inject(Fault {
        skip: 1,
        stored_bytes: 3,
        ..Fault::once(OpKind::Write, "a", libc::EIO)
    });
    file.write_at(b"1234", 0).unwrap();
    let error = file.write_at(b"5678", 4).unwrap_err();
    assert_eq!(error.os_errno(), Some(libc::EIO));
    file.write_at(b"9", 9).unwrap();
    assert_eq!(read(&fs, "/a").unwrap(), b"1234567\0\09");
}

#[test]
fn a_full_disk_stores_what_fits() {
    let fs = SimFs::new();
    fs.set_capacity(10);
    let file = fs.open(path("/a"), OpenMode::Create).unwrap();
    file.write_at(&[1; 8], 0).unwrap();
    let error = file.write_at(&[2; 8], 8).unwrap_err();
    assert_eq!(error.kind(), crate::ErrorKind::NoSpace);
    assert_eq!(file.len().unwrap(), 10);
    file.set_len(8).unwrap();
    file.write_at(&[3; 2], 8).unwrap();
    let other = fs.open(path("/b"), OpenMode::Create).unwrap();
    assert_eq!(
        other.write_at(&[4; 2], 0).unwrap_err().kind(),
        crate::ErrorKind::NoSpace
    );
    fs.remove_file(path("/a")).unwrap();
    other.write_at(&[4; 2], 0).unwrap();
}

#[test]
fn a_lock_excludes_a_second_owner_until_it_is_dropped() {
    let fs = SimFs::new();
    let held = fs.lock(path("/.lock")).unwrap();
    assert!(held.is_some());
    assert!(fs.lock(path("/.lock")).unwrap().is_none());
    drop(held);
    assert!(read(&fs, "/.lock").is_none());
    assert!(fs.lock(path("/.lock")).unwrap().is_some());
}
