//! Index entries in memory: those that were loaded in one piece, those that were added behind them.

use once_cell::race::OnceBox;

/// A list that grows at its end. One thread adds, any number look meanwhile, without a lock.
#[derive(Debug)]
pub(super) struct Entries<T> {
    loaded: Box<[T]>,
    /// Most logs of a directory are idle: they have no list, which takes half a kilobyte empty.
    added: OnceBox<boxcar::Vec<T>>,
}

impl<T: Copy> Entries<T> {
    pub(super) fn new(loaded: impl IntoIterator<Item = T>) -> Self {
        Self {
            loaded: loaded.into_iter().collect(),
            added: OnceBox::new(),
        }
    }

    pub(super) fn count(&self) -> usize {
        self.loaded.len() + self.added.get().map_or(0, boxcar::Vec::count)
    }

    pub(super) fn get(&self, i: usize) -> Option<T> {
        match i.checked_sub(self.loaded.len()) {
            None => self.loaded.get(i).copied(),
            Some(i) => self.added.get()?.get(i).copied(),
        }
    }

    pub(super) fn last(&self) -> Option<T> {
        self.get(self.count().checked_sub(1)?)
    }

    pub(super) fn push(&self, entry: T) {
        self.added.get_or_init(Box::default).push(entry);
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = T> {
        let added = self.added.get().into_iter().flat_map(|added| added.iter());
        self.loaded
            .iter()
            .copied()
            .chain(added.map(|(_, entry)| *entry))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_loaded_and_what_was_added_are_one_list() {
        for loaded in 0..3_usize {
            let entries = Entries::new(0..loaded);
            assert_eq!(entries.last(), loaded.checked_sub(1));
            for n in loaded..loaded + 100 {
                entries.push(n);
                assert_eq!((entries.last(), entries.count()), (Some(n), n + 1));
            }
            assert!(entries.iter().eq(0..loaded + 100));
            assert!((0..loaded + 100).all(|n| entries.get(n) == Some(n)));
            assert_eq!(entries.get(loaded + 100), None);
        }
    }
}
