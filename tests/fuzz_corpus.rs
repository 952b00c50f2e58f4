//! Every fuzz target (`fuzz/`) on its seeds and on thousands of mutations of them. `make test-long` runs the same bodies
//! under libFuzzer; `KLOG_SEED_CORPUS=DIR` writes the seeds for it.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on has failed"
)]

#[path = "crash/random.rs"]
mod random;
#[path = "crash/run.rs"]
mod run;

mod fuzz_bodies;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::fmt::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use fuzz_bodies::{TARGETS, Target};
use klog::io::{FileSystem, OpenMode, RealFs};
use random::Random;

/// Memory that a body may hold at once, whatever its input.
const MEMORY_MAX: usize = 24 * 1024 * 1024;
/// Inputs are no longer than this, as with libFuzzer.
const INPUT_MAX: usize = 8 * 1024;

/// Counts what each thread holds, to see that no input makes klog allocate what it merely claims.
struct Counting;

thread_local! {
    static HELD: Cell<usize> = const { Cell::new(0) };
    static PEAK: Cell<usize> = const { Cell::new(0) };
}

fn took(bytes: usize) {
    let _ = HELD.try_with(|held| {
        held.set(held.get().saturating_add(bytes));
        let _ = PEAK.try_with(|peak| peak.set(peak.get().max(held.get())));
    });
}

fn gave_back(bytes: usize) {
    let _ = HELD.try_with(|held| held.set(held.get().saturating_sub(bytes)));
}

// SAFETY: every call goes to the system's allocator as it came; counting allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        took(layout.size());
        // SAFETY: the caller's layout.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        gave_back(layout.size());
        // SAFETY: the caller's pointer and layout.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        gave_back(layout.size());
        took(size);
        // SAFETY: the caller's pointer, layout and size.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Runs a body; what is wrong, with the input to run it again.
fn run_body(target: &Target, data: &[u8]) -> Result<usize, String> {
    let before = HELD.get();
    PEAK.set(before);
    let outcome = catch_unwind(AssertUnwindSafe(|| (target.body)(data)));
    let used = PEAK.get() - before;
    let input = || {
        let mut hex = String::new();
        for byte in data {
            let _ = write!(hex, "{byte:02x}");
        }
        hex
    };
    match outcome {
        Err(panic) => {
            let text = panic.downcast_ref::<String>().cloned();
            let text = text.or_else(|| panic.downcast_ref::<&str>().map(|t| (*t).to_owned()));
            Err(format!(
                "{}: {}\ninput: {}",
                target.name,
                text.unwrap_or_default(),
                input()
            ))
        }
        Ok(()) if used > MEMORY_MAX => Err(format!(
            "{}: {used} bytes were held at once\ninput: {}",
            target.name,
            input()
        )),
        Ok(()) => Ok(used),
    }
}

#[test]
fn every_target_holds_on_its_seeds() {
    for target in TARGETS {
        let seeds = (target.seeds)();
        assert!(!seeds.is_empty());
        for seed in [vec![], vec![0], vec![0xff; 100]].into_iter().chain(seeds) {
            run_body(target, &seed).unwrap_or_else(|problem| panic!("{problem}"));
        }
    }
}

#[test]
fn every_target_holds_on_mutations_of_its_seeds() {
    let mut all = 0;
    for target in TARGETS {
        // KLOG_TARGET for one.
        if std::env::var("KLOG_TARGET").is_ok_and(|name| name != target.name) {
            continue;
        }
        let seeds = (target.seeds)();
        let peak = AtomicU64::new(0);
        let runs = run::Seeds::from_env(target.mutations);
        runs.run("fuzz_corpus", |seed| {
            let mut random = Random::new(seed ^ 0x6675_7a7a_0000);
            let data = mutated(&mut random, &seeds);
            let used = run_body(target, &data)?;
            peak.fetch_max(used as u64, Ordering::SeqCst);
            Ok(())
        });
        println!(
            "fuzz_corpus: {} on {} mutations, {} KiB at once at most",
            target.name,
            runs.count(),
            peak.into_inner() / 1024
        );
        all += runs.count();
    }
    println!("fuzz_corpus: {all} mutations");
}

/// A seed with a few changes, of the kinds that break parsers.
fn mutated(random: &mut Random, seeds: &[Vec<u8>]) -> Vec<u8> {
    let mut data = random.pick(seeds).clone();
    for _ in 0..=random.below(5) {
        let len = data.len();
        let at = if len == 0 { 0 } else { random.below(len) };
        match random.below(10) {
            0..=1 if len > 0 => data[at] ^= 1 << random.below(8),
            2 if len > 0 => data[at] = random.next().to_le_bytes()[0],
            3 => data.truncate(at),
            4 => {
                let more = random.below(20);
                let fill = *random.pick(&[0, 0xff, 0x80, b'\n', b'1']);
                data.splice(at..at, vec![fill; more]);
            }
            5..=6 => overwrite_number(random, &mut data, at),
            7 => {
                let end = (at + random.below(40)).min(len);
                let piece = data[at..end].to_vec();
                let to = random.below(len + 1);
                data.splice(to..to, piece);
            }
            8 => {
                let end = (at + random.below(40)).min(len);
                data.drain(at..end);
            }
            _ => {
                let other = random.pick(seeds);
                let from = random.below(other.len() + 1);
                data.truncate(at);
                data.extend_from_slice(&other[from..]);
            }
        }
        data.truncate(INPUT_MAX);
    }
    data
}

/// Writes a number that may be a length, a count or an offset, of some width.
fn overwrite_number(random: &mut Random, data: &mut [u8], at: usize) {
    let len = data.len();
    let interesting = [
        0,
        1,
        -1,
        i64::from(i32::MAX),
        i64::from(i32::MIN),
        i64::from(i16::MAX),
        i64::MAX,
        i64::MIN,
        i64::try_from(len).unwrap_or(0),
        i64::try_from(len - at).unwrap_or(0),
        i64::try_from(len - at).unwrap_or(0) + 1,
        0x00ff_ffff,
        13,
        14,
    ];
    let number = random.pick(&interesting).to_be_bytes();
    let width = *random.pick(&[1, 2, 4, 4, 8]);
    for (byte, value) in data[at..].iter_mut().zip(&number[8 - width..]) {
        *byte = *value;
    }
}

#[test]
fn the_targets_of_libfuzzer_are_these() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/fuzz_targets");
    let mut files: Vec<_> = RealFs
        .list(&dir)
        .unwrap()
        .into_iter()
        .map(|entry| entry.name.into_string().unwrap())
        .collect();
    files.sort();
    let mut names: Vec<_> = TARGETS
        .iter()
        .map(|target| format!("{}.rs", target.name))
        .collect();
    names.sort();
    assert_eq!(files, names);
    if let Some(corpus) = std::env::var_os("KLOG_SEED_CORPUS") {
        for target in TARGETS {
            let dir = Path::new(&corpus).join(target.name);
            klog::io::create_dir_all(&RealFs, &dir).unwrap();
            for (i, seed) in (target.seeds)().iter().enumerate() {
                let file = RealFs
                    .open(&dir.join(format!("seed-{i}")), OpenMode::Truncate)
                    .unwrap();
                file.write_at(seed, 0).unwrap();
            }
        }
    }
}
