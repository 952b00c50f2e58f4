//! A replacement of segments that was interrupted, at every step: the old records or the new ones, never a mixture and never
//! less. log.md 8.1-8.3, 11.2, 14.9, hard-cases.md HC15, HC16.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a failure fails the test"
)]

mod support;

use std::fs;

use klog::log::FindingKind;
use support::engine::{
    Home, NOW, append, append_in_epoch, five, offsets, rec, scan, segments, t0, v2,
};

/// The log of log.md 14.4, closed.
fn six_segments() -> Home {
    let home = Home::new().set("internal.segment.bytes", 200);
    let manager = home.open();
    let log = t0(&manager);
    for i in 0..6 {
        append_in_epoch(&log, &five(1000 + i), i32::try_from(i).unwrap());
    }
    manager.close().unwrap();
    home
}

fn copy_file(home: &Home, from: &str, to: &str) {
    home.write(to, home.read(from));
}

/// No file of a replacement is left, and another load finds nothing to do.
fn ensure_settled(home: &Home) {
    for ending in [".cleaned", ".swap"] {
        assert!(
            !home.files().iter().any(|name| name.ends_with(ending)),
            "{:?}",
            home.files()
        );
    }
    let before = home.dump();
    home.open().close().unwrap();
    assert_eq!(home.open().report(), []);
    assert_eq!(home.dump().segments(), before.segments());
    assert_eq!(home.retired_files(), [""; 0]);
}

#[test]
fn log_md_14_9_a_complete_swap_replaces_the_segment() {
    let home = six_segments();
    copy_file(&home, "5.log", "5.log.swap");
    copy_file(&home, "5.index", "5.index.swap");
    let manager = home.open();
    assert_eq!(
        segments(&t0(&manager)),
        [0, 5, 10, 15, 20, 25].map(|base| (base, 116))
    );
    assert_eq!(offsets(&t0(&manager), 0), (0..30).collect::<Vec<_>>());
    assert!(
        !home.has("5.snapshot"),
        "the snapshot of the replaced segment goes with it"
    );
    // Kafka leaves an empty time index here; klog makes it anew (D41).
    assert_eq!(home.read("5.timeindex").len(), 12);
    manager.close().unwrap();
    ensure_settled(&home);
}

#[test]
fn log_md_14_9_a_cleaned_file_of_the_same_base_undoes_the_swap() {
    let home = six_segments();
    let before = home.dump();
    copy_file(&home, "5.log", "5.log.swap");
    copy_file(&home, "5.index", "5.index.swap");
    copy_file(&home, "5.log", "5.log.cleaned");
    assert_eq!(home.dump(), before);
    home.open().close().unwrap();
    assert!(home.has("5.snapshot"));
    ensure_settled(&home);
}

#[test]
fn log_md_14_9_a_cleaned_file_of_a_higher_base_does_not() {
    let home = six_segments();
    copy_file(&home, "5.log", "5.log.swap");
    copy_file(&home, "5.index", "5.index.swap");
    copy_file(&home, "5.log", "6.log.cleaned");
    let manager = home.open();
    assert!(!home.has("5.snapshot"), "the swap was finished");
    assert!(!home.has("6.log") && !home.has("6.log.cleaned"));
    assert_eq!(offsets(&t0(&manager), 0), (0..30).collect::<Vec<_>>());
    manager.close().unwrap();
    ensure_settled(&home);
}

#[test]
fn log_md_14_9_a_swap_replaces_every_segment_up_to_its_end() {
    let home = six_segments();
    copy_file(&home, "15.log", "5.log.swap");
    let manager = home.open();
    assert_eq!(
        segments(&t0(&manager)),
        [0, 5, 20, 25].map(|base| (base, 116))
    );
    let expected: Vec<i64> = (0..5).chain(15..30).collect();
    assert_eq!(offsets(&t0(&manager), 0), expected);
    manager.close().unwrap();
    ensure_settled(&home);
}

/// HC15: three segments of one batch each, the fourth is active.
fn three_segments() -> Home {
    let home = Home::new().set("cleanup.policy", "compact");
    let manager = home.open();
    let log = t0(&manager);
    for i in 0..3 {
        append(&log, &[rec(NOW + i, "k", &format!("{i}"))]);
        log.roll().unwrap();
    }
    manager.close().unwrap();
    home
}

fn values(home: &Home) -> Vec<(i64, String)> {
    let manager = home.open();
    let found = scan(&t0(&manager), 0)
        .into_iter()
        .map(|record| record.map(|(o, _, v)| (o, v)).unwrap())
        .collect();
    manager.close().unwrap();
    found
}

#[test]
fn hc15_a_swap_with_later_records_takes_the_place_of_the_segments_that_it_covers() {
    let home = three_segments();
    copy_file(&home, "1.log", "0.log.swap");
    home.write("0.index.swap", "");
    home.write("0.timeindex.swap", "");
    let manager = home.open_unclean(3);
    let log = t0(&manager);
    assert_eq!(
        segments(&log)
            .iter()
            .map(|(base, _)| *base)
            .collect::<Vec<_>>(),
        [0, 2, 3]
    );
    assert_eq!(offsets(&log, 0), [1, 2]);
    assert!(!home.has("1.snapshot") && !home.has("1.log"));
    manager.close().unwrap();
    ensure_settled(&home);
}

#[test]
fn hc15_a_torn_or_wrong_swap_is_dropped_and_the_originals_stay() {
    let good = three_segments();
    let second = good.read("1.log");
    let mut flipped = second.clone();
    flipped[66] ^= 1;
    let mut backwards = v2(5, &[("a", "b")]);
    backwards.extend(v2(3, &[("c", "d")]));
    let bad: [(&str, Vec<u8>); 6] = [
        ("cut", second[..66].to_vec()),
        ("cut in the header", second[..30].to_vec()),
        ("a flipped bit", flipped),
        ("zeros behind", [second.clone(), vec![0; 20]].concat()),
        ("stray bytes behind", [second.clone(), vec![0; 3]].concat()),
        ("offsets that fall", backwards),
    ];
    for (what, bytes) in bad {
        let home = good.copied();
        let before = home.dump().segments();
        home.write("0.log.swap", &bytes);
        home.write("0.index.swap", "");
        let manager = home.open_unclean(3);
        assert_eq!(offsets(&t0(&manager), 0), [0, 1, 2], "{what}");
        let told = manager
            .report()
            .iter()
            .any(|f| f.kind == FindingKind::Repaired && f.text.contains(".swap"));
        assert!(told, "{what}: {:?}", manager.report());
        manager.close().unwrap();
        assert_eq!(home.dump().segments(), before, "{what}");
        ensure_settled(&home);
    }
    // One that begins below the base in its name is no segment of that base.
    let home = good.copied();
    copy_file(&home, "0.log", "2.log.swap");
    home.open_unclean(3).close().unwrap();
    assert_eq!(offsets(&t0(&home.open()), 0), [0, 1, 2]);
}

/// A step of a replacement: rename of a file.
type Step = (String, String);

/// The renames of a replacement of segments 0, 1, 2 by one, in their order (log.md 11.1).
fn steps() -> Vec<Step> {
    let kinds = ["log", "index", "timeindex"];
    let mut steps = Vec::new();
    for kind in kinds {
        steps.push((format!("0.{kind}.cleaned"), format!("0.{kind}.swap")));
    }
    for base in 0..3 {
        for kind in kinds {
            steps.push((format!("{base}.{kind}"), format!("{base}.{kind}.deleted")));
        }
    }
    for kind in kinds {
        steps.push((format!("0.{kind}.swap"), format!("0.{kind}")));
    }
    steps
}

/// The directory after the first steps, of which the last value of the key is the outcome.
fn after_steps(steps: &[Step]) -> Home {
    let home = three_segments();
    copy_file(&home, "2.log", "0.log.cleaned");
    home.write("0.index.cleaned", "");
    let mut time = (NOW + 2).to_be_bytes().to_vec();
    time.extend(2i32.to_be_bytes());
    home.write("0.timeindex.cleaned", time);
    for (from, to) in steps {
        fs::rename(home.path(from), home.path(to)).unwrap();
    }
    home
}

/// HC15 and HC16 together: the new segment is found torn when the old ones were put out of use already.
#[test]
fn hc15_the_originals_come_back_from_their_way_out_if_the_swap_is_torn() {
    let steps = steps();
    let into_place = steps
        .iter()
        .position(|(from, _)| from == "0.log.swap")
        .unwrap();
    for done in 1..=into_place {
        let home = after_steps(&steps[..done]);
        let len = home.read("0.log.swap").len();
        home.cut("0.log.swap", len - 1);
        // One that waits for its removal for another reason.
        home.write("7.log.deleted", v2(7, &[("gone", "long ago")]));
        home.open_unclean(3).close().unwrap();
        let expected: Vec<(i64, String)> = vec![(0, "0".into()), (1, "1".into()), (2, "2".into())];
        assert_eq!(values(&home), expected, "{done} steps");
        ensure_settled(&home);
    }
}

#[test]
fn hc16_after_a_crash_between_any_two_steps_there_are_the_old_records_or_the_new_ones() {
    let old: Vec<(i64, String)> = vec![(0, "0".into()), (1, "1".into()), (2, "2".into())];
    let new: Vec<(i64, String)> = vec![(2, "2".into())];
    let steps = steps();
    let mut seen = Vec::new();
    for done in 0..=steps.len() {
        let home = after_steps(&steps[..done]);
        let manager = home.open_unclean(3);
        assert!(
            manager.failed_logs().is_empty(),
            "{done} steps: {:?}",
            manager.report()
        );
        manager.close().unwrap();
        let found = values(&home);
        assert!(found == old || found == new, "{done} steps: {found:?}");
        assert_eq!(
            found.last(),
            old.last(),
            "{done} steps: the key resolves to its last value"
        );
        ensure_settled(&home);
        seen.push(found == new);
    }
    // Once the swap is complete it is finished, whatever is still there of the old ones.
    assert_eq!(seen[..3], [false, false, false]);
    assert!(seen[3..].iter().all(|is_new| *is_new), "{seen:?}");
}
