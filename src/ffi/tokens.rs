//! Handles of cancel tokens. Unlike others ([`super::handles`]) they are looked up in signal handlers too: without a lock,
//! without memory being allocated or freed, with atomics only.
//!
//! A token lives in a cell that is never freed. The cell counts who holds it: the handle, each call that carries it, and the
//! firing itself. The last one out puts it back on a stack of free cells, and who takes it from there gives it the next
//! generation. So a handle never reaches another token than its own, whatever is closed or fired meanwhile.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::SeqCst};

use once_cell::sync::Lazy;

use super::handles::{Kind, check_kind, forks, watch_forks};
use super::types::klog_cancel;
use crate::error::{Error, ErrorKind, Result};
use crate::service::CancelToken;

/// Of a cell's state: the handle is open.
const OPEN: u64 = 1 << 63;
/// Of a cell's state: how many hold it, the open handle among them.
const HOLDERS: u64 = 0xffff_ffff;
const GENERATION_SHIFT: u32 = 32;
const GENERATION_MAX: u64 = 0x00ff_ffff;

#[derive(Default)]
struct Cell {
    /// OPEN, the generation in bits 32..55, HOLDERS.
    state: AtomicU64,
    /// How often the process had forked when the handle was made.
    forks: AtomicU64,
    /// In the stack of free cells: the one below, counted from 1; 0 is none.
    below: AtomicU32,
    token: CancelToken,
}

#[derive(Default)]
struct Cells {
    all: boxcar::Vec<Cell>,
    /// The stack of free cells: in the low half its top, counted from 1, in the high half how often it changed, so that a
    /// top that went and came back is told from one that stayed.
    free: AtomicU64,
    open: AtomicU64,
}

static CELLS: Lazy<Cells> = Lazy::new(Cells::default);

/// A token in use, until this is dropped.
pub(crate) struct Held {
    cell: &'static Cell,
    index: u32,
}

impl Held {
    pub(crate) fn token(&self) -> &CancelToken {
        &self.cell.token
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let before = self.cell.state.fetch_sub(1, SeqCst);
        let is_last = before & HOLDERS == 1;
        // One that has had all generations is never used again.
        if is_last && generation(before) < GENERATION_MAX {
            put_free(self.cell, self.index);
        }
    }
}

fn generation(state: u64) -> u64 {
    (state >> GENERATION_SHIFT) & GENERATION_MAX
}

fn put_free(cell: &Cell, index: u32) {
    let mut top = CELLS.free.load(SeqCst);
    loop {
        cell.below.store(low(top), SeqCst);
        let next = next_top(top, index + 1);
        match CELLS.free.compare_exchange(top, next, SeqCst, SeqCst) {
            Ok(_) => return,
            Err(now) => top = now,
        }
    }
}

fn take_free() -> Option<(&'static Cell, u32)> {
    let mut top = CELLS.free.load(SeqCst);
    loop {
        let index = low(top).checked_sub(1)?;
        let cell = CELLS.all.get(index as usize)?;
        let next = next_top(top, cell.below.load(SeqCst));
        match CELLS.free.compare_exchange(top, next, SeqCst, SeqCst) {
            Ok(_) => return Some((cell, index)),
            Err(now) => top = now,
        }
    }
}

fn low(value: u64) -> u32 {
    u32::try_from(value & 0xffff_ffff).unwrap_or(0)
}

fn next_top(top: u64, index: u32) -> u64 {
    ((top >> 32).wrapping_add(1) << 32) | u64::from(index)
}

/// How many tokens are open.
pub(crate) fn open_count() -> u64 {
    CELLS.open.load(SeqCst)
}

fn new_cell() -> Result<(&'static Cell, u32)> {
    let index = CELLS.all.push(Cell::default());
    let known = u32::try_from(index).ok().filter(|&index| index < u32::MAX);
    known
        .and_then(|known| Some((CELLS.all.get(index)?, known)))
        .ok_or_else(|| Error::new(ErrorKind::Limit, "too many cancel tokens are open"))
}

/// Makes a token.
pub(crate) fn create() -> Result<klog_cancel> {
    watch_forks();
    let (cell, index) = take_free().map_or_else(new_cell, Ok)?;
    cell.token.renew();
    cell.forks.store(forks(), SeqCst);
    let generation = generation(cell.state.load(SeqCst)) + 1;
    // From here on the handle holds it.
    cell.state
        .store(OPEN | (generation << GENERATION_SHIFT) | 1, SeqCst);
    CELLS.open.fetch_add(1, SeqCst);
    Ok(klog_cancel {
        id: ((Kind::Cancel as u64) << 56) | (generation << GENERATION_SHIFT) | u64::from(index),
    })
}

/// Holds the token of a handle that is open; `None` if it is closed.
fn hold(id: u64) -> Option<Held> {
    let index = low(id);
    // `get` and not the lazy value itself: nothing is made here.
    let cell = Lazy::get(&CELLS)?.all.get(index as usize)?;
    let mut state = cell.state.load(SeqCst);
    loop {
        if state & OPEN == 0 || generation(state) != generation(id) {
            return None;
        }
        match cell
            .state
            .compare_exchange(state, state + 1, SeqCst, SeqCst)
        {
            Ok(_) => return Some(Held { cell, index }),
            Err(now) => state = now,
        }
    }
}

/// The token of a handle, for a call that carries it.
pub(crate) fn carry(cancel: klog_cancel) -> Result<Held> {
    check_kind(Kind::Cancel, cancel.id)?;
    let held = hold(cancel.id).ok_or_else(|| stale(cancel.id))?;
    if held.cell.forks.load(SeqCst) != forks() {
        return Err(Error::new(
            ErrorKind::Forked,
            "the token was made before this process was forked; only its close can be called here",
        ));
    }
    Ok(held)
}

/// Fires a token, also in a signal handler. What is wrong with the handle, without a text.
pub(crate) fn fire(cancel: klog_cancel) -> std::result::Result<(), ErrorKind> {
    if cancel.id == 0 {
        return Err(ErrorKind::NullHandle);
    }
    if cancel.id >> 56 != Kind::Cancel as u64 {
        return Err(ErrorKind::WrongKind);
    }
    let held = hold(cancel.id).ok_or(ErrorKind::StaleHandle)?;
    // The calls that carry it are the parent's.
    if held.cell.forks.load(SeqCst) != forks() {
        return Err(ErrorKind::Forked);
    }
    held.token().fire();
    Ok(())
}

/// Ends a handle. Calls that carry its token keep it.
pub(crate) fn close(cancel: klog_cancel) -> Result<()> {
    check_kind(Kind::Cancel, cancel.id)?;
    let held = hold(cancel.id).ok_or_else(|| stale(cancel.id))?;
    // Of two that close at once, one takes the handle's hold.
    if held.cell.state.fetch_and(!OPEN, SeqCst) & OPEN == 0 {
        return Err(stale(cancel.id));
    }
    CELLS.open.fetch_sub(1, SeqCst);
    drop(Held {
        cell: held.cell,
        index: held.index,
    });
    Ok(())
}

fn stale(id: u64) -> Error {
    Error::new(
        ErrorKind::StaleHandle,
        format!("the Cancel handle {id:#x} was closed, or never opened"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicBool;

    fn made() -> klog_cancel {
        create().unwrap()
    }

    #[test]
    fn a_handle_reaches_its_own_token_only_however_often_the_cell_is_used_again() {
        let old = made();
        close(old).unwrap();
        let mut again = Vec::new();
        for _ in 0..50 {
            let new = made();
            assert_ne!(new.id, old.id);
            assert!(carry(new).unwrap().token().check().is_ok(), "as new");
            assert_eq!(fire(old), Err(ErrorKind::StaleHandle));
            assert!(carry(new).unwrap().token().check().is_ok());
            fire(new).unwrap();
            assert!(carry(new).unwrap().token().check().is_err());
            again.push(new);
        }
        for token in again {
            close(token).unwrap();
            assert_eq!(close(token).unwrap_err().kind(), ErrorKind::StaleHandle);
        }
    }

    #[test]
    fn who_carries_a_token_keeps_it_when_its_handle_is_closed() {
        let token = made();
        let held = carry(token).unwrap();
        close(token).unwrap();
        let others: Vec<_> = (0..50).map(|_| made()).collect();
        for other in &others {
            fire(*other).unwrap();
            assert!(held.token().check().is_ok(), "another one's");
        }
        assert_eq!(fire(token), Err(ErrorKind::StaleHandle));
        assert!(held.token().check().is_ok());
        for other in others {
            close(other).unwrap();
        }
    }

    /// Handles that come and go while old ones are fired: no token is ever fired but by its own handle.
    #[test]
    fn firing_old_handles_never_hits_a_new_one() {
        let old: Vec<klog_cancel> = (0..64).map(|_| made()).collect();
        let done = AtomicBool::new(false);
        for token in &old {
            close(*token).unwrap();
        }
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !done.load(SeqCst) {
                    for token in &old {
                        assert!(fire(*token).is_err());
                    }
                }
            });
            for _ in 0..20_000 {
                let new = made();
                let held = carry(new).unwrap();
                assert!(held.token().check().is_ok());
                close(new).unwrap();
                assert!(held.token().check().is_ok());
            }
            done.store(true, SeqCst);
        });
    }
}
