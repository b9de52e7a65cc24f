//! The checks before a request is answered: the name of the server, the page that a request comes from, the token, the size of the request.

use std::net::IpAddr;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::header::{
    AUTHORIZATION, CONTENT_LENGTH, HOST, HeaderMap, HeaderName, ORIGIN, TRANSFER_ENCODING,
};
use http::request::Parts;
use http::{Method, StatusCode};
use subtle::ConstantTimeEq;

use crate::admission::Caller;
use crate::failure::Failure;
use crate::settings::{Access, Origins, Settings};
use crate::transfer::text;

const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
const SEC_FETCH_MODE: HeaderName = HeaderName::from_static("sec-fetch-mode");
const SEC_FETCH_DEST: HeaderName = HeaderName::from_static("sec-fetch-dest");

/// Checks what holds for every request, whatever it asks for.
pub(crate) fn check(request: &Parts, caller: &Caller, settings: &Settings) -> Result<(), Failure> {
    check_host(request, caller.local, &settings.hosts)?;
    // First, so that a write with a body is refused as a write.
    if ![Method::GET, Method::HEAD, Method::OPTIONS].contains(&request.method) {
        return Err(Failure::new(
            StatusCode::METHOD_NOT_ALLOWED,
            "read-only",
            "this server is read-only: GET, HEAD and OPTIONS",
        ));
    }
    check_size(request, settings)?;
    check_site(&request.headers, &settings.origins)
}

/// Checks the name that the client calls the server by. A website can give a name of its own the address of this server: to
/// a browser, what that name serves is then the website's own.
fn check_host(request: &Parts, local: IpAddr, names: &[String]) -> Result<(), Failure> {
    let mut hosts = request.headers.get_all(HOST).into_iter();
    let (Some(host), None) = (hosts.next(), hosts.next()) else {
        return Err(Failure::bad_request("a request needs one header Host"));
    };
    let host = host.to_str().unwrap_or_default();
    // A target in the form that is for proxies names the server, too.
    let is_of_target = match request.uri.authority() {
        Some(authority) => authority.as_str().eq_ignore_ascii_case(host),
        None => true,
    };
    let name = without_port(host);
    let is_local = match name
        .strip_prefix('[')
        .and_then(|name| name.strip_suffix(']'))
    {
        Some(address) => address.parse::<IpAddr>(),
        None => name.parse::<IpAddr>(),
    }
    .is_ok_and(|address| address.is_loopback() || address == local);
    let is_known = is_local
        || name.eq_ignore_ascii_case("localhost")
        || names.iter().any(|known| known.eq_ignore_ascii_case(name));
    match is_known && is_of_target {
        true => Ok(()),
        false => Err(Failure::new(
            StatusCode::MISDIRECTED_REQUEST,
            "invalid",
            format!(
                "this server is not {host:?}: start it with --host NAME if it is to be called so"
            ),
        )),
    }
}

fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port))
            if port.bytes().all(|byte| byte.is_ascii_digit()) && !name.ends_with(':') =>
        {
            name
        }
        _ => host,
    }
}

fn check_size(request: &Parts, settings: &Settings) -> Result<(), Failure> {
    let limits = &settings.limits;
    let target = request
        .uri
        .path_and_query()
        .map_or(0, |target| target.as_str().len());
    if target > limits.target_bytes {
        let message = format!(
            "the target has {target} bytes, more than {}",
            limits.target_bytes
        );
        return Err(Failure::new(StatusCode::URI_TOO_LONG, "invalid", message));
    }
    let headers = request.headers.iter();
    let headers: usize = headers
        .map(|(name, value)| name.as_str().len() + value.len() + 4)
        .sum();
    if headers > limits.header_bytes {
        let message = format!(
            "the headers have {headers} bytes, more than {}",
            limits.header_bytes
        );
        let status = StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE;
        return Err(Failure::new(status, "invalid", message));
    }
    let has_length = request
        .headers
        .get_all(CONTENT_LENGTH)
        .into_iter()
        .any(|length| length != "0");
    if has_length || request.headers.contains_key(TRANSFER_ENCODING) {
        let status = StatusCode::PAYLOAD_TOO_LARGE;
        return Err(Failure::new(
            status,
            "invalid",
            "requests have no bodies here",
        ));
    }
    Ok(())
}

/// Refuses what another website's page loads as a script, an image or the like. A link that a person follows is no such thing.
fn check_site(headers: &HeaderMap, origins: &Origins) -> Result<(), Failure> {
    let is_cross_site = text(headers, SEC_FETCH_SITE) == Some("cross-site");
    let is_link = text(headers, SEC_FETCH_MODE) == Some("navigate")
        && text(headers, SEC_FETCH_DEST) == Some("document");
    match is_cross_site && !is_link && allowed_origin(headers, origins).is_none() {
        true => Err(Failure::new(
            StatusCode::FORBIDDEN,
            "origin",
            "another website asks: start the server with --cors ORIGIN if its pages may read",
        )),
        false => Ok(()),
    }
}

/// Returns the value of `Access-Control-Allow-Origin` for a request, if its origin may read.
pub(crate) fn allowed_origin(headers: &HeaderMap, origins: &Origins) -> Option<String> {
    match origins {
        Origins::None => None,
        Origins::Any => Some("*".to_owned()),
        Origins::Only(known) => {
            let origin = text(headers, ORIGIN)?;
            known
                .iter()
                .any(|known| known == origin)
                .then(|| origin.to_owned())
        }
    }
}

/// Checks the token. It takes as long for one that is wrong in its first character as for one that is wrong in its last.
pub(crate) fn check_token(headers: &HeaderMap, access: &Access) -> Result<(), Failure> {
    let Access::Token(token) = access else {
        return Ok(());
    };
    let sent = headers.get_all(AUTHORIZATION).into_iter();
    let sent = sent
        .filter_map(|value| value.to_str().ok())
        .find_map(token_of);
    let is_right = sent.is_some_and(|sent| bool::from(sent.as_bytes().ct_eq(token.as_bytes())));
    match is_right {
        true => Ok(()),
        false => Err(Failure::new(
            StatusCode::UNAUTHORIZED,
            "unauthorized",
            "a token is needed: send `Authorization: Bearer TOKEN`, or the token as the password of a URL",
        )),
    }
}

/// Reads the token of a header: the one of `Bearer`, the password of `Basic`.
fn token_of(value: &str) -> Option<String> {
    let (scheme, rest) = value.split_once(' ')?;
    let rest = rest.trim();
    if scheme.eq_ignore_ascii_case("bearer") {
        return Some(rest.to_owned());
    }
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let decoded = String::from_utf8(STANDARD.decode(rest).ok()?).ok()?;
    decoded
        .split_once(':')
        .map(|(_, password)| password.to_owned())
}

/// Returns whether a browser's script made the request: it gets no dialogue for a password.
pub(crate) fn is_by_script(headers: &HeaderMap) -> bool {
    text(headers, SEC_FETCH_MODE).is_some_and(|mode| mode != "navigate")
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use http::header::HeaderValue;

    use super::*;

    fn host(value: &str, names: &[&str]) -> Option<StatusCode> {
        let request = http::Request::get("/")
            .header(HOST, value)
            .body(())
            .unwrap();
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let local = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 7));
        let checked = check_host(&request.into_parts().0, local, &names);
        checked.err().map(|failure| failure.status)
    }

    #[test]
    fn only_names_of_this_server_are_answered() {
        for good in [
            "localhost",
            "LOCALHOST:80",
            "127.0.0.1:8000",
            "[::1]",
            "[::1]:8000",
            "10.0.0.7:1",
        ] {
            assert_eq!(host(good, &[]), None, "{good}");
        }
        assert_eq!(host("Data.example.org:443", &["data.example.org"]), None);
        for bad in [
            "evil.example",
            "10.0.0.8",
            "localhost.evil.example",
            "",
            "127.0.0.1.nip.io",
            "[::2]",
            "a:b",
        ] {
            assert_eq!(
                host(bad, &["data.example.org"]),
                Some(StatusCode::MISDIRECTED_REQUEST),
                "{bad}"
            );
        }
    }

    #[test]
    fn a_request_without_one_host_is_refused() {
        let local = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let request = http::Request::get("/").body(()).unwrap().into_parts().0;
        let none = check_host(&request, local, &[]).unwrap_err();
        let request = http::Request::get("/")
            .header(HOST, "localhost")
            .header(HOST, "evil");
        let two = check_host(&request.body(()).unwrap().into_parts().0, local, &[]).unwrap_err();
        assert_eq!([none.status, two.status], [StatusCode::BAD_REQUEST; 2]);
        let request = http::Request::get("http://evil.example/").header(HOST, "localhost");
        let other = check_host(&request.body(()).unwrap().into_parts().0, local, &[]).unwrap_err();
        assert_eq!(other.status, StatusCode::MISDIRECTED_REQUEST);
    }

    #[test]
    fn the_token_comes_as_bearer_or_as_a_password() {
        let access = Access::Token("s3cret".to_owned());
        let is_let_in = |value: &str| {
            let value = HeaderValue::from_str(value).unwrap();
            check_token(&HeaderMap::from_iter([(AUTHORIZATION, value)]), &access).is_ok()
        };
        let basic = |text: &str| format!("Basic {}", STANDARD.encode(text));
        assert!(is_let_in("Bearer s3cret"));
        assert!(is_let_in("bearer  s3cret"));
        assert!(is_let_in(&basic("any:s3cret")));
        for wrong in [
            "Bearer s3cre",
            "Bearer s3cret2",
            "Bearer ",
            "s3cret",
            "Basic s3cret",
            &basic("s3cret"),
            &basic("s3cret:"),
        ] {
            assert!(!is_let_in(wrong), "{wrong}");
        }
        assert!(check_token(&HeaderMap::new(), &access).is_err());
        assert!(check_token(&HeaderMap::new(), &Access::Open).is_ok());
        assert!(!format!("{access:?}").contains("s3cret"));
    }
}
