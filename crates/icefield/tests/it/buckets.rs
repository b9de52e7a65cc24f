//! What the facade adds for buckets.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::{Arc, mpsc};

use icefield::{ConnectS3, Location, Repository, Schemes};
use icefield_storage_s3::Credentials;
use icefield_testservers::{S3Options, S3Server};

#[test]
fn synchronous_callers_reach_a_bucket() {
    let server = S3Server::start(S3Options::default());
    let key = Credentials::new(server.access_key(), server.secret_key());
    let connect = ConnectS3::with_credentials(key);
    let schemes = Schemes::none().with("s3", Arc::new(connect));
    let (bucket, endpoint) = (server.bucket(), server.endpoint());
    let location = Location::parse(&format!("s3://{bucket}/sea?endpoint={endpoint}")).unwrap();
    let (sender, receiver) = mpsc::channel();
    icefield::runtime().unwrap().spawn(async move {
        let storage = schemes.storage(&location).await.unwrap();
        let created = Repository::create(storage).await;
        sender.send(created.map(|_| ())).unwrap();
    });
    receiver.recv().unwrap().unwrap();
}
