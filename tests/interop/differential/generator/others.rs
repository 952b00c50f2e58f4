//! What coordinators, Raft leaders and followers append.

use klog::format::codec::Codec;

use super::super::batches::{self, Spec};
use super::super::op::{Op, Origin, What};
use super::super::side::{Producer, State};
use super::*;

impl Generator {
    pub(super) fn marker(&mut self, log: &State) -> Op {
        let open: Vec<i64> = log.open_transactions().collect();
        let id = if open.is_empty() || self.random.once_in(8) {
            *self.random.pick(&PRODUCERS)
        } else {
            *self.random.pick(&open)
        };
        let unknown = Producer {
            epoch: 0,
            coordinator_epoch: -1,
            ..Producer::default()
        };
        let known = log.producers.get(&id).unwrap_or(&unknown).clone();
        let version = self.random.between(0, 3) as i16;
        let mut spec = Spec {
            producer: id,
            epoch: known.epoch.max(0) + i16::from(version == 2),
            ..Spec::plain(Codec::None)
        };
        let mut coordinator = known.coordinator_epoch.max(0);
        if self.random.once_in(3) {
            coordinator += 1;
        }
        let mut append = self.append(What::Marker, Vec::new());
        append.origin = Origin::Coordinator;
        append.txn_version = Some(version);
        append.what = match self.random.below(20) {
            0 => {
                spec.epoch = known.epoch - 1;
                What::OldMarkerEpoch
            }
            1 => {
                // As version 2 has it, only a new epoch ends a transaction.
                append.txn_version = Some(2);
                spec.epoch = known.epoch;
                What::OldMarkerEpoch
            }
            2 => {
                coordinator = known.coordinator_epoch - 1;
                What::OldCoordinator
            }
            3 => {
                append.txn_version = None;
                What::NoMarkerVersion
            }
            4 => What::UnknownMarker,
            _ if known.txn_first.is_none() => What::MarkerOfNothing,
            _ => What::Marker,
        };
        append.bytes = if append.what == What::UnknownMarker {
            spec.unknown_marker(self.now)
        } else {
            let commit = self.random.once_in(2);
            spec.marker(commit, coordinator, self.now)
        };
        Op::Append(append)
    }

    // Appends that bring their offsets.

    pub(super) fn raft(&mut self, log: &State) -> Op {
        let what =
            *self
                .random
                .pick(&[What::Raft, What::Raft, What::RaftOtherEpoch, What::RaftBack]);
        let records = self.records();
        let mut append = self.append(what, Vec::new());
        append.origin = Origin::RaftLeader;
        let spec = Spec {
            base: if what == What::RaftBack {
                (log.end - 1).max(0)
            } else {
                log.end
            },
            leader_epoch: append.epoch + i32::from(what == What::RaftOtherEpoch),
            ..Spec::plain(self.settings.any_codec(&mut self.random))
        };
        append.bytes = spec.batch(&records);
        Op::Append(append)
    }

    pub(super) fn follower(&mut self, log: &State) -> Op {
        use What::*;
        let mut choices = vec![Follow; 8];
        choices.extend([
            FollowGap,
            FollowGap,
            FollowBack,
            FollowNewerEpoch,
            FollowNoEpoch,
            FollowOldEpoch,
            FollowCut,
            FollowOldFormat,
        ]);
        if !self.settings.small_index {
            choices.extend([FollowOutOfOrder, FollowCorrupt]);
        }
        if self.random.once_in(3) {
            choices.push(FollowFarGap);
        }
        if self.settings.compacts {
            choices.push(FollowNullKey);
        }
        if self.settings.segment_bytes > self.settings.max_message_bytes + 300 {
            choices.push(FollowTooLarge);
        }
        let what = *self.random.pick(&choices);
        let mut append = self.append(what, Vec::new());
        append.origin = Origin::Replication;
        append.bytes = self.followed(what, log, append.epoch);
        Op::Append(append)
    }

    /// What a follower gets: batches from the log end on, with what is special about them.
    pub(super) fn followed(&mut self, what: What, log: &State, leader_epoch: i32) -> Vec<u8> {
        let mut next = log.end;
        match what {
            What::FollowGap => next += self.random.between(1, 8),
            What::FollowFarGap => next += (1 << 31) + self.random.between(0, 3),
            What::FollowBack => next = (next - 1).max(0),
            _ => {}
        }
        let latest = log.latest_epoch().unwrap_or(0);
        let epoch = match what {
            What::FollowNoEpoch => -1,
            What::FollowOldEpoch => (latest - 1).clamp(0, leader_epoch),
            _ => leader_epoch,
        };
        let first = self.follow_batch(what, &mut next, epoch, log);
        let mut all = vec![first];
        match what {
            What::FollowNewerEpoch => {
                all.push(self.follow_batch(what, &mut next, epoch + 2, log));
            }
            What::FollowOutOfOrder => {
                let mut low = log.end;
                next += 4;
                all = vec![
                    self.follow_batch(what, &mut next, epoch, log),
                    self.follow_batch(what, &mut low, epoch, log),
                ];
            }
            What::FollowCut => {
                let mut cut = self.follow_batch(what, &mut next, epoch, log);
                cut.truncate(cut.len() - 1);
                all.push(cut);
            }
            What::FollowCorrupt => {
                let mut bad = self.follow_batch(what, &mut next, epoch, log);
                let last = bad.len() - 1;
                bad[last] ^= 1;
                all.push(bad);
            }
            What::Follow if !self.settings.small_index => {
                for _ in 0..self.random.below(4) {
                    if self.random.once_in(5) {
                        next += self.random.between(1, 4);
                    }
                    all.push(self.follow_batch(what, &mut next, epoch, log));
                }
            }
            _ => {}
        }
        all.concat()
    }

    pub(super) fn follow_batch(
        &mut self,
        what: What,
        next: &mut i64,
        epoch: i32,
        log: &State,
    ) -> Vec<u8> {
        let mut records = self.records();
        match what {
            What::FollowNullKey => records[0].key = None,
            What::FollowTooLarge => {
                records = self.large_record(self.settings.max_message_bytes);
            }
            _ => {}
        }
        let base = *next;
        *next += records.len() as i64;
        if what == What::FollowOldFormat {
            let magic = self.random.below(2) as i8;
            return if magic == 1 && self.random.once_in(2) {
                batches::old_wrapper(Codec::ALL[1 + self.random.below(3)], base, &records)
            } else if self.settings.small_index {
                *next = base + 1;
                batches::old_messages(magic, base, &records[..1])
            } else {
                batches::old_messages(magic, base, &records)
            };
        }
        let spec = Spec {
            base,
            leader_epoch: epoch,
            ..Spec::plain(Codec::ALL[self.random.below(5)])
        };
        let id = *self.random.pick(&PRODUCERS);
        let known = log.producers.get(&id).cloned().unwrap_or_default();
        // A follower takes any sequence and any epoch.
        let of_producer = Spec {
            producer: id,
            epoch: (known.epoch + self.random.between(-1, 2) as i16).max(0),
            sequence: if self.random.once_in(4) {
                self.random.between(0, 1 << 31) as i32
            } else {
                next_sequence(&known)
            },
            transactional: known.txn_first.is_some(),
            ..spec
        };
        match self.random.below(10) {
            0 => of_producer.batch(&records),
            1 => Spec {
                transactional: true,
                ..of_producer
            }
            .batch(&records),
            2 => {
                *next = base + 1;
                let coordinator = known.coordinator_epoch.max(0);
                let commit = self.random.once_in(2);
                of_producer.marker(commit, coordinator, self.now)
            }
            _ => spec.batch(&records),
        }
    }
}
