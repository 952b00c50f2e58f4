//! Bytes of a file as memory, for reading only.
//!
//! A mapping is never longer than the file was when it was made. klog never cuts a file below a live mapping; whoever
//! reads a mapping of a file that others may cut checks the length first (hard-cases.md HC42 (b)).

use std::ops::Deref;
use std::sync::Arc;

/// Read-only memory that holds the first bytes of a file.
#[derive(Clone, Debug)]
pub struct Mapping(Inner);

#[derive(Clone, Debug)]
enum Inner {
    Mapped(Arc<memmap2::Mmap>),
    Heap(Arc<[u8]>),
}

impl Mapping {
    /// Memory of the program's own: what file systems without mappings give.
    #[must_use]
    pub fn from_bytes(bytes: Vec<u8>) -> Self {
        Self(Inner::Heap(bytes.into()))
    }

    pub(super) fn from_mmap(map: memmap2::Mmap) -> Self {
        Self(Inner::Mapped(Arc::new(map)))
    }
}

impl Deref for Mapping {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match &self.0 {
            Inner::Mapped(map) => map,
            Inner::Heap(bytes) => bytes,
        }
    }
}
