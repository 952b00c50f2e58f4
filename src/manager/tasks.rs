//! What is to be done from time to time, under Kafka's names. Implements manager.md 4.
//!
//! Nothing runs by itself: [`Manager::tick`] does what is due, in the thread that calls it, by the manager's clock. Each task
//! can be run by its own call as well.

use super::{Access, Manager, Pass};
use crate::config::BrokerConfig;
use crate::error::Result;
use crate::types::TimestampMs;

/// Something that is done from time to time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Task {
    /// `kafka-log-retention`.
    Retention,
    /// `kafka-log-flusher`.
    Flusher,
    /// `kafka-recovery-point-checkpoint` and `kafka-log-start-offset-checkpoint`: klog writes both at once.
    Checkpoint,
    /// `kafka-delete-logs`.
    DeleteLogs,
    /// `delete-file`.
    DeleteFiles,
    /// `PeriodicProducerExpirationCheck`.
    ProducerExpiry,
    /// `highwatermark-checkpoint`.
    HighWatermarks,
    /// `kafka-log-cleaner`: compaction, and retention of the logs that are compacted.
    Cleaner,
}

impl Task {
    const ALL: [Self; 8] = [
        Self::Retention,
        Self::Flusher,
        Self::Checkpoint,
        Self::DeleteLogs,
        Self::DeleteFiles,
        Self::ProducerExpiry,
        Self::HighWatermarks,
        Self::Cleaner,
    ];

    /// Kafka's name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Retention => "kafka-log-retention",
            Self::Flusher => "kafka-log-flusher",
            Self::Checkpoint => "kafka-recovery-point-checkpoint",
            Self::DeleteLogs => "kafka-delete-logs",
            Self::DeleteFiles => "delete-file",
            Self::ProducerExpiry => "PeriodicProducerExpirationCheck",
            Self::HighWatermarks => "highwatermark-checkpoint",
            Self::Cleaner => "kafka-log-cleaner",
        }
    }

    /// After how many ms it comes first, and then again, if it does.
    fn times_ms(self, broker: &BrokerConfig) -> (i64, Option<i64>) {
        let delay = broker.initial_task_delay_ms;
        let positive = |period: i64| Some(period).filter(|&period| period > 0);
        match self {
            Self::Retention => (delay, positive(broker.retention_check_interval_ms)),
            Self::Flusher => (delay, positive(broker.flush_scheduler_interval_ms)),
            Self::Checkpoint => {
                let shorter = broker
                    .flush_offset_checkpoint_interval_ms
                    .min(broker.flush_start_offset_checkpoint_interval_ms);
                (delay, positive(shorter))
            }
            Self::DeleteLogs => (delay, Some(1)),
            Self::DeleteFiles => (0, Some(1)),
            Self::ProducerExpiry => {
                let period = broker.producer_id_expiration_check_interval_ms;
                (period, positive(period))
            }
            Self::HighWatermarks => {
                let period = broker.replica_high_watermark_checkpoint_interval_ms;
                (period, positive(period))
            }
            Self::Cleaner => (0, Some(broker.cleaner.backoff_ms.max(1))),
        }
    }
}

/// When each task is due.
#[derive(Debug)]
pub(super) struct Schedule(Vec<Entry>);

#[derive(Debug)]
struct Entry {
    task: Task,
    due: TimestampMs,
    period_ms: Option<i64>,
}

impl Schedule {
    /// As after an opening at `now`.
    pub(super) fn new(broker: &BrokerConfig, now: TimestampMs) -> Self {
        let entry = |task: Task| {
            let (delay_ms, period_ms) = task.times_ms(broker);
            Entry {
                task,
                due: later(now, delay_ms),
                period_ms,
            }
        };
        let is_on = |task: &Task| *task != Task::Cleaner || broker.cleaner.enable;
        Self(Task::ALL.into_iter().filter(is_on).map(entry).collect())
    }

    /// A task that is due, which is due again one period later; periods that were missed are not made up for.
    fn take_due(&mut self, now: TimestampMs) -> Option<Task> {
        let at = self
            .0
            .iter()
            .enumerate()
            .filter(|(_, entry)| entry.due <= now)
            .min_by_key(|(_, entry)| entry.due)?
            .0;
        let entry = self.0.get_mut(at)?;
        let task = entry.task;
        let next = entry.period_ms.map(|period_ms| {
            let next = later(entry.due, period_ms);
            if next > now {
                next
            } else {
                later(now, period_ms)
            }
        });
        match next.filter(|&next| next > now) {
            Some(next) => entry.due = next,
            // Once only, or never again within all time.
            None => {
                self.0.remove(at);
            }
        }
        Some(task)
    }

    /// Puts a task off until `due`.
    fn set(&mut self, task: Task, due: TimestampMs) {
        for entry in self.0.iter_mut().filter(|entry| entry.task == task) {
            entry.due = due;
        }
    }

    /// Takes a task off for good.
    fn remove(&mut self, task: Task) {
        self.0.retain(|entry| entry.task != task);
    }

    fn next_due(&self) -> Option<TimestampMs> {
        self.0.iter().map(|entry| entry.due).min()
    }
}

fn later(time: TimestampMs, ms: i64) -> TimestampMs {
    TimestampMs(time.0.saturating_add(ms))
}

/// What a tick did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TickResult {
    /// The tasks that were run, in their order.
    pub tasks: Vec<Task>,
    /// When the next one is due.
    pub next_due: Option<TimestampMs>,
}

impl Manager {
    /// Runs what is due by now, in this thread. A task that fails is due again in its time; the first failure is answered
    /// after all were run. A manager that only reads has nothing to do, ever.
    pub fn tick(&self) -> Result<TickResult> {
        self.check_open()?;
        if self.access() == Access::ReadOnly {
            return Ok(TickResult::default());
        }
        let now = self.clock.now();
        let mut done = TickResult::default();
        let mut first = Ok(());
        loop {
            let due = self.schedule.lock().take_due(now);
            let Some(task) = due else { break };
            let ran = self.run(task).inspect_err(|e| self.tell_failed(task, e));
            done.tasks.push(task);
            if first.is_ok() {
                first = ran;
            }
        }
        done.next_due = self.schedule.lock().next_due();
        first.map(|()| done)
    }

    /// Leaves cleaning to threads that call [`Self::clean_turn`]: [`Self::tick`] does not clean from now on.
    pub fn clean_in_threads(&self) {
        self.schedule.lock().remove(Task::Cleaner);
    }

    /// Runs a task now, whether it is due or not. A manager that only reads has nothing to do.
    pub fn run(&self, task: Task) -> Result<()> {
        if self.access() == Access::ReadOnly {
            return self.check_open();
        }
        match task {
            Task::Retention => self.retain_all(Pass::Apply).map(|_| ()),
            Task::Flusher => self.flush_due(),
            Task::Checkpoint | Task::HighWatermarks => self.checkpoint(),
            Task::DeleteLogs => {
                let next = self.remove_deleted()?;
                let idle_ms = self
                    .config()
                    .default_log_config()
                    .file_delete_delay_ms
                    .max(1);
                let next = next.unwrap_or_else(|| later(self.clock.now(), idle_ms));
                self.schedule.lock().set(task, next);
                Ok(())
            }
            Task::DeleteFiles => {
                let mut next: Option<TimestampMs> = None;
                for log in self.logs() {
                    let due = log.remove_retired()?;
                    next = [next, due].into_iter().flatten().min();
                }
                let idle = later(self.clock.now(), DELETE_FILES_IDLE_MS);
                self.schedule
                    .lock()
                    .set(task, next.unwrap_or(idle).min(idle));
                Ok(())
            }
            Task::ProducerExpiry => {
                for log in self.logs() {
                    log.expire_producers()?;
                }
                Ok(())
            }
            Task::Cleaner => {
                while self.clean_turn(None)? {}
                Ok(())
            }
        }
    }

    /// Flushes the logs whose last flush is `flush.ms` ago (manager.md 6.1). The first failure is answered; the others are
    /// flushed all the same.
    fn flush_due(&self) -> Result<()> {
        let mut first = Ok(());
        for log in self.logs() {
            let flushed = log.flush_if_due();
            if first.is_ok() {
                first = flushed;
            }
        }
        first
    }
}

/// How long files may wait beyond their time when none was waiting at the last look.
const DELETE_FILES_IDLE_MS: i64 = 1000;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::ConfigSet;

    fn schedule(keys: &[(&str, &str)]) -> Schedule {
        let mut set = ConfigSet::broker();
        for (key, value) in keys {
            set.set(key, value).unwrap();
        }
        Schedule::new(&set.resolve().unwrap().broker, TimestampMs(1000))
    }

    fn due(schedule: &mut Schedule, now: i64) -> Vec<&'static str> {
        let mut names = Vec::new();
        while let Some(task) = schedule.take_due(TimestampMs(now)) {
            if !matches!(task, Task::DeleteFiles | Task::DeleteLogs | Task::Cleaner) {
                names.push(task.name());
            }
        }
        names
    }

    #[test]
    fn manager_md_4_first_delays_and_periods_are_kafkas() {
        let mut s = schedule(&[]);
        assert_eq!(due(&mut s, 5999), [""; 0]);
        assert_eq!(due(&mut s, 6000), ["highwatermark-checkpoint"]);
        assert_eq!(due(&mut s, 30_999), ["highwatermark-checkpoint"]);
        let mut at_30_s = due(&mut s, 31_000);
        at_30_s.sort_unstable();
        assert_eq!(
            at_30_s,
            [
                "kafka-log-flusher",
                "kafka-log-retention",
                "kafka-recovery-point-checkpoint"
            ]
        );
        assert!(!due(&mut s, 330_999).contains(&"kafka-log-retention"));
        assert!(due(&mut s, 331_000).contains(&"kafka-log-retention"));
        assert!(due(&mut s, 601_000).contains(&"PeriodicProducerExpirationCheck"));
    }

    #[test]
    fn the_cleaner_comes_at_once_and_after_its_backoff_if_it_is_on() {
        let cleans = |s: &mut Schedule, now| {
            let mut tasks = Vec::new();
            while let Some(task) = s.take_due(TimestampMs(now)) {
                tasks.push(task);
            }
            tasks.contains(&Task::Cleaner)
        };
        let mut on = schedule(&[]);
        assert_eq!(
            [1000, 15_999, 16_000].map(|now| cleans(&mut on, now)),
            [true, false, true]
        );
        let mut off = schedule(&[("log.cleaner.enable", "false")]);
        assert!(!cleans(&mut off, 100_000));
    }

    #[test]
    fn periods_that_were_missed_are_not_made_up_for() {
        let mut s = schedule(&[("log.retention.check.interval.ms", "100")]);
        let _ = due(&mut s, 31_000);
        let names = due(&mut s, 10_000_000);
        let count = names
            .iter()
            .filter(|name| **name == "kafka-log-retention")
            .count();
        assert_eq!(count, 1);
    }

    #[test]
    fn a_period_of_0_is_once_and_a_delay_without_end_does_not_overflow() {
        let mut s = schedule(&[
            ("log.flush.offset.checkpoint.interval.ms", "0"),
            ("log.flush.start.offset.checkpoint.interval.ms", "0"),
            ("log.initial.task.delay.ms", "9223372036854775807"),
        ]);
        assert_eq!(
            due(&mut s, i64::MAX - 1).len(),
            2,
            "those with delays of their own"
        );
        assert!(due(&mut s, i64::MAX).contains(&"kafka-recovery-point-checkpoint"));
    }
}
