//! A new batch of the records that came: of another codec, or of magic 2 in place of 0 and 1. Implements state.md 3.9, 3.10.

use super::leader::Target;
use super::records::{Findings, Rules};
use super::scratch::Scratch;
use crate::error::{Error, ErrorKind, Result};
use crate::format::batch::{Batch, BatchHeader, TimestampType};
use crate::format::builder::{BatchBuilder, BatchOptions};
use crate::format::codec::Codec;
use crate::format::record::Record;

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
        refusal: None,
    };
    for batch in batches {
        let batch = batch?;
        let mut findings = Findings::default();
        let mut index = 0;
        decoder.begin(&batch)?;
        while let Some(record) = decoder.next(&batch)? {
            let has_key = record.key.is_some();
            let declares = record.timestamp_type == TimestampType::LogAppendTime;
            match rules.finding(has_key, record.timestamp, declares) {
                Some(finding) => {
                    findings.add(finding, index, record.timestamp, record.offset, rules);
                }
                None if findings.is_empty() => made.push(&record)?,
                None => {}
            }
            index += 1;
        }
        // Later batches are not looked at (state.md 3.5).
        findings.into_result()?;
    }
    made.refusal.map_or(Ok(()), Err)?;
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

/// The batch in the making.
struct Made<'b> {
    builder: &'b mut BatchBuilder,
    codec: Codec,
    max_message_bytes: u32,
    /// Why it is not made further; what is wrong with a record counts before that.
    refusal: Option<Error>,
}

impl Made<'_> {
    fn push(&mut self, record: &Record<'_>) -> Result<()> {
        if self.refusal.is_some() {
            return Ok(());
        }
        let pushed = self
            .builder
            .push(record.timestamp, record.key, record.value, record.headers);
        match pushed {
            Err(error) if error.kind() == ErrorKind::InvalidTimestamp => self.refusal = Some(error),
            other => other?,
        }
        // Without this a small input could demand any amount of memory here.
        let size_bytes = self.builder.uncompressed_bytes();
        if self.codec == Codec::None && size_bytes > self.max_message_bytes as usize {
            self.refusal = Some(Error::new(
                ErrorKind::MessageTooLarge,
                format!(
                    "a batch has at least {size_bytes} bytes once it is uncompressed, at most {} are allowed \
                     (max.message.bytes)",
                    self.max_message_bytes
                ),
            ));
            self.builder.clear();
        }
        Ok(())
    }
}
