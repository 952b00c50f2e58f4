//! What is needed to unpack and to make batches, kept by each thread that appends: contexts of codecs are costly to make.

use std::cell::Cell;

use crate::config::LogConfig;
use crate::format::builder::BatchBuilder;
use crate::format::decoder::{InnerRule, RecordDecoder};
use crate::types::to_usize;

/// Buffers above this are given back after use.
const KEPT_BYTES: usize = 4 * 1024 * 1024;

pub(super) struct Scratch {
    pub(super) decoder: RecordDecoder,
    pub(super) builder: BatchBuilder,
}

thread_local! {
    static KEPT: Cell<Option<Box<Scratch>>> = const { Cell::new(None) };
}

/// Runs `work` with this thread's decoder and builder; the decoder judges as a leader does.
pub(super) fn with_scratch<T>(config: &LogConfig, work: impl FnOnce(&mut Scratch) -> T) -> T {
    let mut scratch = KEPT.take().unwrap_or_else(|| {
        Box::new(Scratch {
            decoder: RecordDecoder::new(),
            builder: BatchBuilder::new(),
        })
    });
    let max_body_bytes = to_usize(u64::from(config.max_decompressed_message_bytes));
    scratch.decoder.set_max_body_bytes(max_body_bytes);
    scratch.decoder.set_inner_rule(InnerRule::AsLeader);
    scratch.builder.clear();
    let done = work(&mut scratch);
    if scratch.decoder.capacity_bytes() + scratch.builder.capacity_bytes() <= KEPT_BYTES {
        KEPT.set(Some(scratch));
    }
    done
}
