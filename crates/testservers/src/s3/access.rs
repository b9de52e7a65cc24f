//! The permissions of clients.

use async_trait::async_trait;
use s3s::access::{S3Access, S3AccessContext};
use s3s::{S3Result, s3_error};

use crate::Switches;

/// Signed requests may do everything, others what the switches say.
pub(super) struct Policy(pub(super) Switches);

#[async_trait]
impl S3Access for Policy {
    async fn check(&self, request: &mut S3AccessContext<'_>) -> S3Result<()> {
        let behaviour = self.0.behaviour();
        let operation = request.s3_op().name();
        if behaviour.deny_list && ["ListObjects", "ListObjectsV2"].contains(&operation) {
            return Err(s3_error!(AccessDenied, "Access Denied"));
        }
        let reads = ["GetObject", "HeadObject", "ListObjects", "ListObjectsV2"];
        if request.credentials().is_none()
            && !(behaviour.anonymous_read && reads.contains(&operation))
        {
            return Err(s3_error!(AccessDenied, "Access Denied"));
        }
        Ok(())
    }
}
