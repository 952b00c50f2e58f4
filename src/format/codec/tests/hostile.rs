//! Input made to hurt: arbitrary bytes, valid streams with a few bytes changed, and small input of huge output
//! (hard-cases.md HC31).

use proptest::prelude::*;

use super::{Codec, Compressor, Decompressor, Lz4Header, compress, noise, records};
use crate::ErrorKind;

/// Reads whatever it is; errors are fine if they say that the input is corrupt.
fn survives(
    decompressor: &mut Decompressor,
    codec: Codec,
    header: Lz4Header,
    input: &[u8],
    max: usize,
) {
    if let Err(error) = decompressor.begin(codec, header, input) {
        assert_eq!(error.kind(), ErrorKind::CorruptMessage, "{error:?}");
        return;
    }
    let mut out = Vec::new();
    let mut total = 0;
    // What is short of input may be long of output: 16 MiB of it will do.
    while total < 16 << 20 {
        out.clear();
        match decompressor.read_into(input, &mut out, max) {
            Ok(read) => {
                assert_eq!(read, out.len());
                assert!(read <= max);
                if read == 0 {
                    return;
                }
                total += read;
            }
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::CorruptMessage, "{error:?}");
                return;
            }
        }
    }
}

fn compressed_codec() -> impl Strategy<Value = Codec> {
    prop::sample::select(Codec::ALL[1..].to_vec())
}

/// What begins a stream of the codec, so that arbitrary bytes get past the first check.
fn beginning(codec: Codec) -> &'static [u8] {
    match codec {
        Codec::None => b"",
        Codec::Gzip => b"\x1f\x8b\x08\0\0\0\0\0\0\xff",
        Codec::Snappy => b"\x82SNAPPY\0\0\0\0\x01\0\0\0\x01\0\0\0",
        Codec::Lz4 => b"\x04\x22\x4d\x18\x60\x40\x82",
        Codec::Zstd => b"\x28\xb5\x2f\xfd",
    }
}

#[derive(Clone, Debug)]
enum Change {
    Flip(usize, u8),
    Set(usize, u8),
    Insert(usize, u8),
    Remove(usize),
    Cut(usize),
    Repeat(usize),
}

fn change() -> impl Strategy<Value = Change> {
    // Half of the places in the first bytes, where the headers are.
    let place = || prop_oneof![0_usize..40, any::<usize>()];
    prop_oneof![
        (place(), 0_u8..8).prop_map(|(at, bit)| Change::Flip(at, bit)),
        (place(), any::<u8>()).prop_map(|(at, byte)| Change::Set(at, byte)),
        (place(), any::<u8>()).prop_map(|(at, byte)| Change::Insert(at, byte)),
        place().prop_map(Change::Remove),
        place().prop_map(Change::Cut),
        place().prop_map(Change::Repeat),
    ]
}

fn apply(change: &Change, stream: &mut Vec<u8>) {
    let length = stream.len();
    if length == 0 {
        return;
    }
    match *change {
        Change::Flip(at, bit) => stream[at % length] ^= 1 << bit,
        Change::Set(at, byte) => stream[at % length] = byte,
        Change::Insert(at, byte) => stream.insert(at % length, byte),
        Change::Remove(at) => {
            stream.remove(at % length);
        }
        Change::Cut(at) => stream.truncate(at % length),
        Change::Repeat(at) => stream.extend_from_within(at % length..),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(3000) })]

    #[test]
    fn arbitrary_bytes_are_survived(
        codec in compressed_codec(),
        prefixed in any::<bool>(),
        legacy in any::<bool>(),
        bytes in prop::collection::vec(any::<u8>(), 0..300),
        max in 1_usize..100_000,
    ) {
        let header = if legacy { Lz4Header::LegacyUnchecked } else { Lz4Header::Checked };
        let input = [if prefixed { beginning(codec) } else { b"" }, &bytes].concat();
        survives(&mut Decompressor::new(), codec, header, &input, max);
    }

    #[test]
    fn changed_streams_are_survived(
        codec in compressed_codec(),
        content in prop_oneof![
            prop::collection::vec(any::<u8>(), 0..200),
            (0_usize..3000).prop_map(records),
            (0_usize..40_000).prop_map(|count| vec![0; count]),
        ],
        level in prop::option::of(1..9),
        changes in prop::collection::vec(change(), 1..5),
        max in 1_usize..100_000,
    ) {
        let mut stream = compress(codec, level, &content);
        for change in &changes {
            apply(change, &mut stream);
        }
        let mut decompressor = Decompressor::new();
        survives(&mut decompressor, codec, Lz4Header::Checked, &stream, max);
        survives(&mut decompressor, codec, Lz4Header::LegacyUnchecked, &stream, max);
        // The contexts are none the worse for it.
        let good = compress(codec, level, &content);
        let mut out = Vec::new();
        decompressor.begin(codec, Lz4Header::Checked, &good).expect("begins");
        while decompressor.read_into(&good, &mut out, max).expect("reads") > 0 {}
        prop_assert_eq!(out, content);
    }
}

/// HC31: a batch of 64 MiB is read in little memory: the output asked for and what the module's documentation says.
#[test]
fn a_bomb_is_read_in_bounded_memory() {
    const SIZE: usize = 64 << 20;
    const MAX: usize = 4096;
    let zeros = vec![0; SIZE];
    for (codec, internal_max) in [
        (Codec::Gzip, 0),
        (Codec::Snappy, 32 << 10),
        (Codec::Lz4, 64 << 10),
        (Codec::Zstd, 4 << 20),
    ] {
        let mut compressed = Vec::new();
        Compressor::new()
            .compress(codec, None, Lz4Header::Checked, &zeros, &mut compressed)
            .expect("compresses");
        let mut decompressor = Decompressor::new();
        decompressor
            .begin(codec, Lz4Header::Checked, &compressed)
            .expect("begins");
        let mut out = Vec::new();
        let mut total = 0;
        loop {
            out.clear();
            let read = decompressor
                .read_into(&compressed, &mut out, MAX)
                .expect("reads");
            assert!(out.iter().all(|&byte| byte == 0));
            total += read;
            if read == 0 {
                break;
            }
        }
        assert_eq!(total, SIZE, "{codec}");
        assert!(
            out.capacity() <= 2 * MAX,
            "{codec}: output of {} bytes",
            out.capacity()
        );
        assert!(
            decompressor.memory() <= internal_max,
            "{codec}: {} bytes inside",
            decompressor.memory()
        );
    }
}

#[test]
fn output_grows_with_what_arrives_and_not_with_the_bound() {
    for codec in Codec::ALL {
        let compressed = compress(codec, None, &noise(500));
        let mut decompressor = Decompressor::new();
        decompressor
            .begin(codec, Lz4Header::Checked, &compressed)
            .expect("begins");
        let mut out = Vec::new();
        while decompressor
            .read_into(&compressed, &mut out, usize::MAX)
            .expect("reads")
            > 0
        {}
        assert!(
            out.capacity() <= 16 << 10,
            "{codec}: {} bytes for 500",
            out.capacity()
        );
    }
}
