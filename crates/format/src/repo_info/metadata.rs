//! Metadata of a snapshot or of the repository: values in FlexBuffers, kept encoded until a caller reads them.

use std::collections::BTreeMap;

use bytes::Bytes;
use serde_json::Value;

use crate::budget::Budget;
use crate::envelope::DecodeLimits;
use crate::error::{FormatError, FormatFile};
use crate::flexbuffers;
use crate::text::Text;

const FILE: FormatFile = FormatFile::RepoInfo;

/// Values by name, in the order of names.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Metadata(pub(super) Vec<(Text, Bytes)>);

impl Metadata {
    /// Encodes values. Refuses what a reader with the default limits would refuse: no reader could open the repository.
    pub(super) fn encode(values: &BTreeMap<String, Value>) -> Result<Self, FormatError> {
        let limit = DecodeLimits::default().max_metadata;
        let budget = Budget::new(limit);
        let encode = |(name, value): (&String, &Value)| {
            budget.spend(name.len());
            if budget.spend_on(value).is_err() && budget.is_exceeded() {
                return Err(FormatError::MetadataTooLarge { file: FILE, limit });
            }
            let encoded = flexbuffers::encode_flexbuffers(value);
            let encoded = encoded.map_err(|reason| {
                let (file, name) = (FILE, name.clone());
                FormatError::FlexBuffers { file, name, reason }
            })?;
            Ok((Text::from(name.as_str()), Bytes::from(encoded)))
        };
        values
            .iter()
            .map(encode)
            .collect::<Result<_, _>>()
            .map(Self)
    }

    /// Reads the values, which may take so many bytes in memory.
    pub(super) fn decode(&self, limit: u64) -> Result<BTreeMap<String, Value>, FormatError> {
        let budget = Budget::new(limit);
        let decode = |(name, value): &(Text, Bytes)| {
            let name = name.as_str().to_owned();
            budget.spend(name.len());
            let decoded = flexbuffers::decode(value, &budget);
            match decoded {
                Ok(_) | Err(_) if budget.is_exceeded() => {
                    Err(FormatError::MetadataTooLarge { file: FILE, limit })
                }
                Ok(value) => Ok((name, value)),
                Err(reason) => {
                    let file = FILE;
                    Err(FormatError::FlexBuffers { file, name, reason })
                }
            }
        };
        self.0.iter().map(decode).collect()
    }
}
