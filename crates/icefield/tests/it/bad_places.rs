//! Buckets and keys that are wrong, as a user of the facade meets them: each error names what to change, and none
//! shows a secret.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;

use icefield::storage::remote::{RemoteSettings, RetrySettings};
use icefield::{
    BranchName, ByteRange, ConnectS3, Error, ErrorKind, Location, NodePath, Repository,
    RevisionSpec, Schemes, WriteMode,
};
use icefield_storage_s3::Credentials;
use icefield_testservers::{Answer, Behaviour, Fault, Rule, S3Options, S3Server};

const SECRET: &str = "testtest";
const ARRAY: &str = r#"{
    "zarr_format": 3, "node_type": "array", "shape": [2], "data_type": "uint8",
    "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [1]}},
    "chunk_key_encoding": {"name": "default"}, "fill_value": 0, "codecs": [{"name": "bytes"}]
}"#;

struct World(S3Server);

impl World {
    fn new() -> Self {
        Self(S3Server::start(S3Options::default()))
    }

    fn schemes(credentials: Option<Credentials>) -> Schemes {
        let mut connect = ConnectS3::default();
        connect.credentials = credentials;
        connect.isolated = true;
        // Twice at most, or a wrong answer is asked for until a minute has passed.
        connect.settings =
            RemoteSettings::default().with_retry(RetrySettings::default().with_attempts(2));
        Schemes::none().with("s3", Arc::new(connect))
    }

    fn url(&self, bucket: &str, prefix: &str) -> String {
        format!("s3://{bucket}/{prefix}?endpoint={}", self.0.endpoint())
    }

    async fn open_as(&self, key: Option<Credentials>, url: &str) -> Result<Repository, Error> {
        let location = Location::parse(url)?;
        let storage = Self::schemes(key).storage(&location).await?;
        Ok(Repository::open(storage).await?)
    }

    async fn create_as(&self, key: Option<Credentials>, url: &str) -> Result<Repository, Error> {
        let location = Location::parse(url)?;
        let storage = Self::schemes(key).storage(&location).await?;
        Ok(Repository::create(storage).await?)
    }

    fn refuse(&self, answer: Answer) {
        self.0.switches().clear();
        self.0.switches().inject(Rule::new(Fault::Refuse(answer)));
    }
}

fn good() -> Option<Credentials> {
    Some(Credentials::new("test", SECRET))
}

/// Asserts that an error is of a kind and says a word, and returns all that it shows.
#[track_caller]
fn says(error: &Error, kind: ErrorKind, word: &str) -> String {
    let mut shown = format!("{error}");
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        shown = format!("{shown}: {error}");
        cause = error.source();
    }
    assert_eq!(error.kind(), kind, "{shown}");
    assert!(shown.contains(word), "{word:?} is not in: {shown}");
    let all = format!("{shown} {error:?}");
    for secret in [SECRET, "hidden"] {
        assert!(!all.contains(secret), "a secret is in: {all}");
    }
    shown
}

/// One commit with a chunk of its own.
async fn fill(repository: &Repository) -> Result<(), Error> {
    let session = repository.write_session(BranchName::main()).await?;
    let path = NodePath::parse("/x")?;
    session
        .set_metadata(&path, ARRAY.into(), WriteMode::Overwrite)
        .await?;
    session
        .set_chunk(&path, &[0], vec![7; 1000].into(), WriteMode::Overwrite)
        .await?;
    icefield::committed(session.commit("x").await?)?;
    Ok(())
}

async fn reads(repository: &Repository, revision: &str) {
    let spec = RevisionSpec::parse(revision).unwrap();
    let id = spec.resolve(repository).await.unwrap();
    let session = repository.read_session(id).await.unwrap();
    let path = NodePath::parse("/x").unwrap();
    let chunk = session.chunk(&path, &[0], ByteRange::All).await.unwrap();
    assert_eq!(chunk.unwrap(), vec![7; 1000]);
}

#[tokio::test]
async fn what_to_change_is_named_when_opening_and_when_creating() {
    let world = World::new();
    let url = world.url(world.0.bucket(), "sea");
    let failures = async |url: &str, key: Option<Credentials>| {
        let open = world.open_as(key.clone(), url).await.unwrap_err();
        let create = world.create_as(key, url).await.unwrap_err();
        [open, create]
    };
    for error in failures(&world.url("no-such-bucket", "sea"), good()).await {
        says(&error, ErrorKind::Invalid, "bucket");
    }
    for key in [
        Credentials::new("test", "hidden-wrong"),
        Credentials::new("another-user", "hidden"),
    ] {
        for error in failures(&url, Some(key)).await {
            says(&error, ErrorKind::Invalid, "credentials");
        }
    }
    // Without credentials, the requests are anonymous.
    for error in failures(&url, None).await {
        says(&error, ErrorKind::Io, "credentials");
    }
    for (answer, word) in [
        (Answer::wrong_region(), "region"),
        (Answer::new(400, "AuthorizationHeaderMalformed"), "region"),
        (Answer::expired_token().with_status(400), "expired"),
        (Answer::time_too_skewed(), "clock"),
    ] {
        world.refuse(answer);
        for error in failures(&url, good()).await {
            says(&error, ErrorKind::Invalid, word);
        }
    }
}

#[tokio::test]
async fn a_public_bucket_is_read_and_a_write_is_refused() {
    let world = World::new();
    let url = world.url(world.0.bucket(), "sea");
    fill(&world.create_as(good(), &url).await.unwrap())
        .await
        .unwrap();
    world
        .0
        .switches()
        .set(|it: &mut Behaviour| it.anonymous_read = true);
    let repository = world.open_as(None, &format!("{url}&anonymous")).await;
    let repository = repository.unwrap();
    reads(&repository, "main").await;
    let error = fill(&repository).await.unwrap_err();
    says(&error, ErrorKind::Io, "no permission to write");
}

/// As a policy with `s3:GetObject` and without `s3:ListBucket`: then Amazon also says of what is not there that it
/// is forbidden.
#[tokio::test]
async fn where_only_reading_is_allowed_a_repository_opens() {
    let world = World::new();
    let url = world.url(world.0.bucket(), "sea");
    let repository = world.create_as(good(), &url).await.unwrap();
    fill(&repository).await.unwrap();
    let main = RevisionSpec::parse("main").unwrap();
    let tip = main.resolve(&repository).await.unwrap();
    icefield::landed(repository.create_tag("v1", tip).await.unwrap()).unwrap();
    icefield::landed(repository.create_branch("old", tip).await.unwrap()).unwrap();
    for forbidden in [false, true] {
        world.0.switches().set(|it: &mut Behaviour| {
            it.deny_list = true;
            it.missing_is_forbidden = forbidden;
        });
        let repository = world.open_as(good(), &url).await.unwrap();
        for revision in ["main", "main~0", "old", "tag:v1"] {
            reads(&repository, revision).await;
        }
        let error = Error::from(repository.refs().await.unwrap_err());
        says(&error, ErrorKind::Io, "no permission to list");
        // Nothing is readable there, and the store does not say whether anything is there.
        let nothing = world.url(world.0.bucket(), "elsewhere");
        let error = world.open_as(good(), &nothing).await.unwrap_err();
        match forbidden {
            true => says(&error, ErrorKind::Io, "no permission to read"),
            false => says(&error, ErrorKind::NotFound, "elsewhere"),
        };
    }
}

#[tokio::test]
async fn prefixes_of_odd_characters_are_kept_or_refused() {
    let world = World::new();
    let bucket = world.0.bucket();
    for (prefix, stored) in [
        ("a b/c", "a b/c"),
        ("ünïcode/海", "ünïcode/海"),
        ("100%25/%2525", "100%/%25"),
        ("a+b/c=d&e", "a+b/c=d&e"),
        ("q%3Fx/%23y", "q?x/#y"),
        ("'quoted'/\"twice\"", "'quoted'/\"twice\""),
    ] {
        let url = world.url(bucket, prefix);
        fill(&world.create_as(good(), &url).await.unwrap())
            .await
            .unwrap();
        reads(&world.open_as(good(), &url).await.unwrap(), "main").await;
        let main = format!("{stored}/refs/branch.main/ref.json");
        assert!(world.0.world().keys(bucket).contains(&main), "{stored}");
        let refs = world.open_as(good(), &url).await.unwrap().refs().await;
        assert_eq!(refs.unwrap().branches.len(), 1, "{stored}");
    }
    let before = world.0.requests().len();
    for (prefix, word) in [
        ("a//b", "segment"),
        ("/a", "segment"),
        ("a/../b", "segment"),
        ("100%", "hexadecimal"),
        ("a#b", "%23"),
    ] {
        let error = world.create_as(good(), &world.url(bucket, prefix)).await;
        says(&error.unwrap_err(), ErrorKind::Invalid, word);
    }
    assert_eq!(world.0.requests().len(), before, "no request was sent");
}

/// The longest key of a repository is that of a transaction log: 13 bytes and 20 of the id.
#[tokio::test]
async fn keys_of_1024_bytes_are_kept_and_longer_ones_name_the_prefix() {
    let world = World::new();
    let bucket = world.0.bucket();
    let longest = 1024 - "/transactions/".len() - 20;
    // Or the names of the probe would be the longest.
    let url = |length: usize| {
        let prefix = vec!["p".repeat(199); 4].join("/");
        let prefix = format!("{prefix}/{}", "q".repeat(length - prefix.len() - 1));
        format!("{}&trust_conditions", world.url(bucket, &prefix))
    };
    let repository = world.create_as(good(), &url(longest)).await.unwrap();
    fill(&repository).await.unwrap();
    reads(&repository, "main").await;
    let keys = world.0.world().keys(bucket);
    assert_eq!(keys.iter().map(String::len).max(), Some(1024));

    let repository = world.create_as(good(), &url(longest + 1)).await.unwrap();
    let error = fill(&repository).await.unwrap_err();
    let shown = says(&error, ErrorKind::Invalid, "prefix");
    assert!(shown.contains("1025 bytes"), "{shown}");
    let keys = world.0.world().keys(bucket);
    assert_eq!(keys.iter().map(String::len).max(), Some(1024));
}
