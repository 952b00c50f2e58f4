//! Kafka's segment dump tool, which reads files with other code than its log does, over what klog closed.

use std::fs;
use std::path::PathBuf;

use crate::kafka::referee;
use crate::support::canonical::Text;
use crate::support::command;
use crate::support::random::Random;
use crate::support::tree;
use crate::written::{home_at, write_all_kinds};

#[test]
fn the_dump_tool_finds_every_record_and_no_mismatch() {
    let mut random = Random::from_env("the_dump_tool_finds_every_record_and_no_mismatch");
    let root = tree::scratch();
    let home = home_at(root.path());
    let manager = home.open();
    write_all_kinds(&home, &manager, &mut random);
    manager.close().unwrap();

    let text = Text::parse(&command::dump(root.path()));
    let (mut indexes, mut records) = (0, 0);
    for (partition, log) in &text.logs {
        for segment in log.segments() {
            let file = |ending: &str| {
                root.path()
                    .join(partition)
                    .join(format!("{:020}.{ending}", segment.base))
            };
            let files: Vec<PathBuf> = ["log", "index", "timeindex"].map(file).to_vec();
            // The tool cannot read an index without entries.
            let files: Vec<&PathBuf> = files
                .iter()
                .filter(|file| fs::metadata(file).is_ok_and(|meta| meta.len() > 0))
                .collect();
            if files.is_empty() {
                continue;
            }
            let list: Vec<&str> = files.iter().map(|file| file.to_str().unwrap()).collect();
            let said = referee().line(&["dumplog", &list.join(",")]);
            // Records may hold anything; the tool takes a segment that does not begin at 0 for one after offset -1.
            let begins = format!("  -1 is followed by {}", segment.base);
            let mut remarks = said
                .lines()
                .filter(|line| !line.starts_with("| "))
                .collect::<Vec<_>>();
            if let Some(at) = remarks.iter().position(|line| *line == begins) {
                remarks.drain(at - 1..=at);
            }
            for bad in [
                "ismatch",
                "failed",
                "Non-",
                "out-of-order",
                "Indexed offset",
                "isvalid: false",
                "Found ",
            ] {
                let found = remarks.iter().find(|line| line.contains(bad));
                assert_eq!(found, None, "{partition} segment {}", segment.base);
            }
            let found = said
                .lines()
                .filter(|line| line.starts_with("| offset: "))
                .count();
            let expected = segment
                .content
                .iter()
                .filter(|line| line.starts_with("rec "))
                .count();
            assert_eq!(found, expected, "{partition} segment {}", segment.base);
            let passed = said
                .lines()
                .filter(|line| line.ends_with("passed sanity check."))
                .count();
            let index_files = files
                .iter()
                .filter(|file| file.extension() != Some("log".as_ref()))
                .count();
            assert_eq!(passed, index_files, "{partition} segment {}", segment.base);
            indexes += index_files;
            records += found;
        }
    }
    assert!(
        indexes > 50 && records > 1000,
        "{indexes} indexes, {records} records"
    );
}

#[test]
fn the_dump_tool_would_find_a_mismatch() {
    let fixture = crate::support::fixture::extract("kafka-4.4.0-torn");
    let dir = fixture.dir.join("t-old-timeindex-wrong-0");
    let file = |ending: &str| dir.join(format!("{:020}.{ending}", 0));
    let list = format!("{},{}", file("log").display(), file("timeindex").display());
    let said = referee()
        .call(&["dumplog", &list])
        .unwrap_or_else(|error| error);
    assert!(
        said.contains("ismatch") || said.contains("Found "),
        "{said}"
    );
}
