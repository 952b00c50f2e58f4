//! What the pool promises, over the simulated disk and the real one.

use super::*;
use crate::io::{SimFs, create_dir_all};

fn pooled(max_open: usize) -> (SimFs, PooledFs) {
    let disk = SimFs::new();
    create_dir_all(&disk, "/d".as_ref()).unwrap();
    let fs = PooledFs::new(Arc::new(disk.clone()), max_open);
    (disk, fs)
}

fn path(n: usize) -> PathBuf {
    format!("/d/{n}").into()
}

#[test]
fn many_files_are_used_over_few_descriptors() {
    let (_, fs) = pooled(3);
    let files: Vec<_> = (0..20)
        .map(|n| fs.open(&path(n), OpenMode::Create).unwrap())
        .collect();
    for round in 0..5u8 {
        for (n, file) in files.iter().enumerate() {
            file.write_at(&[u8::try_from(n).unwrap(), round], u64::from(round) * 2)
                .unwrap();
            assert!(fs.open_files() <= 3);
        }
    }
    for (n, file) in files.iter().enumerate() {
        let mut bytes = [0; 10];
        assert_eq!(file.read_at(&mut bytes, 0).unwrap(), 10);
        assert!(
            bytes
                .chunks(2)
                .zip(0..)
                .all(|(pair, round)| pair == [u8::try_from(n).unwrap(), round])
        );
    }
    drop(files);
    assert_eq!(fs.open_files(), 0);
}

#[test]
fn a_file_at_rest_has_no_descriptor_until_it_is_used_again() {
    let (_, fs) = pooled(8);
    let files: Vec<_> = (0..6)
        .map(|n| {
            let file = fs.open(&path(n), OpenMode::Create).unwrap();
            file.write_at(b"abc", 0).unwrap();
            file
        })
        .collect();
    files[0].rest();
    assert_eq!(fs.open_files(), 6, "what it wrote is not synced");
    for file in &files {
        file.sync().unwrap();
        file.rest();
        file.rest();
    }
    assert_eq!(fs.open_files(), 0);
    let mut found = [0; 3];
    assert_eq!(files[3].read_at(&mut found, 0).unwrap(), 3);
    assert_eq!((&found, fs.open_files()), (b"abc", 1));
    // Those that were closed are not closed again, nor counted twice.
    let others: Vec<_> = (6..16)
        .map(|n| fs.open(&path(n), OpenMode::Create).unwrap())
        .collect();
    assert_eq!(fs.open_files(), 8);
    drop((files, others));
    assert_eq!(fs.open_files(), 0);
}

#[test]
fn what_was_written_is_synced_before_its_descriptor_goes() {
    let (disk, fs) = pooled(1);
    let first = fs.open(&path(1), OpenMode::Create).unwrap();
    first.write_at(b"written", 0).unwrap();
    let syncs = disk.counts().syncs;
    let second = fs.open(&path(2), OpenMode::Create).unwrap();
    assert_eq!(disk.counts().syncs, syncs + 1);
    // Synced by itself it need not be again.
    second.write_at(b"x", 0).unwrap();
    second.sync().unwrap();
    let syncs = disk.counts().syncs;
    let mut bytes = [0; 7];
    first.read_at(&mut bytes, 0).unwrap();
    assert_eq!((&bytes, disk.counts().syncs), (b"written", syncs));
}

#[test]
fn a_sync_that_failed_then_is_told_by_the_next_one() {
    use crate::io::sim::{Fault, OpKind};
    let (disk, fs) = pooled(1);
    let first = fs.open(&path(1), OpenMode::Create).unwrap();
    first.write_at(b"written", 0).unwrap();
    disk.inject(Fault::once(OpKind::Sync, "/d/1", libc::EIO));
    let _second = fs.open(&path(2), OpenMode::Create).unwrap();
    let error = first.sync().unwrap_err();
    assert_eq!(error.os_errno(), Some(libc::EIO));
}

#[test]
fn a_file_that_another_process_replaced_is_not_mistaken_for_the_old_one() {
    let (disk, fs) = pooled(1);
    for name in [path(1), path(9)] {
        let file = disk.open(&name, OpenMode::Create).unwrap();
        file.write_at(b"content", 0).unwrap();
    }
    let held = fs.open(&path(1), OpenMode::Read).unwrap();
    let _other = fs.open(&path(2), OpenMode::Create).unwrap();
    let mut bytes = [0; 7];
    assert_eq!(held.read_at(&mut bytes, 0).unwrap(), 7);
    // Open, it is read on; closed meanwhile, another one has its name.
    disk.rename(&path(9), &path(1)).unwrap();
    assert_eq!(held.read_at(&mut bytes, 0).unwrap(), 7);
    let _another = fs.open(&path(3), OpenMode::Create).unwrap();
    let error = held.read_at(&mut bytes, 0).unwrap_err();
    assert!(error.is_not_found(), "{error}");
}

#[test]
fn files_below_a_directory_that_is_renamed_are_found_by_its_new_name() {
    let (_, fs) = pooled(4);
    fs.create_dir(Path::new("/d/old")).unwrap();
    let files: Vec<_> = (0..3).map(|n| abc(&fs, &format!("/d/old/{n}"))).collect();
    files[0].rest();
    files[1].rest();
    fs.rename(Path::new("/d/old"), Path::new("/d/new")).unwrap();
    for file in &files {
        file.rest();
        assert_eq!(content(&**file), *b"abc");
        file.rest();
    }
    // Another one may have the old name; and what is removed by the new one is read on.
    fs.create_dir(Path::new("/d/old")).unwrap();
    let other = abc(&fs, "/d/old/0");
    for (n, file) in files.iter().enumerate() {
        let path = PathBuf::from(format!("/d/new/{n}"));
        fs.remove_file(&path).unwrap();
        file.rest();
        assert_eq!(content(&**file), *b"abc");
    }
    drop((files, other));
    assert_eq!(fs.open_files(), 0);
    assert!(fs.pool.state.lock().in_use.is_empty());
}

#[test]
fn files_of_directories_that_get_each_others_names_are_told_apart() {
    let home = tempfile::tempdir().unwrap();
    let fs = PooledFs::new(Arc::new(crate::io::RealFs), 4);
    let [one, other] = ["one", "other"].map(|name| home.path().join(name));
    let files = [&one, &other].map(|dir| {
        fs.create_dir(dir).unwrap();
        let file = abc(&fs, dir.join("f").to_str().unwrap());
        file.rest();
        file
    });
    files[1].write_at(b"xyz", 0).unwrap();
    files[1].sync().unwrap();
    files[1].rest();
    if !fs.exchange(&one, &other).unwrap() {
        return;
    }
    assert_eq!(fs.open_files(), 0);
    assert_eq!(files.each_ref().map(|f| content(&**f)), [*b"abc", *b"xyz"]);
}

/// A file with three bytes, synced.
fn abc(fs: &PooledFs, path: &str) -> Arc<dyn File> {
    let file = fs.open(Path::new(path), OpenMode::Create).unwrap();
    file.write_at(b"abc", 0).unwrap();
    file.sync().unwrap();
    file
}

fn content(file: &dyn File) -> [u8; 3] {
    let mut bytes = [0; 3];
    assert_eq!(file.read_at(&mut bytes, 0).unwrap(), 3);
    bytes
}

#[test]
fn a_file_whose_name_goes_is_read_on() {
    let (_, fs) = pooled(1);
    let renamed = fs.open(&path(1), OpenMode::Create).unwrap();
    renamed.write_at(b"renamed", 0).unwrap();
    let removed = fs.open(&path(2), OpenMode::Create).unwrap();
    removed.write_at(b"removed", 0).unwrap();
    let replaced = fs.open(&path(3), OpenMode::Create).unwrap();
    replaced.write_at(b"replace", 0).unwrap();
    fs.rename(&path(1), &path(3)).unwrap();
    fs.remove_file(&path(2)).unwrap();
    for n in 10..15 {
        fs.open(&path(n), OpenMode::Create)
            .unwrap()
            .write_at(b"other", 0)
            .unwrap();
    }
    for (file, content) in [
        (renamed, b"renamed"),
        (removed, b"removed"),
        (replaced, b"replace"),
    ] {
        let mut bytes = [0; 7];
        file.read_at(&mut bytes, 0).unwrap();
        assert_eq!(&bytes, content);
    }
}
