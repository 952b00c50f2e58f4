//! Records of `__share_group_state`.

use super::{Kind, Message, Struct, field, flexible, inner, rigid};

pub(crate) static SHARE_SNAPSHOT_KEY: Message = rigid(
    "ShareSnapshotKey",
    (0, 0),
    &[
        field("groupId", Kind::Text),
        field("topicId", Kind::Uuid),
        field("partition", Kind::Int32),
    ],
);

static SHARE_SNAPSHOT_VALUE_STATE_BATCH: Struct = inner(
    "StateBatch",
    &[
        field("firstOffset", Kind::Int64),
        field("lastOffset", Kind::Int64),
        field("deliveryState", Kind::Int8),
        field("deliveryCount", Kind::Int16),
    ],
);

pub(crate) static SHARE_SNAPSHOT_VALUE: Message = flexible(
    "ShareSnapshotValue",
    (0, 0),
    0,
    &[
        field("snapshotEpoch", Kind::Int32),
        field("stateEpoch", Kind::Int32),
        field("leaderEpoch", Kind::Int32),
        field("startOffset", Kind::Int64),
        field("deliveryCompleteCount", Kind::Int32)
            .tagged(0, 0)
            .or(-1),
        field("createTimestamp", Kind::Int64),
        field("writeTimestamp", Kind::Int64),
        field(
            "stateBatches",
            Kind::Array(&Kind::Struct(&SHARE_SNAPSHOT_VALUE_STATE_BATCH)),
        ),
    ],
);

pub(crate) static SHARE_UPDATE_KEY: Message = rigid(
    "ShareUpdateKey",
    (0, 0),
    &[
        field("groupId", Kind::Text),
        field("topicId", Kind::Uuid),
        field("partition", Kind::Int32),
    ],
);

static SHARE_UPDATE_VALUE_STATE_BATCH: Struct = inner(
    "StateBatch",
    &[
        field("firstOffset", Kind::Int64),
        field("lastOffset", Kind::Int64),
        field("deliveryState", Kind::Int8),
        field("deliveryCount", Kind::Int16),
    ],
);

pub(crate) static SHARE_UPDATE_VALUE: Message = flexible(
    "ShareUpdateValue",
    (0, 0),
    0,
    &[
        field("snapshotEpoch", Kind::Int32),
        field("leaderEpoch", Kind::Int32),
        field("startOffset", Kind::Int64),
        field("deliveryCompleteCount", Kind::Int32)
            .tagged(0, 0)
            .or(-1),
        field(
            "stateBatches",
            Kind::Array(&Kind::Struct(&SHARE_UPDATE_VALUE_STATE_BATCH)),
        ),
    ],
);

/// The records by their type: key and value.
pub(crate) static RECORDS: &[(i16, &Message, &Message)] = &[
    (0, &SHARE_SNAPSHOT_KEY, &SHARE_SNAPSHOT_VALUE),
    (1, &SHARE_UPDATE_KEY, &SHARE_UPDATE_VALUE),
];
