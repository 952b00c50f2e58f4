//! What happens to logs and directories, for whoever wants to hear of it.
//!
//! A publisher hands an event to every listener and goes on: a listener takes it or counts it as lost, and never waits. Where
//! nobody listens nothing is even made. The hub's lock is the last one that is taken, but for the listeners' own.

use std::fmt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use parking_lot::Mutex;

use super::report::{Finding, FindingKind, escape};
use crate::error::{Error, ErrorKind};
use crate::types::{Offset, TimestampMs, TopicPartition};

macro_rules! event_kinds {
    ($($(#[$doc:meta])* $variant:ident = $bit:literal, $name:literal;)*) => {
        /// What kind of event it is. The number is its bit in a mask.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u64)]
        #[non_exhaustive]
        pub enum EventKind { $($(#[$doc])* $variant = 1 << $bit,)* }

        impl EventKind {
            /// Every kind, in the order of their bits.
            pub const ALL: &'static [EventKind] = &[$(EventKind::$variant,)*];

            /// Its name in a line.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(EventKind::$variant => $name,)* }
            }
        }
    };
}

event_kinds! {
    /// Events were lost: the stream was full. `count` says how many. Comes in any case, in the place of those that are
    /// missing.
    Lost = 0, "lost";
    /// Bytes that were not known to be good were read again at opening; some may have been cut off.
    Recovered = 1, "recovered";
    /// A derived file was missing or wrong and was made anew, or a small file was replaced.
    Repaired = 2, "repaired";
    /// Something that is not Kafka's was found and left alone.
    Ignored = 3, "ignored";
    /// A configuration key was not used, or not as it was written.
    Config = 4, "config";
    /// A log could not be opened.
    LoadFailed = 5, "load-failed";
    /// A log directory went out of use, with its logs. `status` says by what.
    DirOffline = 6, "dir-offline";
    /// A log was made.
    LogCreated = 7, "log-created";
    /// A log was deleted.
    LogDeleted = 8, "log-deleted";
    /// A segment began: `offset` is its base.
    Rolled = 9, "rolled";
    /// Retention took segments: `count` of them with `bytes`; the log starts at `offset` now.
    SegmentsDeleted = 10, "segments-deleted";
    /// A log was cut, and ends at `offset` now.
    Truncated = 11, "truncated";
    /// A log was cleaned.
    Cleaned = 12, "cleaned";
    /// A log was moved to another directory, which is `dir`.
    Moved = 13, "moved";
    /// A task of [`crate::manager::Manager::tick`] failed; the text begins with its name.
    TaskFailed = 14, "task-failed";
}

impl EventKind {
    /// Its bit in a mask.
    #[must_use]
    pub const fn bit(self) -> u64 {
        self as u64
    }

    /// The bits of all kinds.
    #[must_use]
    pub fn all_bits() -> u64 {
        Self::ALL.iter().fold(0, |bits, kind| bits | kind.bit())
    }

    fn of_finding(kind: FindingKind) -> Self {
        match kind {
            FindingKind::Recovered => Self::Recovered,
            FindingKind::Repaired => Self::Repaired,
            FindingKind::Ignored => Self::Ignored,
            FindingKind::Config => Self::Config,
            FindingKind::Failed => Self::LoadFailed,
        }
    }
}

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// What kind.
    pub kind: EventKind,
    /// When, by the manager's clock. For what opening found, when that began.
    pub time: TimestampMs,
    /// The log directory.
    pub dir: Option<PathBuf>,
    /// The log, if it concerns one.
    pub partition: Option<TopicPartition>,
    /// The status of a failure.
    pub status: Option<ErrorKind>,
    /// An offset: see the kind.
    pub offset: Option<Offset>,
    /// How many: see the kind.
    pub count: Option<u64>,
    /// How many bytes: see the kind.
    pub bytes: Option<u64>,
    /// What there is to say in words.
    pub text: String,
}

impl Event {
    /// An event that concerns nothing in particular yet.
    #[must_use]
    pub fn new(kind: EventKind, time: TimestampMs) -> Self {
        Self {
            kind,
            time,
            dir: None,
            partition: None,
            status: None,
            offset: None,
            count: None,
            bytes: None,
            text: String::new(),
        }
    }

    /// What opening found, at the time it began.
    #[must_use]
    pub fn of_finding(finding: &Finding, time: TimestampMs) -> Self {
        Self {
            dir: Some(finding.dir.clone()).filter(|dir| !dir.as_os_str().is_empty()),
            partition: finding.partition.clone(),
            status: finding.status,
            text: finding.text.clone(),
            ..Self::new(EventKind::of_finding(finding.kind), time)
        }
    }

    /// Adds the failure that it tells of.
    #[must_use]
    pub fn with_error(mut self, error: &Error) -> Self {
        self.status = Some(error.kind());
        error.message().clone_into(&mut self.text);
        self
    }
}

impl fmt::Display for Event {
    /// `kind TAB time_ms TAB dir TAB topic-partition TAB status TAB offset TAB count TAB bytes TAB text`, "-" for what there
    /// is not.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fn field(value: Option<impl fmt::Display>) -> String {
            value.map_or_else(|| "-".to_owned(), |value| escape(&value.to_string()))
        }
        write!(
            f,
            "{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}",
            self.kind.name(),
            self.time,
            field(self.dir.as_ref().map(|dir| dir.display())),
            field(self.partition.as_ref()),
            field(self.status.map(ErrorKind::name)),
            field(self.offset),
            field(self.count),
            field(self.bytes),
            escape(&self.text)
        )
    }
}

/// Takes events. Called under the hub's lock: it may not wait, nor publish.
pub(crate) trait EventListener: Send + Sync + fmt::Debug {
    /// The kinds that it wants, as bits.
    fn wanted(&self) -> u64;
    /// Takes an event of such a kind.
    fn hear(&self, event: &Arc<Event>);
    /// Nothing comes any more.
    fn end(&self);
}

/// Where events go to those who listen.
#[derive(Debug, Default)]
pub(crate) struct EventHub {
    /// What any listener wants.
    wanted: AtomicU64,
    state: Mutex<HubState>,
}

#[derive(Debug, Default)]
struct HubState {
    listeners: Vec<Weak<dyn EventListener>>,
    /// What is still so and is told to whoever comes: directories that are offline. One for each at most.
    standing: Vec<Arc<Event>>,
    has_ended: bool,
}

impl EventHub {
    /// Publishes what `event` makes, if anybody wants the kind.
    pub(crate) fn publish(&self, kind: EventKind, event: impl FnOnce() -> Event) {
        // Relaxed, pairs with nothing: who begins to listen at the same moment may or may not hear this one, and the
        // listeners themselves are looked at under the lock.
        if self.wanted.load(Ordering::Relaxed) & kind.bit() != 0 {
            self.state.lock().tell(&Arc::new(event()));
        }
    }

    /// Publishes what stays so as long as the hub lives: who listens later hears of it too.
    pub(crate) fn publish_standing(&self, event: Event) {
        let event = Arc::new(event);
        let mut state = self.state.lock();
        state.tell(&event);
        state.standing.push(event);
    }

    /// Tells a new listener what happened before, then all that comes. It is forgotten when it is dropped.
    pub(crate) fn listen(
        &self,
        listener: &Arc<dyn EventListener>,
        before: impl Iterator<Item = Event>,
    ) {
        let mut state = self.state.lock();
        let wanted = listener.wanted();
        let standing = state.standing.clone();
        for event in before.map(Arc::new).chain(standing) {
            if event.kind.bit() & wanted != 0 {
                listener.hear(&event);
            }
        }
        if state.has_ended {
            listener.end();
        } else {
            state.listeners.push(Arc::downgrade(listener));
            self.wanted.store(state.wanted(), Ordering::Relaxed);
        }
    }

    /// Forgets listeners that were dropped. Does nothing if the lock is held: in a forked child it may be for ever, and the
    /// next one that comes or goes does it.
    pub(crate) fn tidy(&self) {
        if let Some(mut state) = self.state.try_lock() {
            self.wanted.store(state.wanted(), Ordering::Relaxed);
        }
    }

    /// Tells every listener that nothing comes any more.
    pub(crate) fn end(&self) {
        let mut state = self.state.lock();
        state.has_ended = true;
        for listener in std::mem::take(&mut state.listeners) {
            if let Some(listener) = listener.upgrade() {
                listener.end();
            }
        }
        self.wanted.store(0, Ordering::Relaxed);
    }
}

impl HubState {
    fn tell(&self, event: &Arc<Event>) {
        for listener in self.listeners.iter().filter_map(Weak::upgrade) {
            if listener.wanted() & event.kind.bit() != 0 {
                listener.hear(event);
            }
        }
    }

    /// What the listeners that are left want.
    fn wanted(&mut self) -> u64 {
        self.listeners
            .retain(|listener| listener.strong_count() > 0);
        self.listeners
            .iter()
            .filter_map(Weak::upgrade)
            .fold(0, |bits, listener| bits | listener.wanted())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Default)]
    struct Heard(Mutex<Vec<EventKind>>);

    impl EventListener for Heard {
        fn wanted(&self) -> u64 {
            EventKind::Rolled.bit() | EventKind::DirOffline.bit()
        }

        fn hear(&self, event: &Arc<Event>) {
            self.0.lock().push(event.kind);
        }

        fn end(&self) {
            self.0.lock().clear();
        }
    }

    fn event(kind: EventKind) -> Event {
        Event::new(kind, TimestampMs(7))
    }

    #[test]
    fn what_nobody_wants_is_not_even_made() {
        let hub = EventHub::default();
        hub.publish(EventKind::Rolled, || unreachable!("nobody listens"));
        let heard = Arc::new(Heard::default());
        hub.listen(
            &(Arc::clone(&heard) as Arc<dyn EventListener>),
            std::iter::empty(),
        );
        hub.publish(EventKind::LogCreated, || unreachable!("nobody wants it"));
        hub.publish(EventKind::Rolled, || event(EventKind::Rolled));
        assert_eq!(*heard.0.lock(), [EventKind::Rolled]);
        drop(heard);
        hub.tidy();
        hub.publish(EventKind::Rolled, || {
            unreachable!("nobody listens any more")
        });
    }

    #[test]
    fn who_comes_late_hears_what_is_still_so_once() {
        let hub = EventHub::default();
        hub.publish_standing(event(EventKind::DirOffline));
        let heard = Arc::new(Heard::default());
        let before = [event(EventKind::Config), event(EventKind::Rolled)];
        hub.listen(
            &(Arc::clone(&heard) as Arc<dyn EventListener>),
            before.into_iter(),
        );
        hub.publish_standing(event(EventKind::DirOffline));
        assert_eq!(
            *heard.0.lock(),
            [
                EventKind::Rolled,
                EventKind::DirOffline,
                EventKind::DirOffline
            ]
        );
        hub.end();
        assert!(heard.0.lock().is_empty(), "it heard the end");
        let late = Arc::new(Heard::default());
        late.0.lock().push(EventKind::Rolled);
        hub.listen(
            &(Arc::clone(&late) as Arc<dyn EventListener>),
            std::iter::empty(),
        );
        assert!(late.0.lock().is_empty(), "so does who comes after it");
    }

    #[test]
    fn a_line_has_nine_fields_and_every_kind_a_name_and_a_bit_of_its_own() {
        let full = Event {
            dir: Some(PathBuf::from("/a\tb")),
            partition: Some(TopicPartition::new("t", 3)),
            status: Some(ErrorKind::NoSpace),
            offset: Some(Offset(5)),
            count: Some(2),
            bytes: Some(9),
            text: "two\nlines".to_owned(),
            ..event(EventKind::TaskFailed)
        };
        assert_eq!(
            full.to_string(),
            "task-failed\t7\t/a\\tb\tt-3\tKLOG_ERR_NO_SPACE\t5\t2\t9\ttwo\\nlines"
        );
        assert_eq!(
            event(EventKind::Moved).to_string(),
            "moved\t7\t-\t-\t-\t-\t-\t-\t"
        );
        for (i, kind) in EventKind::ALL.iter().enumerate() {
            assert_eq!(kind.bit(), 1 << i, "{}", kind.name());
        }
        assert_eq!(
            EventKind::all_bits().count_ones() as usize,
            EventKind::ALL.len()
        );
    }
}
