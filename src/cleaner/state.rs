//! Who may clean which log now: the states of cleaner.md 1.1-1.5 and their transitions. A state machine without a lock: its
//! owner has one, and waits and wakes.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::watch::Watch;
use crate::error::{Error, ErrorKind, Result};
use crate::types::TopicPartition;

/// What is done with a log; one that is not listed may be cleaned.
#[derive(Clone, Debug)]
enum State {
    /// It is cleaned, or retention works on it for the cleaner.
    InProgress(Arc<Watch>),
    /// The same, and somebody waits for its end.
    Aborted(Arc<Watch>),
    /// Nobody may clean it until as many have resumed as paused.
    Paused(u32),
}

impl State {
    const fn name(&self) -> &'static str {
        match self {
            Self::InProgress(_) => "cleaned",
            Self::Aborted(_) => "aborted",
            Self::Paused(_) => "paused",
        }
    }
}

/// How a stretch of work on a log ended, for its state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// Nothing speaks against it being cleaned again.
    InOrder,
    /// Somebody waits: it is paused now. What the work found does not count.
    Aborted,
}

/// The states of all logs.
#[derive(Debug, Default)]
pub struct States(BTreeMap<TopicPartition, State>);

impl States {
    /// Whether a log is neither cleaned nor paused.
    #[must_use]
    pub fn is_free(&self, partition: &TopicPartition) -> bool {
        !self.0.contains_key(partition)
    }

    /// Whether a log is paused.
    #[must_use]
    pub fn is_paused(&self, partition: &TopicPartition) -> bool {
        matches!(self.0.get(partition), Some(State::Paused(_)))
    }

    /// Whether work on a log was asked to end, and has not yet.
    #[must_use]
    pub fn is_aborted(&self, partition: &TopicPartition) -> bool {
        matches!(self.0.get(partition), Some(State::Aborted(_)))
    }

    /// Whether there is work on any log.
    #[must_use]
    pub fn any_runs(&self) -> bool {
        self.0
            .values()
            .any(|state| matches!(state, State::InProgress(_) | State::Aborted(_)))
    }

    /// Asks all work to end.
    pub fn abort_all(&self) {
        for state in self.0.values() {
            if let State::InProgress(watch) = state {
                watch.abort();
            }
        }
    }

    /// The pass that runs on a log.
    #[must_use]
    pub fn running(&self, partition: &TopicPartition) -> Option<Arc<Watch>> {
        match self.0.get(partition) {
            Some(State::InProgress(watch) | State::Aborted(watch)) => Some(Arc::clone(watch)),
            Some(State::Paused(_)) | None => None,
        }
    }

    /// Begins work on a log; `None` if it is not free.
    pub fn begin(&mut self, partition: &TopicPartition) -> Option<Arc<Watch>> {
        if !self.is_free(partition) {
            return None;
        }
        let watch = Arc::new(Watch::default());
        self.0
            .insert(partition.clone(), State::InProgress(Arc::clone(&watch)));
        Some(watch)
    }

    /// Ends work on a log.
    pub fn end(&mut self, partition: &TopicPartition) -> Result<Ended> {
        match self.0.get(partition) {
            Some(State::InProgress(_)) => {
                self.0.remove(partition);
                Ok(Ended::InOrder)
            }
            Some(State::Aborted(_)) => {
                self.0.insert(partition.clone(), State::Paused(1));
                Ok(Ended::Aborted)
            }
            other => Err(wrong(partition, "its work ends", other)),
        }
    }

    /// Pauses a log; work on it is asked to end. Whether the caller has to wait until [`Self::is_paused`].
    pub fn abort_and_pause(&mut self, partition: &TopicPartition) -> Result<bool> {
        match self.0.get_mut(partition) {
            None => {
                self.0.insert(partition.clone(), State::Paused(1));
                Ok(false)
            }
            Some(State::Paused(times)) => {
                *times = times.saturating_add(1);
                Ok(false)
            }
            Some(state @ State::InProgress(_)) => {
                if let State::InProgress(watch) = &*state {
                    watch.abort();
                    *state = State::Aborted(Arc::clone(watch));
                }
                Ok(true)
            }
            Some(State::Aborted(_)) => Err(wrong(
                partition,
                "cannot be aborted and paused",
                self.0.get(partition),
            )),
        }
    }

    /// Takes back one pause.
    pub fn resume(&mut self, partition: &TopicPartition) -> Result<()> {
        match self.0.get_mut(partition) {
            Some(State::Paused(times)) if *times > 1 => {
                *times -= 1;
                Ok(())
            }
            Some(State::Paused(_)) => {
                self.0.remove(partition);
                Ok(())
            }
            other => Err(wrong(partition, "cannot be resumed", other.as_deref())),
        }
    }
}

#[cold]
fn wrong(partition: &TopicPartition, what: &str, state: Option<&State>) -> Error {
    let state = state.map_or("neither cleaned nor paused", State::name);
    Error::new(
        ErrorKind::InvalidArgument,
        format!("the cleaning of {partition} {what} while it is {state}"),
    )
    .in_partition(partition.partition)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tp() -> TopicPartition {
        TopicPartition::new("t", 0)
    }

    #[test]
    fn cleaner_md_1_2_the_transitions() {
        let mut states = States::default();
        assert!(states.resume(&tp()).is_err());
        assert!(states.end(&tp()).is_err());
        assert!(states.begin(&tp()).is_some());
        assert!(states.begin(&tp()).is_none(), "one at a time");
        assert!(states.resume(&tp()).is_err());
        assert_eq!(states.end(&tp()).unwrap(), Ended::InOrder);
        assert!(states.is_free(&tp()));

        let watch = states.begin(&tp()).unwrap();
        assert!(
            states.abort_and_pause(&tp()).unwrap(),
            "the pass must end first"
        );
        assert!(watch.is_aborted() && !states.is_paused(&tp()));
        assert!(states.abort_and_pause(&tp()).is_err());
        assert!(states.resume(&tp()).is_err());
        assert_eq!(states.end(&tp()).unwrap(), Ended::Aborted);
        assert!(states.is_paused(&tp()));

        assert!(!states.abort_and_pause(&tp()).unwrap());
        assert!(states.begin(&tp()).is_none());
        assert!(states.end(&tp()).is_err());
        states.resume(&tp()).unwrap();
        assert!(states.is_paused(&tp()), "two paused it");
        states.resume(&tp()).unwrap();
        assert!(states.is_free(&tp()));
        assert!(!states.abort_and_pause(&tp()).unwrap());
        states.resume(&tp()).unwrap();
        assert!(states.is_free(&tp()));
    }
}
