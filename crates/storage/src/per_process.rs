//! Values that the handles of one process share, and that a process forked from it does not.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

/// As many processes of which each was forked from the one before, and used the values before that, have values.
const GENERATIONS: usize = 32;

/// A table in a `static`, one for each process.
///
/// A process that was forked has the table of its parent in its memory, with entries that no thread will ever remove and
/// perhaps a lock that no thread will ever release. So it never touches that table, and takes the next one without waiting
/// for any thread.
#[derive(Debug)]
pub struct PerProcess<K, V, const N: usize = GENERATIONS>([ProcessSlot<K, V>; N]);

#[derive(Debug)]
struct ProcessSlot<K, V> {
    /// The process that took the place; 0: none.
    process: AtomicU32,
    table: Mutex<Option<HashMap<K, V>>>,
}

impl<K, V, const N: usize> Default for PerProcess<K, V, N> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K, V, const N: usize> PerProcess<K, V, N> {
    /// Returns empty tables.
    #[must_use]
    pub const fn new() -> Self {
        Self(
            [const {
                ProcessSlot {
                    process: AtomicU32::new(0),
                    table: Mutex::new(None),
                }
            }; N],
        )
    }

    fn of(&self, process: u32) -> Option<&Mutex<Option<HashMap<K, V>>>> {
        let is_its = |place: &&ProcessSlot<K, V>| {
            let taken = &place.process;
            let was = taken.compare_exchange(0, process, Ordering::AcqRel, Ordering::Acquire);
            was.is_ok() || was == Err(process)
        };
        self.0.iter().find(is_its).map(|place| &place.table)
    }
}

impl<K: Eq + Hash, V, const N: usize> PerProcess<K, V, N> {
    /// Looks into the table of a process, which stays locked meanwhile; `None` if there are too many processes behind one
    /// another, which then share nothing.
    pub fn with<T>(&self, process: u32, look: impl FnOnce(&mut HashMap<K, V>) -> T) -> Option<T> {
        let table = self.of(process)?;
        let mut table = table.lock().unwrap_or_else(PoisonError::into_inner);
        Some(look(table.get_or_insert_default()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_have_tables_of_their_own() {
        let tables = PerProcess::<u8, u8, 2>::new();
        let is_none_left = tables.with(7, |ours| {
            ours.insert(1, 2);
            // As if a thread of the parent had locked its table, which is not there in the child.
            let is_empty = tables.with(8, |of_child| of_child.is_empty());
            assert_eq!(is_empty, Some(true));
            tables.with(9, |_| ()).is_none()
        });
        assert_eq!(is_none_left, Some(true));
        assert_eq!(tables.with(7, |ours| ours.get(&1).copied()), Some(Some(2)));
    }
}
