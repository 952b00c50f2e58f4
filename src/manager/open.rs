//! Opening: directories first, then every log in them, in parallel. Implements manager.md 2.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use arc_swap::ArcSwap;
use parking_lot::{Mutex, RwLock};

use super::cleaning::Cleaning;
use super::delete::Deletions;
use super::dirs::{LogDir, MissingDir, ensure_any_online, open_dirs};
use super::follow::{Access, Following};
use super::planning::{Job, Plan, plan_dir, settle_moves, without_duplicates};
use super::stats::Stats;
use super::tasks::Schedule;
use super::{FailedLog, Manager, ManagerOptions, OpenCounts, Role};
use crate::error::Result;
use crate::io::{OverlayFs, PooledFs, ReadOnlyFs, default_max_open, exists, thread};
use crate::log::{Finding, FindingKind, LoadNotes, Log, LogPlace, Monitor};
use crate::types::TopicPartition;

type Outcome = (Job, Result<(Log, LoadNotes)>);

type Logs = BTreeMap<TopicPartition, Arc<Log>>;

impl Manager {
    /// Opens the directories and every log in them. Files that a crash left are put in order, what was not flushed is
    /// recovered. A log or directory that cannot be opened is reported and left alone; the rest is served. With
    /// [`Access::ReadOnly`] all that is seen by this manager alone.
    pub fn open(mut options: ManagerOptions) -> Result<Self> {
        let max_open = options.config.broker.max_open_files;
        let max_open = max_open.map_or_else(default_max_open, |files| files as usize);
        options.fs = Arc::new(PooledFs::new(options.fs, max_open));
        let is_owner = options.access == Access::Own;
        if !is_owner {
            options.fs = Arc::new(ReadOnlyFs::new(options.fs));
            options.missing_dir = MissingDir::Refuse;
        }
        let files = Arc::clone(&options.fs);
        if !is_owner {
            // What opening changes in the directories is seen by opening alone.
            options.fs = Arc::new(OverlayFs::new(Arc::clone(&files)));
        }
        let mut report = config_findings(&options);
        let monitor = Arc::new(Monitor::new(Arc::clone(&options.clock)));
        let opening = options.progress.take().unwrap_or_default();
        let mut dirs = open_dirs(&options, &monitor, &mut report)?;
        opening.begin(dirs.iter().map(|dir| dir.path.clone()));
        let mut jobs = Vec::new();
        let mut deletions = Deletions::default();
        let mut failed = Vec::new();
        let plan = Plan {
            opening: &opening,
            spare_threads: Arc::default(),
        };
        for (index, dir) in dirs
            .iter_mut()
            .enumerate()
            .filter(|(_, dir)| dir.is_online())
        {
            match plan_dir(&options, &plan, index, dir, &mut deletions, &mut report) {
                Ok(planned) => jobs.extend(planned),
                Err(e) => dir.fail(e, &mut report),
            }
        }
        ensure_any_online(&dirs)?;
        jobs = settle_moves(&options, &mut dirs, jobs, &mut deletions, &mut report);
        ensure_any_online(&dirs)?;
        if !is_owner {
            // Copies on their way are for their owner.
            jobs.retain(|job| job.role == Role::Current);
        }
        options.fs = files;
        jobs = without_duplicates(jobs, &mut failed, &mut report);
        let threads = options
            .recovery_threads
            .unwrap_or(options.config.broker.num_recovery_threads_per_data_dir as usize);
        let outcomes = load_all(&options, &plan, jobs, threads.max(1) * dirs.len());
        opening.end();
        let (logs, futures, counts) = sort_out(outcomes, &dirs, &mut failed, &mut report);
        if !is_owner {
            // One that its owner deleted meanwhile is none.
            failed.retain(|log| exists(&*options.fs, &log.dir).unwrap_or(true));
        }
        let mut says_too_much = Vec::new();
        for dir in &mut dirs {
            let unserved: Vec<_> = failed
                .iter()
                .filter(|f| f.dir.parent() == Some(dir.path.as_path()))
                .map(|f| f.partition.clone())
                .collect();
            says_too_much.push(
                logs.values().chain(futures.values()).any(|log| {
                    dir.holds(log) && dir.checkpoints.says_too_much(log, options.high_watermarks)
                }) || speaks_of_others(dir, [&logs, &futures], &unserved),
            );
            dir.checkpoints.keep_only(&unserved);
        }
        let schedule = Schedule::new(&options.config.broker, options.clock.now());
        report.sort_by(|a, b| (&a.dir, &a.partition).cmp(&(&b.dir, &b.partition)));
        let cleaning = Cleaning::new(&options.config.broker, &options.clock);
        let opened = Self {
            following: (!is_owner).then(|| Following::new(&dirs)),
            fs: options.fs,
            clock: options.clock,
            config: ArcSwap::new(options.config),
            reconfiguring: Mutex::default(),
            recovery_threads: options.recovery_threads,
            broker_epoch: options.broker_epoch,
            high_watermarks: options.high_watermarks,
            dirs,
            given_dirs: options.dirs,
            logs: RwLock::new(logs),
            futures: RwLock::new(futures),
            failed: RwLock::new(failed),
            retrying: Mutex::default(),
            moving: Mutex::default(),
            swapping: RwLock::default(),
            report,
            counts,
            closed: AtomicBool::new(false),
            made: Mutex::default(),
            deletions: Mutex::new(deletions),
            schedule: Mutex::new(schedule),
            cleaning,
            stats: Stats::new(monitor, opening.own()),
        };
        if is_owner {
            opened.lower_checkpoints(&says_too_much)?;
        }
        Ok(opened)
    }

    /// Writes the checkpoints of the directories whose files vouch for more than was found, before anything is appended, or
    /// made, that they would vouch for then.
    fn lower_checkpoints(&self, says_too_much: &[bool]) -> Result<()> {
        let logs = self.logs();
        let dirs = self.dirs.iter().zip(says_too_much);
        for (dir, _) in dirs.filter(|(dir, says_too_much)| **says_too_much && dir.is_online()) {
            let here: Vec<_> = logs.iter().filter(|log| dir.holds(log)).collect();
            self.write_checkpoints(dir, &here)?;
        }
        Ok(())
    }
}

/// Whether the checkpoints of a directory speak of a partition that is not in it: a power cut took a log that was new, or came
/// in the middle of a deletion. A log that gets the name must not be taken for that one.
fn speaks_of_others(dir: &LogDir, loaded: [&Logs; 2], unserved: &[TopicPartition]) -> bool {
    let is_loaded = |partition: &TopicPartition| {
        let logs = loaded.iter().filter_map(|logs| logs.get(partition));
        logs.into_iter().any(|log| dir.holds(log))
    };
    let mut all = dir.checkpoints.partitions();
    all.any(|partition| !is_loaded(partition) && !unserved.contains(partition))
}

/// The logs that were loaded; what became of the others, and what was found, is added to the lists.
fn sort_out(
    outcomes: Vec<Outcome>,
    dirs: &[LogDir],
    failed: &mut Vec<FailedLog>,
    report: &mut Vec<Finding>,
) -> (Logs, Logs, OpenCounts) {
    let (mut logs, mut futures) = (Logs::new(), Logs::new());
    let mut counts = OpenCounts::default();
    for (job, outcome) in outcomes {
        let dir = dirs
            .get(job.dir)
            .map(|d| d.path.clone())
            .unwrap_or_default();
        let finding = |kind, status, text| Finding {
            kind,
            dir: dir.clone(),
            partition: Some(job.partition.clone()),
            status,
            text,
        };
        match outcome {
            Ok((log, notes)) => {
                counts.segments_recovered += notes.segments_recovered;
                counts.bytes_truncated += notes.bytes_truncated;
                counts.indexes_rebuilt += notes.indexes_rebuilt;
                report.extend(
                    notes
                        .notes
                        .into_iter()
                        .map(|(kind, text)| finding(kind, None, text)),
                );
                let of_its_kind = match job.role {
                    Role::Current => &mut logs,
                    Role::Future => &mut futures,
                };
                of_its_kind.insert(job.partition.clone(), Arc::new(log));
            }
            Err(error) => {
                let error = error.in_partition(job.partition.partition);
                report.push(finding(
                    FindingKind::Failed,
                    Some(error.kind()),
                    error.message().to_owned(),
                ));
                failed.push(FailedLog {
                    partition: job.partition.clone(),
                    role: job.role,
                    dir: job.path.clone(),
                    error,
                });
            }
        }
    }
    (logs, futures, counts)
}

/// Loads all logs, by several threads if there are several logs. The outcomes, in no order.
fn load_all(
    options: &ManagerOptions,
    plan: &Plan<'_>,
    jobs: Vec<Job>,
    threads: usize,
) -> Vec<Outcome> {
    let spare = &plan.spare_threads;
    let run = |job: Job| {
        let place = LogPlace {
            partition: job.partition.clone(),
            dir: job.path.clone(),
            fs: Arc::clone(&options.fs),
            clock: Arc::clone(&options.clock),
            health: Arc::clone(&job.health),
        };
        let outcome = match options.access {
            Access::Own => Log::open(place, &job.options),
            Access::ReadOnly => Log::follow(place, &job.options),
        };
        (job, outcome)
    };
    let all_threads = threads;
    let threads = threads.min(jobs.len());
    // Those that have no log of their own help with the segments of others, and so do those that are done.
    spare.add(all_threads - threads);
    if threads <= 1 {
        return jobs.into_iter().map(run).collect();
    }
    let queue: Vec<Mutex<Option<Job>>> =
        jobs.into_iter().map(|job| Mutex::new(Some(job))).collect();
    let next = AtomicUsize::new(0);
    let outcomes = Mutex::new(Vec::with_capacity(queue.len()));
    std::thread::scope(|scope| {
        for n in 0..threads {
            let worker = thread::builder(format!("klog-recovery-{n}"));
            let work = || {
                while let Some(slot) = queue.get(next.fetch_add(1, Ordering::SeqCst)) {
                    if let Some(job) = slot.lock().take() {
                        let outcome = run(job);
                        outcomes.lock().push(outcome);
                    }
                }
                spare.add(1);
            };
            let spawned = thread::with_signals_blocked(|| worker.spawn_scoped(scope, work));
            // Whatever threads there are do the work; this one helps if there are none.
            if spawned.is_err() {
                break;
            }
        }
    });
    let mut outcomes = outcomes.into_inner();
    outcomes.extend(queue.into_iter().filter_map(Mutex::into_inner).map(run));
    outcomes
}

/// What is worth telling of the configuration.
fn config_findings(options: &ManagerOptions) -> Vec<Finding> {
    let of = |warning: &crate::config::ConfigWarning| Finding {
        kind: FindingKind::Config,
        dir: PathBuf::new(),
        partition: None,
        status: None,
        text: warning.to_string(),
    };
    options.config.warnings.iter().map(of).collect()
}
