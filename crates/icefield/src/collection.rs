//! Collections: sources by patterns, wherever they lie. One name may stand for thousands of files.

mod local;
mod objects;
mod pattern;
mod web;

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;

use icefield_storage::{Key, StorageError};

use self::pattern::Pattern;
use crate::{Error, ErrorKind, Location, LocationError, Schemes, SourceLocation};

/// Names that one pattern may stand for.
const MOST: usize = 1_000_000;

/// Documents by which a directory is known for a Zarr hierarchy.
const DOCUMENTS: [&str; 4] = ["zarr.json", ".zgroup", ".zarray", ".zmetadata"];

/// The name of one source, or a pattern for the names of several.
///
/// `*` stands for any characters of a name, `?` for one, `[a-c]` for one of some, and `**` for any directories. A
/// pattern begins behind the bucket or the server, and names that begin with a dot match only what begins with one. In
/// a URL, the text that follows the last `?` is an option if it has the form `name=value`.
///
/// [`Schemes::expand`] turns names into the sources that exist.
#[derive(Clone, Debug)]
pub struct SourceName {
    text: String,
    /// The name taken literally, if that is possible.
    literal: Option<SourceLocation>,
    pattern: Option<Pattern>,
}

impl SourceName {
    /// Reads a name. Nothing is looked up.
    ///
    /// # Errors
    /// The text is no location and no pattern.
    pub fn parse(text: &str) -> Result<Self, LocationError> {
        let literal = SourceLocation::parse(text);
        let pattern = Pattern::parse(text);
        let (literal, pattern) = match (literal, pattern) {
            (literal, None) => (Some(literal?), None),
            (Ok(literal), Some(Err(_))) => (Some(literal), None),
            (literal, Some(pattern)) => (literal.ok(), Some(pattern?)),
        };
        Ok(Self {
            text: text.to_owned(),
            literal,
            pattern,
        })
    }

    /// Returns the text as it was given.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

/// Returns a short text that identifies a list of sources, in this order. An import records it, and continues only
/// under the same one. Options of URLs are no part of it.
pub fn import_name(names: &[SourceName]) -> String {
    let plain = |name: &SourceName| match name.text.contains("://") {
        true => crate::location::without_options(&name.text).to_owned(),
        false => name.text.clone(),
    };
    let mut hasher = DefaultHasher::new();
    names.iter().for_each(|name| plain(name).hash(&mut hasher));
    let first = names.first().map(plain).unwrap_or_default();
    match names.len() {
        0 | 1 => first,
        more => format!("{first} and {} more ({:016x})", more - 1, hasher.finish()),
    }
}

/// Returns the names in a text with one name on each line, trimmed. Empty lines and lines that begin with `#` are left
/// out.
///
/// ```
/// let names: Vec<_> = icefield::names_in("# 2015\na.nc\n\n  b.nc\n").collect();
/// assert_eq!(names, ["a.nc", "b.nc"]);
/// ```
pub fn names_in(text: &str) -> impl Iterator<Item = &str> {
    let lines = text.lines().map(str::trim);
    lines.filter(|line| !line.is_empty() && !line.starts_with('#'))
}

impl Schemes {
    /// Returns the sources that names stand for: those of a pattern sorted by their names, and all in the order of the
    /// names. A file that exists wins over its name as a pattern. A directory is a source only if it is a Zarr
    /// hierarchy, and the files inside that hierarchy are no sources.
    ///
    /// Patterns are matched against the directories of the local disk, the lists of a bucket, and the pages on which a
    /// web server lists its directories.
    ///
    /// # Errors
    /// [`NotFound`](ErrorKind::NotFound) for a pattern that matches nothing, [`Invalid`](ErrorKind::Invalid) for a
    /// source that a pattern matches and that another name stands for, too, and the errors of the stores.
    pub async fn expand(&self, names: &[SourceName]) -> Result<Vec<SourceLocation>, Error> {
        let mut sources = Vec::new();
        let mut named: HashMap<String, &SourceName> = HashMap::new();
        for name in names {
            for source in self.expanded(name).await? {
                // A source that is named twice without a pattern is meant so.
                if let Some(before) = named.insert(identity(&source), name)
                    && (before.pattern.is_some() || name.pattern.is_some())
                {
                    return Err(twice(&source, &before.text, &name.text));
                }
                sources.push(source);
            }
        }
        Ok(sources)
    }

    async fn expanded(&self, name: &SourceName) -> Result<Vec<SourceLocation>, Error> {
        let (pattern, literal) = match (&name.pattern, &name.literal) {
            (None, literal) => return Ok(literal.iter().cloned().collect()),
            (Some(pattern), literal) => (pattern, literal),
        };
        if let Some(literal) = literal
            && self.is_there(literal).await
        {
            return Ok(vec![literal.clone()]);
        }
        let found = match pattern.base.location.path() {
            Some(path) => local::found(path.to_owned(), pattern.clone()).await?,
            None => match web::found(self, pattern).await? {
                Some(found) => found,
                None => objects::found(self, pattern).await?,
            },
        };
        if found.is_empty() {
            let problem = format!(
                "no file and no Zarr hierarchy matches {:?}: look at the names there, or put what is meant literally in brackets, as [*]",
                name.text
            );
            return Err(Error::new(ErrorKind::NotFound, problem));
        }
        found.iter().map(|names| pattern.source(names)).collect()
    }

    /// Whether there is a file under a name that looks like a pattern.
    async fn is_there(&self, source: &SourceLocation) -> bool {
        if let Some(path) = source.location.path() {
            return path.symlink_metadata().is_ok();
        }
        let Ok((folder, name)) = folder_of(&source.location) else {
            return false;
        };
        let Ok(key) = Key::parse(&name).map_err(StorageError::from) else {
            return false;
        };
        match self.storage(&folder).await {
            Ok(storage) => storage.head(&key).await.is_ok(),
            Err(_) => false,
        }
    }
}

/// The folder of something in a store, and its name.
pub(crate) fn folder_of(location: &Location) -> Result<(Location, String), LocationError> {
    let text = location.as_str();
    let (place, options) = match text.split_once('?') {
        Some((place, options)) => (place, format!("?{options}")),
        None => (text, String::new()),
    };
    let place = place.trim_end_matches('/');
    let wrong = |problem: &str| LocationError::Rule {
        url: crate::location::without_options(place).to_owned(),
        problem: problem.to_owned(),
    };
    let (scheme, rest) = place
        .split_once("://")
        .ok_or_else(|| wrong("names no file to import"))?;
    let (folder, name) = rest
        .rsplit_once('/')
        .ok_or_else(|| wrong("names no file to import"))?;
    let name = crate::location::decode(name).map_err(wrong)?;
    Ok((
        Location::parse(&format!("{scheme}://{folder}{options}"))?,
        name,
    ))
}

/// A text that is the same for the same source.
fn identity(source: &SourceLocation) -> String {
    let location = &source.location;
    match location.path().map(Path::canonicalize) {
        Some(Ok(path)) => path.display().to_string(),
        _ => location.as_str().to_owned(),
    }
}

fn twice(source: &SourceLocation, before: &str, again: &str) -> Error {
    let source = source.location.to_string();
    let source = crate::location::without_options(&source);
    let by = match before == again {
        true => format!("by {before:?}"),
        false => format!("by {before:?} and by {again:?}"),
    };
    Error::new(
        ErrorKind::Invalid,
        format!("{source:?} is named twice, {by}: name each source once"),
    )
}

/// Whether the last of some names is that of a document, so that the others are those of a Zarr hierarchy.
fn is_document(names: &[&str]) -> bool {
    names.len() > 1 && names.last().is_some_and(|name| DOCUMENTS.contains(name))
}

/// Sorts what was found, and leaves out what lies in a hierarchy.
fn settled(mut found: Vec<Vec<String>>, hierarchies: Vec<Vec<String>>) -> Vec<Vec<String>> {
    let all: std::collections::BTreeSet<Vec<String>> = hierarchies.into_iter().collect();
    let is_within =
        |names: &[String]| (1..names.len()).any(|length| all.contains(&names[..length]));
    found.retain(|names| !is_within(names));
    let outer = all.iter().filter(|names| !is_within(names)).cloned();
    found.extend(outer);
    found.sort();
    found
}

/// The error of a pattern that stands for too much.
fn too_many(pattern: &Pattern) -> Error {
    let problem = format!(
        "{:?} stands for more than {MOST} names: import them in parts",
        pattern.text
    );
    Error::new(ErrorKind::Invalid, problem)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_names_have_comments_and_empty_lines() {
        let text = "a.nc\n\n  b c.nc  \r\n# not this\n#nor this\ns3://b/x#1.nc\n";
        let names: Vec<&str> = names_in(text).collect();
        assert_eq!(names, ["a.nc", "b c.nc", "s3://b/x#1.nc"]);
    }

    #[test]
    fn what_lies_in_a_hierarchy_is_no_source() {
        let names = |text: &str| text.split('/').map(str::to_owned).collect::<Vec<_>>();
        let found = ["b.nc", "x.zarr/c/0", "a/y.zarr/zarr.json", "a/z"].map(names);
        let hierarchies = ["x.zarr", "x.zarr/a", "a/y.zarr"].map(names);
        let settled = settled(found.to_vec(), hierarchies.to_vec());
        let settled: Vec<String> = settled.iter().map(|it| it.join("/")).collect();
        assert_eq!(settled, ["a/y.zarr", "a/z", "b.nc", "x.zarr"]);
    }
}
