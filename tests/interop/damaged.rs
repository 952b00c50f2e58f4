//! Random damage to logs of real brokers, of the kinds that Kafka recovers from soundly: klog makes the same of it.
//! Where deviations.md wants another answer nothing is generated, or it is told here what is let pass.

use std::fs;
use std::path::{Path, PathBuf};

use crate::kafka::{ensure_same_dump, referee, unlike};
use crate::support::canonical::Text;
use crate::support::command;
use crate::support::fixture::{self, Fixture};
use crate::support::random::Random;
use crate::support::{raw, tree};

/// Partitions in one directory: a question to Kafka costs more than a partition in it.
const PARTITIONS: usize = 24;
const DIRECTORIES: usize = 8;

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
    let names = ["kafka-4.4.0-mixed", "kafka-4.4.0-broker", "kafka-4.4.0-torn", "kafka-legacy"];
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
            let partitions = tree::partitions(&fixture.dir).into_iter().filter(wanted).collect();
            (fixture, partitions)
        })
        .collect()
}

fn has_data(fixture: &Fixture, partition: &str) -> bool {
    logs(&fixture.dir.join(partition)).iter().any(|(_, path)| fs::metadata(path).unwrap().len() > 0)
}

/// The `.log` files of a partition by base.
fn logs(dir: &Path) -> Vec<(i64, PathBuf)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.extension() == Some("log".as_ref()) {
            found.push((path.file_stem().unwrap().to_str().unwrap().parse().unwrap(), path));
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

    /// Whether Kafka's answer is one of those that klog does not give: it looks at no index of a flushed segment (D41,
    /// D42), and empties a segment whose offsets go back (D44).
    fn is_tolerated(&self) -> bool {
        let mut next = i64::MIN;
        for (base, path) in logs(&self.dir) {
            let log = fs::read(path).unwrap();
            let read = |ending: &str| fs::read(file(&self.dir, base, ending));
            let is_flushed = base < self.recovery_point;
            let offsets_are_sane =
                read("index").map_or(true, |index| raw::is_sane_offset_index(&index, &log, base));
            let times_are_sane =
                read("timeindex").is_ok_and(|index| raw::is_sane_time_index(&index, &log, base));
            if is_flushed && !(offsets_are_sane && times_are_sane) {
                return true;
            }
            next = next.max(base);
        }
        false
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
            let recovery_point = if random.once_in(3) { 0 } else { random.pick(&logs).0 };
            let done = vec![format!("{source}, recovery point {recovery_point}")];
            let mut victim = Victim { name, dir, done, recovery_point, log_start: 0 };
            for _ in 0..=random.below(3) {
                victim.damage(&mut random);
            }
            victims.push(victim);
        }
        write_checkpoint(root.path(), "recovery-point-offset-checkpoint", &victims, |v| v.recovery_point);
        write_checkpoint(root.path(), "log-start-offset-checkpoint", &victims, |v| v.log_start);
        let kafka = Text::parse(&referee().dump(root.path()));
        let run = command::klog(["dump", root.path().to_str().unwrap()]);
        let klog = Text::parse(&run.stdout);
        assert_eq!(klog.head, kafka.head);
        for victim in &victims {
            let (by_kafka, by_klog) = (kafka.log(&victim.name), klog.log(&victim.name));
            if by_klog.is_error() {
                let said = run.stderr.lines().filter(|line| line.contains(&format!(" {}: ", victim.name)));
                let said: Vec<&str> = said.filter(|line| line.contains("failed")).collect();
                failed.push(format!("{:?} Kafka: {}, klog: {said:?}\n", victim.done, by_kafka.0[0]));
                continue;
            }
            if victim.is_tolerated() || by_kafka.is_error() {
                continue;
            }
            compared += 1;
            differ.extend(unlike(by_kafka, by_klog).map(|text| format!("{:?}\n{text}", victim.done)));
        }
        // Whatever it was, what klog makes of it Kafka loads, and finds the same in it.
        command::recover(root.path());
        ensure_same_dump(root.path());
    }
    assert!(failed.is_empty(), "klog did not load\n{}", failed.concat());
    assert!(differ.is_empty(), "expected is Kafka's, found is klog's\n{}", differ.concat());
    assert!(compared > PARTITIONS * DIRECTORIES / 2, "only {compared}");
}
