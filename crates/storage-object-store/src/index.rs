//! The pages on which web servers list their directories.
//!
//! No standard says what such a page looks like. What all have in common are links, so that these are what is read: a link
//! from the page of a directory to one segment below it is an entry, and one with a slash at its end is a directory.

use std::collections::BTreeMap;
use std::time::Duration;

use html5gum::{Token, Tokenizer};
use icefield_storage::{Clock, StorageError};
use reqwest::{StatusCode, Url};

use crate::client::{Straight, choose_tls, not_made, shown};

/// Largest page that is read, in bytes: about a hundred thousand names.
const MAX_PAGE: usize = 32 << 20;
/// How long one answer may take.
const PATIENCE: Duration = Duration::from_secs(120);
/// Pauses before a server that did not answer is asked again.
const PAUSES: [Duration; 2] = [Duration::from_millis(200), Duration::from_secs(2)];

/// An entry of a directory that a web server lists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexEntry {
    /// The name, decoded.
    pub name: String,
    /// Whether it is a directory.
    pub is_directory: bool,
}

/// Reads the page of a directory.
pub(crate) async fn read(
    url: &str,
    straight: &Straight,
    plain: bool,
    clock: &dyn Clock,
) -> Result<Vec<IndexEntry>, StorageError> {
    let name = shown(url);
    choose_tls();
    let client = straight.client(plain).map_err(|_| not_made(&name, "url"))?;
    let mut url = Url::parse(url).map_err(|_| not_made(&name, "url"))?;
    if !url.path().ends_with('/') {
        let path = format!("{}/", url.path());
        url.set_path(&path);
    }
    url.set_fragment(None);
    let mut pauses = PAUSES.iter();
    loop {
        match page(&client, &url, &name).await {
            Err(StorageError::Unavailable { .. }) if pauses.len() > 0 => {
                if let Some(pause) = pauses.next() {
                    clock.sleep(*pause).await;
                }
            }
            page => return Ok(entries(&page?, &url)),
        }
    }
}

/// Asks for a page once.
async fn page(client: &reqwest::Client, url: &Url, name: &str) -> Result<Vec<u8>, StorageError> {
    let unavailable =
        |source: Box<dyn std::error::Error + Send + Sync>| StorageError::Unavailable {
            action: "list the directory",
            target: name.to_owned(),
            source,
        };
    let failed = |error: reqwest::Error| unavailable(error.without_url().into());
    let unsupported = |what: String| StorageError::Unsupported {
        store: name.to_owned(),
        what: format!("lists: {what}; name the files one by one"),
    };
    let asked = client.get(url.clone()).timeout(PATIENCE).send();
    let answer = asked.await.map_err(failed)?;
    match answer.status() {
        StatusCode::OK => {}
        status if status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS => {
            return Err(unavailable(format!("the server answered {status}").into()));
        }
        status => {
            return Err(unsupported(format!(
                "it answers {status} for the directory"
            )));
        }
    }
    let kind = answer.headers().get(reqwest::header::CONTENT_TYPE);
    let kind = kind.and_then(|kind| kind.to_str().ok());
    let kind = kind.unwrap_or("text/html").to_ascii_lowercase();
    if !kind.starts_with("text/html") && !kind.starts_with("application/xhtml") {
        return Err(unsupported(format!(
            "its answer for the directory is {kind}, and no page of links"
        )));
    }
    let mut answer = answer;
    let mut page = Vec::new();
    while let Some(part) = answer.chunk().await.map_err(failed)? {
        page.extend_from_slice(&part);
        if page.len() > MAX_PAGE {
            return Err(unsupported(format!(
                "its page of the directory has more than {MAX_PAGE} bytes"
            )));
        }
    }
    Ok(page)
}

/// The entries of the page at a URL, which ends with a slash.
fn entries(page: &[u8], url: &Url) -> Vec<IndexEntry> {
    let mut found = BTreeMap::new();
    for token in Tokenizer::new(page) {
        let Ok(Token::StartTag(tag)) = token else {
            continue;
        };
        let link = (*tag.name == b"a").then(|| tag.attributes.get(&b"href"[..]));
        let Some(link) = link.flatten() else {
            continue;
        };
        let link = String::from_utf8_lossy(&link.value);
        let Some((name, is_directory)) = below(url, &link) else {
            continue;
        };
        *found.entry(name).or_insert(false) |= is_directory;
    }
    let entries = found
        .into_iter()
        .map(|(name, is_directory)| IndexEntry { name, is_directory });
    entries.collect()
}

/// The segment below a URL that a link leads to, and whether a slash is behind it.
fn below(url: &Url, link: &str) -> Option<(String, bool)> {
    let target = url.join(link).ok()?;
    // Links with a query sort the same page in another way.
    if target.origin() != url.origin() || target.query().is_some_and(|it| Some(it) != url.query()) {
        return None;
    }
    let rest = target.path().strip_prefix(url.path())?;
    let (segment, is_directory) = match rest.strip_suffix('/') {
        Some(segment) => (segment, true),
        None => (rest, false),
    };
    if segment.is_empty() || segment.contains('/') {
        return None;
    }
    let name = decoded(segment)?;
    let is_name = !name.contains(['/', '\0']) && name != "." && name != "..";
    is_name.then_some((name, is_directory))
}

/// Decodes a segment of a URL; `None` if it is no text.
fn decoded(segment: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(segment.len());
    let mut rest = segment.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
        let (high, low) = (digit(rest.next())?, digit(rest.next())?);
        bytes.push(u8::try_from(high * 16 + low).ok()?);
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(page: &str) -> Vec<String> {
        let url = Url::parse("https://host.org/data/2020/").expect("a URL");
        let entries = entries(page.as_bytes(), &url).into_iter();
        let shown = entries.map(|it| match it.is_directory {
            true => format!("{}/", it.name),
            false => it.name,
        });
        shown.collect()
    }

    #[test]
    fn the_pages_of_three_servers_are_read() {
        let nginx = "<html><head><title>Index of /data/2020/</title></head><body><h1>Index of /data/2020/</h1><hr><pre>\
            <a href=\"../\">../</a>\n<a href=\"sub%20dir/\">sub dir/</a>   01-Jan-2020 00:00   -\n\
            <a href=\"b.nc\">b.nc</a>   01-Jan-2020 00:00  12\n<a href=\"a.nc\">a.nc</a> 01-Jan-2020 00:00 12\n</pre></body></html>";
        assert_eq!(names(nginx), ["a.nc", "b.nc", "sub dir/"]);
        let apache = "<!DOCTYPE HTML PUBLIC \"-//W3C//DTD HTML 3.2 Final//EN\"><table>\
            <tr><th><a href=\"?C=N;O=D\">Name</a></th><th><a href=\"?C=M;O=A\">Last modified</a></th></tr>\
            <tr><td><a href=\"/data/\">Parent Directory</a></td></tr>\
            <tr><td><A HREF='x&amp;y.nc'>x&amp;y.nc</A></td></tr>\
            <tr><td><a href=\"2020-01/\">2020-01/</a></td></tr></table>";
        assert_eq!(names(apache), ["2020-01/", "x&y.nc"]);
        let python = "<!DOCTYPE HTML>\n<ul>\n<li><a href=\"a%23b.nc\">a#b.nc</a></li>\n<li><a href=\"z/\">z/</a></li>\n</ul>";
        assert_eq!(names(python), ["a#b.nc", "z/"]);
    }

    #[test]
    fn links_that_lead_elsewhere_are_no_entries() {
        let page = "<a href=\"https://other.org/data/2020/x.nc\"></a><a href=\"/data/2021/y.nc\"></a><a href=\"..%2Fz.nc\"></a>\
            <a href=\"deep/er.nc\"></a><a href=\"mailto:me\"></a><a href=\"javascript:x\"></a><a name=\"x\"></a><a href=\"\"></a>\
            <a href=\"%FF.nc\"></a><a href=\"#top\"></a><a href=\"%2e%2e/\"></a><!-- <a href=\"hidden.nc\"> -->\
            <a href=\"https://host.org/data/2020/whole.nc\"></a><a href=\"/data/2020/rooted.nc\"></a>";
        assert_eq!(names(page), ["rooted.nc", "whole.nc"]);
    }
}
