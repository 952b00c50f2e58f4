//! Makes a failing stream short.

use super::op::Op;
use super::pair::Failure;

/// How often a stream is run again at most.
const MOST_RUNS: usize = 800;

/// Drops steps, and lowers offsets, as long as the same failure stays.
pub(crate) fn shrink(
    failure: Failure,
    run: &mut dyn FnMut(&[Op]) -> Result<(), Failure>,
) -> Failure {
    let mut shrinking = Shrinking {
        best: failure,
        run,
        runs: 0,
    };
    let mut piece = shrinking.best.ops.len() / 2;
    while piece > 1 {
        shrinking.drop_pieces(piece);
        piece /= 2;
    }
    while shrinking.drop_pieces(1) || shrinking.lower_offsets() {}
    shrinking.best
}

struct Shrinking<'a> {
    best: Failure,
    run: &'a mut dyn FnMut(&[Op]) -> Result<(), Failure>,
    runs: usize,
}

impl Shrinking<'_> {
    /// Whether the same failure stays with these steps; then they are the best.
    fn fails_with(&mut self, ops: &[Op]) -> bool {
        if self.runs == MOST_RUNS {
            return false;
        }
        self.runs += 1;
        match (self.run)(ops) {
            Err(failure) if failure.kind == self.best.kind => {
                self.best = failure;
                true
            }
            _ => false,
        }
    }

    fn drop_pieces(&mut self, size: usize) -> bool {
        let mut at = 0;
        let mut is_shorter = false;
        while at < self.best.ops.len() {
            let ops = &self.best.ops;
            let end = (at + size).min(ops.len());
            let without = [&ops[..at], &ops[end..]].concat();
            if self.fails_with(&without) {
                is_shorter = true;
            } else {
                at = end;
            }
        }
        is_shorter
    }

    fn lower_offsets(&mut self) -> bool {
        let mut is_lower = false;
        let mut at = 0;
        while at < self.best.ops.len() {
            let lower = [
                lowered(&self.best.ops[at], 2),
                lowered(&self.best.ops[at], 1),
            ];
            let done = lower.into_iter().flatten().any(|op| {
                let mut ops = self.best.ops.clone();
                ops[at] = op;
                self.fails_with(&ops)
            });
            is_lower |= done;
            if !done {
                at += 1;
            }
        }
        is_lower
    }
}

/// The step with half its offset, or one less.
fn lowered(op: &Op, divisor: i64) -> Option<Op> {
    let mut op = op.clone();
    let offset = match &mut op {
        Op::Truncate(offset) | Op::DeleteRecords(offset) | Op::HighWatermark { offset, .. } => {
            offset
        }
        Op::TruncateFully { to, .. } => to,
        _ => return None,
    };
    if *offset <= 0 {
        return None;
    }
    *offset = if divisor == 1 {
        *offset - 1
    } else {
        *offset / 2
    };
    Some(op)
}
