//! The partitions of the torn fixtures for which klog wants another answer than Kafka 4.4.0 (fixtures/README.md 5.5):
//! each listed one is held to its rule of deviations.md.
//!
//! What is expected does not come from klog. It is assembled from the bytes of the fixture, read by [`support::raw`], with
//! the state that [`support::model`] tells from the batches; and from Kafka's own text, of the other archive with the same
//! bytes where Kafka recovers what it believes in this one. That Kafka loads what klog leaves of them is in interop.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    clippy::cast_possible_wrap,
    reason = "a failure fails the test"
)]

mod support;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use support::canonical::{LogLines, SegmentLines, Text, difference};
use support::fixture::{Fixture, damage_of};
use support::{command, fixture, model, raw};

const TORN: &str = "kafka-4.4.0-torn";
const TORN_CLEAN: &str = "kafka-4.4.0-torn-clean";
/// `index.interval.bytes` of a load without settings.
const INTERVAL: u64 = 4096;

/// A listed partition.
struct Case {
    archive: &'static str,
    partition: String,
    rules: Vec<String>,
    /// Kafka's text, which may be `error`.
    kafka: LogLines,
    /// Kafka's text of the same bytes without the clean-shutdown marker.
    kafka_unclean: LogLines,
    /// klog's text.
    klog: LogLines,
    recovery_point: i64,
    dir: PathBuf,
}

static FIXTURES: LazyLock<Vec<Fixture>> = LazyLock::new(|| {
    [TORN, TORN_CLEAN]
        .map(fixture::extract)
        .into_iter()
        .collect()
});

static CASES: LazyLock<Vec<Case>> = LazyLock::new(|| {
    let list = fixture::deviating();
    let unclean = Text::parse(&fixture::expected(TORN));
    let mut cases = Vec::new();
    for (archive, fixture) in [TORN, TORN_CLEAN].into_iter().zip(&*FIXTURES) {
        let kafka = Text::parse(&fixture::expected(archive));
        let klog = Text::parse(&command::dump(&fixture.dir));
        for (partition, text) in &kafka.logs {
            let mut rules: Vec<String> = list
                .iter()
                .filter(|entry| entry.covers(archive, partition))
                .flat_map(|entry| entry.rules.clone())
                .collect();
            rules.sort();
            rules.dedup();
            if rules.is_empty() {
                continue;
            }
            let checkpoint = format!("checkpoint recovery-point-offset-checkpoint {partition} ");
            let point = kafka
                .head
                .iter()
                .find_map(|line| line.strip_prefix(&checkpoint)?.parse().ok());
            cases.push(Case {
                archive,
                partition: partition.clone(),
                rules,
                kafka: text.clone(),
                kafka_unclean: unclean.log(partition).clone(),
                klog: klog.log(partition).clone(),
                recovery_point: point.unwrap_or(0),
                dir: fixture.dir.join(partition),
            });
        }
    }
    cases
});

fn cases_of(rule: &str) -> Vec<&'static Case> {
    let found: Vec<&Case> = CASES
        .iter()
        .filter(|case| case.rules.iter().any(|r| r == rule))
        .collect();
    assert!(!found.is_empty(), "no partition is listed for {rule}");
    found
}

/// A `.log` file of a fixture and what is good of it.
struct RawSegment {
    base: i64,
    len: u64,
    batches: Vec<raw::RawBatch>,
}

impl RawSegment {
    fn good_bytes(&self) -> u64 {
        self.batches.last().map_or(0, raw::RawBatch::end)
    }

    fn is_whole(&self) -> bool {
        self.good_bytes() == self.len
    }
}

impl Case {
    fn damage(&self) -> &str {
        damage_of(&self.partition).unwrap()
    }

    fn was_clean(&self) -> bool {
        self.archive == TORN_CLEAN
    }

    /// The segments of the directory as a load has to take them: those that a swap set replaces are not among them.
    fn segments(&self) -> Vec<RawSegment> {
        let mut found = BTreeMap::new();
        let mut swaps = Vec::new();
        for (name, content) in files(&self.dir) {
            if let Some(base) = name
                .strip_suffix(".log")
                .and_then(|digits| digits.parse::<i64>().ok())
            {
                let batches = raw::intact_from(&content, 0, base);
                found.insert(
                    base,
                    RawSegment {
                        base,
                        len: content.len() as u64,
                        batches,
                    },
                );
            }
            if let Some(base) = name
                .strip_suffix(".log.swap")
                .and_then(|digits| digits.parse::<i64>().ok())
            {
                swaps.push(RawSegment {
                    base,
                    len: content.len() as u64,
                    batches: raw::intact(&content),
                });
            }
        }
        for swap in swaps {
            let end = swap.batches.last().unwrap().last + 1;
            found.retain(|base, _| !(swap.base..end).contains(base));
            found.insert(swap.base, swap);
        }
        found.into_values().collect()
    }

    fn stored_index(&self, base: i64) -> Vec<String> {
        let read = |ending: &str| {
            fs::read(self.dir.join(format!("{base:020}.{ending}"))).unwrap_or_default()
        };
        let number = |bytes: &[u8]| bytes.iter().fold(0i64, |n, b| (n << 8) | i64::from(*b));
        let (offsets, times) = (read("index"), read("timeindex"));
        let offsets = offsets
            .chunks_exact(8)
            .map(|e| format!("oi {} {}", base + number(&e[..4]), number(&e[4..])));
        let times = times
            .chunks_exact(12)
            .map(|e| format!("ti {} {}", number(&e[..8]), base + number(&e[8..])));
        offsets.chain(times).collect()
    }

    /// The text of this partition when the segments of `rebuilt` get the index that recovery writes, the others keep
    /// theirs, and the log ends with the last good batch. Batches and records are klog's, which
    /// [`every_good_batch_is_there`] and Kafka's own texts hold to the bytes.
    fn assembled(&self, rebuilt: impl Fn(i64) -> bool) -> LogLines {
        let raw = self.segments();
        let klog = self.klog.segments();
        let segments: Vec<SegmentLines> = raw
            .iter()
            .map(|segment| SegmentLines {
                base: segment.base,
                size: segment.good_bytes(),
                index: if rebuilt(segment.base) {
                    raw::recovered_index(&segment.batches, INTERVAL)
                } else {
                    self.stored_index(segment.base)
                },
                content: klog
                    .iter()
                    .find(|s| s.base == segment.base)
                    .map(|s| s.content.clone())
                    .unwrap_or_default(),
            })
            .collect();
        let last = raw.last().unwrap();
        let end = last
            .batches
            .last()
            .map_or(last.base, |batch| batch.last + 1);
        let recovery_point = if self.was_clean() {
            end
        } else {
            self.recovery_point.min(end)
        };
        let metadata = fs::read_to_string(self.dir.join("partition.metadata")).unwrap();
        let topic_id = metadata
            .lines()
            .find_map(|line| line.strip_prefix("topic_id: "));
        let mut lines = vec![format!(
            "log {} start={} end={end} segments={} recovery_point={recovery_point} topic_id={}",
            self.partition,
            raw[0].base,
            raw.len(),
            topic_id.unwrap_or("none"),
        )];
        lines.extend(model::state_lines(&segments, end));
        LogLines(lines).with_segments(&segments)
    }

    /// The last segment of an unclean directory is recovered, and all from the recovery point on.
    fn is_recovered(&self, base: i64) -> bool {
        !self.was_clean() && base >= self.recovery_point
    }

    /// The segment that the damage was done to.
    fn damaged_segment(&self) -> i64 {
        let bases: Vec<i64> = self.segments().iter().map(|segment| segment.base).collect();
        if self.damage().starts_with("old-") {
            bases[0]
        } else {
            *bases.last().unwrap()
        }
    }

    fn ensure(&self, expected: &LogLines) {
        let state = |lines: &LogLines| lines.with_last_producer_batches();
        if let Some(text) = difference(&state(expected), &state(&self.klog)) {
            panic!("{} {:?}: {text}", self.archive, self.rules);
        }
    }

    /// The same without `file` lines.
    fn ensure_but_files(&self, expected: &LogLines) {
        let state = |lines: &LogLines| lines.with_last_producer_batches().without(&["file"]);
        if let Some(text) = difference(&state(expected), &state(&self.klog)) {
            panic!("{} {:?}: {text}", self.archive, self.rules);
        }
    }
}

fn files(dir: &Path) -> Vec<(String, Vec<u8>)> {
    let entries = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap());
    let files = entries.filter(|entry| entry.path().is_file());
    files
        .map(|e| {
            (
                e.file_name().into_string().unwrap(),
                fs::read(e.path()).unwrap(),
            )
        })
        .collect()
}

/// The list of what a text may be, so that no rule comes into `deviating.txt` without its test here.
#[test]
fn every_rule_of_the_list_is_tested() {
    const TESTED: [&str; 9] = [
        "D39", "D41", "D42", "D43", "D44", "D48", "D49", "D53", "D54",
    ];
    for entry in fixture::deviating() {
        for rule in &entry.rules {
            assert!(
                TESTED.contains(&rule.as_str()),
                "{entry:?} has a rule without a test"
            );
        }
    }
}

#[test]
fn every_listed_partition_loads() {
    let failed: Vec<&str> = CASES
        .iter()
        .filter(|c| c.klog.is_error())
        .map(|c| c.partition.as_str())
        .collect();
    assert_eq!(failed, [""; 0]);
}

/// No intact record below the first damage is missing, and nothing of it reads differently.
#[test]
fn every_good_batch_is_there() {
    for case in &*CASES {
        let klog = case.klog.segments();
        for segment in case.segments() {
            let name = format!(
                "{} {} segment {}",
                case.archive, case.partition, segment.base
            );
            let found = klog
                .iter()
                .find(|s| s.base == segment.base)
                .unwrap_or_else(|| panic!("{name} is missing"));
            let batches = found.batches();
            for (good, line) in segment.batches.iter().zip(&batches) {
                let said = (
                    line.number("pos"),
                    line.number("size"),
                    line.number("last"),
                    line.text("crc_ok"),
                );
                assert_eq!(
                    said,
                    (good.position as i64, good.size as i64, good.last, "1"),
                    "{name}"
                );
            }
            assert!(
                batches.len() >= segment.batches.len(),
                "{name} lost batches"
            );
            // Nothing that is no good batch lies behind the log end: cut off, or Kafka's text, which has it all.
            let is_cut = found.size == segment.good_bytes();
            assert!(
                is_cut || *found == kafka_segment(case, segment.base),
                "{name} is neither"
            );
        }
    }
}

fn kafka_segment(case: &Case, base: i64) -> SegmentLines {
    case.kafka
        .segments()
        .into_iter()
        .find(|s| s.base == base)
        .unwrap_or_else(|| panic!("{}", case.partition))
}

/// The model agrees with Kafka where Kafka had nothing to mend.
#[test]
fn the_model_tells_kafkas_state_of_whole_logs() {
    for archive in [TORN, TORN_CLEAN] {
        let kafka = Text::parse(&fixture::expected(archive));
        for partition in [
            "t-whole-0",
            "t-whole-tx-0",
            "t-whole-rp0-0",
            "t-whole-legacy-0",
        ] {
            let lines = kafka.log(partition);
            assert_eq!(
                model::state_lines(&lines.segments(), lines.number("end")),
                model::state_of(lines)
            );
        }
    }
}

#[test]
fn d39_no_full_size_index_is_made_for_a_swap_without_one() {
    for case in cases_of("D39") {
        let swapped = files(&case.dir).into_iter().find_map(|(name, bytes)| {
            Some((
                name.strip_suffix(".log.swap")?.parse::<i64>().unwrap(),
                raw::intact(&bytes),
            ))
        });
        let (base, batches) = swapped.unwrap();
        // Kafka's text, but for the index of the segment that came in.
        let mut segments = case.kafka.segments();
        let replaced = segments.iter_mut().find(|s| s.base == base).unwrap();
        assert!(
            replaced.index[0].ends_with(" x1310720"),
            "Kafka makes zeros: {:?}",
            replaced.index[0]
        );
        replaced.index = raw::recovered_index(&batches, INTERVAL);
        case.ensure(&case.kafka.with_segments(&segments));
    }
}

#[test]
fn d41_d42_indexes_that_are_missing_or_wrong_are_those_of_recovery() {
    let mut made_anew = 0;
    for case in cases_of("D41").into_iter().chain(cases_of("D42")) {
        if case.rules.iter().any(|rule| rule == "D44") {
            continue; // Damage of the log comes first.
        }
        let base = case.damaged_segment();
        let read = |ending: &str| fs::read(case.dir.join(format!("{base:020}.{ending}")));
        let log = read("log").unwrap();
        let is_sane = read("index")
            .is_ok_and(|index| raw::is_sane_offset_index(&index, &log, base))
            && read("timeindex").is_ok_and(|index| raw::is_sane_time_index(&index, &log, base));
        if is_sane {
            // An index with fewer entries than it could have is none that is wrong.
            case.ensure(&case.kafka);
            continue;
        }
        made_anew += 1;
        case.ensure_but_files(&case.assembled(|b| b == base || case.is_recovered(b)));
        // Kafka's text, but for that index; where Kafka believed the wrong entry, of the same bytes without the marker.
        let text = match case.damage() {
            "active-index-wrong" | "active-index-negative" if case.was_clean() => case
                .kafka_unclean
                .with_field("recovery_point", case.kafka_unclean.field("end")),
            _ => case.kafka.clone(),
        };
        let raw = case.segments();
        let mut segments = text.segments();
        for segment in &mut segments {
            if segment.base == base {
                let batches = &raw.iter().find(|r| r.base == base).unwrap().batches;
                segment.index = raw::recovered_index(batches, INTERVAL);
            }
        }
        case.ensure(&text.with_segments(&segments));
    }
    assert!(made_anew >= 20, "only {made_anew}");
}

#[test]
fn d43_a_transaction_index_of_an_unknown_version_is_made_anew() {
    for case in cases_of("D43") {
        assert!(case.kafka.is_error());
        let base = case.damaged_segment();
        let expected = case.assembled(|b| b == base || case.is_recovered(b));
        assert!(
            expected
                .0
                .iter()
                .any(|line| line.starts_with(&format!("aborted {base} "))),
            "{}",
            case.partition
        );
        case.ensure_but_files(&expected);
    }
}

#[test]
fn d44_a_log_ends_where_its_offsets_go_back() {
    for case in cases_of("D44") {
        let base = case.damaged_segment();
        let last = case.segments().pop().unwrap();
        assert!(
            !last.is_whole(),
            "{} has no batch that goes back",
            case.partition
        );
        case.ensure_but_files(&case.assembled(|b| b == base || case.is_recovered(b)));
        // What klog keeps, Kafka reads the same: it shows the whole file where it does not empty it.
        let shown = [&case.kafka, &case.kafka_unclean]
            .into_iter()
            .chain(kafka_clean(case));
        let whole = shown
            .map(|text| text.segments().pop().unwrap())
            .max_by_key(|s| s.size)
            .unwrap();
        let kept = case.klog.segments().pop().unwrap();
        assert_eq!(
            kept.content[..],
            whole.content[..kept.content.len()],
            "{}",
            case.partition
        );
        assert_eq!(
            whole
                .content
                .iter()
                .filter(|l| l.starts_with("batch "))
                .count(),
            kept.batches().len() + 1
        );
    }
}

/// Kafka's text of the same bytes in the clean archive.
fn kafka_clean(case: &Case) -> Option<&'static LogLines> {
    CASES
        .iter()
        .find(|c| c.was_clean() && c.partition == case.partition)
        .map(|c| &c.kafka)
}

/// The tail of a log that was closed in order is read from the last index entry on. If it is good Kafka's text stands;
/// if not the segment is recovered, and the text is what Kafka makes of the same bytes when it recovers them.
#[test]
fn d48_a_clean_log_whose_end_is_bad_is_recovered() {
    let mut recovered = 0;
    for case in cases_of("D48") {
        let base = case.damaged_segment();
        let log = fs::read(case.dir.join(format!("{base:020}.log"))).unwrap();
        let index = fs::read(case.dir.join(format!("{base:020}.index"))).unwrap();
        let entry = index.chunks_exact(8).last();
        let position = entry.map_or(0, |e| {
            u64::from(u32::from_be_bytes(e[4..].try_into().unwrap()))
        });
        let tail = raw::intact_from(&log, position, base);
        let tail_end = tail.last().map_or(position, raw::RawBatch::end);
        let is_good = tail_end == log.len() as u64;
        if is_good && case.klog == case.kafka {
            continue;
        }
        recovered += 1;
        // Damage below the last entry may be noticed by other checks; then it is treated no better and no worse.
        case.ensure_but_files(&case.assembled(|b| b == base));
        if !case.rules.iter().any(|rule| rule == "D44") {
            case.ensure(
                &case
                    .kafka_unclean
                    .with_field("recovery_point", case.kafka_unclean.field("end")),
            );
        }
        assert!(case.was_clean());
    }
    assert!(recovered >= 20, "only {recovered}");
}

#[test]
fn d49_without_snapshots_producers_come_from_the_log() {
    for case in cases_of("D49") {
        let state = model::state_lines(&case.klog.segments(), case.klog.number("end"));
        assert_eq!(model::state_of(&case.klog), state);
        // Kafka has no producers then, but else the same.
        let but_state = |lines: &LogLines| lines.without(&["producer", "pbatch", "lso"]);
        assert_eq!(case.kafka.starting("producer"), [""; 0]);
        assert_eq!(
            difference(&but_state(&case.kafka), &but_state(&case.klog)),
            None
        );
        // And where it does read the log, it has them.
        assert_eq!(model::state_of(&case.kafka_unclean), state);
    }
}

#[test]
fn d53_epochs_of_a_file_that_does_not_parse_come_from_the_log() {
    for case in cases_of("D53") {
        assert!(case.kafka.is_error());
        let expected = case.assembled(|b| case.is_recovered(b));
        assert!(
            expected.starting("epoch").len() > 1,
            "{} shows nothing",
            case.partition
        );
        case.ensure_but_files(&expected);
    }
}

#[test]
fn d54_a_broken_topic_id_is_put_aside() {
    for case in cases_of("D54") {
        assert!(case.kafka.is_error());
        case.ensure_but_files(
            &case
                .assembled(|b| case.is_recovered(b))
                .with_field("topic_id", "none"),
        );
        let files = case.klog.starting("file");
        assert!(files.contains(&"file partition.metadata.corrupt"));
        assert!(!files.contains(&"file partition.metadata"));
    }
}
