//! The pages in `docs` and the README keep to what is there: links lead to files, and every test named exists.
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a failure fails the test"
)]

use std::fs;
use std::path::{Path, PathBuf};

fn pages() -> Vec<(PathBuf, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut paths: Vec<PathBuf> = ["README.md", "CHANGELOG.md"]
        .map(|name| root.join(name))
        .into();
    paths.extend(
        fs::read_dir(root.join("docs"))
            .unwrap()
            .map(|entry| entry.unwrap().path()),
    );
    paths.retain(|path| path.extension() == Some("md".as_ref()));
    paths
        .into_iter()
        .map(|path| (path.clone(), fs::read_to_string(path).unwrap()))
        .collect()
}

#[test]
fn links_lead_to_files() {
    let mut links = 0;
    for (page, text) in pages() {
        let targets = text
            .split("](")
            .skip(1)
            .filter_map(|rest| Some(rest.split_once(')')?.0));
        for target in targets.filter(|target| !target.starts_with("http")) {
            let path = page
                .parent()
                .unwrap()
                .join(target.split('#').next().unwrap());
            assert!(path.exists(), "{}: {target}", page.display());
            links += 1;
        }
    }
    assert!(links > 10);
}

#[test]
fn tests_that_are_named_exist() {
    let mut named = 0;
    for (page, text) in pages() {
        let code = text
            .lines()
            .flat_map(|line| line.split('`').skip(1).step_by(2));
        for (file, test) in code.filter_map(|code| code.split_once(".rs::")) {
            let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("{file}.rs"));
            let source = fs::read_to_string(&path).unwrap_or_default();
            assert!(
                source.contains(&format!("fn {test}(")),
                "{}: {file}.rs::{test}",
                page.display()
            );
            named += 1;
        }
    }
    assert!(named > 50, "only {named}");
}
