//! The values of a variable, in parts that memory holds.

use std::collections::HashMap;

use icefield_core::{ArrayMetadata, ChunkIndex, NodePath, Session};
use icefield_nczarr::{DataType, Values};
use serde_json::Value;

use super::NetcdfError;
use super::regions::{Region, copy, each};
use crate::archive::element_bytes;
use crate::archive::values::base64_bytes;
use crate::elements::text_of_utf32;
use crate::{ChunkCodec, Elements};

/// Bytes of a part, unless one row of chunks has more.
const PART: u64 = 16 << 20;
/// Bytes of decoded chunks that are kept for the next part.
const KEPT: usize = 64 << 20;

/// Reads the values of a variable from first to last, the last dimension fastest.
#[derive(Debug)]
pub struct VariableReader {
    session: Session,
    path: NodePath,
    array: ArrayMetadata,
    data_type: DataType,
    decoder: ChunkCodec,
    /// An element that nobody wrote.
    fill: Elements,
    /// Whether texts are UTF-32.
    is_wide: bool,
    /// The dimension along which parts are cut at chunks; those before it are walked one by one.
    cut: usize,
    /// The first element of the next part; `None` at the end.
    next: Option<Vec<u64>>,
    kept: HashMap<ChunkIndex, Option<Elements>>,
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
        let refuse = |problem: String| NetcdfError::variable(path, problem);
        let array = session.array(path)?;
        let bytes = session.metadata(path)?.unwrap_or_default();
        let document: Value =
            serde_json::from_slice(&bytes).map_err(|error| refuse(error.to_string()))?;
        let decoder = ChunkCodec::new(&document).map_err(refuse)?;
        let fill = fill(&document).map_err(refuse)?;
        let width = match &fill {
            Elements::Fixed(bytes) => bytes.len() as u64,
            // Nobody knows: as long as short texts are.
            Elements::Variable(_) => 64,
        };
        let is_empty = array.shape.contains(&0);
        Ok(Self {
            session: session.clone(),
            path: path.clone(),
            cut: cut(&array, width),
            next: (!is_empty).then(|| vec![0; array.rank()]),
            array,
            data_type,
            is_wide: document.pointer("/data_type/name") == Some(&"fixed_length_utf32".into()),
            decoder,
            fill,
            kept: HashMap::new(),
        })
    }

    /// Reads the next part; `None` after the last.
    ///
    /// # Errors
    /// [`NetcdfError::Variable`] for a chunk that is damaged.
    pub async fn next(&mut self) -> Result<Option<Values>, NetcdfError> {
        let Some(start) = self.next.take() else {
            return Ok(None);
        };
        let region = self.region(start);
        let elements = self.read(&region).await?;
        self.next = self.after(&region);
        values(elements, self.data_type, self.width(), self.is_wide)
            .map(Some)
            .map_err(|problem| NetcdfError::variable(&self.path, problem))
    }

    /// Bytes of an element, if all have as many.
    fn width(&self) -> Option<usize> {
        match &self.fill {
            Elements::Fixed(bytes) => Some(bytes.len()),
            Elements::Variable(_) => None,
        }
    }

    /// The part that begins at an element.
    fn region(&self, start: Vec<u64>) -> Region {
        let mut shape = self.array.shape.clone();
        for (at, length) in shape.iter_mut().enumerate() {
            if at < self.cut {
                *length = 1;
            } else if at == self.cut {
                let chunk = self.array.chunk_shape[at].max(1);
                let end = (start[at] / chunk + 1).saturating_mul(chunk).min(*length);
                *length = end - start[at];
            }
        }
        Region::new(start, shape)
    }

    /// The first element after a part.
    fn after(&self, region: &Region) -> Option<Vec<u64>> {
        let mut next = region.start.clone();
        for at in (0..next.len().min(self.cut + 1)).rev() {
            next[at] += region.shape[at];
            if next[at] < self.array.shape[at] {
                return Some(next);
            }
            next[at] = 0;
        }
        None
    }

    async fn read(&mut self, region: &Region) -> Result<Elements, NetcdfError> {
        let refuse = |problem: String| NetcdfError::variable(&self.path, problem);
        let count = region
            .elements()
            .ok_or_else(|| refuse("it has more elements than memory holds".to_owned()))?;
        let mut into = match &self.fill {
            Elements::Fixed(fill) => Elements::Fixed(fill.repeat(count)),
            Elements::Variable(fill) => {
                let fill = fill.first().cloned().unwrap_or_default();
                Elements::Variable(vec![fill; count])
            }
        };
        let chunks = self.chunks(region);
        let kept: usize = self.kept.values().flatten().map(bytes).sum();
        if kept > KEPT {
            self.kept.clear();
        }
        self.kept
            .retain(|index, _| chunks.iter().any(|(known, _)| known == index));
        for (index, of) in chunks {
            if !self.kept.contains_key(&index) {
                let decoded = self.chunk(&index).await?;
                self.kept.insert(index.clone(), decoded);
            }
            let Some(Some(elements)) = self.kept.get(&index) else {
                continue;
            };
            let copied = match (elements, &mut into) {
                (Elements::Fixed(from), Elements::Fixed(into)) => {
                    copy(from, &of, into, region, self.width().unwrap_or(1))
                }
                (Elements::Variable(from), Elements::Variable(into)) => {
                    copy(from, &of, into, region, 1)
                }
                _ => Err("its elements are not of its type".to_owned()),
            };
            copied.map_err(|problem| {
                NetcdfError::variable(&self.path, format!("its chunk {index}: {problem}"))
            })?;
        }
        Ok(into)
    }

    async fn chunk(&self, index: &ChunkIndex) -> Result<Option<Elements>, NetcdfError> {
        let found = self
            .session
            .chunk(&self.path, index, icefield_core::ByteRange::All)
            .await?;
        let Some(encoded) = found else {
            return Ok(None);
        };
        let decoded = self.decoder.decode(&encoded).map_err(|problem| {
            NetcdfError::variable(&self.path, format!("its chunk {index}: {problem}"))
        })?;
        Ok(Some(decoded))
    }

    /// The chunks that a part touches, with the boxes that they fill.
    fn chunks(&self, region: &Region) -> Vec<(ChunkIndex, Region)> {
        let chunk_shape = &self.array.chunk_shape;
        let pairs = region.start.iter().zip(&region.shape).zip(chunk_shape);
        let spans: Vec<(u64, u64)> = pairs
            .map(|((start, length), chunk)| {
                let (first, last) = (start / chunk, (start + length - 1) / chunk);
                (first, last - first + 1)
            })
            .collect();
        let counts: Vec<u64> = spans.iter().map(|(_, count)| *count).collect();
        let mut found = Vec::new();
        let visited = each(&counts, |place| {
            let places = place.iter().zip(&spans).map(|(at, (first, _))| first + at);
            let places: Vec<u64> = places.collect();
            let start = places.iter().zip(chunk_shape).map(|(at, chunk)| at * chunk);
            let of = Region::new(start.collect(), chunk_shape.clone());
            let index: Vec<u32> = places.iter().map(|at| *at as u32).collect();
            found.push((ChunkIndex::from(index), of));
            Ok::<_, std::convert::Infallible>(true)
        });
        match visited {
            Ok(()) => found,
            Err(never) => match never {},
        }
    }
}

/// The first dimension at which a row of chunks fits into a part.
fn cut(array: &ArrayMetadata, width: u64) -> usize {
    let last = array.rank().saturating_sub(1);
    let fits = |at: &usize| {
        let rest = array.shape[at + 1..].iter();
        let row = rest.fold(array.chunk_shape[*at].min(array.shape[*at]), |all, one| {
            all.saturating_mul(*one)
        });
        row.saturating_mul(width) <= PART
    };
    (0..last).find(fits).unwrap_or(last)
}

fn bytes(elements: &Elements) -> usize {
    match elements {
        Elements::Fixed(bytes) => bytes.len(),
        Elements::Variable(texts) => texts.iter().map(|text| text.len() + 24).sum(),
    }
}

/// One element with the fill value of a document.
fn fill(document: &Value) -> Result<Elements, String> {
    let nothing = Value::Null;
    let data_type = document.get("data_type").unwrap_or(&nothing);
    let value = document.get("fill_value").unwrap_or(&nothing);
    let refuse = || format!("its fill_value is {value}, which is not of its type {data_type}");
    let name = data_type
        .as_str()
        .or_else(|| data_type.get("name")?.as_str());
    let Some(width) = element_bytes(data_type) else {
        let text = value.as_str().unwrap_or_default();
        return Ok(Elements::Variable(vec![text.as_bytes().to_vec()]));
    };
    let mut bytes = match (name, value) {
        (Some("null_terminated_bytes" | "raw_bytes"), Value::String(text)) => {
            base64_bytes(text).ok_or_else(refuse)?
        }
        (Some("fixed_length_utf32"), Value::String(text)) => text
            .chars()
            .flat_map(|it| u32::from(it).to_le_bytes())
            .collect(),
        (Some("bool"), Value::Bool(value)) => vec![u8::from(*value)],
        (Some("float32"), Value::String(text)) if text.starts_with("0x") => {
            hex(text).ok_or_else(refuse)?.to_le_bytes().to_vec()
        }
        (Some("float64"), Value::String(text)) if text.starts_with("0x") => {
            hex(text).ok_or_else(refuse)?.to_le_bytes().to_vec()
        }
        (Some("float32"), value) => {
            let value = float(value).ok_or_else(refuse)? as f32;
            value.to_le_bytes().to_vec()
        }
        (Some("float64"), value) => float(value).ok_or_else(refuse)?.to_le_bytes().to_vec(),
        (Some("complex64"), Value::Array(parts)) => {
            let parts: Option<Vec<f64>> = parts.iter().map(float).collect();
            let parts = parts.ok_or_else(refuse)?.into_iter();
            parts.flat_map(|it| (it as f32).to_le_bytes()).collect()
        }
        (Some("complex128"), Value::Array(parts)) => {
            let parts: Option<Vec<f64>> = parts.iter().map(float).collect();
            let parts = parts.ok_or_else(refuse)?.into_iter();
            parts.flat_map(f64::to_le_bytes).collect()
        }
        (_, Value::Number(number)) => {
            let whole = number.as_i128().ok_or_else(refuse)?;
            whole.to_le_bytes().to_vec()
        }
        _ => return Err(refuse()),
    };
    bytes.resize(width, 0);
    Ok(Elements::Fixed(bytes))
}

fn hex(text: &str) -> Option<u64> {
    u64::from_str_radix(text.strip_prefix("0x")?, 16).ok()
}

fn float(value: &Value) -> Option<f64> {
    match value.as_str() {
        None => value.as_f64(),
        Some("NaN") => Some(f64::NAN),
        Some("Infinity") => Some(f64::INFINITY),
        Some("-Infinity") => Some(f64::NEG_INFINITY),
        Some(_) => None,
    }
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
