//! Ending a call from another thread, or from a signal handler.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::{Error, ErrorKind, Result};
use crate::io::Bell;

/// A token that ends the calls that carry it ([`crate::service::Patience`]), and no other. Fired once it stays fired.
///
/// A call that carries it sleeps on the token's own bell. So firing is a store and a ring, without a lock; and of several
/// calls that carry one token all look again whenever one of them is woken.
#[derive(Debug, Default)]
pub struct CancelToken {
    is_fired: AtomicBool,
    bell: Arc<Bell>,
}

impl CancelToken {
    /// Ends the calls that carry it, now and later. Takes no lock and allocates nothing: signal handlers may call it.
    pub fn fire(&self) {
        self.is_fired.store(true, Ordering::SeqCst);
        self.bell.ring();
    }

    /// CANCELLED once it was fired.
    pub fn check(&self) -> Result<()> {
        if self.is_fired.load(Ordering::SeqCst) {
            return Err(Error::new(ErrorKind::Cancelled, "the call was cancelled"));
        }
        Ok(())
    }

    /// What calls that carry it sleep on.
    pub(super) fn bell(&self) -> &Arc<Bell> {
        &self.bell
    }

    /// As new. The caller knows that nobody carries it.
    pub(crate) fn renew(&self) {
        self.is_fired.store(false, Ordering::SeqCst);
    }
}
