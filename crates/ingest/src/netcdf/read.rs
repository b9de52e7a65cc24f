//! The values of a variable, in parts that memory holds.

use icefield_core::{NodePath, Session};
use icefield_nczarr::{DataType, Values};
use icefield_zarr_store::Elements;
use serde_json::Value;

use super::NetcdfError;
use super::elements::ElementReader;
use crate::archive::values::text_of_utf32;

/// Reads the values of a variable from first to last, the last dimension fastest.
#[derive(Debug)]
pub struct VariableReader {
    elements: ElementReader,
    data_type: DataType,
    /// Whether texts are UTF-32.
    is_wide: bool,
}

impl VariableReader {
    /// Begins at the first value of an array. `data_type` is its type in the dataset.
    ///
    /// # Errors
    /// [`NetcdfError::Variable`] for an array whose codecs are not known.
    pub fn new(
        session: &Session,
        path: &NodePath,
        data_type: DataType,
    ) -> Result<Self, NetcdfError> {
        let document = document_of(session, path)?;
        Ok(Self {
            elements: ElementReader::new(session, path, &document)?,
            data_type,
            is_wide: document.pointer("/data_type/name") == Some(&"fixed_length_utf32".into()),
        })
    }

    /// Reads the next part; `None` after the last.
    ///
    /// # Errors
    /// [`NetcdfError::Variable`] for a chunk that is damaged.
    pub async fn next(&mut self) -> Result<Option<Values>, NetcdfError> {
        let Some((_, elements)) = self.elements.next().await? else {
            return Ok(None);
        };
        values(
            elements,
            self.data_type,
            self.elements.width(),
            self.is_wide,
        )
        .map(Some)
        .map_err(|problem| NetcdfError::variable(self.elements.path(), problem))
    }
}

/// Returns the `zarr.json` document of an array.
///
/// # Errors
/// [`NetcdfError::Variable`] if it is not JSON.
pub(crate) fn document_of(session: &Session, path: &NodePath) -> Result<Value, NetcdfError> {
    let bytes = session.metadata(path)?.unwrap_or_default();
    serde_json::from_slice(&bytes)
        .map_err(|error| NetcdfError::variable(path, format!("its metadata is not JSON: {error}")))
}

/// Values of elements, which are little-endian.
fn values(
    elements: Elements,
    data_type: DataType,
    width: Option<usize>,
    is_wide: bool,
) -> Result<Values, String> {
    macro_rules! numbers {
        ($kind:ident, $type:ty, $bytes:expr) => {{
            let (numbers, rest) = $bytes.as_chunks::<{ size_of::<$type>() }>();
            if !rest.is_empty() {
                return Err("its elements are not of its type".to_owned());
            }
            Values::$kind(
                numbers
                    .iter()
                    .map(|it| <$type>::from_le_bytes(*it))
                    .collect(),
            )
        }};
    }
    let text = |bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes);
        text.trim_end_matches('\0').to_owned()
    };
    let bytes = match (elements, data_type) {
        (Elements::Variable(texts), DataType::String) => {
            return Ok(Values::String(texts.iter().map(|it| text(it)).collect()));
        }
        (Elements::Variable(_), _) => return Err("its elements are texts".to_owned()),
        (Elements::Fixed(bytes), _) => bytes,
    };
    Ok(match data_type {
        DataType::Byte => Values::Byte(bytes.into_iter().map(u8::cast_signed).collect()),
        DataType::UByte => Values::UByte(bytes),
        DataType::Char => Values::Char(bytes),
        DataType::Short => numbers!(Short, i16, bytes),
        DataType::UShort => numbers!(UShort, u16, bytes),
        DataType::Int => numbers!(Int, i32, bytes),
        DataType::UInt => numbers!(UInt, u32, bytes),
        DataType::Int64 => numbers!(Int64, i64, bytes),
        DataType::UInt64 => numbers!(UInt64, u64, bytes),
        DataType::Float => numbers!(Float, f32, bytes),
        DataType::Double => numbers!(Double, f64, bytes),
        DataType::String => {
            let width = width.filter(|width| *width > 0).unwrap_or(1);
            let texts = bytes.chunks(width);
            Values::String(match is_wide {
                true => texts.map(text_of_utf32).collect::<Result<_, _>>()?,
                false => texts.map(text).collect(),
            })
        }
    })
}
