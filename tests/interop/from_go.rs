//! A directory that a Go program wrote, through `bindings/go`: Kafka has in it what the program says.

use std::path::Path;
use std::process::Command;

use crate::kafka::{ensure_kafka_takes_it_as_it_is, ensure_same_dump};
use crate::support::random::Random;
use crate::support::skip::is_skipped;
use crate::support::tree;

/// What a command prints. It must succeed.
fn said(command: &mut Command) -> String {
    let output = command
        .output()
        .unwrap_or_else(|e| panic!("{command:?}: {e}"));
    assert!(
        output.status.success(),
        "{command:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn kafka_has_what_go_wrote() {
    if is_skipped("go") {
        return;
    }
    let mut random = Random::from_env("kafka_has_what_go_wrote");
    let repository = Path::new(env!("CARGO_MANIFEST_DIR"));
    // Where cargo builds the library beside the tests.
    let library = std::env::current_exe().unwrap().with_file_name("libklog.a");
    said(
        Command::new("tests/run/go-lib")
            .arg(library)
            .current_dir(repository),
    );
    let root = tree::scratch();
    let written = said(
        Command::new("go")
            .args(["run", "./internal/writes"])
            .arg(root.path())
            .arg(random.between(0, i64::MAX).to_string())
            .current_dir(repository.join("bindings/go")),
    );

    let text = ensure_same_dump(root.path());
    assert!(text.head.contains(&"clean yes".to_owned()));
    let mut logs = 0;
    for log in written.split("log ").skip(1) {
        let mut lines = log.lines();
        let name = lines.next().unwrap();
        let expected: Vec<&str> = lines.collect();
        assert!(!expected.is_empty(), "{name} is empty");
        assert_eq!(text.log(name).starting("rec"), expected, "{name}");
        logs += 1;
    }
    assert_eq!(logs, text.logs.len());
    assert!(logs >= 18, "only {logs} logs");
    assert!(text.log("rolled-0").segments().len() > 3);
    ensure_kafka_takes_it_as_it_is(root.path());
}
