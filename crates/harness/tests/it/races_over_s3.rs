//! Processes that race in one bucket. The test has the server, its workers get the key from their environment.

use std::path::Path;

use icefield::{ConnectS3, Location, Schemes};
use icefield_core::{BranchName, ByteRange, Repository, SnapshotId};
use icefield_harness::work;
use icefield_storage_s3::Credentials;
use icefield_testservers::{S3Options, S3Server};

use crate::races::{check_logs, history, race};
use crate::worker::{Worker, log_of};

/// A server, and what a process must be told to use it.
struct Bucket {
    server: S3Server,
    environment: Vec<(&'static str, String)>,
}

impl Bucket {
    fn new() -> Self {
        let server = S3Server::start(S3Options::default());
        let environment = vec![
            ("AWS_ACCESS_KEY_ID", server.access_key().to_owned()),
            ("AWS_SECRET_ACCESS_KEY", server.secret_key().to_owned()),
            // Nothing of the environment of the tests.
            ("AWS_SESSION_TOKEN", String::new()),
            ("AWS_CONFIG_FILE", "no such file".to_owned()),
            ("AWS_SHARED_CREDENTIALS_FILE", "no such file".to_owned()),
        ];
        Self {
            server,
            environment,
        }
    }

    fn location(&self, prefix: &str) -> String {
        let (bucket, endpoint) = (self.server.bucket(), self.server.endpoint());
        format!("s3://{bucket}/{prefix}?region=us-east-1&endpoint={endpoint}")
    }

    fn environment(&self) -> Vec<(&str, &str)> {
        let variables = self.environment.iter();
        variables
            .map(|(name, value)| (*name, value.as_str()))
            .collect()
    }

    async fn open(&self, prefix: &str) -> Repository {
        let key = Credentials::new(self.server.access_key(), self.server.secret_key());
        let connect = ConnectS3::with_credentials(key);
        let schemes = Schemes::none().with("s3", std::sync::Arc::new(connect));
        let location = Location::parse(&self.location(prefix)).expect("a location");
        let storage = schemes.storage(&location).await.expect("a bucket");
        Repository::open(storage).await.expect("it opens")
    }
}

#[tokio::test]
async fn eight_processes_commit_over_s3() {
    const WORKERS: u32 = 8;
    const COMMITS: usize = 100;
    let bucket = Bucket::new();
    let folder = tempfile::tempdir().expect("writable");
    let logs = folder.path().join("worker");
    let (location, environment) = (bucket.location("ocean"), bucket.environment());
    Worker::start(&["prepare", &location], &environment).finish();
    let mut workers: Vec<Worker> = (0..WORKERS)
        .map(|number| start(&location, number, COMMITS, &logs, &environment))
        .collect();
    workers.iter_mut().for_each(Worker::wait_ready);
    workers.iter_mut().for_each(Worker::go);
    let refused: usize = workers
        .into_iter()
        .map(|worker| worker.finish().parse::<usize>().expect("a number"))
        .sum();

    let repository = bucket.open("ocean").await;
    let history = history(&repository).await;
    let total = WORKERS as usize * COMMITS;
    assert_eq!(check_logs(&history, &logs, WORKERS), total);
    // The first snapshot, the preparation, and each acknowledged commit.
    assert_eq!(history.len(), total + 2);
    let session = repository.read_session(BranchName::main()).await;
    let session = session.expect("main is whole");
    for number in 0..WORKERS {
        let array = work::array_path();
        let chunk = session.chunk(&array, &[number], ByteRange::All).await;
        let chunk = chunk.expect("readable").expect("written");
        assert!(
            chunk
                .iter()
                .all(|byte| *byte == work::value_of(COMMITS - 1)),
            "the last commit of worker {number} is still there"
        );
    }
    println!(
        "{total} commits acknowledged, {refused} attempts refused on the way, {} requests",
        bucket.server.requests().len()
    );
}

/// Starts a worker that commits with rebase, to a chunk of its own.
fn start(
    location: &str,
    number: u32,
    commits: usize,
    logs: &Path,
    environment: &[(&str, &str)],
) -> Worker {
    let log = log_of(logs, number);
    // Some chunks are objects of their own, the others inline.
    let bytes = if number.is_multiple_of(4) { "600" } else { "1" };
    let (number, commits) = (number.to_string(), commits.to_string());
    let arguments = ["rebase", location, &number, &commits, &log, bytes];
    Worker::start(&arguments, environment)
}

/// B20.
#[tokio::test]
async fn two_processes_create_one_repository_over_s3() {
    let bucket = Bucket::new();
    let environment = bucket.environment();
    for round in 0..10 {
        let created = format!("created-{round}");
        let answers = race(&bucket.location(&created), "create", 2, &environment);
        assert_eq!(answers.get("created"), Some(&1), "{answers:?}");
        assert_eq!(answers.get("exists"), Some(&1), "{answers:?}");
        let repository = bucket.open(&created).await;
        assert_eq!(history(&repository).await, [SnapshotId::INITIAL]);

        let opened = format!("opened-{round}");
        let answers = race(&bucket.location(&opened), "open-or-create", 2, &environment);
        assert_eq!(answers.get("opened"), Some(&2), "{answers:?}");
        let repository = bucket.open(&opened).await;
        assert_eq!(history(&repository).await, [SnapshotId::INITIAL]);
    }
}
