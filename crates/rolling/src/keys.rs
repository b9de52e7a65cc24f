//! Which changes a branch has seen, by the keys that their callers gave them: a change that is asked for again is not made
//! again.
//!
//! Every commit with a key lists the newest ones in a property, its own first. A look-up of a key goes back to the first
//! commit with such a list, past those of writers, and no further; and the commits that made them may expire.

use futures::TryStreamExt;
use icefield_core::{NodePath, Repository, RepositoryError, SnapshotId};
use serde_json::{Value, json};

use crate::RollingError;

/// The item of a commit's metadata that lists the newest changes with keys, that of this commit first.
pub const ROLLS: &str = "icefield.rolls";

/// Keys that are listed.
const LISTED: usize = 64;
/// Commits that are looked through for a list.
const LOOKED_THROUGH: usize = 1000;

/// A change that was made under a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Keyed {
    pub(crate) key: String,
    pub(crate) dimension: String,
    pub(crate) group: NodePath,
    /// The change, in words.
    pub(crate) change: String,
}

/// The newest changes with keys in the history of a snapshot, and the snapshots that made them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Keys(Vec<(Keyed, SnapshotId)>);

impl Keys {
    /// Reads the newest list in the history of a snapshot.
    pub(crate) async fn of(
        repository: &Repository,
        from: SnapshotId,
    ) -> Result<Self, RollingError> {
        let mut ancestry = repository.ancestry(from);
        for _ in 0..LOOKED_THROUGH {
            let Some(info) = ancestry.try_next().await.map_err(RepositoryError::from)? else {
                break;
            };
            if let Some(Value::Array(listed)) = info.metadata.get(ROLLS) {
                let read = |entry: &Value| Keyed::read(entry, info.id);
                return Ok(Self(listed.iter().filter_map(read).collect()));
            }
        }
        Ok(Self::default())
    }

    /// Returns the change under a key, and the snapshot that made it.
    pub(crate) fn find(&self, key: &str) -> Option<&(Keyed, SnapshotId)> {
        self.0.iter().find(|(it, _)| it.key == key)
    }

    /// Returns the list of a snapshot that makes one more.
    pub(crate) fn with(&self, new: &Keyed) -> Value {
        let others = self.0.iter().take(LISTED - 1);
        let others = others.map(|(it, snapshot)| it.entry(Some(*snapshot)));
        std::iter::once(new.entry(None)).chain(others).collect()
    }
}

impl Keyed {
    fn entry(&self, snapshot: Option<SnapshotId>) -> Value {
        let mut entry = json!({
            "key": self.key, "dimension": self.dimension, "group": self.group.as_str(), "change": self.change,
        });
        // A snapshot cannot name itself.
        if let Some(snapshot) = snapshot {
            entry["snapshot"] = snapshot.to_string().into();
        }
        entry
    }

    /// Reads an entry of the list of a snapshot; `None` for one that this crate cannot have written.
    fn read(entry: &Value, listing: SnapshotId) -> Option<(Self, SnapshotId)> {
        let text = |name: &str| entry.get(name)?.as_str();
        let snapshot = match text("snapshot") {
            None => listing,
            Some(id) => id.parse().ok()?,
        };
        let keyed = Self {
            key: text("key")?.to_owned(),
            dimension: text("dimension")?.to_owned(),
            group: NodePath::parse(text("group")?).ok()?,
            change: text("change")?.to_owned(),
        };
        Some((keyed, snapshot))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keyed(key: &str) -> Keyed {
        Keyed {
            key: key.to_owned(),
            dimension: "time".to_owned(),
            group: NodePath::root(),
            change: "1 in at the end".to_owned(),
        }
    }

    #[test]
    fn lists_are_read_as_they_were_written_and_do_not_grow_for_ever() {
        let mut keys = Keys::default();
        for number in 0..LISTED as u8 + 2 {
            let id = SnapshotId::from_bytes([number; 12]);
            let Value::Array(listed) = keys.with(&keyed(&number.to_string())) else {
                panic!("no list");
            };
            let read = |entry: &Value| Keyed::read(entry, id).expect("as written");
            keys = Keys(listed.iter().map(read).collect());
            assert_eq!(keys.0[0], (keyed(&number.to_string()), id));
        }
        assert_eq!(keys.0.len(), LISTED);
        let (_, made_by) = keys.find("2").expect("the oldest");
        assert_eq!(*made_by, SnapshotId::from_bytes([2; 12]));
        assert_eq!(keys.find("1"), None);
    }

    #[test]
    fn entries_that_somebody_made_up_are_left_out() {
        let id = SnapshotId::from_bytes([1; 12]);
        for entry in [json!(1), json!({"key": "a"}), json!({"snapshot": "?"})] {
            assert_eq!(Keyed::read(&entry, id), None);
        }
    }
}
