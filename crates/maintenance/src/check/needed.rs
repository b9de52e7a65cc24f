//! Which chunk objects are needed, and how long each must be: sorted ids within a bound on memory.
//!
//! Ids beyond the bound are left for another pass over the manifests: of those collected, the upper half is dropped, and
//! the next pass begins there. A store lists chunks in the order of their ids, so that every pass is one walk over a part
//! of the list.

use icefield_format::ChunkId;

/// A chunk object that something refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Need {
    pub(super) id: [u8; 12],
    /// A position among the sources: the snapshot and node that refer to it.
    pub(super) source: u32,
    /// Bytes that the object must have; 0 if it may as well be missing.
    pub(super) end: u64,
    /// Whether no ref reaches any snapshot that refers to it.
    pub(super) detached: bool,
}

impl Need {
    pub(super) fn chunk(&self) -> ChunkId {
        ChunkId::from_bytes(self.id)
    }
}

/// The needs of one pass.
#[derive(Debug)]
pub(super) struct Needed {
    needs: Vec<Need>,
    from: [u8; 12],
    /// Ids from here on belong to the next pass.
    below: Option<[u8; 12]>,
    most: usize,
}

impl Needed {
    /// Returns an empty collection of ids from `from` on that holds at most so many.
    pub(super) fn new(from: [u8; 12], most: usize) -> Self {
        Self {
            needs: Vec::new(),
            from,
            below: None,
            most: most.max(2),
        }
    }

    pub(super) fn add(&mut self, need: Need) {
        if need.id < self.from || self.below.is_some_and(|below| need.id >= below) {
            return;
        }
        self.needs.push(need);
        if self.needs.len() >= self.most {
            self.settle();
            if self.needs.len() > self.most / 2 {
                // At least one id stays, so that every pass gets on.
                let middle = (self.needs.len() / 2).max(1);
                self.below = Some(self.needs[middle].id);
                self.needs.truncate(middle);
            }
        }
    }

    /// Sorts, and keeps of each object the largest need.
    fn settle(&mut self) {
        let needs = &mut self.needs;
        needs.sort_unstable_by_key(|need| (need.id, std::cmp::Reverse(need.end), need.source));
        needs.dedup_by(|need, kept| {
            let is_same = need.id == kept.id;
            if is_same {
                kept.detached &= need.detached;
            }
            is_same
        });
    }

    /// Returns the needs by id, and where the next pass begins, if one is due.
    pub(super) fn finish(mut self) -> (Vec<Need>, Option<[u8; 12]>) {
        self.settle();
        (self.needs, self.below)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn need(byte: u8, end: u64) -> Need {
        Need {
            id: [byte; 12],
            source: 0,
            end,
            detached: false,
        }
    }

    #[test]
    fn the_largest_need_of_an_object_stays() {
        let mut needed = Needed::new([0; 12], 100);
        for (byte, end) in [(3, 1), (1, 5), (3, 9), (3, 0), (1, 2)] {
            needed.add(need(byte, end));
        }
        assert_eq!(needed.finish(), (vec![need(1, 5), need(3, 9)], None));
    }

    #[test]
    fn passes_hold_no_more_than_they_may_and_miss_nothing() {
        for most in 1..20 {
            let (mut from, mut seen, mut passes) = ([0; 12], Vec::new(), 0);
            loop {
                let mut needed = Needed::new(from, most);
                for step in 0..400_u32 {
                    // Each of a hundred ids comes four times, in no order.
                    needed.add(need((step * 37 % 100) as u8, u64::from(step)));
                    assert!(needed.needs.len() <= most.max(2));
                }
                let (needs, next) = needed.finish();
                seen.extend(needs.iter().map(|need| need.id[0]));
                passes += 1;
                match next {
                    Some(next) => from = next,
                    None => break,
                }
            }
            assert_eq!(seen, (0..100).collect::<Vec<u8>>(), "{most}");
            assert!(passes <= 100);
        }
    }
}
