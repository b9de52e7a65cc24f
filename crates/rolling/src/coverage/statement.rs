//! The attributes of groups, and the arrays without dimensions, that say where a window begins and ends.

use icefield_core::{NodePath, Session, WriteMode};
use icefield_zarr_store::Elements;
use serde_json::{Number, Value};

use super::names::{DURATION, END, Part, START};
use crate::RollingError;
use crate::blocks::{Block, Blocks, Rewrite};
use crate::labels::{NumberKind, Numbers};

/// A value as it was found.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum FoundValue {
    Text(String),
    Whole(i128),
    Float(f64),
    /// Something else, as it reads.
    Other(String),
}

impl FoundValue {
    fn of(value: &Value) -> Self {
        match value {
            Value::String(text) => Self::Text(text.clone()),
            Value::Number(number) => match (number.as_i64(), number.as_f64()) {
                (Some(whole), _) => Self::Whole(whole.into()),
                (None, Some(float)) => Self::Float(float),
                (None, None) => Self::Other(number.to_string()),
            },
            other => Self::Other(other.to_string()),
        }
    }

    fn value(&self) -> Option<Value> {
        Some(match self {
            Self::Text(text) => Value::from(text.as_str()),
            Self::Whole(number) => i64::try_from(*number).ok()?.into(),
            Self::Float(number) => Number::from_f64(*number)?.into(),
            Self::Other(_) => return None,
        })
    }
}

/// Something that says where a window begins or ends.
#[derive(Debug)]
pub(super) struct Statement {
    /// A group with an attribute, or an array without dimensions.
    pub(super) path: NodePath,
    /// The group that it speaks of.
    pub(super) group: NodePath,
    pub(super) name: &'static str,
    pub(super) part: Part,
    /// The document of the array; none of an attribute.
    pub(super) document: Option<Value>,
}

fn part_of(name: &str) -> Option<(&'static str, Part)> {
    let find = |names: &[&'static str], part| {
        let found = names.iter().find(|known| **known == name);
        found.map(|known| (*known, part))
    };
    find(&START, Part::Start)
        .or_else(|| find(&END, Part::End))
        .or_else(|| find(&[DURATION], Part::Duration))
}

fn json(session: &Session, path: &NodePath) -> Result<Value, RollingError> {
    let document = session.metadata(path)?.unwrap_or_default();
    serde_json::from_slice(&document).map_err(|_| RollingError::Document { path: path.clone() })
}

impl Statement {
    pub(super) fn of_group(session: &Session, path: &NodePath) -> Result<Vec<Self>, RollingError> {
        let document = json(session, path)?;
        let Some(Value::Object(attributes)) = document.get("attributes") else {
            return Ok(Vec::new());
        };
        let known = attributes.keys().filter_map(|name| part_of(name));
        let statements = known.map(|(name, part)| Self {
            path: path.clone(),
            group: path.clone(),
            name,
            part,
            document: None,
        });
        Ok(statements.collect())
    }

    pub(super) fn of_scalar(
        session: &Session,
        path: &NodePath,
    ) -> Result<Option<Self>, RollingError> {
        let (Some((name, part)), Some(group)) = (part_of(path.name()), path.parent()) else {
            return Ok(None);
        };
        if part == Part::Duration || session.array(path)?.rank() > 0 {
            return Ok(None);
        }
        Ok(Some(Self {
            path: path.clone(),
            group,
            name,
            part,
            document: Some(json(session, path)?),
        }))
    }

    pub(super) async fn read(&self, session: &Session) -> Result<FoundValue, RollingError> {
        if self.document.is_none() {
            let document = json(session, &self.path)?;
            let value = document
                .get("attributes")
                .and_then(|all| all.get(self.name));
            return Ok(value.map_or(FoundValue::Other("nothing".to_owned()), FoundValue::of));
        }
        let document = json(session, &self.path)?;
        let array = session.array(&self.path)?;
        let blocks = Blocks::of_array(&self.path, &document, &array)?;
        let block = blocks.read_all(session, &array).await?;
        let unknown = || FoundValue::Other(format!("of the type {}", document["data_type"]));
        Ok(match block.elements {
            Elements::Variable(texts) => {
                match texts.first().map(|text| std::str::from_utf8(text)) {
                    Some(Ok(text)) => FoundValue::Text(text.to_owned()),
                    _ => unknown(),
                }
            }
            Elements::Fixed(bytes) => match NumberKind::of(&document).map(|kind| kind.read(&bytes))
            {
                Some(Numbers::Whole(all)) if all.len() == 1 => FoundValue::Whole(all[0]),
                Some(Numbers::Float(all)) if all.len() == 1 => FoundValue::Float(all[0]),
                _ => unknown(),
            },
        })
    }

    /// The value that it had before; `None` if it was not there.
    pub(super) async fn read_before(
        &self,
        before: &Session,
    ) -> Result<Option<FoundValue>, RollingError> {
        if before.node_kind(&self.path)?.is_none() {
            return Ok(None);
        }
        match self.read(before).await? {
            FoundValue::Other(_) => Ok(None),
            found => Ok(Some(found)),
        }
    }

    /// Writes another value. Returns whether its type can hold it.
    pub(super) async fn write(
        &self,
        session: &Session,
        next: FoundValue,
    ) -> Result<bool, RollingError> {
        let Some(document) = &self.document else {
            let Some(value) = next.value() else {
                return Ok(false);
            };
            self.set_attribute(session, Some(value)).await?;
            return Ok(true);
        };
        let array = session.array(&self.path)?;
        let blocks = Blocks::of_array(&self.path, document, &array)?;
        let Some(elements) = elements(document, next) else {
            return Ok(false);
        };
        let block = Block {
            shape: Vec::new(),
            elements,
        };
        let before = blocks.read_written(session, &array).await?;
        let change = Rewrite {
            axis: 0,
            moved: 0,
            whole: true,
        };
        blocks
            .write_all(session, &array, &block, &before, change)
            .await?;
        Ok(true)
    }

    /// Takes an attribute away. Returns whether it was one.
    pub(super) async fn remove(&self, session: &Session) -> Result<bool, RollingError> {
        match self.document {
            Some(_) => Ok(false),
            None => self.set_attribute(session, None).await.map(|()| true),
        }
    }

    async fn set_attribute(
        &self,
        session: &Session,
        value: Option<Value>,
    ) -> Result<(), RollingError> {
        let document = session.metadata(&self.path)?.unwrap_or_default();
        let edited =
            icefield_core::with_shape_and_attributes(&document, None, &[(self.name, value)]);
        let edited = edited.ok_or_else(|| RollingError::Document {
            path: self.path.clone(),
        })?;
        session
            .set_metadata(&self.path, edited.into(), WriteMode::Overwrite)
            .await?;
        Ok(())
    }
}

fn elements(document: &Value, next: FoundValue) -> Option<Elements> {
    let numbers = match next {
        FoundValue::Text(text) => return Some(Elements::Variable(vec![text.into_bytes()])),
        FoundValue::Other(_) => return None,
        FoundValue::Whole(number) => Numbers::Whole(vec![number]),
        FoundValue::Float(number) => Numbers::Float(vec![number]),
    };
    let kind = NumberKind::of(document)?;
    kind.write(&numbers).map(Elements::Fixed)
}
