//! Writes the documents of arrays: their shapes, and the attributes that say where their window is.

use icefield_core::{ArrayMetadata, NodeMetadata, Session, WriteMode};
use serde_json::Value;

use super::Method;
use super::plan::Plan;
use crate::RollingError;
use crate::dimension::{MASKED_ATTRIBUTE, Member, ORIGIN_ATTRIBUTE, WINDOW_ATTRIBUTE};

impl Plan<'_> {
    /// Writes the document of an array as it will be.
    pub(super) async fn set_document(
        &self,
        session: &Session,
        member: &Member,
    ) -> Result<ArrayMetadata, RollingError> {
        let mut attributes = Vec::new();
        let mut set = |attribute, number: Option<i64>| {
            let value = number.map(|number| member.numbers_with(attribute, number));
            if value.is_some() || member.has(attribute) {
                attributes.push((attribute, value));
            }
        };
        set(ORIGIN_ATTRIBUTE, Some(self.window.origin()));
        let hidden = self.window.hidden();
        match self.method {
            Method::Absolute => set(WINDOW_ATTRIBUTE, Some(self.window.first())),
            Method::Shift => {
                let masked = i64::try_from(hidden).ok().filter(|masked| *masked > 0);
                set(MASKED_ATTRIBUTE, masked);
                set(WINDOW_ATTRIBUTE, None);
            }
        }
        self.write_document(session, member, self.window.length(), &attributes)
            .await
    }

    pub(super) async fn write_document(
        &self,
        session: &Session,
        member: &Member,
        length: u64,
        attributes: &[(&str, Option<Value>)],
    ) -> Result<ArrayMetadata, RollingError> {
        let mut shape = member.array.shape.clone();
        shape[member.axis] = length;
        let document =
            icefield_core::with_shape_and_attributes(&member.document, Some(&shape), attributes);
        let refused = || RollingError::Document {
            path: member.path.clone(),
        };
        let document = document.ok_or_else(refused)?;
        let metadata = NodeMetadata::parse(&document).map_err(|_| refused())?;
        session
            .set_metadata(&member.path, document.into(), WriteMode::Overwrite)
            .await?;
        metadata.array().cloned().ok_or_else(refused)
    }
}
