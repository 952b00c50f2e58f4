//! A new batch of the records that came: of another codec, or of magic 2 in place of 0 and 1. Implements state.md 3.9, 3.10.

use super::leader::Target;
use super::records::{Finding, Findings, Rules};
use super::scratch::Scratch;
use crate::error::{Error, ErrorKind, Result};
use crate::format::batch::{Batch, BatchHeader, TimestampType};
use crate::format::builder::{BatchBuilder, BatchOptions};
use crate::format::codec::Codec;
use crate::format::decoder::RecordDecoder;
use crate::format::record::Record;
use crate::types::{ProducerId, TimestampMs};

/// Reads all records of all batches. Kafka does so before it converts messages, to know their size: what is wrong with the
/// structure of any comes before what is wrong with a record.
pub(super) fn check_structure<'a>(
    batches: impl Iterator<Item = Result<Batch<'a>>>,
    decoder: &mut RecordDecoder,
) -> Result<()> {
    for batch in batches {
        let batch = batch?;
        decoder.begin(&batch)?;
        while decoder.advance(&batch)?.is_some() {}
    }
    Ok(())
}

/// Judges the records of all batches and makes one batch of them. Producer and transaction are those of the `first`.
pub(super) fn rebuild<'a>(
    batches: impl Iterator<Item = Result<Batch<'a>>>,
    first: &BatchHeader,
    target: Target,
    rules: &Rules,
    max_message_bytes: u32,
    scratch: &mut Scratch,
) -> Result<Vec<u8>> {
    let Scratch { decoder, builder } = scratch;
    let mut made = Made {
        builder,
        codec: target.codec,
        max_message_bytes,
        refused: None,
        is_too_large: false,
    };
    for batch in batches {
        let batch = batch?;
        let mut findings = Findings::default();
        let mut index = 0;
        decoder.begin(&batch)?;
        while let Some(parts) = decoder.advance(&batch)? {
            let record = decoder.view(&batch, &parts);
            let finding = if decoder.is_foreign() {
                Some(Finding::Magic)
            } else {
                let declares = record.timestamp_type == TimestampType::LogAppendTime;
                rules.finding(record.key.is_some(), record.timestamp, declares)
            };
            match finding {
                Some(finding) => {
                    findings.add(finding, index, record.timestamp, record.offset, rules);
                }
                None if findings.is_empty() => made.push(index, &record)?,
                None => {}
            }
            index += 1;
        }
        // Later batches are not looked at (state.md 3.5).
        findings.into_result()?;
    }
    if let Some(error) = made.refused {
        return Err(error);
    }
    check_producer(first)?;
    if made.is_too_large {
        return Err(too_large(max_message_bytes));
    }
    let options = BatchOptions {
        codec: target.codec,
        level: target.level,
        log_append_time: rules.append_time(),
        producer_id: first.producer_id,
        producer_epoch: first.producer_epoch,
        base_sequence: first.base_sequence,
        transactional: first.attributes.is_transactional(),
        ..BatchOptions::default()
    };
    Ok(made.builder.finish(&options)?.to_vec())
}

/// What Kafka's writer, unlike its validation, asks of a producer.
fn check_producer(first: &BatchHeader) -> Result<()> {
    let has_producer = first.producer_id != ProducerId::NONE;
    let what = if !has_producer && first.attributes.is_transactional() {
        "is transactional without a producer id"
    } else if has_producer && first.producer_epoch == -1 {
        "has a producer id without an epoch"
    } else if has_producer && first.base_sequence < 0 {
        "has a producer id without a sequence"
    } else {
        return Ok(());
    };
    Err(Error::invalid_record(format!(
        "a batch that has to be made anew {what}"
    )))
}

/// The batch in the making.
struct Made<'b> {
    builder: &'b mut BatchBuilder,
    codec: Codec,
    max_message_bytes: u32,
    /// The first record that cannot be written; what is wrong with a record by the topic's rules counts before that.
    refused: Option<Error>,
    /// Whether it is larger than it may be, and given up.
    is_too_large: bool,
}

impl Made<'_> {
    fn push(&mut self, index: usize, record: &Record<'_>) -> Result<()> {
        if self.refused.is_some() {
            return Ok(());
        }
        if record.timestamp < TimestampMs::NONE {
            self.refused = Some(negative(index, record.timestamp));
        } else if !self.is_too_large {
            self.builder
                .push(record.timestamp, record.key, record.value, record.headers)?;
            // To go on would let a small input demand any amount of memory.
            let size_bytes = self.builder.uncompressed_bytes();
            self.is_too_large =
                self.codec == Codec::None && size_bytes > self.max_message_bytes as usize;
        }
        Ok(())
    }
}

#[cold]
fn negative(index: usize, timestamp: TimestampMs) -> Error {
    Error::new(
        ErrorKind::InvalidTimestamp,
        format!(
            "record {index} of a batch that has to be made anew has the negative timestamp {timestamp}; -1 is the \
             only one, for none"
        ),
    )
    .at_record(index)
}

#[cold]
fn too_large(max_message_bytes: u32) -> Error {
    Error::new(
        ErrorKind::MessageTooLarge,
        format!(
            "a batch is larger than {max_message_bytes} bytes once it is uncompressed (max.message.bytes)"
        ),
    )
}
