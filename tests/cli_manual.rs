//! The manual and the completions of the `klog` command, which are made from the same definitions as the command itself.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a failure fails the test"
)]

mod support;

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Output};

use support::command::{binary, klog};
use support::tree;

/// The commands that `klog --help` lists.
fn commands() -> Vec<String> {
    let help = klog(["--help"]).stdout;
    let names: Vec<String> = help
        .lines()
        .skip_while(|line| !line.starts_with("Commands:"))
        .skip(1)
        .take_while(|line| line.starts_with("  "))
        // The rest of a long description stands further in.
        .filter(|line| !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| *name != "help")
        .map(str::to_owned)
        .collect();
    assert!(names.len() > 15, "{help}");
    names
}

/// A page as a reader sees it; what man has to say against it fails the test.
fn formatted(page: &Path) -> String {
    let Output {
        status,
        stdout,
        stderr,
    } = Command::new("man")
        .args(["--warnings", "-l"])
        .arg(page)
        .env("MANWIDTH", "100")
        .env("LC_ALL", "C")
        .output()
        .unwrap_or_else(|e| panic!("man: {e}; `make test` installs what it needs"));
    let complaints = String::from_utf8_lossy(&stderr);
    assert!(
        status.success() && complaints.is_empty(),
        "{}: {complaints}",
        page.display()
    );
    String::from_utf8(stdout).unwrap()
}

fn squeezed(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Every option and every example of a command's help is in its page, and man finds nothing wrong with any page.
#[test]
fn each_command_has_a_page_with_all_that_its_help_says() {
    let root = tree::scratch();
    let dir = root.path().join("deep/man1");
    assert_eq!(klog(["man", "--out", dir.to_str().unwrap()]).code, 0);
    let whole = formatted(&dir.join("klog.1"));
    for heading in [
        "NAME",
        "SYNOPSIS",
        "DESCRIPTION",
        "COMMANDS",
        "OPTIONS",
        "EXIT STATUS",
        "EXAMPLES",
        "SEE ALSO",
    ] {
        assert!(
            whole.lines().any(|line| line == heading),
            "{heading}: {whole}"
        );
    }
    let mut files = BTreeSet::from(["klog.1".to_owned()]);
    for name in commands() {
        assert!(whole.contains(&format!("klog-{name}(1)")), "{name}");
        let file = format!("klog-{name}.1");
        let page = formatted(&dir.join(&file));
        let help = klog([&name, "--help"]).stdout;
        let mut options = 0;
        for word in help.split_whitespace() {
            let Some(option) = word.strip_prefix("--") else {
                continue;
            };
            let option = option.split(['=', ',']).next().unwrap();
            assert!(
                page.contains(&format!("--{option}")),
                "--{option} of {name}: {page}"
            );
            options += 1;
        }
        assert!(options > 0, "{help}");
        let (_, examples) = help
            .split_once("Examples:")
            .unwrap_or_else(|| panic!("{name} has no example: {help}"));
        for line in examples
            .lines()
            .map(str::trim)
            .filter(|line| !line.is_empty())
        {
            assert!(
                squeezed(&page).contains(&squeezed(line)),
                "{name}: {line}: {page}"
            );
            assert!(line.contains(&format!("klog {name}")), "{name}: {line}");
        }
        let printed = klog(["man", &name]);
        assert_eq!(
            printed.stdout,
            std::fs::read_to_string(dir.join(&file)).unwrap()
        );
        files.insert(file);
    }
    let written: BTreeSet<String> = std::fs::read_dir(&dir)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert_eq!(written, files);
    assert_eq!(
        klog(["man"]).stdout,
        std::fs::read_to_string(dir.join("klog.1")).unwrap()
    );
    let unknown = klog(["man", "frob"]);
    assert_eq!((unknown.code, unknown.stdout.as_str()), (2, ""));
    assert!(unknown.stderr.contains("frob"), "{}", unknown.stderr);
}

/// The table of questions knows every command.
#[test]
fn every_command_answers_a_question_of_the_table() {
    let table = include_str!("../docs/cli.md");
    for name in commands() {
        assert!(
            table.contains(&format!("klog {name} ")) || table.contains(&format!("klog {name}`")),
            "{name}"
        );
    }
}

/// What bash offers when the tab key is pressed behind these words.
fn completed(words: &[&str]) -> BTreeSet<String> {
    const SCRIPT: &str = r#"
        source <("$0" completions bash)
        handler=$(complete -p klog | sed 's/.*-F \([^ ]*\) .*/\1/')
        COMP_WORDS=("$@")
        COMP_CWORD=$(($# - 1))
        "$handler" klog "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
        printf '%s\n' "${COMPREPLY[@]}"
    "#;
    let Output {
        status,
        stdout,
        stderr,
    } = Command::new("bash")
        .args(["-c", SCRIPT, binary()])
        .args(words)
        .output()
        .unwrap();
    assert!(
        status.success() && stderr.is_empty(),
        "{}",
        String::from_utf8_lossy(&stderr)
    );
    String::from_utf8(stdout)
        .unwrap()
        .lines()
        .map(str::to_owned)
        .collect()
}

#[test]
fn bash_completes_commands_options_and_values() {
    let set = |words: &[&str]| {
        words
            .iter()
            .map(|word| (*word).to_owned())
            .collect::<BTreeSet<_>>()
    };
    assert_eq!(
        completed(&["klog", "re"]),
        set(&["recover", "repair", "report", "retain"])
    );
    assert_eq!(completed(&["klog", "stat", "--js"]), set(&["--json"]));
    assert_eq!(
        completed(&["klog", "report", "--"]),
        set(&[
            "--config",
            "--properties",
            "--output",
            "--verify",
            "--now-ms",
            "--help"
        ])
    );
    assert_eq!(
        completed(&["klog", "cat", "--format", ""]),
        set(&["text", "json", "raw"])
    );
    assert_eq!(
        completed(&["klog", "dump-log", "--print"]),
        set(&["--print-data-log"])
    );
    assert!(completed(&["klog", "completions", ""]).is_superset(&set(&["bash", "fish", "zsh"])));
    let all: BTreeSet<String> = commands().into_iter().chain(["help".to_owned()]).collect();
    let offered: BTreeSet<String> = completed(&["klog", ""])
        .into_iter()
        .filter(|word| !word.starts_with('-'))
        .collect();
    assert_eq!(offered, all);
}

/// Other shells read their scripts too, where they are installed.
#[test]
fn each_shell_takes_its_script() {
    let root = tree::scratch();
    for shell in ["bash", "zsh", "fish"] {
        let script = klog(["completions", shell]);
        assert_eq!(script.code, 0);
        assert!(script.stdout.contains("transactions"), "{shell}");
        let path = root.path().join(shell);
        std::fs::write(&path, script.stdout).unwrap();
        match Command::new(shell).arg("-n").arg(&path).output() {
            Err(_) if shell != "bash" => eprintln!("{shell} is not installed"),
            output => {
                let Output { status, stderr, .. } = output.unwrap();
                assert!(
                    status.success() && stderr.is_empty(),
                    "{}",
                    String::from_utf8_lossy(&stderr)
                );
            }
        }
    }
}
