//! Strings that are written once into a flatbuffer, however many refs share them.

use std::hash::BuildHasher;

use flatbuffers::{FlatBufferBuilder, Vector, WIPOffset};
use hashbrown::{DefaultHashBuilder, HashTable};

/// Finds strings already in a builder. Holds four bytes per distinct string: the text stays in the
/// builder.
pub(super) struct Interner {
    offsets: HashTable<u32>,
    hasher: DefaultHashBuilder,
    last: u32,
    /// Bytes that readers see more than once, which their limits count.
    pub(super) shared: usize,
}

/// Returns the text of the string that was written at an offset, counted from the buffer's end.
fn written<'a>(builder: &'a FlatBufferBuilder<'_>, offset: u32) -> &'a [u8] {
    let data = builder.unfinished_data();
    let string = &data[data.len() - offset as usize..];
    let len = string
        .first_chunk()
        .map_or(0, |len| u32::from_le_bytes(*len) as usize);
    &string[4..4 + len]
}

impl Interner {
    pub(super) fn new() -> Self {
        Self {
            offsets: HashTable::new(),
            hasher: DefaultHashBuilder::default(),
            last: 0,
            shared: 0,
        }
    }

    /// Returns the string of this text, writing it if it is new.
    pub(super) fn string(
        &mut self,
        builder: &mut FlatBufferBuilder<'static>,
        text: &str,
    ) -> WIPOffset<&'static str> {
        let write = |builder: &mut FlatBufferBuilder<'static>| builder.create_string(text).value();
        WIPOffset::new(self.find_or(builder, text.as_bytes(), write))
    }

    /// Returns the list of these bytes, writing it if it is new. One interner has either strings or lists.
    pub(super) fn bytes(
        &mut self,
        builder: &mut FlatBufferBuilder<'static>,
        bytes: &[u8],
    ) -> WIPOffset<Vector<'static, u8>> {
        let write = |builder: &mut FlatBufferBuilder<'static>| builder.create_vector(bytes).value();
        WIPOffset::new(self.find_or(builder, bytes, write))
    }

    /// Returns where these bytes are.
    ///
    /// Which ones are shared depends on themselves alone, never on the hasher's random state.
    fn find_or(
        &mut self,
        builder: &mut FlatBufferBuilder<'static>,
        bytes: &[u8],
        write: impl FnOnce(&mut FlatBufferBuilder<'static>) -> u32,
    ) -> u32 {
        if self.last != 0 && written(builder, self.last) == bytes {
            self.shared += bytes.len();
            return self.last;
        }
        let hash = self.hasher.hash_one(bytes);
        if let Some(offset) = self
            .offsets
            .find(hash, |offset| written(builder, *offset) == bytes)
        {
            self.shared += bytes.len();
            self.last = *offset;
            return self.last;
        }
        self.last = write(builder);
        let hasher = &self.hasher;
        let rehash = |offset: &u32| hasher.hash_one(written(builder, *offset));
        self.offsets.insert_unique(hash, self.last, rehash);
        self.last
    }
}
