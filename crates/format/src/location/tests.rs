use super::*;

fn parse(text: &str) -> Result<String, LocationRule> {
    VirtualLocation::parse(text).map(|it| it.to_string())
}

#[test]
fn locations_are_normalised() {
    for (text, wanted) in [
        ("s3://Bucket/a//b/./c d.nc", "s3://Bucket/a/b/c%20d.nc"),
        ("FILE:///data/x/../y.nc", "file:///data/y.nc"),
        ("file://localhost/data/y.nc", "file:///data/y.nc"),
        ("https://Host:443/é.nc", "https://host/%C3%A9.nc"),
        ("http://host:8000/a?token=1#x", "http://host:8000/a"),
        ("http://127.0.0.1:8000/a", "http://127.0.0.1:8000/a"),
        ("https://[::0001]:9/a", "https://[::1]:9/a"),
        ("s3://b/%2e%2E/../a/%2e/b", "s3://b/a/b"),
        ("s3://b/a%25b", "s3://b/a%25b"),
        ("gs://my_bucket.org/x", "gs://my_bucket.org/x"),
        ("http:\\\\host\\a\\b", "http://host/a/b"),
        ("s3://b/{x}^`\"<>", "s3://b/%7Bx%7D^%60%22%3C%3E"),
    ] {
        assert_eq!(parse(text).as_deref(), Ok(wanted), "{text}");
        assert_eq!(parse(wanted).as_deref(), Ok(wanted), "{wanted}");
    }
}

#[test]
fn tricks_are_refused() {
    use LocationRule as R;
    for (text, rule) in [
        ("", R::NotAbsolute),
        ("/etc/passwd", R::NotAbsolute),
        ("s3:bucket/a", R::NotAbsolute),
        ("ftp://host/a", R::Scheme),
        ("data:text/plain,x", R::Scheme),
        ("memory://x/y", R::Scheme),
        ("s3:///a", R::NoHost),
        ("https://", R::NoHost),
        ("s3://b", R::NoPath),
        ("s3://b/..", R::NoPath),
        ("file:///", R::NoPath),
        ("file://evil.org/a", R::FileHost),
        ("s3://user@b/a", R::User),
        ("https://host.org@evil.org/a", R::User),
        ("s3://b:80/a", R::Host),
        ("s3://b%2Fc/a", R::Host),
        ("s3://bück/a", R::Host),
        ("https://ｅvil.org/a", R::Host),
        ("https://0x7f.1/a", R::Host),
        ("https://2130706433/a", R::Host),
        ("https://127.1/a", R::Host),
        ("https://host:99999/a", R::Host),
        ("https://host:+1/a", R::Host),
        ("https://[::1/a", R::Host),
        ("https://a..b/c", R::Host),
        ("s3://b/a\nb", R::Control),
        ("s3://b/a%00b", R::Control),
        ("s3://b/a\u{1b}[2J", R::Control),
        ("s3://b/a%2fb", R::HiddenSlash),
        ("s3://b/..%2f..%2fetc", R::HiddenSlash),
        ("s3://b/a%5cb", R::HiddenSlash),
        ("s3://b/a%zz", R::Encoding),
        ("s3://b/a%", R::Encoding),
        ("s3://b/%ff", R::Encoding),
    ] {
        assert_eq!(parse(text), Err(rule), "{text:?}");
    }
    let long = format!("s3://b/{}", "a".repeat(MAX_LOCATION_LEN));
    assert_eq!(parse(&long), Err(R::TooLong));
    for lost in ["https://host/a?x", "s3://b/a#1.nc"] {
        assert_eq!(VirtualLocation::parse_new(lost), Err(R::Query));
        assert_eq!(VirtualLocation::parse_prefix(lost), Err(R::Query));
    }
}

#[test]
fn prefixes_are_compared_by_whole_segments() {
    let below = |location: &str, prefix: &str| {
        let prefix = VirtualLocation::parse_prefix(prefix).expect("a prefix");
        let location = VirtualLocation::parse(location).expect("a location");
        location.below(&prefix)
    };
    let found = |location, prefix| below(location, prefix).as_deref().map(str::to_owned);
    assert_eq!(
        found("s3://data/a/b.nc", "s3://data"),
        Some("a/b.nc".into())
    );
    assert_eq!(
        found("s3://data/a/b.nc", "s3://data/a/"),
        Some("b.nc".into())
    );
    assert_eq!(
        found("s3://data/a b.nc", "s3://data/"),
        Some("a b.nc".into())
    );
    assert_eq!(found("file:///a/b", "file:///"), Some("a/b".into()));
    assert_eq!(found("s3://d/%61/b", "s3://d/a"), Some("b".into()));
    assert_eq!(found("s3://database/a", "s3://data"), None);
    assert_eq!(found("s3://data/ab/c", "s3://data/a"), None);
    assert_eq!(found("s3://data/a", "s3://data/a"), None);
    assert_eq!(found("s3://data/a/../b/c", "s3://data/a"), None);
    assert_eq!(found("gs://data/a", "s3://data"), None);
    assert_eq!(found("S3://data/a", "s3://data"), Some("a".into()));
    assert_eq!(found("s3://Data/a", "s3://data"), None);
    assert_eq!(found("https://host:8443/a", "https://host"), None);
}

#[test]
fn keys_become_locations_and_come_back() {
    for key in [
        "a/b.nc",
        "a b/é.nc",
        "50%/a?b#c",
        "a\\b?",
        "%41",
        "a ",
        " a",
        "a^|b",
    ] {
        let location = location_of("s3", "bucket", key);
        match key.contains('\\') {
            // A reader could not tell it from a slash.
            true => assert_eq!(location, Err(LocationRule::HiddenSlash)),
            false => assert_eq!(location.expect("a location").decoded_path(), key),
        }
    }
}

#[test]
fn keys_that_a_location_cannot_keep_are_refused() {
    for key in ["", "a//b", "a/", "/a", "a/../b", "."] {
        let location = location_of("s3", "bucket", key);
        assert_eq!(location, Err(LocationRule::Segment), "{key:?}");
    }
}

/// An accepted location equals the text of the library with the rules of browsers, less empty segments.
#[test]
fn the_rules_are_those_of_urls() {
    let pieces = [
        "a", "B", "/", "//", ".", "..", "%2e", "%2E%2e", " ", "é", "%41", "%C3%A9", "\\", "{", "}",
        "^", "`", "\"", "<", ">", "|", "~", "!", "$", "&", "'", "(", ")", "*", "+", ",", ";", "=",
        ":", "[", "]", "-", "_",
    ];
    let mut state = 1_u64;
    let mut draw = |below: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    let mut compared = 0;
    for _ in 0..20_000 {
        let start = [
            "s3://bucket/",
            "https://Host.org/",
            "file:///",
            "http://h:81/",
            "az://box/",
        ][draw(5)];
        let mut text = start.to_owned();
        for _ in 0..draw(9) {
            text.push_str(pieces[draw(pieces.len())]);
        }
        let Ok(ours) = VirtualLocation::parse(&text) else {
            continue;
        };
        let theirs = url::Url::parse(&text).expect("what we accept is a URL");
        let path: Vec<&str> = theirs
            .path()
            .split('/')
            .filter(|it| !it.is_empty())
            .collect();
        assert_eq!(ours.path(), path.join("/"), "{text:?}");
        assert_eq!(ours.scheme(), theirs.scheme(), "{text:?}");
        assert_eq!(
            ours.host().split(':').next().unwrap_or_default(),
            theirs.host_str().unwrap_or_default(),
            "{text:?}"
        );
        compared += 1;
    }
    assert!(compared > 10_000, "{compared}");
}
