//! Makes a failing stream short.

use super::op::Op;
use super::pair::Failure;

/// How often a stream is run again at most.
const MOST_RUNS: usize = 500;

/// Drops steps as long as the same failure stays.
pub(crate) fn shrink(
    failure: Failure,
    run: &mut dyn FnMut(&[Op]) -> Result<(), Failure>,
) -> Failure {
    let mut best = failure;
    let mut runs = 0;
    let mut piece = best.ops.len() / 2;
    while piece > 0 {
        let mut at = 0;
        let mut is_shorter = false;
        while at < best.ops.len() && runs < MOST_RUNS {
            let end = (at + piece).min(best.ops.len());
            let without = [&best.ops[..at], &best.ops[end..]].concat();
            runs += 1;
            match run(&without) {
                Err(failure) if failure.kind == best.kind => {
                    best = failure;
                    is_shorter = true;
                }
                _ => at = end,
            }
        }
        if piece > 1 || !is_shorter {
            piece /= 2;
        }
    }
    best
}
