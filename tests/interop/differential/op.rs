//! The operations of a stream. Each says all that is needed to do it again, on either side, whatever came before.

use std::fmt;

use crate::support::canonical::hex;

/// One step of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Op {
    /// The wall clock says this.
    Clock(i64),
    Append(Append),
    Roll,
    Flush,
    /// Sets the high watermark, as the owner of a log does or as a follower does.
    HighWatermark {
        offset: i64,
        as_follower: bool,
    },
    Truncate(i64),
    TruncateFully {
        to: i64,
        start: Option<i64>,
    },
    DeleteRecords(i64),
    /// Forgets the producers that expired.
    Expire,
    /// The recovery point and the log start of now are what a kill leaves.
    Checkpoint,
    Read(Read),
    /// Looks an offset up by time, or by one of the special targets below zero.
    Timestamp(i64),
    EpochEnd(i32),
    Aborted {
        from: i64,
        upto: i64,
    },
    Reopen(Reopen),
}

/// An append of ready bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Append {
    pub(crate) origin: Origin,
    /// The leader's epoch.
    pub(crate) epoch: i32,
    /// Of a marker.
    pub(crate) txn_version: Option<i16>,
    /// What is wrong or special about it.
    pub(crate) what: What,
    pub(crate) bytes: Vec<u8>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    Client,
    Coordinator,
    Replication,
    RaftLeader,
}

impl Origin {
    /// Kafka's name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Client => "CLIENT",
            Self::Coordinator => "COORDINATOR",
            Self::Replication => "REPLICATION",
            Self::RaftLeader => "RAFT_LEADER",
        }
    }
}

/// What an append is meant to try. Each must occur.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum What {
    // A leader's good batches.
    Plain,
    Idempotent,
    Transactional,
    Marker,
    CoordinatorData,
    OldFormat,
    OldWrapper,
    UnknownAttributes,
    WrongMaxTimestamp,
    EmptyKey,
    GarbageBehind,
    CutBatch,
    NegativeTimestampInPlace,
    // Sequences and epochs of producers.
    Again,
    SequenceGap,
    OldProducerEpoch,
    NewProducerEpoch,
    NewProducerEpochWithSequence,
    OtherKindInTransaction,
    UnknownProducer,
    OldMarkerEpoch,
    OldCoordinator,
    NoMarkerVersion,
    MarkerOfNothing,
    UnknownMarker,
    // Bad bytes.
    WrongChecksum,
    ZerosBehind,
    UnknownMagic,
    ShortSize,
    OverflowingSize,
    ShortBatch,
    UnknownCodec,
    BrokenStream,
    // Bad batches.
    BaseOffset,
    WrongCount,
    WrongLastDelta,
    NoRecords,
    ControlByClient,
    NegativeSequence,
    TwoBatches,
    TwoMagics,
    MissingRecord,
    RecordTooMany,
    NegativeRecordSize,
    LongRecordSize,
    OverlongVarint,
    WrongDeltas,
    KeyPastMessage,
    // Bad records.
    NullKey,
    TooOld,
    TooNew,
    AppendTimeByClient,
    NegativeTimestamp,
    // Too much.
    TooLargeBatch,
    TooLargeAppend,
    // Leader epochs.
    NegativeLeaderEpoch,
    OlderLeaderEpoch,
    // Followers and raft leaders.
    Follow,
    FollowGap,
    FollowFarGap,
    FollowBack,
    FollowOutOfOrder,
    FollowNewerEpoch,
    FollowNoEpoch,
    FollowOldEpoch,
    FollowCut,
    FollowCorrupt,
    FollowNullKey,
    FollowTooLarge,
    FollowOldFormat,
    Raft,
    RaftOtherEpoch,
    RaftBack,
}

/// Every [`What`].
pub(crate) const ALL_TRIED: &[What] = {
    use What::*;
    &[
        Plain,
        Idempotent,
        Transactional,
        Marker,
        CoordinatorData,
        OldFormat,
        OldWrapper,
        UnknownAttributes,
        WrongMaxTimestamp,
        EmptyKey,
        GarbageBehind,
        CutBatch,
        NegativeTimestampInPlace,
        Again,
        SequenceGap,
        OldProducerEpoch,
        NewProducerEpoch,
        NewProducerEpochWithSequence,
        OtherKindInTransaction,
        UnknownProducer,
        OldMarkerEpoch,
        OldCoordinator,
        NoMarkerVersion,
        MarkerOfNothing,
        UnknownMarker,
        WrongChecksum,
        ZerosBehind,
        UnknownMagic,
        ShortSize,
        OverflowingSize,
        ShortBatch,
        UnknownCodec,
        BrokenStream,
        BaseOffset,
        WrongCount,
        WrongLastDelta,
        NoRecords,
        ControlByClient,
        NegativeSequence,
        TwoBatches,
        TwoMagics,
        MissingRecord,
        RecordTooMany,
        NegativeRecordSize,
        LongRecordSize,
        OverlongVarint,
        WrongDeltas,
        KeyPastMessage,
        NullKey,
        TooOld,
        TooNew,
        AppendTimeByClient,
        NegativeTimestamp,
        TooLargeBatch,
        TooLargeAppend,
        NegativeLeaderEpoch,
        OlderLeaderEpoch,
        Follow,
        FollowGap,
        FollowFarGap,
        FollowBack,
        FollowOutOfOrder,
        FollowNewerEpoch,
        FollowNoEpoch,
        FollowOldEpoch,
        FollowCut,
        FollowCorrupt,
        FollowNullKey,
        FollowTooLarge,
        FollowOldFormat,
        Raft,
        RaftOtherEpoch,
        RaftBack,
    ]
};

/// How a log is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Read {
    pub(crate) from: i64,
    pub(crate) max: usize,
    pub(crate) isolation: Isolation,
    pub(crate) min_one: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Isolation {
    LogEnd,
    HighWatermark,
    TxnCommitted,
}

impl Isolation {
    /// Kafka's name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::LogEnd => "LOG_END",
            Self::HighWatermark => "HIGH_WATERMARK",
            Self::TxnCommitted => "TXN_COMMITTED",
        }
    }
}

/// The log ends and is opened again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reopen {
    pub(crate) ending: Ending,
    /// Whether each side goes on in the other's directory.
    pub(crate) swap: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// In order.
    Close,
    /// Like a killed process.
    Kill,
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Append(append) => {
                write!(f, "append {} epoch={}", append.origin.name(), append.epoch)?;
                if let Some(version) = append.txn_version {
                    write!(f, " txn_version={version}")?;
                }
                write!(f, " {:?} {}", append.what, hex(&append.bytes))
            }
            Self::Read(read) => write!(
                f,
                "read from={} max={} {}{}",
                read.from,
                read.max,
                read.isolation.name(),
                if read.min_one { " min_one" } else { "" }
            ),
            other => write!(f, "{other:?}"),
        }
    }
}
