//! Does a store honour conditions? Some accept the header and ignore it: two writers would both win.

use bytes::Bytes;

use super::Handle;
use super::request::{Answer, WriteRequest};
use crate::{Deletion, Key, PutMode, PutOptions, StorageError};

/// Below the prefix that readers of the format never look at.
const FOLDER: &str = "icefield/probe";

/// Finds out once for each handle, before its first conditional write.
pub(super) async fn check(handle: &Handle) -> Result<(), StorageError> {
    if handle.settings.trust_conditions || handle.remote.is_known_to_honour_conditions() {
        return Ok(());
    }
    let tried = handle.honours.get_or_try_init(|| attempt(handle)).await;
    tried.copied()
}

async fn attempt(handle: &Handle) -> Result<(), StorageError> {
    let key = Key::parse(&format!("{FOLDER}/{}", handle.retries.draw_id()))?;
    let verdict = conditions_hold(handle, &key).await;
    let deletion = Deletion::from(key.clone());
    let deleted = handle
        .persist("delete", key.as_str(), || handle.remote.delete(&deletion))
        .await;
    if let Err(error) = deleted {
        tracing::warn!(%key, %error, "what the probe of the store wrote could not be deleted");
    }
    match verdict? {
        None => Ok(()),
        Some(ignored) => Err(handle.remote.cannot(&format!(
            "conditional writes: it carried out a write although {ignored}. Commits to it could be lost; use \
             another store, or say that nobody else writes"
        ))),
    }
}

/// Returns the condition that was ignored, if one was.
async fn conditions_hold(handle: &Handle, key: &Key) -> Result<Option<&'static str>, StorageError> {
    let Answer::Done(first) = write(handle, key, PutMode::Create).await? else {
        // Nothing is there, and a refusal is no harm.
        return Ok(None);
    };
    if write(handle, key, PutMode::Create).await? != Answer::Refused {
        return Ok(Some("the object existed (If-None-Match)"));
    }
    let update = PutMode::Update(first.version);
    if write(handle, key, update.clone()).await? == Answer::Refused {
        return Ok(None);
    }
    Ok(match write(handle, key, update).await? {
        Answer::Refused => None,
        Answer::Done(_) => Some("the object had changed (If-Match)"),
    })
}

async fn write(handle: &Handle, key: &Key, mode: PutMode) -> Result<Answer, StorageError> {
    // The id makes the bytes differ: versions may be digests of them.
    let id = handle.retries.draw_id();
    let write = WriteRequest::new(PutOptions::mode(mode), id.clone());
    let bytes = Bytes::from(id);
    let put = || handle.remote.put(key, bytes.clone(), &write);
    handle.persist("write", key.as_str(), put).await
}
