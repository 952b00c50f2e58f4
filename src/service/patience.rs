//! How long a call waits, what ends it before, and the one loop in which calls sleep.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::cancel::CancelToken;
use super::sleepers::Sleepers;
use crate::error::{Error, ErrorKind, Result};
use crate::io::{Bell, Deadline};

/// How long a call waits, and what ends it before: a token that is fired, CANCELLED; the close of what it was made for,
/// CLOSED. Both end it also if what it waits for is there.
///
/// ```
/// use std::time::Duration;
///
/// use klog::service::{CancelToken, Patience};
///
/// let token = CancelToken::default();
/// let _not_at_all = Patience::NONE;
/// let _up_to_a_second = Patience::of(Duration::from_secs(1)).cancelled_by(&token);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Patience<'t> {
    deadline: Deadline,
    token: Option<&'t CancelToken>,
    ending: Option<&'t Ending>,
}

impl Patience<'static> {
    /// Waits for nothing.
    pub const NONE: Self = Self::until(Deadline::AT_ONCE);
    /// Waits without limit.
    pub const ENDLESS: Self = Self::until(Deadline::NEVER);

    /// Waits so long from now.
    #[must_use]
    pub fn of(time: Duration) -> Self {
        Self::until(Deadline::within(time))
    }

    /// Waits until then.
    #[must_use]
    pub const fn until(deadline: Deadline) -> Self {
        Self {
            deadline,
            token: None,
            ending: None,
        }
    }
}

impl<'t> Patience<'t> {
    /// Also ended by a token.
    #[must_use]
    pub fn cancelled_by<'n>(self, token: &'n CancelToken) -> Patience<'n>
    where
        't: 'n,
    {
        Patience {
            token: Some(token),
            ..self
        }
    }

    /// Also ended by a close.
    #[must_use]
    pub fn ended_by<'n>(self, ending: &'n Ending) -> Patience<'n>
    where
        't: 'n,
    {
        Patience {
            ending: Some(ending),
            ..self
        }
    }

    /// Whether it waits for nothing.
    #[must_use]
    pub fn is_none(&self) -> bool {
        self.deadline == Deadline::AT_ONCE
    }

    /// CANCELLED or CLOSED, if it was ended.
    pub fn check(&self) -> Result<()> {
        self.token.map_or(Ok(()), CancelToken::check)?;
        self.ending.map_or(Ok(()), Ending::check)
    }

    /// What a call sleeps on: a token's bell, or one of its own.
    fn bell(&self) -> Arc<Bell> {
        self.token
            .map_or_else(Arc::default, |token| Arc::clone(token.bell()))
    }
}

/// The end of something that calls wait on behalf of, such as a handle of the C ABI.
#[derive(Debug, Default)]
pub struct Ending {
    has_come: AtomicBool,
    sleepers: Sleepers,
}

impl Ending {
    /// Ends the calls, now and later.
    pub fn come(&self) {
        self.has_come.store(true, Ordering::SeqCst);
        self.sleepers.wake_all();
    }

    /// CLOSED once it has come.
    pub fn check(&self) -> Result<()> {
        if self.has_come.load(Ordering::SeqCst) {
            return Err(Error::new(
                ErrorKind::Closed,
                "it was closed while the call waited",
            ));
        }
        Ok(())
    }

    pub(super) fn sleepers(&self) -> &Sleepers {
        &self.sleepers
    }
}

/// What a look at what is waited for says.
pub(super) enum Look<T> {
    /// It is there.
    There(T),
    /// It is not. It is looked for again when the call is woken.
    NotYet,
    /// It is not, and then it is looked for again, whether the call is woken or not.
    NotBefore(Deadline),
}

/// Sleeps until `look` finds something, or fails, or patience ends; then TIMED_OUT, where `what` says what was waited for.
/// `enlist` sees to it that the bell rings whenever a look may find something, until its answer is dropped.
pub(super) fn wait_for<T, E>(
    patience: &Patience<'_>,
    what: &'static str,
    mut enlist: impl FnMut(&Arc<Bell>) -> E,
    mut look: impl FnMut() -> Result<Look<T>>,
) -> Result<T> {
    patience.check()?;
    if let Look::There(found) = look()? {
        return Ok(found);
    }
    let timed_out = || Error::new(ErrorKind::TimedOut, format!("{what} within the timeout"));
    if patience.is_none() {
        return Err(timed_out());
    }
    let bell = patience.bell();
    let _closing = patience
        .ending
        .map(|ending| ending.sleepers().enlist(Arc::clone(&bell) as _));
    loop {
        // In this order: what comes after the listening rings, or is seen by the look.
        let heard = bell.listen();
        let _enlisted = enlist(&bell);
        patience.check()?;
        let again = match look()? {
            Look::There(found) => return Ok(found),
            Look::NotYet => Deadline::NEVER,
            Look::NotBefore(deadline) => deadline,
        };
        if patience.deadline.has_passed() {
            return Err(timed_out());
        }
        bell.sleep(heard, patience.deadline.or_earlier(again));
    }
}
