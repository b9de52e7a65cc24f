//! GeoTIFF: cloud-optimised or not, classic or BigTIFF.
//!
//! # What becomes of what
//! - **The image** is the array `band_data`, along `y` and `x`; with several bands along `band` first. Bands whose samples lie
//!   between each other in the file keep their place: the codec `transpose` says so.
//! - **Tiles and strips** are chunks. Without compression, with deflate or Zstandard they become references; with LZW, PackBits,
//!   JPEG, a predictor or samples of fewer bits than a byte they are decoded, copied, and encoded with Zstandard. A last strip that
//!   is shorter than the others is copied where the others are referred to. A single strip without compression is cut at rows.
//!   Tiles that are not there are fill values.
//! - **Colours** of JPEG become RGB, as GDAL has them. Its decoders may differ from another library's by one or two levels.
//! - **Overviews** are groups `overviews/1` and so on, largest first, each with its own coordinates; the attribute `multiscales`
//!   of the root lists them. [`Overviews`] chooses. Masks are arrays `mask` beside the image, further images groups `pages/1`.
//! - **Coordinates** `x` and `y` are those of the centres of pixels, if the image is not rotated. `spatial_ref` is the grid mapping
//!   of CF, with the keys of GeoTIFF by name, `GeoTransform`, and the code of EPSG as `spatial_ref`, as GDAL and rioxarray have it.
//!   No WKT is made.
//! - **`GDAL_NODATA`** is the fill value and `_FillValue`; **`GDAL_METADATA`** and texts of the file are attributes.
//!
//! # What is refused
//! By name: old-style JPEG, JPEG of other than one or three samples, fax codes, LERC, LZMA, WebP, JPEG 2000 and JPEG XL; complex
//! integers, samples of other widths, or of several types in a pixel. Directories that lead in a circle, more than 1024 images,
//! tiles beyond the end of the file, and tiles of more than 256 MiB that would have to be decoded.

mod arrays;
mod coordinates;
mod decode;
mod directory;
mod geo_keys;
mod image;
mod made;
mod metadata;
mod predictor;
mod tag;
mod window;

use std::collections::BTreeMap;

use icefield_core::NodePath;
use serde_json::{Map, Value, json};

use self::arrays::Unreadable;
use self::coordinates::Transform;
use self::directory::Directory;
use self::geo_keys::GeoKeys;
use self::image::Image;
use self::window::Window;
use crate::archive::values::child;
use crate::{
    Archive, ArchiveArray, ArchiveFile, ArchiveNode, ArchiveOptions, Overviews, SourceError,
    Unsupported,
};

/// The names of arrays.
const IMAGE: &str = "band_data";
const MASK: &str = "mask";
const GRID_MAPPING: &str = "spatial_ref";

/// Reads what a TIFF file holds. The archive has this one file.
///
/// # Errors
/// [`SourceError::Damaged`] if the file is no TIFF or not a whole one, [`SourceError::Variable`] for what has no counterpart in
/// Zarr or is not decoded, the errors of the store.
pub async fn read_geotiff(
    file: ArchiveFile,
    options: ArchiveOptions,
) -> Result<Archive, SourceError> {
    let mut window = Window::new(file.clone());
    let directories = directory::read(&mut window).await?;
    let mut reader = Reader {
        window,
        lists_unsupported: options.lists_unsupported,
        nodes: BTreeMap::new(),
        unsupported: Vec::new(),
        warnings: Vec::new(),
    };
    for (number, page) in pages(&directories).into_iter().enumerate() {
        let group = match number {
            0 => NodePath::root(),
            number => reader.below(
                &reader.below(&NodePath::root(), "pages")?,
                &number.to_string(),
            )?,
        };
        reader.page(&group, &page, options.overviews).await?;
    }
    Ok(Archive {
        files: vec![file],
        nodes: reader.nodes,
        unsupported: reader.unsupported,
        warnings: reader.warnings,
        ..Archive::default()
    })
}

/// An image with its overviews, largest first.
struct Page<'a> {
    /// Of each level, the image and its mask.
    levels: Vec<(&'a Directory, Option<&'a Directory>)>,
}

/// Finds out which directories belong together: overviews and masks follow their image.
fn pages(directories: &[Directory]) -> Vec<Page<'_>> {
    const REDUCED: u64 = 1;
    const TRANSPARENCY: u64 = 4;
    let kind = |it: &Directory| it.number(tag::KIND).unwrap_or(0);
    let size = |it: &Directory| (it.number(tag::WIDTH), it.number(tag::HEIGHT));
    let mut pages: Vec<Page<'_>> = Vec::new();
    let mut masks: Vec<(usize, &Directory)> = Vec::new();
    for directory in directories {
        let kind = kind(directory);
        match pages.last_mut() {
            Some(_) if kind & TRANSPARENCY != 0 => masks.push((pages.len() - 1, directory)),
            Some(page) if kind & REDUCED != 0 => page.levels.push((directory, None)),
            _ => pages.push(Page {
                levels: vec![(directory, None)],
            }),
        }
    }
    for (page, mask) in masks {
        let levels = pages.get_mut(page).map(|it| it.levels.iter_mut());
        let mut levels = levels.into_iter().flatten();
        if let Some(level) = levels.find(|it| size(it.0) == size(mask)) {
            level.1 = Some(mask);
        }
    }
    for page in &mut pages {
        if let Some((_, overviews)) = page.levels.split_first_mut() {
            overviews.sort_by_key(|it| std::cmp::Reverse(size(it.0)));
        }
    }
    pages
}

struct Reader {
    window: Window,
    lists_unsupported: bool,
    nodes: BTreeMap<NodePath, ArchiveNode>,
    unsupported: Vec<Unsupported>,
    warnings: Vec<String>,
}

impl Reader {
    async fn page(
        &mut self,
        group: &NodePath,
        page: &Page<'_>,
        overviews: Overviews,
    ) -> Result<(), SourceError> {
        let Some((main, _)) = page.levels.first() else {
            return Ok(());
        };
        let main = *main;
        let keys = GeoKeys::of(main);
        let transform = Transform::of(main, keys.is_point());
        let size = |it: &Directory| {
            let number = |tag: u16| it.number(tag).unwrap_or(1).max(1) as f64;
            (number(tag::WIDTH), number(tag::HEIGHT))
        };
        let count = page.levels.len() - 1;
        let chosen = match overviews {
            Overviews::All => 0..page.levels.len(),
            Overviews::None => 0..1,
            Overviews::Level(level) if (level as usize) <= count => {
                let level = level as usize;
                level..level + 1
            }
            Overviews::Level(level) => {
                let reason = format!(
                    "it has {count} overviews, and number {level} was asked for: 0 is the image itself"
                );
                return Err(SourceError::variable(self.name(), group, reason));
            }
        };
        let first = chosen.start;
        let mut scales = Vec::new();
        for number in chosen {
            let Some((level, mask)) = page.levels.get(number) else {
                continue;
            };
            let place = match number == first {
                true => group.clone(),
                false => self.below(&self.below(group, "overviews")?, &number.to_string())?,
            };
            let (whole, own) = (size(main), size(level));
            let scale = (whole.0 / own.0, whole.1 / own.1);
            scales.push((number, scale));
            let transform = transform.as_ref().ok().map(|it| it.scaled(scale));
            self.level(&place, (main, level, *mask), &keys, transform)
                .await?;
        }
        let mut map = metadata::texts(main);
        if scales.len() > 1 {
            map.insert("multiscales".to_owned(), multiscales(&scales));
        }
        self.nodes.insert(group.clone(), ArchiveNode::Group(map));
        if let Err(problem) = transform {
            self.warn(group, &problem);
        }
        Ok(())
    }

    /// Adds an image, its mask and its coordinates.
    async fn level(
        &mut self,
        group: &NodePath,
        (main, own, mask): (&Directory, &Directory, Option<&Directory>),
        keys: &GeoKeys,
        transform: Option<Transform>,
    ) -> Result<(), SourceError> {
        let Some(mut array) = self.image(&self.below(group, IMAGE)?, own).await? else {
            return Ok(());
        };
        let (rank, samples) = (array.rank(), array.shape.first().copied().unwrap_or(1));
        let bands = if rank == 3 { samples } else { 1 };
        let described = metadata::of_image(main, bands);
        array.attributes.extend(described.attributes);
        if let Some(problem) = described.problem {
            self.warn(group, &problem);
        }
        if let Some(text) = main.text(tag::GDAL_NO_DATA)
            && let Err(problem) = metadata::fill(&mut array, &text)
        {
            self.warn(group, &problem);
        }
        let is_placed = transform.is_some() || !keys.is_empty();
        if is_placed {
            array
                .attributes
                .insert("grid_mapping".to_owned(), GRID_MAPPING.into());
        }
        let lengths: Vec<u64> = array.shape.iter().rev().take(2).copied().collect();
        self.insert(group, IMAGE, array)?;
        if bands > 1 {
            self.insert(group, "band", made::bands(bands))?;
        }
        if is_placed {
            self.insert(
                group,
                GRID_MAPPING,
                keys.grid_mapping(transform.as_ref().map(Transform::text)),
            )?;
        }
        if let (Some(transform), [width, height]) = (transform, lengths.as_slice()) {
            match transform.axes(*width, *height, keys) {
                Ok((x, y)) => {
                    self.insert(group, "x", x)?;
                    self.insert(group, "y", y)?;
                }
                Err(problem) => self.warn(group, &problem),
            }
        }
        if let Some(mask) = mask
            && let Some(array) = self.image(&self.below(group, MASK)?, mask).await?
        {
            self.insert(group, MASK, array)?;
        }
        Ok(())
    }

    /// Reads an image; `None` if it cannot be had and is listed.
    async fn image(
        &mut self,
        path: &NodePath,
        directory: &Directory,
    ) -> Result<Option<ArchiveArray>, SourceError> {
        let read = match Image::parse(directory, self.window.order()) {
            Ok(image) => arrays::array(image, self.window.file()).await,
            Err(reason) => Err(Unreadable::Refused(reason)),
        };
        match read {
            Ok(array) => Ok(Some(array)),
            Err(Unreadable::Source(error)) => Err(error),
            Err(Unreadable::Damaged(problem)) => {
                Err(self.window.damaged(format!("its image {path} {problem}")))
            }
            Err(Unreadable::Refused(reason)) => {
                let refused = SourceError::variable(self.name(), path, reason);
                if !self.lists_unsupported {
                    return Err(refused);
                }
                self.unsupported.push(Unsupported::of(refused)?);
                Ok(None)
            }
        }
    }

    fn insert(
        &mut self,
        group: &NodePath,
        name: &str,
        array: ArchiveArray,
    ) -> Result<(), SourceError> {
        let path = self.below(group, name)?;
        self.nodes
            .entry(group.clone())
            .or_insert_with(|| ArchiveNode::Group(Map::new()));
        self.nodes.insert(path, ArchiveNode::Array(Box::new(array)));
        Ok(())
    }

    fn below(&self, group: &NodePath, name: &str) -> Result<NodePath, SourceError> {
        child(group, name).map_err(|source| SourceError::NodeName {
            name: format!("{name:?} of {}", self.name()),
            source,
        })
    }

    fn name(&self) -> &str {
        self.window.file().url()
    }

    fn warn(&mut self, group: &NodePath, problem: &str) {
        let warning = format!("{group} of {}: {problem}", self.name());
        self.warnings.push(warning);
    }
}

/// Lists the levels of an image, with the pixels of the first that one pixel of each covers.
fn multiscales(scales: &[(usize, (f64, f64))]) -> Value {
    let dataset = |at: usize, (number, scale): &(usize, (f64, f64))| {
        let path = match at {
            0 => IMAGE.to_owned(),
            _ => format!("overviews/{number}/{IMAGE}"),
        };
        json!({ "path": path, "scale": { "x": scale.0, "y": scale.1 } })
    };
    let datasets = scales.iter().enumerate().map(|(at, it)| dataset(at, it));
    json!([{ "datasets": datasets.collect::<Vec<_>>() }])
}
