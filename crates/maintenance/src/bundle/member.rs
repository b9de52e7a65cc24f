//! The entries of a bundle, by their names.

use icefield_format::SnapshotId;
use icefield_format::layout::{self, IdKey, RefKey};

use super::file::bad;
use super::index::END;
use crate::copy::CopyError;
use crate::listing::ObjectKind;

/// The sections of a bundle, in their order.
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

/// The kind of an entry, by its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Member {
    /// An object named by an id.
    Object(ObjectKind, [u8; 12]),
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
                IdKey::Chunk(id) => Self::Object(ObjectKind::Chunk, *id.as_bytes()),
                IdKey::Manifest(id) => Self::Object(ObjectKind::Manifest, *id.as_bytes()),
                IdKey::TransactionLog(id) => {
                    Self::Object(ObjectKind::TransactionLog, *id.as_bytes())
                }
                IdKey::Snapshot(id) => Self::Object(ObjectKind::Snapshot, *id.as_bytes()),
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
            Self::Object(ObjectKind::Chunk, _) => Section::Chunks,
            Self::Object(ObjectKind::Manifest, _) => Section::Manifests,
            Self::Object(ObjectKind::TransactionLog, _) => Section::Logs,
            Self::Object(ObjectKind::Snapshot, id) if id == SnapshotId::INITIAL.as_bytes() => {
                Section::Initial
            }
            Self::Object(ObjectKind::Snapshot, _) => Section::Snapshots,
            Self::Config => Section::Config,
            Self::Ref(_) => Section::Refs,
            Self::Repo => Section::Repo,
            Self::End => Section::End,
        }
    }
}

/// How names are spelt in a bundle: plain ASCII.
pub(crate) const FORM: layout::KeyForm = layout::KeyForm::ObjectStorePath;
