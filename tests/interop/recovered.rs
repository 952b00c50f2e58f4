//! What klog and Kafka leave of the same directory when each opens and closes it: the same bytes, whatever was damaged,
//! but for the partitions for which klog wants another answer. Those Kafka takes as klog left them.

use std::fs;
use std::path::Path;

use crate::kafka::{ensure_kafka_takes_it_as_it_is, ensure_same_dump, partition_files, referee};
use crate::support::canonical::{LogLines, Text, difference};
use crate::support::fixture::{self, Fixture, damage_of};
use crate::support::tree::Content;
use crate::support::{command, raw, tree};

const TORN: [&str; 2] = ["kafka-4.4.0-torn", "kafka-4.4.0-torn-clean"];

/// Takes partitions out of an unpacked archive.
fn remove_partitions(fixture: &Fixture, goes: impl Fn(&str) -> bool) {
    for partition in tree::partitions(&fixture.dir)
        .iter()
        .filter(|partition| goes(partition))
    {
        fs::remove_dir_all(fixture.dir.join(partition)).unwrap();
    }
}

fn is_listed(archive: &str, partition: &str) -> bool {
    fixture::deviating()
        .iter()
        .any(|entry| entry.covers(archive, partition))
}

/// A checkpoint as a set: Kafka writes entries in no order (D70).
fn checkpoint(dir: &Path, name: &str) -> Vec<String> {
    let text = fs::read_to_string(dir.join(name)).unwrap_or_default();
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    lines.sort();
    lines
}

/// The files of the partitions without the snapshots that the next load removes first of all (state.md 6.4, 6.5): Kafka
/// leaves some at closing, klog does not.
fn lasting_files(dir: &Path) -> Content {
    let mut files = partition_files(dir);
    let offset_of = |path: &Path, ending: &str| -> Option<i64> {
        path.file_name()?
            .to_str()?
            .strip_suffix(ending)?
            .parse()
            .ok()
    };
    let starts = checkpoint(dir, "log-start-offset-checkpoint");
    // KRaft's own log is not a log manager's: neither touches it.
    for partition in tree::partitions(dir)
        .into_iter()
        .filter(|name| !name.starts_with("__cluster_metadata-"))
    {
        let of = |ending: &str| -> Vec<i64> {
            let here = files.keys().filter(|path| path.starts_with(&partition));
            here.filter_map(|path| offset_of(path, ending)).collect()
        };
        let (bases, snapshots) = (of(".log"), of(".snapshot"));
        let entry = format!(
            "{} ",
            partition
                .rsplit_once('-')
                .map(|(t, p)| format!("{t} {p}"))
                .unwrap()
        );
        let start = starts
            .iter()
            .find_map(|line| line.strip_prefix(&entry)?.parse().ok());
        let start: i64 = bases[0].max(start.unwrap_or(0));
        for offset in &snapshots {
            let is_newest = Some(offset) == snapshots.last() && Some(offset) >= bases.last();
            let is_below = *offset <= start && snapshots.last() > Some(&start);
            if is_below || (!bases.contains(offset) && !is_newest) {
                files.remove(&Path::new(&partition).join(format!("{offset:020}.snapshot")));
            }
        }
    }
    files
}

#[test]
fn klog_recovers_to_the_bytes_that_kafka_recovers_to() {
    for archive in fixture::NAMES {
        let [by_klog, by_kafka] = [fixture::extract(archive), fixture::extract(archive)];
        for fixture in [&by_klog, &by_kafka] {
            // Kafka does not start on some of the listed ones, and makes something else of the others. It opens what
            // waits for its deletion, which klog does not (D63).
            remove_partitions(fixture, |p| is_listed(archive, p) || p.ends_with("-delete"));
        }
        command::recover(&by_klog.dir);
        let kafka = referee().manager(&by_kafka.dir);
        if archive == "kafka-4.4.0-torn-checkpoint" {
            // A malformed checkpoint takes the directory away from Kafka (D59); the logs were recovered before that.
            assert!(kafka.is_err() || !kafka.unwrap().clean);
            continue;
        }
        assert!(kafka.unwrap().clean);
        let differ = tree::differences(
            &lasting_files(&by_kafka.dir),
            &partition_files(&by_klog.dir),
        );
        assert_eq!(
            differ, [""; 0],
            "{archive}: by Kafka (left) and by klog (right)"
        );
        for name in [
            "recovery-point-offset-checkpoint",
            "log-start-offset-checkpoint",
        ] {
            assert_eq!(
                checkpoint(&by_klog.dir, name),
                checkpoint(&by_kafka.dir, name),
                "{archive}"
            );
        }
        let marker =
            |fixture: &Fixture| fs::read(fixture.dir.join(".kafka_cleanshutdown")).unwrap();
        assert_eq!(marker(&by_klog), marker(&by_kafka), "{archive}");
    }
}

/// fixtures/README.md 5.5: after klog closed the directory Kafka loads each listed partition and has what klog has.
#[test]
fn kafka_loads_what_klog_left_of_the_deviating_partitions() {
    for archive in TORN {
        let fixture = fixture::extract(archive);
        command::recover(&fixture.dir);
        let text = ensure_same_dump(&fixture.dir);
        let listed: Vec<&str> = text
            .partitions()
            .into_iter()
            .filter(|p| is_listed(archive, p))
            .collect();
        assert!(listed.len() > 15);
        // Alone, as logs that start at their end are not left alone by Kafka (state.md 6.6).
        remove_partitions(&fixture, |p| !is_listed(archive, p));
        ensure_kafka_takes_it_as_it_is(&fixture.dir);
    }
}

/// What Kafka makes of a listed partition once a person has mended by hand what it stumbles over: that is what klog must
/// make of it as it is.
#[test]
fn klog_answers_as_kafka_does_once_the_damage_is_mended_by_hand() {
    for archive in TORN {
        let fixture = fixture::extract(archive);
        let klog = Text::parse(&command::dump(&fixture.dir));
        let mut mended = Vec::new();
        for partition in tree::partitions(&fixture.dir) {
            let damage = damage_of(&partition).unwrap();
            if is_listed(archive, &partition) && mend(&fixture.dir.join(&partition), damage) {
                mended.push(partition);
            }
        }
        let kafka = Text::parse(&referee().dump(&fixture.dir));
        let state = |lines: &LogLines| {
            let lines = lines.with_last_producer_batches().without_snapshot_files();
            // A file that was put aside is there under its other name.
            LogLines(
                lines
                    .0
                    .into_iter()
                    .filter(|line| line != "file partition.metadata.corrupt")
                    .collect(),
            )
        };
        let differ: Vec<String> = mended
            .iter()
            .filter_map(|partition| {
                difference(&state(kafka.log(partition)), &state(klog.log(partition)))
            })
            .collect();
        assert!(differ.is_empty(), "{archive}: {}", differ.concat());
        assert!(mended.len() > 12, "{archive}: {mended:?}");
    }
}

/// Mends what was done to a partition; whether it is of a kind that can be.
fn mend(dir: &Path, damage: &str) -> bool {
    let mut bases: Vec<i64> = Vec::new();
    for entry in fs::read_dir(dir).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        bases.extend(
            name.strip_suffix(".log")
                .and_then(|digits| digits.parse::<i64>().ok()),
        );
    }
    bases.sort_unstable();
    let base = if damage.starts_with("old-") {
        bases[0]
    } else {
        *bases.last().unwrap()
    };
    let file = |base: i64, ending: &str| dir.join(format!("{base:020}.{ending}"));
    let is_index = damage.contains("-index-") || damage.contains("-timeindex-");
    if damage.ends_with("-txnindex-garbage") || (is_index && damage != "active-index-empty") {
        // Without an offset index Kafka recovers a segment, and makes all of its indexes anew.
        for ending in ["index", "timeindex", "txnindex"] {
            let _ = fs::remove_file(file(base, ending));
        }
    } else if damage.starts_with("epoch-") {
        // The epochs of the batches.
        let mut epochs: Vec<(i32, i64)> = Vec::new();
        for base in bases {
            for batch in raw::intact(&fs::read(file(base, "log")).unwrap()) {
                if epochs
                    .last()
                    .is_none_or(|(latest, _)| batch.leader_epoch > *latest)
                {
                    epochs.push((batch.leader_epoch, batch.base));
                }
            }
        }
        let lines: String = epochs
            .iter()
            .map(|(epoch, start)| format!("{epoch} {start}\n"))
            .collect();
        let content = format!("0\n{}\n{lines}", epochs.len());
        fs::write(dir.join("leader-epoch-checkpoint"), content).unwrap();
    } else if damage.starts_with("metadata-") {
        fs::remove_file(dir.join("partition.metadata")).unwrap();
    } else if damage == "tail-repeats" || damage == "base-offset-down" {
        // Cut by hand, and recovered.
        let path = file(base, "log");
        let log = fs::read(&path).unwrap();
        let good = raw::intact_from(&log, 0, base).last().unwrap().end();
        fs::write(&path, &log[..good as usize]).unwrap();
        let _ = fs::remove_file(file(base, "index"));
    } else {
        return false;
    }
    true
}
