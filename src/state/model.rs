//! The state machines of producers and transactions against a naive account of state.md 4 to 6: it keeps every batch that was
//! let in and works everything out from that list, each time from its beginning. All short histories over a small alphabet.

use super::append_rules::{self, Rules, TxnVersion};
use super::producer::StagedProducer;
use super::producers::Producers;
use crate::error::{ErrorKind, Result};
use crate::format::batch::{Attributes, BatchHeader};
use crate::format::control::EndTxnMarker;
use crate::types::{LeaderEpoch, Offset, ProducerId, TimestampMs};

/// Producers expire after so many ms; each batch is a ms later than the one before.
const EXPIRATION_MS: i64 = 2;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// A batch of data: producer, epoch, first sequence, records, whether transactional.
    Data(i64, i16, i32, i64, bool),
    /// The same of a follower, where nothing is refused but what breaks a transaction.
    Follow(i64, i16, i32, i64, bool),
    /// A marker: producer, epoch, coordinator epoch, whether it commits, version of the protocol.
    End(i64, i16, i32, bool, TxnVersion),
    /// The high watermark is the log end, less so much.
    Settle(i64),
    /// Producers that wrote nothing for a while are forgotten.
    Expire,
    /// The state is read from a snapshot of itself.
    Reload,
}

/// What a step was answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    Done,
    /// First and last offset of the batch that it repeats.
    Duplicate(i64, i64),
    /// A transaction was aborted: its first offset and the last stable offset for the index.
    Aborted(i64, i64),
    Refused(ErrorKind),
}

/// What happened, as the model remembers it.
#[derive(Clone, Copy, Debug)]
enum Event {
    Data {
        id: i64,
        epoch: i16,
        first: i32,
        last: i32,
        base: i64,
        end: i64,
        transactional: bool,
    },
    End {
        id: i64,
        epoch: i16,
        coordinator_epoch: i32,
        offset: i64,
    },
    Settled(i64),
    Forgotten(i64),
    Reloaded,
}

/// The naive account.
#[derive(Clone, Default)]
struct History {
    events: Vec<Event>,
    end: i64,
    high_watermark: i64,
}

/// A producer as the history tells it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Told {
    epoch: i16,
    coordinator_epoch: i32,
    last_offset: i64,
    open_from: Option<i64>,
    /// First and last sequence, base and last offset.
    batches: Vec<(i32, i32, i64, i64)>,
}

impl History {
    /// What is known of a producer, if anything is.
    fn told(&self, wanted: i64) -> Option<Told> {
        let mut told: Option<Told> = None;
        let new = || Told {
            epoch: -1,
            coordinator_epoch: -1,
            ..Told::default()
        };
        for event in &self.events {
            match *event {
                Event::Data {
                    id,
                    epoch,
                    first,
                    last,
                    base,
                    end,
                    transactional,
                } if id == wanted => {
                    let known = told.get_or_insert_with(new);
                    if known.epoch != epoch {
                        known.batches.clear();
                    }
                    known.epoch = epoch;
                    known.batches.push((first, last, base, end - 1));
                    let kept = known.batches.len().saturating_sub(5);
                    known.batches.drain(..kept);
                    known.last_offset = base;
                    if transactional && known.open_from.is_none() {
                        known.open_from = Some(base);
                    }
                }
                Event::End {
                    id,
                    epoch,
                    coordinator_epoch,
                    offset,
                } if id == wanted => {
                    let known = told.get_or_insert_with(new);
                    if known.epoch != epoch {
                        known.batches.clear();
                    }
                    known.epoch = epoch;
                    known.coordinator_epoch = coordinator_epoch;
                    known.last_offset = offset;
                    known.open_from = None;
                }
                Event::Forgotten(id) if id == wanted => told = None,
                Event::Reloaded => {
                    if let Some(known) = &mut told {
                        let kept = known.batches.len().saturating_sub(1);
                        known.batches.drain(..kept);
                    }
                }
                _ => {}
            }
        }
        told
    }

    fn open_from(&self, id: i64) -> Option<i64> {
        self.told(id).and_then(|told| told.open_from)
    }

    /// First offset and marker of the transactions that ended and are still at or above the high watermark.
    fn unsettled(&self) -> Vec<(i64, i64)> {
        let mut unsettled = Vec::new();
        for (i, event) in self.events.iter().enumerate() {
            match *event {
                Event::End { id, offset, .. } => {
                    let before = Self {
                        events: self.events[..i].to_vec(),
                        ..Self::default()
                    };
                    unsettled.extend(before.open_from(id).map(|first| (first, offset)));
                }
                Event::Settled(upto) => unsettled.retain(|(_, marker)| *marker >= upto),
                Event::Reloaded => unsettled.clear(),
                Event::Data { .. } | Event::Forgotten(_) => {}
            }
        }
        unsettled
    }

    fn first_unstable(&self) -> Option<i64> {
        let open = [1, 2].into_iter().filter_map(|id| self.open_from(id));
        open.chain(self.unsettled().into_iter().map(|(first, _)| first))
            .min()
    }

    fn answer(&mut self, step: Step) -> Answer {
        match step {
            Step::Data(id, epoch, sequence, n, transactional) => {
                let last = wrapped(sequence, n - 1);
                match self.data_rules(id, epoch, sequence, last, transactional) {
                    Answer::Done => {}
                    other => return other,
                }
                self.push_data(id, epoch, sequence, n, transactional)
            }
            Step::Follow(id, epoch, sequence, n, transactional) => {
                if self.open_from(id).is_some() && !transactional {
                    return Answer::Refused(ErrorKind::InvalidTxnState);
                }
                self.push_data(id, epoch, sequence, n, transactional)
            }
            Step::End(id, epoch, coordinator_epoch, commit, version) => {
                if let Some(kind) = self.marker_rules(id, epoch, coordinator_epoch, version) {
                    return Answer::Refused(kind);
                }
                let offset = self.end;
                let opened = self.open_from(id);
                let other = self.open_from(3 - id);
                self.events.push(Event::End {
                    id,
                    epoch,
                    coordinator_epoch,
                    offset,
                });
                self.end += 1;
                match opened {
                    Some(first) if !commit => Answer::Aborted(first, other.unwrap_or(offset + 1)),
                    _ => Answer::Done,
                }
            }
            Step::Settle(less) => {
                self.high_watermark = (self.end - less).max(0);
                self.events.push(Event::Settled(self.high_watermark));
                Answer::Done
            }
            Step::Expire => {
                for id in [1, 2] {
                    if self.told(id).is_some_and(|told| {
                        told.open_from.is_none() && self.end - told.last_offset >= EXPIRATION_MS
                    }) {
                        self.events.push(Event::Forgotten(id));
                    }
                }
                Answer::Done
            }
            Step::Reload => {
                self.events.push(Event::Reloaded);
                Answer::Done
            }
        }
    }

    fn push_data(
        &mut self,
        id: i64,
        epoch: i16,
        sequence: i32,
        n: i64,
        transactional: bool,
    ) -> Answer {
        self.events.push(Event::Data {
            id,
            epoch,
            first: sequence,
            last: wrapped(sequence, n - 1),
            base: self.end,
            end: self.end + n,
            transactional,
        });
        self.end += n;
        Answer::Done
    }

    /// state.md 4.3, 4.5, 4.6 for a client.
    fn data_rules(
        &self,
        id: i64,
        epoch: i16,
        first: i32,
        last: i32,
        transactional: bool,
    ) -> Answer {
        let Some(told) = self.told(id) else {
            return Answer::Done;
        };
        let repeated = told
            .batches
            .iter()
            .find(|b| epoch == told.epoch && b.0 == first && b.1 == last);
        if let Some((_, _, base, end)) = repeated {
            return Answer::Duplicate(*base, *end);
        }
        if epoch < told.epoch {
            return Answer::Refused(ErrorKind::InvalidProducerEpoch);
        }
        let expected = match told.batches.last() {
            Some((_, last, _, _)) if epoch == told.epoch => wrapped(*last, 1),
            _ => 0,
        };
        if first != expected {
            return Answer::Refused(ErrorKind::OutOfOrderSequenceNumber);
        }
        if told.open_from.is_some() && !transactional {
            return Answer::Refused(ErrorKind::InvalidTxnState);
        }
        Answer::Done
    }

    /// state.md 4.9 for a coordinator.
    fn marker_rules(
        &self,
        id: i64,
        epoch: i16,
        coordinator_epoch: i32,
        version: TxnVersion,
    ) -> Option<ErrorKind> {
        let told = self.told(id)?;
        let is_stale = match version {
            TxnVersion::Classic => epoch < told.epoch,
            TxnVersion::EpochBump => {
                let may_repeat = told.open_from.is_none() || epoch == i16::MAX;
                epoch < told.epoch || (epoch == told.epoch && !may_repeat)
            }
        };
        if is_stale {
            return Some(ErrorKind::InvalidProducerEpoch);
        }
        (coordinator_epoch < told.coordinator_epoch)
            .then_some(ErrorKind::TransactionCoordinatorFenced)
    }
}

/// After the largest sequence comes 0.
fn wrapped(sequence: i32, more: i64) -> i32 {
    i32::try_from((i64::from(sequence) + more) % (i64::from(i32::MAX) + 1)).unwrap()
}

/// The state machines, driven as a log drives them.
#[derive(Clone, Default)]
struct Machine {
    producers: Producers,
    end: i64,
}

impl Machine {
    fn header(
        &self,
        id: i64,
        epoch: i16,
        sequence: i32,
        n: i64,
        transactional: bool,
    ) -> BatchHeader {
        BatchHeader {
            magic: 2,
            size_bytes: 61,
            base_offset: Offset(self.end),
            last_offset: Offset(self.end + n - 1),
            attributes: Attributes::default().with_transactional(transactional),
            crc: 0,
            leader_epoch: LeaderEpoch(0),
            base_timestamp: TimestampMs(self.end),
            max_timestamp: TimestampMs(self.end),
            producer_id: ProducerId(id),
            producer_epoch: epoch,
            base_sequence: sequence,
            record_count: i32::try_from(n).unwrap(),
        }
    }

    fn answer(&mut self, step: Step) -> Answer {
        match self.try_answer(step) {
            Ok(answer) => answer,
            Err(e) => Answer::Refused(e.kind()),
        }
    }

    fn try_answer(&mut self, step: Step) -> Result<Answer> {
        let leader = Rules {
            fences: true,
            follows_sequence: true,
        };
        match step {
            Step::Data(id, epoch, sequence, n, transactional) => {
                let header = self.header(id, epoch, sequence, n, transactional);
                let known = self.producers.get(ProducerId(id));
                if let Some(repeated) = known.as_deref().and_then(|known| known.repeated(&header)) {
                    return Ok(Answer::Duplicate(
                        repeated.first_offset().0,
                        repeated.last_offset.0,
                    ));
                }
                if transactional {
                    append_rules::check_txn_epoch(&self.producers, &header)?;
                }
                self.data(&header, leader)
            }
            Step::Follow(id, epoch, sequence, n, transactional) => {
                let header = self.header(id, epoch, sequence, n, transactional);
                self.data(
                    &header,
                    Rules {
                        fences: false,
                        follows_sequence: false,
                    },
                )
            }
            Step::End(id, epoch, coordinator_epoch, commit, version) => {
                let header = self.header(id, epoch, -1, 1, true);
                append_rules::check_txn_epoch(&self.producers, &header)?;
                let mut staged = self.producers.stage(ProducerId(id));
                let marker = EndTxnMarker {
                    commit,
                    version: 0,
                    coordinator_epoch,
                };
                let time = TimestampMs(self.end);
                let completed = append_rules::append_marker(
                    &mut staged,
                    &header,
                    marker,
                    time,
                    leader,
                    version,
                )?;
                let stable =
                    completed.map(|txn| self.producers.transactions.last_stable_offset_at(&txn).0);
                self.merge(staged, 1);
                if let Some(txn) = &completed {
                    self.producers.transactions.complete(txn);
                }
                Ok(match (completed, stable) {
                    (Some(txn), Some(stable)) if txn.is_aborted => {
                        Answer::Aborted(txn.first_offset.0, stable)
                    }
                    _ => Answer::Done,
                })
            }
            Step::Settle(less) => {
                let high_watermark = Offset((self.end - less).max(0));
                self.producers
                    .transactions
                    .on_high_watermark(high_watermark);
                Ok(Answer::Done)
            }
            Step::Expire => {
                self.producers.expire(TimestampMs(self.end), EXPIRATION_MS);
                Ok(Answer::Done)
            }
            Step::Reload => {
                let before = std::mem::take(&mut self.producers);
                let mut loading = self.producers.load(TimestampMs(0), i64::MAX);
                before
                    .stored()
                    .for_each(|stored| loading.take(&stored.entry()));
                Ok(Answer::Done)
            }
        }
    }

    fn data(&mut self, header: &BatchHeader, rules: Rules) -> Result<Answer> {
        let mut staged = self.producers.stage(header.producer_id);
        append_rules::append_data(&mut staged, header, rules)?;
        self.merge(staged, header.last_offset.0 - header.base_offset.0 + 1);
        Ok(Answer::Done)
    }

    fn merge(&mut self, staged: StagedProducer, n: i64) {
        self.producers.merge(staged);
        self.end += n;
    }

    fn told(&self, id: i64) -> Option<Told> {
        self.producers.get(ProducerId(id)).map(|known| Told {
            epoch: known.epoch,
            coordinator_epoch: known.coordinator_epoch,
            last_offset: known.last_timestamp.0,
            open_from: known.txn_first_offset.map(|first| first.0),
            batches: known
                .batches
                .iter()
                .map(|b| {
                    (
                        b.first_sequence(),
                        b.last_sequence,
                        b.first_offset().0,
                        b.last_offset.0,
                    )
                })
                .collect(),
        })
    }
}

/// All histories of up to `depth` more steps. How many.
fn explore(
    machine: &Machine,
    history: &History,
    alphabet: &[Step],
    depth: u32,
    path: &mut Vec<Step>,
) -> u64 {
    let mut checked = 0;
    for &step in alphabet {
        path.push(step);
        let (mut machine, mut history) = (machine.clone(), history.clone());
        let (found, right) = (machine.answer(step), history.answer(step));
        assert_eq!(found, right, "{path:?}");
        assert_eq!(machine.end, history.end, "{path:?}");
        for id in [1, 2] {
            assert_eq!(
                machine.told(id),
                history.told(id),
                "producer {id}: {path:?}"
            );
        }
        let unstable = machine.producers.transactions.first_unstable_offset();
        assert_eq!(
            unstable.map(|first| first.0),
            history.first_unstable(),
            "{path:?}"
        );
        checked += 1;
        // What was refused or repeated changed nothing, so that what follows is known.
        if depth > 1 && matches!(right, Answer::Done | Answer::Aborted(..)) {
            checked += explore(&machine, &history, alphabet, depth - 1, path);
        }
        path.pop();
    }
    checked
}

fn check(alphabet: &[Step], depth: u32, at_least: u64) {
    let (machine, history) = (Machine::default(), History::default());
    let checked = explore(&machine, &history, alphabet, depth, &mut Vec::new());
    assert!(checked >= at_least, "only {checked} histories");
}

#[test]
fn sequences_wrap_repeat_and_are_fenced_as_the_history_says() {
    use Step::{Data, Expire, Follow, Reload};
    let max = i32::MAX;
    check(
        &[
            Data(1, 0, 0, 1, false),
            Data(1, 0, 1, 1, false),
            Data(1, 0, max - 1, 2, false),
            Data(1, 0, max, 2, false),
            Data(1, 0, 0, 2, false),
            Data(1, 1, 0, 1, false),
            Data(1, 1, 1, 2, false),
            Follow(1, 0, 1, 2, false),
            Follow(1, 2, max, 1, false),
            Expire,
            Reload,
        ],
        6,
        100_000,
    );
}

#[test]
fn six_batches_in_a_row_leave_five_and_a_reload_one() {
    use Step::{Data, Reload};
    let alphabet: Vec<Step> = (0..7)
        .map(|sequence| Data(1, 0, sequence, 1, false))
        .chain([Reload])
        .collect();
    check(&alphabet, 10, 15_000);
}

#[test]
fn transactions_end_and_settle_as_the_history_says() {
    use Step::{Data, End, Expire, Follow, Reload, Settle};
    use TxnVersion::{Classic, EpochBump};
    check(
        &[
            Data(1, 0, 0, 1, true),
            Data(1, 0, 1, 2, true),
            Data(1, 0, 1, 1, false),
            Data(1, 1, 0, 1, true),
            Follow(2, 0, 5, 2, true),
            End(1, 0, 0, true, Classic),
            End(1, 0, 1, false, Classic),
            End(1, 1, 0, false, EpochBump),
            End(1, 0, 0, false, EpochBump),
            End(2, 1, 0, false, EpochBump),
            End(2, 0, 0, true, Classic),
            Settle(0),
            Settle(1),
            Expire,
            Reload,
        ],
        5,
        150_000,
    );
}

#[test]
fn the_last_epoch_ends_its_transaction_with_itself() {
    use Step::{Data, End};
    use TxnVersion::{Classic, EpochBump};
    let last = i16::MAX;
    check(
        &[
            Data(1, last, 0, 1, true),
            Data(1, last - 1, 0, 1, true),
            Data(1, last, 1, 1, true),
            End(1, last, 0, false, EpochBump),
            End(1, last - 1, 0, false, EpochBump),
            End(1, last, 0, true, Classic),
        ],
        6,
        1000,
    );
}
