//! Every object key of the format, in one place. No other code makes or takes apart keys.
//!
//! Keys are relative to the root of the repository. Names of refs are the only part a user chooses.
//! Stores that are reached through the `object_store` path type, local directories among them, hold
//! them percent-encoded; S3 holds them as they are: [`KeyForm`].

use std::fmt::Write as _;

use crate::id::{ChunkId, ManifestId, OBJECT_ID_LEN, SnapshotId};

/// The prefix of refs, without a slash.
pub const REFS: &str = "refs";
/// The prefix of snapshots.
pub const SNAPSHOTS: &str = "snapshots";
/// The prefix of manifests.
pub const MANIFESTS: &str = "manifests";
/// The prefix of transaction logs.
pub const TRANSACTIONS: &str = "transactions";
/// The prefix of chunks.
pub const CHUNKS: &str = "chunks";
/// The key of the stored configuration of spec 1.
pub const CONFIG: &str = "config.yaml";
/// The key of the one mutable object of spec 2. Where it exists, the repository is not one of spec 1.
pub const REPO: &str = "repo";
/// The prefix of earlier versions of [`REPO`] (spec 2), and of [`CONFIG`] when a spec 2 library changed it.
pub const OVERWRITTEN: &str = "overwritten";
/// The prefix of objects that only this implementation writes: leases, state of collection, own settings.
pub const OWN: &str = "icefield";

/// The time from which the names of backups count down: the year 3000, in milliseconds since the Unix epoch.
const COUNTDOWN_FROM: u64 = 32_503_680_000_000;
/// Digits of that time.
const COUNTDOWN_DIGITS: usize = 14;

const REF_FILE: &str = "ref.json";
const TOMBSTONE_FILE: &str = "ref.json.deleted";
const BRANCH: &str = "branch.";
const TAG: &str = "tag.";

/// The spelling of the name of a ref in the keys of a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum KeyForm {
    /// As it is (S3).
    Raw,
    /// Percent-encoded as the `object_store` path type does (all others).
    ObjectStorePath,
}

impl KeyForm {
    fn other(self) -> Self {
        match self {
            Self::Raw => Self::ObjectStorePath,
            Self::ObjectStorePath => Self::Raw,
        }
    }
}

/// A ref, as read from a key.
///
/// ```
/// use icefield_format::layout::{KeyForm, RefKey, branch_key, parse_ref_key};
///
/// let key = branch_key("main", KeyForm::Raw);
/// assert_eq!(key, "refs/branch.main/ref.json");
/// assert_eq!(parse_ref_key(&key, KeyForm::Raw), Some(RefKey::Branch("main".to_owned())));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RefKey {
    /// `refs/branch.NAME/ref.json`.
    Branch(String),
    /// `refs/tag.NAME/ref.json`.
    Tag(String),
    /// `refs/tag.NAME/ref.json.deleted`: the tag is deleted, its name stays taken.
    Tombstone(String),
}

/// An object whose key is an id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum IdKey {
    /// `snapshots/ID`.
    Snapshot(SnapshotId),
    /// `manifests/ID`.
    Manifest(ManifestId),
    /// `transactions/ID`, of the snapshot's id.
    TransactionLog(SnapshotId),
    /// `chunks/ID`.
    Chunk(ChunkId),
}

/// Returns the key of a snapshot.
#[must_use]
pub fn snapshot_key(id: SnapshotId) -> String {
    format!("{SNAPSHOTS}/{id}")
}

/// Returns the key of a manifest.
#[must_use]
pub fn manifest_key(id: ManifestId) -> String {
    format!("{MANIFESTS}/{id}")
}

/// Returns the key of the transaction log of a snapshot.
#[must_use]
pub fn transaction_log_key(id: SnapshotId) -> String {
    format!("{TRANSACTIONS}/{id}")
}

/// Returns the key of a chunk.
#[must_use]
pub fn chunk_key(id: ChunkId) -> String {
    format!("{CHUNKS}/{id}")
}

/// Returns the key of a branch. The name must have passed the rules of names: no `/`.
#[must_use]
pub fn branch_key(name: &str, form: KeyForm) -> String {
    ref_key(BRANCH, name, REF_FILE, form)
}

/// Returns the key of a tag. The name must have passed the rules of names: no `/`.
#[must_use]
pub fn tag_key(name: &str, form: KeyForm) -> String {
    ref_key(TAG, name, REF_FILE, form)
}

/// Returns the key of the object that marks a tag as deleted.
#[must_use]
pub fn tombstone_key(name: &str, form: KeyForm) -> String {
    ref_key(TAG, name, TOMBSTONE_FILE, form)
}

/// Returns the key of an object of a ref.
#[must_use]
pub fn ref_key_in(key: &RefKey, form: KeyForm) -> String {
    match key {
        RefKey::Branch(name) => branch_key(name, form),
        RefKey::Tag(name) => tag_key(name, form),
        RefKey::Tombstone(name) => tombstone_key(name, form),
    }
}

fn ref_key(kind: &str, name: &str, file: &str, form: KeyForm) -> String {
    let mut key = format!("{REFS}/{kind}");
    match form {
        KeyForm::Raw => key.push_str(name),
        KeyForm::ObjectStorePath => percent_encode(name, &mut key),
    }
    key.push('/');
    key.push_str(file);
    key
}

/// Returns the name of a backup of [`REPO`], or of [`CONFIG`], that is made at a time in milliseconds since the Unix epoch:
/// `repo.T.R` (spec 2, §2). Newer ones come first in a listing, up to the year 3000; nothing relies on it.
///
/// `repo` itself names its backups so, without the prefix of their keys.
#[must_use]
pub fn overwritten_name(object: &str, now_millis: u64, random: [u8; OBJECT_ID_LEN]) -> String {
    let countdown = COUNTDOWN_FROM.saturating_sub(now_millis);
    let random = SnapshotId::from_bytes(random);
    format!("{object}.{countdown:0COUNTDOWN_DIGITS$}.{random}")
}

/// Returns the key of a backup.
#[must_use]
pub fn overwritten_key(name: &str) -> String {
    format!("{OVERWRITTEN}/{name}")
}

/// A backup, as read from its key.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OverwrittenKey {
    /// The object of which it is an earlier version: [`REPO`] or [`CONFIG`].
    pub object: String,
    /// The time of the backup, in milliseconds since the Unix epoch.
    pub made_at: u64,
    /// The name by which `repo` refers to the backup.
    pub name: String,
}

/// Reads the key of a backup; none for anything else.
#[must_use]
pub fn parse_overwritten_key(key: &str) -> Option<OverwrittenKey> {
    let name = key.strip_prefix(OVERWRITTEN)?.strip_prefix('/')?;
    let (rest, random) = name.rsplit_once('.')?;
    let (object, countdown) = rest.rsplit_once('.')?;
    let random: SnapshotId = random.parse().ok()?;
    let digits = countdown.bytes().all(|byte| byte.is_ascii_digit());
    let countdown: u64 = countdown.parse().ok().filter(|_| digits)?;
    let made_at = COUNTDOWN_FROM.checked_sub(countdown)?;
    let is_ours = matches!(object, REPO | CONFIG)
        && overwritten_name(object, made_at, *random.as_bytes()) == name;
    is_ours.then(|| OverwrittenKey {
        object: object.to_owned(),
        made_at,
        name: name.to_owned(),
    })
}

/// Reads the key of a ref; none for anything else, which is then a stray file.
///
/// Exact: only a key that [`branch_key`], [`tag_key`] or [`tombstone_key`] would make is taken, so
/// that what is listed can be looked up. Names are returned decoded.
#[must_use]
pub fn parse_ref_key(key: &str, form: KeyForm) -> Option<RefKey> {
    let (directory, file) = key.strip_prefix(REFS)?.strip_prefix('/')?.split_once('/')?;
    let (kind, encoded) = match directory.strip_prefix(BRANCH) {
        Some(encoded) => (BRANCH, encoded),
        None => (TAG, directory.strip_prefix(TAG)?),
    };
    let name = match form {
        KeyForm::Raw => encoded.to_owned(),
        KeyForm::ObjectStorePath => percent_decode(encoded)?,
    };
    match (kind, file) {
        (BRANCH, REF_FILE) => Some(RefKey::Branch(name)),
        (TAG, REF_FILE) => Some(RefKey::Tag(name)),
        (TAG, TOMBSTONE_FILE) => Some(RefKey::Tombstone(name)),
        _ => None,
    }
}

/// Reads the key of a ref in either spelling, as a repository has them that a tool copied byte for byte between a bucket
/// and a disk. Returns the form that the key is spelled in; none for anything that is no ref.
///
/// The store's own form decides wherever it gives the key a meaning, as the reference implementation reads it. So a
/// [`KeyForm::Raw`] store, where every spelling is a name, has no keys in the other form; a
/// [`KeyForm::ObjectStorePath`] store has those that are no encoding of any name.
#[must_use]
pub fn read_ref_key(key: &str, form: KeyForm) -> Option<(RefKey, KeyForm)> {
    if let Some(found) = parse_ref_key(key, form) {
        return Some((found, form));
    }
    Some((parse_ref_key(key, KeyForm::Raw)?, KeyForm::Raw))
}

/// Returns the other form in which a store of this form may hold the name; none if both forms spell it alike, or if
/// that spelling is the store's own for another name.
///
/// The exception is a [`KeyForm::Raw`] store: there every spelling is a name of its own, and an encoded one stands for
/// the name it encodes only where that name itself is absent.
#[must_use]
pub fn second_form(name: &str, form: KeyForm) -> Option<KeyForm> {
    let is_plain = !name.bytes().any(is_encoded);
    let is_taken = form == KeyForm::ObjectStorePath && percent_decode(name).is_some();
    (!is_plain && !is_taken).then(|| form.other())
}

/// Returns the name that `name` would encode on a [`KeyForm::ObjectStorePath`] store; none if it is no encoding, or
/// encodes itself.
#[must_use]
pub fn encoded_name(name: &str) -> Option<String> {
    percent_decode(name).filter(|decoded| decoded != name)
}

/// Reads the key of an object named by an id; none for anything else.
///
/// Exact, too: the lower-case text of an id would decode, but is not the key of that object.
#[must_use]
pub fn parse_id_key(key: &str) -> Option<IdKey> {
    let (prefix, text) = key.split_once('/')?;
    let parsed = match prefix {
        SNAPSHOTS => IdKey::Snapshot(text.parse().ok()?),
        MANIFESTS => IdKey::Manifest(text.parse().ok()?),
        TRANSACTIONS => IdKey::TransactionLog(text.parse().ok()?),
        CHUNKS => IdKey::Chunk(text.parse().ok()?),
        _ => return None,
    };
    (parsed.key() == key).then_some(parsed)
}

impl IdKey {
    /// Returns the key.
    #[must_use]
    pub fn key(&self) -> String {
        match *self {
            Self::Snapshot(id) => snapshot_key(id),
            Self::Manifest(id) => manifest_key(id),
            Self::TransactionLog(id) => transaction_log_key(id),
            Self::Chunk(id) => chunk_key(id),
        }
    }
}

/// Tells whether the path type of `object_store` encodes this byte of a segment.
fn is_encoded(byte: u8) -> bool {
    byte >= 0x80 || byte.is_ascii_control() || br#"\{^}%`]">[~<#|*?"#.contains(&byte)
}

fn percent_encode(name: &str, key: &mut String) {
    for byte in name.bytes() {
        if is_encoded(byte) {
            // Writing to a string cannot fail.
            let _ = write!(key, "%{byte:02X}");
        } else {
            key.push(char::from(byte));
        }
    }
}

/// Decodes what [`percent_encode`] made; none if it would have made something else.
fn percent_decode(encoded: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(encoded.len());
    let mut rest = encoded.as_bytes();
    while let [first, tail @ ..] = rest {
        rest = tail;
        if *first == b'%' {
            let digits = str::from_utf8(tail.get(..2)?).ok()?;
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
            rest = &tail[2..];
        } else {
            bytes.push(*first);
        }
    }
    let name = String::from_utf8(bytes).ok()?;
    let mut again = String::with_capacity(encoded.len());
    percent_encode(&name, &mut again);
    (again == encoded).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_names_are_encoded_as_in_the_specification() {
        let name = "odd name {x} é~%#";
        let encoded = "refs/branch.odd name %7Bx%7D %C3%A9%7E%25%23/ref.json";
        assert_eq!(branch_key(name, KeyForm::ObjectStorePath), encoded);
        assert_eq!(
            branch_key(name, KeyForm::Raw),
            format!("refs/branch.{name}/ref.json")
        );
        let branch = RefKey::Branch(name.to_owned());
        assert_eq!(
            parse_ref_key(encoded, KeyForm::ObjectStorePath),
            Some(branch)
        );
    }

    #[test]
    fn literal_characters_stay() {
        let name = " .-_:=+,@!()'$&;";
        assert_eq!(
            tag_key(name, KeyForm::ObjectStorePath),
            format!("refs/tag.{name}/ref.json")
        );
    }

    #[test]
    fn kinds_of_ref_keys() {
        let parse = |key| parse_ref_key(key, KeyForm::ObjectStorePath);
        assert_eq!(
            parse("refs/branch.main/ref.json"),
            Some(RefKey::Branch("main".to_owned()))
        );
        assert_eq!(
            parse("refs/branch.branch.x/ref.json"),
            Some(RefKey::Branch("branch.x".to_owned()))
        );
        assert_eq!(
            parse("refs/branch./ref.json"),
            Some(RefKey::Branch(String::new()))
        );
        assert_eq!(
            parse("refs/tag.v1/ref.json"),
            Some(RefKey::Tag("v1".to_owned()))
        );
        assert_eq!(
            parse("refs/tag.v1/ref.json.deleted"),
            Some(RefKey::Tombstone("v1".to_owned()))
        );
        assert_eq!(
            tombstone_key("v1", KeyForm::Raw),
            "refs/tag.v1/ref.json.deleted"
        );
    }

    #[test]
    fn stray_files_are_no_refs() {
        for key in [
            "refs/branch.main",
            "refs/branch.main/ref.json.deleted",
            "refs/branch.main/ref.json/x",
            "refs/branch.main/.ref.json.swp",
            "refs/tags.v1/ref.json",
            "refs/main/ref.json",
            "xrefs/branch.main/ref.json",
            "refs/branch.a%2",
            "refs/branch.a%7b/ref.json",
            "refs/branch.a%41/ref.json",
            "refs/branch.{x}/ref.json",
            "refs/branch.%FF/ref.json",
            "config.yaml",
            "",
        ] {
            assert_eq!(parse_ref_key(key, KeyForm::ObjectStorePath), None, "{key}");
        }
    }

    #[test]
    fn a_raw_spelling_on_a_disk_is_read_unless_it_encodes_another_name() {
        let read = |directory: &str| {
            let key = format!("refs/branch.{directory}/ref.json");
            match read_ref_key(&key, KeyForm::ObjectStorePath) {
                Some((RefKey::Branch(name), form)) => (name, form),
                other => panic!("{directory}: {other:?}"),
            }
        };
        for raw in [
            "wip#1", "{x}", "é", "100%", "a%7b", "a%2Fb", "a%41", "%FF", "#%23",
        ] {
            assert_eq!(read(raw), (raw.to_owned(), KeyForm::Raw));
            let second = second_form(raw, KeyForm::ObjectStorePath);
            assert_eq!(second, Some(KeyForm::Raw), "{raw}");
        }
        for (own, name) in [("wip%231", "wip#1"), ("main", "main"), ("%25", "%")] {
            assert_eq!(read(own), (name.to_owned(), KeyForm::ObjectStorePath));
        }
        // `wip%231` in a bucket is written `wip%25231`, and its raw spelling means `wip#1` here.
        assert_eq!(second_form("wip%231", KeyForm::ObjectStorePath), None);
        assert_eq!(second_form("main", KeyForm::ObjectStorePath), None);
    }

    #[test]
    fn a_bucket_reads_every_spelling_as_the_name_that_it_is() {
        for name in ["wip%231", "wip#1", "%", "main"] {
            let key = branch_key(name, KeyForm::Raw);
            let found = (RefKey::Branch(name.to_owned()), KeyForm::Raw);
            assert_eq!(read_ref_key(&key, KeyForm::Raw), Some(found));
        }
        let second = |name| second_form(name, KeyForm::Raw);
        assert_eq!(second("wip#1"), Some(KeyForm::ObjectStorePath));
        assert_eq!(second("main"), None);
        assert_eq!(encoded_name("wip%231").as_deref(), Some("wip#1"));
        assert_eq!(encoded_name("wip#1"), None);
        assert_eq!(encoded_name("main"), None);
    }

    #[test]
    fn backups_are_named_so_that_newer_ones_come_first() {
        let random = *"WEAJR90VHSKJEVR0SJY0"
            .parse::<SnapshotId>()
            .unwrap()
            .as_bytes();
        let name = overwritten_name(REPO, 1_795_231_098_566, random);
        assert_eq!(name, "repo.30708448901434.WEAJR90VHSKJEVR0SJY0");
        let parsed = parse_overwritten_key(&overwritten_key(&name)).unwrap();
        assert_eq!(
            (parsed.made_at, parsed.name),
            (1_795_231_098_566, name.clone())
        );
        assert!(overwritten_name(REPO, 1_795_231_098_567, random) < name);
        let late = overwritten_name(CONFIG, u64::MAX, random);
        assert_eq!(late, "config.yaml.00000000000000.WEAJR90VHSKJEVR0SJY0");
        assert!(parse_overwritten_key(&overwritten_key(&late)).is_some());
        for other in [
            "overwritten/repo",
            "overwritten/repo.1.WEAJR90VHSKJEVR0SJY0",
            "overwritten/repo.+0708448901434.WEAJR90VHSKJEVR0SJY0",
            "overwritten/repo.30708448901434.weajr90vhskjevr0sjy0",
            "overwritten/other.30708448901434.WEAJR90VHSKJEVR0SJY0",
            "repo.30708448901434.WEAJR90VHSKJEVR0SJY0",
        ] {
            assert_eq!(parse_overwritten_key(other), None, "{other}");
        }
    }

    #[test]
    fn id_keys() {
        let id = SnapshotId::INITIAL;
        assert_eq!(
            parse_id_key("snapshots/1CECHNKREP0F1RSTCMT0"),
            Some(IdKey::Snapshot(id))
        );
        assert_eq!(
            parse_id_key(&transaction_log_key(id)),
            Some(IdKey::TransactionLog(id))
        );
        for other in [
            "snapshots/1cechnkrep0f1rstcmt0",
            "snapshots/",
            "snapshots/x/y",
            "repo",
            "x/1CECHNKREP0F1RSTCMT0",
        ] {
            assert_eq!(parse_id_key(other), None, "{other}");
        }
    }
}
