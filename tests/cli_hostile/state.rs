//! What a log knows besides its records, more of it than any log has: transactions, producers, checkpoints, epochs.

use super::*;

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
