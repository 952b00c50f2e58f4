//! Curves over the partitions of a directory.

use std::path::Path;

use super::curve::{Asked, Curve};
use super::directories::{many, open};
use super::held::held;
use super::{Sizes, fresh, timed};

/// Making, opening and closing; memory.
pub(crate) fn curves(sizes: &Sizes, root: &Path) -> [Vec<Curve>; 2] {
    let dir = root.join("partitions");
    let mut times = ["make, append to each, close", "open", "close"]
        .map(|name| Curve::new(name, Asked::Linear));
    let mut memory = Curve::new("a directory, by partitions", Asked::Linear);
    for &partitions in sizes.partitions {
        let mut best = [f64::INFINITY; 3];
        let mut held_most = 0.0_f64;
        let rounds = if partitions >= 1000 { 1 } else { sizes.rounds };
        for _ in 0..rounds {
            let (made, ()) = timed(|| many(&fresh(&dir), partitions as i32));
            let before = held()[0];
            let (opened, manager) = timed(|| open(&dir));
            held_most = held_most.max((held()[0] - before) / 1024.0);
            assert_eq!(manager.logs().len() as u64, partitions);
            let (closed, ()) = timed(|| manager.close().unwrap());
            for (best, seconds) in best.iter_mut().zip([made, opened, closed]) {
                *best = best.min(seconds);
            }
        }
        for (curve, seconds) in times.iter_mut().zip(best) {
            curve.add(partitions, seconds);
        }
        memory.add(partitions, held_most.max(0.1));
    }
    fresh(&dir);
    [times.into(), vec![memory]]
}
