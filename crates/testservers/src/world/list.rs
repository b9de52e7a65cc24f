//! One page of a listing: byte order, delimiters, and where the next page begins.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::StoredObject;

/// The parameters of a page.
#[derive(Clone, Debug, Default)]
pub struct ListQuery {
    /// Keys must begin with this.
    pub prefix: String,
    /// Keys that share what comes before this, after the prefix, count as one common prefix.
    pub delimiter: Option<String>,
    /// Where to begin.
    pub start: Option<Cursor>,
    /// Keys at or after this are left out.
    pub end: Option<String>,
    /// At most so many keys and common prefixes together.
    pub limit: usize,
}

/// A place in a listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cursor {
    /// At this key.
    At(String),
    /// After this key.
    After(String),
    /// After all keys that begin with this.
    AfterPrefix(String),
}

/// One page.
#[derive(Clone, Debug, Default)]
pub struct Listing {
    /// Objects in byte order of their keys.
    pub objects: Vec<(String, Arc<StoredObject>)>,
    /// Common prefixes in byte order.
    pub prefixes: Vec<String>,
    /// Where the next page begins, if there is one.
    pub next: Option<Cursor>,
}

impl Cursor {
    /// Returns the cursor as an opaque token.
    pub(crate) fn token(&self) -> String {
        let text = match self {
            Self::At(key) => format!("@{key}"),
            Self::After(key) => format!(">{key}"),
            Self::AfterPrefix(prefix) => format!("}}{prefix}"),
        };
        URL_SAFE_NO_PAD.encode(text)
    }

    /// Reads a token, `None` if it is none of ours.
    pub(crate) fn from_token(token: &str) -> Option<Self> {
        let text = String::from_utf8(URL_SAFE_NO_PAD.decode(token).ok()?).ok()?;
        let rest = text.get(1..)?.to_owned();
        match text.chars().next()? {
            '@' => Some(Self::At(rest)),
            '>' => Some(Self::After(rest)),
            '}' => Some(Self::AfterPrefix(rest)),
            _ => None,
        }
    }
}

/// Lists one page of `objects`.
pub(crate) fn page(objects: &BTreeMap<String, Arc<StoredObject>>, query: &ListQuery) -> Listing {
    let mut listing = Listing::default();
    let mut last: Option<Cursor> = None;
    let from = match &query.start {
        Some(Cursor::After(key)) if *key >= query.prefix => Bound::Excluded(key.as_str()),
        Some(Cursor::At(key) | Cursor::AfterPrefix(key)) if *key >= query.prefix => {
            Bound::Included(key.as_str())
        }
        _ => Bound::Included(query.prefix.as_str()),
    };
    for (key, object) in objects.range::<str, _>((from, Bound::Unbounded)) {
        if !key.starts_with(&query.prefix) || query.end.as_ref().is_some_and(|end| key >= end) {
            break;
        }
        if let Some(Cursor::AfterPrefix(done)) = &query.start
            && key.starts_with(done)
        {
            continue;
        }
        let common = common_prefix(key, query);
        if common.is_some() && common.as_deref() == listing.prefixes.last().map(String::as_str) {
            continue;
        }
        if listing.objects.len() + listing.prefixes.len() == query.limit {
            listing.next = last;
            break;
        }
        if let Some(prefix) = common {
            last = Some(Cursor::AfterPrefix(prefix.clone()));
            listing.prefixes.push(prefix);
        } else {
            last = Some(Cursor::After(key.clone()));
            listing.objects.push((key.clone(), Arc::clone(object)));
        }
    }
    listing
}

fn common_prefix(key: &str, query: &ListQuery) -> Option<String> {
    let delimiter = query.delimiter.as_deref().filter(|it| !it.is_empty())?;
    let rest = &key[query.prefix.len()..];
    let end = rest.find(delimiter)? + delimiter.len();
    Some(key[..query.prefix.len() + end].to_owned())
}
