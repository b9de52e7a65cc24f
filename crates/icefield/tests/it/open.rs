//! Opening by location, naming versions, and the kind that each failure becomes.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;

use icefield::{
    BranchName, CommitOutcome, Error, ErrorKind, Location, NodePath, Repository, RevisionSpec,
    Schemes, SnapshotId, WriteMode,
};

const GROUP: &str = r#"{"zarr_format": 3, "node_type": "group"}"#;

async fn commit(repository: &Repository, path: &str) -> SnapshotId {
    let session = repository.write_session(BranchName::main()).await.unwrap();
    session
        .set_metadata(
            &NodePath::parse(path).unwrap(),
            GROUP.into(),
            WriteMode::Overwrite,
        )
        .await
        .unwrap();
    icefield::committed(session.commit(path).await.unwrap()).unwrap()
}

async fn find(repository: &Repository, text: &str) -> Result<SnapshotId, Error> {
    RevisionSpec::parse(text)?.resolve(repository).await
}

fn kind<T: std::fmt::Debug>(result: Result<T, Error>) -> ErrorKind {
    result.unwrap_err().kind()
}

#[tokio::test]
async fn a_path_and_its_urls_are_one_place() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("my data");
    let path = path.to_str().unwrap();
    assert_eq!(kind(icefield::open(path).await), ErrorKind::NotFound);
    let first = icefield::create(path).await.unwrap();
    let id = commit(&first, "/a").await;
    let encoded = path.replace(' ', "%20");
    for url in [
        format!("file://{encoded}"),
        format!("file://localhost{encoded}"),
        format!("file:{encoded}"),
        Location::of_path(path).to_url().unwrap(),
    ] {
        let repository = icefield::open(&url).await.unwrap();
        assert_eq!(find(&repository, "main").await.unwrap(), id, "{url}");
        assert_eq!(kind(icefield::create(&url).await), ErrorKind::AlreadyExists);
    }
    icefield::open_or_create(path).await.unwrap();
}

#[tokio::test]
async fn memory_is_new_each_time() {
    icefield::create("memory:").await.unwrap();
    assert_eq!(kind(icefield::open("memory:").await), ErrorKind::NotFound);
}

#[tokio::test]
async fn an_unknown_scheme_is_named() {
    let error = icefield::open("gopher://bucket/x").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(error.to_string().contains("`gopher:`"), "{error}");
    let error = Schemes::none()
        .storage(&Location::of_path("x"))
        .await
        .unwrap_err();
    assert!(error.to_string().contains("feature `local`"), "{error}");
}

#[tokio::test]
async fn versions_are_found_in_every_spelling() {
    let repository = icefield::create("memory:").await.unwrap();
    let mut ids = vec![SnapshotId::INITIAL];
    for path in ["/a", "/b", "/c"] {
        ids.push(commit(&repository, path).await);
    }
    for (name, id) in [("x~1", ids[1]), ("x", ids[3]), ("a@b", ids[2])] {
        icefield::landed(repository.create_branch(name, id).await.unwrap()).unwrap();
    }
    icefield::landed(
        repository
            .create_tag("2015-01-16T00:00:00Z", ids[2])
            .await
            .unwrap(),
    )
    .unwrap();
    let mut times = Vec::new();
    for id in &ids {
        times.push(jiff::Timestamp::try_from(written_at(&repository, *id).await).unwrap());
    }
    for (text, id) in [
        ("main".to_owned(), ids[3]),
        ("main~0".to_owned(), ids[3]),
        ("main~3".to_owned(), ids[0]),
        ("tag:2015-01-16T00:00:00Z".to_owned(), ids[2]),
        ("2015-01-16T00:00:00Z~1".to_owned(), ids[1]),
        (ids[2].to_string(), ids[2]),
        (ids[2].to_string().to_lowercase(), ids[2]),
        (format!("snapshot:{}~1", ids[2]), ids[1]),
        ("a@b".to_owned(), ids[2]),
        ("branch:a@b~1".to_owned(), ids[1]),
        // A bare word never is a name that ends like a suffix; after a prefix it is, if there is one.
        ("x~1".to_owned(), ids[2]),
        ("branch:x~1".to_owned(), ids[1]),
        ("branch:x~1~1".to_owned(), ids[0]),
        ("branch:x~2".to_owned(), ids[1]),
        (format!("main@{}", times[2]), ids[2]),
        (format!("main@{}~1", times[2]), ids[1]),
        (format!("main~2@{}", times[3]), ids[1]),
        ("main@2999-12-31T23:59:59+14:00".to_owned(), ids[3]),
    ] {
        assert_eq!(find(&repository, &text).await.unwrap(), id, "{text}");
    }
    for text in [
        "main~4",
        "nowhere",
        "tag:x",
        "branch:y~1",
        "main@1970-01-01T00:00:00Z",
        "7ZZZZZZZZZZZZZZZZZZG",
    ] {
        assert_eq!(
            kind(find(&repository, text).await),
            ErrorKind::NotFound,
            "{text}"
        );
    }
}

async fn written_at(repository: &Repository, id: SnapshotId) -> std::time::SystemTime {
    use futures::TryStreamExt;
    repository
        .ancestry(id)
        .try_next()
        .await
        .unwrap()
        .unwrap()
        .written_at
}

#[tokio::test]
async fn failures_have_kinds_and_keep_their_causes() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("repo");
    let text = path.to_str().unwrap();
    let repository = icefield::create(text).await.unwrap();
    let id = commit(&repository, "/a").await;

    // Lost races.
    let (one, two) = (
        repository.write_session(BranchName::main()).await.unwrap(),
        repository.write_session(BranchName::main()).await.unwrap(),
    );
    for session in [&one, &two] {
        let path = NodePath::parse("/b").unwrap();
        session
            .set_metadata(&path, GROUP.into(), WriteMode::Overwrite)
            .await
            .unwrap();
    }
    assert!(matches!(
        one.commit("one").await.unwrap(),
        CommitOutcome::Committed(_)
    ));
    assert_eq!(
        kind(icefield::committed(two.commit("two").await.unwrap())),
        ErrorKind::Conflict
    );
    assert_eq!(
        kind(icefield::landed(
            repository.create_branch("main", id).await.unwrap()
        )),
        ErrorKind::AlreadyExists
    );

    // Read-only sessions.
    let session = repository.read_session(id).await.unwrap();
    let write = session.delete_node(&NodePath::root()).await;
    assert_eq!(kind(write.map_err(Error::from)), ErrorKind::ReadOnly);

    // Damage: the file is named, and the cause below it kept.
    let file = path.join("snapshots").join(id.to_string());
    fs::write(&file, "nonsense").unwrap();
    let reopened = icefield::open(text).await.unwrap();
    let error = Error::from(reopened.read_session(id).await.unwrap_err());
    assert_eq!(error.kind(), ErrorKind::Corrupt);
    assert!(error.to_string().contains(&id.to_string()), "{error}");
    fs::remove_file(&file).unwrap();
    let reopened = icefield::open(text).await.unwrap();
    let error = Error::from(reopened.read_session(id).await.unwrap_err());
    assert!(
        matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::NotFound),
        "{error:?}"
    );

    // The object that makes it a repository of another version is damaged.
    fs::write(path.join("repo"), "anything").unwrap();
    assert_eq!(kind(icefield::open(text).await), ErrorKind::Corrupt);
}
