//! What an append has to fulfil against what the log knows of its producer. Implements state.md 4.5, 4.6, 4.9, 4.10.
//!
//! Each check reads the state with all earlier batches of the same append taken in, and takes the batch in if it passes.
//! Nothing is merged before all batches passed.

use super::producer::{Oddity, StagedProducer};
use super::producers::Producers;
use super::transactions::CompletedTxn;
use crate::error::{Error, ErrorKind, Result};
use crate::format::batch::BatchHeader;
use crate::format::control::EndTxnMarker;
use crate::types::TimestampMs;

/// Which rules count: those of the append's origin (state.md 1.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// Whether an epoch or coordinator epoch below the known one is refused. A follower takes what its leader has.
    pub fences: bool,
    /// Whether the sequence must follow.
    pub follows_sequence: bool,
}

/// By which version of the transaction protocol a marker is written (state.md 4.9).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TxnVersion {
    /// Versions 0 and 1: markers carry the epoch of their transaction.
    Classic,
    /// Version 2: each transaction raises its producer's epoch.
    EpochBump,
}

impl TxnVersion {
    /// Kafka's numbers: 0, 1, 2. Another one is INVALID_ARGUMENT.
    pub fn from_number(version: i16) -> Result<Self> {
        match version {
            0 | 1 => Ok(Self::Classic),
            2 => Ok(Self::EpochBump),
            other => Err(Error::invalid_argument(format!(
                "a marker needs the transaction version 0, 1 or 2, not {other}"
            ))),
        }
    }
}

/// What comes after a sequence: 0 after the largest (state.md 4.2).
#[must_use]
pub const fn next_sequence(last: i32) -> i32 {
    if last == i32::MAX { 0 } else { last + 1 }
}

/// What must hold before a transactional batch of a leader append is looked at (state.md 4.6): a stale epoch outside of an
/// open transaction is named before anything else about the batch.
pub fn check_txn_epoch(producers: &Producers, header: &BatchHeader) -> Result<()> {
    let Some(known) = producers.get(header.producer_id) else {
        return Ok(());
    };
    let is_ongoing = known.txn_first_offset.is_some() && known.epoch == header.producer_epoch;
    if !is_ongoing && header.producer_epoch < known.epoch {
        return Err(stale_epoch(header, known.epoch));
    }
    Ok(())
}

/// Takes in a batch of data that is to be appended.
pub fn append_data(staged: &mut StagedProducer, header: &BatchHeader, rules: Rules) -> Result<()> {
    if rules.fences && header.producer_epoch < staged.epoch() {
        return Err(stale_epoch(header, staged.epoch()));
    }
    if rules.follows_sequence {
        check_sequence(staged, header)?;
    }
    match staged.replay_data(header) {
        None => Ok(()),
        Some(Oddity::NotTransactional) => Err(Error::new(
            ErrorKind::InvalidTxnState,
            format!(
                "producer {}: a batch outside of a transaction while one is open",
                header.producer_id
            ),
        )
        .at_offset(header.base_offset)),
    }
}

fn check_sequence(staged: &StagedProducer, header: &BatchHeader) -> Result<()> {
    let first = header.base_sequence;
    let is_same_epoch = header.producer_epoch == staged.epoch();
    let known = if is_same_epoch {
        staged.epoch_before()
    } else {
        staged.epoch()
    };
    if known == -1 {
        // Nothing is known of it: any sequence may be the next one.
        return Ok(());
    }
    let expected = if is_same_epoch {
        next_sequence(staged.last_sequence())
    } else {
        0
    };
    if first == expected {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::OutOfOrderSequenceNumber,
        format!(
            "producer {}, epoch {}: sequence {first} does not follow, expected is {expected}",
            header.producer_id, header.producer_epoch
        ),
    )
    .at_offset(header.base_offset))
}

/// Takes in a marker that is to be appended. The transaction that it ends, if one was open.
pub fn append_marker(
    staged: &mut StagedProducer,
    header: &BatchHeader,
    marker: EndTxnMarker,
    timestamp: TimestampMs,
    rules: Rules,
    version: TxnVersion,
) -> Result<Option<CompletedTxn>> {
    if rules.fences {
        check_marker_epoch(staged, header, version)?;
        if marker.coordinator_epoch < staged.coordinator_epoch() {
            return Err(Error::new(
                ErrorKind::TransactionCoordinatorFenced,
                format!(
                    "producer {}: a marker of coordinator epoch {}, one of {} is in the log",
                    header.producer_id,
                    marker.coordinator_epoch,
                    staged.coordinator_epoch()
                ),
            )
            .at_offset(header.base_offset));
        }
    }
    Ok(staged.replay_marker(header, marker, timestamp))
}

fn check_marker_epoch(
    staged: &StagedProducer,
    header: &BatchHeader,
    version: TxnVersion,
) -> Result<()> {
    let (epoch, known) = (header.producer_epoch, staged.epoch());
    let passes = match version {
        TxnVersion::Classic => epoch >= known,
        // The same epoch once more is the coordinator trying again, or the last epoch that there is.
        TxnVersion::EpochBump => {
            epoch > known || (epoch == known && (!staged.is_in_txn() || epoch == i16::MAX))
        }
    };
    if passes {
        Ok(())
    } else {
        Err(stale_epoch(header, known))
    }
}

fn stale_epoch(header: &BatchHeader, known: i16) -> Error {
    Error::new(
        ErrorKind::InvalidProducerEpoch,
        format!(
            "producer {}: epoch {} is out of date, the log has epoch {known}",
            header.producer_id, header.producer_epoch
        ),
    )
    .at_offset(header.base_offset)
}
