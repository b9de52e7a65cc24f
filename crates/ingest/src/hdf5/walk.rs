//! Finds all groups and arrays of a file.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use hdf5_reader::messages::link::{LinkMessage, LinkTarget};
use hdf5_reader::messages::{MSG_DATA_LAYOUT, MSG_DATATYPE};
use icefield_core::NodePath;

use super::file::Hdf5;
use super::messages::Header;
use super::options::Hdf5Options;
use super::parsed::invalid;
use crate::SourceError;

/// How deep groups may lie in each other.
const MAX_DEPTH: usize = 64;
/// Nodes of one file. Hard links to groups multiply them.
const MAX_NODES: usize = 200_000;
/// Soft links followed for one node.
const MAX_SOFT: u32 = 32;
/// The prefix that NetCDF gives the name of a variable that has the name of a dimension and is not its coordinate.
pub(super) const NOT_COORDINATE: &str = "_nc4_non_coord_";

/// A group or an array.
pub(super) struct FoundNode {
    pub(super) path: NodePath,
    pub(super) address: u64,
    pub(super) header: Rc<Header>,
    pub(super) is_group: bool,
}

/// All that was found.
#[derive(Default)]
pub(super) struct WalkedFile {
    pub(super) nodes: Vec<FoundNode>,
    /// The name of each object, by the address of its header.
    pub(super) names: HashMap<u64, String>,
}

/// Finds all nodes, and reads their headers.
pub(super) fn walk(file: &Hdf5, options: &Hdf5Options) -> Result<WalkedFile, SourceError> {
    let left_out = options.leave_out.iter().cloned().collect();
    let mut walk = FileWalk {
        file,
        left_out,
        links: HashMap::new(),
        walked: WalkedFile::default(),
        above: Vec::new(),
    };
    walk.visit(NodePath::root(), file.root())?;
    Ok(walk.walked)
}

struct FileWalk<'a> {
    file: &'a Hdf5,
    left_out: HashSet<NodePath>,
    /// The links of groups by address: paths of soft links go through them again and again.
    links: HashMap<u64, Rc<Vec<LinkMessage>>>,
    walked: WalkedFile,
    /// The groups that the present one lies in.
    above: Vec<u64>,
}

impl FileWalk<'_> {
    fn visit(&mut self, path: NodePath, address: u64) -> Result<(), SourceError> {
        if self.walked.nodes.len() >= MAX_NODES {
            let problem = format!("it has more than {MAX_NODES} groups and arrays");
            return Err(SourceError::damaged(self.file.name(), problem));
        }
        let failed = |error| self.file.failed(&path, "the header", error);
        let header = self.file.header(address).map_err(failed)?;
        let weight = size_of::<FoundNode>() + path.as_str().len();
        self.file.held.add(weight).map_err(failed)?;
        let is_group = header.is_group();
        // A committed data type is an object, and no node.
        if !is_group && header.has(MSG_DATATYPE) && !header.has(MSG_DATA_LAYOUT) && !path.is_root()
        {
            return Ok(());
        }
        if !is_group && !header.has(MSG_DATA_LAYOUT) {
            let error = invalid("it is neither a group nor an array");
            return Err(self.file.failed(&path, "the header", error));
        }
        if is_group {
            if self.above.contains(&address) {
                let reason = "it is a link to a group that it lies in: leave it out";
                return Err(self.file.refused(&path, reason));
            }
            if self.above.len() >= MAX_DEPTH {
                let reason = format!("it lies in more than {MAX_DEPTH} groups: leave it out");
                return Err(self.file.refused(&path, reason));
            }
        }
        let links = match is_group {
            true => Some(self.links(&path, address, &header)?),
            false => None,
        };
        self.walked.nodes.push(FoundNode {
            path: path.clone(),
            address,
            header,
            is_group,
        });
        let Some(links) = links else {
            return Ok(());
        };
        self.above.push(address);
        for link in links.iter() {
            let followed = self.follow(&path, address, link);
            self.file.supported(followed)?;
        }
        self.above.pop();
        Ok(())
    }

    fn follow(
        &mut self,
        group: &NodePath,
        address: u64,
        link: &LinkMessage,
    ) -> Result<(), SourceError> {
        let name = link.name.strip_prefix(NOT_COORDINATE);
        let path = group.join(name.unwrap_or(&link.name));
        let path = path.map_err(|source| SourceError::NodeName {
            name: format!("{:?} in {group} of {}", link.name, self.file.name()),
            source: Box::new(source),
        });
        if let LinkTarget::Hard { address } = link.target {
            // Known also if it is left out: a dimension may have its name from there.
            let names = &mut self.walked.names;
            names.entry(address).or_insert_with(|| link.name.clone());
        }
        let stored = group.join(&link.name);
        if stored.is_ok_and(|path| self.left_out.contains(&path)) {
            return Ok(());
        }
        let path = path?;
        if self.left_out.contains(&path) {
            return Ok(());
        }
        let target = self.target(&path, address, link, &mut 0)?;
        self.visit(path, target)
    }

    fn links(
        &mut self,
        path: &NodePath,
        address: u64,
        header: &Header,
    ) -> Result<Rc<Vec<LinkMessage>>, SourceError> {
        if let Some(links) = self.links.get(&address) {
            return Ok(Rc::clone(links));
        }
        let links = self.file.links(header);
        let links = links.map_err(|error| self.file.failed(path, "the list of members", error))?;
        let links = Rc::new(links);
        self.links.insert(address, Rc::clone(&links));
        Ok(links)
    }

    /// Returns the address that a link of a group leads to. `path` is the node that all this is for.
    fn target(
        &mut self,
        path: &NodePath,
        group: u64,
        link: &LinkMessage,
        soft: &mut u32,
    ) -> Result<u64, SourceError> {
        let text = match &link.target {
            LinkTarget::Hard { address } => return Ok(*address),
            LinkTarget::External {
                filename,
                path: inner,
            } => {
                let reason = format!(
                    "it is a link to {inner:?} in another file, {filename:?}: leave it out"
                );
                return Err(self.file.refused(path, reason));
            }
            LinkTarget::Soft { path } => path,
        };
        *soft += 1;
        if *soft > MAX_SOFT {
            let reason = format!("its link to {text:?} leads in a circle: leave it out");
            return Err(self.file.refused(path, reason));
        }
        let mut at = match text.starts_with('/') {
            true => self.file.root(),
            false => group,
        };
        let segments = text
            .split('/')
            .filter(|segment| !matches!(*segment, "" | "."));
        for segment in segments {
            let header = self.file.header(at);
            let header = header.map_err(|error| self.file.failed(path, "the link", error))?;
            let links = self.links(path, at, &header)?;
            // They are in order of their names.
            let found = links.binary_search_by(|link| link.name.as_str().cmp(segment));
            let Some(link) = found.ok().and_then(|found| links.get(found)) else {
                let reason = format!("its link to {text:?} leads nowhere: leave it out");
                return Err(self.file.refused(path, reason));
            };
            at = self.target(path, at, link, soft)?;
        }
        Ok(at)
    }
}
