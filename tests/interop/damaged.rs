//! Random damage to logs of real brokers, of the kinds that Kafka recovers from soundly: klog makes the same of it.
//! Where deviations.md wants another answer nothing is generated, or it is told here what is let pass.

use std::fs;
use std::path::{Path, PathBuf};

use klog::format::legacy::{OldMessage, write_message};
use klog::types::{Offset, TimestampMs};

use crate::kafka::{ensure_same_dump, referee, unlike};
use crate::support::canonical::{LogLines, Text};
use crate::support::command;
use crate::support::engine::{Home, NOW, t0};
use crate::support::fixture::{self, Fixture};
use crate::support::producing::two_aborted;
use crate::support::random::Random;
use crate::support::{raw, tree};

/// Partitions in one directory: a question to Kafka costs more than a partition in it.
const PARTITIONS: usize = 24;
const DIRECTORIES: usize = 8;
/// Logs that are wrecked.
const WRECKS: usize = 250;

/// A partition to be damaged, and what was done to it.
struct Victim {
    name: String,
    dir: PathBuf,
    done: Vec<String>,
    recovery_point: i64,
    log_start: i64,
}

/// Whole logs of all kinds, with producers and transactions.
fn sources() -> Vec<(Fixture, Vec<String>)> {
    let names = [
        "kafka-4.4.0-mixed",
        "kafka-4.4.0-broker",
        "kafka-4.4.0-torn",
        "kafka-legacy",
    ];
    names
        .into_iter()
        .map(|name| {
            let fixture = fixture::extract(name);
            let wanted = |p: &String| {
                let is_whole = name != "kafka-4.4.0-torn" || p.starts_with("t-whole");
                let is_large = ["edge-0", "mix-gaps-0"].contains(&p.as_str());
                is_whole
                    && !is_large
                    && !p.starts_with("__cluster")
                    && !p.ends_with("-delete")
                    && has_data(&fixture, p)
            };
            let partitions = tree::partitions(&fixture.dir)
                .into_iter()
                .filter(wanted)
                .collect();
            (fixture, partitions)
        })
        .collect()
}

fn has_data(fixture: &Fixture, partition: &str) -> bool {
    logs(&fixture.dir.join(partition))
        .iter()
        .any(|(_, path)| fs::metadata(path).unwrap().len() > 0)
}

/// The `.log` files of a partition by base.
fn logs(dir: &Path) -> Vec<(i64, PathBuf)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.extension() == Some("log".as_ref()) {
            found.push((
                path.file_stem().unwrap().to_str().unwrap().parse().unwrap(),
                path,
            ));
        }
    }
    found.sort();
    found
}

fn file(dir: &Path, base: i64, ending: &str) -> PathBuf {
    dir.join(format!("{base:020}.{ending}"))
}

impl Victim {
    /// Something that happens to a log that was not closed in order.
    fn damage(&mut self, random: &mut Random) {
        let logs = logs(&self.dir);
        let (base, path) = random.pick(&logs).clone();
        let mut bytes = fs::read(&path).unwrap();
        let batches = raw::intact(&bytes);
        let what = match random.below(12) {
            0 | 1 if !bytes.is_empty() => {
                let len = random.below(bytes.len() + 1);
                bytes.truncate(len);
                format!("cut {base} to {len}")
            }
            2 if !batches.is_empty() => {
                // Where the checksum tells; not the magic of an old message, or Kafka's dump takes it for a batch of magic 2.
                let batch = random.pick(&batches);
                let from = if batch.magic >= 2 { 21 } else { 17 };
                let at = batch.position as usize + from + random.below(batch.size as usize - from);
                bytes[at] ^= 1 << random.below(8);
                format!("flipped a bit of {base} at {at}")
            }
            3 => {
                let len = random.below(100) + 1;
                bytes.extend(vec![0; len]);
                format!("{len} zeros behind {base}")
            }
            4 => {
                let len = random.below(100) + 1;
                bytes.extend(random.bytes(len));
                format!("{len} random bytes behind {base}")
            }
            5 if !batches.is_empty() && Some(base) == logs.last().map(|(last, _)| *last) => {
                // Of the last segment, which is recovered: else Kafka meets batches that are too short for its own dump.
                let batch = random.pick(&batches);
                let at = batch.position as usize + 8;
                let size = *random.pick(&[0, 13, -1, 14, 48, 49, 1 << 20, i32::MAX]);
                bytes[at..at + 4].copy_from_slice(&size.to_be_bytes());
                format!("size {size} in {base} at {at}")
            }
            6 if logs.len() > 1 => {
                for ending in ["log", "index", "timeindex", "txnindex"] {
                    let _ = fs::remove_file(file(&self.dir, base, ending));
                }
                self.done.push(format!("segment {base} gone"));
                return;
            }
            7 => {
                let _ = fs::remove_file(file(&self.dir, base, "index"));
                format!("no index of {base}")
            }
            8 => {
                let snapshots: Vec<PathBuf> = fs::read_dir(&self.dir)
                    .unwrap()
                    .map(|entry| entry.unwrap().path())
                    .filter(|path| path.extension() == Some("snapshot".as_ref()))
                    .collect();
                for snapshot in snapshots {
                    if random.once_in(2) {
                        let mut content = fs::read(&snapshot).unwrap();
                        let at = random.below(content.len());
                        content[at] ^= 0x10;
                        fs::write(&snapshot, content).unwrap();
                    }
                }
                "damaged snapshots".to_owned()
            }
            9 => {
                self.recovery_point = random.between(0, base + 30);
                format!("recovery point {}", self.recovery_point)
            }
            10 => {
                self.log_start = random.between(0, base + 30);
                format!("log start {}", self.log_start)
            }
            11 => {
                let _ = fs::remove_file(self.dir.join("leader-epoch-checkpoint"));
                "no epochs".to_owned()
            }
            _ => return,
        };
        fs::write(&path, bytes).unwrap();
        self.done.push(what);
    }

    /// Anything that can happen to the files of a log, also what Kafka does not survive.
    fn wreck(&mut self, random: &mut Random) {
        let logs = logs(&self.dir);
        let Some((base, path)) = logs.get(random.below(logs.len().max(1))).cloned() else {
            return;
        };
        let garbage = |random: &mut Random| match random.below(5) {
            0 => Vec::new(),
            1 => vec![0; 24],
            2 => vec![0xff; 34],
            _ => {
                let len = random.below(60) + 1;
                random.bytes(len)
            }
        };
        let mut bytes = fs::read(&path).unwrap();
        match random.below(10) {
            n @ 0..=2 => {
                let ending = ["index", "timeindex", "txnindex"][n];
                let target = file(&self.dir, base, ending);
                let mut content = fs::read(&target).unwrap_or_default();
                if content.is_empty() || random.once_in(2) {
                    content = garbage(random);
                } else {
                    let at = random.below(content.len());
                    content[at] ^= 1 << random.below(8);
                }
                fs::write(target, &content).unwrap();
                self.done.push(format!(
                    "{ending} of {base} is {} bytes, damaged",
                    content.len()
                ));
            }
            3 => {
                let content = *random.pick(&[
                    "",
                    "what",
                    "0\n2\n0 0\n",
                    "1\n0\n",
                    "0\n1\n0 x\n",
                    "\0\0\0\0",
                ]);
                fs::write(self.dir.join("leader-epoch-checkpoint"), content).unwrap();
                self.done.push(format!("epochs {content:?}"));
            }
            4 => {
                let content =
                    *random.pick(&["", "version: 0\n", "\0\0\0\0", "version: 0\ntopic_id: xx\n"]);
                fs::write(self.dir.join("partition.metadata"), content).unwrap();
                self.done.push(format!("metadata {content:?}"));
            }
            5 if bytes.len() > 200 => {
                let at = random.below(bytes.len() - 150);
                let noise = if random.once_in(2) {
                    random.bytes(120)
                } else {
                    vec![0; 120]
                };
                bytes[at..at + 120].copy_from_slice(&noise);
                fs::write(&path, bytes).unwrap();
                self.done
                    .push(format!("120 bytes overwritten in {base} at {at}"));
            }
            6 => {
                if let Some(last) = raw::intact(&bytes).last() {
                    let again = bytes[last.position as usize..last.end() as usize].to_vec();
                    bytes.extend(again);
                    fs::write(&path, bytes).unwrap();
                    self.done.push(format!("the last batch of {base} twice"));
                }
            }
            7 => {
                fs::remove_file(&path).unwrap();
                self.done.push(format!("no log of {base}"));
            }
            8 => {
                let len = if random.once_in(2) {
                    bytes.len()
                } else {
                    random.below(bytes.len() + 1)
                };
                fs::write(file(&self.dir, base, "log.swap"), &bytes[..len]).unwrap();
                self.done.push(format!(
                    "a swap of {base} with {len} of {} bytes",
                    bytes.len()
                ));
            }
            _ => self.damage(random),
        }
    }

    /// Every intact batch below the first damage of each segment must be in klog's text, as long as nothing in front of it
    /// had to be cut. What a swap replaces, or lies below the start, may be gone.
    fn ensure_nothing_intact_is_missing(&self, klog: &LogLines) {
        let has_swap = fs::read_dir(&self.dir)
            .unwrap()
            .any(|entry| entry.unwrap().path().extension() == Some("swap".as_ref()));
        if has_swap {
            return;
        }
        let found = klog.segments();
        for (base, path) in logs(&self.dir) {
            let bytes = fs::read(path).unwrap();
            let intact = raw::intact_from(&bytes, 0, base);
            let end = intact.last().map_or(base, |batch| batch.last + 1);
            let Some(segment) = found.iter().find(|segment| segment.base == base) else {
                assert!(
                    end <= klog.number("start"),
                    "{:?}: segment {base} is gone",
                    self.done
                );
                if intact.last().map_or(0, raw::RawBatch::end) < bytes.len() as u64 {
                    return;
                }
                continue;
            };
            let batches = segment.batches();
            for (good, line) in intact.iter().zip(&batches) {
                let said = (
                    line.number("pos"),
                    line.number("size"),
                    line.number("last"),
                    line.text("crc_ok"),
                );
                let expected = (good.position as i64, good.size as i64, good.last, "1");
                assert_eq!(said, expected, "{:?}: segment {base}", self.done);
            }
            assert!(
                batches.len() >= intact.len(),
                "{:?}: segment {base} lost batches",
                self.done
            );
            if segment.size < bytes.len() as u64 {
                return;
            }
        }
    }

    /// Whether Kafka's answer is one of those that klog does not give: Kafka looks at no index of a flushed segment (D41,
    /// D42), empties a segment whose offsets go back (D44), and recovers a segment without an index ahead of its turn: then
    /// it forgets that bytes were cut there and keeps what lies behind, and counts the epochs from there.
    fn is_tolerated(&self) -> bool {
        let logs = logs(&self.dir);
        let floor = logs
            .iter()
            .rfind(|(base, _)| *base <= self.recovery_point)
            .or(logs.first());
        let has_epochs = self.dir.join("leader-epoch-checkpoint").exists();
        logs.iter().enumerate().any(|(i, (base, path))| {
            let log = fs::read(path).unwrap();
            let index = fs::read(file(&self.dir, *base, "index"));
            if index.is_err() && Some(*base) >= floor.map(|(floor, _)| *floor) {
                let is_whole = raw::intact_from(&log, 0, *base)
                    .last()
                    .map_or(0, raw::RawBatch::end)
                    == log.len() as u64;
                return !has_epochs || !is_whole && i + 1 < logs.len();
            }
            let times = fs::read(file(&self.dir, *base, "timeindex"));
            let are_sane = index
                .map_or(true, |index| raw::is_sane_offset_index(&index, &log, *base))
                && times.is_ok_and(|times| raw::is_sane_time_index(&times, &log, *base));
            *base < self.recovery_point && !are_sane
        })
    }
}

fn write_checkpoint(dir: &Path, name: &str, victims: &[Victim], offset: impl Fn(&Victim) -> i64) {
    let lines: String = victims
        .iter()
        .map(|victim| {
            let (topic, partition) = victim.name.rsplit_once('-').unwrap();
            format!("{topic} {partition} {}\n", offset(victim))
        })
        .collect();
    fs::write(dir.join(name), format!("0\n{}\n{lines}", victims.len())).unwrap();
}

#[test]
fn klog_recovers_random_damage_as_kafka_does() {
    let mut random = Random::from_env("klog_recovers_random_damage_as_kafka_does");
    let sources = sources();
    let (mut compared, mut differ, mut failed) = (0, Vec::new(), Vec::new());
    for _ in 0..DIRECTORIES {
        let root = tree::scratch();
        let mut victims = Vec::new();
        for n in 0..PARTITIONS {
            let (fixture, partitions) = random.pick(&sources);
            let source = random.pick(partitions);
            let name = format!("victim-{n}");
            let dir = root.path().join(&name);
            tree::copy(&fixture.dir.join(source), &dir);
            let logs = logs(&dir);
            let recovery_point = if random.once_in(3) {
                0
            } else {
                random.pick(&logs).0
            };
            let done = vec![format!("{source}, recovery point {recovery_point}")];
            let mut victim = Victim {
                name,
                dir,
                done,
                recovery_point,
                log_start: 0,
            };
            for _ in 0..=random.below(3) {
                victim.damage(&mut random);
            }
            victims.push(victim);
        }
        write_checkpoint(
            root.path(),
            "recovery-point-offset-checkpoint",
            &victims,
            |v| v.recovery_point,
        );
        write_checkpoint(root.path(), "log-start-offset-checkpoint", &victims, |v| {
            v.log_start
        });
        let kafka = Text::parse(&referee().dump(root.path()));
        let run = command::klog(["dump", root.path().to_str().unwrap()]);
        let klog = Text::parse(&run.stdout);
        assert_eq!(klog.head, kafka.head);
        for victim in &victims {
            let (by_kafka, by_klog) = (kafka.log(&victim.name), klog.log(&victim.name));
            if by_klog.is_error() {
                let said = run
                    .stderr
                    .lines()
                    .filter(|line| line.contains(&format!(" {}: ", victim.name)));
                let said: Vec<&str> = said.filter(|line| line.contains("failed")).collect();
                failed.push(format!(
                    "{:?} Kafka: {}, klog: {said:?}\n",
                    victim.done, by_kafka.0[0]
                ));
                continue;
            }
            if victim.is_tolerated() || by_kafka.is_error() {
                continue;
            }
            compared += 1;
            differ
                .extend(unlike(by_kafka, by_klog).map(|text| format!("{:?}\n{text}", victim.done)));
        }
        // Whatever it was, what klog makes of it Kafka loads, and finds the same in it.
        command::recover(root.path());
        ensure_same_dump(root.path());
    }
    assert!(failed.is_empty(), "klog did not load\n{}", failed.concat());
    assert!(
        differ.is_empty(),
        "expected is Kafka's, found is klog's\n{}",
        differ.concat()
    );
    assert!(compared > PARTITIONS * DIRECTORIES / 2, "only {compared}");
}

/// Whatever is broken, closed in order or not: klog opens the log, has all that is intact, and leaves what Kafka loads.
#[test]
fn any_damage_is_opened_with_what_is_intact_and_left_so_that_kafka_takes_it() {
    let mut random = Random::from_env(
        "any_damage_is_opened_with_what_is_intact_and_left_so_that_kafka_takes_it",
    );
    let sources = sources();
    for _ in 0..WRECKS {
        let root = tree::scratch();
        let (fixture, partitions) = random.pick(&sources);
        let source = random.pick(partitions);
        let name = "victim-0".to_owned();
        let dir = root.path().join(&name);
        tree::copy(&fixture.dir.join(source), &dir);
        let recovery_point = random.pick(&logs(&dir)).0;
        let clean = random.once_in(2);
        if clean {
            fs::write(root.path().join(".kafka_cleanshutdown"), "").unwrap();
        }
        let done = vec![format!(
            "{source}, recovery point {recovery_point}, clean {clean}"
        )];
        let mut victim = Victim {
            name,
            dir,
            done,
            recovery_point,
            log_start: 0,
        };
        for _ in 0..=random.below(3) {
            victim.wreck(&mut random);
        }
        let victims = [victim];
        write_checkpoint(
            root.path(),
            "recovery-point-offset-checkpoint",
            &victims,
            |v| v.recovery_point,
        );
        write_checkpoint(root.path(), "log-start-offset-checkpoint", &victims, |v| {
            v.log_start
        });
        let victim = &victims[0];
        let run = command::klog(["dump", root.path().to_str().unwrap()]);
        assert_eq!(run.code, 0, "{:?}: {}", victim.done, run.stderr);
        let text = Text::parse(&run.stdout);
        let klog = text.log("victim-0");
        assert!(!klog.is_error(), "{:?}: {}", victim.done, run.stderr);
        victim.ensure_nothing_intact_is_missing(klog);

        command::recover(root.path());
        let again = Text::parse(&command::dump(root.path()));
        let kafka = referee().call(&["dump", root.path().to_str().unwrap()]);
        match kafka {
            Ok(kafka) => {
                let kafka = Text::parse(&kafka);
                let (by_kafka, by_klog) = (kafka.log("victim-0"), again.log("victim-0"));
                // Below the recovery point damage stays where it is, and with it Kafka's trouble: it reads there when it loads
                // a log with an open transaction.
                let holds_damage = by_klog.0.iter().any(|line| line.contains("crc_ok=0"));
                if by_kafka.is_error() && holds_damage {
                    continue;
                }
                let differs = unlike(by_kafka, by_klog);
                assert_eq!(
                    differs,
                    None,
                    "{:?}: {}",
                    victim.done,
                    differs.as_deref().unwrap_or_default()
                );
            }
            // Kafka's dump does not read batches that are shorter than their header; its log does not look at them.
            Err(error) => assert!(
                error.contains("batch at position"),
                "{:?}: {error}",
                victim.done
            ),
        }
    }
}

/// A message of magic 1, or of a magic that nobody writes.
fn message(offset: i64, magic: i8) -> Vec<u8> {
    let mut bytes = Vec::new();
    let message = OldMessage {
        offset: Offset(offset),
        timestamp: TimestampMs(NOW + offset),
        key: Some(b"key"),
        value: Some(b"value"),
    };
    write_message(&mut bytes, 1, 0, &message);
    bytes[16] = magic.cast_unsigned();
    bytes
}

#[test]
fn a_magic_below_0_is_read_as_magic_1() {
    let home = Home::new();
    let manager = home.open();
    t0(&manager);
    manager.close().unwrap();
    home.write(
        "0.log",
        [message(0, 1), message(1, 1), message(2, 1), message(3, 1)].concat(),
    );
    home.write("4.log", message(4, 1));
    home.open_unclean(0).close().unwrap();
    // Below the recovery point, where nobody looks at checksums: one is right, one is not.
    let mut right = message(1, -19);
    let crc = crc32fast::hash(&right[16..]);
    right[12..16].copy_from_slice(&crc.to_be_bytes());
    home.write(
        "0.log",
        [message(0, 1), right, message(2, -1), message(3, 1)].concat(),
    );
    home.forget_marker();
    home.checkpoint("recovery-point-offset-checkpoint", 4);
    let text = ensure_same_dump(&home.dir);
    assert_eq!(
        text.log("t-0").starting("rec").len(),
        4,
        "{:?}",
        text.log("t-0")
    );
    assert!(
        text.log("t-0")
            .0
            .iter()
            .any(|line| line.contains("magic=-19"))
    );
}

/// A difference (docs/compatibility.md): Kafka goes by what such an index says, klog by the log.
#[test]
fn kafka_takes_a_transaction_index_whose_markers_do_not_rise() {
    let home = Home::new();
    let manager = home.open();
    let log = t0(&manager);
    two_aborted(&log);
    manager.close().unwrap();
    let (kafka, klog) = (
        || Text::parse(&referee().dump(&home.dir)),
        || Text::parse(&command::dump(&home.dir)),
    );
    let aborted = |text: Text| -> Vec<String> {
        let lines = text.log("t-0").starting("aborted");
        lines.into_iter().map(str::to_owned).collect()
    };
    let good = aborted(kafka());
    assert_eq!((good.len(), &good), (2, &aborted(klog())));
    let content = home.read("0.txnindex");
    let (first, second) = content.split_at(34);
    home.write("0.txnindex", [second, first].concat());
    assert_eq!(aborted(kafka()), [good[1].clone(), good[0].clone()]);
    assert_eq!(aborted(klog()), good);
}
