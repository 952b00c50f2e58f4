//! Who appends, and what that changes. Implements state.md 1.1 as far as validation goes.

/// Who appends (state.md 1.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Origin {
    /// A producer, through the leader: offsets are assigned, and nothing is taken on trust.
    #[default]
    Client,
    /// A follower, which copies what its leader has.
    Replication,
    /// The coordinator on the leader itself: transaction markers, and records of its own.
    Coordinator,
    /// The leader of a Raft log, which has assigned the offsets.
    RaftLeader,
}

impl Origin {
    /// Whether offsets come with the batches, and so have to rise.
    pub(super) const fn brings_offsets(self) -> bool {
        matches!(self, Self::Replication | Self::RaftLeader)
    }

    /// Whether `max.message.bytes` holds.
    pub(super) const fn has_size_limit(self) -> bool {
        !matches!(self, Self::Replication)
    }
}
