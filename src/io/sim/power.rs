//! What a power cut leaves of what was not synced.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::sync::Arc;

use super::disk::{Disk, FileChange, Ino, Node, apply_names};

/// Disks write whole sectors; a torn write stores some of them.
const SECTOR_BYTES: usize = 512;

/// How one power cut treats unsynced changes. Each seed draws one, so that the plain cases come often.
#[derive(Clone, Copy)]
enum Fate {
    Keep,
    Drop,
    /// The first changes survive, the later ones do not.
    Prefix,
    /// Each change survives or not for itself; a write may survive in part.
    Torn,
}

/// A small generator (splitmix64): a seed must give the same cut on every machine and in every version.
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        let bound = u64::try_from(bound.max(1)).unwrap_or(1);
        usize::try_from(self.next() % bound).unwrap_or(0)
    }

    fn fate(&mut self) -> Fate {
        match self.below(8) {
            0 => Fate::Keep,
            1 => Fate::Drop,
            2 | 3 => Fate::Prefix,
            _ => Fate::Torn,
        }
    }
}

/// The disk after the power failed.
pub(super) fn cut(disk: &Disk, seed: u64) -> Disk {
    let mut random = Random::new(seed);
    // Files and names fare alike in half of the cuts, each by itself in the others.
    let common = random.fate();
    let alike = random.below(2) == 0;
    let mut after = disk.without_locks();
    for node in after.nodes.values_mut() {
        let fate = if alike { common } else { random.fate() };
        match node {
            Node::File {
                content,
                durable,
                pending,
                ..
            } => {
                let survived = file_after(durable, pending, fate, &mut random);
                *content = Arc::new(survived);
                *durable = Arc::clone(content);
                pending.clear();
            }
            Node::Dir {
                names,
                durable,
                pending,
            } => {
                *names = names_after(durable, pending, fate, &mut random);
                durable.clone_from(names);
                pending.clear();
            }
        }
    }
    after
}

fn file_after(durable: &[u8], pending: &[FileChange], fate: Fate, random: &mut Random) -> Vec<u8> {
    let mut content = durable.to_vec();
    let keep = match fate {
        Fate::Drop => 0,
        Fate::Prefix => random.below(pending.len() + 1),
        Fate::Keep | Fate::Torn => pending.len(),
    };
    for change in &pending[..keep] {
        match (fate, change) {
            (Fate::Torn, FileChange::Write { position, bytes }) => {
                torn_write(&mut content, *position, bytes, random);
            }
            (Fate::Torn, change) if random.below(2) == 0 => change.apply(&mut content),
            (Fate::Torn, _) => {}
            (_, change) => change.apply(&mut content),
        }
    }
    content
}

/// Some sectors of the write reach the disk. The file may have grown to hold a lost sector; it then reads as zeros.
fn torn_write(content: &mut Vec<u8>, position: usize, bytes: &[u8], random: &mut Random) {
    let end = position + bytes.len();
    let mut at = position;
    while at < end {
        let sector_end = ((at / SECTOR_BYTES) + 1) * SECTOR_BYTES;
        let piece_end = sector_end.min(end);
        let piece = &bytes[at - position..piece_end - position];
        match random.below(4) {
            0 => {}
            1 => {
                // The length was stored, the data was not.
                if content.len() < piece_end {
                    content.resize(piece_end, 0);
                }
            }
            _ => FileChange::Write {
                position: at,
                bytes: piece.into(),
            }
            .apply(content),
        }
        at = piece_end;
    }
}

fn names_after(
    durable: &BTreeMap<OsString, Ino>,
    pending: &[Vec<(OsString, Option<Ino>)>],
    fate: Fate,
    random: &mut Random,
) -> BTreeMap<OsString, Ino> {
    let mut names = durable.clone();
    let keep = match fate {
        Fate::Drop => 0,
        Fate::Prefix => random.below(pending.len() + 1),
        Fate::Keep | Fate::Torn => pending.len(),
    };
    for change in &pending[..keep] {
        if !matches!(fate, Fate::Torn) || random.below(2) == 0 {
            apply_names(&mut names, change);
        }
    }
    names
}
