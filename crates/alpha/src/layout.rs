//! Where the objects of a repository of this generation are: every key, in one place.
//!
//! ```text
//! the text of the specification   the code of that time
//! r/NAME/SEQUENCE.json            r/branch:NAME/SEQUENCE.json     a branch, a file for each commit
//! r/NAME.json                     r/tag:NAME/ref.json             a tag
//! s/ID                            s/ID.msgpack                    a snapshot
//! m/ID                            m/ID.msgpack                    a manifest
//! c/ID                            c/ID.msgpack, later c/ID        a chunk
//! ```
//! Names of refs are spelt as the store spells them today: as they are, or percent-encoded.

use icefield_format::layout as today;
use icefield_storage::{Key, KeyError, KeyForm, Prefix};

use crate::{AlphaId, SequenceForm};

/// Prefix of refs.
pub(crate) const REFS: &str = "r";
/// Prefix of snapshots.
pub(crate) const SNAPSHOTS: &str = "s";

const SUFFIX: &str = ".msgpack";
const JSON: &str = ".json";
const BRANCH: &str = "branch:";
const TAG: &str = "tag:";
const MAIN: &str = "main";

/// The names of the objects of a repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Layout {
    /// Those of the specification's text. No writer of it is known.
    Literal,
    /// Those of the code of that time.
    Code,
}

/// A key below `r/`, parsed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RefKey {
    Branch { name: String, number: u64 },
    Tag(String),
}

/// The kinds of objects that are named by an id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ObjectKind {
    Snapshot,
    Manifest,
    Chunk,
}

impl Layout {
    /// Both, in the order in which they are looked for.
    pub(crate) const ALL: [Self; 2] = [Self::Code, Self::Literal];

    /// Returns the form of the numbers of branch files.
    #[must_use]
    pub const fn sequence_form(self) -> SequenceForm {
        match self {
            Self::Literal => SequenceForm::FiveBytes,
            Self::Code => SequenceForm::EightBytes,
        }
    }

    /// The directory of the files of a branch.
    pub(crate) fn branch(self, name: &str, form: KeyForm) -> Result<Prefix, KeyError> {
        self.branch_spelt(&spell(name, form))
    }

    fn branch_spelt(self, name: &str) -> Result<Prefix, KeyError> {
        Prefix::parse(&match self {
            Self::Literal => format!("{REFS}/{name}"),
            Self::Code => format!("{REFS}/{BRANCH}{name}"),
        })
    }

    /// Where the files of a branch may be: as we would write them, and as a writer that encoded nothing did.
    pub(crate) fn branches(self, name: &str, form: KeyForm) -> Result<Vec<Prefix>, KeyError> {
        let spellings = spellings(name, form);
        spellings.iter().map(|it| self.branch_spelt(it)).collect()
    }

    /// Where the file of a tag may be, in the same way.
    pub(crate) fn tags(self, name: &str, form: KeyForm) -> Result<Vec<Key>, KeyError> {
        let key = |name: &String| {
            Key::parse(&match self {
                Self::Literal => format!("{REFS}/{name}{JSON}"),
                Self::Code => format!("{REFS}/{TAG}{name}/ref.json"),
            })
        };
        spellings(name, form).iter().map(key).collect()
    }

    /// The directory of the branch that says that there is a repository.
    pub(crate) fn main(self) -> Result<Prefix, KeyError> {
        self.branch(MAIN, KeyForm::Raw)
    }

    /// The number of a branch file, from its name; none for anything else.
    pub(crate) fn number(self, file: &str) -> Option<u64> {
        self.sequence_form().decode(file.strip_suffix(JSON)?)
    }

    /// The name of a branch file.
    pub(crate) fn file(self, number: u64) -> Option<String> {
        Some(format!("{}{JSON}", self.sequence_form().encode(number)?))
    }

    /// Reads a key below `r/`; none for a stray file.
    pub(crate) fn parse_ref(self, key: &str, form: KeyForm) -> Option<RefKey> {
        let below = key.strip_prefix(REFS)?.strip_prefix('/')?;
        let (directory, file) = match below.split_once('/') {
            Some((directory, file)) => (directory, file),
            None if self == Self::Literal => {
                let name = read(below.strip_suffix(JSON)?, form)?;
                return Some(RefKey::Tag(name));
            }
            None => return None,
        };
        let branch = match self {
            Self::Literal => Some(directory),
            Self::Code => directory.strip_prefix(BRANCH),
        };
        if let Some(name) = branch {
            let number = self.number(file)?;
            let name = read(name, form)?;
            return Some(RefKey::Branch { name, number });
        }
        let name = read(directory.strip_prefix(TAG)?, form)?;
        (file == "ref.json").then_some(RefKey::Tag(name))
    }
}

/// Returns whether an object is one that file managers and network file systems leave lying about.
pub(crate) fn is_dropped(key: &str) -> bool {
    let name = key.rsplit('/').next().unwrap_or(key);
    matches!(name, ".DS_Store" | "Thumbs.db" | "desktop.ini") || name.starts_with(".nfs")
}

/// The two keys that an object may have, the one of this layout first.
pub(crate) fn keys(
    kind: ObjectKind,
    id: AlphaId,
    suffixed_first: bool,
) -> Result<[Key; 2], KeyError> {
    let prefix = match kind {
        ObjectKind::Snapshot => SNAPSHOTS,
        ObjectKind::Manifest => "m",
        ObjectKind::Chunk => "c",
    };
    let bare = Key::parse(&format!("{prefix}/{id}"))?;
    let suffixed = Key::parse(&format!("{prefix}/{id}{SUFFIX}"))?;
    Ok(match suffixed_first {
        true => [suffixed, bare],
        false => [bare, suffixed],
    })
}

/// The id in a key below `s/`; none for a stray file.
pub(crate) fn snapshot_of(key: &str) -> Option<AlphaId> {
    let name = key.strip_prefix(SNAPSHOTS)?.strip_prefix('/')?;
    name.strip_suffix(SUFFIX).unwrap_or(name).parse().ok()
}

/// The name of a ref as the store spells it: as in the keys of today.
fn spell(name: &str, form: KeyForm) -> String {
    let key = today::branch_key(name, today_form(form));
    let (_, rest) = key.split_once("branch.").unwrap_or_default();
    let (name, _) = rest.rsplit_once('/').unwrap_or_default();
    name.to_owned()
}

/// All spellings that [`read`] takes for a name.
fn spellings(name: &str, form: KeyForm) -> Vec<String> {
    let mut spellings = vec![spell(name, form)];
    let is_read = || read(name, form).as_deref() == Some(name);
    if spellings[0] != name && !name.contains('/') && is_read() {
        spellings.push(name.to_owned());
    }
    spellings
}

/// The name of a ref from what the store spells.
fn read(spelt: &str, form: KeyForm) -> Option<String> {
    if spelt.is_empty() {
        return None;
    }
    let key = format!("{}/branch.{spelt}/ref.json", today::REFS);
    match today::parse_ref_key(&key, today_form(form)) {
        Some(today::RefKey::Branch(name)) => Some(name),
        // Not encoded by the rules: then it is the name itself.
        _ => Some(spelt.to_owned()),
    }
}

fn today_form(form: KeyForm) -> today::KeyForm {
    match form {
        KeyForm::Raw => today::KeyForm::Raw,
        KeyForm::ObjectStorePath => today::KeyForm::ObjectStorePath,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_refs_in_both_layouts() {
        let parse = |layout: Layout, key| layout.parse_ref(key, KeyForm::Raw);
        let branch = |name: &str, number| {
            Some(RefKey::Branch {
                name: name.to_owned(),
                number,
            })
        };
        let tag = |name: &str| Some(RefKey::Tag(name.to_owned()));
        let (literal, code) = (Layout::Literal, Layout::Code);
        assert_eq!(parse(literal, "r/main/ZZZZZZWV.json"), branch("main", 100));
        assert_eq!(parse(literal, "r/main.json"), tag("main"));
        assert_eq!(
            parse(code, "r/branch:main/ZZZZZZZZZZZZT.json"),
            branch("main", 2)
        );
        assert_eq!(parse(code, "r/tag:v1/ref.json"), tag("v1"));
        for stray in [
            "r/branch:main/ZZZZZZZZ.json",
            "r/branch:main/ref.json",
            "r/tag:v1/ZZZZZZZZZZZZT.json",
            "r/main/ZZZZZZZZ.json",
            "r/branch:/ZZZZZZZZZZZZT.json",
            "r/v1.json",
            "refs/branch.main/ref.json",
            "r",
        ] {
            assert_eq!(parse(code, stray), None, "{stray}");
        }
        for stray in [
            "r/main/ZZZZZZZZ",
            "r/main/ref.json",
            "r/a/b/ZZZZZZZZ.json",
            "r/.json",
            "r/x",
        ] {
            assert_eq!(parse(literal, stray), None, "{stray}");
        }
        for layout in Layout::ALL {
            let form = KeyForm::ObjectStorePath;
            for name in ["v 1", "é", "a%20b", "a{b}"] {
                let keys = layout.tags(name, form).unwrap();
                let read = |key: &Key| layout.parse_ref(key.as_str(), form);
                assert!(!keys.is_empty());
                assert!(keys.iter().all(|key| read(key) == tag(name)), "{keys:?}");
            }
            // The name was not encoded: a key that is listed can be looked up.
            assert_eq!(layout.tags("é", form).unwrap().len(), 2);
        }
        assert_eq!(literal.file(100).as_deref(), Some("ZZZZZZWV.json"));
    }

    #[test]
    fn names_are_spelt_as_the_store_does() {
        let form = KeyForm::ObjectStorePath;
        let prefix = Layout::Code.branch("a {b}", form).unwrap();
        assert_eq!(prefix.as_str(), "r/branch:a %7Bb%7D");
        let key = format!("{prefix}/ZZZZZZZZZZZZY.json");
        let name = "a {b}".to_owned();
        assert_eq!(
            Layout::Code.parse_ref(&key, form),
            Some(RefKey::Branch { name, number: 0 })
        );
    }

    #[test]
    fn ids_are_found_with_and_without_a_suffix() {
        let id = AlphaId::from_bytes([7; 16]);
        for key in keys(ObjectKind::Snapshot, id, true).unwrap() {
            assert_eq!(snapshot_of(key.as_str()), Some(id));
        }
        for stray in ["s/x", "m/x", "s/"] {
            assert_eq!(snapshot_of(stray), None);
        }
    }
}
