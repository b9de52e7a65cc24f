//! Files and objects of a source beside the hierarchy.

/// Names kept as examples.
const EXAMPLES: usize = 20;

/// Entries of a source that belong to no node and were left out. All are counted, and the first few are named.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ignored {
    count: u64,
    examples: Vec<String>,
}

impl Ignored {
    /// Returns what was counted elsewhere.
    pub(crate) fn of(count: u64, mut examples: Vec<String>) -> Self {
        examples.truncate(EXAMPLES);
        Self { count, examples }
    }

    /// Adds an entry.
    pub fn note(&mut self, name: impl Into<String>) {
        self.count += 1;
        if self.examples.len() < EXAMPLES {
            self.examples.push(name.into());
        }
    }

    /// Adds what another part of the source ignored.
    pub(crate) fn merge(&mut self, other: Self) {
        self.count += other.count;
        let room = EXAMPLES.saturating_sub(self.examples.len());
        self.examples.extend(other.examples.into_iter().take(room));
    }

    /// Returns the number of entries.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Returns the names of the first few.
    pub fn examples(&self) -> &[String] {
        &self.examples
    }
}
