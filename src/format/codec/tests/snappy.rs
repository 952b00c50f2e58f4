//! What is accepted of snappy, and what is written: records.md 5.3.

use super::{
    Codec, Decompressor, Lz4Header, TEXT, accepts, compress, concat, noise, records, refuses,
    refuses_to_begin,
};

const HEADER: &[u8] = b"\x82SNAPPY\0\0\0\0\x01\0\0\0\x01";

fn header(version: i32, compatible: i32) -> Vec<u8> {
    concat(&[
        b"\x82SNAPPY\0",
        &version.to_be_bytes(),
        &compatible.to_be_bytes(),
    ])
}

fn raw(content: &[u8]) -> Vec<u8> {
    snap::raw::Encoder::new()
        .compress_vec(content)
        .expect("compresses")
}

fn chunk(block: &[u8]) -> Vec<u8> {
    concat(&[
        &u32::try_from(block.len()).expect("short").to_be_bytes(),
        block,
    ])
}

/// A block that states `length` and then has the content as one literal of up to 60 bytes.
fn literal(length: &[u8], content: &[u8]) -> Vec<u8> {
    let tag = u8::try_from((content.len() - 1) << 2).expect("short");
    concat(&[length, &[tag], content])
}

#[test]
fn chunks_one_after_another_are_one_stream() {
    accepts(Codec::Snappy, HEADER, b"");
    accepts(Codec::Snappy, &concat(&[HEADER, &chunk(&raw(TEXT))]), TEXT);
    let both = concat(&[HEADER, &chunk(&raw(&TEXT[..9])), &chunk(&raw(&TEXT[9..]))]);
    accepts(Codec::Snappy, &both, TEXT);
    // Larger than Kafka writes.
    let large = records(200_000);
    accepts(
        Codec::Snappy,
        &concat(&[HEADER, &chunk(&raw(&large))]),
        &large,
    );
}

#[test]
fn versions_of_the_first_header_are_not_checked() {
    for (version, compatible) in [(0, 0), (2, 1), (99, 99), (-1, -1)] {
        accepts(
            Codec::Snappy,
            &concat(&[&header(version, compatible), &chunk(&raw(TEXT))]),
            TEXT,
        );
    }
}

#[test]
fn a_header_between_chunks_is_skipped() {
    let first = concat(&[HEADER, &chunk(&raw(&TEXT[..9]))]);
    let second = chunk(&raw(&TEXT[9..]));
    accepts(Codec::Snappy, &concat(&[&first, HEADER, &second]), TEXT);
    accepts(
        Codec::Snappy,
        &concat(&[&first, &header(3, 0), &second]),
        TEXT,
    );
    accepts(
        Codec::Snappy,
        &concat(&[HEADER, HEADER, &first, &second, HEADER]),
        TEXT,
    );
    for version in [0, -1, i32::MIN] {
        refuses(
            Codec::Snappy,
            &concat(&[&first, &header(version, 1), &second]),
            "header between chunks",
        );
    }
    for length in 4..16 {
        refuses(
            Codec::Snappy,
            &concat(&[&first, &HEADER[..length]]),
            "header between chunks",
        );
    }
    let other = concat(&[b"\x82SNAPPYX", &HEADER[8..]]);
    refuses(
        Codec::Snappy,
        &concat(&[&first, &other, &second]),
        "header between chunks",
    );
}

#[test]
fn a_stream_without_the_header_is_one_raw_block() {
    accepts(Codec::Snappy, &raw(TEXT), TEXT);
    accepts(Codec::Snappy, b"\0", b"");
    let large = records(200_000);
    accepts(Codec::Snappy, &raw(&large), &large);
    // Neither a header nor a block.
    refuses(Codec::Snappy, &HEADER[..15], "snappy");
    refuses(
        Codec::Snappy,
        &concat(&[&HEADER[..7], b"X", &HEADER[8..], &chunk(&raw(TEXT))]),
        "snappy",
    );
    refuses(Codec::Snappy, &concat(&[&raw(TEXT), b"\0"]), "snappy");
}

#[test]
fn up_to_three_stray_bytes_at_the_end_are_ignored() {
    for length in 1..=3 {
        let stray = &[1, 2, 3][..length];
        accepts(
            Codec::Snappy,
            &concat(&[HEADER, &chunk(&raw(TEXT)), stray]),
            TEXT,
        );
        accepts(Codec::Snappy, &concat(&[HEADER, stray]), b"");
    }
    refuses(
        Codec::Snappy,
        &concat(&[HEADER, &chunk(&raw(TEXT)), &[1, 2, 3, 4]]),
        "where 0 are left",
    );
}

#[test]
fn a_stream_without_bytes_is_refused() {
    refuses_to_begin(Codec::Snappy, b"", "no bytes");
}

#[test]
fn chunks_of_no_content_are_skipped_but_chunks_of_no_bytes_refused() {
    accepts(
        Codec::Snappy,
        &concat(&[HEADER, &chunk(b"\0"), &chunk(&raw(TEXT)), &chunk(b"\0")]),
        TEXT,
    );
    accepts(Codec::Snappy, &concat(&[HEADER, &chunk(b"\0")]), b"");
    refuses(
        Codec::Snappy,
        &concat(&[HEADER, &chunk(b""), &chunk(&raw(TEXT))]),
        "a block of 0 bytes",
    );
}

#[test]
fn a_chunk_longer_than_what_is_left_is_refused() {
    let block = raw(TEXT);
    for length in [block.len() + 1, 0x7fff_ffff, 0xffff_ffff] {
        let field = u32::try_from(length).expect("fits").to_be_bytes();
        refuses(
            Codec::Snappy,
            &concat(&[HEADER, &field, &block]),
            "are left",
        );
    }
}

#[test]
fn lengths_in_blocks_may_be_written_long() {
    accepts(Codec::Snappy, &literal(b"\x97\0", TEXT), TEXT);
    accepts(Codec::Snappy, &literal(b"\x97\x80\x80\x80\0", TEXT), TEXT);
}

#[test]
fn a_block_of_another_length_than_it_states_is_refused() {
    accepts(Codec::Snappy, &literal(b"\x17", TEXT), TEXT);
    refuses(Codec::Snappy, &literal(b"\x16", TEXT), "snappy");
    refuses(Codec::Snappy, &literal(b"\x18", TEXT), "snappy");
    refuses(
        Codec::Snappy,
        &concat(&[HEADER, &chunk(&literal(b"\x18", TEXT))]),
        "snappy",
    );
}

#[test]
fn copies_from_before_the_block_are_refused() {
    accepts(Codec::Snappy, b"\x06\0a\x05\x01", b"aaaaaa");
    refuses(Codec::Snappy, b"\x06\0a\x05\x00", "snappy");
    refuses(Codec::Snappy, b"\x06\0a\x05\x02", "snappy");
}

#[test]
fn a_stated_length_allocates_nothing_before_the_bytes_could_make_it() {
    let claims: [&[u8]; 4] = [
        b"\xff\xff\xff\xff\x0f",
        b"\x80\x80\x80\x80\x08",
        b"\x80\x80\x80\x80\x04",
        b"\x80\x80\x80\x80\x10",
    ];
    for claim in claims {
        for stream in [
            literal(claim, TEXT),
            concat(&[HEADER, &chunk(&literal(claim, TEXT))]),
        ] {
            let mut decompressor = Decompressor::new();
            let mut out = Vec::new();
            decompressor
                .begin(Codec::Snappy, Lz4Header::Checked, &stream)
                .expect("begins");
            decompressor
                .read_into(&stream, &mut out, usize::MAX)
                .expect_err("refused");
            assert_eq!(out.capacity(), 0);
            assert_eq!(decompressor.memory(), 0);
        }
    }
}

#[test]
fn the_bound_of_expansion_lets_the_best_compression_pass() {
    // One byte, then copies of 64 bytes in 3 bytes each: nothing expands more.
    let copies = 1000;
    let mut length = 1 + 64 * copies;
    let mut block = Vec::new();
    while length > 0x7f {
        block.push(u8::try_from(length & 0x7f).expect("7 bits") | 0x80);
        length >>= 7;
    }
    block.push(u8::try_from(length).expect("7 bits"));
    block.extend_from_slice(b"\0z");
    for _ in 0..copies {
        block.extend_from_slice(&[63 << 2 | 2, 1, 0]);
    }
    accepts(Codec::Snappy, &block, &vec![b'z'; 1 + 64 * copies]);
}

#[test]
fn what_is_written_is_the_header_and_chunks_of_32_kib() {
    for content in [records(100_000), noise(32_769), noise(32_768), Vec::new()] {
        let stream = compress(Codec::Snappy, None, &content);
        assert_eq!(stream[..16], *HEADER);
        let mut rest = &stream[16..];
        let mut sizes = Vec::new();
        while !rest.is_empty() {
            let size = u32::from_be_bytes(rest[..4].try_into().expect("4 bytes")) as usize;
            sizes.push(snap::raw::decompress_len(&rest[4..4 + size]).expect("a block"));
            rest = &rest[4 + size..];
        }
        assert_eq!(
            sizes,
            content.chunks(32_768).map(<[u8]>::len).collect::<Vec<_>>()
        );
    }
}
