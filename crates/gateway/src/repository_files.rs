//! The repository's own files, for programs that read the format themselves.

use std::sync::Arc;

use http::Response;
use http::header::CACHE_CONTROL;
use http::request::Parts;
use icefield::storage::{GetOptions, Key, StorageError};

use crate::admission::{Admission, Caller};
use crate::body::Body;
use crate::failure::Failure;
use crate::mount::Mount;
use crate::object::Object;
use crate::target::key_of;
use crate::transfer::{send, set};
use crate::v3::BYTES;

/// Bytes of the largest file that is served: it is held in memory.
const MAX_FILE: u64 = 256 << 20;

/// Sends a file of the repository.
pub(crate) async fn answer(
    mount: &Mount,
    key: &[&str],
    request: &Parts,
    caller: &Caller,
    admission: &Arc<Admission>,
) -> Result<Response<Body>, Failure> {
    let missing = || Failure::not_found("not found");
    let text = key_of(key).ok_or_else(missing)?;
    let key = Key::parse(&text).map_err(|_| missing())?;
    let storage = mount.repository().storage();
    let head = match storage.head(&key).await {
        Ok(head) => head,
        Err(StorageError::NotFound { .. } | StorageError::NotAnObject { .. }) => {
            return Err(missing());
        }
        Err(error) => return Err(Failure::of_read(error)),
    };
    if head.size > MAX_FILE {
        let message = format!("{key} has {} bytes, more than {MAX_FILE}", head.size);
        return Err(Failure::new(
            http::StatusCode::NOT_IMPLEMENTED,
            "unsupported",
            message,
        ));
    }
    let turn = admission.turn(caller, head.size).await;
    let object = storage.get(&key, GetOptions::default()).await;
    let object = object.map_err(Failure::of_read)?;
    let bytes = object.bytes().await.map_err(Failure::of_read)?;
    let object = Object::of_bytes(turn.hold(bytes), BYTES);
    let mut response = send(object, request, caller, admission).await?;
    set(response.headers_mut(), CACHE_CONTROL, "no-cache");
    Ok(response)
}
