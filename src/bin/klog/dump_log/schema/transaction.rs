//! Records of `__transaction_state`.

use super::{Kind, Message, Struct, field, flexible, inner, rigid};

pub(crate) static TRANSACTION_LOG_KEY: Message = rigid(
    "TransactionLogKey",
    (0, 0),
    &[field("transactionalId", Kind::Text)],
);

static TRANSACTION_LOG_VALUE_PARTITIONS_SCHEMA: Struct = inner(
    "PartitionsSchema",
    &[
        field("topic", Kind::Text),
        field("partitionIds", Kind::Array(&Kind::Int32)),
    ],
);

pub(crate) static TRANSACTION_LOG_VALUE: Message = flexible(
    "TransactionLogValue",
    (0, 1),
    1,
    &[
        field("producerId", Kind::Int64),
        field("previousProducerId", Kind::Int64)
            .since(1)
            .tagged(0, 1)
            .or(-1),
        field("nextProducerId", Kind::Int64)
            .since(1)
            .tagged(1, 1)
            .or(-1),
        field("producerEpoch", Kind::Int16),
        field("nextProducerEpoch", Kind::Int16)
            .since(1)
            .tagged(3, 1)
            .or(-1),
        field("transactionTimeoutMs", Kind::Int32),
        field("transactionStatus", Kind::Int8),
        field(
            "transactionPartitions",
            Kind::Array(&Kind::Struct(&TRANSACTION_LOG_VALUE_PARTITIONS_SCHEMA)),
        )
        .nullable(0),
        field("transactionLastUpdateTimestampMs", Kind::Int64),
        field("transactionStartTimestampMs", Kind::Int64),
        field("clientTransactionVersion", Kind::Int16)
            .since(1)
            .tagged(2, 1),
    ],
);

/// The records by their type: key and value.
pub(crate) static RECORDS: &[(i16, &Message, &Message)] =
    &[(0, &TRANSACTION_LOG_KEY, &TRANSACTION_LOG_VALUE)];
