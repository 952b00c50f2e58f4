//! Draws a stream: each step from a seed and from what Kafka's log has become.

mod clients;
mod others;

use std::collections::VecDeque;

use super::op::{Append, Ending, Isolation, Op, Origin, Read, Reopen, What};
use super::settings::Settings;
use super::side::{Producer, State};
use crate::support::engine::{NOW, Rec};
use crate::support::random::Random;

/// How many steps that change something a stream has at least.
pub(crate) const LEAST_CHANGES: usize = 60;

/// `producer.id.expiration.ms`.
const EXPIRATION_MS: i64 = 86_400_000;

const PRODUCERS: [i64; 6] = [0, 1, 2, 3, 7, 1 << 40];

/// Draws the steps of one stream.
pub(crate) struct Generator {
    random: Random,
    settings: Settings,
    now: i64,
    epoch: i32,
    changes: usize,
    done: usize,
    /// Steps that must come next.
    queue: VecDeque<Op>,
    /// Batches of idempotent producers, to be sent again.
    sent: VecDeque<Append>,
}

impl Generator {
    pub(crate) fn new(mut random: Random, settings: &Settings) -> Self {
        let changes = LEAST_CHANGES + random.below(40);
        let epoch = random.between(0, 3) as i32;
        Self {
            random,
            settings: settings.clone(),
            now: NOW,
            epoch,
            changes,
            done: 0,
            queue: VecDeque::new(),
            sent: VecDeque::new(),
        }
    }

    /// The next step, for a log that is like this now; none at the end.
    pub(crate) fn next(&mut self, log: &State) -> Option<Op> {
        if let Some(op) = self.queue.pop_front() {
            return Some(op);
        }
        if self.done == self.changes {
            return None;
        }
        if self.done > 0 && self.random.below(100) < 35 {
            return Some(self.query(log));
        }
        self.done += 1;
        if self.random.below(100) < 40 {
            // The step that this one is for comes next time.
            let step =
                *self
                    .random
                    .pick(&[1, 10, 300, 1000, 1001, self.settings.segment_ms.min(5001)]);
            self.now += step;
            let op = self.change(log);
            self.queue.push_front(op);
            return Some(Op::Clock(self.now));
        }
        Some(self.change(log))
    }

    fn query(&mut self, log: &State) -> Op {
        let random = &mut self.random;
        let offset = random.between(log.start - 1, log.end.max(log.start) + 2);
        match random.below(10) {
            0..=5 => Op::Read(Read {
                from: offset,
                max: if self.settings.reencodes {
                    1 << 20
                } else {
                    *random.pick(&[0, 1, 100, 300, 1000, 1 << 20])
                },
                isolation: *random.pick(&[
                    Isolation::LogEnd,
                    Isolation::HighWatermark,
                    Isolation::TxnCommitted,
                ]),
                min_one: self.settings.reencodes || !random.once_in(3),
            }),
            6 | 7 => {
                let near = self.now + random.between(-3000, 1000);
                Op::Timestamp(*random.pick(&[
                    -1,
                    -2,
                    -3,
                    -4,
                    -7,
                    0,
                    near,
                    near,
                    near,
                    NOW,
                    i64::MAX,
                ]))
            }
            8 => {
                let latest = log.latest_epoch().unwrap_or(0);
                Op::EpochEnd(random.between(-1, i64::from(latest) + 2) as i32)
            }
            _ => Op::Aborted {
                // Kafka's bare query knows nothing below its first segment.
                from: offset.max(log.start).max(log.segments[0].0),
                upto: log.end + random.between(-3, 2),
            },
        }
    }

    fn change(&mut self, log: &State) -> Op {
        if self.done == self.changes * 2 / 3 {
            return self.reopen(log, true);
        }
        match self.random.below(100) {
            0..=45 => self.client(log),
            46..=59 => self.follower(log),
            60..=69 => self.marker(log),
            70..=72 => self.raft(log),
            73..=81 => self.high_watermark(log),
            82 | 83 => Op::Roll,
            84 | 85 => Op::Flush,
            86..=88 => self.truncate(log),
            89 => self.truncate_fully(log),
            90..=92 => self.delete_records(log),
            93 => {
                self.now += EXPIRATION_MS + self.random.between(-1500, 1000);
                self.queue.push_back(Op::Expire);
                Op::Clock(self.now)
            }
            94 | 95 => Op::Checkpoint,
            _ => {
                let swap = self.random.once_in(4);
                self.reopen(log, swap)
            }
        }
    }

    fn reopen(&mut self, log: &State, swap: bool) -> Op {
        let high_watermark = Op::HighWatermark {
            offset: log.high_watermark,
            as_follower: false,
        };
        let kill = self.random.once_in(2);
        let ending = if kill { Ending::Kill } else { Ending::Close };
        let op = Op::Reopen(Reopen { ending, swap });
        self.queue.push_back(high_watermark);
        // Kafka forgets the largest time of a segment that is cut before anybody asked for it, klog reads it from the
        // batches and takes an index without it for damaged (D42).
        self.queue.push_back(Op::Timestamp(-3));
        if self.settings.small_index {
            // A rebuilt index may have more entries than the one before.
            self.queue.push_back(Op::Roll);
        }
        if kill && self.random.once_in(2) {
            self.queue.push_front(op);
            return Op::Checkpoint;
        }
        op
    }

    fn high_watermark(&mut self, log: &State) -> Op {
        let random = &mut self.random;
        let offset = match random.below(20) {
            0..=10 => log.end,
            11..=15 => random.between(log.start, log.end.max(log.start) + 1),
            16 | 17 => log.end + 5,
            18 => log.start - 1,
            _ => -5,
        };
        Op::HighWatermark {
            offset,
            as_follower: random.once_in(3),
        }
    }

    fn truncate(&mut self, log: &State) -> Op {
        let random = &mut self.random;
        let to = match random.below(20) {
            0..=9 => random.between(log.start, log.end.max(log.start) + 1),
            10..=13 => random.pick(&log.segments).0,
            14 | 15 => log.end + random.between(0, 3),
            16 | 17 => (log.start - random.between(1, 4)).max(0),
            18 => 0,
            _ => -1,
        };
        if self.settings.small_index {
            self.queue.push_back(Op::Roll);
        }
        Op::Truncate(to)
    }

    fn truncate_fully(&mut self, log: &State) -> Op {
        let random = &mut self.random;
        let to = *random.pick(&[log.end, log.end + 10, log.start, log.start / 2]);
        let start = match random.below(8) {
            0 => Some((to - 3).max(0)),
            1 => Some(to + 4),
            _ => None,
        };
        Op::TruncateFully { to, start }
    }

    fn delete_records(&mut self, log: &State) -> Op {
        let random = &mut self.random;
        let high = log.high_watermark;
        Op::DeleteRecords(match random.below(10) {
            0..=2 => high,
            3..=6 => random.between(log.start, high.max(log.start) + 1),
            7 => high + 1,
            8 => (log.start - 1).max(0),
            _ => log.end,
        })
    }

    // Records.

    fn time(&mut self) -> i64 {
        if self.random.once_in(10) {
            -1
        } else {
            self.now + self.random.between(-900, 900)
        }
    }

    fn bytes(&mut self, most: usize) -> Vec<u8> {
        let len = self.random.below(most + 1);
        if self.random.once_in(2) {
            self.random.bytes(len)
        } else {
            vec![b'v'; len]
        }
    }

    fn record(&mut self) -> Rec {
        let key = (self.settings.compacts || !self.random.once_in(5)).then(|| self.bytes(8));
        let value = (!self.random.once_in(10)).then(|| self.bytes(40));
        let headers = if self.random.once_in(6) {
            vec![("h".to_owned(), Some(self.bytes(5)))]
        } else {
            Vec::new()
        };
        Rec {
            ts: self.time(),
            key,
            value,
            headers,
        }
    }

    fn records(&mut self) -> Vec<Rec> {
        (0..=self.random.below(4)).map(|_| self.record()).collect()
    }

    /// One record with this many bytes of value, which no codec packs.
    fn large_record(&mut self, bytes: usize) -> Vec<Rec> {
        vec![Rec {
            value: Some(self.random.bytes(bytes)),
            key: Some(b"k".to_vec()),
            ..self.record()
        }]
    }

    // Leader appends.

    fn append(&mut self, what: What, bytes: Vec<u8>) -> Append {
        if self.random.once_in(12) {
            self.epoch += self.random.between(1, 3) as i32;
        }
        Append {
            origin: Origin::Client,
            epoch: self.epoch,
            txn_version: None,
            what,
            bytes,
        }
    }
}

/// What follows the last batch that a log has of a producer.
fn next_sequence(producer: &Producer) -> i32 {
    producer.batches.last().map_or(0, |last| {
        if last.last_sequence == i32::MAX {
            0
        } else {
            last.last_sequence + 1
        }
    })
}
