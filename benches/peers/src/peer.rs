//! What every contestant can do, and the records.

use std::path::Path;
use std::sync::Barrier;
use std::thread;
use std::time::Instant;

/// Records of a batch, and of the file that they come from.
pub const EACH: u64 = 100;
const KEY_BYTES: usize = 14;

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Work {
    /// A hundred in a batch where there are batches; nothing is synced.
    Append,
    /// One by one; nothing is synced.
    Single,
    /// Each record is on the disk when its append returns.
    Synced,
    /// All records in order.
    Scan,
    /// Single records, in no order.
    Random,
}

impl Work {
    pub fn name(self) -> &'static str {
        match self {
            Self::Append => "append",
            Self::Single => "single",
            Self::Synced => "synced",
            Self::Scan => "scan",
            Self::Random => "random",
        }
    }
}

/// A piece of work: so many records in a directory by so many threads.
pub struct Job<'a> {
    pub work: Work,
    pub dir: &'a Path,
    pub data: &'a Data,
    pub size: u64,
    pub threads: u64,
}

pub type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

pub trait Peer {
    fn name(&self) -> &'static str;
    /// Whether it checksums, copies and syncs.
    fn does(&self) -> &'static str;
    /// How many seconds the work takes; opening and closing are not counted.
    fn run(&mut self, job: &Job<'_>) -> Result<f64>;
}

/// Keys and values: a hundred records that come again and again.
pub struct Data {
    records: Vec<(Vec<u8>, Vec<u8>)>,
    /// The same, key and value together, for those that know no keys.
    payloads: Vec<Vec<u8>>,
}

impl Data {
    /// Like lines of JSON, so that what compresses finds what it finds in life.
    pub fn new() -> Self {
        let mut state = 1_u64;
        let mut random = |below: u64| {
            state = next(state);
            (state >> 33) % below
        };
        let records: Vec<(Vec<u8>, Vec<u8>)> = (0..EACH)
            .map(|n| {
                let value = format!(
                    r#"{{"id":{:010},"user":"user-{:06}","action":"view","item":{:08},"price":{:05},"ok":true,"note":"{:>40}"#,
                    random(1 << 32),
                    random(1_000_000),
                    random(100_000_000),
                    random(100_000),
                    ""
                );
                (format!("key-{n:010}").into_bytes(), value.as_bytes()[..100].to_vec())
            })
            .collect();
        let payloads = records
            .iter()
            .map(|(key, value)| [&key[..], value].concat());
        Self {
            payloads: payloads.collect(),
            records,
        }
    }

    pub fn record(&self, n: u64) -> (&[u8], &[u8]) {
        let (key, value) = &self.records[(n % EACH) as usize];
        (key, value)
    }

    pub fn payload(&self, n: u64) -> &[u8] {
        &self.payloads[(n % EACH) as usize]
    }

    /// For the programs in other languages.
    pub fn write(&self, path: &Path) {
        std::fs::write(path, self.payloads.concat()).unwrap();
    }

    pub fn payload_bytes(&self) -> usize {
        KEY_BYTES + 100
    }
}

/// The same order for all: a linear congruential generator.
pub fn next(state: u64) -> u64 {
    state
        .wrapping_mul(6_364_136_223_846_793_005)
        .wrapping_add(1_442_695_040_888_963_407)
}

/// Seconds of the work.
pub fn timed(work: impl FnOnce() -> Result<()>) -> Result<f64> {
    let began = Instant::now();
    work()?;
    Ok(began.elapsed().as_secs_f64())
}

/// Seconds of the work in so many threads; each gets its number.
pub fn in_threads(threads: u64, work: impl Fn(u64) -> Result<()> + Sync) -> Result<f64> {
    let ready = Barrier::new(threads as usize);
    let times = thread::scope(|scope| {
        let (ready, work) = (&ready, &work);
        let run = |n| {
            move || {
                ready.wait();
                let began = Instant::now();
                work(n).map_err(|error| error.to_string())?;
                Ok::<_, String>((began, Instant::now()))
            }
        };
        let all: Vec<_> = (0..threads).map(|n| scope.spawn(run(n))).collect();
        all.into_iter()
            .map(|one| one.join().unwrap())
            .collect::<std::result::Result<Vec<_>, _>>()
    })?;
    let began = times.iter().map(|(began, _)| *began).min().unwrap();
    let ended = times.iter().map(|(_, ended)| *ended).max().unwrap();
    Ok(ended.duration_since(began).as_secs_f64())
}

/// Calls `look` with numbers below `end`, in no order.
pub fn at_random(size: u64, end: u64, mut look: impl FnMut(u64) -> Result<()>) -> Result<()> {
    let mut state = 1;
    for _ in 0..size {
        state = next(state);
        look((state >> 33) % end)?;
    }
    Ok(())
}
