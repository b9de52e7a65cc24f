//! The entries of a bundle, by their names.

use icefield_format::SnapshotId;
use icefield_format::layout::{self, IdKey, RefKey};

use super::FORM;
use super::file::bad;
use super::index::END;
use crate::copy::CopyError;
use crate::listing::Kind;

/// What entries come in which order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Section {
    Initial,
    Chunks,
    Manifests,
    Logs,
    Snapshots,
    Config,
    Refs,
    Repo,
    End,
}

/// What an entry is by its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Member {
    /// An object named by an id.
    Object(Kind, [u8; 12]),
    Config,
    Ref(RefKey),
    /// The state of a repository of spec version 2.
    Repo,
    End,
}

impl Member {
    /// Reads a name. Nothing but what the format knows, spelt as the format spells it, is taken: no name leads outside.
    pub(crate) fn parse(name: &str) -> Result<Self, CopyError> {
        if name == END {
            return Ok(Self::End);
        }
        if name == layout::CONFIG {
            return Ok(Self::Config);
        }
        if name == layout::REPO {
            return Ok(Self::Repo);
        }
        if let Some(id) = layout::parse_id_key(name) {
            return Ok(match id {
                IdKey::Chunk(id) => Self::Object(Kind::Chunk, *id.as_bytes()),
                IdKey::Manifest(id) => Self::Object(Kind::Manifest, *id.as_bytes()),
                IdKey::TransactionLog(id) => Self::Object(Kind::TransactionLog, *id.as_bytes()),
                IdKey::Snapshot(id) => Self::Object(Kind::Snapshot, *id.as_bytes()),
            });
        }
        match layout::parse_ref_key(name, FORM) {
            Some(key) => Ok(Self::Ref(key)),
            None => Err(bad(format!("{name:?} is no object of a repository"))),
        }
    }

    /// Returns the part of the bundle that it belongs to.
    pub(crate) fn section(&self) -> Section {
        match self {
            Self::Object(Kind::Chunk, _) => Section::Chunks,
            Self::Object(Kind::Manifest, _) => Section::Manifests,
            Self::Object(Kind::TransactionLog, _) => Section::Logs,
            Self::Object(Kind::Snapshot, id) if id == SnapshotId::INITIAL.as_bytes() => {
                Section::Initial
            }
            Self::Object(Kind::Snapshot, _) => Section::Snapshots,
            Self::Config => Section::Config,
            Self::Ref(_) => Section::Refs,
            Self::Repo => Section::Repo,
            Self::End => Section::End,
        }
    }
}
