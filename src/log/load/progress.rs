//! Who watches the load of a log. Implements deviations.md D90, manager.md 14 (remainingSegmentsToRecover).

use crate::error::Result;
use crate::types::Offset;

/// Hears how far a recovery has come, so that one that is interrupted need not begin again (deviations.md D90).
pub trait RecoveryProgress: std::fmt::Debug + Send + Sync {
    /// Everything of the log below `offset` was recovered and is durable, with the state beside it. An error ends the load.
    fn recovered_below(&self, offset: Offset) -> Result<()>;
    /// The log is loaded from now on; again, if it was split meanwhile.
    fn begins(&self) {}
    /// So many segments, of so many bytes together, are to be read again.
    fn expects(&self, _segments: u64, _bytes: u64) {}
    /// So many bytes of them were read.
    fn has_read(&self, _bytes: u64) {}
    /// One of them is done, or went for damage in one before it.
    fn segment_done(&self) {}
    /// The log is loaded, or failed to be.
    fn ends(&self) {}
}
