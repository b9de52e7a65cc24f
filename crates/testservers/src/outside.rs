//! Servers that others wrote and another process started: a second opinion on what the servers of this crate say.
//!
//! The environment names them. `cargo xtask test` starts one for each kind and sets the variables; they may as well
//! name a bucket of one's own.

use std::fmt;
use std::io::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};

use icefield_storage::{Entropy, SystemEntropy};

/// The variable that names an S3 server. With it go `TEST_S3_BUCKET`, `TEST_S3_ACCESS_KEY`, `TEST_S3_SECRET_KEY`.
pub const S3: &str = "TEST_S3_ENDPOINT";
/// The variable that names a GCS server. With it goes `TEST_GCS_BUCKET`.
pub const GCS: &str = "TEST_GCS_ENDPOINT";
/// The variable that names an Azure account's URL. With it go `TEST_AZURE_ACCOUNT`, `TEST_AZURE_CONTAINER`,
/// `TEST_AZURE_KEY`.
pub const AZURE: &str = "TEST_AZURE_ENDPOINT";

/// Where such a server is, and what it wants to be shown.
#[derive(Clone)]
pub struct Outside {
    /// The URL that clients are given.
    pub endpoint: String,
    /// The bucket, or the container.
    pub bucket: String,
    /// The access key, or the account.
    pub account: String,
    /// The secret key, or the key of the account.
    pub secret: String,
}

impl Outside {
    /// Returns the S3 server.
    ///
    /// # Panics
    /// If no server is named, or the variables beside it are missing.
    pub fn s3() -> Self {
        Self {
            endpoint: set(S3),
            bucket: set("TEST_S3_BUCKET"),
            account: set("TEST_S3_ACCESS_KEY"),
            secret: set("TEST_S3_SECRET_KEY"),
        }
    }

    /// Returns the GCS server, which wants no key.
    ///
    /// # Panics
    /// If no server is named, or the variable beside it is missing.
    pub fn gcs() -> Self {
        Self {
            endpoint: set(GCS),
            bucket: set("TEST_GCS_BUCKET"),
            account: String::new(),
            secret: String::new(),
        }
    }

    /// Returns the Azure account.
    ///
    /// # Panics
    /// If none is named, or the variables beside it are missing.
    pub fn azure() -> Self {
        Self {
            endpoint: set(AZURE),
            bucket: set("TEST_AZURE_CONTAINER"),
            account: set("TEST_AZURE_ACCOUNT"),
            secret: set("TEST_AZURE_KEY"),
        }
    }
}

impl fmt::Debug for Outside {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Outside")
            .field("endpoint", &self.endpoint)
            .field("bucket", &self.bucket)
            .finish_non_exhaustive()
    }
}

/// Says whether the environment names a server by this variable. If not, the test is skipped, by name.
pub fn is_there(variable: &str, test: &str) -> bool {
    let there = std::env::var_os(variable).is_some();
    if !there {
        // Past the capture of libtest: that a test passes must not look as if it had run.
        let _closed = writeln!(std::io::stderr(), "SKIPPED {test}: {variable} is not set");
    }
    there
}

/// Returns a prefix that no test used before: these servers outlive a test.
pub fn fresh_prefix(case: &str) -> String {
    static CASES: AtomicU64 = AtomicU64::new(0);
    let mut random = [0; 8];
    SystemEntropy.fill(&mut random);
    let number = CASES.fetch_add(1, Ordering::Relaxed);
    format!("{:016x}/{number}-{case}", u64::from_le_bytes(random))
}

fn set(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| panic!("{name} is not set"))
}
