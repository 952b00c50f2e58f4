//! Directories as the tests compare them: names, bytes, times.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use tempfile::TempDir;

/// A place for a test's directories, in memory if the machine has one: fewer seconds go into fsync.
pub(crate) fn scratch() -> TempDir {
    let shm = Path::new("/dev/shm");
    let builder = tempfile::Builder::new().prefix("klog-test-").to_owned();
    if shm.is_dir() {
        builder.tempdir_in(shm)
    } else {
        builder.tempdir()
    }
    .unwrap()
}

/// What is below a directory: relative path to content; `None` for a directory.
pub(crate) type Content = BTreeMap<PathBuf, Option<Vec<u8>>>;

pub(crate) fn content(root: &Path) -> Content {
    let mut found = BTreeMap::new();
    walk(root, &mut |path, is_dir| {
        let relative = path.strip_prefix(root).unwrap().to_path_buf();
        found.insert(relative, (!is_dir).then(|| fs::read(path).unwrap()));
    });
    found
}

/// Modification times of everything at and below a directory.
pub(crate) fn times(root: &Path) -> BTreeMap<PathBuf, SystemTime> {
    let mut found = BTreeMap::new();
    found.insert(
        root.to_path_buf(),
        fs::metadata(root).unwrap().modified().unwrap(),
    );
    walk(root, &mut |path, _| {
        found.insert(
            path.to_path_buf(),
            fs::metadata(path).unwrap().modified().unwrap(),
        );
    });
    found
}

fn walk(dir: &Path, visit: &mut dyn FnMut(&Path, bool)) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let is_dir = path.is_dir();
        visit(&path, is_dir);
        if is_dir {
            walk(&path, visit);
        }
    }
}

/// Copies a directory with the modification times of its files.
pub(crate) fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy(&path, &target);
        } else {
            fs::copy(&path, &target).unwrap();
            let modified = fs::metadata(&path).unwrap().modified().unwrap();
            fs::File::options()
                .write(true)
                .open(&target)
                .unwrap()
                .set_modified(modified)
                .unwrap();
        }
    }
}

/// The partition directories of a log directory, by name.
pub(crate) fn partitions(dir: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap())
        .filter(|entry| entry.path().is_dir())
        .map(|entry| entry.file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// Where two trees differ, a line for each path; empty if they are alike.
pub(crate) fn differences(left: &Content, right: &Content) -> Vec<String> {
    let mut found = Vec::new();
    for path in left
        .keys()
        .chain(right.keys())
        .collect::<std::collections::BTreeSet<_>>()
    {
        let text = path.display();
        match (left.get(path), right.get(path)) {
            (Some(_), None) => found.push(format!("{text}: only left")),
            (None, Some(_)) => found.push(format!("{text}: only right")),
            (Some(Some(l)), Some(Some(r))) if l != r => found.push(format!(
                "{text}: {} and {} bytes, different from {} on",
                l.len(),
                r.len(),
                l.iter().zip(r).take_while(|(a, b)| a == b).count()
            )),
            (Some(l), Some(r)) if l.is_some() != r.is_some() => {
                found.push(format!("{text}: a file and a directory"));
            }
            _ => {}
        }
    }
    found
}
