//! Repositories on servers that others wrote, where the environment names them; `cargo xtask test` starts them.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::io::Write as _;
use std::sync::Arc;

use futures::TryStreamExt;
use icefield::storage::Storage;
use icefield::{
    BranchName, ByteRange, CommitOutcome, Detector, Location, NodePath, RebaseOutcome, Repository,
    RevisionSpec, Schemes, Session, SnapshotId, WriteMode,
};
use icefield_core::test_suite::{self, Trial};

const ARRAY: &str = r#"{
    "zarr_format": 3, "node_type": "array", "shape": [4], "data_type": "uint8",
    "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [1]}},
    "chunk_key_encoding": {"name": "default"}, "fill_value": 0, "codecs": [{"name": "bytes"}]
}"#;

async fn storage(schemes: &Schemes, url: &str) -> Arc<dyn Storage> {
    let location = Location::parse(url).unwrap();
    schemes.storage(&location).await.unwrap()
}

async fn writer(repository: &Repository) -> Session {
    let session = repository.write_session(BranchName::main()).await;
    session.unwrap()
}

/// Writes a chunk that has an object of its own.
async fn write(session: &Session, index: u32) {
    let path = NodePath::parse("/sea/ice").unwrap();
    let bytes = vec![index as u8 + 1; 1000].into();
    let index = [index];
    let wrote = session.set_chunk(&path, &index, bytes, WriteMode::Overwrite);
    assert!(wrote.await.unwrap());
}

async fn committed(session: &Session, message: &str) -> SnapshotId {
    icefield::committed(session.commit(message).await.unwrap()).unwrap()
}

/// The operations of a user in a day, at a location.
async fn a_day_at(schemes: Schemes, url: String) {
    let repository = Repository::create(storage(&schemes, &url).await).await;
    let repository = repository.unwrap();
    let again = Repository::create(storage(&schemes, &url).await).await;
    assert!(again.is_err(), "there is one already");
    let session = writer(&repository).await;
    let path = NodePath::parse("/sea/ice").unwrap();
    let wrote = session.set_metadata(&path, ARRAY.into(), WriteMode::Overwrite);
    assert!(wrote.await.unwrap());
    write(&session, 0).await;
    let first = committed(&session, "one").await;

    // Two begin from the same state, one is first, and the other one goes on from there.
    let other = Repository::open(storage(&schemes, &url).await)
        .await
        .unwrap();
    let (ours, theirs) = (writer(&repository).await, writer(&other).await);
    write(&ours, 1).await;
    write(&theirs, 2).await;
    committed(&theirs, "theirs").await;
    let outcome = ours.commit("ours").await.unwrap();
    assert!(
        matches!(outcome, CommitOutcome::BranchMoved { .. }),
        "{outcome:?}"
    );
    let rebased = ours.rebase(&Detector::Strict).await.unwrap();
    assert!(
        matches!(rebased, RebaseOutcome::Rebased { .. }),
        "{rebased:?}"
    );
    let tip = committed(&ours, "ours").await;

    let names = ["a branch", "ünïcode%20+"];
    icefield::landed(repository.create_branch(names[0], first).await.unwrap()).unwrap();
    icefield::landed(repository.create_tag(names[1], first).await.unwrap()).unwrap();
    icefield::landed(repository.create_tag("gone", first).await.unwrap()).unwrap();
    icefield::landed(
        repository
            .delete_tag(&"gone".parse().unwrap())
            .await
            .unwrap(),
    )
    .unwrap();

    let reopened = Repository::open(storage(&schemes, &url).await)
        .await
        .unwrap();
    let refs = reopened.refs().await.unwrap();
    let branches: Vec<&str> = refs.branches.keys().map(|name| name.as_str()).collect();
    let tags: Vec<&str> = refs.tags.keys().map(|name| name.as_str()).collect();
    assert_eq!((branches, tags), (vec![names[0], "main"], vec![names[1]]));
    let history: Vec<_> = reopened.ancestry(tip).try_collect().await.unwrap();
    let messages: Vec<&str> = history.iter().map(|it| it.message.as_str()).collect();
    assert_eq!(messages[..3], ["ours", "theirs", "one"]);
    let session = reopened.read_session(tip).await.unwrap();
    for index in 0..3 {
        let chunk = session.chunk(&path, &[index], ByteRange::All).await;
        let bytes = vec![index as u8 + 1; 1000];
        assert_eq!(chunk.unwrap().as_deref(), Some(&bytes[..]));
    }
    let spec = RevisionSpec::parse(&format!("tag:{}", names[1])).unwrap();
    assert_eq!(spec.resolve(&reopened).await.unwrap(), first);
}

/// The whole suite of sessions, commits and refs, case by case, but for those named.
fn suite<F>(except: &[&str], make: impl Fn(&'static str) -> F + Clone + Send + Sync + 'static)
where
    F: Future<Output = Arc<dyn Storage>> + Send + 'static,
{
    let cases = test_suite::cases();
    for name in except {
        assert!(cases.iter().any(|case| case.name == *name), "{name}");
    }
    for case in cases {
        if except.contains(&case.name) {
            // Past the capture of libtest.
            let _closed = writeln!(std::io::stdout(), "LEFT OUT {}", case.name);
            continue;
        }
        let trial = Trial::new(case.name, icefield::format::SpecVersion::V1, make.clone());
        test_suite::block_on((case.run)(trial));
    }
}

#[cfg(feature = "s3")]
mod seaweedfs {
    use icefield::ConnectS3;
    use icefield_storage_s3::Credentials;
    use icefield_testservers::Outside;
    use icefield_testservers::outside::{S3, fresh_prefix, is_there};

    use super::*;

    /// It lists `x/y` before `x-y`, and the backend refuses a list that is not in byte order.
    const EXCEPT: [&str; 1] = ["odd_names_are_names"];

    fn place(case: &str) -> (Schemes, String) {
        let server = Outside::s3();
        let key = Credentials::new(server.account, server.secret);
        let connect = ConnectS3::with_credentials(key);
        let url = format!(
            "s3://{}/{}?endpoint={}",
            server.bucket,
            fresh_prefix(case),
            server.endpoint
        );
        (Schemes::none().with("s3", Arc::new(connect)), url)
    }

    #[tokio::test]
    async fn a_repository_lives_there() {
        if is_there(S3, "a_repository_lives_there") {
            let (schemes, url) = place("day");
            a_day_at(schemes, url).await;
        }
    }

    #[test]
    fn the_suite_of_sessions_passes_there() {
        if is_there(S3, "the_suite_of_sessions_passes_there") {
            suite(&EXCEPT, |case| async move {
                let (schemes, url) = place(case);
                storage(&schemes, &url).await
            });
        }
    }
}

#[cfg(feature = "azure")]
mod azurite {
    use icefield_testservers::Outside;
    use icefield_testservers::outside::{AZURE, fresh_prefix, is_there};

    use super::*;

    /// The key of an `az:` location is a variable of the whole process, `AZURE_STORAGE_KEY`.
    fn place(case: &str) -> (Schemes, String) {
        let server = Outside::azure();
        let shown = std::env::var("AZURE_STORAGE_KEY");
        assert_eq!(shown.ok(), Some(server.secret), "AZURE_STORAGE_KEY");
        let url = format!(
            "az://{}/{}/{}?endpoint={}",
            server.account,
            server.bucket,
            fresh_prefix(case),
            server.endpoint
        );
        (Schemes::standard(), url)
    }

    #[tokio::test]
    async fn a_repository_lives_there() {
        if is_there(AZURE, "a_repository_lives_there") {
            let (schemes, url) = place("day");
            a_day_at(schemes, url).await;
        }
    }

    #[test]
    fn the_suite_of_sessions_passes_there() {
        if is_there(AZURE, "the_suite_of_sessions_passes_there") {
            suite(&[], |case| async move {
                let (schemes, url) = place(case);
                storage(&schemes, &url).await
            });
        }
    }
}
