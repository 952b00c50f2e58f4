//! Records of `__consumer_offsets`: groups of Kafka Streams.

use super::{Kind, Message, Struct, common, field, flexible, inner, rigid};

pub(crate) static STREAMS_GROUP_METADATA_KEY: Message = rigid(
    "StreamsGroupMetadataKey",
    (0, 0),
    &[field("groupId", Kind::Text)],
);

static STREAMS_GROUP_METADATA_VALUE_LAST_ASSIGNMENT_CONFIG: Struct =
    common(&[field("key", Kind::Text), field("value", Kind::Text)]);

pub(crate) static STREAMS_GROUP_METADATA_VALUE: Message = flexible(
    "StreamsGroupMetadataValue",
    (0, 0),
    0,
    &[
        field("epoch", Kind::Int32),
        field("metadataHash", Kind::Int64),
        field("validatedTopologyEpoch", Kind::Int32)
            .tagged(0, 0)
            .or(-1),
        field(
            "lastAssignmentConfigs",
            Kind::Array(&Kind::Struct(
                &STREAMS_GROUP_METADATA_VALUE_LAST_ASSIGNMENT_CONFIG,
            )),
        )
        .nullable(0)
        .tagged(1, 0),
        field("storedDescriptionTopologyEpoch", Kind::Int32)
            .tagged(2, 0)
            .or(-1),
        field("failedDescriptionTopologyEpoch", Kind::Int32)
            .tagged(3, 0)
            .or(-1),
    ],
);

pub(crate) static STREAMS_GROUP_MEMBER_METADATA_KEY: Message = rigid(
    "StreamsGroupMemberMetadataKey",
    (0, 0),
    &[field("groupId", Kind::Text), field("memberId", Kind::Text)],
);

static STREAMS_GROUP_MEMBER_METADATA_VALUE_ENDPOINT: Struct =
    common(&[field("host", Kind::Text), field("port", Kind::Uint16)]);

static STREAMS_GROUP_MEMBER_METADATA_VALUE_KEY_VALUE: Struct =
    common(&[field("key", Kind::Text), field("value", Kind::Text)]);

pub(crate) static STREAMS_GROUP_MEMBER_METADATA_VALUE: Message = flexible(
    "StreamsGroupMemberMetadataValue",
    (0, 0),
    0,
    &[
        field("instanceId", Kind::Text).nullable(0),
        field("rackId", Kind::Text).nullable(0),
        field("clientId", Kind::Text),
        field("clientHost", Kind::Text),
        field("rebalanceTimeoutMs", Kind::Int32).or(-1),
        field("topologyEpoch", Kind::Int32),
        field("processId", Kind::Text),
        field(
            "userEndpoint",
            Kind::Struct(&STREAMS_GROUP_MEMBER_METADATA_VALUE_ENDPOINT),
        )
        .nullable(0)
        .or_null(),
        field(
            "clientTags",
            Kind::Array(&Kind::Struct(
                &STREAMS_GROUP_MEMBER_METADATA_VALUE_KEY_VALUE,
            )),
        ),
    ],
);

pub(crate) static STREAMS_GROUP_TARGET_ASSIGNMENT_METADATA_KEY: Message = rigid(
    "StreamsGroupTargetAssignmentMetadataKey",
    (0, 0),
    &[field("groupId", Kind::Text)],
);

pub(crate) static STREAMS_GROUP_TARGET_ASSIGNMENT_METADATA_VALUE: Message = flexible(
    "StreamsGroupTargetAssignmentMetadataValue",
    (0, 0),
    0,
    &[
        field("assignmentEpoch", Kind::Int32),
        field("assignmentTimestamp", Kind::Int64).tagged(0, 0),
    ],
);

pub(crate) static STREAMS_GROUP_TARGET_ASSIGNMENT_MEMBER_KEY: Message = rigid(
    "StreamsGroupTargetAssignmentMemberKey",
    (0, 0),
    &[field("groupId", Kind::Text), field("memberId", Kind::Text)],
);

static STREAMS_GROUP_TARGET_ASSIGNMENT_MEMBER_VALUE_TASK_IDS: Struct = common(&[
    field("subtopologyId", Kind::Text),
    field("partitions", Kind::Array(&Kind::Int32)),
]);

pub(crate) static STREAMS_GROUP_TARGET_ASSIGNMENT_MEMBER_VALUE: Message = flexible(
    "StreamsGroupTargetAssignmentMemberValue",
    (0, 0),
    0,
    &[
        field(
            "activeTasks",
            Kind::Array(&Kind::Struct(
                &STREAMS_GROUP_TARGET_ASSIGNMENT_MEMBER_VALUE_TASK_IDS,
            )),
        ),
        field(
            "standbyTasks",
            Kind::Array(&Kind::Struct(
                &STREAMS_GROUP_TARGET_ASSIGNMENT_MEMBER_VALUE_TASK_IDS,
            )),
        ),
        field(
            "warmupTasks",
            Kind::Array(&Kind::Struct(
                &STREAMS_GROUP_TARGET_ASSIGNMENT_MEMBER_VALUE_TASK_IDS,
            )),
        ),
    ],
);

pub(crate) static STREAMS_GROUP_CURRENT_MEMBER_ASSIGNMENT_KEY: Message = rigid(
    "StreamsGroupCurrentMemberAssignmentKey",
    (0, 0),
    &[field("groupId", Kind::Text), field("memberId", Kind::Text)],
);

static STREAMS_GROUP_CURRENT_MEMBER_ASSIGNMENT_VALUE_TASK_IDS: Struct = common(&[
    field("subtopologyId", Kind::Text),
    field("partitions", Kind::Array(&Kind::Int32)),
    field("assignmentEpochs", Kind::Array(&Kind::Int32))
        .nullable(0)
        .tagged(0, 0),
]);

pub(crate) static STREAMS_GROUP_CURRENT_MEMBER_ASSIGNMENT_VALUE: Message = flexible(
    "StreamsGroupCurrentMemberAssignmentValue",
    (0, 0),
    0,
    &[
        field("memberEpoch", Kind::Int32),
        field("previousMemberEpoch", Kind::Int32),
        field("state", Kind::Int8),
        field(
            "activeTasks",
            Kind::Array(&Kind::Struct(
                &STREAMS_GROUP_CURRENT_MEMBER_ASSIGNMENT_VALUE_TASK_IDS,
            )),
        ),
        field(
            "standbyTasks",
            Kind::Array(&Kind::Struct(
                &STREAMS_GROUP_CURRENT_MEMBER_ASSIGNMENT_VALUE_TASK_IDS,
            )),
        ),
        field(
            "warmupTasks",
            Kind::Array(&Kind::Struct(
                &STREAMS_GROUP_CURRENT_MEMBER_ASSIGNMENT_VALUE_TASK_IDS,
            )),
        ),
        field(
            "activeTasksPendingRevocation",
            Kind::Array(&Kind::Struct(
                &STREAMS_GROUP_CURRENT_MEMBER_ASSIGNMENT_VALUE_TASK_IDS,
            )),
        ),
        field(
            "standbyTasksPendingRevocation",
            Kind::Array(&Kind::Struct(
                &STREAMS_GROUP_CURRENT_MEMBER_ASSIGNMENT_VALUE_TASK_IDS,
            )),
        ),
        field(
            "warmupTasksPendingRevocation",
            Kind::Array(&Kind::Struct(
                &STREAMS_GROUP_CURRENT_MEMBER_ASSIGNMENT_VALUE_TASK_IDS,
            )),
        ),
    ],
);

pub(crate) static STREAMS_GROUP_TOPOLOGY_KEY: Message = rigid(
    "StreamsGroupTopologyKey",
    (0, 0),
    &[field("groupId", Kind::Text)],
);

static STREAMS_GROUP_TOPOLOGY_VALUE_TOPIC_CONFIG: Struct =
    common(&[field("key", Kind::Text), field("value", Kind::Text)]);

static STREAMS_GROUP_TOPOLOGY_VALUE_TOPIC_INFO: Struct = common(&[
    field("name", Kind::Text),
    field("partitions", Kind::Int32),
    field("replicationFactor", Kind::Int16),
    field(
        "topicConfigs",
        Kind::Array(&Kind::Struct(&STREAMS_GROUP_TOPOLOGY_VALUE_TOPIC_CONFIG)),
    ),
]);

static STREAMS_GROUP_TOPOLOGY_VALUE_COPARTITION_GROUP: Struct = inner(
    "CopartitionGroup",
    &[
        field("sourceTopics", Kind::Array(&Kind::Int16)),
        field("sourceTopicRegex", Kind::Array(&Kind::Int16)),
        field("repartitionSourceTopics", Kind::Array(&Kind::Int16)),
    ],
);

static STREAMS_GROUP_TOPOLOGY_VALUE_SUBTOPOLOGY: Struct = inner(
    "Subtopology",
    &[
        field("subtopologyId", Kind::Text),
        field("sourceTopics", Kind::Array(&Kind::Text)),
        field("sourceTopicRegex", Kind::Array(&Kind::Text)),
        field(
            "stateChangelogTopics",
            Kind::Array(&Kind::Struct(&STREAMS_GROUP_TOPOLOGY_VALUE_TOPIC_INFO)),
        ),
        field("repartitionSinkTopics", Kind::Array(&Kind::Text)),
        field(
            "repartitionSourceTopics",
            Kind::Array(&Kind::Struct(&STREAMS_GROUP_TOPOLOGY_VALUE_TOPIC_INFO)),
        ),
        field(
            "copartitionGroups",
            Kind::Array(&Kind::Struct(
                &STREAMS_GROUP_TOPOLOGY_VALUE_COPARTITION_GROUP,
            )),
        ),
    ],
);

pub(crate) static STREAMS_GROUP_TOPOLOGY_VALUE: Message = flexible(
    "StreamsGroupTopologyValue",
    (0, 0),
    0,
    &[
        field("epoch", Kind::Int32),
        field(
            "subtopologies",
            Kind::Array(&Kind::Struct(&STREAMS_GROUP_TOPOLOGY_VALUE_SUBTOPOLOGY)),
        ),
    ],
);
