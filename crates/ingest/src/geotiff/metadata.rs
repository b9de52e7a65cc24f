//! Attributes: texts of the file, what GDAL keeps in it, and the value that stands for no data.

use serde_json::{Map, Value, json};

use super::directory::Directory;
use super::tag;
use crate::ArchiveArray;
use crate::archive::values::{float_fill_attribute, number, whole_number};

/// Returns the texts of an image, under the names that GDAL gives them.
pub(super) fn texts(directory: &Directory) -> Map<String, Value> {
    let texts = tag::TEXTS.iter();
    let found =
        texts.filter_map(|(tag, name)| Some(((*name).to_owned(), directory.text(*tag)?.into())));
    found.collect()
}

/// The metadata of GDAL for an image.
#[derive(Debug, Default)]
pub(super) struct Described {
    pub(super) attributes: Map<String, Value>,
    /// Why a part of it is missing.
    pub(super) problem: Option<String>,
}

/// Reads what GDAL says of an image of so many bands.
pub(super) fn of_image(directory: &Directory, bands: u64) -> Described {
    let Some(text) = directory.text(tag::GDAL_METADATA) else {
        return Described::default();
    };
    let parsing = roxmltree::ParsingOptions {
        allow_dtd: false,
        nodes_limit: 1 << 16,
        ..roxmltree::ParsingOptions::default()
    };
    match roxmltree::Document::parse_with_options(&text, parsing) {
        Ok(document) => items(&document, bands),
        Err(error) => Described {
            problem: Some(format!(
                "its GDAL_METADATA are no XML ({error}) and left out"
            )),
            ..Described::default()
        },
    }
}

/// The contents of the elements `Item`: of the image, or of a band, whose number is `sample`.
fn items(document: &roxmltree::Document<'_>, bands: u64) -> Described {
    let mut attributes = Map::new();
    let mut of_bands: Vec<Map<String, Value>> = vec![Map::new(); bands.min(1 << 16) as usize];
    let all = document.root_element().children();
    for item in all.filter(|it| it.tag_name().name() == "Item") {
        let Some(name) = item.attribute("name") else {
            continue;
        };
        let text = item.text().unwrap_or_default().trim();
        let float = || text.parse::<f64>().ok().map(number);
        let (name, value) = match item.attribute("role") {
            Some("scale") => ("scale_factor", float()),
            Some("offset") => ("add_offset", float()),
            Some("description") => ("long_name", Some(text.into())),
            Some("unittype") => ("units", Some(text.into())),
            _ => (name, Some(text.into())),
        };
        let Some(value) = value else { continue };
        let sample = item.attribute("sample").map(str::parse::<usize>);
        let place = match sample {
            None => Some(&mut attributes),
            Some(sample) => sample.ok().and_then(|it| of_bands.get_mut(it)),
        };
        let Some(place) = place else { continue };
        match item.attribute("domain").filter(|it| !it.is_empty()) {
            None => place.insert(name.to_owned(), value),
            Some(domain) => {
                let inner = place.entry(domain).or_insert_with(|| json!({}));
                inner
                    .as_object_mut()
                    .and_then(|it| it.insert(name.to_owned(), value))
            }
        };
    }
    let mut problem = None;
    if let [only] = of_bands.as_mut_slice() {
        attributes.extend(std::mem::take(only));
    } else if of_bands.iter().any(|it| !it.is_empty()) {
        for name in ["scale_factor", "add_offset", "units"] {
            let first = of_bands.first().and_then(|it| it.get(name)).cloned();
            let is_same = of_bands.iter().all(|it| it.get(name) == first.as_ref());
            match (first, is_same) {
                (Some(value), true) => {
                    for band in &mut of_bands {
                        band.remove(name);
                    }
                    attributes.insert(name.to_owned(), value);
                }
                (_, false) if name != "units" => {
                    problem = Some(format!(
                        "the {name} of its bands differ: they are in the attribute bands alone, and values are as they are stored"
                    ));
                }
                _ => {}
            }
        }
        attributes.insert("bands".to_owned(), json!(of_bands));
    }
    Described {
        attributes,
        problem,
    }
}

/// Makes the value that stands for no data the fill value of an array.
///
/// # Errors
/// Why it cannot be.
pub(super) fn fill(array: &mut ArchiveArray, text: &str) -> Result<(), String> {
    let text = text.trim();
    let wrong =
        || format!("its GDAL_NODATA {text:?} is none of its values, and an attribute alone");
    let kind = array.data_type.as_str().unwrap_or_default();
    let value = match kind {
        "float16" | "float32" | "float64" => text.parse::<f64>().ok().map(|value| {
            let value = if kind == "float32" {
                f64::from(value as f32)
            } else {
                value
            };
            (number(value), float_fill_attribute(value))
        }),
        _ => whole(kind, text).map(|value| (value.clone(), value)),
    };
    let Some((fill, attribute)) = value else {
        array
            .attributes
            .insert("GDAL_NODATA".to_owned(), text.into());
        return Err(wrong());
    };
    array.fill_value = fill;
    array.attributes.insert("_FillValue".to_owned(), attribute);
    Ok(())
}

/// Reads a whole number of a type.
fn whole(kind: &str, text: &str) -> Option<Value> {
    let (is_signed, bits) = match kind.strip_prefix('u') {
        Some(rest) => (false, rest.strip_prefix("int")?),
        None => (true, kind.strip_prefix("int")?),
    };
    let bits = bits.parse().ok().filter(|it| *it <= 64)?;
    whole_number(text, is_signed, bits)
}
