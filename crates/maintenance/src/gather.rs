//! Gathering records by object within a bound on memory.
//!
//! Records come in any order, and many times over: manifests that follow one another share most of their chunks. When
//! they fill the room, what is the same is put together; if that is not enough, the upper half of the ids is given up,
//! and looked at in another pass. So a repository that fits is looked at once, and a larger one as often as it must be.

/// A record that is gathered.
pub(crate) trait Record: Copy {
    /// Returns the object that it is about.
    fn id(&self) -> [u8; 12];
}

/// Records of the ids from `lower` on, below `upper`.
#[derive(Debug)]
pub(crate) struct Gather<R> {
    records: Vec<R>,
    /// Most records that are held.
    room: usize,
    lower: [u8; 12],
    upper: Option<[u8; 12]>,
}

impl<R: Record> Gather<R> {
    /// Begins the first pass, with room for so many bytes of records.
    pub(crate) fn new(bytes: usize) -> Self {
        Self {
            records: Vec::new(),
            room: (bytes / size_of::<R>()).max(16),
            lower: [0; 12],
            upper: None,
        }
    }

    /// Adds a record, if it belongs to this pass. `compact` sorts records by id and puts together what is the same.
    pub(crate) fn push(&mut self, record: R, compact: impl FnOnce(&mut Vec<R>)) {
        let id = record.id();
        if id < self.lower || self.upper.is_some_and(|upper| id >= upper) {
            return;
        }
        self.records.push(record);
        if self.records.len() >= self.room {
            compact(&mut self.records);
            self.give_up_half();
        }
    }

    fn give_up_half(&mut self) {
        let half = self.room / 2;
        if self.records.len() <= half {
            return;
        }
        let first = self.records[0].id();
        let middle = self.records[self.records.len() / 2].id();
        // All records of one object stay together.
        let from = match middle > first {
            true => Some(middle),
            false => {
                let after = self.records.partition_point(|record| record.id() <= first);
                self.records.get(after).map(Record::id)
            }
        };
        match from {
            Some(from) => {
                self.upper = Some(from);
                let keep = self.records.partition_point(|record| record.id() < from);
                self.records.truncate(keep);
            }
            // One object by itself: there is nothing to give up.
            None => self.room = self.room.saturating_mul(2),
        }
        if self.records.len() > self.room / 2 {
            self.room = self.room.saturating_mul(2);
        }
    }

    /// Returns the records of this pass, compacted.
    pub(crate) fn records(&mut self, compact: impl FnOnce(&mut Vec<R>)) -> &[R] {
        compact(&mut self.records);
        &self.records
    }

    /// Returns the ids of this pass: from the first on, below the second.
    pub(crate) fn bounds(&self) -> ([u8; 12], Option<[u8; 12]>) {
        (self.lower, self.upper)
    }

    /// Begins the next pass; false if there is none.
    pub(crate) fn next_pass(&mut self) -> bool {
        self.records.clear();
        match self.upper.take() {
            Some(upper) => {
                self.lower = upper;
                true
            }
            None => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    impl Record for [u8; 12] {
        fn id(&self) -> [u8; 12] {
            *self
        }
    }

    fn compact(records: &mut Vec<[u8; 12]>) {
        records.sort_unstable();
        records.dedup();
    }

    fn id(number: u32) -> [u8; 12] {
        let mut id = [0; 12];
        id[..4].copy_from_slice(&number.wrapping_mul(2_654_435_761).to_be_bytes());
        id
    }

    #[test]
    fn every_id_is_met_in_exactly_one_pass_however_small_the_room() {
        for (room, few) in [(1 << 20, true), (16 * 12, false), (100 * 12, false)] {
            let mut gather = Gather::new(room);
            let (mut met, mut passes) = (BTreeSet::new(), 0);
            loop {
                passes += 1;
                for _ in 0..3 {
                    for number in 0..1000 {
                        gather.push(id(number), compact);
                    }
                }
                for record in gather.records(compact).to_vec() {
                    assert!(met.insert(record), "twice, with room for {room} bytes");
                }
                if !gather.next_pass() {
                    break;
                }
            }
            assert_eq!(met.len(), 1000);
            assert_eq!(
                passes == 1,
                few,
                "{passes} passes with room for {room} bytes"
            );
        }
    }

    #[test]
    fn many_records_of_one_object_stay_together() {
        let mut gather = Gather::new(0);
        for _ in 0..1000 {
            gather.push(id(7), |_| {});
        }
        assert_eq!(gather.records(|_| {}).len(), 1000);
        assert!(!gather.next_pass());
    }
}
