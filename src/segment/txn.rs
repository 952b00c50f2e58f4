//! The transaction index of a segment: a file that exists only if a transaction was aborted. Implements records.md 8.2-8.5.

use std::sync::Arc;

use super::Segment;
use crate::error::{Error, ErrorKind, Result};
use crate::format::names::SegmentFileKind;
use crate::format::txn_index::{self, AbortedTxn, ENTRY_BYTES};
use crate::io::{OpenMode, open_bounded};
use crate::types::{Offset, to_usize};

/// So much of an index is read however small its segment is: one that is made before its log.
const FEW_BYTES: u64 = 1 << 20;
/// How much is read at a time; a multiple of the size of an entry.
const PIECE_BYTES: usize = 4096 * ENTRY_BYTES;

impl Segment {
    /// The transactions whose abort markers lie in this segment. The file is read when they are first asked for.
    pub fn aborted_txns(&self) -> Result<Arc<Vec<AbortedTxn>>> {
        let mut known = self.aborted.lock();
        if let Some(entries) = &*known {
            return Ok(Arc::clone(entries));
        }
        let entries = Arc::new(self.read_aborted()?);
        *known = Some(Arc::clone(&entries));
        Ok(entries)
    }

    fn read_aborted(&self) -> Result<Vec<AbortedTxn>> {
        let path = self.path(SegmentFileKind::TxnIndex);
        // Each entry stands for a marker in the segment, which is larger.
        let bytes_max = self.size_bytes().max(FEW_BYTES);
        // Whoever loads a segment makes a corrupt index anew.
        let corrupt = |e: Error| Error::new(ErrorKind::CorruptIndex, e.to_string()).in_file(&path);
        let (file, len) = match open_bounded(&*self.fs, &path, bytes_max)? {
            None => return Ok(Vec::new()),
            Some(opened) => opened.map_err(corrupt)?,
        };
        let mut entries = Vec::new();
        let mut piece = vec![0; to_usize(len).min(PIECE_BYTES)];
        let mut at = 0;
        while at < len {
            let read = file.read_at(&mut piece, at)?;
            let whole = piece.get(..read - read % ENTRY_BYTES).unwrap_or_default();
            if whole.is_empty() {
                break;
            }
            at += whole.len() as u64;
            txn_index::parse_more(&mut entries, whole).map_err(corrupt)?;
        }
        Ok(entries)
    }

    /// Whether each entry can belong to this segment (records.md 8.4); CORRUPT_INDEX if not.
    pub(super) fn check_txn_index(&self) -> Result<()> {
        match self
            .aborted_txns()?
            .iter()
            .find(|txn| txn.last_offset < self.base_offset)
        {
            None => Ok(()),
            Some(txn) => Err(Error::new(
                ErrorKind::CorruptIndex,
                format!(
                    "the transaction index of segment {} has a marker at offset {}",
                    self.base_offset, txn.last_offset
                ),
            )
            .in_file(&self.path(SegmentFileKind::TxnIndex))),
        }
    }

    /// Adds an entry; the file is created by the first.
    pub fn append_aborted(&self, txn: &AbortedTxn) -> Result<()> {
        self.append_all_aborted(std::slice::from_ref(txn))
    }

    /// Adds entries, in their order; the file is created by the first.
    pub fn append_all_aborted(&self, txns: &[AbortedTxn]) -> Result<()> {
        if txns.is_empty() {
            return Ok(());
        }
        // Held over the write: nobody reads half an entry, or keeps what was read before it.
        let mut known = self.aborted.lock();
        *known = None;
        let file = self
            .fs
            .open(&self.path(SegmentFileKind::TxnIndex), OpenMode::Create)?;
        let whole = file.len()? / ENTRY_BYTES as u64;
        let bytes: Vec<u8> = txns.iter().flat_map(AbortedTxn::encode).collect();
        file.write_at(&bytes, whole * ENTRY_BYTES as u64)
    }

    /// How many entries have markers below `target`; they are the first ones.
    pub(super) fn aborted_below(&self, target: Offset) -> Result<usize> {
        let entries = self.aborted_txns()?;
        Ok(entries
            .iter()
            .position(|txn| txn.last_offset >= target)
            .unwrap_or(entries.len()))
    }

    /// Keeps the first `count` entries of the index, if there is one, and makes that durable.
    pub fn keep_aborted(&self, count: usize) -> Result<()> {
        let bytes = (count * ENTRY_BYTES) as u64;
        let mut known = self.aborted.lock();
        *known = None;
        match self
            .fs
            .open(&self.path(SegmentFileKind::TxnIndex), OpenMode::ReadWrite)
        {
            Ok(file) if file.len()? > bytes => {
                file.set_len(bytes)?;
                file.sync()
            }
            Ok(_) => Ok(()),
            Err(e) if e.is_not_found() => Ok(()),
            Err(e) => Err(e),
        }
    }

    /// Empties the index before it is made anew. Kafka leaves an empty file where there was one.
    pub(super) fn reset_txn_index(&self) -> Result<()> {
        *self.aborted.lock() = None;
        match self
            .fs
            .open(&self.path(SegmentFileKind::TxnIndex), OpenMode::ReadWrite)
        {
            Ok(file) => file.set_len(0),
            Err(e) if e.is_not_found() => Ok(()),
            Err(e) => Err(e),
        }
    }
}
