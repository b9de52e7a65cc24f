//! The attributes of an object.

use std::collections::BTreeMap;

/// The attributes that a put gives to an object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Attributes {
    /// The content type, if one was given.
    pub content_type: Option<&'static str>,
    /// The user metadata.
    pub user_metadata: BTreeMap<String, String>,
}
