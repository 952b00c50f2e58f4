//! Compressed streams: what is read is bounded and does not depend on how it is read; what is written is read back.

use klog::format::codec::{Codec, Compressor, Decompressor, Lz4Header};

/// No more is read of a stream: a small one may stand for gigabytes.
const READ_MAX: usize = 2 * 1024 * 1024;

pub(super) fn gzip(data: &[u8]) {
    body(Codec::Gzip, data);
}

pub(super) fn snappy(data: &[u8]) {
    body(Codec::Snappy, data);
}

pub(super) fn lz4(data: &[u8]) {
    body(Codec::Lz4, data);
}

pub(super) fn zstd(data: &[u8]) {
    body(Codec::Zstd, data);
}

fn body(codec: Codec, data: &[u8]) {
    for header in [Lz4Header::Checked, Lz4Header::LegacyUnchecked] {
        let large = decompress(codec, header, data, 64 * 1024);
        for max in [1, 777, READ_MAX] {
            let other = decompress(codec, header, data, max);
            let n = large.bytes.len().min(other.bytes.len());
            assert_eq!(
                large.bytes[..n],
                other.bytes[..n],
                "the steps in which a stream is read change nothing"
            );
            if large.end != End::Stopped && other.end != End::Stopped {
                assert_eq!(large.end, other.end);
                // The step that fails gives nothing, so how much came before depends on the steps.
                assert!(large.end == End::Failed || large.bytes.len() == other.bytes.len());
            }
        }
        if codec != Codec::Lz4 {
            break;
        }
    }
    // As what is to be compressed: the first byte is the level.
    let Some((level, content)) = data.split_first() else {
        return;
    };
    let level = (*level < 0x80).then(|| i32::from(*level) - 5);
    let mut compressed = Vec::new();
    let mut compressor = Compressor::new();
    compressor
        .compress(codec, level, Lz4Header::Checked, content, &mut compressed)
        .unwrap();
    let back = decompress(codec, Lz4Header::Checked, &compressed, 1000);
    assert_eq!((back.end, &*back.bytes), (End::Ended, content));
    let mut again = b"in front".to_vec();
    compressor
        .compress(codec, level, Lz4Header::Checked, content, &mut again)
        .unwrap();
    assert_eq!(
        again[8..],
        compressed,
        "a compressor that is used again writes the same"
    );
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Ended,
    Failed,
    /// The output is large enough.
    Stopped,
}

struct Read {
    bytes: Vec<u8>,
    end: End,
}

fn decompress(codec: Codec, header: Lz4Header, data: &[u8], max: usize) -> Read {
    // One byte at a time is slow: a look at the beginning does.
    let read_max = if max < 16 { 5_000 } else { READ_MAX };
    let mut decompressor = Decompressor::new();
    let mut bytes = Vec::new();
    if decompressor.begin(codec, header, data).is_err() {
        return Read {
            bytes,
            end: End::Failed,
        };
    }
    let end = loop {
        if bytes.len() >= read_max {
            break End::Stopped;
        }
        let before = bytes.len();
        match decompressor.read_into(data, &mut bytes, max) {
            Ok(0) => {
                assert_eq!(bytes.len(), before);
                assert_eq!(
                    decompressor.read_into(data, &mut bytes, max).unwrap(),
                    0,
                    "an end is an end"
                );
                break End::Ended;
            }
            Ok(n) => assert!(n <= max && bytes.len() == before + n),
            Err(_) => {
                assert_eq!(bytes.len(), before, "a failure leaves the output as it was");
                assert!(
                    decompressor.read_into(data, &mut bytes, max).is_err(),
                    "a failure stays"
                );
                break End::Failed;
            }
        }
    };
    Read { bytes, end }
}

fn seeds(codec: Codec) -> Vec<Vec<u8>> {
    let mut seeds = Vec::new();
    let text = b"klog is Kafka's log as a library. ".repeat(20);
    let long: Vec<u8> = (0..70_000u32)
        .map(|i| u8::try_from(i % 251).unwrap())
        .collect();
    for content in [&b""[..], b"a", &text, &[0; 3000], &long] {
        for header in [Lz4Header::Checked, Lz4Header::LegacyUnchecked] {
            let mut out = Vec::new();
            Compressor::new()
                .compress(codec, None, header, content, &mut out)
                .unwrap();
            seeds.push(out);
        }
        if content.len() < 5000 {
            seeds.push([&[9], content].concat());
        }
    }
    // Streams put together, and stray bytes behind.
    seeds.push([&*seeds[2], &*seeds[2]].concat());
    seeds.push([&*seeds[2], b"xyz"].concat());
    seeds
}

pub(super) fn gzip_seeds() -> Vec<Vec<u8>> {
    seeds(Codec::Gzip)
}

pub(super) fn snappy_seeds() -> Vec<Vec<u8>> {
    seeds(Codec::Snappy)
}

pub(super) fn lz4_seeds() -> Vec<Vec<u8>> {
    seeds(Codec::Lz4)
}

pub(super) fn zstd_seeds() -> Vec<Vec<u8>> {
    seeds(Codec::Zstd)
}
