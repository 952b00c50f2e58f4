//! What members of classic consumer groups send each other.

use super::{Kind, Message, Struct, field, inner, rigid};

static CONSUMER_PROTOCOL_SUBSCRIPTION_TOPIC_PARTITION: Struct = inner(
    "TopicPartition",
    &[
        field("topic", Kind::Text).since(1),
        field("partitions", Kind::Array(&Kind::Int32)).since(1),
    ],
);

pub(crate) static CONSUMER_PROTOCOL_SUBSCRIPTION: Message = rigid(
    "ConsumerProtocolSubscription",
    (0, 3),
    &[
        field("topics", Kind::Array(&Kind::Text)),
        field("userData", Kind::Binary).nullable(0).or_null(),
        field(
            "ownedPartitions",
            Kind::Array(&Kind::Struct(
                &CONSUMER_PROTOCOL_SUBSCRIPTION_TOPIC_PARTITION,
            )),
        )
        .since(1),
        field("generationId", Kind::Int32).since(2).or(-1),
        field("rackId", Kind::Text).since(3).nullable(3).or_null(),
    ],
);

static CONSUMER_PROTOCOL_ASSIGNMENT_TOPIC_PARTITION: Struct = inner(
    "TopicPartition",
    &[
        field("topic", Kind::Text),
        field("partitions", Kind::Array(&Kind::Int32)),
    ],
);

pub(crate) static CONSUMER_PROTOCOL_ASSIGNMENT: Message = rigid(
    "ConsumerProtocolAssignment",
    (0, 3),
    &[
        field(
            "assignedPartitions",
            Kind::Array(&Kind::Struct(&CONSUMER_PROTOCOL_ASSIGNMENT_TOPIC_PARTITION)),
        ),
        field("userData", Kind::Binary).nullable(0).or_null(),
    ],
);
