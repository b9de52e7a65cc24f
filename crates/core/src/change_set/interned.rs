//! Values that many rows share, each kept once and named by a number.

use std::borrow::Borrow;
use std::hash::{BuildHasher, Hash};

use hashbrown::{DefaultHashBuilder, HashTable};

/// Values by their numbers, in the order in which they came.
#[derive(Clone, Debug)]
pub(super) struct Interned<T> {
    values: Vec<T>,
    numbers: HashTable<u32>,
    hasher: DefaultHashBuilder,
}

impl<T> Default for Interned<T> {
    fn default() -> Self {
        Self {
            values: Vec::new(),
            numbers: HashTable::new(),
            hasher: DefaultHashBuilder::default(),
        }
    }
}

impl<T: Hash> Interned<T> {
    /// Returns the number of a value, which is a new one if it was not there.
    pub(super) fn number<Q>(&mut self, value: &Q) -> u32
    where
        T: Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = T> + ?Sized,
    {
        let hash = self.hasher.hash_one(value);
        let values = &self.values;
        let same = |number: &u32| values[*number as usize].borrow() == value;
        if let Some(number) = self.numbers.find(hash, same) {
            return *number;
        }
        let number = u32::try_from(values.len()).expect("BUG: more values than rows");
        self.values.push(value.to_owned());
        let (values, hasher) = (&self.values, &self.hasher);
        self.numbers.insert_unique(hash, number, |number| {
            hasher.hash_one(values[*number as usize].borrow())
        });
        number
    }

    /// Makes room for that many more values, so that the table grows once.
    pub(super) fn reserve(&mut self, more: usize) {
        self.values.reserve(more);
        let (values, hasher) = (&self.values, &self.hasher);
        self.numbers
            .reserve(more, |number| hasher.hash_one(&values[*number as usize]));
    }

    pub(super) fn get(&self, number: u32) -> &T {
        &self.values[number as usize]
    }

    /// Returns the bytes that are held; `beyond` says how many a value has outside itself.
    pub(super) fn memory_bytes(&self, beyond: impl Fn(&T) -> usize) -> usize {
        // A slot of the table is a number and a byte of its hash.
        let table = self.numbers.capacity() * (size_of::<u32>() + 1);
        let own = self.values.capacity() * size_of::<T>();
        table + own + self.values.iter().map(beyond).sum::<usize>()
    }

    pub(super) fn into_values(self) -> Vec<T> {
        self.values
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_has_one_number_however_often_it_comes() {
        let mut texts: Interned<String> = Interned::default();
        let drawn: Vec<String> = (0..1000_u32).map(|at| format!("{}", at % 7)).collect();
        let numbers: Vec<u32> = drawn
            .iter()
            .map(|text| texts.number(text.as_str()))
            .collect();
        for (text, number) in drawn.iter().zip(numbers) {
            assert_eq!(texts.get(number), text);
        }
        let all: Vec<String> = (0..7).map(|at| at.to_string()).collect();
        let letters = texts.memory_bytes(String::len) - texts.memory_bytes(|_| 0);
        assert_eq!(letters, all.len(), "each has one");
        assert_eq!(texts.into_values(), all);
    }
}
