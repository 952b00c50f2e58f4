//! What is accepted of LZ4, row by row of the table in records.md 5.4, and what is written.

use twox_hash::XxHash32;

use super::{
    Codec, Compressor, Decompressor, Lz4Header, TEXT, accepts, compress, concat, decompress, noise,
    records, refuses, refuses_to_begin,
};

const MAGIC: &[u8] = &[0x04, 0x22, 0x4d, 0x18];
const END: &[u8] = &[0; 4];

/// A frame header with a right checksum; `size` is there if FLG says so.
fn header(flg: u8, bd: u8, size: &[u8]) -> Vec<u8> {
    let descriptor = concat(&[&[flg, bd], size]);
    let checksum = XxHash32::oneshot(0, &descriptor).to_le_bytes()[1];
    concat(&[MAGIC, &descriptor, &[checksum]])
}

fn usual() -> Vec<u8> {
    header(0x60, 0x40, b"")
}

fn stored(content: &[u8]) -> Vec<u8> {
    let field = u32::try_from(content.len()).expect("short") | 0x8000_0000;
    concat(&[&field.to_le_bytes(), content])
}

fn compressed(block: &[u8]) -> Vec<u8> {
    concat(&[
        &u32::try_from(block.len()).expect("short").to_le_bytes(),
        block,
    ])
}

fn block_of(content: &[u8]) -> Vec<u8> {
    lz4_flex::block::compress(content)
}

fn checksum(block: &[u8]) -> [u8; 4] {
    XxHash32::oneshot(0, block).to_le_bytes()
}

/// A whole frame around blocks.
fn frame(blocks: &[u8]) -> Vec<u8> {
    concat(&[&usual(), blocks, END])
}

#[test]
fn content_size_is_skipped() {
    for size in [TEXT.len() as u64, 7, 0, u64::MAX] {
        let header = header(0x68, 0x40, &size.to_le_bytes());
        accepts(Codec::Lz4, &concat(&[&header, &stored(TEXT), END]), TEXT);
    }
    let header = header(0x68, 0x40, &[0; 8]);
    for length in 6..header.len() {
        refuses_to_begin(Codec::Lz4, &header[..length], "header is cut off");
    }
}

#[test]
fn every_block_size_is_accepted() {
    for bd in [0x40, 0x50, 0x60, 0x70] {
        accepts(
            Codec::Lz4,
            &concat(&[&header(0x60, bd, b""), &stored(TEXT), END]),
            TEXT,
        );
    }
}

#[test]
fn stored_and_compressed_blocks_follow_one_another() {
    let content = records(5000);
    let blocks = concat(&[
        &stored(TEXT),
        &compressed(&block_of(&content)),
        &stored(b"x"),
        &compressed(&block_of(TEXT)),
    ]);
    accepts(
        Codec::Lz4,
        &frame(&blocks),
        &concat(&[TEXT, &content, b"x", TEXT]),
    );
    accepts(Codec::Lz4, &frame(b""), b"");
    // A block of no content is no end.
    accepts(
        Codec::Lz4,
        &frame(&concat(&[
            &compressed(b"\0"),
            &stored(TEXT),
            &compressed(b"\0"),
        ])),
        TEXT,
    );
}

#[test]
fn block_checksums_are_verified() {
    let block = block_of(&records(300));
    let header = header(0x70, 0x40, b"");
    for (field, body, content) in [
        (stored(TEXT), TEXT, TEXT),
        (compressed(&block), &block, &records(300)),
    ] {
        let right = checksum(body);
        accepts(
            Codec::Lz4,
            &concat(&[&header, &field, &right, END]),
            content,
        );
        accepts(
            Codec::Lz4,
            &concat(&[&header, &field, &right, &field, &right, END]),
            &concat(&[content, content]),
        );
        let wrong = right.map(|byte| byte ^ 0x10);
        refuses(
            Codec::Lz4,
            &concat(&[&header, &field, &wrong, END]),
            "block checksum 0x",
        );
        for length in 0..4 {
            refuses(
                Codec::Lz4,
                &concat(&[&header, &field, &right[..length]]),
                "block checksum is cut off",
            );
        }
    }
}

#[test]
fn a_content_checksum_is_required_but_not_verified() {
    let before = concat(&[&header(0x64, 0x40, b""), &stored(TEXT), END]);
    accepts(Codec::Lz4, &concat(&[&before, &checksum(TEXT)]), TEXT);
    accepts(Codec::Lz4, &concat(&[&before, &[1, 2, 3, 4]]), TEXT);
    accepts(
        Codec::Lz4,
        &concat(&[&before, &[1, 2, 3, 4], b"and more"]),
        TEXT,
    );
    for length in 0..4 {
        refuses(
            Codec::Lz4,
            &concat(&[&before, &[1, 2, 3][..length.min(3)]]),
            "content checksum is cut off",
        );
    }
}

#[test]
fn exactly_the_flags_that_kafka_takes_are_taken() {
    for flg in 0..=u8::MAX {
        let size: &[u8] = if flg & 0x08 == 0 { b"" } else { &[0; 8] };
        let block_checksum = checksum(TEXT);
        let after_block: &[u8] = if flg & 0x10 == 0 {
            b""
        } else {
            &block_checksum
        };
        let after_end: &[u8] = if flg & 0x04 == 0 { b"" } else { &[0; 4] };
        let frame = concat(&[
            &header(flg, 0x40, size),
            &stored(TEXT),
            after_block,
            END,
            after_end,
        ]);
        if matches!(flg, 0x60 | 0x64 | 0x68 | 0x6c | 0x70 | 0x74 | 0x78 | 0x7c) {
            accepts(Codec::Lz4, &frame, TEXT);
        } else {
            let why = match flg {
                _ if flg & 0x03 != 0 => "reserved bits or a dictionary",
                _ if flg & 0xc0 != 0x40 => "version",
                _ => "depend on one another",
            };
            refuses_to_begin(Codec::Lz4, &frame, why);
        }
    }
}

#[test]
fn other_block_sizes_and_reserved_bits_are_refused() {
    for bd in 0..=u8::MAX {
        if !matches!(bd, 0x40 | 0x50 | 0x60 | 0x70) {
            let frame = concat(&[&header(0x60, bd, b""), &stored(TEXT), END]);
            let why = if bd & 0x8f == 0 {
                "below 64 KiB"
            } else {
                "reserved bits"
            };
            refuses_to_begin(Codec::Lz4, &frame, why);
        }
    }
}

#[test]
fn a_wrong_header_checksum_is_refused_except_in_magic_0() {
    let good = frame(&stored(TEXT));
    for bit in 0..8 {
        let mut bad = good.clone();
        bad[6] ^= 1 << bit;
        refuses_to_begin(
            Codec::Lz4,
            &bad,
            "header checksum 0x82 where the frame says",
        );
        let read = decompress(Codec::Lz4, Lz4Header::LegacyUnchecked, &bad, 100);
        assert_eq!(read.expect("ignored"), TEXT);
    }
    assert_eq!(
        decompress(Codec::Lz4, Lz4Header::LegacyUnchecked, &good, 100).expect("ignored"),
        TEXT
    );
    // Only its value is ignored.
    assert!(
        Decompressor::new()
            .begin(Codec::Lz4, Lz4Header::LegacyUnchecked, &good[..6])
            .is_err()
    );
}

#[test]
fn a_block_larger_than_the_frame_allows_is_refused() {
    let sizes = [
        (0x40, 1 << 16),
        (0x50, 1 << 18),
        (0x60, 1 << 20),
        (0x70, 1 << 22),
    ];
    for (bd, max) in sizes {
        let header = header(0x60, bd, b"");
        let zeros = vec![0; max + 1];
        let read = |block: &[u8]| {
            decompress(
                Codec::Lz4,
                Lz4Header::Checked,
                &concat(&[&header, block, END]),
                usize::MAX,
            )
            .map(|read| read.len())
        };
        assert_eq!(read(&stored(&zeros[..max])).expect("fits"), max);
        assert_eq!(
            read(&compressed(&block_of(&zeros[..max]))).expect("fits"),
            max
        );
        let error = read(&stored(&zeros)).expect_err("too large");
        assert!(error.message().contains(&format!(
            "a block of {} bytes in a frame of blocks up to {max}",
            max + 1
        )));
        read(&compressed(&zeros)).expect_err("too large before it is looked at");
        read(&compressed(&block_of(&zeros))).expect_err("too large when decoded");
    }
}

#[test]
fn an_end_mark_is_required() {
    let cut = concat(&[&usual(), &stored(TEXT)]);
    for length in 0..4 {
        refuses(Codec::Lz4, &concat(&[&cut, &END[..length]]), "no end mark");
    }
    refuses(Codec::Lz4, &usual(), "no end mark");
}

#[test]
fn a_stored_block_of_no_bytes_is_an_end_mark_too() {
    accepts(
        Codec::Lz4,
        &concat(&[&usual(), &stored(TEXT), &0x8000_0000_u32.to_le_bytes()]),
        TEXT,
    );
}

#[test]
fn what_follows_the_end_mark_is_ignored() {
    accepts(Codec::Lz4, &concat(&[&frame(&stored(TEXT)), b"junk"]), TEXT);
    accepts(
        Codec::Lz4,
        &concat(&[&frame(&stored(TEXT)), &frame(&stored(b"second"))]),
        TEXT,
    );
}

#[test]
fn other_frames_are_refused() {
    let skippable = b"\x50\x2a\x4d\x18\x04\0\0\0abcd";
    refuses_to_begin(
        Codec::Lz4,
        &concat(&[skippable, &frame(&stored(TEXT))]),
        "begins with 50 2a 4d 18",
    );
    refuses_to_begin(
        Codec::Lz4,
        &concat(&[b"\x02\x21\x4c\x18", &compressed(&block_of(TEXT))]),
        "begins with",
    );
    for length in 0..7 {
        refuses_to_begin(Codec::Lz4, &usual()[..length], "header is cut off");
    }
}

#[test]
fn blocks_that_are_none_are_refused() {
    let block = block_of(&records(400));
    refuses(
        Codec::Lz4,
        &concat(&[&usual(), &compressed(&block)[..block.len()]]),
        "are left",
    );
    refuses(
        Codec::Lz4,
        &frame(&compressed(&block[..block.len() - 1])),
        "in a block",
    );
    let bad: [&[u8]; 6] = [
        b"\x64hello \0\0\x70world12",        // offset 0
        b"\x64hello \x07\0\x70world12",      // offset before the block
        b"\x64hello \x06\0",                 // ends with a match
        b"\x64hello \x06\0\x70world",        // literals that are not there
        b"\xf0\xff\xff\xff\xff",             // an endless length of literals
        b"\x6fhello \x06\0\xff\xff\xff\xff", // an endless length of a match
    ];
    for block in bad {
        refuses(Codec::Lz4, &frame(&compressed(block)), "in a block");
    }
    accepts(
        Codec::Lz4,
        &frame(&compressed(b"\x64hello \x06\0\x70world12")),
        b"hello hello heworld12",
    );
}

#[test]
fn a_large_block_size_allocates_nothing_by_itself() {
    let mut decompressor = Decompressor::new();
    let input = concat(&[&header(0x60, 0x70, b""), &compressed(&block_of(TEXT)), END]);
    decompressor
        .begin(Codec::Lz4, Lz4Header::Checked, &input)
        .expect("begins");
    let mut out = Vec::new();
    while decompressor
        .read_into(&input, &mut out, usize::MAX)
        .expect("reads")
        > 0
    {}
    assert!(decompressor.memory() <= 256 * TEXT.len());
}

#[test]
fn what_is_written_has_kafkas_header_and_blocks_of_64_kib() {
    let legacy = {
        let mut out = Vec::new();
        Compressor::new()
            .compress(Codec::Lz4, None, Lz4Header::LegacyUnchecked, TEXT, &mut out)
            .expect("compresses");
        out
    };
    assert_eq!(legacy[..7], *b"\x04\x22\x4d\x18\x60\x40\x1a");
    for level in [None, Some(1), Some(17)] {
        for content in [
            records(200_000),
            noise(65_537),
            noise(65_536),
            noise(100),
            Vec::new(),
        ] {
            let stream = compress(Codec::Lz4, level, &content);
            assert_eq!(stream[..7], *b"\x04\x22\x4d\x18\x60\x40\x82");
            assert_eq!(stream[stream.len() - 4..], *END);
            let mut rest = &stream[7..];
            for block in content.chunks(65_536) {
                let field = u32::from_le_bytes(rest[..4].try_into().expect("4 bytes"));
                let size = (field & 0x7fff_ffff) as usize;
                let body = &rest[4..4 + size];
                if field & 0x8000_0000 == 0 {
                    assert!(size < block.len(), "compressed but not smaller");
                    assert_eq!(
                        lz4_flex::block::decompress(body, block.len()).expect("a block"),
                        block
                    );
                } else {
                    assert_eq!(body, block, "stored");
                }
                rest = &rest[4 + size..];
            }
            assert_eq!(rest, END);
        }
    }
    assert_eq!(
        compress(Codec::Lz4, None, &noise(100))[7..11],
        0x8000_0064_u32.to_le_bytes()
    );
}

#[test]
fn level_9_is_the_fast_compressor_and_others_are_high_compression() {
    let content = records(65_536);
    let fast = compress(Codec::Lz4, None, &content);
    assert_eq!(compress(Codec::Lz4, Some(9), &content), fast);
    for level in (1..=17).filter(|&level| level != 9) {
        let high = compress(Codec::Lz4, Some(level), &content);
        assert!(
            high.len() < fast.len(),
            "level {level}: {} of {}",
            high.len(),
            fast.len()
        );
        accepts_content(&high, &content);
    }
    assert_eq!(
        compress(Codec::Lz4, Some(0), &content),
        compress(Codec::Lz4, Some(1), &content)
    );
    assert_eq!(
        compress(Codec::Lz4, Some(99), &content),
        compress(Codec::Lz4, Some(17), &content)
    );
}

fn accepts_content(stream: &[u8], content: &[u8]) {
    assert!(
        decompress(Codec::Lz4, Lz4Header::Checked, stream, usize::MAX).expect("decodes") == content
    );
}
