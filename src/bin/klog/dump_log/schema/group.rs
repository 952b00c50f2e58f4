//! Records of `__consumer_offsets`: offsets, classic groups, consumer groups, share groups.

use super::consumer::{CONSUMER_PROTOCOL_ASSIGNMENT, CONSUMER_PROTOCOL_SUBSCRIPTION};
use super::streams;
use super::{Kind, Message, Struct, common, field, flexible, inner, rigid};

pub(crate) static LEGACY_OFFSET_COMMIT_KEY: Message = rigid(
    "LegacyOffsetCommitKey",
    (0, 0),
    &[
        field("group", Kind::Text),
        field("topic", Kind::Text),
        field("partition", Kind::Int32),
    ],
);

pub(crate) static LEGACY_OFFSET_COMMIT_VALUE: Message = rigid(
    "LegacyOffsetCommitValue",
    (0, 0),
    &[
        field("offset", Kind::Int64),
        field("metadata", Kind::Text),
        field("commitTimestamp", Kind::Int64),
    ],
);

pub(crate) static OFFSET_COMMIT_KEY: Message = rigid(
    "OffsetCommitKey",
    (0, 0),
    &[
        field("group", Kind::Text),
        field("topic", Kind::Text),
        field("partition", Kind::Int32),
    ],
);

pub(crate) static OFFSET_COMMIT_VALUE: Message = flexible(
    "OffsetCommitValue",
    (0, 4),
    4,
    &[
        field("offset", Kind::Int64),
        field("leaderEpoch", Kind::Int32).since(3).or(-1),
        field("metadata", Kind::Text),
        field("commitTimestamp", Kind::Int64),
        field("expireTimestamp", Kind::Int64)
            .since(1)
            .until(1)
            .or(-1),
        field("topicId", Kind::Uuid).since(4).tagged(0, 4),
    ],
);

pub(crate) static GROUP_METADATA_KEY: Message =
    rigid("GroupMetadataKey", (0, 0), &[field("group", Kind::Text)]);

static GROUP_METADATA_VALUE_MEMBER_METADATA: Struct = common(&[
    field("memberId", Kind::Text),
    field("groupInstanceId", Kind::Text)
        .since(3)
        .nullable(3)
        .or_null(),
    field("clientId", Kind::Text),
    field("clientHost", Kind::Text),
    field("rebalanceTimeout", Kind::Int32).since(1).or(-1),
    field("sessionTimeout", Kind::Int32),
    field(
        "subscription",
        Kind::Nested(&CONSUMER_PROTOCOL_SUBSCRIPTION),
    ),
    field("assignment", Kind::Nested(&CONSUMER_PROTOCOL_ASSIGNMENT)),
]);

pub(crate) static GROUP_METADATA_VALUE: Message = flexible(
    "GroupMetadataValue",
    (0, 4),
    4,
    &[
        field("protocolType", Kind::Text),
        field("generation", Kind::Int32),
        field("protocol", Kind::Text).nullable(0),
        field("leader", Kind::Text).nullable(0),
        field("currentStateTimestamp", Kind::Int64).since(2).or(-1),
        field(
            "members",
            Kind::Array(&Kind::Struct(&GROUP_METADATA_VALUE_MEMBER_METADATA)),
        ),
    ],
);

pub(crate) static CONSUMER_GROUP_METADATA_KEY: Message = rigid(
    "ConsumerGroupMetadataKey",
    (0, 0),
    &[field("groupId", Kind::Text)],
);

pub(crate) static CONSUMER_GROUP_METADATA_VALUE: Message = flexible(
    "ConsumerGroupMetadataValue",
    (0, 0),
    0,
    &[
        field("epoch", Kind::Int32),
        field("metadataHash", Kind::Int64).tagged(0, 0),
    ],
);

pub(crate) static CONSUMER_GROUP_PARTITION_METADATA_KEY: Message = rigid(
    "ConsumerGroupPartitionMetadataKey",
    (0, 0),
    &[field("groupId", Kind::Text)],
);

static CONSUMER_GROUP_PARTITION_METADATA_VALUE_PARTITION_METADATA: Struct = inner(
    "PartitionMetadata",
    &[
        field("partition", Kind::Int32),
        field("racks", Kind::Array(&Kind::Text)),
    ],
);

static CONSUMER_GROUP_PARTITION_METADATA_VALUE_TOPIC_METADATA: Struct = inner(
    "TopicMetadata",
    &[
        field("topicId", Kind::Uuid),
        field("topicName", Kind::Text),
        field("numPartitions", Kind::Int32),
        field(
            "partitionMetadata",
            Kind::Array(&Kind::Struct(
                &CONSUMER_GROUP_PARTITION_METADATA_VALUE_PARTITION_METADATA,
            )),
        ),
    ],
);

pub(crate) static CONSUMER_GROUP_PARTITION_METADATA_VALUE: Message = flexible(
    "ConsumerGroupPartitionMetadataValue",
    (0, 0),
    0,
    &[field(
        "topics",
        Kind::Array(&Kind::Struct(
            &CONSUMER_GROUP_PARTITION_METADATA_VALUE_TOPIC_METADATA,
        )),
    )],
);

pub(crate) static CONSUMER_GROUP_MEMBER_METADATA_KEY: Message = rigid(
    "ConsumerGroupMemberMetadataKey",
    (0, 0),
    &[field("groupId", Kind::Text), field("memberId", Kind::Text)],
);

static CONSUMER_GROUP_MEMBER_METADATA_VALUE_CLASSIC_PROTOCOL: Struct = inner(
    "ClassicProtocol",
    &[field("name", Kind::Text), field("metadata", Kind::Binary)],
);

static CONSUMER_GROUP_MEMBER_METADATA_VALUE_CLASSIC_MEMBER_METADATA: Struct = inner(
    "ClassicMemberMetadata",
    &[
        field("sessionTimeoutMs", Kind::Int32),
        field(
            "supportedProtocols",
            Kind::Array(&Kind::Struct(
                &CONSUMER_GROUP_MEMBER_METADATA_VALUE_CLASSIC_PROTOCOL,
            )),
        ),
    ],
);

pub(crate) static CONSUMER_GROUP_MEMBER_METADATA_VALUE: Message = flexible(
    "ConsumerGroupMemberMetadataValue",
    (0, 0),
    0,
    &[
        field("instanceId", Kind::Text).nullable(0),
        field("rackId", Kind::Text).nullable(0),
        field("clientId", Kind::Text),
        field("clientHost", Kind::Text),
        field("subscribedTopicNames", Kind::Array(&Kind::Text)),
        field("subscribedTopicRegex", Kind::Text).nullable(0),
        field("rebalanceTimeoutMs", Kind::Int32).or(-1),
        field("serverAssignor", Kind::Text).nullable(0),
        field(
            "classicMemberMetadata",
            Kind::Struct(&CONSUMER_GROUP_MEMBER_METADATA_VALUE_CLASSIC_MEMBER_METADATA),
        )
        .nullable(0)
        .tagged(0, 0),
    ],
);

pub(crate) static CONSUMER_GROUP_TARGET_ASSIGNMENT_METADATA_KEY: Message = rigid(
    "ConsumerGroupTargetAssignmentMetadataKey",
    (0, 0),
    &[field("groupId", Kind::Text)],
);

pub(crate) static CONSUMER_GROUP_TARGET_ASSIGNMENT_METADATA_VALUE: Message = flexible(
    "ConsumerGroupTargetAssignmentMetadataValue",
    (0, 0),
    0,
    &[
        field("assignmentEpoch", Kind::Int32),
        field("assignmentTimestamp", Kind::Int64).tagged(0, 0),
    ],
);

pub(crate) static CONSUMER_GROUP_TARGET_ASSIGNMENT_MEMBER_KEY: Message = rigid(
    "ConsumerGroupTargetAssignmentMemberKey",
    (0, 0),
    &[field("groupId", Kind::Text), field("memberId", Kind::Text)],
);

static CONSUMER_GROUP_TARGET_ASSIGNMENT_MEMBER_VALUE_TOPIC_PARTITION: Struct = inner(
    "TopicPartition",
    &[
        field("topicId", Kind::Uuid),
        field("partitions", Kind::Array(&Kind::Int32)),
    ],
);

pub(crate) static CONSUMER_GROUP_TARGET_ASSIGNMENT_MEMBER_VALUE: Message = flexible(
    "ConsumerGroupTargetAssignmentMemberValue",
    (0, 0),
    0,
    &[field(
        "topicPartitions",
        Kind::Array(&Kind::Struct(
            &CONSUMER_GROUP_TARGET_ASSIGNMENT_MEMBER_VALUE_TOPIC_PARTITION,
        )),
    )],
);

pub(crate) static CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT_KEY: Message = rigid(
    "ConsumerGroupCurrentMemberAssignmentKey",
    (0, 0),
    &[field("groupId", Kind::Text), field("memberId", Kind::Text)],
);

static CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT_VALUE_TOPIC_PARTITIONS: Struct = common(&[
    field("topicId", Kind::Uuid),
    field("partitions", Kind::Array(&Kind::Int32)),
    field("assignmentEpochs", Kind::Array(&Kind::Int32))
        .nullable(0)
        .tagged(0, 0),
]);

pub(crate) static CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT_VALUE: Message = flexible(
    "ConsumerGroupCurrentMemberAssignmentValue",
    (0, 0),
    0,
    &[
        field("memberEpoch", Kind::Int32),
        field("previousMemberEpoch", Kind::Int32),
        field("state", Kind::Int8),
        field(
            "assignedPartitions",
            Kind::Array(&Kind::Struct(
                &CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT_VALUE_TOPIC_PARTITIONS,
            )),
        ),
        field(
            "partitionsPendingRevocation",
            Kind::Array(&Kind::Struct(
                &CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT_VALUE_TOPIC_PARTITIONS,
            )),
        ),
    ],
);

pub(crate) static SHARE_GROUP_MEMBER_METADATA_KEY: Message = rigid(
    "ShareGroupMemberMetadataKey",
    (0, 0),
    &[field("groupId", Kind::Text), field("memberId", Kind::Text)],
);

pub(crate) static SHARE_GROUP_MEMBER_METADATA_VALUE: Message = flexible(
    "ShareGroupMemberMetadataValue",
    (0, 0),
    0,
    &[
        field("rackId", Kind::Text).nullable(0),
        field("clientId", Kind::Text),
        field("clientHost", Kind::Text),
        field("subscribedTopicNames", Kind::Array(&Kind::Text)),
    ],
);

pub(crate) static SHARE_GROUP_METADATA_KEY: Message = rigid(
    "ShareGroupMetadataKey",
    (0, 0),
    &[field("groupId", Kind::Text)],
);

pub(crate) static SHARE_GROUP_METADATA_VALUE: Message = flexible(
    "ShareGroupMetadataValue",
    (0, 0),
    0,
    &[
        field("epoch", Kind::Int32),
        field("metadataHash", Kind::Int64),
    ],
);

pub(crate) static SHARE_GROUP_TARGET_ASSIGNMENT_METADATA_KEY: Message = rigid(
    "ShareGroupTargetAssignmentMetadataKey",
    (0, 0),
    &[field("groupId", Kind::Text)],
);

pub(crate) static SHARE_GROUP_TARGET_ASSIGNMENT_METADATA_VALUE: Message = flexible(
    "ShareGroupTargetAssignmentMetadataValue",
    (0, 0),
    0,
    &[
        field("assignmentEpoch", Kind::Int32),
        field("assignmentTimestamp", Kind::Int64).tagged(0, 0),
    ],
);

pub(crate) static SHARE_GROUP_TARGET_ASSIGNMENT_MEMBER_KEY: Message = rigid(
    "ShareGroupTargetAssignmentMemberKey",
    (0, 0),
    &[field("groupId", Kind::Text), field("memberId", Kind::Text)],
);

static SHARE_GROUP_TARGET_ASSIGNMENT_MEMBER_VALUE_TOPIC_PARTITION: Struct = inner(
    "TopicPartition",
    &[
        field("topicId", Kind::Uuid),
        field("partitions", Kind::Array(&Kind::Int32)),
    ],
);

pub(crate) static SHARE_GROUP_TARGET_ASSIGNMENT_MEMBER_VALUE: Message = flexible(
    "ShareGroupTargetAssignmentMemberValue",
    (0, 0),
    0,
    &[field(
        "topicPartitions",
        Kind::Array(&Kind::Struct(
            &SHARE_GROUP_TARGET_ASSIGNMENT_MEMBER_VALUE_TOPIC_PARTITION,
        )),
    )],
);

pub(crate) static SHARE_GROUP_CURRENT_MEMBER_ASSIGNMENT_KEY: Message = rigid(
    "ShareGroupCurrentMemberAssignmentKey",
    (0, 0),
    &[field("groupId", Kind::Text), field("memberId", Kind::Text)],
);

static SHARE_GROUP_CURRENT_MEMBER_ASSIGNMENT_VALUE_TOPIC_PARTITIONS: Struct = common(&[
    field("topicId", Kind::Uuid),
    field("partitions", Kind::Array(&Kind::Int32)),
]);

pub(crate) static SHARE_GROUP_CURRENT_MEMBER_ASSIGNMENT_VALUE: Message = flexible(
    "ShareGroupCurrentMemberAssignmentValue",
    (0, 0),
    0,
    &[
        field("memberEpoch", Kind::Int32),
        field("previousMemberEpoch", Kind::Int32),
        field("state", Kind::Int8),
        field(
            "assignedPartitions",
            Kind::Array(&Kind::Struct(
                &SHARE_GROUP_CURRENT_MEMBER_ASSIGNMENT_VALUE_TOPIC_PARTITIONS,
            )),
        ),
    ],
);

pub(crate) static SHARE_GROUP_STATE_PARTITION_METADATA_KEY: Message = rigid(
    "ShareGroupStatePartitionMetadataKey",
    (0, 0),
    &[field("groupId", Kind::Text)],
);

static SHARE_GROUP_STATE_PARTITION_METADATA_VALUE_TOPIC_PARTITIONS_INFO: Struct = common(&[
    field("topicId", Kind::Uuid),
    field("topicName", Kind::Text),
    field("partitions", Kind::Array(&Kind::Int32)),
]);

static SHARE_GROUP_STATE_PARTITION_METADATA_VALUE_TOPIC_INFO: Struct =
    common(&[field("topicId", Kind::Uuid), field("topicName", Kind::Text)]);

pub(crate) static SHARE_GROUP_STATE_PARTITION_METADATA_VALUE: Message = flexible(
    "ShareGroupStatePartitionMetadataValue",
    (0, 0),
    0,
    &[
        field(
            "initializingTopics",
            Kind::Array(&Kind::Struct(
                &SHARE_GROUP_STATE_PARTITION_METADATA_VALUE_TOPIC_PARTITIONS_INFO,
            )),
        ),
        field(
            "initializedTopics",
            Kind::Array(&Kind::Struct(
                &SHARE_GROUP_STATE_PARTITION_METADATA_VALUE_TOPIC_PARTITIONS_INFO,
            )),
        ),
        field(
            "deletingTopics",
            Kind::Array(&Kind::Struct(
                &SHARE_GROUP_STATE_PARTITION_METADATA_VALUE_TOPIC_INFO,
            )),
        ),
    ],
);

pub(crate) static CONSUMER_GROUP_REGULAR_EXPRESSION_KEY: Message = rigid(
    "ConsumerGroupRegularExpressionKey",
    (0, 0),
    &[
        field("groupId", Kind::Text),
        field("regularExpression", Kind::Text),
    ],
);

pub(crate) static CONSUMER_GROUP_REGULAR_EXPRESSION_VALUE: Message = flexible(
    "ConsumerGroupRegularExpressionValue",
    (0, 0),
    0,
    &[
        field("topics", Kind::Array(&Kind::Text)),
        field("version", Kind::Int64),
        field("timestamp", Kind::Int64),
    ],
);

/// The records by their type: key and value.
pub(crate) static RECORDS: &[(i16, &Message, &Message)] = &[
    (0, &LEGACY_OFFSET_COMMIT_KEY, &LEGACY_OFFSET_COMMIT_VALUE),
    (1, &OFFSET_COMMIT_KEY, &OFFSET_COMMIT_VALUE),
    (2, &GROUP_METADATA_KEY, &GROUP_METADATA_VALUE),
    (
        3,
        &CONSUMER_GROUP_METADATA_KEY,
        &CONSUMER_GROUP_METADATA_VALUE,
    ),
    (
        4,
        &CONSUMER_GROUP_PARTITION_METADATA_KEY,
        &CONSUMER_GROUP_PARTITION_METADATA_VALUE,
    ),
    (
        5,
        &CONSUMER_GROUP_MEMBER_METADATA_KEY,
        &CONSUMER_GROUP_MEMBER_METADATA_VALUE,
    ),
    (
        6,
        &CONSUMER_GROUP_TARGET_ASSIGNMENT_METADATA_KEY,
        &CONSUMER_GROUP_TARGET_ASSIGNMENT_METADATA_VALUE,
    ),
    (
        7,
        &CONSUMER_GROUP_TARGET_ASSIGNMENT_MEMBER_KEY,
        &CONSUMER_GROUP_TARGET_ASSIGNMENT_MEMBER_VALUE,
    ),
    (
        8,
        &CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT_KEY,
        &CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT_VALUE,
    ),
    (
        10,
        &SHARE_GROUP_MEMBER_METADATA_KEY,
        &SHARE_GROUP_MEMBER_METADATA_VALUE,
    ),
    (11, &SHARE_GROUP_METADATA_KEY, &SHARE_GROUP_METADATA_VALUE),
    (
        12,
        &SHARE_GROUP_TARGET_ASSIGNMENT_METADATA_KEY,
        &SHARE_GROUP_TARGET_ASSIGNMENT_METADATA_VALUE,
    ),
    (
        13,
        &SHARE_GROUP_TARGET_ASSIGNMENT_MEMBER_KEY,
        &SHARE_GROUP_TARGET_ASSIGNMENT_MEMBER_VALUE,
    ),
    (
        14,
        &SHARE_GROUP_CURRENT_MEMBER_ASSIGNMENT_KEY,
        &SHARE_GROUP_CURRENT_MEMBER_ASSIGNMENT_VALUE,
    ),
    (
        15,
        &SHARE_GROUP_STATE_PARTITION_METADATA_KEY,
        &SHARE_GROUP_STATE_PARTITION_METADATA_VALUE,
    ),
    (
        16,
        &CONSUMER_GROUP_REGULAR_EXPRESSION_KEY,
        &CONSUMER_GROUP_REGULAR_EXPRESSION_VALUE,
    ),
    (
        17,
        &streams::STREAMS_GROUP_METADATA_KEY,
        &streams::STREAMS_GROUP_METADATA_VALUE,
    ),
    (
        19,
        &streams::STREAMS_GROUP_MEMBER_METADATA_KEY,
        &streams::STREAMS_GROUP_MEMBER_METADATA_VALUE,
    ),
    (
        20,
        &streams::STREAMS_GROUP_TARGET_ASSIGNMENT_METADATA_KEY,
        &streams::STREAMS_GROUP_TARGET_ASSIGNMENT_METADATA_VALUE,
    ),
    (
        21,
        &streams::STREAMS_GROUP_TARGET_ASSIGNMENT_MEMBER_KEY,
        &streams::STREAMS_GROUP_TARGET_ASSIGNMENT_MEMBER_VALUE,
    ),
    (
        22,
        &streams::STREAMS_GROUP_CURRENT_MEMBER_ASSIGNMENT_KEY,
        &streams::STREAMS_GROUP_CURRENT_MEMBER_ASSIGNMENT_VALUE,
    ),
    (
        23,
        &streams::STREAMS_GROUP_TOPOLOGY_KEY,
        &streams::STREAMS_GROUP_TOPOLOGY_VALUE,
    ),
];
