//! Ending a call from another thread.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::{Error, ErrorKind, Result};

/// A token that ends the calls that carry it. Fired once it stays fired.
#[derive(Debug, Default)]
pub struct CancelToken(AtomicBool);

impl CancelToken {
    /// Ends the calls that carry it, now and later.
    pub fn fire(&self) {
        self.0.store(true, Ordering::SeqCst);
    }

    /// CANCELLED once it was fired.
    pub fn check(&self) -> Result<()> {
        if self.0.load(Ordering::SeqCst) {
            return Err(Error::new(ErrorKind::Cancelled, "the call was cancelled"));
        }
        Ok(())
    }
}
