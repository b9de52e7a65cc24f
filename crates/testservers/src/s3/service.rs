//! The operations of S3, each handed on to the file about its kind.

use std::sync::Arc;

use async_trait::async_trait;
use s3s::dto::*;
use s3s::{S3, S3Request, S3Response, S3Result, s3_error};

use super::context::Context;
use super::{errors, lifecycle, list, objects, reads, uploads};
use crate::switches::{Orders, Switches};
use crate::world::World;

/// The operations over one world.
pub(super) struct Bucketeer {
    pub(super) world: Arc<World>,
    pub(super) switches: Switches,
}

impl Bucketeer {
    fn take<T>(&self, request: S3Request<T>) -> (Context, T) {
        let orders = request.extensions.get::<Orders>();
        let context = Context {
            world: Arc::clone(&self.world),
            behaviour: self.switches.behaviour(),
            orders: orders.cloned().unwrap_or_default(),
            headers: request.headers,
        };
        (context, request.input)
    }
}

/// Writes each operation as a call of a function.
macro_rules! operations {
    ($($name:ident: $input:ident -> $output:ident = $function:path;)*) => {
        #[async_trait]
        impl S3 for Bucketeer {
            $(
                async fn $name(
                    &self,
                    request: S3Request<$input>,
                ) -> S3Result<S3Response<$output>> {
                    let (context, input) = self.take(request);
                    $function(context, input).await.map(S3Response::new)
                }
            )*
        }
    };
}

operations! {
    create_bucket: CreateBucketInput -> CreateBucketOutput = create_bucket;
    head_bucket: HeadBucketInput -> HeadBucketOutput = head_bucket;
    get_bucket_lifecycle_configuration: GetBucketLifecycleConfigurationInput
        -> GetBucketLifecycleConfigurationOutput = lifecycle::get;
    get_object: GetObjectInput -> GetObjectOutput = reads::get;
    head_object: HeadObjectInput -> HeadObjectOutput = reads::head;
    put_object: PutObjectInput -> PutObjectOutput = objects::put;
    copy_object: CopyObjectInput -> CopyObjectOutput = objects::copy;
    delete_object: DeleteObjectInput -> DeleteObjectOutput = objects::delete;
    delete_objects: DeleteObjectsInput -> DeleteObjectsOutput = objects::delete_many;
    get_object_tagging: GetObjectTaggingInput -> GetObjectTaggingOutput = objects::get_tags;
    put_object_tagging: PutObjectTaggingInput -> PutObjectTaggingOutput = objects::put_tags;
    list_objects_v2: ListObjectsV2Input -> ListObjectsV2Output = list::objects;
    create_multipart_upload: CreateMultipartUploadInput -> CreateMultipartUploadOutput
        = uploads::begin;
    upload_part: UploadPartInput -> UploadPartOutput = uploads::part;
    complete_multipart_upload: CompleteMultipartUploadInput -> CompleteMultipartUploadOutput
        = uploads::complete;
    abort_multipart_upload: AbortMultipartUploadInput -> AbortMultipartUploadOutput
        = uploads::abort;
    list_parts: ListPartsInput -> ListPartsOutput = uploads::parts;
    list_multipart_uploads: ListMultipartUploadsInput -> ListMultipartUploadsOutput
        = list::uploads;
}

async fn create_bucket(on: Context, input: CreateBucketInput) -> S3Result<CreateBucketOutput> {
    if !on.world.create_bucket(&input.bucket) {
        return Err(s3_error!(BucketAlreadyOwnedByYou));
    }
    Ok(CreateBucketOutput {
        location: Some(format!("/{}", input.bucket)),
    })
}

async fn head_bucket(on: Context, input: HeadBucketInput) -> S3Result<HeadBucketOutput> {
    if !on.world.has_bucket(&input.bucket) {
        let missing = crate::world::Refusal::NoBucket;
        return Err(errors::refusal(missing, &on.behaviour));
    }
    Ok(HeadBucketOutput::default())
}
