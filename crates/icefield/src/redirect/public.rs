//! The check that a redirect leads to a public server.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use icefield_storage_object_store::is_public;

use crate::Location;
use crate::bucket_url::BucketUrl;

/// The options that a redirect may have. The rest would turn off checks, or make a requester pay.
const OPTIONS: &[&str] = &["endpoint", "region", "path_style", "preset", "anonymous"];

/// Checks where a location leads to.
///
/// # Errors
/// The rule that it breaks.
pub(super) fn check(location: &Location) -> Result<(), String> {
    if location.scheme() == "https" {
        return check_url(location.as_str());
    }
    // The store's own rules come later, these options are checked here.
    let url = BucketUrl::parse(location, OPTIONS).map_err(|error| error.to_string())?;
    // It may become a part of the name of a server.
    if !url.bucket.split('.').all(is_label) {
        return Err("its bucket or account is no name of one".to_owned());
    }
    if let Some(region) = url.option("region")
        && !is_label(region)
    {
        return Err("its region is no name of one".to_owned());
    }
    url.option("endpoint").map_or(Ok(()), check_url)
}

fn check_url(url: &str) -> Result<(), String> {
    let (scheme, rest) = url.split_once("://").unwrap_or((url, ""));
    if !scheme.eq_ignore_ascii_case("https") {
        return Err("a redirect may only lead to servers of https://".to_owned());
    }
    // A backslash ends the name of a server, too, for programs that read URLs as browsers do.
    let authority = rest.split(['/', '?', '#', '\\']).next();
    let authority = authority.unwrap_or_default();
    if authority.contains('@') {
        return Err("it has a user in it".to_owned());
    }
    let host = match authority.strip_prefix('[').map(|rest| rest.split_once(']')) {
        Some(Some((host, _))) => return public_v6(host),
        Some(None) => authority,
        None => authority.split(':').next().unwrap_or_default(),
    };
    if host.is_empty() {
        return Err("it names no server".to_owned());
    }
    public_host(host)
}

fn public_host(host: &str) -> Result<(), String> {
    if let Ok(address) = host.parse::<Ipv4Addr>() {
        return reachable(IpAddr::V4(address));
    }
    let name = host.strip_suffix('.').unwrap_or(host);
    let labels: Vec<&str> = name.split('.').collect();
    let last = labels.last().copied().unwrap_or_default();
    // A name that ends with a number is read as an address, in ways of which there are many: 127.1, 0x7f.1, 2130706433.
    let numeric = last.starts_with(|first: char| first.is_ascii_digit());
    let here = [
        "localhost",
        "local",
        "internal",
        "localdomain",
        "lan",
        "home",
    ];
    let local = here.iter().any(|name| last.eq_ignore_ascii_case(name));
    match labels.iter().all(|label| is_label(label)) && labels.len() > 1 && !numeric && !local {
        true => Ok(()),
        false => Err(not_public()),
    }
}

fn is_label(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    !text.is_empty() && text.bytes().all(plain)
}

fn public_v6(host: &str) -> Result<(), String> {
    let address: Ipv6Addr = host.parse().map_err(|_| not_public())?;
    reachable(IpAddr::V6(address))
}

fn reachable(address: IpAddr) -> Result<(), String> {
    is_public(address).then_some(()).ok_or_else(not_public)
}

fn not_public() -> String {
    "the server that it names is not public: a redirect may not lead into this machine or the network around it"
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_and_addresses_of_everybody_are_public() {
        for good in [
            "host.org",
            "s3.eu-west-1.amazonaws.com",
            "my_host.example.org.",
            "8.8.8.8",
            "100.63.0.1",
            "172.32.0.1",
            "[2606:4700::1111]",
            "[2606:4700::1111]:9000",
            "host.org:9000",
        ] {
            assert_eq!(check_url(&format!("https://{good}/x")), Ok(()), "{good}");
        }
        for bad in [
            "localhost",
            "LOCALHOST.",
            "a.localhost",
            "printer.local",
            "metadata.google.internal",
            "metadata",
            "127.0.0.1",
            "127.1",
            "0x7f.1",
            "0x7f000001",
            "2130706433",
            "0177.0.0.1",
            "127.0.0.1.",
            "0.0.0.0",
            "10.1.2.3",
            "100.64.0.1",
            "169.254.169.254",
            "172.31.0.1",
            "192.168.1.1",
            "198.18.0.1",
            "224.0.0.1",
            "255.255.255.255",
            "[::]",
            "[::1]",
            "[::ffff:127.0.0.1]",
            "[::ffff:8.8.8.8]",
            "[::127.0.0.1]",
            "[64:ff9b::7f00:1]",
            "[2002:7f00:1::]",
            "[2001::1]",
            "[fe80::1]",
            "[fe80::1%25eth0]",
            "[fd00:ec2::254]",
            "[ff02::1]",
            "[::1",
            "::1",
            "１２７.0.0.1",
            "%6cocalhost.org",
            "a b.org",
            "a..org",
        ] {
            let refused = check_url(&format!("https://{bad}/x"));
            assert!(refused.is_err(), "{bad}");
        }
        assert!(check_url("https://localhost\\.host.org/").is_err());
        assert!(check_url("ftp://host.org").is_err());
        assert!(check_url("host.org").is_err());
    }
}
