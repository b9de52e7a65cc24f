//! The target of a copy, and the files of snapshots in it.

use icefield_format::SpecVersion;
use icefield_storage::Bytes;

use super::error::CopyError;
use super::objects::Decoded;
use super::plan::Step;
use super::spec_v1;
use crate::downgrade::Rewriter;

/// The target of a copy.
#[derive(Clone, Copy)]
pub(crate) struct Target<'a> {
    /// The version of the format that the destination has.
    pub(crate) version: SpecVersion,
    /// Writes files anew, if that is an earlier version than the source's.
    pub(crate) rewriter: Option<&'a Rewriter<'a>>,
}

impl Target<'_> {
    /// Returns the file of a snapshot at the destination.
    pub(crate) fn snapshot(
        &self,
        file: Bytes,
        decoded: &Decoded,
        step: &Step,
    ) -> Result<Bytes, CopyError> {
        let Decoded::Snapshot(snapshot) = decoded else {
            unreachable!("BUG: the kind was asked for")
        };
        match self.rewriter {
            Some(rewriter) => rewriter.snapshot(file, snapshot, step),
            // Spec version 2 tells parents elsewhere.
            None if step.shortened && self.version == SpecVersion::V1 => {
                spec_v1::onto_initial(&file, snapshot)
            }
            None => Ok(file),
        }
    }
}
