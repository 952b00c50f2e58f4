//! What is known of transactions while the batches of a round pass by, in the order of their offsets. Implements cleaner.md
//! 9, deviations.md D89.
//!
//! One instance lives as long as a round, over all its segments and groups: data may lie in one segment and its marker in
//! another (KAFKA-5196, 8351). Pure: it is told of each batch once.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, HashSet};

use crate::error::Result;
use crate::format::batch::{Batch, BatchHeader};
use crate::format::control::{self, ABORT, COMMIT};
use crate::format::decoder::RecordDecoder;
use crate::format::txn_index::AbortedTxn;
use crate::types::{Offset, ProducerId};

/// Transactions of the batches so far.
#[derive(Default)]
pub struct CleanedTransactions {
    /// Aborted ones that begin further on, by first offset; the number keeps equal ones apart.
    to_come: BinaryHeap<Reverse<(Offset, usize)>>,
    /// What the numbers stand for.
    entries: Vec<AbortedTxn>,
    aborted: HashMap<ProducerId, Ongoing>,
    committed: HashSet<ProducerId>,
    decoder: RecordDecoder,
}

#[derive(Clone, Copy, Debug)]
struct Ongoing {
    entry: AbortedTxn,
    /// Whether data of it was met in this round, emptied batches among it.
    has_data: bool,
}

/// What a control batch means for the cleaner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Marker {
    /// Whether nothing is left of the transaction that it ends, as far as this round has seen.
    pub can_discard: bool,
    /// The entry that goes with the marker into the transaction index of the segment that receives it.
    pub aborted: Option<AbortedTxn>,
}

impl CleanedTransactions {
    /// None yet. Markers that are decompressed to more than a few times `held_bytes_max` are TOO_LARGE.
    #[must_use]
    pub fn bounded(held_bytes_max: Option<usize>) -> Self {
        let mut transactions = Self::default();
        if let Some(bytes) = held_bytes_max {
            transactions.decoder.bound_memory(bytes);
        }
        transactions
    }

    /// Takes in entries of transaction indexes; the same ones may come again.
    pub fn add(&mut self, entries: &[AbortedTxn]) {
        for entry in entries {
            self.to_come
                .push(Reverse((entry.first_offset, self.entries.len())));
            self.entries.push(*entry);
        }
    }

    /// Passes a batch of data. Whether its records were aborted.
    pub fn on_data(&mut self, header: &BatchHeader) -> bool {
        self.begin_up_to(header.last_offset);
        if !header.attributes.is_transactional() {
            return false;
        }
        if let Some(ongoing) = self.aborted.get_mut(&header.producer_id) {
            ongoing.has_data = true;
            return true;
        }
        self.committed.insert(header.producer_id);
        false
    }

    /// Passes a control batch. One that holds something else than a marker is kept for ever.
    pub fn on_control(&mut self, batch: &Batch<'_>) -> Result<Marker> {
        let header = batch.header();
        self.begin_up_to(header.last_offset);
        self.decoder.begin(batch)?;
        let Some(record) = self.decoder.next(batch)? else {
            return Ok(Marker {
                can_discard: true,
                aborted: None,
            });
        };
        let kept = Marker {
            can_discard: false,
            aborted: None,
        };
        let Ok(key) = control::parse_key(record.key) else {
            return Ok(kept);
        };
        Ok(match key.control_type {
            ABORT => match self.aborted.remove(&header.producer_id) {
                Some(ongoing) if ongoing.has_data => Marker {
                    can_discard: false,
                    aborted: Some(ongoing.entry),
                },
                _ => Marker {
                    can_discard: true,
                    aborted: None,
                },
            },
            COMMIT => Marker {
                can_discard: !self.committed.remove(&header.producer_id),
                aborted: None,
            },
            _ => kept,
        })
    }

    fn begin_up_to(&mut self, offset: Offset) {
        while let Some(Reverse((first, number))) = self.to_come.peek().copied() {
            if first > offset {
                break;
            }
            self.to_come.pop();
            if let Some(&entry) = self.entries.get(number) {
                self.aborted.entry(entry.producer_id).or_insert(Ongoing {
                    entry,
                    has_data: false,
                });
            }
        }
        if self.to_come.is_empty() {
            self.entries.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::builder::{BatchBuilder, BatchOptions};
    use crate::types::TimestampMs;

    const P: ProducerId = ProducerId(7);

    fn entry(first: i64, last: i64) -> AbortedTxn {
        AbortedTxn {
            producer_id: P,
            first_offset: Offset(first),
            last_offset: Offset(last),
            last_stable_offset: Offset(last + 1),
        }
    }

    fn options(at: i64) -> BatchOptions {
        BatchOptions {
            base_offset: Offset(at),
            producer_id: P,
            producer_epoch: 0,
            base_sequence: 0,
            transactional: true,
            ..BatchOptions::default()
        }
    }

    fn data(at: i64) -> BatchHeader {
        let mut builder = BatchBuilder::new();
        builder
            .push(TimestampMs(1), Some(b"a"), Some(b"1"), [].into_iter())
            .unwrap();
        *Batch::new(builder.finish(&options(at)).unwrap())
            .unwrap()
            .header()
    }

    fn marker(at: i64, commit: bool) -> Vec<u8> {
        let mut builder = BatchBuilder::new();
        control::write_end_marker(&mut builder, commit, 0, TimestampMs(1), &options(at))
            .unwrap()
            .to_vec()
    }

    fn pass(txns: &mut CleanedTransactions, bytes: &[u8]) -> (bool, Option<AbortedTxn>) {
        let marker = txns.on_control(&Batch::new(bytes).unwrap()).unwrap();
        (marker.can_discard, marker.aborted)
    }

    #[test]
    fn cleaner_md_9_5_an_abort_marker_goes_only_once_no_data_of_it_was_met() {
        let mut txns = CleanedTransactions::default();
        // The same entry is collected for each segment.
        txns.add(&[entry(0, 4), entry(0, 4)]);
        assert!(txns.on_data(&data(0)));
        assert_eq!(
            pass(&mut txns, &marker(4, false)),
            (false, Some(entry(0, 4)))
        );
        assert!(
            !txns.on_data(&data(5)),
            "the next transaction of the producer"
        );

        let mut again = CleanedTransactions::default();
        again.add(&[entry(0, 4)]);
        assert_eq!(pass(&mut again, &marker(4, false)), (true, None));
        let mut without_entry = CleanedTransactions::default();
        assert_eq!(pass(&mut without_entry, &marker(4, false)), (true, None));
    }

    #[test]
    fn cleaner_md_9_5_a_commit_marker_goes_only_once_no_data_of_it_was_met() {
        let mut txns = CleanedTransactions::default();
        assert!(!txns.on_data(&data(0)));
        assert_eq!(pass(&mut txns, &marker(2, true)), (false, None));
        assert_eq!(pass(&mut txns, &marker(3, true)), (true, None));
    }

    #[test]
    fn what_a_control_batch_without_a_record_or_with_another_key_means() {
        let mut txns = CleanedTransactions::default();
        let control = BatchOptions {
            control: true,
            ..options(1)
        };
        let mut builder = BatchBuilder::new();
        let empty = builder.finish(&control).unwrap().to_vec();
        assert_eq!(pass(&mut txns, &empty), (true, None));
        for key in [&[0, 0, 0, 2][..], &[0, 0, 0, 99], &[0], &[0xff, 0xff, 0, 0]] {
            builder.clear();
            builder
                .push(TimestampMs(1), Some(key), Some(b""), [].into_iter())
                .unwrap();
            let batch = builder.finish(&control).unwrap().to_vec();
            assert_eq!(pass(&mut txns, &batch), (false, None), "{key:?}");
        }
    }
}
