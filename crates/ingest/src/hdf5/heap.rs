//! Objects in heaps: links and attributes in fractal heaps, variable-length values in global heaps.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::ops::Range;
use std::rc::Rc;

use hdf5_reader::StorageBuffer;
use hdf5_reader::btree_v2::{BTreeV2Header, BTreeV2Record, collect_btree_v2_records_storage};
use hdf5_reader::error::Error;
use hdf5_reader::fractal_heap::{FractalHeap, FractalHeapDirectBlockCache};
use hdf5_reader::io::Cursor;

use super::file::Hdf5;
use super::parsed::{Parsed, invalid};

/// Bytes of global heaps that are kept.
const KEPT: usize = 32 << 20;

impl Hdf5 {
    /// Reads the objects of a fractal heap that a v2 B-tree lists.
    pub(super) fn dense_objects(&self, heap: u64, index: u64) -> Parsed<Vec<Vec<u8>>> {
        if self.is_undefined(heap) || self.is_undefined(index) {
            return Ok(Vec::new());
        }
        let structure = self.structure();
        let (storage, offset, length) = (&structure, self.offset_size, self.length_size);
        let heap = FractalHeap::parse_at_storage(storage, heap, offset, length)?;
        let tree = BTreeV2Header::parse_at_storage(storage, index, offset, length)?;
        let records =
            collect_btree_v2_records_storage(storage, &tree, offset, length, None, &[], None)?;
        let mut blocks = FractalHeapDirectBlockCache::default();
        let mut objects = Vec::new();
        for record in &records {
            let id = match record {
                BTreeV2Record::LinkNameHash { heap_id, .. }
                | BTreeV2Record::CreationOrder { heap_id, .. }
                | BTreeV2Record::AttributeNameHash { heap_id, .. }
                | BTreeV2Record::AttributeCreationOrder { heap_id, .. } => heap_id,
                _ => return Err(invalid("an index of names lists something else")),
            };
            let blocks = &mut blocks;
            let object = heap.get_object_storage_cached(id, storage, offset, length, blocks)?;
            // Records may share one object, and headers one heap.
            self.held.add(object.len() + size_of::<Vec<u8>>())?;
            objects.push(object);
        }
        Ok(objects)
    }
}

/// Global heaps, each read once while it is kept.
pub(super) struct GlobalHeaps<'a> {
    file: &'a Hdf5,
    kept: RefCell<HeapCache>,
    /// Bytes that were read so far.
    read: Cell<u64>,
}

#[derive(Default)]
struct HeapCache {
    heaps: HashMap<u64, Rc<Heap>>,
    bytes: usize,
}

/// One collection of a global heap.
struct Heap {
    bytes: StorageBuffer,
    objects: HashMap<u32, Range<usize>>,
}

impl<'a> GlobalHeaps<'a> {
    pub(super) fn new(file: &'a Hdf5) -> Self {
        Self {
            file,
            kept: RefCell::default(),
            read: Cell::new(0),
        }
    }

    /// Reads what a reference refers to: how many elements, and the bytes of the heap's object.
    pub(super) fn read(&self, reference: &[u8]) -> Parsed<(usize, Vec<u8>)> {
        let mut cursor = Cursor::new(reference);
        let count = cursor.read_u32_le()? as usize;
        let address = cursor.read_offset(self.file.offset_size)?;
        let number = cursor.read_u32_le()?;
        // A value that was never written is a reference to nothing.
        if count == 0 || address == 0 || self.file.is_undefined(address) {
            return Ok((0, Vec::new()));
        }
        let heap = self.heap(address)?;
        let object = heap.objects.get(&number).cloned();
        match object.and_then(|range| heap.bytes.get(range)) {
            Some(object) => {
                self.count(object.len() as u64)?;
                Ok((count, object.to_vec()))
            }
            None => Err(invalid(format!(
                "no object {number} in the heap at {address}"
            ))),
        }
    }

    /// Counts what is kept of values.
    pub(super) fn hold(&self, bytes: usize) -> Parsed<()> {
        self.file.held.add(bytes)
    }

    /// Counts what is read. In a sound file every value has an object of its own; many that share a long one could
    /// become longer than any memory.
    fn count(&self, bytes: u64) -> Parsed<()> {
        let read = self.read.get().saturating_add(bytes);
        self.read.set(read);
        let most = self.file.storage().len().saturating_mul(4);
        if read > most.saturating_add(16 << 20) {
            let text = "its values refer to the same objects again and again";
            return Err(Error::ResourceLimit(text.to_owned()));
        }
        Ok(())
    }

    fn heap(&self, address: u64) -> Parsed<Rc<Heap>> {
        let kept = &mut *self.kept.borrow_mut();
        if let Some(heap) = kept.heaps.get(&address) {
            return Ok(Rc::clone(heap));
        }
        let heap = Rc::new(self.collection(address)?);
        let bytes = heap.bytes.len().saturating_add(64 * heap.objects.len());
        if kept.bytes.saturating_add(bytes) > KEPT {
            *kept = HeapCache::default();
        }
        kept.bytes = kept.bytes.saturating_add(bytes);
        kept.heaps.insert(address, Rc::clone(&heap));
        Ok(heap)
    }

    /// Reads a collection. The parser of `hdf5-reader` loses its way where lengths have 4 bytes: HDF5 fills the headers
    /// of the collection and of each object up to a multiple of 8 bytes.
    fn collection(&self, address: u64) -> Parsed<Heap> {
        let length_size = self.file.length_size;
        let header = (8 + usize::from(length_size)).next_multiple_of(8);
        let start = self.file.read(address, header as u64)?;
        let mut cursor = Cursor::new(&start);
        if cursor.read_bytes(4)? != b"GCOL" {
            return Err(Error::InvalidGlobalHeapSignature);
        }
        let version = cursor.read_u8()?;
        if version != 1 {
            return Err(Error::UnsupportedGlobalHeapVersion(version));
        }
        cursor.skip(3)?;
        let bytes = self.file.read(address, cursor.read_length(length_size)?)?;
        let mut objects = HashMap::new();
        let mut at = header;
        while let Some(rest) = bytes.get(at..).filter(|rest| rest.len() >= header) {
            let mut cursor = Cursor::new(rest);
            let number = u32::from(cursor.read_u16_le()?);
            // Free space, up to the end.
            if number == 0 {
                break;
            }
            cursor.skip(6)?;
            let length = usize::try_from(cursor.read_length(length_size)?).unwrap_or(usize::MAX);
            let start = at.saturating_add(header);
            let end = start.saturating_add(length);
            if end > bytes.len() {
                return Err(invalid("an object of a heap is longer than the heap"));
            }
            objects.insert(number, start..end);
            at = end.next_multiple_of(8);
        }
        Ok(Heap { bytes, objects })
    }
}
