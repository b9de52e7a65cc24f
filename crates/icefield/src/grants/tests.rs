use async_trait::async_trait;
use icefield_core::VirtualLocation;
use icefield_format::config::{HttpOptions, S3Options, VirtualStore};
use icefield_storage::{BoxError, Storage};

use super::*;
use crate::location::file_url;

/// Credentials that a caller supplies.
#[derive(Debug)]
struct Someone;

#[async_trait]
impl Identity for Someone {
    fn signs(&self, _: &GrantedBucket) -> bool {
        true
    }

    async fn open(&self, _: &GrantedBucket) -> Result<Arc<dyn Storage>, BoxError> {
        Err("nothing is opened here".into())
    }
}

/// Each grant as the command line reads it, and as a binding does that supplies the credentials.
fn both(text: &str) -> [GrantedPrefix; 2] {
    let joined = match text.contains('?') {
        true => format!("{text}&credentials"),
        false => format!("{text}?credentials"),
    };
    [
        GrantedPrefix::parse(&joined, None).expect(text),
        GrantedPrefix::parse(text, Some(Arc::new(Someone))).expect(text),
    ]
}

fn place(text: &str) -> GrantedPrefix {
    GrantedPrefix::parse(text, None).expect(text)
}

fn s3(endpoint: Option<&str>, region: Option<&str>) -> VirtualStore {
    VirtualStore::S3(S3Options {
        endpoint_url: endpoint.map(str::to_owned),
        region: region.map(str::to_owned),
        ..Default::default()
    })
}

fn named(options: &[(&str, &str)]) -> std::collections::BTreeMap<String, String> {
    let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    options.iter().map(owned).collect()
}

fn web(options: &[(&str, &str)], headers: &[(&str, &str)]) -> VirtualStore {
    VirtualStore::Http(HttpOptions {
        options: named(options),
        headers: named(headers),
    })
}

/// Where a bucket is opened, as a location.
fn opened(place: &GrantedPrefix, store: &VirtualStore) -> Result<String, Error> {
    let location = place.bucket(store)?.location()?;
    Ok(location.as_str().to_owned())
}

#[track_caller]
fn refused(place: &GrantedPrefix, store: &VirtualStore, hint: &str) {
    let error = opened(place, store).expect_err("only the reader can say it");
    let text = error.to_string();
    assert!(text.contains(hint), "{text}");
}

#[test]
fn a_grant_is_opened_where_it_says() {
    let at = |text: &str, store: &VirtualStore| opened(&place(text), store).expect("granted");
    let nothing = s3(None, None);
    assert_eq!(at("s3://b/x", &nothing), "s3://b/x");
    let europe = s3(None, Some("eu-west-1"));
    assert_eq!(at("s3://b/x", &europe), "s3://b/x?region=eu-west-1");
    let own = at("s3://b/x?region=us-east-2", &europe);
    assert_eq!(own, "s3://b/x?region=us-east-2");
    let tricky = s3(None, Some("evil.org/"));
    assert_eq!(at("s3://b/x", &tricky), "s3://b/x");
    assert_eq!(at("tigris://b/x", &nothing), "s3://b/x?preset=tigris");
    let account = at("az://box/x?account=me", &VirtualStore::Azure(named(&[])));
    assert_eq!(account, "az://me/box/x");
}

/// The configuration of a repository may name an attacker's endpoint.
#[test]
fn g99_an_endpoint_must_be_named_by_the_reader() {
    let evil = "https://evil.org";
    let stores = [
        ("s3://b/x", s3(Some(evil), None)),
        ("gs://b/x", VirtualStore::Gcs(named(&[("base_url", evil)]))),
        (
            "gs://b/x",
            VirtualStore::Gcs(named(&[("GOOGLE_BASE_URL", evil)])),
        ),
        (
            "az://b/x?account=me",
            VirtualStore::Azure(named(&[("azure_storage_endpoint", evil)])),
        ),
    ];
    for (prefix, store) in stores {
        let with = |endpoint: &str| match prefix.contains('?') {
            true => format!("{prefix}&endpoint={endpoint}"),
            false => format!("{prefix}?endpoint={endpoint}"),
        };
        let others = [
            prefix.to_owned(),
            with("https://good.org"),
            with("https://evil.org.good.org"),
        ];
        for text in others {
            refused(&place(&text), &store, "?endpoint=https://evil.org");
            for place in both(&text) {
                refused(&place, &store, "?endpoint=https://evil.org");
            }
        }
        let same = with("https://evil.org/");
        opened(&place(&same), &store).expect("named");
        for place in both(&same) {
            opened(&place, &store).expect("named");
        }
    }
}

#[test]
fn g99_credentials_go_to_no_account_and_no_kind_of_server_that_only_the_repository_names() {
    let theirs = VirtualStore::Azure(named(&[("account", "theirs")]));
    let unsigned = opened(&place("az://box/x"), &theirs);
    assert_eq!(unsigned.expect("unsigned"), "az://theirs/box/x");
    for place in both("az://box/x") {
        refused(&place, &theirs, "?account=theirs");
    }
    for place in both("az://box/x?account=mine") {
        assert_eq!(opened(&place, &theirs).expect("named"), "az://mine/box/x");
    }
    let tricky = VirtualStore::Azure(named(&[("account", "evil.org/")]));
    refused(&place("az://box/x"), &tricky, "?account=");
    refused(&place("az://box/x"), &s3(None, None), "?account=");
    let tigris = VirtualStore::Tigris(S3Options::default());
    refused(&place("s3://b/x"), &tigris, "?preset=tigris");
    for place in both("s3://b/x") {
        refused(&place, &tigris, "?preset=tigris");
    }
    for place in both("s3://b/x?preset=tigris") {
        opened(&place, &tigris).expect("named");
    }
}

#[test]
fn tokens_go_through_no_network_in_clear_text() {
    let prefixes = ["gs://b/x?", "az://b/x?account=me&"];
    for prefix in prefixes {
        for url in ["http://10.0.0.1:9000", "http://host.org/x", "HTTP://host"] {
            let text = format!("{prefix}endpoint={url}");
            let nothing = VirtualStore::Gcs(named(&[("allow_http", "true")]));
            let nothing = match prefix.starts_with("gs") {
                true => nothing,
                false => VirtualStore::Azure(named(&[("allow_http", "true")])),
            };
            opened(&place(&text), &nothing).expect("nothing is secret");
            for place in both(&text) {
                refused(&place, &nothing, "clear text");
            }
        }
        for url in [
            "http://localhost:9000",
            "http://127.0.0.1",
            "http://[::1]:1/x",
            "https://host.org",
        ] {
            for place in both(&format!("{prefix}endpoint={url}")) {
                let nothing = VirtualStore::InMemory;
                opened(&place, &nothing).expect("no other reader");
            }
        }
    }
}

#[test]
fn only_the_reader_says_that_the_reader_pays() {
    let asks = VirtualStore::S3(S3Options {
        requester_pays: Some(true),
        ..Default::default()
    });
    assert!(
        !place("s3://b/x")
            .bucket(&asks)
            .expect("granted")
            .requester_pays
    );
    let own = place("s3://b/x?requester_pays").bucket(&asks);
    assert!(own.expect("granted").requester_pays);
    let asks = VirtualStore::Gcs(named(&[("user_project", "theirs")]));
    let bucket = place("gs://b/x").bucket(&asks).expect("granted");
    assert_eq!(bucket.user_project, None);
}

#[test]
fn headers_of_the_configuration_are_sent_only_if_the_reader_says_so() {
    let said = web(&[("user_agent", "theirs")], &[("authorization", "secret")]);
    let none = place("https://host/x").web_options(&said);
    assert_eq!(none.expect("granted").headers, []);
    let all = place("https://host/x?headers").web_options(&said);
    let all = all.expect("granted").headers;
    let names: Vec<&str> = all.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["authorization", "user-agent"]);
}

#[test]
fn options_of_a_web_server_take_effect_or_are_refused() {
    let times = [
        ("timeout", "1m 30s"),
        ("read_timeout", "300 ms"),
        ("connect_timeout", "2s"),
    ];
    let options = place("https://host/x").web_options(&web(&times, &[]));
    let options = options.expect("times");
    let millis = |time: Option<std::time::Duration>| time.map(|time| time.as_millis());
    assert_eq!(millis(options.attempt), Some(90_000));
    assert_eq!(millis(options.silence), Some(300));
    assert_eq!(millis(options.connect), Some(2000));
    for (text, name, value) in [
        ("https://host/x", "proxy_url", "http://evil.org"),
        ("https://host/x", "timeout", "?"),
        ("https://host/x", "timeout", "99999999999999999999s"),
        ("http://host/x", "allow_http", "false"),
    ] {
        let refused = place(text).web_options(&web(&[(name, value)], &[]));
        let error = refused.map(|_| ()).expect_err(name).to_string();
        assert!(error.contains(name), "{error}");
    }
    let unknown = VirtualStore::Gcs(named(&[("proxy_url", "http://evil.org")]));
    refused(&place("gs://b/x"), &unknown, "proxy_url");
    let other = VirtualStore::Azure(named(&[("account", "me"), ("container", "other")]));
    refused(&place("az://b/x"), &other, "container");
}

#[test]
fn what_is_no_grant_is_refused() {
    let texts = [
        "",
        "archive",
        "s3://",
        "ftp://host/x",
        "s3://me:secret@b/x",
        "s3://b/x?secret_key=x",
        "s3://b/x?credentials=maybe",
        "s3://b/x?path_style=maybe",
        "https://host/x?credentials",
        "file:///x?private",
    ];
    for text in texts {
        let error = grant(VirtualAccess::none(), text).expect_err(text);
        assert!(!error.to_string().contains("me:secret"), "{error}");
        let error = grant_as(VirtualAccess::none(), text, Arc::new(Someone)).expect_err(text);
        assert!(!error.to_string().contains("me:secret"), "{error}");
    }
    // It is the caller that says which.
    let both = grant_as(
        VirtualAccess::none(),
        "s3://b/x?credentials",
        Arc::new(Someone),
    );
    assert!(both.is_err());
}

#[test]
fn a_folder_is_granted_by_its_path_whatever_its_name_holds() {
    let directory = tempfile::tempdir().expect("a directory");
    let root = directory.path().canonicalize().expect("it exists");
    for name in ["plain", "a%41 b", "what?x=1", "c#d", "\u{e9}t\u{e9}"] {
        let folder = root.join(name);
        std::fs::create_dir(&folder).expect(name);
        let link = root.join(format!("link to {name}"));
        std::os::unix::fs::symlink(&folder, &link).expect(name);
        let folder = folder.to_str().expect(name);
        let expected = VirtualLocation::parse_prefix(&file_url(folder)).expect(name);
        assert_eq!(place(folder).location, expected, "{name}");
        assert_eq!(
            place(link.to_str().expect(name)).location,
            expected,
            "an import stores real paths: {name}"
        );
    }
    let gone = root.join("gone");
    let error = grant(VirtualAccess::none(), gone.to_str().expect("text")).expect_err("it is gone");
    assert!(error.to_string().contains("gone"), "{error}");
}
