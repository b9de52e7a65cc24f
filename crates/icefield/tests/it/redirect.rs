//! Locations that a web server points to.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;

use icefield::{
    ConnectRedirect, ConnectS3, Error, ErrorKind, Location, LocationError, Repository, Schemes,
};
use icefield_storage_s3::Credentials;
use icefield_testservers::{Behaviour, FileServer, S3Options, S3Server};

/// A web server, a bucket that anybody may read, and where the repository in it is.
async fn world() -> (FileServer, S3Server, String) {
    let web = FileServer::in_memory();
    let s3 = S3Server::start(S3Options::default());
    let target = format!("s3://{}/sea?endpoint={}", s3.bucket(), s3.endpoint());
    let (schemes, location) = (with_key(&s3), Location::parse(&target).unwrap());
    let storage = schemes.storage(&location).await.unwrap();
    Repository::create(storage).await.unwrap();
    s3.switches()
        .set(|it: &mut Behaviour| it.anonymous_read = true);
    (web, s3, target)
}

fn with_key(s3: &S3Server) -> Schemes {
    let key = Credentials::new(s3.access_key(), s3.secret_key());
    Schemes::none().with("s3", Arc::new(ConnectS3::with_credentials(key)))
}

/// Redirects to any bucket, also to one of this machine, and without a key.
fn trusting() -> Schemes {
    let targets = Schemes::none().with("s3", Arc::new(ConnectS3::anonymous()));
    Schemes::none().with("redirect+http", Arc::new(ConnectRedirect::to(targets)))
}

async fn open(web: &FileServer, schemes: &Schemes, path: &str) -> Result<Repository, Error> {
    let location = Location::parse(&format!("redirect+{}/{path}", web.endpoint()))?;
    Ok(Repository::open(schemes.storage(&location).await?).await?)
}

#[tokio::test]
async fn a_redirect_is_followed_once_and_takes_no_credentials_along() {
    let (web, s3, target) = world().await;
    web.redirect("/ocean", 302, &target);
    let before = s3.requests().len();
    let repository = open(&web, &trusting(), "ocean").await.unwrap();
    let refs = repository.refs().await.unwrap();
    assert_eq!(refs.branches.len(), 1);
    assert!(web.requests().iter().all(|it| !it.authorized && !it.cookie));
    let asked = &s3.requests()[before..];
    assert!(!asked.is_empty());
    assert!(asked.iter().all(|it| !it.authorized), "{asked:?}");

    // With a key only where the caller gives one on purpose.
    let connect = Arc::new(ConnectRedirect::to(with_key(&s3)));
    let schemes = Schemes::none().with("redirect+http", connect);
    s3.switches()
        .set(|it: &mut Behaviour| it.anonymous_read = false);
    open(&web, &schemes, "ocean").await.unwrap();
    let error = open(&web, &trusting(), "ocean").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Io, "{error}");
}

#[tokio::test]
async fn a_stranger_leads_nobody_into_this_machine() {
    let (web, s3, target) = world().await;
    let before = s3.requests().len();
    let secure = target.replace("http://", "https://");
    for (path, target) in [
        ("plain", target.clone()),
        ("secure", secure.clone()),
        ("trusting", "s3://sea/x?trust_conditions".to_owned()),
        ("web", web.url("x").replace("http://", "https://")),
    ] {
        web.redirect(&format!("/{path}"), 302, &target);
        let error = open(&web, &Schemes::standard(), path).await.unwrap_err();
        let refused = error.downcast_ref::<LocationError>();
        assert!(
            matches!(refused, Some(LocationError::Redirect { .. })),
            "{path}: {error}"
        );
    }
    assert_eq!(s3.requests().len(), before);
}

#[tokio::test]
async fn g102_no_chain_no_file_no_other_scheme() {
    let (web, _s3, _) = world().await;
    let schemes = Schemes::standard();
    for (path, target) in [
        ("loop", format!("redirect+{}/loop", web.endpoint())),
        ("plain", format!("{}/ocean", web.endpoint())),
        ("file", "file:///etc".to_owned()),
        ("path", "/etc".to_owned()),
        ("memory", "memory:".to_owned()),
    ] {
        web.redirect(&format!("/{path}"), 307, &target);
        let error = open(&web, &schemes, path).await.unwrap_err();
        let refused = error.downcast_ref::<LocationError>();
        assert!(
            matches!(refused, Some(LocationError::Redirect { .. })),
            "{path}: {error}"
        );
        assert_eq!(error.kind(), ErrorKind::Invalid);
    }
    assert_eq!(web.requests().len(), 5, "one request each");
}

#[tokio::test]
async fn what_does_not_redirect_is_said() {
    let (web, _s3, _) = world().await;
    let error = open(&web, &Schemes::standard(), "nothing").await;
    let text = error.unwrap_err().to_string();
    assert!(text.contains("404"), "{text}");
    web.redirect("/empty", 301, "");
    let error = open(&web, &Schemes::standard(), "empty").await;
    let text = error.unwrap_err().to_string();
    assert!(text.contains("no place"), "{text}");
    let location = Location::parse("redirect+http://me:hidden@127.0.0.1:1/x").unwrap();
    let error = Schemes::standard().storage(&location).await.unwrap_err();
    let text = format!("{error} {error:?}");
    assert!(text.contains("user") && !text.contains("hidden"), "{text}");
}
