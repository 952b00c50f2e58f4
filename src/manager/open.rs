//! Opening: directories first, then every log in them, in parallel. Implements manager.md 2.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use parking_lot::{Mutex, RwLock};

use super::checkpoints::Checkpoints;
use super::cleaning::Cleaning;
use super::delete::Deletions;
use super::dirs::{LogDir, ensure_any_online, open_dirs};
use super::progress::{DirProgress, LogProgress};
use super::tasks::Schedule;
use super::{FailedLog, HighWatermarks, Manager, ManagerOptions, OpenCounts, health_of};
use crate::error::{Error, ErrorKind, Result};
use crate::format::marker;
use crate::format::names::{DirKind, classify_dir};
use crate::io::{EntryKind, PooledFs, default_max_open, exists};
use crate::log::{
    DirHealth, Finding, FindingKind, HighWatermark, LoadNotes, LoadOptions, Log, LogPlace, Shutdown,
};
use crate::types::TopicPartition;

/// A log to be loaded.
struct Job {
    dir: usize,
    path: PathBuf,
    partition: TopicPartition,
    health: Arc<DirHealth>,
    options: LoadOptions,
}

type Outcome = (Job, Result<(Log, LoadNotes)>);

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
        let mut dirs = open_dirs(&options, &mut report)?;
        let mut jobs = Vec::new();
        let mut deletions = Deletions::default();
        let mut failed = Vec::new();
        for (index, dir) in dirs
            .iter_mut()
            .enumerate()
            .filter(|(_, dir)| dir.is_online())
        {
            match plan_dir(&options, index, dir, &mut deletions, &mut report) {
                Ok(planned) => jobs.extend(planned),
                Err(e) => dir.fail(e, &mut report),
            }
        }
        ensure_any_online(&dirs)?;
        jobs = without_duplicates(jobs, &mut failed, &mut report);
        let threads = options
            .recovery_threads
            .unwrap_or(options.config.broker.num_recovery_threads_per_data_dir as usize);
        let outcomes = load_all(&options, jobs, threads.max(1) * dirs.len());
        let (logs, counts) = sort_out(outcomes, &dirs, &mut failed, &mut report);
        let mut says_too_much = Vec::new();
        for dir in &mut dirs {
            let unserved: Vec<_> = failed
                .iter()
                .filter(|f| f.dir.parent() == Some(dir.path.as_path()))
                .map(|f| f.partition.clone())
                .collect();
            says_too_much.push(logs.values().any(|log: &Arc<Log>| {
                dir.holds(log) && dir.checkpoints.says_too_much(log, options.high_watermarks)
            }));
            dir.checkpoints.keep_only(&unserved);
        }
        let schedule = Schedule::new(&options.config.broker, options.clock.now());
        report.sort_by(|a, b| (&a.dir, &a.partition).cmp(&(&b.dir, &b.partition)));
        let cleaning = Cleaning::new(&options.config.broker, &options.clock);
        let opened = Self {
            fs: options.fs,
            clock: options.clock,
            config: options.config,
            recovery_threads: threads.max(1),
            broker_epoch: options.broker_epoch,
            high_watermarks: options.high_watermarks,
            dirs,
            logs: RwLock::new(logs),
            failed: RwLock::new(failed),
            retrying: Mutex::default(),
            report,
            counts,
            closed: AtomicBool::new(false),
            made: Mutex::default(),
            deletions: Mutex::new(deletions),
            schedule: Mutex::new(schedule),
            cleaning,
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
    options: &ManagerOptions,
    index: usize,
    dir: &mut LogDir,
    deletions: &mut Deletions,
    report: &mut Vec<Finding>,
) -> Result<Vec<Job>> {
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
            DirKind::Log(partition) => found.push((dir.path.join(&entry.name), partition)),
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
            DirKind::Future(_) | DirKind::Stray | DirKind::ClusterMetadata | DirKind::Other => {}
        }
    }
    found.sort();
    // The marker goes before anything is written: a power cut in what follows must not find it (manager.md 2.3).
    let marker = dir.path.join(marker::FILE);
    dir.was_clean = exists(fs, &marker)?;
    if dir.was_clean {
        fs.remove_file(&marker)?;
    }
    // Without a marker too: an owner that was killed may have removed it, or made logs, and not got as far as this.
    fs.sync_dir(&dir.path)?;
    let shutdown = if dir.was_clean {
        Shutdown::Clean
    } else {
        Shutdown::Unclean
    };
    let progress = Arc::new(DirProgress::new(&options.fs, &dir.path, &checkpoints));
    let jobs = found.into_iter().map(|(path, partition)| Job {
        dir: index,
        path,
        health: health_of(dir),
        options: LoadOptions {
            shutdown,
            recovery_point: checkpoints.recovery_point(&partition),
            log_start: checkpoints.log_start(&partition),
            config: Arc::clone(options.config.log_config(&partition.topic)),
            producer_expiration_ms: options.config.broker.producer_id_expiration_ms,
            high_watermark: match options.high_watermarks {
                HighWatermarks::FollowEnd => HighWatermark::FollowsEnd,
                HighWatermarks::FromCheckpoint => {
                    HighWatermark::SetByCaller(checkpoints.high_watermark(&partition))
                }
            },
            progress: Some(Arc::new(LogProgress {
                dir: Arc::clone(&progress),
                partition: partition.clone(),
            })),
        },
        partition,
    });
    let jobs = jobs.collect();
    dir.checkpoints = checkpoints;
    Ok(jobs)
}

/// Takes out partitions that were found twice: neither copy is served or changed (deviations.md D58).
fn without_duplicates(
    jobs: Vec<Job>,
    failed: &mut Vec<FailedLog>,
    report: &mut Vec<Finding>,
) -> Vec<Job> {
    let mut by_partition: BTreeMap<TopicPartition, Vec<Job>> = BTreeMap::new();
    for job in jobs {
        by_partition
            .entry(job.partition.clone())
            .or_default()
            .push(job);
    }
    let mut unique = Vec::new();
    for (partition, mut found) in by_partition {
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
) -> (BTreeMap<TopicPartition, Arc<Log>>, OpenCounts) {
    let mut logs = BTreeMap::new();
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
                logs.insert(job.partition.clone(), Arc::new(log));
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
                    dir: job.path.clone(),
                    error,
                });
            }
        }
    }
    (logs, counts)
}

/// Loads all logs, by several threads if there are several logs. The outcomes, in no order.
fn load_all(options: &ManagerOptions, jobs: Vec<Job>, threads: usize) -> Vec<Outcome> {
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
    let threads = threads.min(jobs.len());
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
