//! Object headers as lists of messages, each with its bytes.
//!
//! `hdf5-reader` parses whole headers, but keeps neither the forms of numbers nor the flags of layouts. So the list
//! is ours, and its parsers get the bytes of one message at a time.
//!
//! Many links may lead to one object. Its header is read once, and kept.

use std::collections::HashSet;
use std::rc::Rc;

use hdf5_reader::checksum::jenkins_lookup3;
use hdf5_reader::error::Error;
use hdf5_reader::io::Cursor;
use hdf5_reader::messages::shared::{self, SharedMessage};
use hdf5_reader::messages::{HdfMessage, MSG_CONTINUATION, MSG_DATATYPE, MSG_NIL, parse_message};

use super::datatype::DataType;
use super::file::Hdf5;
use super::messages::{Header, Message, MessagePlace};
use super::parsed::{Parsed, invalid};

/// Bytes of one header at most, with all its continuations. Real ones have some KiB.
const MAX_BYTES: u64 = 64 << 20;

/// Says that a message only tells where it is.
const SHARED: u8 = 0x02;

/// A part of a header.
struct HeaderPart {
    address: u64,
    length: u64,
}

impl Hdf5 {
    /// Returns the header at an address, which is read once.
    pub(super) fn header(&self, address: u64) -> Parsed<Rc<Header>> {
        if let Some(header) = self.headers.borrow().get(&address) {
            return Ok(Rc::clone(header));
        }
        let header = Rc::new(self.read_header(address)?);
        let mut headers = self.headers.borrow_mut();
        headers.insert(address, Rc::clone(&header));
        Ok(header)
    }

    fn read_header(&self, address: u64) -> Parsed<Header> {
        self.held.add(size_of::<Header>())?;
        let signature = self.read(address, 4)?;
        let mut list = MessageList {
            file: self,
            header: Header::default(),
            parts: Vec::new(),
            seen: HashSet::new(),
            bytes: 0,
        };
        if signature.as_ref() == b"OHDR" {
            list.read_v2(address)?;
        } else {
            list.read_v1(address)?;
        }
        Ok(list.header)
    }

    /// Returns the bytes of the first message of a kind, wherever they are.
    pub(super) fn body(&self, header: &Header, kind: u16) -> Parsed<Option<Vec<u8>>> {
        let message = header.all(kind).next();
        message.map(|message| self.resolve(&message)).transpose()
    }

    /// Returns the first message of a kind, parsed.
    pub(super) fn message(&self, header: &Header, kind: u16) -> Parsed<Option<HdfMessage>> {
        let body = self.body(header, kind)?;
        body.map(|body| self.parse(kind, &body)).transpose()
    }

    /// Parses the bytes of a message.
    pub(super) fn parse(&self, kind: u16, body: &[u8]) -> Parsed<HdfMessage> {
        let cursor = &mut Cursor::new(body);
        parse_message(kind, body.len(), cursor, self.offset_size, self.length_size)
    }

    /// Returns the bytes of a message that may be in another header.
    pub(super) fn resolve(&self, message: &Message<'_>) -> Parsed<Vec<u8>> {
        match message.shared {
            true => self.shared_body(message.kind, message.body),
            false => Ok(message.body.to_vec()),
        }
    }

    /// Returns the data type of a header.
    pub(super) fn data_type(&self, header: &Header) -> Parsed<Option<DataType>> {
        match header.all(MSG_DATATYPE).next() {
            Some(message) if message.shared => self.shared_data_type(message.body).map(Some),
            Some(message) => DataType::parse(message.body).map(Some),
            None => Ok(None),
        }
    }

    /// Returns the committed data type that a reference leads to, which is parsed once: it may have many more members
    /// than what refers to it has bytes.
    pub(super) fn shared_data_type(&self, reference: &[u8]) -> Parsed<DataType> {
        if let Some(data_type) = self.data_types.borrow().get(reference) {
            return Ok(data_type.clone());
        }
        let data_type = DataType::parse(&self.shared_body(MSG_DATATYPE, reference)?)?;
        self.held.add(data_type.weight() + reference.len())?;
        let mut data_types = self.data_types.borrow_mut();
        data_types.insert(reference.to_vec(), data_type.clone());
        Ok(data_type)
    }

    /// Follows the reference that stands for a message.
    pub(super) fn shared_body(&self, kind: u16, reference: &[u8]) -> Parsed<Vec<u8>> {
        let cursor = &mut Cursor::new(reference);
        let (offset, length) = (self.offset_size, self.length_size);
        match shared::parse(cursor, kind, offset, length, reference.len())? {
            SharedMessage::SharedInOhdr { address, .. } => {
                let header = self.header(address)?;
                let found = header.all(kind).find(|message| !message.shared);
                let missing = || invalid("a shared message is not where its reference says");
                Ok(found.ok_or_else(missing)?.body.to_vec())
            }
            SharedMessage::SharedInSohm { .. } => Err(Error::UnsupportedEncoding(
                "it is kept in the file's table of shared messages, which is not read".to_owned(),
            )),
        }
    }
}

/// A header being read.
struct MessageList<'a> {
    file: &'a Hdf5,
    header: Header,
    parts: Vec<HeaderPart>,
    seen: HashSet<u64>,
    bytes: u64,
}

impl MessageList<'_> {
    /// Version 1: a prefix of 16 bytes, then messages with 8 bytes before each.
    fn read_v1(&mut self, address: u64) -> Parsed<()> {
        let prefix = self.file.read(address, 16)?;
        let mut cursor = Cursor::new(&prefix);
        let version = cursor.read_u8()?;
        if version != 1 {
            return Err(Error::UnsupportedObjectHeaderVersion(version));
        }
        cursor.skip(7)?;
        let length = u64::from(cursor.read_u32_le()?);
        let address = address.saturating_add(16);
        self.parts.push(HeaderPart { address, length });
        while let Some(part) = self.parts.pop() {
            let bytes = self.part(&part)?;
            let mut cursor = Cursor::new(&bytes);
            while cursor.remaining() >= 8 {
                let kind = cursor.read_u16_le()?;
                let length = cursor.read_u16_le()?;
                let flags = cursor.read_u8()?;
                cursor.skip(3)?;
                let body = cursor.read_bytes(usize::from(length))?;
                self.add(kind, flags, body)?;
            }
        }
        Ok(())
    }

    /// Version 2: signatures and checksums around every part.
    fn read_v2(&mut self, address: u64) -> Parsed<()> {
        // The prefix is at most 34 bytes long; the shortest header has room for fewer at the end of a file.
        let start = self.file.read(address, 6)?;
        let (version, flags) = match start.as_ref() {
            [_, _, _, _, version, flags] => (*version, *flags),
            _ => return Err(Error::InvalidObjectHeaderSignature),
        };
        if version != 2 {
            return Err(Error::UnsupportedObjectHeaderVersion(version));
        }
        let times = if flags & 0x20 != 0 { 16 } else { 0 };
        let phases = if flags & 0x10 != 0 { 4 } else { 0 };
        let width = 1 << (flags & 0x03);
        let before = 6 + times + phases + width;
        let prefix = self.file.read(address, before)?;
        let mut cursor = Cursor::new(&prefix);
        cursor.skip((before - width) as usize)?;
        let messages = cursor.read_uvar(width as usize)?;
        let length = messages.saturating_add(before + 4);
        let tracked = flags & 0x04 != 0;

        let bytes = self.checked(&HeaderPart { address, length })?;
        self.add_v2(bytes.get(before as usize..).unwrap_or_default(), tracked)?;
        while let Some(part) = self.parts.pop() {
            let bytes = self.checked(&part)?;
            let Some((b"OCHK", messages)) = bytes.split_at_checked(4) else {
                return Err(Error::InvalidObjectHeaderSignature);
            };
            self.add_v2(messages, tracked)?;
        }
        Ok(())
    }

    fn add_v2(&mut self, bytes: &[u8], tracked: bool) -> Parsed<()> {
        let mut cursor = Cursor::new(bytes);
        let envelope = if tracked { 6 } else { 4 };
        // A rest that is shorter than the envelope of a message is a gap.
        while cursor.remaining() >= envelope {
            let kind = u16::from(cursor.read_u8()?);
            let length = cursor.read_u16_le()?;
            let flags = cursor.read_u8()?;
            if tracked {
                cursor.skip(2)?;
            }
            let body = cursor.read_bytes(usize::from(length))?;
            self.add(kind, flags, body)?;
        }
        Ok(())
    }

    fn add(&mut self, kind: u16, flags: u8, body: &[u8]) -> Parsed<()> {
        match kind {
            MSG_NIL => {}
            MSG_CONTINUATION => {
                let mut cursor = Cursor::new(body);
                let address = cursor.read_offset(self.file.offset_size)?;
                let length = cursor.read_length(self.file.length_size)?;
                self.parts.push(HeaderPart { address, length });
            }
            kind => {
                self.file.held.add(body.len() + size_of::<MessagePlace>())?;
                self.header.push(kind, flags & SHARED != 0, body);
            }
        }
        Ok(())
    }

    fn part(&mut self, part: &HeaderPart) -> Parsed<hdf5_reader::StorageBuffer> {
        if !self.seen.insert(part.address) {
            return Err(invalid("an object header continues in itself"));
        }
        self.bytes = self.bytes.saturating_add(part.length);
        if self.bytes > MAX_BYTES {
            return Err(Error::ResourceLimit(
                "an object header is too long".to_owned(),
            ));
        }
        self.file.read(part.address, part.length)
    }

    /// Reads a part and removes the checksum behind it.
    fn checked(&mut self, part: &HeaderPart) -> Parsed<Vec<u8>> {
        let bytes = self.part(part)?;
        let Some((bytes, checksum)) = bytes.split_last_chunk::<4>() else {
            return Err(invalid("a part of an object header has no checksum"));
        };
        let (expected, actual) = (u32::from_le_bytes(*checksum), jenkins_lookup3(bytes));
        if expected != actual {
            return Err(Error::ChecksumMismatch { expected, actual });
        }
        Ok(bytes.to_vec())
    }
}
