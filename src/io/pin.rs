//! Bytes of a file that stay as they are while somebody holds them, as memory and as a region of a descriptor.
//!
//! Whoever would cut a file below pinned bytes asks [`File::is_pinned_behind`] first and, if so, puts another file in its
//! place: the pinned one loses its name, not its bytes. Pins count for the whole process, by which file it is, so that a
//! manager that was opened later knows of those of an earlier one. Other processes do not (hard-cases.md HC42 (b)).

use std::collections::BTreeMap;
use std::fmt;
use std::ops::{Deref, Range};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use once_cell::sync::Lazy;
use parking_lot::Mutex;

use super::{File, FileIdentity};
use crate::error::{Error, ErrorKind, Result};
use crate::types::to_usize;

/// How pinned bytes become memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PinMemory {
    /// The pages of the file, where the file system lets them be mapped; else a copy.
    Mapped,
    /// A copy in any case.
    Copied,
}

/// Pinned bytes. They end with this.
pub struct PinnedBytes {
    memory: Memory,
    region: Option<Region>,
}

enum Memory {
    Mapped(memmap2::Mmap),
    Copied(Vec<u8>),
}

/// The same bytes in the file.
struct Region {
    fd: OwnedFd,
    position: u64,
    /// Dropped with the descriptor: as long as that is open nothing else gets the file's number.
    _pin: Pin,
}

impl PinnedBytes {
    /// A copy that was read from a file, which has no descriptor to give.
    #[must_use]
    pub fn copied(bytes: Vec<u8>) -> Self {
        Self {
            memory: Memory::Copied(bytes),
            region: None,
        }
    }

    pub(super) fn mapped(map: memmap2::Mmap, fd: OwnedFd, position: u64, pin: Pin) -> Self {
        Self {
            memory: Memory::Mapped(map),
            region: Some(Region {
                fd,
                position,
                _pin: pin,
            }),
        }
    }

    /// As [`Self::copied`], of a file that has a descriptor.
    pub(super) fn beside_file(bytes: Vec<u8>, fd: OwnedFd, position: u64, pin: Pin) -> Self {
        Self {
            memory: Memory::Copied(bytes),
            region: Some(Region {
                fd,
                position,
                _pin: pin,
            }),
        }
    }

    /// Whether the memory is the file's own pages.
    #[must_use]
    pub fn is_mapped(&self) -> bool {
        matches!(self.memory, Memory::Mapped(_))
    }

    /// A descriptor of the file and where in it the bytes begin; `None` if the file system has no descriptors.
    #[must_use]
    pub fn region(&self) -> Option<(RawFd, u64)> {
        let region = self.region.as_ref()?;
        Some((region.fd.as_raw_fd(), region.position))
    }
}

impl Deref for PinnedBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match &self.memory {
            Memory::Mapped(map) => map,
            Memory::Copied(bytes) => bytes,
        }
    }
}

impl fmt::Debug for PinnedBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PinnedBytes")
            .field("len", &self.len())
            .field("is_mapped", &self.is_mapped())
            .field("region", &self.region())
            .finish()
    }
}

/// Reads a stretch of a file into memory of its own, all of it.
pub(super) fn read_range(file: &(impl File + ?Sized), range: Range<u64>) -> Result<Vec<u8>> {
    let len = to_usize(range.end.saturating_sub(range.start));
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(len).map_err(|_| {
        Error::new(
            ErrorKind::NoMemory,
            format!("no memory for a copy of {len} bytes; ask for fewer"),
        )
    })?;
    bytes.resize(len, 0);
    let read = file.read_at(&mut bytes, range.start)?;
    if read < len {
        return Err(cut_by_another(range.end));
    }
    Ok(bytes)
}

/// A file is shorter than what was published of it.
pub(super) fn cut_by_another(end: u64) -> Error {
    Error::corrupt(format!(
        "the file ends before the position {end}: another process cut it"
    ))
    .at_position(end)
    .as_cut_meanwhile()
}

/// Where the pinned stretches of a file end, with how many end there.
type Ends = BTreeMap<u64, usize>;

static PINS: Lazy<Mutex<BTreeMap<(u64, u64), Ends>>> = Lazy::new(Mutex::default);

fn key(identity: FileIdentity) -> (u64, u64) {
    (identity.device, identity.inode)
}

/// That bytes of a file up to `end` are pinned.
pub(super) struct Pin {
    file: (u64, u64),
    end: u64,
    /// The process that pinned them: a forked child may not take the lock, which a thread may have held that it lacks.
    owner: u32,
}

impl Pin {
    pub(super) fn new(identity: FileIdentity, end: u64) -> Self {
        let file = key(identity);
        *PINS.lock().entry(file).or_default().entry(end).or_default() += 1;
        Self {
            file,
            end,
            owner: std::process::id(),
        }
    }
}

impl Drop for Pin {
    fn drop(&mut self) {
        if std::process::id() != self.owner {
            return;
        }
        let mut pins = PINS.lock();
        let Some(ends) = pins.get_mut(&self.file) else {
            return;
        };
        if let Some(count) = ends.get_mut(&self.end) {
            *count -= 1;
            if *count == 0 {
                ends.remove(&self.end);
            }
        }
        if ends.is_empty() {
            pins.remove(&self.file);
        }
    }
}

/// Whether bytes of a file behind the first `len` are pinned.
pub(super) fn is_pinned_behind(identity: FileIdentity, len: u64) -> bool {
    let pins = PINS.lock();
    pins.get(&key(identity))
        .and_then(|ends| ends.last_key_value())
        .is_some_and(|(end, _)| *end > len)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::{FileSystem, OpenMode, RealFs, UnmappedFs};
    use std::sync::Arc;

    fn content() -> Vec<u8> {
        (0..20_000u32).map(|n| (n % 251) as u8).collect()
    }

    #[test]
    fn pinned_bytes_are_those_of_the_file_as_memory_and_as_a_region() {
        use std::os::unix::fs::FileExt;
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f");
        let systems: [Arc<dyn FileSystem>; 2] = [
            Arc::new(RealFs),
            Arc::new(UnmappedFs::new(Arc::new(RealFs))),
        ];
        for (fs, is_mapped) in systems.into_iter().zip([true, false]) {
            let file = fs.open(&path, OpenMode::Create).unwrap();
            file.write_at(&content(), 0).unwrap();
            let pinned = file.pin(5001..9999, PinMemory::Mapped).unwrap();
            assert_eq!(&*pinned, &content()[5001..9999]);
            assert_eq!(pinned.is_mapped(), is_mapped);
            let (fd, position) = pinned.region().unwrap();
            // SAFETY: the descriptor is open while `pinned` lives, and is not closed here.
            let through = std::mem::ManuallyDrop::new(unsafe {
                <std::fs::File as std::os::fd::FromRawFd>::from_raw_fd(fd)
            });
            let mut bytes = vec![0; 4998];
            through.read_exact_at(&mut bytes, position).unwrap();
            assert_eq!(bytes, content()[5001..9999]);
            let flags = {
                // SAFETY: as above.
                unsafe { libc::fcntl(fd, libc::F_GETFD) }
            };
            assert_ne!(flags & libc::FD_CLOEXEC, 0);
            // The file goes, its bytes stay.
            drop(file);
            fs.remove_file(&path).unwrap();
            assert_eq!(&*pinned, &content()[5001..9999]);
        }
    }

    #[test]
    fn a_file_is_pinned_up_to_the_last_byte_that_somebody_holds() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f");
        let file = RealFs.open(&path, OpenMode::Create).unwrap();
        file.write_at(&content(), 0).unwrap();
        let is_pinned = |len| {
            // Also through another open file of the same name.
            let again = RealFs.open(&path, OpenMode::Read).unwrap();
            let seen = again.is_pinned_behind(len).unwrap();
            assert_eq!(file.is_pinned_behind(len).unwrap(), seen);
            seen
        };
        assert!(!is_pinned(0));
        let low = file.pin(0..100, PinMemory::Mapped).unwrap();
        let high = file.pin(50..300, PinMemory::Copied).unwrap();
        let again = file.pin(60..300, PinMemory::Mapped).unwrap();
        assert!(is_pinned(99) && is_pinned(299) && !is_pinned(300));
        drop(high);
        assert!(is_pinned(299));
        drop(again);
        assert!(is_pinned(99) && !is_pinned(100));
        drop(low);
        assert!(!is_pinned(0));
    }

    #[test]
    fn what_the_file_does_not_have_cannot_be_pinned() {
        let dir = tempfile::tempdir().unwrap();
        let file = RealFs
            .open(&dir.path().join("f"), OpenMode::Create)
            .unwrap();
        file.write_at(b"short", 0).unwrap();
        for memory in [PinMemory::Mapped, PinMemory::Copied] {
            let error = file.pin(2..6, memory).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::CorruptMessage);
            assert!(!file.is_pinned_behind(0).unwrap());
        }
        assert!(file.pin(5..5, PinMemory::Mapped).unwrap().is_empty());
    }
}
