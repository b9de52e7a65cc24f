//! Keeps what is written within what the format, and its reference reader, can read.

use flatbuffers::FlatBufferBuilder;

use crate::envelope::MAX_BODY_LEN;
use crate::error::{FormatError, FormatFile};
use crate::verified::{Root, Verified};

/// Room for the root table and alignment, which no estimate counts.
const SLACK: usize = 4096;
/// Bodies from this apparent size on are verified as a reader would before they are written. The
/// reference reader's limit counts the vtable of each table and each use of a shared string anew,
/// so it binds before a body has 2 GiB; below this size it cannot.
const VERIFIED_FROM: usize = 256 << 20;

/// Checks that `more` bytes fit into the body. The builder itself would panic.
pub(crate) fn check_room(
    builder: &FlatBufferBuilder<'_>,
    file: FormatFile,
    more: usize,
) -> Result<(), FormatError> {
    check_room_below(MAX_BODY_LEN, builder, file, more)
}

/// As [`check_room`], of a body that may have fewer bytes.
pub(crate) fn check_room_below(
    limit: u64,
    builder: &FlatBufferBuilder<'_>,
    file: FormatFile,
    more: usize,
) -> Result<(), FormatError> {
    let total = builder
        .unfinished_data()
        .len()
        .saturating_add(more)
        .saturating_add(SLACK);
    if total as u64 >= limit {
        return Err(FormatError::TooLarge { file, limit });
    }
    Ok(())
}

/// Checks that a reader with the reference's limits accepts the body, in which `shared` bytes of
/// text are met again.
pub(crate) fn check_readable<T: Root>(
    body: &[u8],
    shared: usize,
    file: FormatFile,
) -> Result<(), FormatError> {
    if body.len().saturating_add(shared) < VERIFIED_FROM {
        return Ok(());
    }
    match Verified::<T>::check(body) {
        Ok(()) => Ok(()),
        Err(_) => Err(FormatError::TooLarge {
            file,
            limit: MAX_BODY_LEN,
        }),
    }
}
