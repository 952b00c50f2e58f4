//! What an opening is to load: the logs that each directory holds, moves that a crash interrupted, partitions that are there
//! twice. Implements manager.md 2.3, 2.6, 2.8, 9.5, 10.7.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::checkpoints::Checkpoints;
use super::delete::Deletions;
use super::dirs::LogDir;
use super::loading::load_options;
use super::move_intent::MoveIntent;
use super::progress::{DirProgress, LogProgress};
use super::{FailedLog, HighWatermarks, ManagerOptions, OpenProgress, Role, health_of};
use crate::error::{Error, ErrorKind, Result};
use crate::format::marker;
use crate::format::names::{DirKind, classify_dir};
use crate::io::{EntryKind, FileSystem, OpenMode, SMALL_FILE_BYTES_MAX, exists, read_parsed};
use crate::log::{DirHealth, Finding, FindingKind, LoadOptions, Shutdown, SpareThreads};
use crate::types::TopicPartition;

/// A log to be loaded.
pub(super) struct Job {
    pub(super) dir: usize,
    pub(super) path: PathBuf,
    pub(super) partition: TopicPartition,
    pub(super) role: Role,
    pub(super) health: Arc<DirHealth>,
    pub(super) options: LoadOptions,
}

/// What all of an opening shares.
pub(super) struct Plan<'a> {
    pub(super) opening: &'a OpenProgress,
    pub(super) spare_threads: Arc<SpareThreads>,
}

/// Reads what a directory says about its logs, takes its clean-shutdown marker, and lists what is to be loaded.
pub(super) fn plan_dir(
    options: &ManagerOptions,
    plan: &Plan<'_>,
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
    // What it says is not read; one that is out of all size is put back empty.
    let content = read_parsed(fs, &marker, SMALL_FILE_BYTES_MAX, |content| {
        Ok(content.to_vec())
    })?
    .and_then(Result::ok)
    .unwrap_or_default();
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
pub(super) fn settle_moves(
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
pub(super) fn without_duplicates(
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
