//! Look-ups beside a plain walk over what was appended, and what they read.

use proptest::prelude::*;

use super::*;

const INTERVAL: u64 = 400;

fn options() -> SegmentOptions {
    SegmentOptions {
        index_interval_bytes: INTERVAL,
        ..OPTIONS
    }
}

/// Batches of some records of some bytes, each some offsets behind the one before and with times around its own.
fn batches(shapes: &[(i64, usize, i64, i64)]) -> Vec<Vec<u8>> {
    let mut next = 0;
    let build = |&(records, value_bytes, hole, time): &(i64, usize, i64, i64)| {
        let base = next + hole;
        next = base + records;
        batch(base, records, time, value_bytes)
    };
    shapes.iter().map(build).collect()
}

fn closed_or_not(writer: SegmentWriter, is_closed: bool) -> Arc<Segment> {
    if is_closed {
        close(writer)
    } else {
        writer.segment().clone()
    }
}

proptest! {
    #[test]
    fn a_look_up_finds_what_a_walk_over_all_finds(
        shapes in proptest::collection::vec(
            (1i64..6, prop_oneof![0usize..20, 100usize..130, 200usize..1000], prop_oneof![4 => Just(0i64), 1 => 1i64..9], 20i64..90),
            1..40,
        ),
        is_closed in any::<bool>(),
        buffer_bytes in 0usize..3000,
        end in any::<prop::sample::Index>(),
    ) {
        let (_, fs, dir) = sim();
        let mut w = writer(&fs, &dir, 0, options());
        let appended = batches(&shapes);
        append(&mut w, &appended);
        let segment = closed_or_not(w, is_closed);
        let visible = end.index(appended.len() + 1);
        let end: usize = appended.iter().take(visible).map(Vec::len).sum();
        let bytes = appended.concat();
        let last = appended.last().map_or(0, |b| Batch::new(b).unwrap().header().last_offset.0);
        let mut places = Vec::new();
        let mut at = 0;
        for batch in &appended[..visible] {
            places.push((at, Batch::new(batch).unwrap()));
            at += batch.len();
        }
        for target in 0..=last + 2 {
            let expected = places.iter().find(|(_, b)| b.header().last_offset.0 >= target);
            let mut ahead = vec![0; buffer_bytes];
            let found = segment.translate_reading(Offset(target), end as u64, &mut ahead).unwrap();
            let batch = found.map(|(batch, _)| batch);
            prop_assert_eq!(segment.translate(Offset(target), end as u64).unwrap(), batch);
            prop_assert_eq!(batch.map(|b| b.position), expected.map(|&(at, _)| at as u64));
            if let Some((batch, held)) = found {
                let from = usize::try_from(batch.position).unwrap();
                prop_assert!(held <= end - from);
                prop_assert_eq!(&ahead[..held], &bytes[from..from + held]);
                prop_assert_eq!(Some(batch.last_offset), expected.map(|(_, b)| b.header().last_offset));
                prop_assert_eq!(Some(batch.base_offset), expected.map(|(_, b)| b.header().base_offset));
            }
        }
        for time in 10..95 {
            for start in [0, last / 2, last] {
                let all = appended[..visible].iter().flat_map(|bytes| {
                    let header = *Batch::new(bytes).unwrap().header();
                    let count = i64::from(header.record_count);
                    (0..count).map(move |i| {
                        let at = (header.max_timestamp.0 - (count - 1 - i)).max(0);
                        (at, header.base_offset.0 + i)
                    })
                });
                let expected = all.into_iter().find(|&(at, offset)| at >= time && offset >= start);
                let found = segment.find_by_timestamp(TimestampMs(time), Offset(start), end as u64, 1000).unwrap();
                prop_assert_eq!(found.map(|r| (r.timestamp.0, r.offset.0)), expected, "{} from {}", time, start);
            }
        }
    }
}

#[test]
fn a_batch_larger_than_the_interval_takes_one_read() {
    let (disk, fs, dir) = sim();
    let mut w = writer(&fs, &dir, 0, options());
    let shapes: Vec<_> = (0..20).map(|i| (5, 300, 0, 100 * (i + 1))).collect();
    append(&mut w, &batches(&shapes));
    let segment = w.segment();
    let end = segment.size_bytes();
    let mut buffer = [0; 4096];
    // The first batch has no entry, and so the second one is not known to be the next.
    for offset in 10..100 {
        let before = disk.counts().reads;
        let (batch, held) = segment
            .translate_reading(Offset(offset), end, &mut buffer)
            .unwrap()
            .unwrap();
        assert_eq!(held, batch.size_bytes as usize, "all of it is there");
        let found = segment
            .find_by_timestamp(TimestampMs(100 * (offset / 5 + 1)), Offset(0), end, 1000)
            .unwrap();
        assert_eq!(found.map(|r| r.offset.0), Some(offset / 5 * 5 + 4));
        assert_eq!(disk.counts().reads - before, 2, "one each");
    }
}

#[test]
fn among_small_batches_a_look_up_takes_one_read() {
    let (disk, fs, dir) = sim();
    let mut w = writer(&fs, &dir, 0, options());
    append(&mut w, &batches(&vec![(1, 10, 0, 50); 200]));
    let segment = w.segment();
    for offset in 0..200 {
        let before = disk.counts().reads;
        let found = segment
            .translate(Offset(offset), segment.size_bytes())
            .unwrap();
        assert_eq!(found.map(|b| b.base_offset), Some(Offset(offset)));
        assert_eq!(disk.counts().reads - before, 1);
    }
}
