//! The links of a group.

use hdf5_reader::btree_v1::collect_btree_v1_leaves_storage;
use hdf5_reader::error::Error;
use hdf5_reader::io::Cursor;
use hdf5_reader::local_heap::LocalHeap;
use hdf5_reader::messages::link::{LinkMessage, LinkTarget};
use hdf5_reader::messages::{
    HdfMessage, MSG_LINK, MSG_LINK_INFO, MSG_SYMBOL_TABLE, symbol_table_msg::SymbolTableMessage,
};
use hdf5_reader::symbol_table::SymbolTableNode;

use super::file::{Hdf5, MIXED_SIZES};
use super::messages::Header;
use super::parsed::{Parsed, invalid};

/// The kind of entry in a symbol table that is a soft link.
const SOFT: u32 = 2;

impl Header {
    /// Tells whether the object is a group.
    pub(super) fn is_group(&self) -> bool {
        self.has(MSG_SYMBOL_TABLE) || self.has(MSG_LINK_INFO) || self.has(MSG_LINK)
    }
}

impl Hdf5 {
    /// Reads the names in a group and what they lead to, in order of the names.
    pub(super) fn links(&self, group: &Header) -> Parsed<Vec<LinkMessage>> {
        let mut links = Vec::new();
        if let Some(HdfMessage::SymbolTable(table)) = self.message(group, MSG_SYMBOL_TABLE)? {
            self.add_symbols(&table, &mut links)?;
        }
        for message in group.all(MSG_LINK) {
            if let HdfMessage::Link(link) = self.parse(MSG_LINK, &self.resolve(&message)?)? {
                self.held.add(weight(&link))?;
                links.push(link);
            }
        }
        if let Some(HdfMessage::LinkInfo(info)) = self.message(group, MSG_LINK_INFO)? {
            let index = info.btree_name_index_address;
            for body in self.dense_objects(info.fractal_heap_address, index)? {
                if let HdfMessage::Link(link) = self.parse(MSG_LINK, &body)? {
                    self.held.add(weight(&link))?;
                    links.push(link);
                }
            }
        }
        links.sort_by(|one, other| one.name.cmp(&other.name));
        if let Some([twice, _]) = links.array_windows().find(|[a, b]| a.name == b.name) {
            return Err(invalid(format!("a group has two links {:?}", twice.name)));
        }
        Ok(links)
    }

    /// Adds the entries of a group of the old kind: a v1 B-tree of nodes, with names in a local heap.
    fn add_symbols(&self, table: &SymbolTableMessage, links: &mut Vec<LinkMessage>) -> Parsed<()> {
        let structure = self.structure();
        let (storage, offset, length) = (&structure, self.offset_size, self.length_size);
        if offset != length {
            return Err(Error::UnsupportedEncoding(MIXED_SIZES.to_owned()));
        }
        let heap = LocalHeap::parse_at_storage(storage, table.heap_address, offset, length)?;
        let root = table.btree_address;
        let leaves =
            collect_btree_v1_leaves_storage(storage, root, offset, length, None, &[], None)?;
        if leaves.is_empty() {
            return Ok(());
        }
        let names = self.read(heap.data_segment_address, heap.data_segment_size)?;
        for (_, address) in leaves {
            let start = self.read(address, 8)?;
            let count = match start.as_ref() {
                [.., low, high] => u64::from(u16::from_le_bytes([*low, *high])),
                _ => 0,
            };
            let entry = 24 + 2 * u64::from(offset);
            let bytes = self.read(address, 8 + count * entry)?;
            let node = SymbolTableNode::parse(&mut Cursor::new(&bytes), offset, length)?;
            for entry in &node.entries {
                let target = match entry.cache_type {
                    SOFT => {
                        let [a, b, c, d, ..] = entry.scratch;
                        let at = u32::from_le_bytes([a, b, c, d]);
                        LinkTarget::Soft {
                            path: text_at(&names, u64::from(at))?,
                        }
                    }
                    _ => LinkTarget::Hard {
                        address: entry.object_header_address,
                    },
                };
                let name = text_at(&names, entry.link_name_offset)?;
                let link = LinkMessage {
                    name,
                    target,
                    creation_order: None,
                };
                // Names and targets of many entries may lie in the same bytes of the heap.
                self.held.add(weight(&link))?;
                links.push(link);
            }
        }
        Ok(())
    }
}

/// Returns the bytes that a link takes.
fn weight(link: &LinkMessage) -> usize {
    let target = match &link.target {
        LinkTarget::Hard { .. } => 0,
        LinkTarget::Soft { path } => path.len(),
        LinkTarget::External { filename, path } => filename.len() + path.len(),
    };
    size_of::<LinkMessage>() + link.name.len() + target
}

/// Reads a text that ends with a zero.
fn text_at(heap: &[u8], at: u64) -> Parsed<String> {
    let bytes = usize::try_from(at).ok().and_then(|at| heap.get(at..));
    let bytes = bytes.ok_or_else(|| invalid("a name lies outside its heap"))?;
    let end = bytes.iter().position(|byte| *byte == 0);
    let text = end.and_then(|end| bytes.get(..end));
    let text = text.ok_or_else(|| invalid("a name has no end"))?;
    String::from_utf8(text.to_vec()).map_err(|_| invalid("a name is not UTF-8"))
}
