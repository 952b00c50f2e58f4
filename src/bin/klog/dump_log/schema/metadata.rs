//! Records of `__cluster_metadata`.

use super::{Kind, Message, Struct, field, flexible, inner};

static REGISTER_BROKER_RECORD_BROKER_ENDPOINT: Struct = inner(
    "BrokerEndpoint",
    &[
        field("name", Kind::Text),
        field("host", Kind::Text),
        field("port", Kind::Uint16),
        field("securityProtocol", Kind::Int16),
    ],
);

static REGISTER_BROKER_RECORD_BROKER_FEATURE: Struct = inner(
    "BrokerFeature",
    &[
        field("name", Kind::Text),
        field("minSupportedVersion", Kind::Int16),
        field("maxSupportedVersion", Kind::Int16),
    ],
);

pub(crate) static REGISTER_BROKER_RECORD: Message = flexible(
    "RegisterBrokerRecord",
    (0, 4),
    0,
    &[
        field("brokerId", Kind::Int32),
        field("isMigratingZkBroker", Kind::Bool).since(2),
        field("incarnationId", Kind::Uuid),
        field("brokerEpoch", Kind::Int64),
        field(
            "endPoints",
            Kind::Array(&Kind::Struct(&REGISTER_BROKER_RECORD_BROKER_ENDPOINT)),
        ),
        field(
            "features",
            Kind::Array(&Kind::Struct(&REGISTER_BROKER_RECORD_BROKER_FEATURE)),
        ),
        field("rack", Kind::Text).nullable(0),
        field("fenced", Kind::Bool).or(1),
        field("inControlledShutdown", Kind::Bool).since(1),
        field("logDirs", Kind::Array(&Kind::Uuid))
            .since(3)
            .tagged(0, 3),
        field("cordonedLogDirs", Kind::Array(&Kind::Uuid))
            .since(4)
            .nullable(4)
            .tagged(1, 4)
            .or_null(),
    ],
);

pub(crate) static UNREGISTER_BROKER_RECORD: Message = flexible(
    "UnregisterBrokerRecord",
    (0, 0),
    0,
    &[
        field("brokerId", Kind::Int32),
        field("brokerEpoch", Kind::Int64),
    ],
);

pub(crate) static TOPIC_RECORD: Message = flexible(
    "TopicRecord",
    (0, 0),
    0,
    &[field("name", Kind::Text), field("topicId", Kind::Uuid)],
);

pub(crate) static PARTITION_RECORD: Message = flexible(
    "PartitionRecord",
    (0, 2),
    0,
    &[
        field("partitionId", Kind::Int32).or(-1),
        field("topicId", Kind::Uuid),
        field("replicas", Kind::Array(&Kind::Int32)),
        field("isr", Kind::Array(&Kind::Int32)),
        field("removingReplicas", Kind::Array(&Kind::Int32)),
        field("addingReplicas", Kind::Array(&Kind::Int32)),
        field("leader", Kind::Int32).or(-1),
        field("leaderRecoveryState", Kind::Int8).tagged(0, 0),
        field("leaderEpoch", Kind::Int32).or(-1),
        field("partitionEpoch", Kind::Int32).or(-1),
        field("directories", Kind::Array(&Kind::Uuid)).since(1),
        field("eligibleLeaderReplicas", Kind::Array(&Kind::Int32))
            .since(2)
            .nullable(2)
            .tagged(1, 2)
            .or_null(),
        field("lastKnownElr", Kind::Array(&Kind::Int32))
            .since(2)
            .nullable(2)
            .tagged(2, 2)
            .or_null(),
    ],
);

pub(crate) static CONFIG_RECORD: Message = flexible(
    "ConfigRecord",
    (0, 0),
    0,
    &[
        field("resourceType", Kind::Int8),
        field("resourceName", Kind::Text),
        field("name", Kind::Text),
        field("value", Kind::Text).nullable(0),
    ],
);

pub(crate) static PARTITION_CHANGE_RECORD: Message = flexible(
    "PartitionChangeRecord",
    (0, 2),
    0,
    &[
        field("partitionId", Kind::Int32).or(-1),
        field("topicId", Kind::Uuid),
        field("isr", Kind::Array(&Kind::Int32))
            .nullable(0)
            .tagged(0, 0)
            .or_null(),
        field("leader", Kind::Int32).tagged(1, 0).or(-2),
        field("replicas", Kind::Array(&Kind::Int32))
            .nullable(0)
            .tagged(2, 0)
            .or_null(),
        field("removingReplicas", Kind::Array(&Kind::Int32))
            .nullable(0)
            .tagged(3, 0)
            .or_null(),
        field("addingReplicas", Kind::Array(&Kind::Int32))
            .nullable(0)
            .tagged(4, 0)
            .or_null(),
        field("leaderRecoveryState", Kind::Int8).tagged(5, 0).or(-1),
        field("directories", Kind::Array(&Kind::Uuid))
            .since(1)
            .nullable(1)
            .tagged(8, 1)
            .or_null(),
        field("eligibleLeaderReplicas", Kind::Array(&Kind::Int32))
            .since(2)
            .nullable(2)
            .tagged(6, 2)
            .or_null(),
        field("lastKnownElr", Kind::Array(&Kind::Int32))
            .since(2)
            .nullable(2)
            .tagged(7, 2)
            .or_null(),
    ],
);

pub(crate) static FENCE_BROKER_RECORD: Message = flexible(
    "FenceBrokerRecord",
    (0, 0),
    0,
    &[field("id", Kind::Int32), field("epoch", Kind::Int64)],
);

pub(crate) static UNFENCE_BROKER_RECORD: Message = flexible(
    "UnfenceBrokerRecord",
    (0, 0),
    0,
    &[field("id", Kind::Int32), field("epoch", Kind::Int64)],
);

pub(crate) static REMOVE_TOPIC_RECORD: Message = flexible(
    "RemoveTopicRecord",
    (0, 0),
    0,
    &[field("topicId", Kind::Uuid)],
);

pub(crate) static DELEGATION_TOKEN_RECORD: Message = flexible(
    "DelegationTokenRecord",
    (0, 0),
    0,
    &[
        field("owner", Kind::Text),
        field("requester", Kind::Text),
        field("renewers", Kind::Array(&Kind::Text)),
        field("issueTimestamp", Kind::Int64),
        field("maxTimestamp", Kind::Int64),
        field("expirationTimestamp", Kind::Int64),
        field("tokenId", Kind::Text),
    ],
);

pub(crate) static USER_SCRAM_CREDENTIAL_RECORD: Message = flexible(
    "UserScramCredentialRecord",
    (0, 0),
    0,
    &[
        field("name", Kind::Text),
        field("mechanism", Kind::Int8),
        field("salt", Kind::Binary),
        field("storedKey", Kind::Binary),
        field("serverKey", Kind::Binary),
        field("iterations", Kind::Int32),
    ],
);

pub(crate) static FEATURE_LEVEL_RECORD: Message = flexible(
    "FeatureLevelRecord",
    (0, 0),
    0,
    &[
        field("name", Kind::Text),
        field("featureLevel", Kind::Int16),
    ],
);

static CLIENT_QUOTA_RECORD_ENTITY_DATA: Struct = inner(
    "EntityData",
    &[
        field("entityType", Kind::Text),
        field("entityName", Kind::Text).nullable(0),
    ],
);

pub(crate) static CLIENT_QUOTA_RECORD: Message = flexible(
    "ClientQuotaRecord",
    (0, 0),
    0,
    &[
        field(
            "entity",
            Kind::Array(&Kind::Struct(&CLIENT_QUOTA_RECORD_ENTITY_DATA)),
        ),
        field("key", Kind::Text),
        field("value", Kind::Float64),
        field("remove", Kind::Bool),
    ],
);

pub(crate) static PRODUCER_IDS_RECORD: Message = flexible(
    "ProducerIdsRecord",
    (0, 0),
    0,
    &[
        field("brokerId", Kind::Int32),
        field("brokerEpoch", Kind::Int64).or(-1),
        field("nextProducerId", Kind::Int64),
    ],
);

pub(crate) static BROKER_REGISTRATION_CHANGE_RECORD: Message = flexible(
    "BrokerRegistrationChangeRecord",
    (0, 3),
    0,
    &[
        field("brokerId", Kind::Int32),
        field("brokerEpoch", Kind::Int64),
        field("fenced", Kind::Int8).tagged(0, 0),
        field("inControlledShutdown", Kind::Int8)
            .since(1)
            .tagged(1, 1),
        field("logDirs", Kind::Array(&Kind::Uuid))
            .since(2)
            .tagged(2, 2),
        field("cordonedLogDirs", Kind::Array(&Kind::Uuid))
            .since(3)
            .nullable(3)
            .tagged(3, 3)
            .or_null(),
    ],
);

pub(crate) static ACCESS_CONTROL_ENTRY_RECORD: Message = flexible(
    "AccessControlEntryRecord",
    (0, 0),
    0,
    &[
        field("id", Kind::Uuid),
        field("resourceType", Kind::Int8),
        field("resourceName", Kind::Text),
        field("patternType", Kind::Int8),
        field("principal", Kind::Text),
        field("host", Kind::Text),
        field("operation", Kind::Int8),
        field("permissionType", Kind::Int8),
    ],
);

pub(crate) static REMOVE_ACCESS_CONTROL_ENTRY_RECORD: Message = flexible(
    "RemoveAccessControlEntryRecord",
    (0, 0),
    0,
    &[field("id", Kind::Uuid)],
);

pub(crate) static NO_OP_RECORD: Message = flexible("NoOpRecord", (0, 0), 0, &[]);

pub(crate) static ZK_MIGRATION_STATE_RECORD: Message = flexible(
    "ZkMigrationStateRecord",
    (0, 0),
    0,
    &[field("zkMigrationState", Kind::Int8)],
);

pub(crate) static REMOVE_USER_SCRAM_CREDENTIAL_RECORD: Message = flexible(
    "RemoveUserScramCredentialRecord",
    (0, 0),
    0,
    &[field("name", Kind::Text), field("mechanism", Kind::Int8)],
);

pub(crate) static BEGIN_TRANSACTION_RECORD: Message = flexible(
    "BeginTransactionRecord",
    (0, 0),
    0,
    &[field("name", Kind::Text).nullable(0).tagged(0, 0).or_null()],
);

pub(crate) static END_TRANSACTION_RECORD: Message =
    flexible("EndTransactionRecord", (0, 0), 0, &[]);

pub(crate) static ABORT_TRANSACTION_RECORD: Message = flexible(
    "AbortTransactionRecord",
    (0, 0),
    0,
    &[field("reason", Kind::Text)
        .nullable(0)
        .tagged(0, 0)
        .or_null()],
);

pub(crate) static REMOVE_DELEGATION_TOKEN_RECORD: Message = flexible(
    "RemoveDelegationTokenRecord",
    (0, 0),
    0,
    &[field("tokenId", Kind::Text)],
);

static REGISTER_CONTROLLER_RECORD_CONTROLLER_ENDPOINT: Struct = inner(
    "ControllerEndpoint",
    &[
        field("name", Kind::Text),
        field("host", Kind::Text),
        field("port", Kind::Uint16),
        field("securityProtocol", Kind::Int16),
    ],
);

static REGISTER_CONTROLLER_RECORD_CONTROLLER_FEATURE: Struct = inner(
    "ControllerFeature",
    &[
        field("name", Kind::Text),
        field("minSupportedVersion", Kind::Int16),
        field("maxSupportedVersion", Kind::Int16),
    ],
);

pub(crate) static REGISTER_CONTROLLER_RECORD: Message = flexible(
    "RegisterControllerRecord",
    (0, 0),
    0,
    &[
        field("controllerId", Kind::Int32),
        field("incarnationId", Kind::Uuid),
        field("zkMigrationReady", Kind::Bool),
        field(
            "endPoints",
            Kind::Array(&Kind::Struct(
                &REGISTER_CONTROLLER_RECORD_CONTROLLER_ENDPOINT,
            )),
        ),
        field(
            "features",
            Kind::Array(&Kind::Struct(
                &REGISTER_CONTROLLER_RECORD_CONTROLLER_FEATURE,
            )),
        ),
    ],
);

pub(crate) static CLEAR_ELR_RECORD: Message = flexible(
    "ClearElrRecord",
    (0, 0),
    0,
    &[field("topicName", Kind::Text)],
);

pub(crate) static UNREGISTER_CONTROLLER_RECORD: Message = flexible(
    "UnregisterControllerRecord",
    (0, 0),
    0,
    &[field("controllerId", Kind::Int32)],
);

/// The records by their type, with its name.
pub(crate) static RECORDS: &[(i16, &str, &Message)] = &[
    (0, "REGISTER_BROKER_RECORD", &REGISTER_BROKER_RECORD),
    (1, "UNREGISTER_BROKER_RECORD", &UNREGISTER_BROKER_RECORD),
    (2, "TOPIC_RECORD", &TOPIC_RECORD),
    (3, "PARTITION_RECORD", &PARTITION_RECORD),
    (4, "CONFIG_RECORD", &CONFIG_RECORD),
    (5, "PARTITION_CHANGE_RECORD", &PARTITION_CHANGE_RECORD),
    (7, "FENCE_BROKER_RECORD", &FENCE_BROKER_RECORD),
    (8, "UNFENCE_BROKER_RECORD", &UNFENCE_BROKER_RECORD),
    (9, "REMOVE_TOPIC_RECORD", &REMOVE_TOPIC_RECORD),
    (10, "DELEGATION_TOKEN_RECORD", &DELEGATION_TOKEN_RECORD),
    (
        11,
        "USER_SCRAM_CREDENTIAL_RECORD",
        &USER_SCRAM_CREDENTIAL_RECORD,
    ),
    (12, "FEATURE_LEVEL_RECORD", &FEATURE_LEVEL_RECORD),
    (14, "CLIENT_QUOTA_RECORD", &CLIENT_QUOTA_RECORD),
    (15, "PRODUCER_IDS_RECORD", &PRODUCER_IDS_RECORD),
    (
        17,
        "BROKER_REGISTRATION_CHANGE_RECORD",
        &BROKER_REGISTRATION_CHANGE_RECORD,
    ),
    (
        18,
        "ACCESS_CONTROL_ENTRY_RECORD",
        &ACCESS_CONTROL_ENTRY_RECORD,
    ),
    (
        19,
        "REMOVE_ACCESS_CONTROL_ENTRY_RECORD",
        &REMOVE_ACCESS_CONTROL_ENTRY_RECORD,
    ),
    (20, "NO_OP_RECORD", &NO_OP_RECORD),
    (21, "ZK_MIGRATION_STATE_RECORD", &ZK_MIGRATION_STATE_RECORD),
    (
        22,
        "REMOVE_USER_SCRAM_CREDENTIAL_RECORD",
        &REMOVE_USER_SCRAM_CREDENTIAL_RECORD,
    ),
    (23, "BEGIN_TRANSACTION_RECORD", &BEGIN_TRANSACTION_RECORD),
    (24, "END_TRANSACTION_RECORD", &END_TRANSACTION_RECORD),
    (25, "ABORT_TRANSACTION_RECORD", &ABORT_TRANSACTION_RECORD),
    (
        26,
        "REMOVE_DELEGATION_TOKEN_RECORD",
        &REMOVE_DELEGATION_TOKEN_RECORD,
    ),
    (
        27,
        "REGISTER_CONTROLLER_RECORD",
        &REGISTER_CONTROLLER_RECORD,
    ),
    (28, "CLEAR_ELR_RECORD", &CLEAR_ELR_RECORD),
    (
        29,
        "UNREGISTER_CONTROLLER_RECORD",
        &UNREGISTER_CONTROLLER_RECORD,
    ),
];
