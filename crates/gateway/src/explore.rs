//! The explorer: static files that the build has put into the program, compressed.

use bytes::Bytes;
use flate2::read::GzDecoder;
use http::header::HeaderMap;
use std::io::Read;

use crate::object::{Object, Packed, tag_of_bytes};
use crate::transfer::set;

include!(concat!(env!("OUT_DIR"), "/explore.rs"));

/// Where decoders of codecs run: they make functions of text, which the page itself must not.
const WORKER: &str = "worker.js";
/// The sources that the page may load: its own files and the data of this server.
const PAGE_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; connect-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types icefield-worker";
const WORKER_POLICY: &str =
    "default-src 'none'; script-src 'self' 'unsafe-eval' 'wasm-unsafe-eval'; connect-src 'self'";

/// Returns a file of the explorer by its name; the page itself for none.
pub(crate) fn file(name: &str) -> Option<Object> {
    let name = if name.is_empty() { "index.html" } else { name };
    let (_, packed) = FILES.iter().find(|(found, _)| *found == name)?;
    let mut plain = Vec::new();
    GzDecoder::new(*packed).read_to_end(&mut plain).ok()?;
    let mut object = Object::of_bytes(plain.into(), content_type(name));
    let bytes = Bytes::from_static(packed);
    let tag = tag_of_bytes(&bytes);
    object.packed = Some(Packed { tag, bytes });
    Some(object)
}

/// Sets the headers that go with a file.
pub(crate) fn decorate(name: &str, headers: &mut HeaderMap) {
    use http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, REFERRER_POLICY};
    let policy = if name == WORKER {
        WORKER_POLICY
    } else {
        PAGE_POLICY
    };
    set(headers, CONTENT_SECURITY_POLICY, policy);
    set(headers, CACHE_CONTROL, "no-cache");
    set(headers, REFERRER_POLICY, "no-referrer");
    let opener = http::HeaderName::from_static("cross-origin-opener-policy");
    set(headers, opener, "same-origin");
}

fn content_type(name: &str) -> &'static str {
    match name.rsplit_once('.').map(|(_, end)| end) {
        Some("html") => "text/html; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        _ => "text/plain; charset=utf-8",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_is_there_and_nothing_beside_the_list() {
        let page = file("").unwrap();
        assert_eq!(page.content_type, "text/html; charset=utf-8");
        assert_eq!(page.tag, file("index.html").unwrap().tag);
        assert!(page.length > 0);
        for name in [
            "nothing.js",
            "../Cargo.toml",
            "index.html.gz",
            "/index.html",
        ] {
            assert!(file(name).is_none(), "{name}");
        }
    }

    #[test]
    fn only_the_worker_may_make_code_of_text() {
        let policy = |name: &str| {
            let mut headers = HeaderMap::new();
            decorate(name, &mut headers);
            headers["content-security-policy"]
                .to_str()
                .unwrap()
                .to_owned()
        };
        assert!(policy(WORKER).contains("'unsafe-eval'"));
        assert!(!policy("index.html").contains("unsafe"));
        assert!(policy("app.js").contains("default-src 'none'"));
    }
}
