//! Does a store honour conditions? Some accept the header and ignore it: two writers would both win.

use bytes::Bytes;

use super::Handle;
use super::request::{Answer, WriteRequest};
use crate::{Deletion, Key, PutMode, PutOptions, StorageError};

/// Below the prefix that readers of the format never look at.
const FOLDER: &str = "icefield/probe";
/// Times that it is tried until the answers show something.
const TRIES: u32 = 4;

/// Finds out once for each handle, before its first conditional write.
pub(super) async fn check(handle: &Handle) -> Result<(), StorageError> {
    if handle.settings.trust_conditions || handle.remote.is_known_to_honour_conditions() {
        return Ok(());
    }
    let tried = handle.honours.get_or_try_init(|| attempt(handle)).await;
    tried.copied()
}

/// The result of a try.
enum Verdict {
    Honoured,
    /// The condition that was not.
    Ignored(&'static str),
    /// An answer was lost, or another client was in the way.
    Unclear,
}

async fn attempt(handle: &Handle) -> Result<(), StorageError> {
    for _ in 0..TRIES {
        match try_once(handle).await? {
            Verdict::Honoured => return Ok(()),
            Verdict::Ignored(ignored) => {
                return Err(handle.remote.cannot(&format!(
                    "conditional writes: it carried out a write although {ignored}. Commits to it could be lost; use \
                     another store, or say that no other process writes"
                )));
            }
            Verdict::Unclear => {}
        }
    }
    Err(StorageError::Unavailable {
        action: "try the conditions of",
        target: handle.remote.to_string(),
        source: "its answers did not show whether it honours them".into(),
    })
}

/// Writes an object that no other client knows of, and deletes it.
async fn try_once(handle: &Handle) -> Result<Verdict, StorageError> {
    let key = Key::parse(&format!("{FOLDER}/{}", handle.retries.draw_id()))?;
    let verdict = conditions_hold(handle, &key).await;
    let deletion = Deletion::from(key.clone());
    let deleted = handle
        .persist("delete", key.as_str(), || handle.remote.delete(&deletion))
        .await;
    if let Err(error) = deleted {
        tracing::warn!(%key, %error, "what the probe of the store wrote could not be deleted");
    }
    verdict
}

async fn conditions_hold(handle: &Handle, key: &Key) -> Result<Verdict, StorageError> {
    let Answer::Done(first) = write(handle, key, PutMode::Create).await? else {
        return Ok(Verdict::Unclear);
    };
    if write(handle, key, PutMode::Create).await? != Answer::Refused {
        return Ok(Verdict::Ignored("the object existed (If-None-Match)"));
    }
    let update = PutMode::Update(first.version);
    if write(handle, key, update.clone()).await? == Answer::Refused {
        return Ok(Verdict::Unclear);
    }
    Ok(match write(handle, key, update).await? {
        Answer::Refused => Verdict::Honoured,
        Answer::Done(_) => Verdict::Ignored("the object had changed (If-Match)"),
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
