//! `klog verify` finds what is damaged and nothing else; `klog repair` does what recovery does and keeps what it cuts.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    clippy::cast_possible_truncation,
    reason = "a failure fails the test"
)]

mod support;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use support::canonical::Text;
use support::command::{self, Run, klog, klog_in_64_mib};
use support::engine::{Home, fill, t0};
use support::fixture::{self, damage_of};
use support::random::Random;
use support::tree;

const GOOD: [&str; 5] = [
    "kafka-3.9.1-clean",
    "kafka-4.4.0-broker",
    "kafka-4.4.0-crash",
    "kafka-4.4.0-mixed",
    "kafka-legacy",
];
const TORN: [&str; 3] = [
    "kafka-4.4.0-torn",
    "kafka-4.4.0-torn-clean",
    "kafka-4.4.0-torn-checkpoint",
];

fn verify(dir: &Path) -> (Run, Value) {
    let run = klog(["verify", "--json", dir.to_str().unwrap()]);
    let value = serde_json::from_str(&run.stdout).unwrap();
    (run, value)
}

/// Every flaw as a line.
fn flaws(dir: &Path) -> BTreeSet<String> {
    let (run, value) = verify(dir);
    let flaws: BTreeSet<String> = value["flaws"]
        .as_array()
        .unwrap()
        .iter()
        .map(|flaw| {
            let path = flaw["file"].as_str().unwrap();
            let inside = Path::new(path).strip_prefix(dir).unwrap();
            let (severity, position) = (&flaw["severity"], &flaw["position"]);
            format!(
                "{} {severity} {position} {}",
                inside.display(),
                flaw["what"]
            )
        })
        .collect();
    let is_damaged = value["damaged"].as_bool().unwrap();
    assert_eq!(run.code, i32::from(is_damaged), "{}", run.stderr);
    flaws
}

#[test]
fn nothing_is_damaged_in_good_directories() {
    for name in GOOD {
        let fixture = fixture::extract(name);
        let before = (tree::content(&fixture.dir), tree::times(&fixture.dir));
        let (run, value) = verify(&fixture.dir);
        assert_eq!(run.code, 0, "{name}: {}", run.stdout);
        assert_eq!(value["damaged"], false);
        assert!(
            value["looked_at"]["records"].as_u64().unwrap() > 2000,
            "{value}"
        );
        let after = (tree::content(&fixture.dir), tree::times(&fixture.dir));
        assert!(before == after, "{name} was written to");
        let plan = klog(["repair", fixture.dir.to_str().unwrap()]);
        assert!(
            plan.stdout.ends_with("nothing to repair\n"),
            "{}",
            plan.stdout
        );
    }
}

#[test]
fn every_damage_of_the_torn_directories_is_found() {
    // What is no damage: whole logs, other checkpoints that are possible, and what only a load of a clean directory passes over.
    let fine = |name: &str, archive: &str| {
        name.starts_with("whole")
            || ["rp-inside", "rp-none", "start-at-end", "start-inside"].contains(&name)
            || (name == "snapshot-last-missing" && archive.ends_with("clean"))
    };
    for archive in &TORN[..2] {
        let fixture = fixture::extract(archive);
        let found = flaws(&fixture.dir);
        let mut missed = Vec::new();
        let mut count = 0;
        for partition in tree::partitions(&fixture.dir) {
            let Some(name) = damage_of(&partition) else {
                continue;
            };
            count += 1;
            let mine = |line: &&String| {
                line.starts_with(&format!("{partition}/"))
                    || line.contains(&format!("{partition} "))
            };
            let is_found = found.iter().any(|line| mine(&line));
            let is_damage = found
                .iter()
                .any(|line| mine(&line) && line.contains("\"damage\""));
            if !is_found && !fine(name, archive) {
                missed.push(partition.clone());
            }
            assert!(
                !(is_damage && fine(name, archive)),
                "{archive} {partition}: {found:#?}"
            );
        }
        assert!(count > 100, "{count} damages");
        assert!(missed.is_empty(), "{archive}: {missed:?}");
    }
    let fixture = fixture::extract(TORN[2]);
    let found = flaws(&fixture.dir);
    let damages = || found.iter().filter(|line| line.contains("\"damage\""));
    assert!(
        damages().any(|line| line.starts_with("recovery-point")),
        "{found:#?}"
    );
    assert!(
        damages().any(|line| line.contains("t-b-flushed-damage-0")),
        "{found:#?}"
    );
    assert_eq!(damages().count(), 2, "{found:#?}");
}

/// The files of a directory with this ending that are not empty.
fn files(dir: &Path, ending: &str) -> Vec<PathBuf> {
    tree::content(dir)
        .into_keys()
        .filter(|path| path.to_str().unwrap().ends_with(ending))
        .filter(|path| {
            !path.starts_with("__cluster_metadata-0")
                && !path.to_str().unwrap().contains("-delete/")
        })
        .filter(|path| fs::metadata(dir.join(path)).unwrap().len() > 0)
        .collect()
}

/// Damages a directory; says how.
fn mutate(dir: &Path, random: &mut Random) -> Option<String> {
    let pick = |random: &mut Random, list: &[PathBuf]| -> Option<PathBuf> {
        (!list.is_empty()).then(|| random.pick(list).clone())
    };
    let flip = |random: &mut Random, ending: &str| {
        let path = pick(random, &files(dir, ending))?;
        let mut bytes = fs::read(dir.join(&path)).unwrap();
        let at = random.below(bytes.len());
        bytes[at] ^= 1 << random.below(8);
        fs::write(dir.join(&path), bytes).unwrap();
        Some(format!("a bit at {at} of {}", path.display()))
    };
    let kind = random.below(12);
    match kind {
        0..=2 => flip(random, ".log"),
        3 => flip(random, ".index"),
        4 => flip(random, ".timeindex"),
        5 => flip(random, ".txnindex"),
        6 => flip(random, ".snapshot"),
        7 => {
            let path = pick(random, &files(dir, ".log"))?;
            let mut bytes = fs::read(dir.join(&path)).unwrap();
            let len = 1 + random.below(100);
            bytes.extend(random.bytes(len));
            fs::write(dir.join(&path), bytes).unwrap();
            Some(format!("garbage behind {}", path.display()))
        }
        8 => {
            let path = pick(random, &files(dir, ".log"))?;
            let mut bytes = fs::read(dir.join(&path)).unwrap();
            let at = random.below(bytes.len());
            let end = (at + 1 + random.below(600)).min(bytes.len());
            if bytes[at..end].iter().all(|b| *b == 0) {
                return None;
            }
            bytes[at..end].fill(0);
            fs::write(dir.join(&path), bytes).unwrap();
            Some(format!("zeros at {at}..{end} of {}", path.display()))
        }
        9 => {
            let path = pick(random, &files(dir, ".log"))?;
            let mut bytes = fs::read(dir.join(&path)).unwrap();
            bytes.pop();
            bytes.truncate(bytes.len() - random.below(20));
            fs::write(dir.join(&path), bytes).unwrap();
            Some(format!("{} ends early", path.display()))
        }
        10 => {
            let names = [
                "leader-epoch-checkpoint",
                "partition.metadata",
                "recovery-point-offset-checkpoint",
                "meta.properties",
            ];
            let name = names[random.below(names.len())];
            let path = pick(random, &files(dir, name))?;
            fs::write(dir.join(&path), "version=9\n").unwrap();
            Some(format!("another text in {}", path.display()))
        }
        _ => {
            let path = pick(random, &files(dir, ".log"))?;
            fs::remove_file(dir.join(&path)).unwrap();
            Some(format!("{} is gone", path.display()))
        }
    }
}

#[test]
fn each_of_200_seeded_mutations_of_good_directories_is_found() {
    let goods: Vec<_> = GOOD
        .iter()
        .filter(|name| !name.contains("crash"))
        .map(|name| fixture::extract(name))
        .collect();
    let known: Vec<_> = goods.iter().map(|good| flaws(&good.dir)).collect();
    let mut seeds = Random::from_env("mutations");
    let mut missed = Vec::new();
    let mut done = 0;
    while done < 200 {
        let seed = seeds.u64();
        let mut random = Random::new(seed);
        let which = random.below(goods.len());
        let copy = tree::scratch();
        let dir = copy.path().join("logs");
        tree::copy(&goods[which].dir, &dir);
        let Some(what) = mutate(&dir, &mut random) else {
            continue;
        };
        done += 1;
        if flaws(&dir).is_subset(&known[which]) {
            missed.push(format!("{seed} {}: {what}", goods[which].dir.display()));
        }
    }
    assert!(missed.is_empty(), "{missed:#?}");
}

/// What a repair says and leaves.
fn repair(dir: &Path, quarantine: &Path) -> Run {
    klog([
        "repair".as_ref(),
        "--apply".as_ref(),
        "--quarantine".as_ref(),
        quarantine.as_os_str(),
        dir.as_os_str(),
    ])
}

#[test]
fn repair_keeps_every_byte_that_it_cuts_and_mends_what_a_recovery_can() {
    for archive in TORN {
        let fixture = fixture::extract(archive);
        let before = tree::content(&fixture.dir);
        let dir = fixture.dir.to_str().unwrap();
        let plan = klog(["repair", dir]);
        assert_eq!(plan.code, 0, "{}", plan.stderr);
        assert_eq!(
            tree::differences(&before, &tree::content(&fixture.dir)),
            [""; 0]
        );
        let quarantine = fixture.dir.with_extension("kept");
        let done = repair(&fixture.dir, &quarantine);
        assert!(
            done.stdout.contains("quarantine "),
            "{}{}",
            done.stdout,
            done.stderr
        );
        let after = tree::content(&fixture.dir);
        let kept = tree::content(&quarantine);
        let mut cut = 0;
        for (path, bytes) in &before {
            // A name that is gone, or another content: the old one is in the quarantine, whole or its end.
            let now = after.get(path);
            if now == Some(bytes) {
                continue;
            }
            let name = path.to_str().unwrap();
            let is_marker = name.ends_with(".kafka_cleanshutdown") || name == ".lock";
            let Some(bytes) = bytes else { continue };
            if let Some(whole) = kept.get(path) {
                assert_eq!(whole.as_ref(), Some(bytes), "{archive} {name}");
            } else if let Some(from) = kept.keys().find_map(|piece| {
                let rest = piece.to_str()?.strip_prefix(name)?.strip_prefix(".from-")?;
                rest.parse::<usize>().ok()
            }) {
                let piece = &kept[Path::new(&format!("{name}.from-{from}"))];
                assert_eq!(piece.as_deref(), Some(&bytes[from..]), "{archive} {name}");
                let now = now.unwrap().as_ref().unwrap();
                assert_eq!(now, &bytes[..from], "{archive} {name}");
            } else {
                assert!(
                    is_marker || bytes.is_empty(),
                    "{archive}: {name} was changed and is not kept"
                );
            }
            cut += 1;
        }
        assert!(cut > 3, "{archive}: {cut} files");
        assert!(
            after
                .keys()
                .any(|path| path.ends_with(".kafka_cleanshutdown"))
        );
        // What is left are records that are gone, which nothing brings back.
        let left: Vec<String> = flaws(&fixture.dir)
            .into_iter()
            .filter(|line| line.contains("\"damage\"") && !line.contains("are missing"))
            .collect();
        assert_eq!(left, [""; 0], "{archive}");
        let again = klog(["dump", dir]);
        assert_eq!(again.code, 0);
        assert!(!again.stdout.contains(" error\n"));
    }
}

/// Bytes that no checksum covers, and a segment that another replaced: no recovery mends those.
#[test]
fn a_repair_sets_right_what_the_rest_of_a_log_tells() {
    let records = |dir: &Path, partition: &str| {
        let run = klog(["cat", dir.to_str().unwrap(), partition]);
        assert_eq!(run.code, 0, "{partition}: {}", run.stderr);
        run.stdout
    };
    for archive in &TORN[..2] {
        let fixture = fixture::extract(archive);
        let before = Text::parse(&command::dump(&fixture.dir));
        repair(&fixture.dir, &fixture.dir.with_extension("kept"));
        let after = Text::parse(&command::dump(&fixture.dir));
        for damage in ["magic-3", "leader-epoch-flip"] {
            let partition = format!("t-{damage}-0");
            let (before, after) = (before.log(&partition), after.log(&partition));
            assert_eq!(before.field("end"), after.field("end"));
            let batches = after.starting("batch");
            assert_eq!(before.starting("batch").len(), batches.len());
            assert!(batches.iter().all(|line| line.contains(" magic=2 ")));
            let epochs = after.starting("epoch");
            assert!(epochs.iter().all(|line| !line.starts_with("epoch 45 ")));
            records(&fixture.dir, &partition);
        }
        let twice = records(&fixture.dir, "t-stray-swap-half-old-there-0");
        let offsets: Vec<i64> = twice
            .lines()
            .map(|line| line.split('\t').next().unwrap().parse().unwrap())
            .collect();
        assert!(offsets.is_sorted_by(|a, b| a < b), "{offsets:?}");
    }
}

#[test]
fn a_repair_gives_a_batch_between_others_its_offsets_back() {
    let home = Home::new().set("internal.segment.bytes", 1000);
    let manager = home.open();
    fill(&t0(&manager), 40);
    manager.close().unwrap();
    let expected = klog(["cat", home.dir.to_str().unwrap(), "t-0"]).stdout;
    assert!(expected.lines().count() >= 40 && home.sizes(".log").len() > 2);
    let name = format!("{}.log", home.sizes(".log")[1].0);
    // The first batch of a segment, and others inside of it.
    let batch_bytes = 74;
    assert_eq!(home.sizes(".log")[1].1 % batch_bytes as u64, 0);
    for (batch, byte) in [(0, 0), (3, 7), (5, 2)] {
        let damaged = home.copied();
        damaged.flip(&name, batch * batch_bytes + byte);
        assert_eq!(verify(&damaged.dir).0.code, 1);
        let done = repair(&damaged.dir, &damaged.dir.with_extension("kept"));
        assert_eq!(done.code, 0, "{batch} {byte}: {}", done.stdout);
        let now = klog(["cat", damaged.dir.to_str().unwrap(), "t-0"]).stdout;
        assert_eq!(now, expected, "{batch} {byte}");
    }
}

#[test]
fn a_repair_refuses_places_where_its_quarantine_would_do_harm() {
    let home = Home::new();
    let manager = home.open();
    fill(&t0(&manager), 3);
    manager.close().unwrap();
    home.extend("0.log", b"garbage");
    let inside = repair(&home.dir, &home.dir.join("kept"));
    assert_eq!(inside.code, 1);
    assert!(
        inside.stderr.contains("inside of the log directory"),
        "{}",
        inside.stderr
    );
    let there = repair(&home.dir, home.dir.parent().unwrap());
    assert!(
        there.stderr.contains("is there already"),
        "{}",
        there.stderr
    );
    assert!(home.is_clean(), "a refused repair changed something");
    let owner = home.open();
    let in_use = repair(&home.dir, &home.dir.with_extension("kept"));
    assert!(in_use.stderr.contains("DIR_LOCKED"), "{}", in_use.stderr);
    owner.close().unwrap();
}

#[test]
fn verify_takes_little_memory_for_hostile_files() {
    let home = Home::new();
    let manager = home.open();
    fill(&t0(&manager), 3);
    manager.close().unwrap();
    for (name, len) in [
        ("0.index", 10_u64 << 30),
        ("0.timeindex", 10 << 30),
        ("0.txnindex", 10 << 30),
        ("9.snapshot", 10 << 30),
        ("9.log", 10 << 30),
        ("leader-epoch-checkpoint", 10 << 30),
    ] {
        let file = fs::File::options()
            .create(true)
            .write(true)
            .truncate(false)
            .open(home.path(name))
            .unwrap();
        file.set_len(len).unwrap();
    }
    let output = klog_in_64_mib(["verify".as_ref(), home.dir.as_os_str()]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
}
