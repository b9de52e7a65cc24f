//! Text that shares the buffer that it was read from.

use std::borrow::Borrow;
use std::fmt;

use bytes::Bytes;
use flatbuffers::{FlatBufferBuilder, WIPOffset};

/// A text. Hostile files may use one string, or overlapping ones, any number of times; so texts of which there may be many
/// are not copied. Compares by its bytes, as texts do.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Text(Bytes);

impl Text {
    /// Returns a text that lies in the buffer.
    pub(crate) fn within(buffer: &Bytes, text: &str) -> Self {
        Self(buffer.slice_ref(text.as_bytes()))
    }

    /// Returns the length in bytes.
    pub(crate) fn byte_len(&self) -> usize {
        self.0.len()
    }

    /// Writes the text as a string of a table, without reading it as a text again: `repo` has one for each commit.
    pub(crate) fn write<'b>(&self, builder: &mut FlatBufferBuilder<'b>) -> WIPOffset<&'b str> {
        WIPOffset::new(builder.create_byte_string(&self.0).value())
    }

    pub(crate) fn as_str(&self) -> &str {
        // It was made of a text, so that it is one.
        str::from_utf8(&self.0).unwrap_or_default()
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        Self(Bytes::copy_from_slice(text.as_bytes()))
    }
}

impl Borrow<[u8]> for Text {
    fn borrow(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}
