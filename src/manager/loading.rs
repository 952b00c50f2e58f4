//! What a log is loaded with: its configuration, and what its directory keeps for it.

use std::sync::Arc;

use super::HighWatermarks;
use super::checkpoints::Checkpoints;
use crate::config::Resolved;
use crate::log::{HighWatermark, LoadOptions, Shutdown};
use crate::types::TopicPartition;

/// The options to load a partition with, as after a shutdown out of order.
pub(super) fn load_options(
    config: &Resolved,
    checkpoints: &Checkpoints,
    partition: &TopicPartition,
    high_watermarks: HighWatermarks,
) -> LoadOptions {
    LoadOptions {
        shutdown: Shutdown::Unclean,
        recovery_point: checkpoints.recovery_point(partition),
        log_start: checkpoints.log_start(partition),
        config: Arc::clone(config.log_config(&partition.topic)),
        producer_expiration_ms: config.broker.producer_id_expiration_ms,
        high_watermark: match high_watermarks {
            HighWatermarks::FollowEnd => HighWatermark::FollowsEnd,
            HighWatermarks::FromCheckpoint => {
                HighWatermark::SetByCaller(checkpoints.high_watermark(partition))
            }
        },
        progress: None,
        spare_threads: Arc::default(),
        new_name: None,
    }
}
