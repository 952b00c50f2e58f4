//! What is compressed is decompressed alike, at every size, level and bound.

use proptest::prelude::*;

use super::{Codec, Compressor, Decompressor, Lz4Header, compress, decompress, noise, records};

/// The sizes around what the codecs cut their input into.
const SIZES: [usize; 16] = [
    0, 1, 2, 12, 13, 32_767, 32_768, 32_769, 65_534, 65_535, 65_536, 65_537, 98_304, 131_071,
    131_073, 200_000,
];

fn levels(codec: Codec) -> Vec<Option<i32>> {
    let mut levels = vec![None];
    match codec {
        Codec::Gzip => levels.extend((-1..=9).filter(|&level| level != 0).map(Some)),
        Codec::Lz4 => levels.extend((1..=17).map(Some)),
        Codec::Zstd => levels.extend([-131_072, -5, -1, 0, 1, 2, 3, 5, 7, 9, 12, 15].map(Some)),
        Codec::None | Codec::Snappy => {}
    }
    levels
}

#[test]
fn every_size_at_the_default_level() {
    let (noise, records) = (noise(200_000), records(200_000));
    let zeros = vec![0; 200_000];
    for codec in Codec::ALL {
        for size in SIZES {
            for content in [&noise[..size], &records[..size], &zeros[..size]] {
                let compressed = compress(codec, None, content);
                for max in [usize::MAX, 65_536, 4096] {
                    let found =
                        decompress(codec, Lz4Header::Checked, &compressed, max).expect("decodes");
                    assert!(found == content, "{codec}: {size} bytes by {max}");
                }
            }
        }
    }
}

#[test]
fn every_level() {
    let contents = [records(70_000), noise(66_000), Vec::new()];
    for codec in Codec::ALL {
        for level in levels(codec) {
            for content in &contents {
                let compressed = compress(codec, level, content);
                let found = decompress(codec, Lz4Header::Checked, &compressed, usize::MAX)
                    .expect("decodes");
                assert!(
                    found == *content,
                    "{codec}: level {level:?}, {} bytes",
                    content.len()
                );
            }
        }
    }
}

/// Bytes of some kind: from noise to repetition.
fn content() -> impl Strategy<Value = Vec<u8>> {
    let words = prop::collection::vec(
        prop::sample::select(vec!["key", "value", "{\"id\":", "0", "\u{e9}", "\0\0\0\0"]),
        0..800,
    );
    prop_oneof![
        prop::collection::vec(any::<u8>(), 0..3000),
        prop::collection::vec(0_u8..4, 0..3000),
        words.prop_map(|words| words.concat().into_bytes()),
        (any::<u8>(), 0_usize..100_000).prop_map(|(byte, count)| vec![byte; count]),
    ]
}

fn codec_and_level() -> impl Strategy<Value = (Codec, Option<i32>)> {
    prop::sample::select(Codec::ALL.to_vec())
        .prop_flat_map(|codec| (Just(codec), prop::sample::select(levels(codec))))
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) })]

    #[test]
    fn any_content_comes_back(
        content in content(),
        (codec, level) in codec_and_level(),
        max in prop_oneof![1_usize..50, 50_usize..200_000],
        legacy in any::<bool>(),
    ) {
        let header = if legacy { Lz4Header::LegacyUnchecked } else { Lz4Header::Checked };
        let mut compressed = Vec::new();
        Compressor::new().compress(codec, level, header, &content, &mut compressed).expect("compresses");
        prop_assert_eq!(decompress(codec, header, &compressed, max).expect("decodes"), content);
    }

    #[test]
    fn bounds_may_change_from_call_to_call(
        content in content(),
        (codec, level) in codec_and_level(),
        bounds in prop::collection::vec(1_usize..40_000, 1..20),
    ) {
        let compressed = compress(codec, level, &content);
        let mut decompressor = Decompressor::new();
        decompressor.begin(codec, Lz4Header::Checked, &compressed).expect("begins");
        let mut out = Vec::new();
        for &max in bounds.iter().cycle() {
            let read = decompressor.read_into(&compressed, &mut out, max).expect("reads");
            prop_assert!(read <= max);
            if read == 0 {
                break;
            }
        }
        prop_assert_eq!(out, content);
    }
}
