//! Ends of files that are not, or not yet, whole batches.

use klog::format::batch::BatchHeader;
use klog::log::Isolation;
use klog::types::Offset;

use crate::pair::{all, ensure_same, followed};
use crate::support::engine::{Home, fill, t0, v2};

/// A directory without an owner, whose files the test writes as one would.
fn in_order(home: Home, records: i64) -> Home {
    let owner = home.open();
    fill(&t0(&owner), records);
    owner.close().unwrap();
    home
}

#[test]
fn a_batch_is_seen_when_its_last_byte_is_there() {
    let home = in_order(Home::new(), 3);
    let follower = home.follow();
    let seen = followed(&follower, "t-0");
    let next = [v2(3, &[("a", "1"), ("b", "2")]), v2(5, &[("c", "3")])].concat();
    let whole = BatchHeader::parse(&next).unwrap().size_bytes as usize;
    for written in 1..=next.len() {
        home.extend("0.log", &next[written - 1..written]);
        follower.refresh().unwrap();
        let end = match written {
            n if n < whole => 3,
            n if n < next.len() => 5,
            _ => 6,
        };
        assert_eq!(seen.end_offset(), Offset(end), "{written} bytes");
        assert_eq!(all(&seen, Isolation::LogEnd).len() as i64, end);
    }
    // A follower that comes in between sees the same, and goes on.
    let first = v2(6, &[("d", "4")]);
    home.extend("0.log", &first[..20]);
    let late = home.follow();
    let also = followed(&late, "t-0");
    assert_eq!(also.end_offset(), Offset(6));
    home.extend("0.log", &first[20..]);
    late.refresh().unwrap();
    assert_eq!(also.end_offset(), Offset(7));
}

#[test]
fn zeros_of_a_file_made_at_its_full_size_are_no_batch() {
    let home = Home::new()
        .set("preallocate", true)
        .set("internal.segment.bytes", 4096);
    let owner = home.open();
    let owned = t0(&owner);
    let follower = home.follow();
    let seen = followed(&follower, "t-0");
    for _ in 0..20 {
        fill(&owned, 7);
        follower.refresh().unwrap();
        ensure_same(&owned, &seen);
    }
    assert!(seen.info().segments > 2);
    let late = home.follow();
    ensure_same(&owned, &followed(&late, "t-0"));
}

#[test]
fn damage_ends_what_is_seen_as_it_ends_what_a_load_finds() {
    let home = in_order(Home::new(), 3);
    let follower = home.follow();
    let seen = followed(&follower, "t-0");
    let mut bad = v2(3, &[("a", "1")]);
    let at = bad.len() - 1;
    bad[at] ^= 1;
    home.extend("0.log", &[bad, v2(4, &[("b", "2")])].concat());
    for _ in 0..2 {
        follower.refresh().unwrap();
        assert_eq!(seen.end_offset(), Offset(3));
        assert_eq!(all(&seen, Isolation::LogEnd).len(), 3);
    }
    // Also when there are segments behind it.
    home.write("5.log", v2(5, &[("c", "3")]));
    for _ in 0..2 {
        follower.refresh().unwrap();
        assert_eq!(seen.end_offset(), Offset(3));
    }
    // Mended, all of it is there.
    let whole = [v2(3, &[("a", "1")]), v2(4, &[("b", "2")])].concat();
    let kept = home.read("0.log").len() - whole.len();
    home.cut("0.log", kept);
    home.extend("0.log", &whole);
    follower.refresh().unwrap();
    assert_eq!(seen.end_offset(), Offset(6));
    assert_eq!(all(&seen, Isolation::LogEnd).len(), 6);
}

#[test]
fn a_batch_of_which_the_end_was_cut_off_is_gone() {
    let home = in_order(Home::new(), 3);
    let follower = home.follow();
    let seen = followed(&follower, "t-0");
    let whole = home.read("0.log");
    for cut in [1, 5] {
        home.write("0.log", &whole[..whole.len() - cut]);
        follower.refresh().unwrap();
        assert_eq!(seen.end_offset(), Offset(2));
        home.write("0.log", &whole);
        follower.refresh().unwrap();
        assert_eq!(seen.end_offset(), Offset(3));
    }
}

#[test]
fn a_directory_is_followed_from_its_first_file_on() {
    let home = Home::new();
    let follower = home.follow();
    std::fs::create_dir(home.dir.join("t-0")).unwrap();
    follower.refresh().unwrap();
    let seen = followed(&follower, "t-0");
    assert_eq!((seen.end_offset(), seen.topic_id()), (Offset(0), None));
    home.write("0.log", []);
    follower.refresh().unwrap();
    home.write("0.log", v2(0, &[("a", "1"), ("b", "2")]));
    home.write(
        "partition.metadata",
        "version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAg\n",
    );
    follower.refresh().unwrap();
    assert_eq!(seen.end_offset(), Offset(2));
    assert!(seen.topic_id().is_some());
    assert_eq!(seen.segments().len(), 1);
}
