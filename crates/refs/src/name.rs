//! Names of branches and tags.

use std::sync::Arc;

use icefield_format::layout::{self, KeyForm};
use icefield_storage::{Key, KeyError};

/// The reason why a text is not the name of a branch or tag.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NameError {
    /// The name contains `/`, which spec version 1 forbids.
    #[error(
        "{kind} name {name:?} contains `/`, which names in a repository of spec version 1 cannot have: take another, for example {:?}",
        without_slashes(name)
    )]
    Slash {
        /// `branch` or `tag`.
        kind: &'static str,
        /// The refused text.
        name: String,
    },
    /// The name is empty, contains control characters, or begins or ends with white space.
    #[error("{kind} name {name:?} {problem}: choose another name")]
    Unprintable {
        /// `branch` or `tag`.
        kind: &'static str,
        /// The refused text.
        name: String,
        /// The problem.
        problem: &'static str,
    },
    /// The name is too long, or otherwise impossible as part of a key.
    #[error("{kind} name {name:?} cannot be stored")]
    Key {
        /// `branch` or `tag`.
        kind: &'static str,
        /// The refused text.
        name: String,
        /// The rule of keys.
        source: KeyError,
    },
}

/// A name like it that may be.
fn without_slashes(name: &str) -> String {
    let parts: Vec<&str> = name.split('/').filter(|part| !part.is_empty()).collect();
    match parts.is_empty() {
        true => "other".to_owned(),
        false => parts.join("-"),
    }
}

fn check(kind: &'static str, name: &str) -> Result<(), NameError> {
    if name.contains('/') {
        return Err(NameError::Slash {
            kind,
            name: name.to_owned(),
        });
    }
    if name.contains('\0') {
        return Err(NameError::Unprintable {
            kind,
            name: name.to_owned(),
            problem: "contains a NUL",
        });
    }
    // Percent-encoding makes a name longer, so the longer form decides on every backend alike.
    let key = layout::tombstone_key(name, KeyForm::ObjectStorePath);
    Key::parse(&key).map_err(|source| NameError::Key {
        kind,
        name: name.to_owned(),
        source,
    })?;
    Ok(())
}

fn check_new(kind: &'static str, name: &str) -> Result<(), NameError> {
    let problem = if name.is_empty() {
        "is empty"
    } else if name.chars().any(char::is_control) {
        "contains control characters"
    } else if name.trim() != name {
        "begins or ends with white space"
    } else {
        return Ok(());
    };
    Err(NameError::Unprintable {
        kind,
        name: name.to_owned(),
        problem,
    })
}

macro_rules! name_type {
    ($(#[$doc:meta])* $name:ident, $kind:literal) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Arc<str>);

        impl $name {
            /// Takes a name of a ref that exists. Spec version 2 has no rule for names; names that version 1 forbids
            /// are refused where a repository of that version is asked for them.
            ///
            /// # Errors
            /// None so far.
            pub fn parse(name: &str) -> Result<Self, NameError> {
                Ok(Self(name.into()))
            }

            /// As [`Self::parse`], of a name in a repository of spec version 1.
            pub(crate) fn parse_spec_v1(name: &str) -> Result<Self, NameError> {
                check($kind, name)?;
                Ok(Self(name.into()))
            }

            /// Checks the rules of spec version 1: no `/`, and short enough for a key.
            ///
            /// # Errors
            /// The [`NameError`] that names the broken rule.
            pub fn require_spec_v1(&self) -> Result<(), NameError> {
                check($kind, &self.0)
            }

            /// Checks the name of a ref that is about to be created: not empty, printable, without white space at its
            /// ends.
            ///
            /// # Errors
            /// The [`NameError`] that names the broken rule.
            pub fn parse_new(name: &str) -> Result<Self, NameError> {
                check_new($kind, name)?;
                Self::parse(name)
            }
        }

        icefield_storage::checked_text!($name, NameError);
    };
}

name_type!(
    /// The name of a branch: a ref that moves.
    BranchName,
    "branch"
);
name_type!(
    /// The name of a tag: a ref that never moves, and whose name is never given again.
    TagName,
    "tag"
);

impl BranchName {
    /// Returns the branch that every repository has and that cannot be deleted.
    pub fn main() -> Self {
        Self("main".into())
    }

    /// Returns whether this is the branch that cannot be deleted.
    pub fn is_main(&self) -> bool {
        &*self.0 == "main"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_slashes_are_refused_in_names_that_exist() {
        assert!(matches!(
            BranchName::parse_spec_v1("a/b"),
            Err(NameError::Slash { .. })
        ));
        for name in ["", ".", "odd name {x} é~%#", "branch.x"] {
            assert_eq!(BranchName::parse_spec_v1(name).expect(name).as_str(), name);
        }
        assert!(TagName::parse_spec_v1("a\0b").is_err());
        assert!(matches!(
            TagName::parse_spec_v1(&"é".repeat(60)),
            Err(NameError::Key { .. })
        ));
    }

    #[test]
    fn new_names_are_printable() {
        for name in ["", " a", "a ", "a\nb", "\u{1b}[31m"] {
            assert!(BranchName::parse_new(name).is_err(), "{name:?}");
        }
        assert!(BranchName::parse_new("odd name {x} é~%#").is_ok());
    }
}
