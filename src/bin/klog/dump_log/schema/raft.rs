//! Control records of the metadata log.

use super::{Kind, Message, Struct, common, field, flexible, inner};

static LEADER_CHANGE_MESSAGE_VOTER: Struct = common(&[
    field("voterId", Kind::Int32),
    field("voterDirectoryId", Kind::Uuid).since(1),
]);

pub(crate) static LEADER_CHANGE_MESSAGE: Message = flexible(
    "LeaderChangeMessage",
    (0, 1),
    0,
    &[
        field("version", Kind::Int16),
        field("leaderId", Kind::Int32),
        field(
            "voters",
            Kind::Array(&Kind::Struct(&LEADER_CHANGE_MESSAGE_VOTER)),
        ),
        field(
            "grantingVoters",
            Kind::Array(&Kind::Struct(&LEADER_CHANGE_MESSAGE_VOTER)),
        ),
    ],
);

pub(crate) static SNAPSHOT_HEADER_RECORD: Message = flexible(
    "SnapshotHeaderRecord",
    (0, 0),
    0,
    &[
        field("version", Kind::Int16),
        field("lastContainedLogTimestamp", Kind::Int64),
    ],
);

pub(crate) static SNAPSHOT_FOOTER_RECORD: Message = flexible(
    "SnapshotFooterRecord",
    (0, 0),
    0,
    &[field("version", Kind::Int16)],
);

pub(crate) static K_RAFT_VERSION_RECORD: Message = flexible(
    "KRaftVersionRecord",
    (0, 0),
    0,
    &[
        field("version", Kind::Int16),
        field("kRaftVersion", Kind::Int16),
    ],
);

static VOTERS_RECORD_ENDPOINT: Struct = inner(
    "Endpoint",
    &[
        field("name", Kind::Text),
        field("host", Kind::Text),
        field("port", Kind::Uint16),
    ],
);

static VOTERS_RECORD_K_RAFT_VERSION_FEATURE: Struct = inner(
    "KRaftVersionFeature",
    &[
        field("minSupportedVersion", Kind::Int16),
        field("maxSupportedVersion", Kind::Int16),
    ],
);

static VOTERS_RECORD_VOTER: Struct = inner(
    "Voter",
    &[
        field("voterId", Kind::Int32),
        field("voterDirectoryId", Kind::Uuid),
        field(
            "endpoints",
            Kind::Array(&Kind::Struct(&VOTERS_RECORD_ENDPOINT)),
        ),
        field(
            "kRaftVersionFeature",
            Kind::Struct(&VOTERS_RECORD_K_RAFT_VERSION_FEATURE),
        ),
    ],
);

pub(crate) static VOTERS_RECORD: Message = flexible(
    "VotersRecord",
    (0, 0),
    0,
    &[
        field("version", Kind::Int16),
        field("voters", Kind::Array(&Kind::Struct(&VOTERS_RECORD_VOTER))),
    ],
);
