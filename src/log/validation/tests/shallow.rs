//! The look at headers: state.md 2, and the append sides of HC29, HC33, HC34.

use super::*;

fn look(bytes: &[u8], origin: Origin) -> Result<crate::log::validation::shallow::Analysis> {
    analyze(bytes, origin, LeaderEpoch(5), config().max_message_bytes)
}

/// A batch as a leader has stored it.
fn stored(base: i64, epoch: i32, n: usize) -> Vec<u8> {
    let options = BatchOptions {
        base_offset: Offset(base),
        leader_epoch: LeaderEpoch(epoch),
        ..BatchOptions::default()
    };
    numbered(&options, n)
}

fn with_length(length: i32) -> Vec<u8> {
    let mut bytes = plain(&[(T0, Some("a"), Some("1"))]);
    assert_eq!(bytes.len(), 70);
    bytes[8..12].copy_from_slice(&length.to_be_bytes());
    bytes
}

#[test]
fn rule_2_1_each_step_of_the_iteration_ends_or_refuses() {
    // Fewer than 12 bytes end it, whatever they are; a length below 14 does not need the rest.
    for bytes in [&[0xff; 11][..], &[0; 10], &[]] {
        assert_eq!(look(bytes, Origin::Client).unwrap().valid_bytes, 0);
    }
    assert_eq!(
        kind(look(&[0; 12], Origin::Client)),
        ErrorKind::CorruptMessage
    );
    // With 12 to 16 bytes the magic is not there yet.
    let good = p(1);
    assert_eq!(look(&good[..16], Origin::Client).unwrap().valid_bytes, 0);
    // The magic is looked at before the batch is known to be whole.
    let mut magic = p(1);
    for (value, is_known) in [(0u8, true), (1, true), (2, true), (3, false), (0xff, false)] {
        magic[16] = value;
        assert_eq!(
            look(&magic[..17], Origin::Client).is_ok(),
            is_known,
            "magic {value}"
        );
    }
}

#[test]
fn rule_2_1_a_bad_batch_behind_good_ones_refuses_all() {
    let mut bytes = stored(0, 5, 1);
    let mut bad = stored(1, 5, 1);
    bad[70] ^= 1;
    bytes.extend_from_slice(&bad);
    for origin in [Origin::Replication, Origin::RaftLeader] {
        assert_eq!(
            kind(look(&bytes, origin)),
            ErrorKind::CorruptMessage,
            "{origin:?}"
        );
    }
}

#[test]
fn rule_2_2_what_follows_the_last_whole_batch_is_dropped() {
    let good = p(2);
    for (tail, is_fine) in [
        (&[0u8; 10][..], true),
        (&[0; 20], false),
        (&p(1)[..40], true),
    ] {
        let bytes = [&good[..], tail].concat();
        match look(&bytes, Origin::Client) {
            Ok(found) => assert!(is_fine && found.valid_bytes == good.len()),
            Err(error) => assert!(!is_fine && error.kind() == ErrorKind::CorruptMessage),
        }
    }
}

#[test]
fn rule_2_3_1_a_raft_leader_has_its_own_epoch_in_every_batch() {
    look(&stored(0, 5, 1), Origin::RaftLeader).unwrap();
    for epoch in [4, 6, -1] {
        assert_eq!(
            kind(look(&stored(0, epoch, 1), Origin::RaftLeader)),
            ErrorKind::InvalidRecord
        );
    }
}

#[test]
fn rule_2_3_2_the_base_offset_of_a_client_is_zero_and_comes_first() {
    let mut bytes = stored(5, 0, 1);
    assert_eq!(kind(look(&bytes, Origin::Client)), ErrorKind::InvalidRecord);
    look(&bytes, Origin::Coordinator).unwrap();
    // Before size and checksum.
    bytes[70] ^= 1;
    let error = analyze(&bytes, Origin::Client, LeaderEpoch(5), 20);
    assert_eq!(kind(error), ErrorKind::InvalidRecord);
}

#[test]
fn rule_2_3_3_followers_skip_from_the_first_batch_of_a_later_epoch_on() {
    let mut bytes = stored(8, 5, 1);
    let first = bytes.len();
    bytes.extend(stored(9, 6, 1));
    bytes.extend(stored(10, 5, 1));
    let found = look(&bytes, Origin::Replication).unwrap();
    assert_eq!((found.batches.len(), found.valid_bytes), (1, first));
    assert_eq!(
        (found.first_offset, found.last_offset),
        (Offset(8), Offset(8))
    );
    // A checksum is not looked at in what is skipped, a length is.
    *bytes.last_mut().unwrap() ^= 1;
    look(&bytes, Origin::Replication).unwrap();
    let second = first + 72;
    bytes[second + 8..second + 12].copy_from_slice(&3i32.to_be_bytes());
    assert_eq!(
        kind(look(&bytes, Origin::Replication)),
        ErrorKind::CorruptMessage
    );
    // The first one skipped: nothing is left, which is no error.
    assert_eq!(
        look(&stored(9, 9, 1), Origin::Replication)
            .unwrap()
            .valid_bytes,
        0
    );
    // No epoch is no later epoch.
    assert_eq!(
        look(&stored(9, -1, 1), Origin::Replication)
            .unwrap()
            .last_leader_epoch,
        None
    );
}

#[test]
fn rule_2_3_5_last_offsets_rise_where_they_are_brought() {
    let of = |bases: &[(i64, usize)]| -> Vec<u8> {
        bases
            .iter()
            .flat_map(|&(base, n)| stored(base, 5, n))
            .collect()
    };
    for origin in [Origin::Replication, Origin::RaftLeader] {
        // Only last offsets are compared, and gaps are fine.
        look(&of(&[(0, 5), (3, 4)]), origin).unwrap();
        look(&of(&[(0, 1), (9, 1)]), origin).unwrap();
        for bad in [of(&[(15, 2), (14, 1)]), of(&[(3, 2), (3, 2)])] {
            assert_eq!(kind(look(&bad, origin)), ErrorKind::OffsetsOutOfOrder);
        }
    }
    look(&of(&[(3, 2), (3, 2)]), Origin::Coordinator).unwrap();
}

#[test]
fn rule_2_3_7_sizes_are_checked_but_for_followers_equality_passes() {
    let batch = p(3);
    assert_eq!(batch.len(), 94);
    for origin in [Origin::Client, Origin::Coordinator, Origin::RaftLeader] {
        let batch = stored(0, 5, 3);
        let of = |max| analyze(&batch, origin, LeaderEpoch(5), max);
        assert_eq!(kind(of(93)), ErrorKind::MessageTooLarge, "{origin:?}");
        of(94).unwrap();
    }
    analyze(&batch, Origin::Replication, LeaderEpoch(5), 93).unwrap();
    // Size beats checksum.
    let mut broken = batch;
    broken[80] ^= 1;
    let of = |max| kind(analyze(&broken, Origin::Client, LeaderEpoch(5), max));
    assert_eq!(of(93), ErrorKind::MessageTooLarge);
    assert_eq!(of(94), ErrorKind::CorruptMessage);
}

#[test]
fn rule_2_3_8_a_header_that_is_not_whole_is_refused_behind_its_first_fields() {
    let mut short = p(1)[..50].to_vec();
    short[8..12].copy_from_slice(&38i32.to_be_bytes());
    let of = |bytes: &[u8], origin, max| kind(analyze(bytes, origin, LeaderEpoch(-1), max));
    assert_eq!(of(&short, Origin::Client, 100), ErrorKind::CorruptMessage);
    assert_eq!(of(&short, Origin::Client, 49), ErrorKind::MessageTooLarge);
    assert_eq!(
        of(&short, Origin::Replication, 49),
        ErrorKind::CorruptMessage
    );
    short[7] = 1;
    assert_eq!(of(&short, Origin::Client, 49), ErrorKind::InvalidRecord);
}

#[test]
fn rule_2_3_10_checksum_beats_codec_and_the_last_codec_is_the_source() {
    let mut unknown = patched(p(1), ATTRIBUTES_AT, [0, 5]);
    for origin in [Origin::Client, Origin::Replication] {
        assert_eq!(
            kind(look(&unknown, origin)),
            ErrorKind::UnsupportedCompressionType
        );
    }
    unknown[70] ^= 1;
    assert_eq!(
        kind(look(&unknown, Origin::Client)),
        ErrorKind::CorruptMessage
    );
    let mut two = packed(Codec::Gzip, &[(T0, None, None)]);
    two.extend(packed(Codec::Zstd, &[(T0, None, None)]));
    two.extend(p(1));
    assert_eq!(
        look(&two, Origin::Client).unwrap().source_codec,
        Codec::Zstd
    );
}

#[test]
fn rule_2_5_the_result_tells_of_first_and_last() {
    let mut bytes = stored(3, 4, 2);
    bytes.extend(stored(7, 5, 3));
    let valid = bytes.len();
    bytes.extend([0; 5]);
    let found = look(&bytes, Origin::Replication).unwrap();
    assert_eq!(found.valid_bytes, valid);
    assert_eq!(
        (found.first_offset, found.last_offset),
        (Offset(3), Offset(9))
    );
    assert_eq!(found.last_offset_of_first_batch, Offset(4));
    assert_eq!(found.last_leader_epoch, Some(LeaderEpoch(5)));
    assert_eq!(found.max_timestamp, TimestampMs(T0 + 2));
    assert_eq!(found.source_codec, Codec::None);
    let ranges: Vec<_> = found
        .batches
        .iter()
        .map(|(range, _)| range.clone())
        .collect();
    assert_eq!(ranges, [0..83, 83..177]);
    // Of magic 1 the first offset is not known.
    let old = super::legacy::messages(1, 2);
    let found = look(&old, Origin::Replication).unwrap();
    assert_eq!(
        (found.first_offset, found.last_offset_of_first_batch),
        (Offset::NONE, Offset(0))
    );
    assert_eq!(found.last_offset, Offset(1));
}

#[test]
fn hc29_every_lying_length_is_refused_or_a_partial_tail() {
    for length in [-1, 0, 13, 14, 48, 49, i32::MAX - 11, i32::MAX] {
        assert_eq!(
            kind(look(&with_length(length), Origin::Client)),
            ErrorKind::CorruptMessage,
            "length {length}"
        );
    }
    let found = look(&with_length(i32::MAX - 12), Origin::Client).unwrap();
    assert_eq!(found.valid_bytes, 0);
    // A cut batch behind a good one: exactly the good one counts.
    let good = with_length(58);
    let bytes = [&good[..], &good[..30]].concat();
    let found = look(&bytes, Origin::Client).unwrap();
    assert_eq!((found.valid_bytes, found.batches.len()), (70, 1));
}

#[test]
fn hc33_c_a_follower_batch_whose_range_goes_back_is_corrupt() {
    let mut bytes = stored(0, 0, 1);
    let back = stored(5, 0, 1);
    bytes.extend(patched(back, LAST_OFFSET_DELTA_AT, (-3i32).to_be_bytes()));
    for origin in [Origin::Replication, Origin::RaftLeader] {
        let found = analyze(&bytes, origin, LeaderEpoch(0), u32::MAX);
        assert_eq!(kind(found), ErrorKind::CorruptMessage, "{origin:?}");
    }
    // A range that passes the largest offset goes back too.
    let far = patched(stored(i64::MAX, 0, 1), LAST_OFFSET_DELTA_AT, [0, 0, 0, 1]);
    assert_eq!(
        kind(look(&far, Origin::Replication)),
        ErrorKind::CorruptMessage
    );
}

#[test]
fn hc33_d_a_follower_batch_may_cover_two_to_the_31_offsets() {
    let mut bytes = patched(
        stored(0, 0, 1),
        LAST_OFFSET_DELTA_AT,
        i32::MAX.to_be_bytes(),
    );
    bytes.extend(stored(1 << 31, 0, 1));
    let found = look(&bytes, Origin::Replication).unwrap();
    assert_eq!(found.last_offset, Offset(1 << 31));
}

#[test]
fn hc34_an_unknown_magic_is_corrupt_and_an_unknown_codec_has_its_own_error() {
    let magic_3 = patched(p(1), 16, [3]);
    assert_eq!(
        kind(look(&magic_3, Origin::Client)),
        ErrorKind::CorruptMessage
    );
    for codec in [5, 6, 7] {
        let bytes = patched(p(1), ATTRIBUTES_AT, [0, codec]);
        assert_eq!(
            kind(look(&bytes, Origin::Client)),
            ErrorKind::UnsupportedCompressionType
        );
    }
}
