//! Segments that a cleaner replaces, file by file as log.md 11 tells.

use std::collections::BTreeSet;
use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use klog::log::{AppendOptions, Isolation, LeaderEpochRule, Log, Origin};
use klog::types::{LeaderEpoch, Offset};

use crate::pair::{Whole, all, followed};
use crate::support::engine::{Home, fill, log, offsets, segments, t0};

const KINDS: [&str; 3] = ["log", "index", "timeindex"];
/// Records of a log, and of one of its closed segments.
const RECORDS: i64 = 32;
const IN_SEGMENT: i64 = 10;
/// Replacements under a reader.
const ROUNDS: usize = 400;

/// Sets a flag at the end of a scope, also when a test fails in it: threads that wait for more end.
struct OnDrop<'f>(&'f AtomicBool);

impl Drop for OnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// A directory without an owner: segments 0, 10, 20 and the active one 30.
fn four_segments(home: Home) -> Home {
    let owner = home.open();
    let owned = t0(&owner);
    while owned.end_offset().0 < RECORDS {
        let n = IN_SEGMENT.min(RECORDS - owned.end_offset().0);
        fill(&owned, n);
        if n == IN_SEGMENT {
            owned.roll().unwrap();
        }
    }
    owner.close().unwrap();
    home
}

/// The content of the files of a segment 0 with the batches of `0..30` that are wanted, by their kinds.
fn cleaned(home: &Home, wanted: impl Fn(i64) -> bool) -> Vec<Vec<u8>> {
    let copy = home.copied();
    let source = copy.open();
    let place = Home::new().set("index.interval.bytes", 100);
    let maker = place.open();
    let made = log(&maker, "t-0");
    let options = AppendOptions {
        origin: Origin::Replication,
        leader_epoch: Some(LeaderEpoch(0)),
        epoch_rule: LeaderEpochRule::TakeAny,
        ..AppendOptions::default()
    };
    let from = t0(&source);
    for offset in (0..3 * IN_SEGMENT).filter(|&offset| wanted(offset)) {
        let (_, bytes) = crate::support::engine::read(&from, offset, 1).unwrap();
        made.append_batches(&bytes, &options).unwrap();
    }
    maker.close().unwrap();
    KINDS.map(|kind| place.read(&format!("0.{kind}"))).to_vec()
}

/// One after the other, what a cleaner does to the files of segments to put others in their place.
fn replace(home: &Home, old: &[i64], content: &[Vec<u8>], mut after_each: impl FnMut(&str)) {
    let rename = |from: String, to: String| fs::rename(home.path(&from), home.path(&to)).unwrap();
    for (kind, content) in KINDS.iter().zip(content) {
        home.write(&format!("0.{kind}.cleaned"), content);
        after_each("written");
    }
    for kind in KINDS {
        rename(format!("0.{kind}.cleaned"), format!("0.{kind}.swap"));
        after_each("swap");
    }
    for base in old {
        for kind in KINDS {
            let name = format!("{base}.{kind}");
            rename(name.clone(), format!("{name}.deleted"));
            after_each("deleted");
        }
    }
    for kind in KINDS {
        rename(format!("0.{kind}.swap"), format!("0.{kind}"));
        after_each("in place");
    }
    for base in old {
        for kind in KINDS {
            home.remove(&format!("{base}.{kind}.deleted"));
            after_each("removed");
        }
    }
}

#[test]
fn each_step_of_a_replacement_shows_the_old_segments_or_the_new_one() {
    let home = four_segments(Home::new().set("index.interval.bytes", 100));
    let follower = home.follow();
    let seen = followed(&follower, "t-0");
    let before = all(&seen, Isolation::LogEnd);
    assert_eq!(segments(&seen).len(), 4);
    let kept = |offset: i64| offset % 3 == 0 || offset == 29;
    let after: Vec<Whole> = before
        .iter()
        .filter(|record| record.0 >= 30 || kept(record.0))
        .cloned()
        .collect();
    let content = cleaned(&home, kept);
    let mut is_new = false;
    let mut check = |log: &Arc<Log>, step: &str| {
        let now = all(log, Isolation::LogEnd);
        assert!(now == after || !is_new && now == before, "{step}: {now:?}");
        is_new = now == after;
    };
    replace(&home, &[0, 10, 20], &content, |step| {
        follower.refresh().unwrap();
        check(&seen, step);
        // Who comes in between sees the same.
        let late = home.follow();
        let found = all(&followed(&late, "t-0"), Isolation::LogEnd);
        assert!(found == before || found == after, "{step}");
    });
    check(&seen, "at the end");
    assert!(is_new);
    assert_eq!(
        segments(&seen).iter().map(|s| s.0).collect::<Vec<_>>(),
        [0, 30]
    );
    assert_eq!(seen.end_offset(), Offset(RECORDS));
}

#[test]
fn a_replacement_that_was_given_up_is_not_followed() {
    let home = four_segments(Home::new());
    let follower = home.follow();
    let seen = followed(&follower, "t-0");
    let before = all(&seen, Isolation::LogEnd);
    let content = cleaned(&home, |offset| offset > 25);
    for (kind, content) in KINDS.iter().zip(&content) {
        home.write(&format!("0.{kind}.swap"), content);
    }
    follower.refresh().unwrap();
    assert_ne!(
        all(&seen, Isolation::LogEnd),
        before,
        "as a load would leave it"
    );
    for kind in KINDS {
        home.remove(&format!("0.{kind}.swap"));
    }
    follower.refresh().unwrap();
    assert_eq!(all(&seen, Isolation::LogEnd), before);
    assert_eq!(segments(&seen).len(), 4);
}

#[test]
fn readers_never_miss_what_stays_while_segments_are_replaced_under_them() {
    // Few descriptors: a file that is wanted again may be another one by then.
    let home = four_segments(Home::new().set_broker("klog.max.open.files", 2));
    let follower = home.follow();
    let seen = followed(&follower, "t-0");
    let before = all(&seen, Isolation::LogEnd);
    let (odd, even) = (
        cleaned(&home, |offset| offset % 4 != 2),
        cleaned(&home, |offset| offset % 4 != 0),
    );
    let known: BTreeSet<&Whole> = before.iter().collect();
    let ended = AtomicBool::new(false);
    let looks = AtomicUsize::new(0);
    let stopped = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            replace(&home, &[0, 10, 20], &odd, |_| {});
            for round in 0..ROUNDS {
                // A cleaner is slower than a read.
                let before = looks.load(Ordering::SeqCst);
                while looks.load(Ordering::SeqCst) == before && !stopped.load(Ordering::SeqCst) {
                    std::thread::yield_now();
                }
                let content = if round % 2 == 0 { &even } else { &odd };
                replace(&home, &[0], content, |_| {});
            }
            ended.store(true, Ordering::SeqCst);
        });
        let _stop = OnDrop(&stopped);
        let mut is_last = false;
        while !is_last {
            is_last = ended.load(Ordering::SeqCst);
            if looks.fetch_add(1, Ordering::SeqCst).is_multiple_of(3) {
                follower.refresh().unwrap();
            }
            let now = all(&seen, Isolation::LogEnd);
            for record in &now {
                assert!(known.contains(record), "{record:?} was never there");
            }
            let offsets: BTreeSet<i64> = now.iter().map(|record| record.0).collect();
            assert_eq!(offsets.len(), now.len(), "twice");
            let missed = (0..RECORDS).find(|o| (o % 2 == 1 || *o >= 30) && !offsets.contains(o));
            assert_eq!(missed, None, "{:?} {offsets:?}", segments(&seen));
        }
    });
    println!("{looks:?} looks during {ROUNDS} replacements");
    follower.refresh().unwrap();
    let last: Vec<i64> = (0..RECORDS).filter(|o| o % 4 != 2 || *o >= 30).collect();
    assert_eq!(offsets(&seen, 0), last);
}
