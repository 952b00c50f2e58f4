//! Every command on files that are made to do harm: it ends, with an answer or an error, takes no more than 64 MB of resident
//! memory (VmHWM of the child at its end, its code included), and does not panic. And every command whose reader
//! leaves ends without a word.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::format_collect,
    reason = "a failure fails the test"
)]

mod support;

use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use flate2::Compression;
use flate2::write::GzEncoder;
use klog::format::batch;
use klog::format::crc::crc32c;
use klog::format::legacy::{OldMessage, write_message};
use klog::format::txn_index::AbortedTxn;
use klog::types::{Offset, ProducerId, TimestampMs};
use tempfile::TempDir;

use support::command::binary;
use support::engine::{CLEAN_MARKER, Home, fill, t0, v2};
use support::{fixture, shim, tree};

/// The largest peak of resident memory.
const PEAK_KIB: u64 = 64 * 1024;
const SEGMENT: &str = "00000000000000000000";

/// Commands as `Q` for a quarantine and `T` for a target that are not there, `D` for the directory, `L` for the files of the log.
const COMMANDS: [&str; 20] = [
    "ls D",
    "dump D",
    "offsets D t-0 --timestamp=5 --timestamp=1700000000001 --timestamp=-3",
    "transactions D",
    "producers D t-0",
    "cat D t-0",
    "cat D t-0 --format=raw",
    "verify D",
    "stat D",
    "report D -o T",
    "retain D --dry-run",
    "clean D --dry-run --config log.cleanup.policy=compact --config log.cleaner.min.cleanable.ratio=0 --map-bytes=1048576",
    "clean D t-0 --roll --config log.cleanup.policy=compact --config log.cleaner.min.cleanable.ratio=0 --map-bytes=1048576",
    "repair D",
    "dump-log --print-data-log --files L",
    "copy D T",
    "append D t-0",
    "recover D",
    "repair D --apply --quarantine Q",
    "retain D --config log.retention.ms=1",
];

/// Those that write have a directory of their own.
const WRITING: [&str; 5] = [
    "append",
    "recover",
    "repair D --apply",
    "clean D t-0",
    "retain D --config",
];

/// So much of an output is read where it has no end.
const OUTPUT_BYTES_MAX: u64 = 8 << 20;

/// Ends the command when it takes more processor time than anything here may.
const SECONDS_MAX: u64 = 20;
/// And when it waits for something that does not come.
const WAITED_SECONDS_MAX: u64 = 300;

/// Runs a command that takes no more than so much memory; its exit code and what it said on standard error.
fn run(args: &[String], peak_kib: u64, what: &str) -> (Option<i32>, String) {
    static SHIM: OnceLock<(TempDir, PathBuf)> = OnceLock::new();
    let (_, shim) = SHIM.get_or_init(|| {
        let root = tree::scratch();
        let shim = shim::build(root.path());
        (root, shim)
    });
    let scratch = tree::scratch();
    let (peak, errors) = (scratch.path().join("peak"), scratch.path().join("errors"));
    let mut child = Command::new("bash")
        .args([
            "-c",
            &format!(
                "ulimit -t {SECONDS_MAX}; exec timeout {WAITED_SECONDS_MAX} env LD_PRELOAD=\"$SHIM\" \"$0\" \"$@\""
            ),
        ])
        .arg(binary())
        .args(args)
        .env("SHIM", shim)
        .env("KLOG_PEAK", &peak)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(File::create(&errors).unwrap())
        .spawn()
        .unwrap();
    let mut output = child.stdout.take().unwrap().take(OUTPUT_BYTES_MAX);
    std::io::copy(&mut output, &mut std::io::sink()).unwrap();
    // Its reader leaves.
    drop(output);
    let status = child.wait().unwrap();
    let mut bytes = Vec::new();
    File::open(&errors)
        .unwrap()
        .take(10_000)
        .read_to_end(&mut bytes)
        .unwrap();
    let said = String::from_utf8_lossy(&bytes).into_owned();
    assert!(!said.contains("panicked"), "{what}: {args:?}: {said}");
    // One that was killed has written none.
    let peak = fs::read_to_string(&peak)
        .unwrap_or_else(|e| panic!("{what}: {args:?}: {e}: {status} {said}"));
    let peak: u64 = peak.parse().unwrap();
    assert!(peak <= peak_kib, "{what}: {args:?} took {peak} KiB");
    (status.code(), said)
}

/// Every command on a directory.
fn run_all(home: &Home, what: &str) {
    run_within(|_| PEAK_KIB, home, what);
}

/// Every command on a directory, each within its own limit.
fn run_within(peak_kib: impl Fn(&str) -> u64, home: &Home, what: &str) {
    for line in COMMANDS {
        let scratch = tree::scratch();
        let mut dir = home.dir.clone();
        if WRITING.iter().any(|name| line.starts_with(name)) {
            dir = scratch.path().join("logs");
            let copied = Command::new("cp")
                .args(["-a", "--sparse=always"])
                .arg(&home.dir)
                .arg(&dir)
                .status();
            assert!(copied.unwrap().success());
        }
        let files: Vec<String> = fs::read_dir(dir.join("t-0"))
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .map(|path| path.to_str().unwrap().to_owned())
            .collect();
        let args: Vec<String> = line
            .split(' ')
            .map(|word| match word {
                "D" => dir.to_str().unwrap().to_owned(),
                "L" => files.join(","),
                "T" | "Q" => scratch.path().join(word).to_str().unwrap().to_owned(),
                word => word.to_owned(),
            })
            .collect();
        let (code, said) = run(&args, peak_kib(line), what);
        assert!(
            matches!(code, Some(0 | 1)),
            "{what}: {line}: {code:?} {said}"
        );
        assert!(
            code == Some(0)
                || line.starts_with("verify")
                || line.starts_with("repair")
                || !said.is_empty(),
            "{what}: {line}"
        );
    }
}

/// A directory with a small log; `t-0/NAME` and `NAME` can be put beside it.
fn small() -> Home {
    let home = Home::new();
    let manager = home.open();
    fill(&t0(&manager), 1);
    manager.close().unwrap();
    home
}

/// As if it had been closed in order: nothing is recovered, and files are taken as they are.
fn close_in_order(home: &Home) {
    fs::write(
        home.dir.join(CLEAN_MARKER),
        "{\"version\":0,\"brokerEpoch\":1}",
    )
    .unwrap();
}

fn sparse(path: &Path, bytes: u64) {
    let file = File::options()
        .create(true)
        .write(true)
        .truncate(false)
        .open(path)
        .unwrap();
    file.set_len(bytes).unwrap();
}

/// Every kind of file that there is, as long as an index or a segment may be and longer.
#[test]
fn sparse_files_take_little_memory() {
    let names = [
        ("t-0", "00000000000000000000.log"),
        ("t-0", "00000000000000000000.index"),
        ("t-0", "00000000000000000000.timeindex"),
        ("t-0", "00000000000000000000.txnindex"),
        ("t-0", "00000000000000000001.snapshot"),
        ("t-0", "leader-epoch-checkpoint"),
        ("t-0", "partition.metadata"),
        ("", "recovery-point-offset-checkpoint"),
        ("", "replication-offset-checkpoint"),
        ("", "log-start-offset-checkpoint"),
        ("", "cleaner-offset-checkpoint"),
        ("", "meta.properties"),
        ("", CLEAN_MARKER),
    ];
    for (dir, name) in names {
        for bytes in [SEGMENT_BYTES_MAX, 10 << 30] {
            for is_closed in [false, true] {
                // It makes no difference to files that are read as a whole, if they are.
                let is_of_segment = name.starts_with('0');
                if (!is_of_segment && bytes == SEGMENT_BYTES_MAX)
                    || (name == CLEAN_MARKER && is_closed)
                {
                    continue;
                }
                let home = small();
                home.forget_marker();
                sparse(&home.dir.join(dir).join(name), bytes);
                if is_closed {
                    close_in_order(&home);
                }
                let what = format!("{name} of {bytes} bytes, closed in order: {is_closed}");
                run_all(&home, &what);
            }
        }
    }
}

/// Nobody writes to them: who waited for that would wait for ever.
#[test]
fn pipes_in_place_of_files_are_not_waited_for() {
    for name in [
        "t-0/00000000000000000000.log",
        "t-0/00000000000000000000.index",
        "t-0/00000000000000000000.timeindex",
        "t-0/00000000000000000000.txnindex",
        "t-0/00000000000000000001.snapshot",
        "t-0/leader-epoch-checkpoint",
        "t-0/partition.metadata",
        "recovery-point-offset-checkpoint",
        "log-start-offset-checkpoint",
        "cleaner-offset-checkpoint",
        "meta.properties",
        CLEAN_MARKER,
    ] {
        let home = small();
        let path = home.dir.join(name);
        let _ = fs::remove_file(&path);
        assert!(
            Command::new("mkfifo")
                .arg(&path)
                .status()
                .unwrap()
                .success()
        );
        run_all(&home, &format!("a pipe as {name}"));
    }
}

/// As long as a file of a segment may be.
const SEGMENT_BYTES_MAX: u64 = (1 << 31) - 2;

/// Where the log is as long, its indexes may be as well.
#[test]
fn sparse_indexes_beside_a_sparse_log_take_little_memory() {
    for is_closed in [false, true] {
        let home = small();
        home.forget_marker();
        for kind in ["log", "index", "timeindex", "txnindex"] {
            sparse(&home.path(&format!("0.{kind}")), SEGMENT_BYTES_MAX);
        }
        if is_closed {
            close_in_order(&home);
        }
        run_all(&home, &format!("a sparse segment, closed: {is_closed}"));
        // What a segment of later offsets has is all below it.
        let home = small();
        home.forget_marker();
        for kind in ["log", "index", "timeindex", "txnindex"] {
            sparse(&home.path(&format!("7.{kind}")), SEGMENT_BYTES_MAX);
        }
        if is_closed {
            close_in_order(&home);
        }
        run_all(
            &home,
            &format!("a sparse second segment, closed: {is_closed}"),
        );
    }
}

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

/// All of them are recovered by whoever looks: what each takes must not add up.
#[test]
fn hundreds_of_small_segments_that_were_not_flushed_take_little_memory() {
    let home = Home::new().set("internal.segment.bytes", 200);
    let manager = home.open();
    let log = t0(&manager);
    for _ in 0..400 {
        fill(&log, 2);
    }
    assert!(log.segments().len() >= 400);
    manager.abandon();
    run_all(&home, "hundreds of small segments");
}

#[test]
fn state_of_hundreds_of_thousands_takes_little_memory() {
    let home = small();
    home.forget_marker();
    let txns = 300_000;
    let entries: Vec<u8> = (0..txns)
        .flat_map(|i| {
            AbortedTxn {
                producer_id: ProducerId(i),
                first_offset: Offset(i),
                last_offset: Offset(i),
                last_stable_offset: Offset(i),
            }
            .encode()
        })
        .collect();
    home.write("0.txnindex", &entries);
    run_all(&home, "aborted transactions");
    close_in_order(&home);
    run_all(&home, "aborted transactions of a closed directory");

    let home = small();
    home.write("1.snapshot", vec![0; 46_000_010]);
    run_all(&home, "a snapshot of zeros");
    // As many as a snapshot can have: a valid one, and one with a wrong checksum.
    let mut snapshot = snapshot_of((0..1_000_000).map(|id| (id, false)));
    home.write("1.snapshot", &snapshot);
    close_in_order(&home);
    let of_clean = 1_000_000 * CLEAN_BYTES / 1024;
    run_within(
        |line| {
            PEAK_KIB
                + if line.starts_with("clean D t") {
                    of_clean
                } else {
                    0
                }
        },
        &home,
        "a million producers",
    );
    snapshot[5] ^= 1;
    home.write("1.snapshot", &snapshot);
    run_all(&home, "a million producers and a wrong checksum");
    let claimed = i32::MAX.to_be_bytes();
    home.write(
        "1.snapshot",
        [
            &1_i16.to_be_bytes()[..],
            &crc32c(&claimed).to_be_bytes(),
            &claimed,
        ]
        .concat(),
    );
    run_all(&home, "a number of producers");

    for name in [
        "recovery-point-offset-checkpoint",
        "log-start-offset-checkpoint",
        "cleaner-offset-checkpoint",
    ] {
        let home = small();
        let lines: String = (0..100_000)
            .map(|i| format!("a-topic-with-a-name-{i} {i} 0\n"))
            .collect();
        fs::write(home.dir.join(name), format!("0\n100000\n{lines}")).unwrap();
        run_all(&home, name);
        fs::write(home.dir.join(name), "0\n2147483647\n").unwrap();
        run_all(&home, "a number of lines");
    }
    let home = small();
    let lines: String = (0..100_000).map(|i| format!("{i} {i}\n")).collect();
    home.write("leader-epoch-checkpoint", format!("0\n100000\n{lines}"));
    run_all(&home, "epochs");
}

/// A snapshot of producers, some with an open transaction. They wrote last in a far future: they do not expire.
fn snapshot_of(producers: impl Iterator<Item = (i64, bool)>) -> Vec<u8> {
    let mut body = vec![0; 4];
    for (id, is_open) in producers {
        body.extend_from_slice(&id.to_be_bytes());
        body.extend_from_slice(&[0; 18]);
        body.extend_from_slice(&(1_i64 << 50).to_be_bytes());
        body.extend_from_slice(&[0; 4]);
        let txn_first = if is_open { id } else { -1 };
        body.extend_from_slice(&txn_first.to_be_bytes());
    }
    let count = i32::try_from(body.len() / 46).unwrap();
    body[..4].copy_from_slice(&count.to_be_bytes());
    [
        &1_i16.to_be_bytes()[..],
        &crc32c(&body).to_be_bytes(),
        &body,
    ]
    .concat()
}

/// What a pass of the cleaner notes of a producer.
const CLEAN_BYTES: u64 = 25;

/// docs/cli.md as one line.
fn docs_of_cli() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/cli.md");
    let docs = fs::read_to_string(path).unwrap();
    docs.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What a log knows of its producers is real, and is held: docs/cli.md says how much a producer costs, at most.
#[test]
fn producers_cost_what_is_said() {
    const PRODUCERS: u64 = 200_000;
    // The command itself.
    const BASE_KIB: u64 = 8 * 1024;
    let docs = docs_of_cli();
    for (what, cost, said) in [
        ("in order", 50, "50 bytes a producer of a snapshot"),
        (
            "in any order, with transactions, and a log that goes on",
            150,
            "150 bytes at most",
        ),
    ] {
        assert!(docs.contains(said), "docs/cli.md: {said}");
        let home = small();
        let is_plain = what == "in order";
        let id = |i: u64| if is_plain { i } else { i * 7_919 % PRODUCERS };
        let producers = (0..PRODUCERS).map(|i| (id(i) as i64, !is_plain));
        if !is_plain {
            // A look makes another snapshot, behind this one.
            let manager = home.open();
            fill(&t0(&manager), 1);
            manager.close().unwrap();
            home.remove("2.snapshot");
        }
        home.write("1.snapshot", snapshot_of(producers));
        close_in_order(&home);
        let limit = |line: &str| {
            let of_clean = if line.starts_with("clean") {
                CLEAN_BYTES
            } else {
                0
            };
            BASE_KIB + PRODUCERS * (cost + of_clean) / 1024
        };
        run_within(limit, &home, what);
    }
}

/// Each of them wrote one batch, and no snapshot has them yet.
#[test]
fn producers_that_are_replayed_cost_what_is_said() {
    const PRODUCERS: u64 = 100_000;
    const COST: u64 = 300;
    assert!(docs_of_cli().contains("300 bytes while they are replayed from their batches"));
    let home = small();
    let mut log = home.read("0.log");
    for id in 0..PRODUCERS as i64 {
        let mut bytes = v2(id + 1, &[("k", "v")]);
        bytes[43..51].copy_from_slice(&id.to_be_bytes());
        bytes[51..53].copy_from_slice(&0_i16.to_be_bytes());
        bytes[53..57].copy_from_slice(&0_i32.to_be_bytes());
        bytes[35..43].copy_from_slice(&(1_i64 << 50).to_be_bytes());
        batch::seal(&mut bytes);
        log.extend_from_slice(&bytes);
    }
    home.write("0.log", &log);
    home.forget_marker();
    let limit = |_: &str| 8 * 1024 + PRODUCERS * COST / 1024;
    run_within(limit, &home, "replayed");
}

/// Lines and raw batches that are too large are refused before memory is taken for them.
#[test]
fn input_without_end_is_refused() {
    for (format, feed) in [
        ("text", "0\\t1\\tk\\t"),
        ("json", "{\\\"value\\\":\\\""),
        (
            "raw",
            "\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x7f\\xff\\xff\\xf0\\x00\\x00\\x00\\x00\\x02",
        ),
    ] {
        let home = small();
        let line = format!(
            "(printf \"{feed}\"; head -c 300000000 /dev/zero | tr '\\0' x) | \"$0\" append \"$1\" t-0 --format={format}"
        );
        let script = home.dir.join("../feed");
        fs::write(&script, line).unwrap();
        let output = Command::new("bash")
            .args(["-c", &format!("ulimit -d {PEAK_KIB}; exec bash \"$@\"")])
            .arg("bash")
            .arg(&script)
            .env("MALLOC_ARENA_MAX", "1")
            .output();
        let _ = output.unwrap();
        let args: Vec<PathBuf> = vec![binary().into(), home.dir.clone()];
        let output = Command::new("bash")
            .args([
                "-c",
                &format!(
                    "ulimit -d {PEAK_KIB}; {}",
                    fs::read_to_string(&script).unwrap()
                ),
            ])
            .args(args)
            .env("MALLOC_ARENA_MAX", "1")
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{format}: {said}");
        assert!(said.contains("TOO_LARGE"), "{format}: {said}");
        assert!(home.is_clean(), "{format}");
    }
}

/// The first byte is read, and then no more.
#[test]
fn every_command_ends_quietly_when_its_reader_leaves() {
    let fixture = fixture::extract("kafka-4.4.0-torn");
    let dir = fixture.dir.to_str().unwrap();
    let scratch = tree::scratch();
    let (target, kept) = (scratch.path().join("copy"), scratch.path().join("kept"));
    let log = fixture
        .dir
        .join("t-whole-tx-0")
        .join(format!("{SEGMENT}.log"));
    let log = log.to_str().unwrap();
    let commands: Vec<Vec<&str>> = vec![
        vec!["ls", dir],
        vec!["dump", dir],
        vec![
            "offsets",
            dir,
            "t-whole-tx-0",
            "--timestamp=1",
            "--timestamp=-1",
        ],
        vec!["transactions", dir],
        vec!["producers", dir, "t-whole-tx-0"],
        vec!["cat", dir, "t-whole-tx-0"],
        vec!["cat", dir, "t-whole-tx-0", "--format=raw"],
        vec!["verify", dir],
        vec!["verify", dir, "--json"],
        vec!["stat", dir],
        vec!["stat", dir, "--json"],
        vec!["repair", dir],
        vec!["copy", dir, target.to_str().unwrap()],
        vec![
            "retain",
            dir,
            "--config",
            "t-whole:retention.ms=1",
            "--dry-run",
        ],
        vec![
            "clean",
            dir,
            "--config",
            "log.cleanup.policy=compact",
            "--dry-run",
        ],
        vec!["dump-log", "--print-data-log", "--files", log],
        vec!["completions", "bash"],
        vec!["help"],
        vec!["cat", "--help"],
        vec![
            "repair",
            dir,
            "--apply",
            "--quarantine",
            kept.to_str().unwrap(),
        ],
    ];
    for args in commands {
        // Nobody reads from the beginning on: the first write fails.
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let child = Command::new(binary())
            .args(&args)
            .stdin(Stdio::null())
            .stdout(writer)
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let ended = child.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&ended.stderr);
        assert!(
            !said.contains("panicked") && !said.to_lowercase().contains("pipe"),
            "{args:?}: {said}"
        );
        assert!(
            matches!(ended.status.code(), Some(0 | 1)),
            "{args:?}: {:?} {said}",
            ended.status
        );
    }
}
