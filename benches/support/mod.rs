//! Two contestants that do the same work in turns, round by round; the first round is thrown away.

use std::time::{Duration, Instant};

/// How long a piece of work takes.
pub(crate) fn timed(work: impl FnOnce()) -> Duration {
    let start = Instant::now();
    work();
    start.elapsed()
}

/// What the rounds took.
pub(crate) struct Contest {
    name: &'static str,
    other: &'static str,
    others: Vec<f64>,
    klog: Vec<f64>,
}

/// In which unit a contest is told.
#[derive(Clone, Copy)]
pub(crate) struct Scale {
    /// How much of it a round does.
    pub(crate) amount: f64,
    /// Its name, per second.
    pub(crate) unit: &'static str,
}

impl Contest {
    /// Lets `other` and klog take turns. Without a word of the command line in its name nothing is done.
    pub(crate) fn run(
        name: &'static str,
        rounds: usize,
        other_name: &'static str,
        mut other: impl FnMut() -> Duration,
        mut klog: impl FnMut() -> Duration,
    ) -> Self {
        let mut contest = Self {
            name,
            other: other_name,
            others: Vec::new(),
            klog: Vec::new(),
        };
        // `cargo bench -- scan` gives only those whose name has the word.
        let words: Vec<String> = std::env::args()
            .skip(1)
            .filter(|arg| !arg.starts_with('-'))
            .collect();
        let is_wanted = words.is_empty() || words.iter().any(|word| name.contains(word.as_str()));
        let rounds = if is_wanted { rounds } else { 0 };
        for round in 0..=rounds {
            if rounds == 0 {
                break;
            }
            let (a, b) = (other().as_secs_f64(), klog().as_secs_f64());
            if round > 0 {
                contest.others.push(a);
                contest.klog.push(b);
            }
        }
        contest
    }

    /// Prints the contest and answers whether klog reached its floor.
    pub(crate) fn report(&self, scale: Scale, floor: f64) -> bool {
        if self.others.is_empty() {
            return true;
        }
        let mut ratios: Vec<f64> = self
            .others
            .iter()
            .zip(&self.klog)
            .map(|(other, klog)| other / klog)
            .collect();
        ratios.sort_by(f64::total_cmp);
        let ratio = ratios[ratios.len() / 2];
        let per_second = |seconds: &[f64]| {
            let mut sorted = seconds.to_vec();
            sorted.sort_by(f64::total_cmp);
            scale.amount / sorted[sorted.len() / 2]
        };
        println!(
            "{:<36} {} {:8.2} {unit}   klog {:8.2} {unit}   ratio {ratio:.2} ({:.2}..{:.2})   floor {floor}",
            self.name,
            self.other,
            per_second(&self.others),
            per_second(&self.klog),
            ratios[0],
            ratios[ratios.len() - 1],
            unit = scale.unit,
        );
        ratio >= floor
    }
}

/// Ends the program, with a failure if a contest missed its floor.
pub(crate) fn finish(met: &[bool]) {
    if met.contains(&false) {
        eprintln!("a ratio is below its floor");
        std::process::exit(1);
    }
}
