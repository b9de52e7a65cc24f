//! The S3 backend keeps the promises of the storage contract, against a server in this process.

use std::sync::{Arc, OnceLock};

use icefield_storage::Key;
use icefield_storage::conformance::{Effort, Subject};
use icefield_storage::remote::RemoteSettings;
use icefield_storage_s3::{Credentials, S3Builder};
use icefield_testservers::world::Draft;
use icefield_testservers::{S3Options, S3Server};

/// Returns an empty bucket of the one server of this process.
async fn fresh(case: &str) -> Subject {
    static SERVER: OnceLock<S3Server> = OnceLock::new();
    let server = SERVER.get_or_init(|| S3Server::start(S3Options::default()));
    // A bucket for each case: the longest keys leave no room for a prefix.
    let bucket = case.replace('_', "-");
    server.world().create_bucket(&bucket);
    let storage = S3Builder::new(&*bucket)
        .endpoint(server.endpoint())
        .credentials(Credentials::new(server.access_key(), server.secret_key()))
        // Small enough that large objects take every path.
        .settings(
            RemoteSettings::default()
                .with_multipart(6 << 20, 5 << 20)
                .with_parallel_reads(2 << 20),
        )
        .open();
    let storage = Arc::new(storage.expect("the settings are sound"));
    Subject::with_plant(storage, move |name| {
        // Any text; a key would be an object.
        let name = String::from_utf8(name);
        let name = name.ok().filter(|name| Key::parse(name).is_err());
        let planted = name.map(|name| server.world().put(&bucket, &name, Draft::new("")));
        std::future::ready(planted.is_some())
    })
}

fn effort() -> Effort {
    Effort {
        many: 1010,
        ..Effort::default()
    }
}

icefield_storage::conformance_tests! { fresh, effort = effort() }
