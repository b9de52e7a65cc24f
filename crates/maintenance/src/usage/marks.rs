//! The users of an object, as one small number.

use std::collections::HashMap;

/// How the marks of several users of one object are combined.
pub(super) trait Marks {
    /// Returns the mark of what has both.
    fn combine(&mut self, one: u32, other: u32) -> u32;
}

/// Of several marks the least stays: that of the first user.
pub(super) struct First;

impl Marks for First {
    fn combine(&mut self, one: u32, other: u32) -> u32 {
        one.min(other)
    }
}

/// Marks that stand for sets of users. There are few of them: most of what is shared is shared by the same.
#[derive(Debug, Default)]
pub(super) struct Sets {
    sets: Vec<Vec<u32>>,
    numbers: HashMap<Vec<u32>, u32>,
    combined: HashMap<(u32, u32), u32>,
}

impl Sets {
    /// Returns the mark of one user.
    pub(super) fn one(&mut self, user: u32) -> u32 {
        self.number(vec![user])
    }

    fn number(&mut self, set: Vec<u32>) -> u32 {
        if let Some(number) = self.numbers.get(&set) {
            return *number;
        }
        let number = self.sets.len() as u32;
        self.sets.push(set.clone());
        self.numbers.insert(set, number);
        number
    }

    pub(super) fn contains(&self, mark: u32, user: u32) -> bool {
        self.sets[mark as usize].binary_search(&user).is_ok()
    }

    pub(super) fn is_only(&self, mark: u32, user: u32) -> bool {
        self.sets[mark as usize] == [user]
    }
}

impl Marks for Sets {
    fn combine(&mut self, one: u32, other: u32) -> u32 {
        if one == other {
            return one;
        }
        let pair = (one.min(other), one.max(other));
        if let Some(known) = self.combined.get(&pair) {
            return *known;
        }
        let mut set = self.sets[one as usize].clone();
        set.extend(&self.sets[other as usize]);
        set.sort_unstable();
        set.dedup();
        let number = self.number(set);
        self.combined.insert(pair, number);
        number
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_are_the_same_however_they_came_about() {
        let mut sets = Sets::default();
        let (a, b, c) = (sets.one(0), sets.one(1), sets.one(2));
        let ab = sets.combine(a, b);
        let bc = sets.combine(c, b);
        let abc = sets.combine(ab, c);
        assert_eq!(abc, sets.combine(a, bc));
        assert_eq!(abc, sets.combine(bc, ab));
        assert_eq!(sets.combine(abc, a), abc);
        assert!(sets.contains(ab, 1) && !sets.contains(ab, 2));
        assert!(sets.is_only(a, 0) && !sets.is_only(ab, 0));
    }
}
