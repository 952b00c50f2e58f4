//! What is accepted of zstd, and what is written: records.md 5.5.

use zstd::zstd_safe::{CCtx, CParameter};

use super::{
    Codec, Decompressor, Lz4Header, TEXT, accepts, compress, concat, decompress, records, refuses,
};

const MAGIC: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];
const SKIPPABLE: &[u8] = b"\x50\x2a\x4d\x18\x04\0\0\0abcd";

/// A frame with these flags.
fn frame(content: &[u8], content_size: bool, checksum: bool) -> Vec<u8> {
    let mut context = CCtx::create();
    context
        .set_parameter(CParameter::ContentSizeFlag(content_size))
        .expect("a parameter");
    context
        .set_parameter(CParameter::ChecksumFlag(checksum))
        .expect("a parameter");
    let mut out = Vec::with_capacity(zstd::zstd_safe::compress_bound(content.len()));
    context.compress2(&mut out, content).expect("compresses");
    out
}

/// A frame of one uncompressed block, with this window byte.
fn frame_of_window(window: u8, content: &[u8]) -> Vec<u8> {
    let field = u32::try_from(content.len() << 3 | 1)
        .expect("short")
        .to_le_bytes();
    concat(&[MAGIC, &[0, window], &field[..3], content])
}

#[test]
fn any_content_size_and_checksum_is_accepted() {
    let long = records(300_000);
    for content_size in [false, true] {
        for checksum in [false, true] {
            accepts(Codec::Zstd, &frame(TEXT, content_size, checksum), TEXT);
            accepts(Codec::Zstd, &frame(b"", content_size, checksum), b"");
            let read = decompress(
                Codec::Zstd,
                Lz4Header::Checked,
                &frame(&long, content_size, checksum),
                1 << 20,
            );
            assert!(read.expect("decodes") == long);
        }
    }
}

#[test]
fn checksums_are_verified() {
    let good = frame(TEXT, false, true);
    for at in good.len() - 4..good.len() {
        let mut bad = good.clone();
        bad[at] ^= 1;
        refuses(Codec::Zstd, &bad, "checksum");
    }
}

#[test]
fn frames_and_skippable_frames_follow_one_another() {
    let frame = frame(TEXT, false, true);
    let empty_skippable = b"\x5f\x2a\x4d\x18\0\0\0\0";
    accepts(
        Codec::Zstd,
        &concat(&[&frame, &frame]),
        &concat(&[TEXT, TEXT]),
    );
    accepts(Codec::Zstd, &concat(&[SKIPPABLE, &frame]), TEXT);
    accepts(
        Codec::Zstd,
        &concat(&[&frame, SKIPPABLE, empty_skippable]),
        TEXT,
    );
    accepts(
        Codec::Zstd,
        &concat(&[SKIPPABLE, &frame, SKIPPABLE, &frame, SKIPPABLE]),
        &concat(&[TEXT, TEXT]),
    );
    accepts(Codec::Zstd, SKIPPABLE, b"");
}

#[test]
fn a_stream_without_bytes_is_empty() {
    accepts(Codec::Zstd, b"", b"");
}

#[test]
fn windows_up_to_128_mib_are_accepted() {
    for window in [0x00, 0x58, 0x80, 0x87, 0x88] {
        accepts(Codec::Zstd, &frame_of_window(window, TEXT), TEXT);
    }
    for window in [0x89, 0x8f, 0x90, 0xff] {
        refuses(
            Codec::Zstd,
            &frame_of_window(window, TEXT),
            "too much memory",
        );
    }
    // A content size in place of a window: 2^27 passes and is then found wrong, above it fails at once.
    let single = |size: u64| {
        concat(&[
            MAGIC,
            &[0xe0],
            &size.to_le_bytes(),
            &frame_of_window(0, TEXT)[6..],
        ])
    };
    refuses(Codec::Zstd, &single(1 << 27), "corrupt");
    refuses(Codec::Zstd, &single((1 << 27) + 1), "too much memory");
    refuses(Codec::Zstd, &single(u64::MAX - 2), "too much memory");
}

#[test]
fn memory_of_a_large_window_is_given_back() {
    let large = frame_of_window(0x88, TEXT);
    let small = frame_of_window(0x58, TEXT);
    let mut decompressor = Decompressor::new();
    let mut out = Vec::new();
    decompressor
        .begin(Codec::Zstd, Lz4Header::Checked, &large)
        .expect("begins");
    decompressor
        .read_into(&large, &mut out, 100)
        .expect("reads");
    assert!(decompressor.memory() > 1 << 27);
    decompressor
        .begin(Codec::Zstd, Lz4Header::Checked, &small)
        .expect("begins");
    decompressor
        .read_into(&small, &mut out, 100)
        .expect("reads");
    assert!(decompressor.memory() < 4 << 20);
}

#[test]
fn a_stream_that_is_cut_off_is_refused() {
    let good = frame(TEXT, false, true);
    for length in 1..good.len() {
        refuses(Codec::Zstd, &good[..length], "cut off");
        refuses(Codec::Zstd, &concat(&[&good, &good[..length]]), "cut off");
    }
    for length in 1..SKIPPABLE.len() {
        refuses(
            Codec::Zstd,
            &concat(&[&good, &SKIPPABLE[..length]]),
            "cut off",
        );
    }
}

#[test]
fn bytes_that_are_no_frame_are_refused() {
    let good = frame(TEXT, false, true);
    for length in 1..10 {
        refuses(
            Codec::Zstd,
            &concat(&[&good, &[0; 10][..length]]),
            "frame descriptor",
        );
    }
    refuses(Codec::Zstd, b"PK\x03\x04", "frame descriptor");
    // A frame of version 0.7.
    refuses(
        Codec::Zstd,
        &concat(&[b"\x27", &good[1..]]),
        "frame descriptor",
    );
    let reserved = concat(&[MAGIC, b"\x08", &good[5..]]);
    refuses(Codec::Zstd, &reserved, "Unsupported frame parameter");
    let dictionary = concat(&[MAGIC, b"\x01\x58\x05", &frame_of_window(0, TEXT)[6..]]);
    refuses(Codec::Zstd, &dictionary, "ictionary");
}

#[test]
fn what_is_written_is_one_frame_without_content_size_and_checksum() {
    for content in [b"".to_vec(), TEXT.to_vec(), records(300_000)] {
        for level in [None, Some(-5), Some(1), Some(19)] {
            let stream = compress(Codec::Zstd, level, &content);
            assert_eq!(stream[..4], *MAGIC);
            assert_eq!(
                stream[4], 0,
                "no content size, no single segment, no checksum, no dictionary"
            );
            assert_eq!(
                zstd::zstd_safe::find_frame_compressed_size(&stream),
                Ok(stream.len())
            );
        }
    }
}

#[test]
fn levels_are_those_of_zstd() {
    let content = records(50_000);
    assert_eq!(
        compress(Codec::Zstd, Some(3), &content),
        compress(Codec::Zstd, None, &content)
    );
    assert!(
        compress(Codec::Zstd, Some(-100_000), &content).len()
            > compress(Codec::Zstd, Some(1), &content).len()
    );
    assert!(
        compress(Codec::Zstd, Some(22), &content).len()
            < compress(Codec::Zstd, Some(1), &content).len()
    );
    assert_eq!(
        compress(Codec::Zstd, Some(i32::MAX), &content),
        compress(Codec::Zstd, Some(22), &content)
    );
    assert_eq!(
        compress(Codec::Zstd, Some(i32::MIN), &content),
        compress(Codec::Zstd, Some(-131_072), &content)
    );
}
