//! Compressed batches: what klog packs Kafka unpacks, and what others pack in their ways klog reads as Kafka does.

use std::io::Write as _;

use klog::error::ErrorKind;
use klog::format::batch::{self, HEADER_BYTES};
use klog::format::builder::BatchOptions;
use klog::format::codec::Codec;
use klog::log::{AppendOptions, CursorOptions};
use klog::types::{LeaderEpoch, Offset};

use crate::kafka::ensure_same_dump;
use crate::support::canonical::record_line;
use crate::support::engine::{Home, NOW, Rec, builder, rec, scan, t0, v2};
use crate::support::random::{Random, any_records};

/// The levels that each codec has.
fn levels() -> Vec<(Codec, Option<i32>)> {
    let mut levels: Vec<(Codec, Option<i32>)> = [
        Codec::None,
        Codec::Gzip,
        Codec::Snappy,
        Codec::Lz4,
        Codec::Zstd,
    ]
    .map(|codec| (codec, None))
    .to_vec();
    levels.extend((1..=9).map(|level| (Codec::Gzip, Some(level))));
    levels.extend((1..=17).map(|level| (Codec::Lz4, Some(level))));
    levels.extend(
        [-131_072, -100, -1, 1, 2, 3, 7, 12, 19, 20, 22].map(|level| (Codec::Zstd, Some(level))),
    );
    levels
}

#[test]
fn kafka_unpacks_every_codec_at_every_level() {
    let mut random = Random::from_env("kafka_unpacks_every_codec_at_every_level");
    let home = Home::new();
    let manager = home.open();
    let log = t0(&manager);
    let mut expected = Vec::new();
    for (codec, level) in levels() {
        let mut records = any_records(&mut random);
        // Longer than any block of a codec, in part well packed.
        let text: Vec<u8> = (0..9000)
            .flat_map(|n: u32| format!("line {} ", n % 700).into_bytes())
            .collect();
        let noise = random.bytes(70_000);
        for value in [text, noise] {
            records.push(Rec {
                ts: NOW,
                key: None,
                value: Some(value),
                headers: Vec::new(),
            });
        }
        let options = AppendOptions {
            codec: Some(codec),
            level,
            ..AppendOptions::default()
        };
        let result = log.append(&mut builder(&records), &options).unwrap();
        let lines = records.iter().zip(result.first_offset.0..);
        expected.extend(lines.map(|(record, offset)| record_line(offset, record.ts, record)));
    }
    manager.close().unwrap();
    let text = ensure_same_dump(&home.dir);
    assert_eq!(text.log("t-0").starting("rec"), expected);
}

/// A batch of magic 2 around a payload that was packed elsewhere: two records.
fn framed(codec: Codec, packed: &[u8]) -> Vec<u8> {
    let mut bytes = v2(0, &[("a", "1"), ("b", "2")]);
    bytes.truncate(HEADER_BYTES);
    bytes.extend_from_slice(packed);
    let size = (bytes.len() - 12) as u32;
    bytes[8..12].copy_from_slice(&size.to_be_bytes());
    bytes[22] = (bytes[22] & !7) | codec.id();
    batch::seal(&mut bytes);
    bytes
}

/// The two records as they are stored uncompressed.
fn payload() -> Vec<u8> {
    v2(0, &[("a", "1"), ("b", "2")])[HEADER_BYTES..].to_vec()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn snappy_raw(bytes: &[u8]) -> Vec<u8> {
    snap::raw::Encoder::new().compress_vec(bytes).unwrap()
}

/// The framing of Kafka's Java client: a header, then blocks with their lengths.
fn snappy_xerial(bytes: &[u8]) -> Vec<u8> {
    let mut framed = vec![
        0x82, b'S', b'N', b'A', b'P', b'P', b'Y', 0, 0, 0, 0, 1, 0, 0, 0, 1,
    ];
    for block in bytes.chunks(bytes.len() / 2 + 1) {
        let packed = snappy_raw(block);
        framed.extend_from_slice(&(packed.len() as u32).to_be_bytes());
        framed.extend_from_slice(&packed);
    }
    framed
}

/// An LZ4 frame of one stored block: flags, block size 64 KiB, checksum of the header, content checksum if wanted.
fn lz4(bytes: &[u8], header_is_right: bool, content_checksum: Option<bool>) -> Vec<u8> {
    let flags = if content_checksum.is_some() {
        0x64
    } else {
        0x60
    };
    let descriptor = [flags, 0x40];
    let sum = (xxh32(&descriptor) >> 8) as u8;
    let mut framed = vec![0x04, 0x22, 0x4d, 0x18, descriptor[0], descriptor[1]];
    framed.push(if header_is_right { sum } else { sum ^ 0x55 });
    framed.extend_from_slice(&(bytes.len() as u32 | 0x8000_0000).to_le_bytes());
    framed.extend_from_slice(bytes);
    framed.extend_from_slice(&0u32.to_le_bytes());
    if let Some(is_right) = content_checksum {
        let sum = xxh32(bytes) ^ u32::from(!is_right);
        framed.extend_from_slice(&sum.to_le_bytes());
    }
    framed
}

fn xxh32(bytes: &[u8]) -> u32 {
    twox_hash::XxHash32::oneshot(0, bytes)
}

/// HC32: each framing as a batch of magic 2, and whether it can be read.
fn framings() -> Vec<(&'static str, Vec<u8>, bool)> {
    let payload = payload();
    let (front, back) = payload.split_at(payload.len() / 2);
    let mut skippable = vec![0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3];
    let zstd = |bytes: &[u8]| zstd::bulk::compress(bytes, 3).unwrap();
    skippable.extend(zstd(&payload));
    let streamed = {
        // A stream does not know the size of its content when it begins.
        let mut encoder = zstd::stream::Encoder::new(Vec::new(), 3).unwrap();
        encoder.write_all(&payload).unwrap();
        encoder.finish().unwrap()
    };
    vec![
        (
            "gzip, two members",
            framed(Codec::Gzip, &[gzip(front), gzip(back)].concat()),
            true,
        ),
        (
            "gzip, zeros behind",
            framed(Codec::Gzip, &[gzip(&payload), vec![0; 8]].concat()),
            true,
        ),
        (
            "zstd, two frames",
            framed(Codec::Zstd, &[zstd(front), zstd(back)].concat()),
            true,
        ),
        (
            "zstd, a skippable frame first",
            framed(Codec::Zstd, &skippable),
            true,
        ),
        (
            "zstd, no content size",
            framed(Codec::Zstd, &streamed),
            true,
        ),
        (
            "snappy, raw",
            framed(Codec::Snappy, &snappy_raw(&payload)),
            true,
        ),
        (
            "snappy, xerial",
            framed(Codec::Snappy, &snappy_xerial(&payload)),
            true,
        ),
        ("lz4", framed(Codec::Lz4, &lz4(&payload, true, None)), true),
        (
            "lz4, content checksum right",
            framed(Codec::Lz4, &lz4(&payload, true, Some(true))),
            true,
        ),
        (
            "lz4, content checksum wrong",
            framed(Codec::Lz4, &lz4(&payload, true, Some(false))),
            true,
        ),
        (
            "lz4, header checksum wrong",
            framed(Codec::Lz4, &lz4(&payload, false, None)),
            false,
        ),
        (
            "gzip, cut",
            framed(Codec::Gzip, &gzip(&payload)[..20]),
            false,
        ),
        (
            "zstd, cut",
            framed(Codec::Zstd, &zstd(&payload)[..12]),
            false,
        ),
        (
            "no codec's bytes",
            framed(Codec::Snappy, b"\xff\xff\xff\xff\xff\xff"),
            false,
        ),
    ]
}

#[test]
fn hc32_other_framings_are_read_as_kafka_reads_them() {
    let home = Home::new();
    let manager = home.open();
    let readable: Vec<_> = framings()
        .into_iter()
        .filter(|(_, _, is_readable)| *is_readable)
        .collect();
    // One log for all that can be read: its text is Kafka's.
    let all = t0(&manager);
    for (name, bytes, _) in &readable {
        let stored = all.append_batches(bytes, &AppendOptions::default());
        assert!(stored.is_ok(), "{name}: {stored:?}");
    }
    let expected: Vec<(i64, String, String)> = (0..readable.len() as i64)
        .flat_map(|n| {
            [
                (2 * n, "a".to_owned(), "1".to_owned()),
                (2 * n + 1, "b".to_owned(), "2".to_owned()),
            ]
        })
        .collect();
    let found: Vec<_> = scan(&all, 0).into_iter().map(Result::unwrap).collect();
    assert_eq!(found, expected);
    manager.close().unwrap();
    let text = ensure_same_dump(&home.dir);
    let records: Vec<String> = (0..)
        .zip(&expected)
        .map(|(o, (_, k, v))| record_line(o, NOW, &rec(NOW, k, v)))
        .collect();
    assert_eq!(text.log("t-0").starting("rec"), records);
    // Stored as they were sent.
    let log = home.read("0.log");
    for (name, bytes, _) in &readable {
        let sent = &bytes[21..];
        assert!(
            log.windows(sent.len()).any(|window| window == sent),
            "{name} was changed"
        );
    }
}

#[test]
fn hc32_what_kafka_cannot_unpack_is_an_error_of_that_batch_alone() {
    for (name, bytes, _) in framings()
        .into_iter()
        .filter(|(_, _, is_readable)| !is_readable)
    {
        let home = Home::new();
        let manager = home.open();
        let log = t0(&manager);
        crate::support::engine::fill(&log, 1);
        // A leader lets it not in (D7); recovery does not unpack.
        let error = log
            .append_batches(&bytes, &AppendOptions::default())
            .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::CorruptMessage, "{name}");
        manager.close().unwrap();
        let mut stored = bytes.clone();
        batch::stamp(&mut stored, Offset(1), LeaderEpoch(0));
        home.extend("0.log", &stored);
        let manager = home.open_unclean(0);
        let log = t0(&manager);
        crate::support::engine::append(&log, &[rec(NOW, "after", "it")]);
        let found = scan(&log, 0);
        let errors: Vec<_> = found
            .iter()
            .filter_map(|record| record.as_ref().err())
            .collect();
        assert_eq!(errors.len(), 1, "{name}: {found:?}");
        assert!(errors[0].is_corrupt_data(), "{name}: {}", errors[0]);
        // What could be unpacked before the damage is given, and the batch behind it.
        let offsets: Vec<i64> = found
            .iter()
            .filter_map(|record| Some(record.as_ref().ok()?.0))
            .collect();
        assert!(
            matches!(offsets[..], [0, 3] | [0, 1, 3]),
            "{name}: {found:?}"
        );
        assert_eq!(found.last().unwrap().as_ref().unwrap().0, 3, "{name}");
        assert_eq!(
            log.cursor(Offset(3), CursorOptions::default())
                .next_records(9)
                .unwrap()
                .len(),
            1
        );
        manager.close().unwrap();
        // Kafka cannot either.
        assert!(
            crate::kafka::referee()
                .call(&["dump", home.dir.to_str().unwrap()])
                .is_err(),
            "{name}"
        );
    }
}

#[test]
fn a_framed_batch_without_a_codec_is_the_batch_itself() {
    let plain = v2(0, &[("a", "1"), ("b", "2")]);
    assert_eq!(framed(Codec::None, &payload()), plain);
    let options = BatchOptions::default();
    assert_eq!(
        builder(&[rec(NOW, "a", "1")])
            .finish(&options)
            .unwrap()
            .len(),
        70
    );
}
