//! Every golden example of records.md as a test. The hex was printed by Kafka 4.4.0's own classes; G-INDEX,
//! G-TIMEINDEX, G-TXNINDEX and G-SNAPSHOT stand in the files of their formats, G-SEGMENT in `segment`.

use super::batch::{Batch, TimestampType, set_max_timestamp, stamp};
use super::builder::{BatchBuilder, BatchOptions};
use super::codec::{Codec, Compressor, Decompressor};
use super::control::{self, ControlBatch, EndTxnMarker};
use super::decoder::RecordDecoder;
use super::legacy::{self, OldMessage, write_message, write_wrapper};
use super::record::Header;
use crate::types::{LeaderEpoch, Offset, ProducerId, TimestampMs};

/// The time that the goldens were made for.
pub(crate) const T: i64 = 1_700_000_000_000;

pub(crate) fn unhex(hex: &str) -> Vec<u8> {
    let digits: Vec<u8> = hex.bytes().filter(|b| !b.is_ascii_whitespace()).collect();
    digits
        .chunks(2)
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap())
        .collect()
}

const A: &str = "0000000000000064000000610000000502019b90980000000000030000018bcfe568000000018bcfe568460000000000000f\
    a1000700000029000000042a000000046b310476310602680278066ec3a901000010000902010476320012008c0104046b33\
    01000c000906000000";
const MIN: &str = "000000000000000000000038ffffffff02c428857f0000000000000000018bcfe568000000018bcfe56800ffffffffffffff\
    ffffffffffffff000000010c000000010100";
const LAT: &str = "00000000000000070000004300000000020bfeaefa0008000000010000018bcfe568000000018bcfe56be8ffffffffffffff\
    ffffffffffffff00000002100000000261026200100012020263026400";
const NOTS: &str = "00000000000000000000003a00000000027e7ae9d1000000000000ffffffffffffffffffffffffffffffffffffffffffffff\
    ffffffffffffff00000001100000000261026200";
const COMPACTED: &str = "00000000000000640000003a0000000502b41748a30000000000020000018bcfe568140000018bcfe56814ffffffffffffff\
    ffffffffffffff00000001100000040263023300";
const HORIZON_IN: &str = "000000000000006400000054000000050211570a9e0000000000030000018bcfe568000000018bcfe56803ffffffffffffff\
    ffffffffffffff000000041000000002610231000e00020202620100100004040261023200100006060263023300";
const HORIZON_OUT: &str = "00000000000000640000004800000005021e4588ad0040000000030000018bd51365200000018bcfe56802ffffffffffffff\
    ffffffffffffff000000021400bdf4ef5202026201001600bbf4ef52040261023200";
const EMPTY: &str = "0000000000000064000000310000000502fe51bc5f001000000001ffffffffffffffff0000018bcfe568010000000000000f\
    a100070000002900000000";
const COMMIT: &str = "00000000000000c8000000420000000302731002a70030000000000000018bcfe568000000018bcfe568000000000000000f\
    a10007ffffffff000000012000000008000000010c00000000000c00";
const ABORT: &str = "00000000000000c8000000420000000302872ed4ef0030000000000000018bcfe568000000018bcfe568000000000000000f\
    a10007ffffffff000000012000000008000000000c00000000000c00";
const LEADER_CHANGE: &str = "0000000000000000000000540000000202725319f00020000000000000018bcfe568000000018bcfe56800ffffffffffffff\
    ffffffffffffff000000014400000008000000023000000000000103000000010000000002000200000001000000";
const SNAP_HEADER: &str = "0000000000000000000000470000000202c7ac78040020000000000000018bcfe568000000018bcfe56800ffffffffffffff\
    ffffffffffffff000000012a00000008000000031600000000018bcfe568000000";
const SNAP_FOOTER: &str = "00000000000000010000003f00000002028f6608e60020000000000000018bcfe568000000018bcfe56800ffffffffffffff\
    ffffffffffffff000000011a00000008000000040600000000";
const KRAFT_VERSION: &str = "0000000000000001000000410000000202a89c55860020000000000000018bcfe568000000018bcfe56800ffffffffffffff\
    ffffffffffffff000000011e00000008000000050a000000010000";
const VOTERS: &str = "0000000000000002000000620000000202372d0b840020000000000000018bcfe568000000018bcfe56800ffffffffffffff\
    ffffffffffffff000000016000000008000000064c0000020000000100000000000000010000000000000002020243026823\
    85000000000100000000";
const M0: &str = "000000000000000a00000011165764b10000000000016b000000027630000000000000000b0000000ea7ec68030000ffffff\
    ffffffffff";
const M1: &str = "000000000000000a000000193e73167401000000018bcfe56800000000016b000000027631000000000000000b00000016b7\
    9a1a5801000000018bcfe56801ffffffffffffffff";
const M1_GZIP: &str = "000000000000000b000000563b61a88e01010000018bcfe56801ffffffff000000401f8b08000000000000ff6360800349bb\
    62b112462083b1fbfcd30c9008633690602a33842a00c9495d58fbe3005c1188c1946d0456650400320a41f04b000000";
const M1_LZ4_LAT: &str = "000000000000000b0000005df5f650c4010b0000018bcfe56be7ffffffff0000004704224d186040823800000016000100f3\
    0b19226f466f01080000018bcfe56be7000000016b000000027631240099010000001a8742f4f9250090026b320000000276\
    3200000000";
const M0_LZ4: &str = "000000000000000b00000051063744000003ffffffff0000004304224d1860401a3400000012000100910a00000011165764\
    b10f0081016b0000000276300d00b000000b00000012ff0602490d00a000026b3200000002763200000000";
const M0_SNAPPY: &str = "000000000000000b0000005887a52a050002ffffffff0000004a82534e41505059000000000100000001000000363b000009\
    01200a00000011165764b1050f1c016b000000027630050d6000000b00000012ff0602490000000000026b32000000027632";
const M0_CLEANED: &str = "000000000000000a0000003bffffffff023fc9c703000000000000ffffffffffffffffffffffffffffffffffffffffffffff\
    ffffffffffffff0000000112000000026b04763000";
const M1_CLEANED: &str = "000000000000000a0000003bffffffff020f7768850000000000000000018bcfe568000000018bcfe56800ffffffffffffff\
    ffffffffffffff0000000112000000026b04763100";
const GZIP: &str = "000000000000000a0000005bffffffff02e24cdfcb0001000000010000018bcfe568000000018bcfe56801ffffffffffffff\
    ffffffffffffff000000021f8b08000000000000ffcb63606060ca4e4824113088303031b1641bb1941931000012973cba43\
    000000";
const SNAPPY: &str = "000000000000000a0000005fffffffff0299abcd330002000000010000018bcfe568000000018bcfe56801ffffffffffffff\
    ffffffffffffff0000000282534e415050590000000001000000010000001a431c6e000000026b6061ba01002c0014000202\
    046b3204763200";
const LZ4: &str = "000000000000000a00000059ffffffff0259886d8d0003000000010000018bcfe568000000018bcfe56801ffffffffffffff\
    ffffffffffffff0000000204224d18604082190000008f6e000000026b606101001cc00014000202046b3204763200000000\
    00";
const ZSTD: &str = "000000000000000a00000057ffffffff026c7a84e60004000000010000018bcfe568000000018bcfe56801ffffffffffffff\
    ffffffffffffff0000000228b52ffd0058d40000a06e000000026b60610014000202046b3204763200010044800b010000";

/// A record as its offset, timestamp, key and value as text; `-` is null.
fn read(bytes: &[u8]) -> Vec<String> {
    let batch = Batch::new(bytes).unwrap();
    batch.ensure_valid().unwrap();
    let mut decoder = RecordDecoder::new();
    decoder.begin(&batch).unwrap();
    let mut records = Vec::new();
    let text =
        |b: Option<&[u8]>| b.map_or("-".to_owned(), |b| String::from_utf8_lossy(b).into_owned());
    while let Some(record) = decoder.next(&batch).unwrap() {
        let mut line = format!(
            "{} {} {} {}",
            record.offset,
            if record.timestamp.0 < 0 {
                "-1".to_owned()
            } else {
                format!("T{:+}", record.timestamp.0 - T)
            },
            text(record.key),
            text(record.value)
        );
        for header in record.headers {
            line.push_str(&format!(
                " {}={}",
                String::from_utf8_lossy(header.key),
                text(header.value)
            ));
        }
        records.push(line);
    }
    records
}

type Plain<'a> = (i64, Option<&'a str>, Option<&'a str>);

fn build(options: &BatchOptions, records: &[Plain<'_>]) -> Vec<u8> {
    let mut builder = BatchBuilder::new();
    for (timestamp, key, value) in records {
        let (key, value) = (key.map(str::as_bytes), value.map(str::as_bytes));
        builder
            .push(TimestampMs(*timestamp), key, value, [].into_iter())
            .unwrap();
    }
    builder.finish(options).unwrap().to_vec()
}

fn base(offset: i64, epoch: i32) -> BatchOptions {
    BatchOptions {
        base_offset: Offset(offset),
        leader_epoch: LeaderEpoch(epoch),
        ..BatchOptions::default()
    }
}

#[test]
fn g_a_headers_nulls_and_negative_deltas() {
    let mut builder = BatchBuilder::new();
    let headers = [
        Header {
            key: b"h",
            value: Some(b"x"),
        },
        Header {
            key: "n\u{e9}".as_bytes(),
            value: None,
        },
        Header {
            key: b"",
            value: Some(b""),
        },
    ];
    builder
        .push(
            TimestampMs(T),
            Some(b"k1"),
            Some(b"v1"),
            headers.into_iter(),
        )
        .unwrap();
    builder
        .push(TimestampMs(T - 5), None, Some(b"v2"), [].into_iter())
        .unwrap();
    builder
        .push(TimestampMs(T + 70), Some(b"k3"), None, [].into_iter())
        .unwrap();
    builder
        .push(TimestampMs(T - 5), Some(b""), Some(b""), [].into_iter())
        .unwrap();
    let options = BatchOptions {
        producer_id: ProducerId(4001),
        producer_epoch: 7,
        base_sequence: 41,
        ..base(100, 5)
    };
    let built = builder.finish(&options).unwrap();
    assert_eq!(built, unhex(A));
    assert_eq!(
        read(&unhex(A)),
        [
            "100 T+0 k1 v1 h=x n\u{e9}=- =",
            "101 T-5 - v2",
            "102 T+70 k3 -",
            "103 T-5  "
        ]
    );
    let bytes = unhex(A);
    let header = *Batch::new(&bytes).unwrap().header();
    assert_eq!(
        (header.base_offset, header.last_offset),
        (Offset(100), Offset(103))
    );
    assert_eq!(
        (header.producer_id, header.producer_epoch),
        (ProducerId(4001), 7)
    );
    assert_eq!((header.base_sequence, header.last_sequence()), (41, 44));
}

#[test]
fn g_min_one_record_of_nulls() {
    assert_eq!(build(&base(0, -1), &[(T, None, None)]), unhex(MIN));
    assert_eq!(read(&unhex(MIN)), ["0 T+0 - -"]);
}

#[test]
fn g_lat_every_record_has_the_append_time() {
    let options = BatchOptions {
        log_append_time: Some(TimestampMs(T + 1000)),
        ..base(7, 0)
    };
    let records = [(T, Some("a"), Some("b")), (T + 9, Some("c"), Some("d"))];
    assert_eq!(build(&options, &records), unhex(LAT));
    assert_eq!(read(&unhex(LAT)), ["7 T+1000 a b", "8 T+1000 c d"]);
    // The leader's way to it: a batch of the producer, stamped in place.
    let mut stamped = build(&base(0, -1), &records);
    set_max_timestamp(&mut stamped, true, TimestampMs(T + 1000));
    stamp(&mut stamped, Offset(7), LeaderEpoch(0));
    assert_eq!(stamped, unhex(LAT));
}

#[test]
fn g_nots_no_timestamp() {
    assert_eq!(
        build(&base(0, 0), &[(-1, Some("a"), Some("b"))]),
        unhex(NOTS)
    );
    assert_eq!(read(&unhex(NOTS)), ["0 -1 a b"]);
}

#[test]
fn g_compacted_keeps_the_range_of_the_original() {
    let mut builder = BatchBuilder::new();
    builder
        .push_at(
            2,
            TimestampMs(T + 20),
            Some(b"c"),
            Some(b"3"),
            [].into_iter(),
        )
        .unwrap();
    let built = builder.finish(&base(100, 5)).unwrap();
    assert_eq!(built, unhex(COMPACTED));
    assert_eq!(read(&unhex(COMPACTED)), ["102 T+20 c 3"]);
}

#[test]
fn g_horizon_stands_in_place_of_the_base_timestamp() {
    let all = [
        (T, Some("a"), Some("1")),
        (T + 1, Some("b"), None),
        (T + 2, Some("a"), Some("2")),
        (T + 3, Some("c"), Some("3")),
    ];
    assert_eq!(build(&base(100, 5), &all), unhex(HORIZON_IN));
    let mut builder = BatchBuilder::new();
    builder.set_delete_horizon(TimestampMs(T + 86_900_000));
    builder
        .push_at(1, TimestampMs(T + 1), Some(b"b"), None, [].into_iter())
        .unwrap();
    builder
        .push_at(
            2,
            TimestampMs(T + 2),
            Some(b"a"),
            Some(b"2"),
            [].into_iter(),
        )
        .unwrap();
    let built = builder
        .finish(&BatchOptions {
            last_offset_delta: Some(3),
            ..base(100, 5)
        })
        .unwrap();
    assert_eq!(built, unhex(HORIZON_OUT));
    assert_eq!(read(&unhex(HORIZON_OUT)), ["101 T+1 b -", "102 T+2 a 2"]);
    let bytes = unhex(HORIZON_OUT);
    let header = *Batch::new(&bytes).unwrap().header();
    assert_eq!(header.delete_horizon(), Some(TimestampMs(T + 86_900_000)));
    assert_eq!(header.max_timestamp, TimestampMs(T + 2));
}

#[test]
fn g_empty_has_a_range_and_no_record() {
    let options = BatchOptions {
        producer_id: ProducerId(4001),
        producer_epoch: 7,
        base_sequence: 41,
        transactional: true,
        last_offset_delta: Some(1),
        max_timestamp: Some(TimestampMs(T + 1)),
        ..base(100, 5)
    };
    assert_eq!(build(&options, &[]), unhex(EMPTY));
    assert!(read(&unhex(EMPTY)).is_empty());
    let bytes = unhex(EMPTY);
    assert_eq!(
        Batch::new(&bytes).unwrap().header().last_offset,
        Offset(101)
    );
}

#[test]
fn g_commit_and_g_abort() {
    for (golden, commit) in [(COMMIT, true), (ABORT, false)] {
        let options = BatchOptions {
            producer_id: ProducerId(4001),
            producer_epoch: 7,
            ..base(200, 3)
        };
        let mut builder = BatchBuilder::new();
        let built =
            control::write_end_marker(&mut builder, commit, 12, TimestampMs(T), &options).unwrap();
        assert_eq!(built, unhex(golden));
        let bytes = unhex(golden);
        let batch = Batch::new(&bytes).unwrap();
        assert!(
            batch.header().attributes.is_control() && batch.header().attributes.is_transactional()
        );
        let marker = EndTxnMarker {
            commit,
            version: 0,
            coordinator_epoch: 12,
        };
        assert_eq!(
            control::read_control_batch(&batch, &mut RecordDecoder::new()).unwrap(),
            ControlBatch::EndTxn(marker, TimestampMs(T))
        );
    }
}

#[test]
fn g_kraft_control_batches_are_opaque_but_valid() {
    let goldens = [
        (LEADER_CHANGE, 2, 0),
        (SNAP_HEADER, 3, 0),
        (SNAP_FOOTER, 4, 1),
        (KRAFT_VERSION, 5, 1),
        (VOTERS, 6, 2),
    ];
    for (golden, control_type, offset) in goldens {
        let bytes = unhex(golden);
        let batch = Batch::new(&bytes).unwrap();
        batch.ensure_valid().unwrap();
        assert!(batch.header().attributes.is_control() && !batch.header().has_producer_id());
        let mut decoder = RecordDecoder::new();
        decoder.begin(&batch).unwrap();
        let record = decoder.next(&batch).unwrap().unwrap();
        assert_eq!(record.offset, Offset(offset));
        assert_eq!(
            control::parse_key(record.key).unwrap().control_type,
            control_type
        );
    }
}

fn old(
    offset: i64,
    timestamp: i64,
    key: Option<&'static str>,
    value: Option<&'static str>,
) -> OldMessage<'static> {
    OldMessage {
        offset: Offset(offset),
        timestamp: TimestampMs(timestamp),
        key: key.map(str::as_bytes),
        value: value.map(str::as_bytes),
    }
}

#[test]
fn g_m0_and_g_m1_messages() {
    let mut out = Vec::new();
    write_message(&mut out, 0, 0, &old(10, -1, Some("k"), Some("v0")));
    write_message(&mut out, 0, 0, &old(11, -1, None, None));
    assert_eq!(out, unhex(M0));
    assert_eq!(read(&out[..29]), ["10 -1 k v0"]);
    assert_eq!(read(&out[29..]), ["11 -1 - -"]);
    let mut out = Vec::new();
    write_message(&mut out, 1, 0, &old(10, T, Some("k"), Some("v1")));
    write_message(&mut out, 1, 0, &old(11, T + 1, None, None));
    assert_eq!(out, unhex(M1));
    assert_eq!(read(&out[..37]), ["10 T+0 k v1"]);
    assert_eq!(read(&out[37..]), ["11 T+1 - -"]);
    assert_eq!(
        Batch::new(&out[..37]).unwrap().header().timestamp_type(),
        TimestampType::CreateTime
    );
}

#[test]
fn g_m1_gzip_offsets_are_relative_to_the_last() {
    assert_eq!(read(&unhex(M1_GZIP)), ["10 T+0 k v1", "11 T+1 k2 v2"]);
    let expected = [(0, 0), (1, 0), (5, 4), (11, 10)];
    for (field, first) in expected {
        let mut bytes = unhex(M1_GZIP);
        bytes[..8].copy_from_slice(&i64::to_be_bytes(field));
        let batch = Batch::new(&bytes).unwrap();
        assert_eq!(
            legacy::base_offset(&batch, &mut Decompressor::new()).unwrap(),
            Offset(first),
            "{field}"
        );
        assert_eq!(
            read(&bytes),
            [
                format!("{first} T+0 k v1"),
                format!("{} T+1 k2 v2", first + 1)
            ],
            "{field}"
        );
    }
}

#[test]
fn g_m1_lz4_with_log_append_time() {
    assert_eq!(
        read(&unhex(M1_LZ4_LAT)),
        ["10 T+999 k v1", "11 T+999 k2 v2"]
    );
    let bytes = unhex(M1_LZ4_LAT);
    assert_eq!(
        Batch::new(&bytes).unwrap().header().timestamp_type(),
        TimestampType::LogAppendTime
    );
}

#[test]
fn g_m0_lz4_with_the_wrong_header_checksum_and_g_m0_snappy() {
    for golden in [M0_LZ4, M0_SNAPPY] {
        assert_eq!(read(&unhex(golden)), ["10 -1 k v0", "11 -1 k2 v2"]);
    }
    // The same frame in magic 1 is refused: there the checksum is checked.
    let bytes = unhex(M0_LZ4);
    let value = &bytes[26..];
    let mut as_m1 = Vec::new();
    write_message(
        &mut as_m1,
        1,
        3,
        &OldMessage {
            value: Some(value),
            ..old(11, T, None, None)
        },
    );
    assert!(
        RecordDecoder::new()
            .begin(&Batch::new(&as_m1).unwrap())
            .is_err()
    );
}

#[test]
fn g_cleaned_old_messages_become_magic_2() {
    assert_eq!(
        build(&base(10, -1), &[(-1, Some("k"), Some("v0"))]),
        unhex(M0_CLEANED)
    );
    assert_eq!(
        build(&base(10, -1), &[(T, Some("k"), Some("v1"))]),
        unhex(M1_CLEANED)
    );
}

#[test]
fn g_gzip_g_snappy_g_lz4_g_zstd() {
    let long = "a".repeat(48);
    for (golden, codec) in [
        (GZIP, Codec::Gzip),
        (SNAPPY, Codec::Snappy),
        (LZ4, Codec::Lz4),
        (ZSTD, Codec::Zstd),
    ] {
        let bytes = unhex(golden);
        assert_eq!(
            Batch::new(&bytes)
                .unwrap()
                .header()
                .attributes
                .codec()
                .unwrap(),
            codec
        );
        let expected = [format!("10 T+0 k {long}"), "11 T+1 k2 v2".to_owned()];
        assert_eq!(read(&bytes), expected);
        let options = BatchOptions {
            codec,
            ..base(10, -1)
        };
        let built = build(
            &options,
            &[(T, Some("k"), Some(&long)), (T + 1, Some("k2"), Some("v2"))],
        );
        assert_eq!(read(&built), expected, "{}", codec.name());
    }
}

#[test]
fn hc36_inner_offsets_are_computed_by_value_and_not_by_count() {
    let mut compressor = Compressor::new();
    for (magic, expected) in [(1, ["4", "6", "9"]), (0, ["0", "2", "5"])] {
        let mut inner = Vec::new();
        for offset in [0, 2, 5] {
            write_message(&mut inner, magic, 0, &old(offset, T, Some("k"), Some("v")));
        }
        let mut out = Vec::new();
        write_wrapper(
            &mut out,
            magic,
            0,
            Codec::Gzip,
            &old(9, T, None, None),
            &inner,
            &mut compressor,
        )
        .unwrap();
        let offsets: Vec<_> = read(&out)
            .iter()
            .map(|r| r.split(' ').next().unwrap().to_owned())
            .collect();
        assert_eq!(offsets, expected);
        let batch = Batch::new(&out).unwrap();
        assert_eq!(batch.header().last_offset, Offset(9));
        let first = legacy::base_offset(&batch, &mut Decompressor::new()).unwrap();
        assert_eq!(first.to_string(), expected[0]);
        // A wrapper inside a wrapper is refused.
        let mut twice = Vec::new();
        write_wrapper(
            &mut twice,
            magic,
            0,
            Codec::Gzip,
            &old(9, T, None, None),
            &out,
            &mut compressor,
        )
        .unwrap();
        let batch = Batch::new(&twice).unwrap();
        let mut decoder = RecordDecoder::new();
        let answer = decoder
            .begin(&batch)
            .and_then(|()| decoder.next(&batch).map(|_| ()));
        assert_eq!(answer.unwrap_err().kind(), crate::ErrorKind::InvalidRecord);
    }
}
