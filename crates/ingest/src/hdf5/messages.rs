//! The messages of an object header.

/// One message.
#[derive(Clone, Copy, Debug)]
pub(super) struct Message<'a> {
    pub(super) body: &'a [u8],
    pub(super) kind: u16,
    pub(super) shared: bool,
}

/// All messages of one object.
#[derive(Debug, Default)]
pub(super) struct Header {
    /// The bodies behind one another.
    bytes: Vec<u8>,
    places: Vec<MessagePlace>,
}

/// Where the body of a message ends; it begins where the one before ends.
#[derive(Debug)]
pub(super) struct MessagePlace {
    end: usize,
    kind: u16,
    shared: bool,
}

impl Header {
    /// Tells whether there is a message of this kind.
    pub(super) fn has(&self, kind: u16) -> bool {
        self.places.iter().any(|place| place.kind == kind)
    }

    /// Iterates over the messages of a kind.
    pub(super) fn all(&self, kind: u16) -> impl Iterator<Item = Message<'_>> {
        let ends = self.places.iter().map(|place| place.end);
        let starts = std::iter::once(0).chain(ends);
        let places = starts.zip(&self.places);
        let places = places.filter(move |(_, place)| place.kind == kind);
        places.map(move |(start, place)| Message {
            body: self.bytes.get(start..place.end).unwrap_or_default(),
            kind,
            shared: place.shared,
        })
    }

    pub(super) fn push(&mut self, kind: u16, shared: bool, body: &[u8]) {
        self.bytes.extend_from_slice(body);
        let end = self.bytes.len();
        self.places.push(MessagePlace { end, kind, shared });
    }
}
