//! Batches that lie about what is in them, or hold more than anybody can.

use super::*;

fn varint(out: &mut Vec<u8>, n: u64) {
    let mut n = n << 1;
    while n >= 128 {
        out.push((n & 127) as u8 | 128);
        n >>= 7;
    }
    out.push(n as u8);
}

/// A batch with a good checksum around these bytes, which claim to be so many records.
fn around(payload: &[u8], codec: u8, count: i32) -> Vec<u8> {
    let mut bytes = v2(1, &[("k", "v")])[..61].to_vec();
    bytes.extend_from_slice(payload);
    let size = i32::try_from(bytes.len() - 12).unwrap();
    bytes[8..12].copy_from_slice(&size.to_be_bytes());
    bytes[22] = codec;
    bytes[23..27].copy_from_slice(&(count - 1).max(0).to_be_bytes());
    bytes[57..61].copy_from_slice(&count.to_be_bytes());
    batch::seal(&mut bytes);
    bytes
}

/// The bytes of one record with a value of zeros: what is before them, how many, what is behind.
fn huge_record(zeros: u64) -> (Vec<u8>, Vec<u8>) {
    let mut inner = vec![0, 0, 0, 1];
    varint(&mut inner, zeros);
    let mut head = Vec::new();
    varint(&mut head, inner.len() as u64 + zeros + 1);
    head.extend_from_slice(&inner);
    (head, vec![0])
}

fn feed(out: &mut dyn Write, zeros: u64) {
    let (head, tail) = huge_record(zeros);
    let piece = vec![0; 1 << 20];
    out.write_all(&head).unwrap();
    (0..zeros >> 20).for_each(|_| out.write_all(&piece).unwrap());
    out.write_all(&tail).unwrap();
}

/// A record without a key.
const RECORD: [u8; 25] = *b"\x30\0\0\0\x01\x24-of-eighteen-bytes\0";

/// Many of them.
fn feed_many(out: &mut dyn Write, count: usize) {
    let piece = RECORD.repeat(10_000);
    (0..count / 10_000).for_each(|_| out.write_all(&piece).unwrap());
}

/// A record with the key `k`.
const KEYED: [u8; 26] = *b"\x32\0\0\0\x02k\x24-of-eighteen-bytes\0";

/// A record without a key, and many with one.
fn feed_keyed(out: &mut dyn Write, count: usize) {
    out.write_all(&RECORD).unwrap();
    let piece = KEYED.repeat(10_000);
    (0..count / 10_000).for_each(|_| out.write_all(&piece).unwrap());
}

/// A batch that says that it is a marker.
fn control_around(payload: &[u8], codec: u8) -> Vec<u8> {
    let mut bytes = around(payload, codec, 1);
    bytes[22] |= 0x30;
    bytes[43..51].copy_from_slice(&7_i64.to_be_bytes());
    bytes[51..53].copy_from_slice(&0_i16.to_be_bytes());
    batch::seal(&mut bytes);
    bytes
}

/// One raw block of snappy that repeats its first bytes.
fn snappy(head: &[u8], period: u8, total: u64) -> Vec<u8> {
    let mut out = Vec::new();
    let mut n = total;
    while n >= 128 {
        out.push((n & 127) as u8 | 128);
        n >>= 7;
    }
    out.push(n as u8);
    out.push(((head.len() - 1) << 2) as u8);
    out.extend_from_slice(head);
    let mut left = total - head.len() as u64;
    while left > 0 {
        let some = left.min(64);
        out.extend_from_slice(&[((some - 1) << 2) as u8 | 2, period, 0]);
        left -= some;
    }
    out
}

fn with_xerial(block: &[u8]) -> Vec<u8> {
    let size = u32::try_from(block.len()).unwrap().to_be_bytes();
    [b"\x82SNAPPY\0\0\0\0\x01\0\0\0\x01".as_slice(), &size, block].concat()
}

fn gzip(feed: impl Fn(&mut dyn Write)) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    feed(&mut encoder);
    encoder.finish().unwrap()
}

fn zstd(window_log: u32, feed: impl Fn(&mut dyn Write)) -> Vec<u8> {
    let mut encoder = zstd::Encoder::new(Vec::new(), 1).unwrap();
    encoder.window_log(window_log).unwrap();
    feed(&mut encoder);
    encoder.finish().unwrap()
}

fn lz4(feed: impl Fn(&mut dyn Write)) -> Vec<u8> {
    let mut encoder = lz4::EncoderBuilder::new()
        .block_size(lz4::BlockSize::Max4MB)
        .block_mode(lz4::BlockMode::Independent)
        .build(Vec::new())
        .unwrap();
    feed(&mut encoder);
    let (bytes, ended) = encoder.finish();
    ended.unwrap();
    bytes
}

/// A message of an old format around one raw block of snappy: so many bytes in one message, or in as many as there is room for.
fn old_snappy(magic: i8, bytes: u64, is_one: bool) -> Vec<u8> {
    let at_last = Offset(1);
    let message = |value: &[u8]| {
        let mut out = Vec::new();
        let message = OldMessage {
            offset: if magic == 0 { at_last } else { Offset(0) },
            timestamp: TimestampMs(5),
            key: None,
            value: Some(value),
        };
        write_message(&mut out, magic, 0, &message);
        out
    };
    let block = if is_one {
        let inner = message(&vec![0; bytes as usize]);
        let head = inner.len() - bytes as usize + 1;
        snappy(&inner[..head], 1, inner.len() as u64)
    } else {
        let inner = message(b"");
        snappy(
            &inner,
            inner.len() as u8,
            bytes / inner.len() as u64 * inner.len() as u64,
        )
    };
    let mut out = Vec::new();
    let wrapper = OldMessage {
        offset: at_last,
        timestamp: TimestampMs(5),
        key: None,
        value: Some(&block),
    };
    write_message(&mut out, magic, 2, &wrapper);
    out
}

#[test]
fn hostile_batches_take_little_memory() {
    const ZEROS: u64 = 80 << 20;
    const MANY: usize = 3_200_000;
    let hostile_length = [0xff, 0xff, 0xff, 0xff, 7];
    let huge = |out: &mut dyn Write| feed(out, ZEROS);
    let many = |out: &mut dyn Write| feed_many(out, MANY);
    let (head, _) = huge_record(ZEROS);
    let total = head.len() as u64 + ZEROS + 1;
    let snappy_huge = snappy(&[head.as_slice(), &[0]].concat(), 1, total);
    let batches: Vec<(&str, Vec<u8>)> = vec![
        (
            "2^31 - 1 records",
            around(&[14, 0, 0, 0, 1, 2, b'v', 0], 0, i32::MAX),
        ),
        ("gzip, huge", around(&gzip(huge), 1, 1)),
        ("gzip, many", around(&gzip(many), 1, MANY as i32)),
        (
            "snappy, a length",
            around(&[hostile_length.as_slice(), &[0; 99]].concat(), 2, 1),
        ),
        (
            "snappy in frames, a length",
            around(
                &with_xerial(&[hostile_length.as_slice(), &[0; 99]].concat()),
                2,
                1,
            ),
        ),
        ("snappy, huge", around(&snappy_huge, 2, 1)),
        (
            "snappy in frames, huge",
            around(&with_xerial(&snappy_huge), 2, 1),
        ),
        (
            "snappy, many",
            around(&snappy(&RECORD, 25, 25 * MANY as u64), 2, MANY as i32),
        ),
        ("lz4, huge", around(&lz4(huge), 3, 1)),
        ("zstd, huge", around(&zstd(22, huge), 4, 1)),
        (
            "zstd, many, a window of 128 MB",
            around(&zstd(27, many), 4, MANY as i32),
        ),
        ("gzip, a control batch", control_around(&gzip(huge), 1)),
        ("zstd, a control batch", control_around(&zstd(22, many), 4)),
        // Compaction keeps what has a key, and writes the batch anew without what has none.
        (
            "gzip, many with a key and one without",
            around(&gzip(|out| feed_keyed(out, MANY)), 1, MANY as i32 + 1),
        ),
        (
            "gzip, many without a key and one with",
            around(
                &gzip(|out| {
                    feed_many(out, MANY);
                    out.write_all(&KEYED).unwrap();
                }),
                1,
                MANY as i32 + 1,
            ),
        ),
        ("snappy of magic 0, huge", old_snappy(0, ZEROS, true)),
        ("snappy of magic 1, many", old_snappy(1, ZEROS, false)),
        (
            "zstd, a content size",
            around(
                b"\x28\xb5\x2f\xfd\xe0\xff\xff\xff\xff\xff\xff\xff\x0f\x01\0\0",
                4,
                1,
            ),
        ),
        (
            "zstd, a window",
            around(b"\x28\xb5\x2f\xfd\0\xa8\x01\0\0", 4, 1),
        ),
    ];
    for (what, bytes) in batches {
        let home = small();
        home.extend("0.log", &bytes);
        home.forget_marker();
        run_all(&home, what);
    }
    // A batch over all of a file.
    for is_closed in [false, true] {
        let home = small();
        let mut bytes = around(&[0; 10], 0, 1);
        bytes[8..12].copy_from_slice(&((300 << 20) - 12_i32).to_be_bytes());
        home.extend("0.log", &bytes);
        let len = home.read("0.log").len() as u64 - bytes.len() as u64;
        sparse(&home.path("0.log"), len + (300 << 20));
        home.forget_marker();
        if is_closed {
            close_in_order(&home);
        }
        run_all(&home, "a batch of 300 MB");
    }
}

/// A record with so many headers, without a name and a value each.
fn with_headers(count: u64) -> Vec<u8> {
    let mut body = b"\0\0\0\x02k\x02v".to_vec();
    varint(&mut body, count);
    body.extend(b"\0\x01".repeat(count as usize));
    let mut out = Vec::new();
    varint(&mut out, body.len() as u64);
    out.extend(body);
    out
}

#[test]
fn millions_of_headers_and_of_empty_batches_take_little_memory() {
    const HEADERS: u64 = 7_900_000;
    let record = with_headers(HEADERS);
    let compressed = gzip(|out| out.write_all(&record).unwrap());
    let home = small();
    home.extend("0.log", &around(&compressed, 1, 1));
    home.forget_marker();
    run_all(&home, "millions of headers");

    let home = small();
    let empty = around(&[], 0, 0);
    let mut log = home.read("0.log");
    for offset in 1..600_000_i64 {
        let at = log.len();
        log.extend_from_slice(&empty);
        // The checksum is of what lies behind the base offset.
        log[at..at + 8].copy_from_slice(&offset.to_be_bytes());
    }
    home.write("0.log", &log);
    home.forget_marker();
    run_within(|_| PEAK_KIB / 2, &home, "empty batches");
}
