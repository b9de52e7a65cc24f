//! Arrays whose numbers are stored otherwise from source to source: packed, with another type, or other values for what is
//! missing.
//!
//! Stored values of a source become those that the target would store for the same numbers, one by one while chunks are read. The
//! target is the array that is there, else that of the first source that has it. A number that it does not hold exactly is
//! an error that names it, unless it is within a tolerance, or the target stores decoded numbers.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use icefield_core::NodePath;
use serde_json::{Map, Value, json};

use super::builder::Import;
use super::choices::{Encoding, Rounded};
use super::converted::{self, Conversion, Convert};
use super::opened::Opened;
use super::times::{self, Documents};
use crate::archive::values::{float_fill_attribute, number};
use crate::cf;
use crate::chunk_layout::of_another_type;
use crate::document::difference_of;
use crate::numbers::{NumberDecoder, NumberType};
use crate::packing::{ATTRIBUTES, Repacking, unpacked_type};
use crate::{Difference, ImportError, PlanError, SourceError};

/// Attributes that hold stored numbers, and are no part of how these are read.
const OF_STORED: [&str; 3] = ["valid_range", "valid_min", "valid_max"];

/// How far off stored numbers are, at most.
#[derive(Debug, Default)]
pub(super) struct Rounding(Mutex<f64>);

impl Rounding {
    fn add(&self, off: f64) {
        let mut largest = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *largest = largest.max(off);
    }

    fn largest(&self) -> f64 {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The findings about encodings.
#[derive(Debug, Default)]
pub(super) struct Encoded {
    /// How new arrays are stored that are so in no source, by the paths of the sources.
    pub(super) documents: Documents,
    /// By the paths of the sources.
    pub(super) rounding: BTreeMap<NodePath, Arc<Rounding>>,
}

impl Encoded {
    /// Returns the arrays of which numbers were rounded.
    pub(super) fn rounded(&self) -> Vec<Rounded> {
        let all = self.rounding.iter().map(|(path, rounding)| Rounded {
            path: path.clone(),
            largest_error: rounding.largest(),
        });
        all.filter(|it| it.largest_error > 0.0).collect()
    }
}

impl Import {
    /// Has the numbers of all sources stored as those of the targets, by the paths of the sources.
    pub(super) async fn encode(
        &self,
        opened: &mut [Opened],
        mut targets: Documents,
    ) -> Result<Encoded, ImportError> {
        let mut encoded = Encoded::default();
        for one in &*opened {
            for (path, document) in times::documents(&one.hierarchy) {
                targets.entry(path).or_insert(document);
            }
        }
        if self.encoding == Encoding::Unpacked {
            if self.append.is_some() {
                return Err(PlanError::UnpackedAppend.into());
            }
            encoded.documents = unpacked(opened, &targets);
            targets.extend(encoded.documents.clone());
        }
        encoded.rounding = self.encode_as(opened, &targets).await?;
        Ok(encoded)
    }

    /// Has the numbers of sources stored as those of documents, by the paths of the sources.
    pub(super) async fn encode_as(
        &self,
        opened: &mut [Opened],
        targets: &Documents,
    ) -> Result<BTreeMap<NodePath, Arc<Rounding>>, ImportError> {
        let mut roundings: BTreeMap<NodePath, Arc<Rounding>> = BTreeMap::new();
        let tolerance = match self.encoding {
            Encoding::Within(tolerance) => Some(tolerance),
            Encoding::Exact | Encoding::Unpacked => None,
        };
        let may_unpack = self.append.is_none() && self.encoding != Encoding::Unpacked;
        for one in opened {
            let name = one.source.to_string();
            let mut conversions = BTreeMap::new();
            let documents = times::documents(&one.hierarchy);
            for (path, document) in &documents {
                let Some(target) = targets.get(path) else {
                    continue;
                };
                let Some((from, to)) = numbers(document, target) else {
                    continue;
                };
                let wanted = with_encoding(document, target, (&from, &to));
                if from == to {
                    set_attributes(one, path, document, &wanted)?;
                    continue;
                }
                let refused = |reason: String| SourceError::conversion(&name, path, reason);
                let repacking = Repacking::new(from, (to, target), tolerance);
                let repacking = repacking.map_err(|error| refused(error.to_string()))?;
                let rounding = roundings.entry(path.clone()).or_default();
                let convert = Repacked {
                    repacking,
                    rounding: Arc::clone(rounding),
                    may_round: tolerance.is_some(),
                    may_unpack: may_unpack && is_unpacked(&documents, path),
                };
                one.reencoded
                    .insert(path.clone(), difference(target, document));
                let conversion = Conversion {
                    convert: Arc::new(convert),
                    document: handed_on(wanted),
                    is_at_hand: false,
                };
                conversions.insert(path.clone(), conversion);
            }
            let hierarchy = std::mem::take(&mut one.hierarchy);
            let source = Arc::clone(&one.source);
            let converted = converted::converted(source, hierarchy, conversions, &one.taken);
            (one.source, one.hierarchy) = converted.await?;
        }
        Ok(roundings)
    }
}

/// The numbers of two arrays; `None` if one of them holds none, or the attributes that say how are not understood.
fn numbers(document: &Value, target: &Value) -> Option<(NumberDecoder, NumberDecoder)> {
    let from = NumberDecoder::new(document).ok()?;
    Some((from, NumberDecoder::new(target).ok()?))
}

/// The first thing in which two encodings differ.
fn difference(target: &Value, document: &Value) -> Difference {
    let found = difference_of("data_type", &target["data_type"], &document["data_type"]);
    let of_attributes = ATTRIBUTES.iter().find_map(|name| {
        let (here, there) = (&target["attributes"][name], &document["attributes"][name]);
        difference_of(&format!("attributes.{name}"), here, there)
    });
    found.or(of_attributes).unwrap_or(Difference {
        member: "attributes".to_owned(),
        existing: None,
        source: None,
    })
}

/// The document of a source's array with the encoding of the target.
fn with_encoding(
    document: &Value,
    target: &Value,
    (from, to): (&NumberDecoder, &NumberDecoder),
) -> Value {
    let mut document = document.clone();
    if document["data_type"] != target["data_type"] {
        document["data_type"] = target["data_type"].clone();
        document["fill_value"] = target["fill_value"].clone();
    }
    let empty = Map::new();
    let theirs = target["attributes"].as_object().unwrap_or(&empty);
    let Some(Value::Object(own)) = document.get_mut("attributes") else {
        let kept = theirs
            .iter()
            .filter(|(name, _)| ATTRIBUTES.contains(&name.as_str()));
        let kept: Map<String, Value> = kept
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        if !kept.is_empty() {
            document["attributes"] = Value::Object(kept);
        }
        return document;
    };
    for name in ATTRIBUTES {
        match theirs.get(name) {
            Some(value) => {
                own.insert(name.to_owned(), value.clone());
            }
            None => {
                own.shift_remove(name);
            }
        }
    }
    if from.packing() != to.packing() {
        for name in OF_STORED {
            if let Some(value) = own.get_mut(name) {
                repack(value, from, to);
            }
        }
    }
    document
}

/// Makes stored numbers in an attribute those of the target, or the decoded ones that it has no element for.
fn repack(value: &mut Value, from: &NumberDecoder, to: &NumberDecoder) {
    if let Value::Array(values) = value {
        values.iter_mut().for_each(|it| repack(it, from, to));
    } else if let Some(stored) = value.as_f64() {
        let of = |packing: (Option<f64>, Option<f64>)| {
            (packing.0.unwrap_or(1.0), packing.1.unwrap_or(0.0))
        };
        let ((scale, offset), (by, less)) = (of(from.packing()), of(to.packing()));
        let packed = (stored * scale + offset - less) / by;
        let is_whole = to.stored_type().0 != NumberType::Float && packed.fract() == 0.0;
        *value = match is_whole && packed.abs() < 1e15 {
            true => (packed as i64).into(),
            false => number(packed),
        };
    }
}

/// The document of elements that are decoded already, and encoded where they go.
fn handed_on(mut document: Value) -> Value {
    document["codecs"] = json!([{ "name": "bytes", "configuration": { "endian": "little" } }]);
    document
}

/// Gives an array whose numbers are stored as those of the target the attributes of that: they only spell it otherwise.
fn set_attributes(
    one: &mut Opened,
    path: &NodePath,
    document: &Value,
    wanted: &Value,
) -> Result<(), ImportError> {
    let attributes = |of: &Value| of["attributes"].as_object().cloned().unwrap_or_default();
    let (own, wanted) = (attributes(document), attributes(wanted));
    match own == wanted {
        true => Ok(()),
        false => one.set_attributes(path, &wanted),
    }
}

/// Whether an array can be stored as decoded numbers: times have units to be stored in, and chunks are put together along an axis.
fn is_unpacked(documents: &Documents, path: &NodePath) -> bool {
    let shape = documents
        .get(path)
        .and_then(|document| document["shape"].as_array());
    times::units(documents, path).is_none() && shape.is_some_and(|shape| !shape.is_empty())
}

/// The documents of arrays that store decoded numbers: of those that some source packs, or that sources store otherwise.
fn unpacked(opened: &[Opened], targets: &Documents) -> Documents {
    let mut decoders: BTreeMap<NodePath, Vec<NumberDecoder>> = BTreeMap::new();
    let mut others: BTreeSet<NodePath> = BTreeSet::new();
    for one in opened {
        let documents = times::documents(&one.hierarchy);
        for (path, document) in &documents {
            match NumberDecoder::new(document) {
                Ok(decoder) if is_unpacked(&documents, path) => {
                    decoders.entry(path.clone()).or_default().push(decoder);
                }
                _ => {
                    others.insert(path.clone());
                }
            }
        }
    }
    decoders.retain(|path, _| !others.contains(path));
    let found = decoders.iter().filter_map(|(path, decoders)| {
        let data_type = unpacked_type(&decoders.iter().collect::<Vec<_>>())?;
        let target = targets.get(path)?;
        Some((path.clone(), decoded(target, data_type)?))
    });
    found.collect()
}

/// The document of an array that stores decoded numbers of a type; `None` if it does.
fn decoded(document: &Value, data_type: &str) -> Option<Value> {
    let mut of_encoding = ATTRIBUTES.iter().map(|name| &document["attributes"][name]);
    if document["data_type"] == data_type && of_encoding.all(Value::is_null) {
        return None;
    }
    let bytes = cf::NumberType::of(&data_type.into())?.bytes();
    let mut decoded = of_another_type(document, (data_type, bytes));
    let is_float = data_type.starts_with("float");
    if is_float {
        decoded["fill_value"] = "NaN".into();
    }
    if let Some(Value::Object(attributes)) = decoded.get_mut("attributes") {
        let mut names_missing = ["_FillValue", "missing_value"].iter();
        let has_missing = names_missing.any(|name| attributes.contains_key(*name));
        for name in ATTRIBUTES {
            attributes.shift_remove(name);
        }
        if is_float && has_missing {
            let fill = float_fill_attribute(f64::NAN);
            attributes.insert("_FillValue".to_owned(), fill);
        }
    }
    Some(decoded)
}

/// Makes stored numbers of a source those of the target.
#[derive(Debug)]
struct Repacked {
    repacking: Repacking,
    rounding: Arc<Rounding>,
    may_round: bool,
    /// Whether decoded numbers could be stored instead.
    may_unpack: bool,
}

impl Convert for Repacked {
    fn may_round(&self) -> bool {
        self.may_round
    }

    fn convert(&self, from: &[u8], into: &mut [u8]) -> Result<(), String> {
        let off = self.repacking.repacked(from, into);
        let off = off.map_err(|error| error.with_option(self.may_unpack))?;
        if off > 0.0 {
            self.rounding.add(off);
        }
        Ok(())
    }
}
