//! Opening: directories first, then every log in them, in parallel. Implements manager.md 2.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use arc_swap::ArcSwap;
use parking_lot::{Mutex, RwLock};

use super::checkpoints::Checkpoints;
use super::delete::Deletions;
use super::dirs::{LogDir, ensure_any_online, open_dirs};
use super::loading::load_options;
use super::move_intent::MoveIntent;
use super::progress::{DirProgress, LogProgress};
use super::stats::Stats;
use super::tasks::Schedule;
use super::{
    FailedLog, HighWatermarks, Manager, ManagerOptions, OpenCounts, OpenProgress, Role, health_of,
};
use crate::error::{Error, ErrorKind, Result};
use crate::format::marker;
use crate::format::names::{DirKind, classify_dir};
use crate::io::{EntryKind, FileSystem, OpenMode, PooledFs, default_max_open, exists, read_file};
use crate::log::{
    DirHealth, Finding, FindingKind, LoadNotes, LoadOptions, Log, LogPlace, Monitor, Shutdown,
    SpareThreads,
};
use crate::types::TopicPartition;

/// A log to be loaded.
struct Job {
    dir: usize,
    path: PathBuf,
    partition: TopicPartition,
    role: Role,
    health: Arc<DirHealth>,
    options: LoadOptions,
}

/// What all of an opening shares.
struct Plan<'a> {
    options: &'a ManagerOptions,
    opening: &'a OpenProgress,
    spare_threads: Arc<SpareThreads>,
}

type Outcome = (Job, Result<(Log, LoadNotes)>);

type Logs = BTreeMap<TopicPartition, Arc<Log>>;

impl Manager {
    /// Opens the directories and every log in them. Files that a crash left are put in order, what was not flushed is
    /// recovered. A log or directory that cannot be opened is reported and left alone; the rest is served.
    pub fn open(mut options: ManagerOptions) -> Result<Self> {
        let max_open = options.config.broker.max_open_files;
        let max_open = max_open.map_or_else(default_max_open, |files| files as usize);
        options.fs = Arc::new(PooledFs::new(options.fs, max_open));
        let mut report = Vec::new();
        for warning in &options.config.warnings {
            report.push(Finding {
                kind: FindingKind::Config,
                dir: PathBuf::new(),
                partition: None,
                status: None,
                text: warning.to_string(),
            });
        }
        let monitor = Arc::new(Monitor::new(Arc::clone(&options.clock)));
        let opening = options.progress.take().unwrap_or_default();
        let mut dirs = open_dirs(&options, &monitor, &mut report)?;
        opening.begin(dirs.iter().map(|dir| dir.path.clone()));
        let mut jobs = Vec::new();
        let mut deletions = Deletions::default();
        let mut failed = Vec::new();
        let plan = Plan {
            options: &options,
            opening: &opening,
            spare_threads: Arc::default(),
        };
        for (index, dir) in dirs
            .iter_mut()
            .enumerate()
            .filter(|(_, dir)| dir.is_online())
        {
            match plan_dir(&plan, index, dir, &mut deletions, &mut report) {
                Ok(planned) => jobs.extend(planned),
                Err(e) => dir.fail(e, &mut report),
            }
        }
        ensure_any_online(&dirs)?;
        jobs = settle_moves(&options, &mut dirs, jobs, &mut deletions, &mut report);
        ensure_any_online(&dirs)?;
        jobs = without_duplicates(jobs, &mut failed, &mut report);
        let threads = options
            .recovery_threads
            .unwrap_or(options.config.broker.num_recovery_threads_per_data_dir as usize);
        let outcomes = load_all(&plan, jobs, threads.max(1) * dirs.len());
        opening.end();
        let (logs, futures, counts) = sort_out(outcomes, &dirs, &mut failed, &mut report);
        let mut says_too_much = Vec::new();
        for dir in &mut dirs {
            let unserved: Vec<_> = failed
                .iter()
                .filter(|f| f.dir.parent() == Some(dir.path.as_path()))
                .map(|f| f.partition.clone())
                .collect();
            says_too_much.push(logs.values().chain(futures.values()).any(|log| {
                dir.holds(log) && dir.checkpoints.says_too_much(log, options.high_watermarks)
            }));
            dir.checkpoints.keep_only(&unserved);
        }
        let schedule = Schedule::new(&options.config.broker, options.clock.now());
        report.sort_by(|a, b| (&a.dir, &a.partition).cmp(&(&b.dir, &b.partition)));
        let opened = Self {
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
            stats: Stats::new(monitor, opening.own()),
        };
        opened.lower_checkpoints(&says_too_much)?;
        Ok(opened)
    }

    /// Writes the checkpoints of the directories whose files vouch for more than was found, before anything is appended that
    /// they would vouch for then.
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

/// Reads what a directory says about its logs, takes its clean-shutdown marker, and lists what is to be loaded.
fn plan_dir(
    plan: &Plan<'_>,
    index: usize,
    dir: &mut LogDir,
    deletions: &mut Deletions,
    report: &mut Vec<Finding>,
) -> Result<Vec<Job>> {
    let options = plan.options;
    let fs = &*options.fs;
    let mut note = |kind, text| {
        report.push(Finding {
            kind,
            dir: dir.path.clone(),
            partition: None,
            status: None,
            text,
        });
    };
    let (checkpoints, unreadable) = Checkpoints::read(fs, &dir.path)?;
    for file in unreadable {
        note(
            FindingKind::Repaired,
            format!("counted as empty and to be rewritten: {}", file.problem),
        );
    }
    let mut found = Vec::new();
    for entry in fs
        .list(&dir.path)?
        .into_iter()
        .filter(|e| e.kind == EntryKind::Dir)
    {
        match classify_dir(&entry.name) {
            DirKind::Log(partition) => {
                found.push((dir.path.join(&entry.name), partition, Role::Current));
            }
            DirKind::Future(partition) => {
                found.push((dir.path.join(&entry.name), partition, Role::Future));
            }
            DirKind::Unknown => {
                note(
                    FindingKind::Ignored,
                    format!(
                        "left {} alone: no directory of Kafka's",
                        entry.name.display()
                    ),
                );
            }
            DirKind::Delete => {
                deletions.push(dir.path.join(&entry.name), options.clock.now(), dir);
            }
            DirKind::Stray | DirKind::ClusterMetadata | DirKind::Other => {}
        }
    }
    found.sort();
    // The marker goes before anything is written: a power cut in what follows must not find it (manager.md 2.3).
    let marker = dir.path.join(marker::FILE);
    dir.was_clean = exists(fs, &marker)?;
    let content = read_file(fs, &marker)?.unwrap_or_default();
    if dir.was_clean {
        fs.remove_file(&marker)?;
    }
    // Without a marker too: an owner that was killed may have removed it, or made logs, and not got as far as this.
    if let Err(e) = fs.sync_dir(&dir.path) {
        if dir.was_clean {
            // Nothing was changed yet: what the marker said is still true (manager.md 10.7).
            let _ = put_back(fs, &marker, &content);
        }
        return Err(e);
    }
    let shutdown = if dir.was_clean {
        Shutdown::Clean
    } else {
        Shutdown::Unclean
    };
    let progress = Arc::new(DirProgress::new(&options.fs, &dir.path, &checkpoints));
    let counters = plan.opening.plan(index, found.len());
    let jobs = found.into_iter().map(|(path, partition, role)| Job {
        dir: index,
        path,
        role,
        health: health_of(dir),
        options: LoadOptions {
            shutdown,
            progress: Some(Arc::new(LogProgress {
                dir: Arc::clone(&progress),
                partition: partition.clone(),
                counters: counters.log(&partition),
            })),
            spare_threads: Arc::clone(&plan.spare_threads),
            ..load_options(
                &options.config,
                &checkpoints,
                &partition,
                match role {
                    Role::Current => options.high_watermarks,
                    // A copy has what its log has; nobody reads it.
                    Role::Future => HighWatermarks::FollowEnd,
                },
            )
        },
        partition,
    });
    let jobs = jobs.collect();
    dir.checkpoints = checkpoints;
    Ok(jobs)
}

fn put_back(fs: &dyn FileSystem, marker: &Path, content: &[u8]) -> Result<()> {
    let file = fs.open(marker, OpenMode::Truncate)?;
    file.write_at(content, 0)?;
    file.sync()
}

/// Ends moves that were interrupted where both directories have the log: the old one is on its way out then.
fn settle_moves(
    options: &ManagerOptions,
    dirs: &mut [LogDir],
    mut jobs: Vec<Job>,
    deletions: &mut Deletions,
    report: &mut Vec<Finding>,
) -> Vec<Job> {
    for (index, dir) in dirs
        .iter_mut()
        .enumerate()
        .filter(|(_, dir)| dir.is_online())
    {
        let settled = settle_moves_from(options, dir, &mut jobs, deletions, report);
        if let Err(e) = settled {
            jobs.retain(|job| job.dir != index);
            dir.fail(e, report);
        }
    }
    jobs
}

fn settle_moves_from(
    options: &ManagerOptions,
    dir: &LogDir,
    jobs: &mut Vec<Job>,
    deletions: &mut Deletions,
    report: &mut Vec<Finding>,
) -> Result<()> {
    let fs = &*options.fs;
    for intent in MoveIntent::find_all(fs, &dir.path)? {
        let log_in = |path: &Path| {
            jobs.iter()
                .find(|job| job.path == path && job.role == Role::Current)
        };
        if let (Some(old), Some(_)) = (log_in(&intent.from), log_in(&intent.to)) {
            report.push(Finding {
                kind: FindingKind::Repaired,
                dir: dir.path.clone(),
                partition: Some(old.partition.clone()),
                status: None,
                text: format!(
                    "its move to {} was interrupted, and is done now",
                    intent.to.display()
                ),
            });
            let removed = intent.put_away(fs, &old.partition)?;
            deletions.push(removed, options.clock.now(), dir);
            jobs.retain(|job| job.path != intent.from);
        }
        intent.clear(fs)?;
    }
    Ok(())
}

/// Takes out partitions that were found twice: neither copy is served or changed (deviations.md D58).
fn without_duplicates(
    jobs: Vec<Job>,
    failed: &mut Vec<FailedLog>,
    report: &mut Vec<Finding>,
) -> Vec<Job> {
    let mut by_partition: BTreeMap<(TopicPartition, Role), Vec<Job>> = BTreeMap::new();
    for job in jobs {
        by_partition
            .entry((job.partition.clone(), job.role))
            .or_default()
            .push(job);
    }
    let mut unique = Vec::new();
    for ((partition, role), mut found) in by_partition {
        if found.len() == 1 {
            unique.append(&mut found);
            continue;
        }
        let paths: Vec<String> = found
            .iter()
            .map(|job| job.path.display().to_string())
            .collect();
        let error = Error::new(
            ErrorKind::DuplicateLog,
            format!(
                "{partition} was found in {}; neither is used, remove one of them",
                paths.join(" and ")
            ),
        )
        .in_partition(partition.partition);
        for job in found {
            let dir = job
                .path
                .parent()
                .map(std::path::Path::to_path_buf)
                .unwrap_or_default();
            report.push(Finding {
                kind: FindingKind::Failed,
                dir,
                partition: Some(partition.clone()),
                status: Some(ErrorKind::DuplicateLog),
                text: error.message().to_owned(),
            });
            failed.push(FailedLog {
                partition: partition.clone(),
                role,
                dir: job.path,
                error: error.clone(),
            });
        }
    }
    unique
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
fn load_all(plan: &Plan<'_>, jobs: Vec<Job>, threads: usize) -> Vec<Outcome> {
    let (options, spare) = (plan.options, &plan.spare_threads);
    let run = |job: Job| {
        let place = LogPlace {
            partition: job.partition.clone(),
            dir: job.path.clone(),
            fs: Arc::clone(&options.fs),
            clock: Arc::clone(&options.clock),
            health: Arc::clone(&job.health),
        };
        let outcome = Log::open(place, &job.options);
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
            let worker = std::thread::Builder::new().name(format!("klog-recovery-{n}"));
            let spawned = worker.spawn_scoped(scope, || {
                while let Some(slot) = queue.get(next.fetch_add(1, Ordering::SeqCst)) {
                    if let Some(job) = slot.lock().take() {
                        let outcome = run(job);
                        outcomes.lock().push(outcome);
                    }
                }
                spare.add(1);
            });
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
