//! Whether a log directory still works. An I/O error that may have lost data takes the whole directory offline, and it
//! stays so until it is opened again (manager.md 11, design.md 5.6).

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use parking_lot::{Mutex, RwLock};

use super::events::{Event, EventKind};
use super::monitor::Monitor;
use super::waits::WaitList;
use crate::error::{Error, ErrorKind, Result};
use crate::io::FileSystem;

/// The state of one log directory, shared by everything that lives in it.
#[derive(Debug)]
pub struct DirHealth {
    path: PathBuf,
    failure: RwLock<Option<Error>>,
    /// Where it, and the logs in it, tell what happens.
    monitor: Arc<Monitor>,
    /// Who waits for logs in it.
    waits: Mutex<Vec<Weak<WaitList>>>,
    names: NewNames,
}

/// The place of a log's name among those that were made in its directory and were not synced at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewName(u64);

/// Names that were made in a directory since it was opened, and how many of them are durable.
#[derive(Debug, Default)]
struct NewNames {
    made: AtomicU64,
    durable: Mutex<u64>,
}

impl DirHealth {
    /// A directory that works, and that nobody listens to.
    #[must_use]
    pub fn new(path: PathBuf) -> Self {
        Self::watched(path, Arc::default())
    }

    /// A directory that works, and tells what happens.
    pub(crate) fn watched(path: PathBuf, monitor: Arc<Monitor>) -> Self {
        Self {
            path,
            failure: RwLock::new(None),
            monitor,
            waits: Mutex::default(),
            names: NewNames::default(),
        }
    }

    /// Notes that a name was made in the directory, to be made durable by [`Self::sync_name`].
    #[must_use]
    pub(crate) fn name_made(&self) -> NewName {
        NewName(self.names.made.fetch_add(1, Ordering::SeqCst) + 1)
    }

    /// Makes a name durable, and all that were made before: one sync does for the logs that were made together.
    pub(crate) fn sync_name(&self, fs: &dyn FileSystem, name: NewName) -> Result<()> {
        let mut durable = self.names.durable.lock();
        if *durable >= name.0 {
            return Ok(());
        }
        // One that failed is not tried again: the next would find nothing wrong, and the names might be lost.
        self.check()?;
        // Before the sync: what is made during it may miss it.
        let made = self.names.made.load(Ordering::SeqCst);
        fs.sync_dir(&self.path).map_err(|e| self.judge(e))?;
        *durable = made;
        Ok(())
    }

    /// Where it tells what happens.
    pub(crate) fn monitor(&self) -> &Monitor {
        &self.monitor
    }

    /// The directory.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The failure that took it offline.
    #[must_use]
    pub fn failure(&self) -> Option<Error> {
        self.failure.read().clone()
    }

    /// DIR_OFFLINE if it does not work any more.
    pub fn check(&self) -> Result<()> {
        match &*self.failure.read() {
            None => Ok(()),
            Some(failure) => Err(Error::new(
                ErrorKind::DirOffline,
                format!(
                    "the log directory {} is offline since an earlier failure ({failure}); close and reopen the manager",
                    self.path.display()
                ),
            )
            .in_file(&self.path)
            .taking_dir_offline()),
        }
    }

    /// Takes the directory offline for this failure and gives it back, marked. The first failure is remembered.
    #[must_use]
    pub fn fail(&self, error: Error) -> Error {
        let is_first = {
            let mut failure = self.failure.write();
            let is_first = failure.is_none();
            if is_first {
                *failure = Some(error.clone());
            }
            is_first
        };
        if is_first {
            self.monitor.events().publish_standing(Event {
                dir: Some(self.path.clone()),
                ..Event::new(EventKind::DirOffline, self.monitor.now()).with_error(&error)
            });
            // After the failure is known: those that are woken look at it.
            let waits = std::mem::take(&mut *self.waits.lock());
            for list in waits.iter().filter_map(Weak::upgrade) {
                list.wake_all();
            }
        }
        error.taking_dir_offline()
    }

    /// Lets those that wait for a log be woken when the directory goes out of use. Who waits looks after this.
    pub(super) fn tell_when_offline(&self, list: Weak<WaitList>) {
        let mut waits = self.waits.lock();
        // Lists of logs that are gone: so few stay that it costs little.
        if waits.len() == waits.capacity() {
            waits.retain(|list| list.strong_count() > 0);
        }
        waits.push(list);
    }

    /// As [`Self::fail`] for failures that may have lost data: I/O errors, and any failed sync. A full disk and a lack of
    /// descriptors lose nothing: they are for the one call only (deviations.md D19, D37).
    #[must_use]
    pub fn judge(&self, error: Error) -> Error {
        if error.kind() == ErrorKind::KafkaStorage && error.is_io() {
            self.fail(error)
        } else {
            error
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::events::EventListener;
    use super::*;

    #[derive(Debug, Default)]
    struct Heard(Mutex<Vec<Arc<Event>>>);

    impl EventListener for Heard {
        fn wanted(&self) -> u64 {
            EventKind::DirOffline.bit()
        }

        fn hear(&self, event: &Arc<Event>) {
            self.0.lock().push(Arc::clone(event));
        }

        fn end(&self) {}
    }

    /// The second may have waited while the first failed: the system tells a failure once.
    #[test]
    fn names_whose_sync_failed_are_not_synced_again() {
        use crate::io::SimFs;
        use crate::io::sim::{Fault, OpKind};
        let fs = SimFs::new();
        let dir = Path::new("/d");
        fs.create_dir(dir).unwrap();
        let health = DirHealth::new(dir.to_path_buf());
        let (first, second) = (health.name_made(), health.name_made());
        // Without a descriptor nothing was synced, and nothing failed.
        fs.inject(Fault::once(OpKind::SyncDir, "/d", libc::EMFILE));
        let refused = health.sync_name(&fs, first).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::NoFiles);
        fs.inject(Fault::once(OpKind::SyncDir, "/d", libc::EIO));
        assert!(health.sync_name(&fs, first).unwrap_err().took_dir_offline());
        let syncs = fs.counts().dir_syncs;
        let refused = health.sync_name(&fs, second).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::DirOffline);
        assert_eq!(fs.counts().dir_syncs, syncs);
    }

    /// Several threads may fail in one directory at the same time.
    #[test]
    fn the_first_failure_is_remembered_and_told_and_no_other() {
        let health = DirHealth::new(PathBuf::from("/d"));
        let heard = Arc::new(Heard::default());
        let listener = Arc::clone(&heard) as Arc<dyn EventListener>;
        let events = health.monitor().events();
        events.listen(&listener, std::iter::empty());
        for text in ["first", "second"] {
            let failed = health.fail(Error::new(ErrorKind::KafkaStorage, text));
            assert!(failed.took_dir_offline());
        }
        assert_eq!(health.failure().unwrap().message(), "first");
        let heard = heard.0.lock();
        assert_eq!(heard.len(), 1, "{heard:?}");
        assert_eq!(
            (heard[0].dir.as_deref(), &*heard[0].text),
            (Some(Path::new("/d")), "first")
        );
    }
}
