//! What is accepted of gzip, and what is written: records.md 5.2.

use flate2::{Compress, Compression, FlushCompress};

use super::{Codec, TEXT, accepts, compress, concat, noise, records, refuses, refuses_to_begin};

/// Magic, method, flags, and six bytes that do not matter.
fn header(flags: u8) -> Vec<u8> {
    vec![0x1f, 0x8b, 8, flags, 1, 2, 3, 4, 5, 6]
}

fn deflated(content: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(content.len() + 100);
    Compress::new(Compression::new(6), false)
        .compress_vec(content, &mut out, FlushCompress::Finish)
        .expect("deflates");
    out
}

fn trailer(content: &[u8]) -> Vec<u8> {
    let length = u32::try_from(content.len()).expect("short");
    concat(&[
        &crc32fast::hash(content).to_le_bytes(),
        &length.to_le_bytes(),
    ])
}

/// A member whose header has `fields` after its first ten bytes.
fn member(flags: u8, fields: &[u8], content: &[u8]) -> Vec<u8> {
    concat(&[
        &header(flags),
        fields,
        &deflated(content),
        &trailer(content),
    ])
}

fn plain(content: &[u8]) -> Vec<u8> {
    member(0, b"", content)
}

#[test]
fn members_one_after_another_are_one_stream() {
    accepts(Codec::Gzip, &plain(TEXT), TEXT);
    accepts(
        Codec::Gzip,
        &concat(&[&plain(&TEXT[..9]), &plain(&TEXT[9..])]),
        TEXT,
    );
    accepts(
        Codec::Gzip,
        &concat(&[&plain(b""), &plain(b""), &plain(TEXT), &plain(b"")]),
        TEXT,
    );
    accepts(Codec::Gzip, &plain(b""), b"");
    accepts(
        Codec::Gzip,
        &concat(&[&plain(b"").repeat(5000), &plain(TEXT)]),
        TEXT,
    );
}

#[test]
fn members_are_found_wherever_the_first_one_ends() {
    // Kafka loses the second member if the first one ends near a multiple of its buffer's 8192 bytes.
    let noise = noise(8200);
    for length in 8150..8200 {
        let first = &noise[..length];
        let both = concat(&[&plain(first), &plain(TEXT)]);
        let found = super::decompress(Codec::Gzip, super::Lz4Header::Checked, &both, 1 << 20)
            .expect("decodes");
        assert!(
            found == concat(&[first, TEXT]),
            "first member of {length} bytes"
        );
    }
}

#[test]
fn optional_header_fields_are_skipped() {
    accepts(Codec::Gzip, &member(0x04, b"\x03\0abc", TEXT), TEXT);
    accepts(Codec::Gzip, &member(0x04, b"\0\0", TEXT), TEXT);
    accepts(Codec::Gzip, &member(0x08, b"name\0", TEXT), TEXT);
    accepts(Codec::Gzip, &member(0x10, b"comment\0", TEXT), TEXT);
    let fields: &[u8] = b"\x03\0abcname\0comment\0";
    let crc = crc32fast::hash(&concat(&[&header(0x1f), fields])).to_le_bytes();
    accepts(
        Codec::Gzip,
        &member(0x1f, &concat(&[fields, &crc[..2]]), TEXT),
        TEXT,
    );
    for reserved in [0x01, 0x20, 0x40, 0x80] {
        accepts(Codec::Gzip, &member(reserved, b"", TEXT), TEXT);
    }
}

#[test]
fn the_first_header_has_to_be_right() {
    refuses_to_begin(Codec::Gzip, b"", "cut off");
    let good = member(0x1f, b"\0\0n\0c\0\0\0", TEXT);
    for length in 0..18 {
        refuses_to_begin(Codec::Gzip, &good[..length], "header is cut off");
    }
    refuses_to_begin(Codec::Gzip, &good, "wrong CRC");
    refuses_to_begin(
        Codec::Gzip,
        &concat(&[b"\x1f\x8c", &plain(TEXT)[2..]]),
        "begin with 1f 8b",
    );
    refuses_to_begin(
        Codec::Gzip,
        &concat(&[b"\x1f\x8b\x07", &plain(TEXT)[3..]]),
        "method",
    );
    refuses_to_begin(
        Codec::Gzip,
        &member(0x08, &[b'n'; 50], b"")[..60],
        "cut off",
    );
}

#[test]
fn what_follows_a_member_and_is_no_header_is_ignored() {
    let good = plain(TEXT);
    let member_of_7 = concat(&[b"\x1f\x8b\x07", &good[3..]]);
    let member_of_wrong_crc = member(0x02, b"\x01\x02", TEXT);
    let member_of_endless_name = concat(&[&header(0x08), &[b'n'; 50]]);
    let tails: [&[u8]; 7] = [
        b"\0",
        &[0; 8],
        &[0; 100],
        b"\0\x1f\x8b\x08\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0",
        &member_of_7,
        &member_of_wrong_crc,
        &member_of_endless_name,
    ];
    for tail in tails {
        accepts(Codec::Gzip, &concat(&[&good, tail]), TEXT);
        accepts(
            Codec::Gzip,
            &concat(&[&good, &good, tail]),
            &concat(&[TEXT, TEXT]),
        );
    }
    // Too short for a member, and so not even looked at; one byte more has to be one.
    for length in 0..=18 {
        accepts(Codec::Gzip, &concat(&[&good, &good[..length]]), TEXT);
    }
    for length in 19..good.len() {
        refuses(
            Codec::Gzip,
            &concat(&[&good, &good[..length]]),
            "is cut off",
        );
    }
}

#[test]
fn crc_and_length_of_each_member_are_checked() {
    let good = plain(TEXT);
    for at in good.len() - 8..good.len() {
        let mut bad = good.clone();
        bad[at] ^= 1;
        let why = if at < good.len() - 4 {
            "CRC"
        } else {
            "bytes where the trailer says"
        };
        refuses(Codec::Gzip, &bad, why);
        refuses(Codec::Gzip, &concat(&[&good, &bad]), why);
    }
}

#[test]
fn a_stream_that_is_cut_off_is_refused() {
    let good = plain(TEXT);
    for length in 10..good.len() - 8 {
        refuses(Codec::Gzip, &good[..length], "deflated data is cut off");
    }
    for length in good.len() - 8..good.len() {
        refuses(Codec::Gzip, &good[..length], "trailer is cut off");
    }
}

#[test]
fn deflated_data_that_is_none_is_refused() {
    refuses(
        Codec::Gzip,
        &concat(&[&header(0), &[0x07; 40]]),
        "deflated data",
    );
}

#[test]
fn the_header_written_is_the_one_of_kafka() {
    for content in [b"", TEXT] {
        for level in [None, Some(1), Some(9)] {
            let stream = compress(Codec::Gzip, level, content);
            assert_eq!(stream[..10], [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff]);
            assert_eq!(stream[stream.len() - 8..], trailer(content));
        }
    }
}

#[test]
fn levels_are_those_of_zlib() {
    let content = records(50_000);
    let default = compress(Codec::Gzip, None, &content);
    assert_eq!(compress(Codec::Gzip, Some(-1), &content), default);
    assert_eq!(compress(Codec::Gzip, Some(6), &content), default);
    assert!(compress(Codec::Gzip, Some(1), &content).len() > default.len());
    assert!(compress(Codec::Gzip, Some(9), &content).len() <= default.len());
    assert_eq!(
        compress(Codec::Gzip, Some(i32::MAX), &content),
        compress(Codec::Gzip, Some(9), &content)
    );
    assert_eq!(compress(Codec::Gzip, Some(i32::MIN), &content), default);
}
