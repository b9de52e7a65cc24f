//! Objects in heaps: links and attributes in fractal heaps, variable-length values in global heaps.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use hdf5_reader::btree_v2::{BTreeV2Header, BTreeV2Record, collect_btree_v2_records_storage};
use hdf5_reader::fractal_heap::{FractalHeap, FractalHeapDirectBlockCache};
use hdf5_reader::global_heap::GlobalHeapCollection;
use hdf5_reader::io::Cursor;

use super::file::{Hdf5, Parsed, invalid};

/// Bytes of global heaps that are kept.
const KEPT: usize = 32 << 20;

impl Hdf5 {
    /// Reads the objects of a fractal heap that a v2 B-tree lists.
    pub(super) fn dense_objects(&self, heap: u64, index: u64) -> Parsed<Vec<Vec<u8>>> {
        if self.is_undefined(heap) || self.is_undefined(index) {
            return Ok(Vec::new());
        }
        let (storage, offset, length) = (self.storage(), self.offset_size, self.length_size);
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
            objects.push(heap.get_object_storage_cached(id, storage, offset, length, blocks)?);
        }
        Ok(objects)
    }
}

/// Global heaps, each read once while it is kept.
pub(super) struct GlobalHeaps<'a> {
    file: &'a Hdf5,
    kept: RefCell<HashMap<u64, Rc<GlobalHeapCollection>>>,
    bytes: RefCell<usize>,
}

impl<'a> GlobalHeaps<'a> {
    pub(super) fn new(file: &'a Hdf5) -> Self {
        Self {
            file,
            kept: RefCell::default(),
            bytes: RefCell::new(0),
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
        let heap = self.collection(address)?;
        let object = u16::try_from(number)
            .ok()
            .and_then(|number| heap.get_object(number));
        match object {
            Some(object) => Ok((count, object.data.clone())),
            None => Err(invalid(format!(
                "no object {number} in the heap at {address}"
            ))),
        }
    }

    fn collection(&self, address: u64) -> Parsed<Rc<GlobalHeapCollection>> {
        if let Some(heap) = self.kept.borrow().get(&address) {
            return Ok(Rc::clone(heap));
        }
        let (storage, offset, length) = (
            self.file.storage(),
            self.file.offset_size,
            self.file.length_size,
        );
        let heap = GlobalHeapCollection::parse_at_storage(storage, address, offset, length)?;
        let bytes: usize = heap
            .objects
            .iter()
            .map(|object| 64 + object.data.len())
            .sum();
        let heap = Rc::new(heap);
        let (mut kept, mut total) = (self.kept.borrow_mut(), self.bytes.borrow_mut());
        if total.saturating_add(bytes) > KEPT {
            kept.clear();
            *total = 0;
        }
        *total = total.saturating_add(bytes);
        kept.insert(address, Rc::clone(&heap));
        Ok(heap)
    }
}
