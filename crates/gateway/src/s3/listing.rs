//! Lists of keys, in the order of their bytes, a page at a time.

use std::time::SystemTime;

use super::pages::{entries_of_view, prefixes_of_view};
use crate::failure::Failure;
use crate::mount::Mount;
use crate::route::View;
use crate::target::Target;
use crate::versions::{Freshness, Version};

/// Keys of one page.
const PAGE: usize = 1000;

/// A request for a list of keys.
#[derive(Clone, Debug, Default)]
pub(crate) struct ListRequest {
    /// Whether it is the second version of the request.
    pub(crate) is_v2: bool,
    pub(crate) prefix: String,
    pub(crate) has_delimiter: bool,
    pub(crate) max_keys: usize,
    pub(crate) is_encoded: bool,
    /// The key behind which it begins, as the client named it.
    pub(crate) after: String,
    /// The same, as an earlier page named it.
    pub(crate) token: Option<String>,
}

impl ListRequest {
    pub(crate) fn of(target: &Target) -> Result<Self, Failure> {
        let is_v2 = target.parameter("list-type") == Some("2");
        let text = |name: &str| target.parameter(name).unwrap_or_default().to_owned();
        let max_keys = match target.parameter("max-keys") {
            None => PAGE,
            Some(text) => text
                .parse()
                .map_err(|_| Failure::bad_request("max-keys is no number"))?,
        };
        let delimiter = target.parameter("delimiter").unwrap_or_default();
        if !["", "/"].contains(&delimiter) {
            return Err(Failure::bad_request("the delimiter is `/`"));
        }
        let token = match target.parameter("continuation-token") {
            None => None,
            Some(token) => Some(key_of_token(token).ok_or_else(|| {
                Failure::bad_request("the continuation-token is none of this server")
            })?),
        };
        Ok(Self {
            is_v2,
            prefix: text("prefix"),
            has_delimiter: delimiter == "/",
            max_keys: max_keys.min(PAGE),
            is_encoded: target.parameter("encoding-type") == Some("url"),
            after: text(if is_v2 { "start-after" } else { "marker" }),
            token,
        })
    }

    /// Where the page begins: behind this key or prefix.
    fn begins_after(&self) -> &str {
        self.token
            .as_deref()
            .filter(|_| self.is_v2)
            .unwrap_or(&self.after)
    }
}

/// A key, or all keys with a common beginning up to a slash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Entry {
    Object {
        key: String,
        size: u64,
        tag: String,
        modified: String,
    },
    Prefix(String),
}

/// A page of a list.
#[derive(Clone, Debug, Default)]
pub(crate) struct Page {
    pub(crate) entries: Vec<Entry>,
    /// The last key of this page, if there are more.
    pub(crate) next: Option<String>,
}

/// Lists keys.
pub(crate) async fn list(mount: &Mount, view: View, wanted: &ListRequest) -> Result<Page, Failure> {
    let mut names = Vec::new();
    match wanted.prefix.split_once('/') {
        None => {
            for name in ref_names(mount).await? {
                if !name.starts_with(&wanted.prefix) {
                    continue;
                }
                if wanted.has_delimiter {
                    names.push(format!("{name}/"));
                    continue;
                }
                let start = format!("{name}/");
                if is_before(&start, wanted.begins_after()) {
                    continue;
                }
                add_keys(mount, view, &name, "", wanted, &mut names).await?;
                if names.len() > wanted.max_keys {
                    break;
                }
            }
        }
        Some((version, rest)) => add_keys(mount, view, version, rest, wanted, &mut names).await?,
    }
    let after = wanted.begins_after();
    names.retain(|name| name.as_str() > after);
    let is_truncated = names.len() > wanted.max_keys;
    names.truncate(wanted.max_keys);
    let next = is_truncated.then(|| names.last().cloned()).flatten();
    let mut entries = Vec::with_capacity(names.len());
    for name in names {
        entries.extend(describe(mount, view, name).await?);
    }
    Ok(Page { entries, next })
}

/// Whether all keys with a beginning come before a key.
fn is_before(start: &str, after: &str) -> bool {
    after > start && !after.starts_with(start)
}

/// The names of refs as segments of keys, in the order of the keys.
async fn ref_names(mount: &Mount) -> Result<Vec<String>, Failure> {
    let refs = mount.repository().refs().await.map_err(Failure::of_read)?;
    let branches = refs.branches.keys().map(|name| name.as_str().to_owned());
    let tags = refs
        .tags
        .keys()
        .map(|name| format!("tag:{}", name.as_str()));
    let mut names: Vec<String> = branches
        .chain(tags)
        .filter(|name| !name.contains('/'))
        .collect();
    // In the order of their keys: `a-b/` comes before `a/`.
    names.sort_by_cached_key(|name| format!("{name}/"));
    Ok(names)
}

/// Adds keys and prefixes of one version that begin with `rest`, at least one more than fit on the page if there are more.
async fn add_keys(
    mount: &Mount,
    view: View,
    name: &str,
    rest: &str,
    wanted: &ListRequest,
    names: &mut Vec<String>,
) -> Result<(), Failure> {
    let version = match mount.versions.find(name, Freshness::Now).await {
        Ok(version) => version,
        Err(failure) if failure.status == http::StatusCode::NOT_FOUND => return Ok(()),
        Err(failure) => return Err(failure),
    };
    let start = format!("{name}/");
    let after = wanted
        .begins_after()
        .strip_prefix(&start)
        .unwrap_or_default();
    let room = (wanted.max_keys + 1).saturating_sub(names.len());
    let found = match wanted.has_delimiter {
        true => prefixes_of_view(mount, view, &version, rest).await?,
        false => entries_of_view(mount, view, &version, rest, after, room).await?,
    };
    let found = found.into_iter().filter(|key| key.as_str() > after);
    names.extend(found.map(|key| format!("{start}{key}")));
    Ok(())
}

/// Describes a key. `None` if it went away meanwhile.
async fn describe(mount: &Mount, view: View, name: String) -> Result<Option<Entry>, Failure> {
    if name.ends_with('/') {
        return Ok(Some(Entry::Prefix(name)));
    }
    let Some((version, key)) = name.split_once('/') else {
        return Ok(None);
    };
    let version: Version = mount.versions.find(version, Freshness::Recent).await?;
    let found = crate::data::find(mount, view, &version, key).await?;
    let modified = time(mount.written_at(version.id).await);
    Ok(match found {
        crate::v3::Found::Value(object, _) => Some(Entry::Object {
            size: object.length,
            tag: object.tag.unwrap_or_default(),
            modified,
            key: name,
        }),
        crate::v3::Found::Absent => None,
    })
}

/// A time as S3 spells it.
fn time(time: SystemTime) -> String {
    match jiff::Timestamp::try_from(time) {
        Ok(time) => format!("{time:.3}"),
        Err(_) => "1970-01-01T00:00:00.000Z".to_owned(),
    }
}

/// The token that leads to what comes behind a key: clients send it back as it is, some without encoding it.
pub(crate) fn token_of(key: &str) -> String {
    key.bytes().map(|byte| format!("{byte:02x}")).collect()
}

fn key_of_token(token: &str) -> Option<String> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let (pairs, rest) = token.as_bytes().as_chunks::<2>();
    let bytes: Option<Vec<u8>> = pairs
        .iter()
        .map(|[high, low]| u8::try_from(digit(*high)? * 16 + digit(*low)?).ok())
        .collect();
    String::from_utf8(bytes.filter(|_| rest.is_empty())?).ok()
}
