//! Tests of all codecs together; what each one accepts and writes is in the files beside.
#![allow(clippy::indexing_slicing, clippy::panic)] // a test may fail

mod golden;
mod gzip;
mod hostile;
mod lz4;
mod round_trip;
mod snappy;
mod snappy_large;
mod zstd;

use super::{Codec, Compressor, Decompressor, Lz4Header};
use crate::{ErrorKind, Result};

/// Some content that compresses a little.
const TEXT: &[u8] = b"hello hello hello world";

/// Reads a stream to its end by a new decompressor.
fn decompress(codec: Codec, header: Lz4Header, input: &[u8], max: usize) -> Result<Vec<u8>> {
    let mut decompressor = Decompressor::new();
    decompressor.begin(codec, header, input)?;
    let mut out = Vec::new();
    loop {
        let before = out.len();
        let read = decompressor.read_into(input, &mut out, max)?;
        assert!(read <= max, "{codec}: {read} bytes where {max} were wanted");
        assert_eq!(out.len(), before + read);
        if read == 0 {
            assert_eq!(
                decompressor.read_into(input, &mut out, max)?,
                0,
                "{codec}: the end stays the end"
            );
            return Ok(out);
        }
    }
}

/// The stream is read as `expected`, in one piece and byte by byte.
#[track_caller]
fn accepts(codec: Codec, input: &[u8], expected: &[u8]) {
    for max in [usize::MAX, 7, 1] {
        match decompress(codec, Lz4Header::Checked, input, max) {
            Ok(found) => assert_eq!(found, expected, "by {max} bytes"),
            Err(error) => panic!("refused by {max} bytes: {error:?}"),
        }
    }
}

/// The stream is refused as corrupt, with a message that has `why` in it.
#[track_caller]
fn refuses(codec: Codec, input: &[u8], why: &str) {
    for max in [usize::MAX, 7, 1] {
        let error = decompress(codec, Lz4Header::Checked, input, max).expect_err("accepted");
        assert_eq!(error.kind(), ErrorKind::CorruptMessage);
        assert!(
            error
                .message()
                .starts_with(&format!("not a valid {codec} stream: ")),
            "{error}"
        );
        assert!(error.message().contains(why), "{error}");
    }
}

/// The stream is refused before anything of it is read.
#[track_caller]
fn refuses_to_begin(codec: Codec, input: &[u8], why: &str) {
    assert!(
        Decompressor::new()
            .begin(codec, Lz4Header::Checked, input)
            .is_err(),
        "begun"
    );
    refuses(codec, input, why);
}

fn compress(codec: Codec, level: Option<i32>, input: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    Compressor::new()
        .compress(codec, level, Lz4Header::Checked, input, &mut out)
        .expect("compresses");
    out
}

/// Bytes that do not compress; the same ones each time.
fn noise(count: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()[3]
    };
    std::iter::repeat_with(next).take(count).collect()
}

/// Bytes that compress as records do.
fn records(count: usize) -> Vec<u8> {
    let records = (0_u64..).flat_map(|i| {
        let amount = i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 48;
        format!("{{\"id\":{i},\"amount\":{amount},\"state\":\"open\"}}\0\u{2}").into_bytes()
    });
    records.take(count).collect()
}

fn concat(parts: &[&[u8]]) -> Vec<u8> {
    parts.concat()
}

#[test]
fn ids_map_back_to_their_codecs_and_others_to_none() {
    for codec in Codec::ALL {
        assert_eq!(Codec::from_id(codec.id()), Some(codec));
    }
    for id in 5..=u8::MAX {
        assert_eq!(Codec::from_id(id), None);
    }
}

#[test]
fn output_is_appended_to_what_is_there() {
    for codec in Codec::ALL {
        let mut compressed = b"before".to_vec();
        Compressor::new()
            .compress(codec, None, Lz4Header::Checked, TEXT, &mut compressed)
            .expect("compresses");
        assert_eq!(compressed[..6], *b"before");
        let mut decompressor = Decompressor::new();
        decompressor
            .begin(codec, Lz4Header::Checked, &compressed[6..])
            .expect("begins");
        let mut out = b"kept".to_vec();
        while decompressor
            .read_into(&compressed[6..], &mut out, 5)
            .expect("reads")
            > 0
        {}
        assert_eq!(out, concat(&[b"kept", TEXT]));
    }
}

#[test]
fn a_read_of_no_bytes_does_nothing() {
    for codec in Codec::ALL {
        let compressed = compress(codec, None, TEXT);
        let mut decompressor = Decompressor::new();
        decompressor
            .begin(codec, Lz4Header::Checked, &compressed)
            .expect("begins");
        let mut out = Vec::new();
        assert_eq!(
            decompressor
                .read_into(&compressed, &mut out, 0)
                .expect("reads"),
            0
        );
        while decompressor
            .read_into(&compressed, &mut out, 100)
            .expect("reads")
            > 0
        {}
        assert_eq!(out, TEXT);
    }
}

#[test]
fn a_failure_leaves_the_output_alone_and_stays() {
    for codec in [Codec::Gzip, Codec::Snappy, Codec::Lz4, Codec::Zstd] {
        let mut cut = compress(codec, None, &noise(1000));
        cut.truncate(cut.len() - 9);
        let mut decompressor = Decompressor::new();
        decompressor
            .begin(codec, Lz4Header::Checked, &cut)
            .expect("begins");
        let mut out = Vec::new();
        let first = loop {
            let before = out.clone();
            match decompressor.read_into(&cut, &mut out, 300) {
                Ok(0) => panic!("{codec}: a cut stream has no end"),
                Ok(_) => {}
                Err(error) => {
                    assert_eq!(out, before, "{codec}");
                    break error;
                }
            }
        };
        let again = decompressor
            .read_into(&cut, &mut out, 300)
            .expect_err("fails again");
        assert_eq!(
            (again.kind(), again.message()),
            (first.kind(), first.message())
        );
    }
}

#[test]
fn contexts_are_as_good_as_new_after_anything() {
    let mut compressor = Compressor::new();
    let mut decompressor = Decompressor::new();
    let contents = [records(70_000), TEXT.to_vec(), Vec::new(), noise(40_000)];
    for round in 0..3 {
        for codec in Codec::ALL {
            for content in &contents {
                let mut compressed = Vec::new();
                let level = (round == 1).then_some(1);
                compressor
                    .compress(codec, level, Lz4Header::Checked, content, &mut compressed)
                    .expect("compresses");
                assert_eq!(
                    compressed,
                    compress(codec, level, content),
                    "{codec}: as a new compressor makes it"
                );

                // A stream that is corrupt, and one that is left half read.
                let broken = &compressed[..compressed.len() * 2 / 3];
                let mut out = Vec::new();
                if decompressor
                    .begin(codec, Lz4Header::Checked, broken)
                    .is_ok()
                {
                    while decompressor
                        .read_into(broken, &mut out, 10_000)
                        .is_ok_and(|read| read > 0)
                    {}
                }
                decompressor
                    .begin(codec, Lz4Header::Checked, &compressed)
                    .expect("begins");
                decompressor
                    .read_into(&compressed, &mut out, 3)
                    .expect("reads");

                out.clear();
                decompressor
                    .begin(codec, Lz4Header::Checked, &compressed)
                    .expect("begins");
                while decompressor
                    .read_into(&compressed, &mut out, 10_000)
                    .expect("reads")
                    > 0
                {}
                assert!(out == *content, "{codec}: {} bytes differ", content.len());
            }
        }
    }
}

#[test]
fn contexts_go_from_thread_to_thread() {
    fn is_send<T: Send>() {}
    is_send::<Compressor>();
    is_send::<Decompressor>();
}
