//! The golden batches of records.md 4 and 5, which Kafka's own classes wrote.

use super::{Codec, Lz4Header, decompress};
use crate::ErrorKind;

/// Where the compressed bytes of a batch of magic 2 begin.
const V2_RECORDS: usize = 61;
/// Where the value of a message of magic 0 or 1 without key begins.
const V0_VALUE: usize = 26;
const V1_VALUE: usize = 34;

const GZIP: &str = "000000000000000a0000005bffffffff02e24cdfcb0001000000010000018bcfe568000000018bcfe56801ffffffffffffffff\
    ffffffffffff000000021f8b08000000000000ffcb63606060ca4e4824113088303031b1641bb1941931000012973cba43000000";
const SNAPPY: &str = "000000000000000a0000005fffffffff0299abcd330002000000010000018bcfe568000000018bcfe56801ffffffffffffff\
    ffffffffffffff0000000282534e415050590000000001000000010000001a431c6e000000026b6061ba01002c0014000202046b3204763200";
const LZ4: &str = "000000000000000a00000059ffffffff0259886d8d0003000000010000018bcfe568000000018bcfe56801fffffffffffffffff\
    fffffffffff0000000204224d18604082190000008f6e000000026b606101001cc00014000202046b320476320000000000";
const ZSTD: &str = "000000000000000a00000057ffffffff026c7a84e60004000000010000018bcfe568000000018bcfe56801ffffffffffffffff\
    ffffffffffff0000000228b52ffd0058d40000a06e000000026b60610014000202046b3204763200010044800b010000";
const M1_GZIP: &str = "000000000000000b000000563b61a88e01010000018bcfe56801ffffffff000000401f8b08000000000000ff63\
    60800349bb62b112462083b1fbfcd30c9008633690602a33842a00c9495d58fbe3005c1188c1946d0456650400320a41f04b0000\
    00";
const M1_LZ4_LAT: &str = "000000000000000b0000005df5f650c4010b0000018bcfe56be7ffffffff0000004704224d186040823800000016000100f\
    30b19226f466f01080000018bcfe56be7000000016b000000027631240099010000001a8742f4f9250090026b3200000002763200000000";
const M0_LZ4: &str = "000000000000000b00000051063744000003ffffffff0000004304224d1860401a3400000012000100910a00000011165764b10f\
    0081016b0000000276300d00b000000b00000012ff0602490d00a000026b3200000002763200000000";
const M0_SNAPPY: &str = "000000000000000b0000005887a52a050002ffffffff0000004a82534e41505059000000000100000001000000363b0000090\
    1200a00000011165764b1050f1c016b000000027630050d6000000b00000012ff0602490000000000026b32000000027632";

pub(super) fn bytes(hex: &str) -> Vec<u8> {
    assert_eq!(hex.len() % 2, 0);
    (0..hex.len() / 2)
        .map(|i| u8::from_str_radix(&hex[2 * i..2 * i + 2], 16).expect("hex"))
        .collect()
}

#[test]
fn batches_of_magic_2_hold_the_same_records_in_every_codec() {
    let mut expected = b"\x6e\0\0\0\x02k\x60".to_vec();
    expected.extend_from_slice(&[b'a'; 48]);
    expected.extend_from_slice(b"\0\x14\0\x02\x02\x04k2\x04v2\0");
    for (codec, golden) in [
        (Codec::Gzip, GZIP),
        (Codec::Snappy, SNAPPY),
        (Codec::Lz4, LZ4),
        (Codec::Zstd, ZSTD),
    ] {
        let batch = bytes(golden);
        assert_eq!(
            crc32c::crc32c(&batch[21..]).to_be_bytes(),
            batch[17..21],
            "{codec}: the golden itself"
        );
        let records =
            decompress(codec, Lz4Header::Checked, &batch[V2_RECORDS..], 4096).expect("decodes");
        assert_eq!(records, expected, "{codec}");
    }
}

#[test]
fn wrappers_of_magic_0_and_1_hold_whole_messages() {
    let cases = [
        (M1_GZIP, V1_VALUE, Codec::Gzip, Lz4Header::Checked),
        (M1_LZ4_LAT, V1_VALUE, Codec::Lz4, Lz4Header::Checked),
        (M0_LZ4, V0_VALUE, Codec::Lz4, Lz4Header::LegacyUnchecked),
        (
            M0_SNAPPY,
            V0_VALUE,
            Codec::Snappy,
            Lz4Header::LegacyUnchecked,
        ),
    ];
    for (golden, value, codec, header) in cases {
        let wrapper = bytes(golden);
        let inner = decompress(codec, header, &wrapper[value..], 4096).expect("decodes");
        let mut rest = &inner[..];
        for _ in 0..2 {
            let size = u32::from_be_bytes(rest[8..12].try_into().expect("4 bytes")) as usize;
            let message = &rest[12..12 + size];
            assert_eq!(
                crc32fast::hash(&message[4..]).to_be_bytes(),
                message[..4],
                "{golden}"
            );
            rest = &rest[12 + size..];
        }
        assert!(rest.is_empty(), "{golden}");
    }
}

/// records.md 4.7.
#[test]
fn the_header_of_magic_0_is_no_header_of_magic_1() {
    let wrapper = bytes(M0_LZ4);
    let error = decompress(Codec::Lz4, Lz4Header::Checked, &wrapper[V0_VALUE..], 4096)
        .expect_err("refused");
    assert_eq!(error.kind(), ErrorKind::CorruptMessage);
    assert!(
        error
            .message()
            .contains("header checksum 0x82 where the frame says 0x1a"),
        "{error}"
    );
}
