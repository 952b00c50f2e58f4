//! Random streams of operations on Kafka's log and on klog's, from the same bytes: after each step both have given the same
//! answer and are in the same state, and what they close has the same files. Each goes on in the other's directory, too.
//! What deviations.md allows is tolerated by its id.
//!
//! `KLOG_SEED=N` runs one stream, `KLOG_SEEDS=N` another number of them. A stream that fails is made short and printed.

mod batches;
mod coverage;
mod files;
mod generator;
mod kafka_side;
mod klog_side;
mod op;
mod pair;
mod settings;
mod shrink;
mod side;

use std::fmt::Write;
use std::path::Path;

use parking_lot::Mutex;

use crate::run::Seeds;
use crate::support::random::Random;
use coverage::Coverage;
use generator::Generator;
use kafka_side::KafkaSide;
use klog_side::KlogSide;
use op::Op;
use pair::Failure;
use settings::{REENCODING, Settings};
use side::{Answer, Opening, Refusal, Side, State};

/// How many seeds `make test` runs.
const SEEDS: u64 = 200;

/// Makes the side that Kafka is compared with.
type NewSide = fn(&Settings) -> Box<dyn Side>;

/// Runs the stream of a seed; what differs, made short.
fn run_seed(seed: u64, new_side: NewSide, coverage: &mut Coverage) -> Result<(), String> {
    let mut random = Random::new(seed);
    let settings = Settings::any(&mut random, seed % REENCODING == REENCODING - 1);
    let mut generator = Generator::new(random, &settings);
    let mut other = new_side(&settings);
    let result = pair::run(&settings, &mut *other, coverage, |log| generator.next(log));
    let Err(failure) = result else {
        return Ok(());
    };
    let mut again = |ops: &[Op]| {
        let mut ops = ops.iter();
        let mut other = new_side(&settings);
        let mut unused = Coverage::default();
        pair::run(&settings, &mut *other, &mut unused, |_| ops.next().cloned())
    };
    let steps = failure.ops.len();
    if std::env::var_os("KLOG_KEEP_GOING").is_some() {
        return Err(format!("{} differs at step {steps}", failure.kind));
    }
    let short = shrink::shrink(failure.clone(), &mut again);
    Err(story(&settings, &failure, steps, &short))
}

fn story(settings: &Settings, failure: &Failure, steps: usize, short: &Failure) -> String {
    let mut text = format!(
        "{} differs at step {steps}\n{}\n\nshortest stream:\n",
        failure.kind, failure.text
    );
    for (key, value) in &settings.pairs {
        writeln!(text, "  {key}={value}").unwrap();
    }
    for op in &short.ops {
        writeln!(text, "  {op}").unwrap();
    }
    writeln!(text, "{}", short.text).unwrap();
    text
}

/// Runs all seeds; what happened in them.
fn run_seeds(seeds: &Seeds, test: &str, new_side: NewSide) -> Coverage {
    let all = Mutex::new(Coverage::default());
    seeds.run(&format!("interop differential::{test}"), |seed| {
        let mut coverage = Coverage::default();
        let result = run_seed(seed, new_side, &mut coverage);
        all.lock().merge(&coverage);
        result
    });
    all.into_inner()
}

/// Kafka's log, but every truncation goes one offset too low.
struct Planted(KafkaSide);

impl Side for Planted {
    fn apply(&mut self, op: &Op) -> Answer {
        match op {
            Op::Truncate(to) if *to > 0 => self.0.apply(&Op::Truncate(to - 1)),
            op => self.0.apply(op),
        }
    }

    fn open(&mut self, dir: &Path, opening: &Opening) -> Result<(), Refusal> {
        self.0.open(dir, opening)
    }

    fn state(&mut self) -> State {
        self.0.state()
    }

    fn batch_base(&mut self, offset: i64) -> Option<i64> {
        self.0.batch_base(offset)
    }

    fn forget_epochs(&mut self, before: &State) {
        self.0.forget_epochs(before);
    }

    fn close(&mut self) {
        self.0.close();
    }

    fn kill(&mut self) {
        self.0.kill();
    }

    fn dump(&mut self, dir: &Path) -> String {
        self.0.dump(dir)
    }
}

#[test]
fn a_planted_difference_is_found_and_its_stream_made_short() {
    let planted =
        |settings: &Settings| Box::new(Planted(KafkaSide::new(&settings.pairs))) as Box<dyn Side>;
    let found: Vec<String> = (0..5)
        .filter_map(|seed| run_seed(seed, planted, &mut Coverage::default()).err())
        .collect();
    assert!(found.len() >= 3, "{found:?}");
    for story in found {
        let (_, stream) = story.split_once("shortest stream:").unwrap();
        let steps = |front: &str| {
            stream
                .lines()
                .filter(|line| line.trim_start().starts_with(front))
                .count()
        };
        assert!((1..=2).contains(&steps("Truncate")), "{story}");
        assert!(steps("append") <= 8, "{story}");
    }
}

/// Nothing is told apart where nothing differs.
#[test]
fn kafka_agrees_with_itself() {
    let again = |settings: &Settings| Box::new(KafkaSide::new(&settings.pairs)) as Box<dyn Side>;
    for seed in 1000..1010 {
        run_seed(seed, again, &mut Coverage::default()).unwrap();
    }
}

#[test]
fn klog_does_what_kafka_does() {
    let klog = |settings: &Settings| Box::new(KlogSide::new(settings)) as Box<dyn Side>;
    let seeds = Seeds::from_env(SEEDS);
    let coverage = run_seeds(&seeds, "klog_does_what_kafka_does", klog);
    println!("{}", coverage.text());
    if seeds.are_all_of(SEEDS) {
        assert_eq!(coverage.missing(), [""; 0]);
    }
}
