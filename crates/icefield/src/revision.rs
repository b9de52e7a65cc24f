//! The texts that name a version.
//!
//! ```text
//! REF   := START SUFFIX*
//! START := WORD | branch:NAME | tag:NAME | snapshot:ID
//! SUFFIX := ~N | @TIME
//! ```

#[cfg(feature = "alpha")]
mod alpha;
mod error;

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use icefield_core::{
    BranchName, RefsError, Repository, RepositoryBuilder, RepositoryError, Revision, Session,
    SnapshotId, Start, TagName,
};
use icefield_storage::Storage;
use jiff::Timestamp;

pub use error::RevisionError;

use crate::Error;

/// A version as people type it: `main`, `tag:v1`, `main~2`, `main@2015-03-01T00:00:00Z`, an id.
///
/// - A bare word is a branch; else, if there is none of that name, a tag; else a snapshot id.
/// - `branch:NAME`, `tag:NAME` and `snapshot:ID` say which.
/// - `~N` goes back N snapshots; `@TIME` (RFC 3339) goes back to the newest snapshot that is not younger. Several
///   of them apply from left to right: `main@2015-03-01T00:00:00Z~1` is the snapshot before the one of that time,
///   `main~1@2015-03-01T00:00:00Z` looks from the last but one on.
///
/// **Names that look like that.** Only a `~` followed by digits to the end, and an `@` followed by a time, are
/// suffixes: `a~b` and `a@b` are plain names. A ref whose name does end like a suffix, such as `x~3`, needs a
/// prefix: after `branch:` or `tag:` the longest name that exists wins, so `branch:x~3` is the branch `x~3` if there
/// is one, and otherwise three before `x`. A bare `x~3` is always three before `x`.
///
/// ```
/// use icefield::{BranchName, NodePath, RevisionSpec, WriteMode, committed};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), icefield::Error> {
/// let repository = icefield::create("memory:").await?;
/// let before = repository.resolve(&BranchName::main().into()).await?;
/// let session = repository.write_session(BranchName::main()).await?;
/// let group = r#"{"zarr_format": 3, "node_type": "group"}"#;
/// session.set_metadata(&NodePath::parse("/ocean")?, group.into(), WriteMode::Overwrite).await?;
/// committed(session.commit("a group").await?)?;
///
/// assert_eq!(RevisionSpec::parse("main~1")?.resolve(&repository).await?, before);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RevisionSpec {
    text: String,
    /// Readings in the order in which they are tried.
    readings: Vec<Reading>,
}

/// One way to read the text.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Reading {
    start: Word,
    suffixes: Vec<Suffix>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Word {
    Bare(String),
    Start(Start),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Suffix {
    Back(usize),
    At(Timestamp),
}

impl RevisionSpec {
    /// Reads a text. The repository is not asked: [`RevisionSpec::resolve`] tells whether the version exists.
    ///
    /// # Errors
    /// The text begins with no name or id, or its name or id breaks a rule.
    pub fn parse(text: &str) -> Result<Self, RevisionError> {
        let (prefix, rest) = match text.split_once(':') {
            Some((prefix @ ("branch" | "tag" | "snapshot"), rest)) => (Some(prefix), rest),
            _ => (None, text),
        };
        let mut splits = splits(rest);
        // The longest name first. A bare word, and an id, has no name that ends like a suffix.
        if !matches!(prefix, Some("branch" | "tag")) {
            splits.drain(..splits.len() - 1);
        }
        let readings = splits
            .into_iter()
            .map(|(name, suffixes)| {
                let start = word(text, prefix, name)?;
                Ok(Reading { start, suffixes })
            })
            .collect::<Result<Vec<_>, _>>()?;
        Ok(Self {
            text: text.to_owned(),
            readings,
        })
    }

    /// Finds the snapshot that the text means. A branch costs one read, a bare word that is a tag one more; `~N` and
    /// `@TIME` read the history as far as they go back.
    ///
    /// # Errors
    /// [`NotFound`](crate::ErrorKind::NotFound) if the ref or the snapshot does not exist, or the history is shorter
    /// than the steps back, and the errors of reading.
    pub async fn resolve(&self, repository: &Repository) -> Result<SnapshotId, Error> {
        self.resolve_from(repository, None).await
    }

    /// Opens a repository and a session that reads this version of it. A version that begins at a branch takes one
    /// round of requests fewer than the two apart, because the branch is read while the repository is opened. Whether a
    /// bare word is a tag or an id is asked only after that, one read for each.
    ///
    /// # Errors
    /// As [`Repository::open`] and [`RevisionSpec::resolve`].
    pub async fn open_session(
        &self,
        storage: Arc<dyn Storage>,
    ) -> Result<(Repository, Session), Error> {
        self.open_session_with(Repository::builder(storage)).await
    }

    /// As [`RevisionSpec::open_session`], with a repository that is opened as the builder says.
    ///
    /// # Errors
    /// As [`RevisionSpec::open_session`].
    pub async fn open_session_with(
        &self,
        builder: RepositoryBuilder,
    ) -> Result<(Repository, Session), Error> {
        let mut no_branch = None;
        if let Some(revision) = self.readings.first().and_then(Reading::at_a_branch) {
            match builder.clone().open_session(revision).await {
                Err(error) if is_no_such_ref(&error) => no_branch = Some(error),
                result => return Ok(result?),
            }
        }
        let repository = builder.open().await?;
        let id = self.resolve_from(&repository, no_branch).await?;
        let session = repository.read_session(id).await?;
        Ok((repository, session))
    }

    /// Finds the snapshot. With `no_branch`, that the first reading begins at no branch is known.
    async fn resolve_from(
        &self,
        repository: &Repository,
        mut no_branch: Option<RepositoryError>,
    ) -> Result<SnapshotId, Error> {
        let mut last = None;
        for reading in &self.readings {
            match reading.resolve(repository, no_branch.take()).await {
                Err(error) if is_no_such_ref(&error) => last = Some(error),
                result => return Ok(result?),
            }
        }
        Err(match last {
            Some(error) => error.into(),
            None => RevisionError::NoStart {
                text: self.text.clone(),
            }
            .into(),
        })
    }
}

impl RevisionSpec {
    /// Returns whether the text names this snapshot by its id, and not by a branch or tag that may point to it.
    pub fn is_of_snapshot(&self, id: SnapshotId) -> bool {
        (self.readings.iter()).any(|reading| match &reading.start {
            Word::Start(Start::Snapshot(named)) => *named == id,
            Word::Start(_) => false,
            Word::Bare(word) => word.parse() == Ok(id),
        })
    }
}

impl fmt::Display for RevisionSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl FromStr for RevisionSpec {
    type Err = RevisionError;

    fn from_str(text: &str) -> Result<Self, RevisionError> {
        Self::parse(text)
    }
}

impl From<Start> for RevisionSpec {
    fn from(start: Start) -> Self {
        let text = match &start {
            Start::Branch(name) => format!("branch:{name}"),
            Start::Tag(name) => format!("tag:{name}"),
            Start::Snapshot(id) => format!("snapshot:{id}"),
            other => format!("{other:?}"),
        };
        Self {
            text,
            readings: vec![Reading {
                start: Word::Start(start),
                suffixes: Vec::new(),
            }],
        }
    }
}

impl Reading {
    /// The same as one revision, if it begins at a branch, or at a word that may be one, and can be said as one.
    fn at_a_branch(&self) -> Option<Revision> {
        let branch = match &self.start {
            Word::Start(Start::Branch(name)) => name.clone(),
            Word::Start(_) => return None,
            Word::Bare(word) => BranchName::parse(word).ok()?,
        };
        let mut revision = Revision::from(branch);
        for suffix in &self.suffixes {
            revision = match suffix {
                Suffix::Back(steps) => revision.back(*steps),
                Suffix::At(time) if revision.back == 0 && revision.as_of.is_none() => {
                    revision.at((*time).into())
                }
                Suffix::At(_) => return None,
            };
        }
        Some(revision)
    }

    async fn resolve(
        &self,
        repository: &Repository,
        no_branch: Option<RepositoryError>,
    ) -> Result<SnapshotId, RepositoryError> {
        let word = match (&self.start, no_branch) {
            (Word::Start(_), Some(absent)) => return Err(absent),
            (Word::Start(start), None) => return self.follow(start.clone(), repository).await,
            (Word::Bare(word), Some(absent)) => {
                return self.tag_or_id(word, repository, absent).await;
            }
            (Word::Bare(word), None) => word,
        };
        // Each ref is read where its snapshot is needed, not once more to see whether it is there.
        let branch = BranchName::parse(word).map_err(RefsError::from)?;
        match self.follow(Start::Branch(branch), repository).await {
            Err(absent) if is_no_such_ref(&absent) => {
                self.tag_or_id(word, repository, absent).await
            }
            found => found,
        }
    }

    /// Resolves a bare word that is no branch; `absent` is the error if it is no tag or id either.
    async fn tag_or_id(
        &self,
        word: &str,
        repository: &Repository,
        absent: RepositoryError,
    ) -> Result<SnapshotId, RepositoryError> {
        let tag = TagName::parse(word).map_err(RefsError::from)?;
        match self.follow(Start::Tag(tag), repository).await {
            Err(error) if is_no_such_ref(&error) => {}
            found => return found,
        }
        match word.parse() {
            Ok(id) => self.follow(Start::Snapshot(id), repository).await,
            Err(_) => Err(absent),
        }
    }

    /// Goes from a start to where the suffixes lead.
    async fn follow(
        &self,
        start: Start,
        repository: &Repository,
    ) -> Result<SnapshotId, RepositoryError> {
        let mut revision = Revision::from(start);
        for suffix in &self.suffixes {
            // A revision goes to a time first and then back. In any other order it takes two.
            let revised = match suffix {
                Suffix::Back(steps) => {
                    revision = revision.back(*steps);
                    continue;
                }
                Suffix::At(time) if revision.back == 0 && revision.as_of.is_none() => {
                    revision.at((*time).into())
                }
                Suffix::At(time) => {
                    let id = repository.resolve(&revision).await?;
                    Revision::from(id).at((*time).into())
                }
            };
            revision = revised;
        }
        repository.resolve(&revision).await
    }
}

fn is_no_such_ref(error: &RepositoryError) -> bool {
    matches!(
        error,
        RepositoryError::Refs(
            RefsError::BranchNotFound(_) | RefsError::TagNotFound(_) | RefsError::TagDeleted(_)
        )
    )
}

fn word(text: &str, prefix: Option<&str>, name: &str) -> Result<Word, RevisionError> {
    let name_error = |source| RevisionError::Name {
        text: text.to_owned(),
        source,
    };
    if name.is_empty() && prefix.is_none() {
        return Err(RevisionError::NoStart {
            text: text.to_owned(),
        });
    }
    Ok(match prefix {
        None => {
            BranchName::parse(name).map_err(name_error)?;
            Word::Bare(name.to_owned())
        }
        Some("branch") => Word::Start(Start::Branch(BranchName::parse(name).map_err(name_error)?)),
        Some("tag") => Word::Start(Start::Tag(TagName::parse(name).map_err(name_error)?)),
        Some(_) => Word::Start(Start::Snapshot(name.parse().map_err(|source| {
            RevisionError::Id {
                text: text.to_owned(),
                source,
            }
        })?)),
    })
}

/// All ways to split a text into a name and suffixes, the longest name first.
fn splits(text: &str) -> Vec<(&str, Vec<Suffix>)> {
    let mut all = vec![(text, Vec::new())];
    let (mut name, mut suffixes) = (text, Vec::new());
    while let Some((shorter, suffix)) = split_last(name) {
        name = shorter;
        suffixes.insert(0, suffix);
        all.push((name, suffixes.clone()));
    }
    all
}

fn split_last(text: &str) -> Option<(&str, Suffix)> {
    let at = text.rfind(['~', '@'])?;
    let (name, suffix) = (&text[..at], &text[at + 1..]);
    let suffix = match text.as_bytes()[at] {
        b'~' if suffix.bytes().all(|byte| byte.is_ascii_digit()) => {
            Suffix::Back(suffix.parse().ok()?)
        }
        b'@' => Suffix::At(suffix.parse().ok()?),
        _ => return None,
    };
    Some((name, suffix))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn readings(text: &str) -> Vec<(String, usize)> {
        let spec = RevisionSpec::parse(text).expect(text);
        let shown = |reading: Reading| match reading.start {
            Word::Bare(word) => (word, reading.suffixes.len()),
            Word::Start(start) => (format!("{start:?}"), reading.suffixes.len()),
        };
        spec.readings.into_iter().map(shown).collect()
    }

    fn bare(word: &str, suffixes: usize) -> Vec<(String, usize)> {
        vec![(word.to_owned(), suffixes)]
    }

    #[test]
    fn suffixes_end_a_bare_word() {
        assert_eq!(readings("main"), bare("main", 0));
        assert_eq!(readings("main~0"), bare("main", 1));
        assert_eq!(readings("main~12"), bare("main", 1));
        assert_eq!(readings("main@2015-01-16T00:00:00Z"), bare("main", 1));
        assert_eq!(
            readings("main@2015-01-16T00:00:00.123456+01:00~2"),
            bare("main", 2)
        );
        assert_eq!(readings("main~1@2015-01-16T00:00:00Z~2"), bare("main", 3));
    }

    #[test]
    fn what_is_no_suffix_belongs_to_the_name() {
        for name in [
            "é~%#",
            "a:b@c=d",
            "2015-01-16T00:00:00Z",
            "main~",
            "main~x",
            "main@",
            "main@2015-01-16",
            "x~99999999999999999999999",
            "tags:x",
        ] {
            assert_eq!(readings(name), bare(name, 0), "{name}");
        }
    }

    #[test]
    fn after_a_prefix_the_longest_name_comes_first() {
        let text = readings("branch:x~3~1");
        let shown: Vec<_> = text.iter().map(|(start, n)| (start.as_str(), *n)).collect();
        assert_eq!(
            shown,
            [
                (r#"Branch("x~3~1")"#, 0),
                (r#"Branch("x~3")"#, 1),
                (r#"Branch("x")"#, 2)
            ]
        );
        assert_eq!(readings("tag:v1"), bare(r#"Tag("v1")"#, 0));
        assert_eq!(readings("branch:tag:x"), bare(r#"Branch("tag:x")"#, 0));
        let id = SnapshotId::INITIAL;
        assert_eq!(
            readings(&format!("snapshot:{id}~1")),
            bare(&format!("Snapshot({id:?})"), 1)
        );
    }

    #[test]
    fn nonsense_is_refused() {
        let refused = |text: &str| RevisionSpec::parse(text).expect_err(text);
        for text in ["", "~1", "@2015-01-16T00:00:00Z"] {
            assert!(
                matches!(refused(text), RevisionError::NoStart { .. }),
                "{text}"
            );
        }
        assert!(matches!(refused("snapshot:xyz"), RevisionError::Id { .. }));
    }
}
