//! Sources that are made again where their files are, as a plan made them.

use std::collections::VecDeque;

use bytes::Bytes;
use futures::FutureExt;
use futures::future::BoxFuture;
use icefield_core::{NodePath, Session};

use super::joined;
use super::stacked::{self, CoordinateOrigin};
use crate::ImportError;
use crate::archive::values::base64_bytes;
use crate::import::builder::Import;
use crate::import::choices::Combine;
use crate::import::opened::Opened;
use crate::import::origin::{Origin, StackedValue};
use crate::import::times;

impl Import {
    /// Makes a source again of the next ones of those that are opened. `first` are the documents in whose units times were compared.
    pub(in crate::import) fn made_again<'a>(
        &'a self,
        session: &'a Session,
        origin: &'a Origin,
        opened: &'a mut VecDeque<Opened>,
        first: &'a times::Documents,
    ) -> BoxFuture<'a, Result<Opened, ImportError>> {
        async move {
            match origin {
                Origin::Source(_, stacking) => {
                    let lacking = || unreadable("it has fewer sources than it says");
                    let mut one = opened.pop_front().ok_or_else(lacking)?;
                    if let Some(stacking) = stacking {
                        one = stacked::stacked(
                            one,
                            &stacking.dimension,
                            coordinate_origin(&stacking.value)?,
                        )?;
                    }
                    if self.combine == Combine::ByCoordinates {
                        one.convert(first).await?;
                    }
                    Ok(one)
                }
                Origin::Joined(dimension, parts) => {
                    let mut made = Vec::new();
                    for part in parts {
                        made.push(self.made_again(session, part, opened, first).await?);
                    }
                    if made.is_empty() {
                        return Err(unreadable("a joined source of it has no parts"));
                    }
                    joined::joined(self, session, dimension, made).await
                }
            }
        }
        .boxed()
    }
}

fn coordinate_origin(value: &StackedValue) -> Result<CoordinateOrigin, ImportError> {
    match value {
        StackedValue::Chunk(document, chunk) => {
            let chunk = base64_bytes(chunk);
            let chunk = chunk.ok_or_else(|| unreadable("a value of it is no base64"))?;
            Ok(CoordinateOrigin::Value(
                document.clone(),
                Bytes::from(chunk),
            ))
        }
        StackedValue::Variable(path) => {
            let path = NodePath::parse(path);
            let path = path.map_err(|error| unreadable(&error.to_string()))?;
            Ok(CoordinateOrigin::Variable(path))
        }
    }
}

fn unreadable(problem: &str) -> ImportError {
    ImportError::Sent {
        what: "share",
        problem: problem.to_owned(),
    }
}
