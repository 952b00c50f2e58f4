//! What becomes of a batch and of each of its records: the tables of cleaner.md 6.2-6.6 as functions of values, with
//! deviations.md D82.

use crate::format::batch::BatchHeader;
use crate::types::{Offset, TimestampMs};

/// The last of a producer that is known of it, by which it is recognised when it writes again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LastOfProducer {
    /// Its last data ends at this offset.
    Data(Offset),
    /// Only markers are known; they are of this epoch.
    MarkersOf(i16),
}

/// What happens to a batch of which no record is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Retention {
    /// It goes, whatever its records are.
    Delete,
    /// It stays as an empty batch: the last of its producer.
    RetainEmptyForProducer,
    /// It stays as an empty batch: the last one below the high watermark.
    RetainEmptyAtHighWatermark,
    /// It goes.
    DeleteEmpty,
}

impl Retention {
    /// Whether an empty batch is left where no record is.
    #[must_use]
    pub const fn retains_empty(self) -> bool {
        matches!(
            self,
            Self::RetainEmptyForProducer | Self::RetainEmptyAtHighWatermark
        )
    }
}

/// Whether the records of a batch go without a look at their keys (cleaner.md 6.2): aborted data at once, markers of
/// transactions of which nothing is left once their horizon has come.
#[must_use]
pub fn discards_records(header: &BatchHeader, can_discard: bool, now: TimestampMs) -> bool {
    if header.attributes.is_control() {
        can_discard
            && header
                .delete_horizon()
                .is_some_and(|horizon| horizon <= now)
    } else {
        can_discard
    }
}

/// Whether a batch is the last of its producer that is still known (cleaner.md 6.3).
#[must_use]
pub fn is_last_of_producer(header: &BatchHeader, known: Option<LastOfProducer>) -> bool {
    match known {
        None => false,
        Some(LastOfProducer::Data(last)) => header.last_offset == last,
        Some(LastOfProducer::MarkersOf(epoch)) => {
            header.attributes.is_control() && header.producer_epoch == epoch
        }
    }
}

/// What happens to a batch if no record is kept (cleaner.md 6.3).
#[must_use]
pub fn batch_retention(
    header: &BatchHeader,
    known: Option<LastOfProducer>,
    high_watermark: Offset,
    discards_records: bool,
) -> Retention {
    if header.has_producer_id() && is_last_of_producer(header, known) {
        Retention::RetainEmptyForProducer
    } else if header.last_offset.next() == high_watermark {
        Retention::RetainEmptyAtHighWatermark
    } else if discards_records {
        Retention::Delete
    } else {
        Retention::DeleteEmpty
    }
}

/// Whether tombstones of messages of magic 0 and 1, which have no horizon, are still kept: by their segment's time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LegacyTombstones {
    /// They stay.
    Keep,
    /// They go.
    Drop,
}

/// What a record's fate depends on besides its key.
#[derive(Clone, Copy, Debug)]
pub struct RecordFacts {
    /// Its offset.
    pub offset: Offset,
    /// Whether it has a key.
    pub has_key: bool,
    /// Whether it has a value, be it an empty one.
    pub has_value: bool,
}

/// What the fates of a batch's records depend on.
#[derive(Clone, Copy, Debug)]
pub struct BatchRule {
    /// Whether all go ([`discards_records`]).
    pub discards_records: bool,
    /// Whether they are control records, whose keys mean nothing here.
    pub is_control: bool,
    /// Whether the batch is of magic 2.
    pub is_v2: bool,
    /// From when on its tombstones may go.
    pub horizon: Option<TimestampMs>,
    /// Up to where keys were mapped.
    pub mapped_upto: Offset,
    /// For tombstones of magic 0 and 1.
    pub legacy_tombstones: LegacyTombstones,
    /// The time of the pass.
    pub now: TimestampMs,
}

/// What becomes of a record, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Fate {
    /// Goes: its transaction was aborted.
    DropAborted,
    /// Goes: a marker of a transaction of which nothing is left, past its horizon.
    DropMarker,
    /// Stays: a control record.
    KeepControl,
    /// Stays: the map does not reach so far.
    KeepUnmapped,
    /// Goes: without a key nothing says which record it replaces.
    DropNoKey,
    /// Goes: its key has a later record.
    DropSuperseded,
    /// Stays: the last one of its key.
    KeepLatest,
    /// Stays: a tombstone, which a reader may still need to see.
    KeepTombstone,
    /// Goes: a tombstone past its horizon.
    DropTombstone,
}

impl Fate {
    /// Every fate, in the order of their numbers.
    pub const ALL: [Self; 9] = [
        Self::DropAborted,
        Self::DropMarker,
        Self::KeepControl,
        Self::KeepUnmapped,
        Self::DropNoKey,
        Self::DropSuperseded,
        Self::KeepLatest,
        Self::KeepTombstone,
        Self::DropTombstone,
    ];

    /// Whether the record stays.
    #[must_use]
    pub const fn keeps(self) -> bool {
        matches!(
            self,
            Self::KeepControl | Self::KeepUnmapped | Self::KeepLatest | Self::KeepTombstone
        )
    }
}

/// What becomes of a record (cleaner.md 6.5). `latest` is asked for the mapped offset of its key only where that counts.
#[must_use]
#[inline]
pub fn fate_of(
    batch: &BatchRule,
    record: &RecordFacts,
    latest: impl FnOnce() -> Option<Offset>,
) -> Fate {
    if batch.discards_records {
        return if batch.is_control {
            Fate::DropMarker
        } else {
            Fate::DropAborted
        };
    }
    if batch.is_control {
        return Fate::KeepControl;
    }
    if record.offset > batch.mapped_upto {
        return Fate::KeepUnmapped;
    }
    if !record.has_key {
        return Fate::DropNoKey;
    }
    if latest().is_some_and(|latest| record.offset < latest) {
        return Fate::DropSuperseded;
    }
    if record.has_value {
        return Fate::KeepLatest;
    }
    let is_kept = if batch.is_v2 {
        batch.horizon.is_none_or(|horizon| batch.now < horizon)
    } else {
        batch.legacy_tombstones == LegacyTombstones::Keep
    };
    if is_kept {
        Fate::KeepTombstone
    } else {
        Fate::DropTombstone
    }
}

/// What of a batch's records is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Kept {
    /// How many.
    pub records: u64,
    /// Of how many.
    pub of: u64,
    /// Whether one of them has no value.
    pub has_tombstone: bool,
}

/// What is written in place of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// Nothing.
    Nothing,
    /// A batch without records.
    Empty,
    /// Its own bytes.
    Verbatim,
    /// A new batch of what is kept, with this delete horizon.
    Rewritten(Option<TimestampMs>),
}

/// What is written in place of a batch (cleaner.md 6.6). `starts_horizon`: it is the marker of a transaction of which
/// nothing is left. `new_horizon` is the one that a tombstone kept for the first time gets; none if that time lies outside
/// what a batch can store.
#[must_use]
pub fn outcome(
    header: &BatchHeader,
    retention: Retention,
    kept: Kept,
    starts_horizon: bool,
    new_horizon: Option<TimestampMs>,
) -> Outcome {
    if kept.records == 0 {
        return if retention.retains_empty() {
            Outcome::Empty
        } else {
            Outcome::Nothing
        };
    }
    let own = header.delete_horizon();
    let sets_horizon = (kept.has_tombstone || starts_horizon) && own.is_none();
    if sets_horizon {
        return Outcome::Rewritten(new_horizon);
    }
    if kept.records == kept.of && header.is_v2() {
        return Outcome::Verbatim;
    }
    Outcome::Rewritten(own.filter(|horizon| horizon.0 >= 0))
}

/// The horizon of tombstones that are kept for the first time. Kafka's sum wraps, and a negative one is none.
#[must_use]
pub fn new_horizon(now: TimestampMs, delete_retention_ms: i64) -> Option<TimestampMs> {
    Some(TimestampMs(now.0.wrapping_add(delete_retention_ms))).filter(|horizon| horizon.0 >= 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::batch::{Attributes, BatchHeader};
    use crate::types::{LeaderEpoch, ProducerId};

    fn header(control: bool, horizon: Option<i64>) -> BatchHeader {
        BatchHeader {
            magic: 2,
            size_bytes: 100,
            base_offset: Offset(10),
            last_offset: Offset(14),
            attributes: Attributes(0)
                .with_control(control)
                .with_delete_horizon(horizon.is_some()),
            crc: 0,
            leader_epoch: LeaderEpoch(0),
            base_timestamp: TimestampMs(horizon.unwrap_or(5)),
            max_timestamp: TimestampMs(5),
            producer_id: ProducerId(1),
            producer_epoch: 3,
            base_sequence: 0,
            record_count: 5,
        }
    }

    #[test]
    fn cleaner_md_6_2_which_batches_lose_all_records() {
        let now = TimestampMs(100);
        for (control, can_discard, horizon, expected) in [
            (false, true, None, true),
            (false, false, Some(1), false),
            (true, true, Some(100), true),
            (true, true, Some(101), false),
            (true, true, None, false),
            (true, false, Some(1), false),
        ] {
            let found = discards_records(&header(control, horizon), can_discard, now);
            assert_eq!(found, expected, "{control} {can_discard} {horizon:?}");
        }
    }

    #[test]
    fn cleaner_md_6_3_what_stays_of_a_batch_without_records() {
        use LastOfProducer::{Data, MarkersOf};
        let data = header(false, None);
        let marker = header(true, None);
        let anonymous = BatchHeader {
            producer_id: ProducerId(-1),
            ..data
        };
        let (far, here) = (Offset(99), Offset(15));
        for (batch, known, high_watermark, discards, expected) in [
            (
                &data,
                Some(Data(Offset(14))),
                here,
                true,
                Retention::RetainEmptyForProducer,
            ),
            (
                &data,
                Some(Data(Offset(13))),
                far,
                false,
                Retention::DeleteEmpty,
            ),
            (&data, Some(MarkersOf(3)), far, true, Retention::Delete),
            (
                &marker,
                Some(MarkersOf(3)),
                far,
                true,
                Retention::RetainEmptyForProducer,
            ),
            (
                &marker,
                Some(MarkersOf(2)),
                far,
                false,
                Retention::DeleteEmpty,
            ),
            (
                &anonymous,
                Some(Data(Offset(14))),
                far,
                false,
                Retention::DeleteEmpty,
            ),
            (
                &data,
                None,
                here,
                true,
                Retention::RetainEmptyAtHighWatermark,
            ),
            (&data, None, far, true, Retention::Delete),
        ] {
            assert_eq!(
                batch_retention(batch, known, high_watermark, discards),
                expected
            );
        }
    }

    fn rule() -> BatchRule {
        BatchRule {
            discards_records: false,
            is_control: false,
            is_v2: true,
            horizon: None,
            mapped_upto: Offset(20),
            legacy_tombstones: LegacyTombstones::Drop,
            now: TimestampMs(100),
        }
    }

    fn fate(
        batch: &BatchRule,
        offset: i64,
        has_key: bool,
        has_value: bool,
        latest: Option<i64>,
    ) -> Fate {
        let record = RecordFacts {
            offset: Offset(offset),
            has_key,
            has_value,
        };
        fate_of(batch, &record, || latest.map(Offset))
    }

    #[test]
    fn cleaner_md_6_5_the_fates_of_records_in_their_order() {
        let rule = rule();
        let aborted = BatchRule {
            discards_records: true,
            ..rule
        };
        assert_eq!(fate(&aborted, 21, true, true, None), Fate::DropAborted);
        let control = BatchRule {
            is_control: true,
            ..rule
        };
        assert_eq!(fate(&control, 5, true, true, Some(9)), Fate::KeepControl);
        assert_eq!(
            fate(
                &BatchRule {
                    is_control: true,
                    ..aborted
                },
                5,
                true,
                true,
                None
            ),
            Fate::DropMarker
        );
        assert_eq!(fate(&rule, 21, false, false, None), Fate::KeepUnmapped);
        assert_eq!(fate(&rule, 20, false, true, None), Fate::DropNoKey);
        assert_eq!(fate(&rule, 4, true, true, Some(5)), Fate::DropSuperseded);
        assert_eq!(fate(&rule, 5, true, true, Some(5)), Fate::KeepLatest);
        assert_eq!(fate(&rule, 5, true, true, Some(4)), Fate::KeepLatest);
        assert_eq!(fate(&rule, 5, true, true, None), Fate::KeepLatest);
        assert_eq!(fate(&rule, 5, true, false, None), Fate::KeepTombstone);
        for (horizon, expected) in [
            (101, Fate::KeepTombstone),
            (100, Fate::DropTombstone),
            (99, Fate::DropTombstone),
        ] {
            let rule = BatchRule {
                horizon: Some(TimestampMs(horizon)),
                ..rule
            };
            assert_eq!(fate(&rule, 5, true, false, None), expected, "{horizon}");
        }
        let old = BatchRule {
            is_v2: false,
            ..rule
        };
        assert_eq!(fate(&old, 5, true, false, None), Fate::DropTombstone);
        let kept = BatchRule {
            legacy_tombstones: LegacyTombstones::Keep,
            ..old
        };
        assert_eq!(fate(&kept, 5, true, false, None), Fate::KeepTombstone);
    }

    #[test]
    fn cleaner_md_6_6_what_is_written_in_place_of_a_batch() {
        let new = Some(TimestampMs(1100));
        let kept = |records, has_tombstone| Kept {
            records,
            of: 5,
            has_tombstone,
        };
        let plain = header(false, None);
        let dated = header(false, Some(50));
        let old = BatchHeader { magic: 1, ..plain };
        let any = Retention::DeleteEmpty;
        let empty = Retention::RetainEmptyForProducer;
        assert_eq!(
            outcome(&plain, any, kept(5, false), false, new),
            Outcome::Verbatim
        );
        assert_eq!(
            outcome(&plain, any, kept(5, true), false, new),
            Outcome::Rewritten(new)
        );
        assert_eq!(
            outcome(&dated, any, kept(5, true), false, new),
            Outcome::Verbatim
        );
        assert_eq!(
            outcome(&plain, any, kept(3, false), false, new),
            Outcome::Rewritten(None)
        );
        assert_eq!(
            outcome(&dated, any, kept(3, true), false, new),
            Outcome::Rewritten(Some(TimestampMs(50)))
        );
        assert_eq!(
            outcome(&old, any, kept(5, false), false, new),
            Outcome::Rewritten(None)
        );
        assert_eq!(
            outcome(&plain, any, kept(5, false), true, new),
            Outcome::Rewritten(new)
        );
        assert_eq!(
            outcome(&plain, any, kept(0, false), true, new),
            Outcome::Nothing
        );
        assert_eq!(
            outcome(&plain, empty, kept(0, false), false, new),
            Outcome::Empty
        );
        assert_eq!(
            outcome(&old, empty, kept(0, false), false, new),
            Outcome::Empty,
            "D82"
        );
        assert_eq!(
            outcome(&plain, any, kept(5, true), false, None),
            Outcome::Rewritten(None)
        );
    }

    #[test]
    fn cleaner_md_6_6_a_horizon_beyond_all_time_is_none() {
        assert_eq!(new_horizon(TimestampMs(5), 10), Some(TimestampMs(15)));
        assert_eq!(new_horizon(TimestampMs(5), i64::MAX), None);
    }
}
