//! Names of blobs in lists, letter by letter.
//!
//! `object_store` makes a path of each name that a list has: of `a/` it makes `a`, which is another blob, and at `a//b` or
//! `a/../b` the whole list fails. So the answers to lists are read before the crate reads them, and what it would change is
//! put into the form `.icefield-name/<hex>`, which [`original`] takes back.

use std::borrow::Cow;

use async_trait::async_trait;
use bytes::Bytes;
use object_store::ClientOptions;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpRequest, HttpResponse, HttpService,
};
use object_store::path::Path;

use crate::client::Straight;

/// Before a name in hexadecimal digits.
const MARK: &str = ".icefield-name/";

/// Makes the clients of [`Straight`], with the names in their lists kept.
#[derive(Debug)]
pub(crate) struct KeepsNames(pub(crate) Straight);

impl HttpConnector for KeepsNames {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        Ok(HttpClient::new(Service(self.0.connect(options)?)))
    }
}

#[derive(Debug)]
struct Service(HttpClient);

#[async_trait]
impl HttpService for Service {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let query = request.uri().query().unwrap_or_default();
        let is_list = query.split('&').any(|part| part == "comp=list");
        let response = self.0.execute(request).await?;
        if !is_list || !response.status().is_success() {
            return Ok(response);
        }
        let (parts, body) = response.into_parts();
        let body = kept(body.bytes().await?);
        Ok(HttpResponse::from_parts(parts, body.into()))
    }
}

/// Returns the name that a path of a list stands for.
pub(crate) fn original(path: &str) -> Cow<'_, str> {
    match path.strip_prefix(MARK).and_then(decoded) {
        Some(name) => Cow::Owned(name),
        None => Cow::Borrowed(path),
    }
}

/// Returns the answer to a list with the names marked that a path would change.
fn kept(answer: Bytes) -> Bytes {
    let Ok(mut rest) = std::str::from_utf8(&answer) else {
        return answer;
    };
    let mut out = String::with_capacity(rest.len());
    while let Some(at) = rest.find("<Name") {
        let Some((tag, name, tail)) = element(&rest[at..]) else {
            break;
        };
        out.push_str(&rest[..at]);
        let is_encoded = tag.contains("Encoded=\"true\"");
        let text = unescaped(name).and_then(|text| match is_encoded {
            true => percent_decoded(&text),
            false => Some(text),
        });
        match text.filter(|text| is_encoded || !is_kept(text)) {
            Some(text) => {
                let hex: String = text.bytes().map(|byte| format!("{byte:02x}")).collect();
                out.push_str(&format!("<Name>{MARK}{hex}</Name>"));
            }
            None => out.push_str(&rest[at..rest.len() - tail.len()]),
        }
        rest = tail;
    }
    out.push_str(rest);
    out.into()
}

/// Splits `<Name …>text</Name>` from the beginning of a text.
fn element(text: &str) -> Option<(&str, &str, &str)> {
    let (tag, rest) = text.split_once('>')?;
    let (name, tail) = rest.split_once("</Name>")?;
    Some((tag, name, tail))
}

/// Returns whether a path made of a name is that name.
fn is_kept(name: &str) -> bool {
    !name.starts_with(MARK)
        // Readers of XML may take these for layout.
        && name.trim() == name
        && !name.contains(char::is_control)
        && Path::parse(name).is_ok_and(|path| path.as_ref() == name)
}

/// Resolves the entities of XML; `None` for one that it does not have.
fn unescaped(text: &str) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, tail)) = rest.split_once('&') {
        out.push_str(before);
        let (entity, tail) = tail.split_once(';')?;
        out.push(match entity {
            "amp" => '&',
            "lt" => '<',
            "gt" => '>',
            "quot" => '"',
            "apos" => '\'',
            _ => {
                let number = entity.strip_prefix('#')?;
                let code = match number.strip_prefix(['x', 'X']) {
                    Some(digits) => u32::from_str_radix(digits, 16),
                    None => number.parse(),
                };
                char::from_u32(code.ok()?)?
            }
        });
        rest = tail;
    }
    out.push_str(rest);
    Some(out)
}

fn percent_decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((byte, tail)) = rest.split_first() {
        rest = tail;
        if *byte != b'%' {
            bytes.push(*byte);
            continue;
        }
        let (digits, tail) = rest.split_at_checked(2)?;
        bytes.push(hex_byte(digits)?);
        rest = tail;
    }
    String::from_utf8(bytes).ok()
}

fn decoded(hex: &str) -> Option<String> {
    let pairs = hex.as_bytes().chunks(2);
    let bytes: Option<Vec<u8>> = pairs.map(hex_byte).collect();
    String::from_utf8(bytes?).ok()
}

fn hex_byte(digits: &[u8]) -> Option<u8> {
    let digit = |byte: &u8| char::from(*byte).to_digit(16);
    match digits {
        [high, low] => u8::try_from(digit(high)? * 16 + digit(low)?).ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_a_path_would_change_come_back() {
        let names = [
            "a/", "/a", "a//b", "a/../b", ".", " a", "a\n", "a&b/", "é//", "/",
        ];
        for name in names {
            let escaped = name.replace('&', "&amp;");
            let answer = format!("<Blob><Name>{escaped}</Name></Blob><Name>b</Name>");
            let kept = kept(answer.into());
            let kept = std::str::from_utf8(&kept).expect("text");
            let (_, path, tail) = element(&kept["<Blob>".len()..]).expect("an element");
            let path = Path::parse(path).expect("a path");
            assert_eq!(original(path.as_ref()), name);
            assert_eq!(tail, "</Blob><Name>b</Name>");
        }
        // A blob that has the form itself.
        let own = format!("{MARK}61");
        let answer = kept(format!("<Name>{own}</Name>").into());
        let answer = std::str::from_utf8(&answer).expect("text");
        assert_eq!(original(element(answer).expect("an element").1), own);
    }

    #[test]
    fn other_answers_stay_as_they_are() {
        for answer in [
            "",
            "<Name>",
            "<Name>a",
            "<Name>a/b</Name><NextMarker>x</NextMarker>",
            "<Name>a&amp;b%20</Name>",
            "<Name>a&nbsp;b/</Name>",
        ] {
            assert_eq!(kept(answer.into()), answer);
        }
        assert_eq!(kept(Bytes::from_static(b"\xff")), &b"\xff"[..]);
        let encoded = kept("<Name Encoded=\"true\">a%EF%BF%BE</Name>".into());
        let encoded = std::str::from_utf8(&encoded).expect("text");
        let path = element(encoded).expect("an element").1;
        assert_eq!(original(path), "a\u{fffe}");
        assert_eq!(original("a/b"), "a/b");
    }
}
