//! The credentials with which granted buckets are opened.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use icefield_storage::{BoxError, Storage};

use super::bucket::GrantedBucket;
use crate::Schemes;

/// Opens granted buckets with credentials of the caller, or without. Language bindings implement it. The grant and the
/// repository's configuration decide where requests go; an identity only decides how they are signed.
#[async_trait]
pub trait Identity: fmt::Debug + Send + Sync + 'static {
    /// Returns whether requests to this bucket would carry credentials.
    fn signs(&self, bucket: &GrantedBucket) -> bool;

    /// Opens the bucket, for reading, at its endpoint, and below its prefix.
    ///
    /// # Errors
    /// The bucket cannot be opened.
    async fn open(&self, bucket: &GrantedBucket) -> Result<Arc<dyn Storage>, BoxError>;
}

/// No credentials, and nothing of the environment.
#[derive(Debug)]
pub(super) struct Anonymous;

#[async_trait]
impl Identity for Anonymous {
    fn signs(&self, _: &GrantedBucket) -> bool {
        false
    }

    async fn open(&self, bucket: &GrantedBucket) -> Result<Arc<dyn Storage>, BoxError> {
        let schemes = Schemes::none();
        #[cfg(feature = "s3")]
        let schemes = {
            let mut connect = crate::ConnectS3::anonymous();
            connect.settings = bucket.settings();
            schemes.with("s3", Arc::new(connect))
        };
        #[cfg(feature = "gcs")]
        let schemes = schemes.with("gs", Arc::new(crate::ConnectGcs::anonymous()));
        #[cfg(feature = "azure")]
        let schemes = schemes.with("az", Arc::new(crate::ConnectAzure::anonymous()));
        Ok(schemes.storage(&bucket.location()?).await?)
    }
}

/// The credentials that the environment has.
#[derive(Debug)]
pub(super) struct Environment;

#[async_trait]
impl Identity for Environment {
    fn signs(&self, _: &GrantedBucket) -> bool {
        true
    }

    async fn open(&self, bucket: &GrantedBucket) -> Result<Arc<dyn Storage>, BoxError> {
        let schemes = Schemes::standard().with_remote(&bucket.settings());
        Ok(schemes.storage(&bucket.location()?).await?)
    }
}
