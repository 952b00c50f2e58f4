//! Random histories of an owner: after each refresh the follower has what the owner has, wherever it looked before.

use klog::manager::{Pass, Task};
use klog::types::Offset;

use crate::pair::{ensure_same_log, followed};
use crate::support::engine::{Home, append_in_epoch, log, t0};
use crate::support::producing::step;
use crate::support::random::{Random, any_records};

const HISTORIES: usize = 40;
const STEPS: usize = 60;

fn home(random: &mut Random) -> Home {
    Home::new()
        .set("internal.segment.bytes", *random.pick(&[2000, 4000, 9000]))
        .set("index.interval.bytes", *random.pick(&[1, 100, 4096]))
        .set("retention.bytes", *random.pick(&[6000, 20_000, 60_000]))
        .set("preallocate", random.once_in(4))
        .set_broker("klog.max.open.files", *random.pick(&[1, 3, 100]))
}

#[test]
fn whatever_the_owner_does_the_follower_sees() {
    let mut random = Random::from_env("whatever_the_owner_does_the_follower_sees");
    for _ in 0..HISTORIES {
        let home = home(&mut random);
        let mut owner = home.open();
        let mut owned = t0(&owner);
        let mut follower = home.follow();
        let (mut epoch, mut sequences) = (0, [0; 3]);
        for _ in 0..STEPS {
            match random.below(20) {
                0..=7 => {
                    append_in_epoch(&owned, &any_records(&mut random), epoch);
                }
                8..=10 => {
                    // A transaction goes on, or ends.
                    let id = random.below(3);
                    let sequence = sequences[id];
                    let kind = *random.pick(&["T", "T", "C", "A"]);
                    let text = match kind {
                        "T" => format!("T {}/0 {sequence}+2", id + 1),
                        _ => format!("{kind} {}/0 0", id + 1),
                    };
                    if step(&text).epoch(epoch).append(&owned).is_ok() && kind == "T" {
                        sequences[id] += 2;
                    }
                }
                11 => {
                    owned.roll().unwrap();
                }
                12 => epoch += 1,
                // What a load makes of a transaction whose beginning is gone depends on where it begins to read.
                13 if owned.last_stable_offset() == owned.end_offset() => {
                    owner.retain(&owned, Pass::Apply).unwrap();
                    home.clock.advance(30_000);
                    owner.run(Task::DeleteFiles).unwrap();
                }
                14 => {
                    let (start, end) = (owned.start_offset().0, owned.end_offset().0);
                    let target = random.between(start, end + 1);
                    owner.truncate_to(&owned, Offset(target)).unwrap();
                    epoch += 1;
                    // Whatever was cut of the producers' batches, they begin anew.
                    sequences = [0; 3];
                    for id in 1..=3 {
                        let _ = step(&format!("A {id}/0 0")).epoch(epoch).append(&owned);
                    }
                    sequences = sequences_of(&owned, sequences);
                }
                15 => {
                    let (start, stable) = (owned.start_offset().0, owned.last_stable_offset().0);
                    let before = random.between(start, stable + 1);
                    owner.delete_records(&owned, Offset(before)).unwrap();
                }
                16 if random.once_in(3) => {
                    owner.delete_log(owned.partition()).unwrap();
                    owned = log(&owner, "t-0");
                    (epoch, sequences) = (0, [0; 3]);
                }
                17 if random.once_in(3) => {
                    owner.close().unwrap();
                    owner = home.open();
                    owned = t0(&owner);
                }
                18 => {
                    follower = home.follow();
                }
                _ => {
                    owner.checkpoint().unwrap();
                }
            }
            if random.once_in(3) {
                // What is stored about the log is not stored by retention alone.
                owner.checkpoint().unwrap();
                follower.refresh().unwrap();
                ensure_same_log(&owned, &followed(&follower, "t-0"));
            }
        }
    }
}

/// Where each producer goes on.
fn sequences_of(log: &klog::log::Log, mut sequences: [i32; 3]) -> [i32; 3] {
    for (id, producer) in log.producers() {
        if let (Some(last), Some(next)) = (
            producer.batches.back(),
            sequences.get_mut((id.0 - 1) as usize),
        ) {
            *next = last.last_sequence + 1;
        }
    }
    sequences
}
