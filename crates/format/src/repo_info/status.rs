//! Whether a repository may be changed, and which features it allows.

use std::collections::BTreeSet;
use std::fmt;

/// Whether a repository may be read and written (spec 2, §3, RepoStatus).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Availability {
    /// Reads and writes are allowed.
    Online,
    /// Reads are allowed, and no write except a change of the status.
    ReadOnly,
    /// Nothing is allowed. The reference implementation reads and writes such a repository all the same.
    Offline,
    /// A value of a later version. Kept when the object is rewritten.
    Unknown(u8),
}

impl Availability {
    pub(super) fn from_byte(byte: u8) -> Self {
        match byte {
            0 => Self::Online,
            1 => Self::ReadOnly,
            2 => Self::Offline,
            other => Self::Unknown(other),
        }
    }

    pub(super) fn to_byte(self) -> u8 {
        match self {
            Self::Online => 0,
            Self::ReadOnly => 1,
            Self::Offline => 2,
            Self::Unknown(other) => other,
        }
    }
}

/// The status of a repository.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RepoStatus {
    /// Whether the repository may be read and written.
    pub availability: Availability,
    /// The time when the status was set, in microseconds since the Unix epoch.
    pub set_at: u64,
    /// The reason why the repository is not online.
    pub reason: Option<String>,
}

impl RepoStatus {
    /// Returns the status of a repository that has been online since a time in microseconds since the Unix epoch.
    #[must_use]
    pub fn online(set_at: u64) -> Self {
        Self {
            availability: Availability::Online,
            set_at,
            reason: None,
        }
    }
}

/// An operation that a repository allows or forbids, by its number (spec 2, §3, feature flags).
///
/// ```
/// use icefield_format::{FeatureFlag, FeatureFlags};
///
/// let flags = FeatureFlags::default().with(FeatureFlag::MOVE_NODE, Some(false));
/// assert!(!flags.allows(FeatureFlag::MOVE_NODE));
/// assert!(flags.allows(FeatureFlag::CREATE_TAG), "allowed by default");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FeatureFlag(pub u16);

impl FeatureFlag {
    /// The moving of nodes.
    pub const MOVE_NODE: Self = Self(3);
    /// The creation of tags.
    pub const CREATE_TAG: Self = Self(4);
    /// The deletion of tags.
    pub const DELETE_TAG: Self = Self(5);

    /// The flags that this version of the format names, with their names.
    pub const NAMED: [(Self, &'static str); 3] = [
        (Self::MOVE_NODE, "move_node"),
        (Self::CREATE_TAG, "create_tag"),
        (Self::DELETE_TAG, "delete_tag"),
    ];

    /// Returns the name of the flag; none if it is of a later version.
    #[must_use]
    pub fn name(self) -> Option<&'static str> {
        let mut named = Self::NAMED.iter();
        named.find(|(flag, _)| *flag == self).map(|(_, name)| *name)
    }

    /// Returns the flag of a name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        let mut named = Self::NAMED.iter();
        named.find(|(_, it)| *it == name).map(|(flag, _)| *flag)
    }
}

impl fmt::Debug for FeatureFlag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "flag {}", self.0),
        }
    }
}

/// The flags of a repository. A flag that is neither enabled nor disabled is at its default; flags that are not known here
/// are kept.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FeatureFlags {
    pub(super) enabled: BTreeSet<FeatureFlag>,
    pub(super) disabled: BTreeSet<FeatureFlag>,
}

impl FeatureFlags {
    /// Returns the value of a flag; none if it is at its default.
    #[must_use]
    pub fn get(&self, flag: FeatureFlag) -> Option<bool> {
        // A flag in both lists is a contradiction, and then off.
        match (self.disabled.contains(&flag), self.enabled.contains(&flag)) {
            (true, _) => Some(false),
            (_, true) => Some(true),
            _ => None,
        }
    }

    /// Tells whether the repository allows an operation. All operations that are named here are allowed by default.
    #[must_use]
    pub fn allows(&self, flag: FeatureFlag) -> bool {
        self.get(flag).unwrap_or(flag.name().is_some())
    }

    /// Returns the flags that have values, with these.
    pub fn set(&self) -> impl Iterator<Item = (FeatureFlag, bool)> {
        let enabled = self.enabled.difference(&self.disabled);
        let enabled = enabled.map(|flag| (*flag, true));
        enabled.chain(self.disabled.iter().map(|flag| (*flag, false)))
    }

    /// Returns the flags with one of them set, or with `None` at its default again.
    #[must_use]
    pub fn with(&self, flag: FeatureFlag, value: Option<bool>) -> Self {
        let mut flags = self.clone();
        flags.enabled.remove(&flag);
        flags.disabled.remove(&flag);
        match value {
            Some(true) => drop(flags.enabled.insert(flag)),
            Some(false) => drop(flags.disabled.insert(flag)),
            None => {}
        }
        flags
    }
}
