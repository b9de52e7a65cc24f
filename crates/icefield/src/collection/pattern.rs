//! Patterns for names below a place.

use std::path::{Path, PathBuf};

use glob::MatchOptions;
use icefield_format::encoded_key;

use crate::location::{decode, scheme_of, without_options};
use crate::{Error, Location, LocationError, SourceLocation};

/// How names are matched: as shells do it.
const OPTIONS: MatchOptions = MatchOptions {
    case_sensitive: true,
    require_literal_separator: true,
    require_literal_leading_dot: true,
};

/// A pattern: a place without wildcards, and what the names below it are matched against.
#[derive(Clone, Debug)]
pub(super) struct Pattern {
    /// As it was written, without options.
    pub(super) text: String,
    pub(super) base: SourceLocation,
    segments: Vec<Segment>,
}

#[derive(Clone, Debug, PartialEq)]
enum Segment {
    /// `**`: any directories.
    Directories,
    Name(glob::Pattern),
}

impl Segment {
    fn is_match(&self, name: &str) -> bool {
        match self {
            Self::Directories => !name.starts_with('.'),
            Self::Name(pattern) => pattern.matches_with(name, OPTIONS),
        }
    }
}

/// A place, and the parts of a text behind it.
struct Parts<'a> {
    /// `s3://bucket/`, `/`, or nothing.
    root: &'a str,
    path: &'a str,
    /// Options and a fragment.
    rest: &'a str,
    is_encoded: bool,
}

impl<'a> Parts<'a> {
    fn of(text: &'a str) -> Self {
        if scheme_of(text).is_none() {
            let path = text.trim_start_matches('/');
            return Self {
                root: &text[..text.len() - path.len()],
                path,
                rest: "",
                is_encoded: false,
            };
        }
        let fragment = text.find('#').unwrap_or(text.len());
        let options = options_at(&text[..fragment]).unwrap_or(fragment);
        let place = &text[..options];
        let host = place.find("://").map_or(place.len(), |at| at + 3);
        let root = place[host..]
            .find('/')
            .map_or(place.len(), |at| host + at + 1);
        Self {
            root: &text[..root],
            path: &text[root..options],
            rest: &text[options..],
            is_encoded: true,
        }
    }
}

/// Options of locations that need no value.
const SWITCHES: [&str; 4] = ["anonymous", "path_style", "sort_lists", "trust_conditions"];

/// Where the options of a URL begin: at its last question mark, if what follows are names with values, or switches.
fn options_at(url: &str) -> Option<usize> {
    let (place, options) = url.rsplit_once('?')?;
    let is_option = |pair: &str| match pair.split_once('=') {
        Some((name, _)) => !name.is_empty() && !name.contains(['/', '*', '[']),
        None => SWITCHES.contains(&pair),
    };
    options.split('&').all(is_option).then_some(place.len())
}

fn is_wild(segment: &str) -> bool {
    segment.contains(['*', '?', '['])
}

impl Pattern {
    /// Reads a pattern; `None` for a text without wildcards.
    pub(super) fn parse(text: &str) -> Option<Result<Self, LocationError>> {
        let parts = Parts::of(text);
        let mut segments = parts.path.split('/').filter(|segment| !segment.is_empty());
        let mut place: Vec<&str> = Vec::new();
        let first = loop {
            let segment = segments.next()?;
            if is_wild(segment) {
                break segment;
            }
            place.push(segment);
        };
        let wild: Vec<&str> = std::iter::once(first).chain(segments).collect();
        Some(Self::of(text, &parts, &place, &wild))
    }

    fn of(
        text: &str,
        parts: &Parts<'_>,
        place: &[&str],
        wild: &[&str],
    ) -> Result<Self, LocationError> {
        let shown = without_options(&text[..text.len() - parts.rest.len()]);
        let rule = |problem: String| LocationError::Rule {
            url: shown.to_owned(),
            problem,
        };
        let base = match parts.is_encoded {
            true => {
                let place = place.join("/");
                let root = match place.is_empty() && !parts.root.ends_with("///") {
                    true => parts.root.trim_end_matches('/'),
                    false => parts.root,
                };
                SourceLocation::parse(&format!("{root}{place}{}", parts.rest))?
            }
            false => {
                let path = PathBuf::from(format!("{}{}", parts.root, place.join("/")));
                SourceLocation::from(Location::of_path(path))
            }
        };
        let mut segments: Vec<Segment> = Vec::new();
        for segment in wild {
            if *segment == "**" {
                if segments.last() != Some(&Segment::Directories) {
                    segments.push(Segment::Directories);
                }
                continue;
            }
            let segment = match parts.is_encoded {
                true => decoded(segment).map_err(|problem| rule(problem.to_owned()))?,
                false => (*segment).to_owned(),
            };
            if matches!(&*segment, "." | "..") {
                let problem =
                    format!("is a pattern with {segment:?} behind a wildcard: leave it out");
                return Err(rule(problem));
            }
            let name = glob::Pattern::new(&segment).map_err(|error| {
                rule(format!(
                    "is no pattern ({}): write [*], [?] and [[] for such characters in a name",
                    error.msg
                ))
            })?;
            segments.push(Segment::Name(name));
        }
        if segments.last() == Some(&Segment::Directories) {
            let all = glob::Pattern::new("*").unwrap_or_default();
            segments.push(Segment::Name(all));
        }
        Ok(Self {
            text: shown.to_owned(),
            base,
            segments,
        })
    }

    /// Whether links to directories are not followed: they may lead in circles.
    pub(super) fn is_deep(&self) -> bool {
        self.segments.contains(&Segment::Directories)
    }

    /// Whether names below the base, from the top, match.
    pub(super) fn is_match(&self, names: &[impl AsRef<str>]) -> bool {
        fits(&self.segments, names, false)
    }

    /// Whether something below a directory can match.
    pub(super) fn leads_on(&self, names: &[impl AsRef<str>]) -> bool {
        fits(&self.segments, names, true)
    }

    /// The source under names below the base.
    pub(super) fn source(&self, names: &[String]) -> Result<SourceLocation, Error> {
        let base = &self.base.location;
        let location = match base.path() {
            Some(path) => Location::of_path(
                names
                    .iter()
                    .fold(path.to_owned(), |path, name| Path::join(&path, name)),
            ),
            None => {
                let text = base.as_str();
                let (place, options) = text.split_at(text.find('?').unwrap_or(text.len()));
                let key = encoded_key(&names.join("/"));
                Location::parse(&format!("{}/{key}{options}", place.trim_end_matches('/')))?
            }
        };
        Ok(SourceLocation {
            location,
            options: self.base.options,
        })
    }
}

/// Whether names match; with `more`, whether they do with others behind them.
fn fits(segments: &[Segment], names: &[impl AsRef<str>], more: bool) -> bool {
    match (segments.split_first(), names.split_first()) {
        (None, None) => !more,
        (None, Some(_)) => false,
        (Some(_), None) => more,
        (Some((Segment::Directories, rest)), Some((name, others))) => {
            fits(rest, names, more)
                || (Segment::Directories.is_match(name.as_ref()) && fits(segments, others, more))
        }
        (Some((segment, rest)), Some((name, others))) => {
            segment.is_match(name.as_ref()) && fits(rest, others, more)
        }
    }
}

/// Decodes a segment of a URL. An encoded character is no wildcard.
fn decoded(segment: &str) -> Result<String, &'static str> {
    let mut pattern = String::new();
    let mut rest = segment;
    while let Some(at) = rest.find('%') {
        // Several of them may be one character.
        let mut end = at;
        while rest.get(end..).is_some_and(|rest| rest.starts_with('%')) {
            end += 3;
        }
        let (encoded, behind) = match (rest.get(at..end), rest.get(end..)) {
            (Some(encoded), Some(behind)) => (encoded, behind),
            _ => return Err("has a `%` that is not followed by two hexadecimal digits"),
        };
        pattern.push_str(&rest[..at]);
        pattern.push_str(&glob::Pattern::escape(&decode(encoded)?));
        rest = behind;
    }
    pattern.push_str(rest);
    Ok(pattern)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(text: &str) -> Pattern {
        let pattern = Pattern::parse(text).expect("a pattern");
        pattern.expect("a valid one")
    }

    fn names(path: &str) -> Vec<&str> {
        path.split('/').collect()
    }

    #[test]
    fn names_match_as_in_shells() {
        for (text, path, is_match) in [
            ("*.nc", "a.nc", true),
            ("*.nc", ".a.nc", false),
            (".*.nc", ".a.nc", true),
            ("*.nc", "x/a.nc", false),
            ("x/??.nc", "12.nc", true),
            ("x/??.nc", "1.nc", false),
            ("[ab]*.nc", "b1.nc", true),
            ("[!ab]*.nc", "b1.nc", false),
            ("**/*.nc", "a.nc", true),
            ("**/*.nc", "1/2/3/a.nc", true),
            ("**/*.nc", "1/.2/a.nc", false),
            ("2*/**/x.nc", "2020/x.nc", true),
            ("2*/**/x.nc", "2020/1/2/x.nc", true),
            ("2*/**/x.nc", "1/2020/x.nc", false),
            ("d/**", "x/y", true),
            ("*/x/*.nc", "q/x/a.nc", true),
            ("*/x/*.nc", "q/y/a.nc", false),
        ] {
            assert_eq!(
                pattern(text).is_match(&names(path)),
                is_match,
                "{text} {path}"
            );
        }
    }

    #[test]
    fn only_directories_that_lead_on_are_looked_into() {
        for (text, path, leads_on) in [
            ("*/x/*.nc", "q", true),
            ("*/x/*.nc", "q/y", false),
            ("*/x/*.nc", "q/x/z", false),
            ("**/x.nc", "a/b/c", true),
            ("*.nc", "a", false),
        ] {
            assert_eq!(
                pattern(text).leads_on(&names(path)),
                leads_on,
                "{text} {path}"
            );
        }
    }

    #[test]
    fn a_pattern_begins_where_the_first_wildcard_is() {
        for (text, base, found, source) in [
            ("*.nc", "", "a.nc", "a.nc"),
            ("/data/2*/x.nc", "/data", "2020/x.nc", "/data/2020/x.nc"),
            ("../d/*.nc", "../d", "a.nc", "../d/a.nc"),
            ("s3://b/*.nc", "s3://b", "a b.nc", "s3://b/a%20b.nc"),
            (
                "s3://b/x/[12]?.nc?region=x&anonymous=true",
                "s3://b/x?region=x&anonymous=true",
                "1a.nc",
                "s3://b/x/1a.nc?region=x&anonymous=true",
            ),
            (
                "https://h:8/d/?.nc",
                "https://h:8/d",
                "a.nc",
                "https://h:8/d/a.nc",
            ),
            (
                "gs://b/d%20e/*/",
                "gs://b/d%20e",
                "x.zarr",
                "gs://b/d%20e/x.zarr",
            ),
        ] {
            let pattern = pattern(text);
            assert_eq!(pattern.base.location.as_str(), base, "{text}");
            let found: Vec<String> = found.split('/').map(str::to_owned).collect();
            assert!(pattern.is_match(&found), "{text}");
            let location = pattern.source(&found).expect("a source").location;
            assert_eq!(location.as_str(), source, "{text}");
        }
        let pattern = pattern("file:///d%20e/*.zarr");
        assert_eq!(pattern.base.location.path(), Some(Path::new("/d e")));
    }

    #[test]
    fn what_is_encoded_is_no_wildcard() {
        let pattern = pattern("s3://b/%5B*%2A%C3%BC.nc");
        assert!(pattern.is_match(&["[x*ü.nc"]));
        assert!(!pattern.is_match(&["[xyü.nc"]));
    }

    #[test]
    fn what_has_no_wildcard_or_a_wrong_one_is_no_pattern() {
        assert!(Pattern::parse("s3://b/x.nc?region=x").is_none());
        assert!(Pattern::parse("a.nc").is_none());
        for wrong in ["a[.nc", "*/../x", "x**.nc", "s3://b/%zz*"] {
            let parsed = Pattern::parse(wrong).expect("wildcards");
            assert!(parsed.is_err(), "{wrong}");
        }
    }
}
