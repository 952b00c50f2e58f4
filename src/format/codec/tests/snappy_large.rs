//! Blocks of snappy that are read piece by piece give the bytes that they give as a whole.

use proptest::prelude::*;

use super::super::snappy_large::LargeBlock;
use super::{Codec, Decompressor, Lz4Header, concat, decompress, noise, records};
use crate::ErrorKind;

fn varint(mut n: usize) -> Vec<u8> {
    let mut out = Vec::new();
    while n >= 128 {
        out.push(u8::try_from(n & 127).expect("7 bits") | 128);
        n >>= 7;
    }
    out.push(u8::try_from(n).expect("7 bits"));
    out
}

/// An element of a block.
#[derive(Clone, Debug)]
enum Part {
    /// So many bytes, with their number in so many bytes behind the tag.
    Literal(usize, usize),
    /// A copy of a kind: how many bytes, from how far back.
    Copy(usize, usize, usize),
}

fn part() -> impl Strategy<Value = Part> {
    prop_oneof![
        (1..=60usize).prop_map(|n| Part::Literal(n, 0)),
        (1..400usize, 2..=4usize).prop_map(|(n, extra)| Part::Literal(n, extra)),
        (4..=11usize, 1..2048usize).prop_map(|(n, back)| Part::Copy(1, n, back)),
        (1..=64usize, 1..70_000usize).prop_map(|(n, back)| Part::Copy(2, n, back % 65_536)),
        (1..=64usize, 1..300_000usize).prop_map(|(n, back)| Part::Copy(3, n, back)),
    ]
}

fn write(block: &mut Vec<u8>, part: &Part) -> usize {
    let byte = |n: usize| u8::try_from(n).expect("a byte");
    match *part {
        Part::Literal(n, 0) => {
            block.push(byte((n - 1) << 2));
            block.extend(noise(n));
            n
        }
        Part::Literal(n, extra) => {
            block.push(byte((59 + extra) << 2));
            block.extend_from_slice(&(n - 1).to_le_bytes()[..extra]);
            block.extend(noise(n));
            n
        }
        Part::Copy(1, n, back) => {
            block.extend([byte((back >> 8) << 5 | (n - 4) << 2 | 1), byte(back & 255)]);
            n
        }
        Part::Copy(kind, n, back) => {
            block.push(byte((n - 1) << 2 | kind));
            let extra = if kind == 2 { 2 } else { 4 };
            block.extend_from_slice(&back.to_le_bytes()[..extra]);
            n
        }
    }
}

/// Reads a block in pieces, with something behind it that is not its own.
fn in_pieces(block: &[u8], stated: usize, max: usize) -> crate::Result<Option<Vec<u8>>> {
    let Some(mut large) = LargeBlock::begin(block, stated)? else {
        return Ok(None);
    };
    let stream = concat(&[block, b"more"]);
    let mut input = &stream[block.len() - large.unread()..];
    let mut out = Vec::new();
    while large.read_into(&mut input, &mut out, max)? > 0 {}
    assert_eq!(input, b"more");
    Ok(Some(out))
}

proptest! {
    #[test]
    fn any_block_is_read_as_snap_reads_it(
        parts in proptest::collection::vec(part(), 1..60),
        flips in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..2),
        off in prop_oneof![6 => Just(0usize), 1 => Just(1usize)],
        max in prop_oneof![Just(1usize), Just(100), Just(usize::MAX)],
    ) {
        let mut body = Vec::new();
        // Something that copies may refer to.
        let mut total = write(&mut body, &Part::Literal(300, 3));
        for part in &parts {
            let part = match part {
                Part::Copy(kind, n, back) => Part::Copy(*kind, *n, (back % total).max(1)),
                literal @ Part::Literal(..) => literal.clone(),
            };
            total += write(&mut body, &part);
        }
        for (at, value) in flips {
            let at = at.index(body.len());
            body[at] = value;
        }
        let block = concat(&[&varint(total + off), &body]);
        let whole = snap::raw::Decoder::new().decompress_vec(&block);
        match (in_pieces(&block, total + off, max), whole) {
            (Ok(Some(pieces)), Ok(whole)) => prop_assert!(pieces == whole),
            (Err(e), Err(_)) => prop_assert_eq!(e.kind(), ErrorKind::CorruptMessage),
            (pieces, whole) => prop_assert!(false, "{:?} {:?}", pieces.map(|_| ()), whole.map(|_| ())),
        }
    }
}

#[test]
fn what_writers_write_is_read_in_little_memory() {
    for content in [records(9 << 20), noise(5 << 20), vec![7; 100 << 20]] {
        let block = snap::raw::Encoder::new()
            .compress_vec(&content)
            .expect("compresses");
        let mut decompressor = Decompressor::new();
        decompressor
            .begin(Codec::Snappy, Lz4Header::Checked, &block)
            .expect("begins");
        let (mut out, mut at) = (Vec::new(), 0);
        loop {
            out.clear();
            let read = decompressor
                .read_into(&block, &mut out, 65_536)
                .expect("reads");
            assert!(out == content[at..at + read], "at {at}");
            at += read;
            assert!(decompressor.memory() <= 1 << 20);
            if read == 0 {
                break;
            }
        }
        assert_eq!(at, content.len());
    }
}

/// No writer is known that refers so far back; such a block is held as a whole, where that is allowed.
#[test]
fn a_block_that_refers_far_back_is_read_all_the_same() {
    let mut body = Vec::new();
    let mut total = 0;
    for _ in 0..14_000 {
        total += write(&mut body, &Part::Literal(399, 2));
    }
    total += write(&mut body, &Part::Copy(3, 64, total - 5));
    let block = concat(&[&varint(total), &body]);
    assert!(
        LargeBlock::begin(&block, total)
            .expect("is whole")
            .is_none()
    );
    let whole = snap::raw::Decoder::new()
        .decompress_vec(&block)
        .expect("decompresses");
    let read = decompress(Codec::Snappy, Lz4Header::Checked, &block, 65_536).expect("reads");
    assert!(read == whole);
    let mut decompressor = Decompressor::new();
    let mut out = Vec::new();
    decompressor
        .begin(Codec::Snappy, Lz4Header::Checked, &block)
        .expect("begins");
    assert_eq!(
        decompressor.read_into(&block, &mut out, 10).expect("reads"),
        10
    );
    assert!(decompressor.memory() >= total);
    // It is given back.
    decompressor
        .begin(Codec::Snappy, Lz4Header::Checked, b"\0")
        .expect("begins");
    assert_eq!(decompressor.memory(), 0);
    decompressor.bound_memory(4 << 20);
    decompressor
        .begin(Codec::Snappy, Lz4Header::Checked, &block)
        .expect("begins");
    let refused = decompressor.read_into(&block, &mut Vec::new(), 65_536);
    assert_eq!(refused.expect_err("too large").kind(), ErrorKind::TooLarge);
}
