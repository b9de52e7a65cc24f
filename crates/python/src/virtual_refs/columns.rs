//! Columns of virtual chunk refs from Python: copied with the GIL, validated without it.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::hash::BuildHasher;

use hashbrown::hash_table::Entry;
use hashbrown::{DefaultHashBuilder, HashTable};
use icefield::format::{SpecVersion, container_prefixes};
use icefield::{Repository, VirtualChecksum, VirtualChunkError, VirtualLocation, VirtualSource};
use pyo3::buffer::{Element, PyBuffer};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::errors::Failure;

/// The scheme of locations that name a container: `vcc://NAME/path`.
const RELATIVE: &str = "vcc://";

/// The object of a row: the number of its location, and its checksum.
type RowObject = (u32, Option<Checksum>);

/// The columns. An object that several rows refer to is stored once.
pub(crate) struct Columns {
    coordinates: Vec<u32>,
    offsets: Vec<u64>,
    lengths: Vec<u64>,
    locations: Vec<String>,
    objects: Vec<RowObject>,
    /// The number of the object of each row.
    object: Vec<u32>,
}

/// The columns with validated objects.
pub(super) struct RefTable {
    pub(super) coordinates: Vec<u32>,
    pub(super) sources: Vec<VirtualSource>,
    pub(super) source: Vec<u32>,
    pub(super) offsets: Vec<u64>,
    pub(super) lengths: Vec<u64>,
}

impl Columns {
    /// Copies the columns.
    ///
    /// # Errors
    /// `TypeError` and `ValueError`, if a column has the wrong type or length.
    pub(crate) fn read(
        coordinates: &Bound<'_, PyAny>,
        locations: &Bound<'_, PyAny>,
        offsets: &Bound<'_, PyAny>,
        lengths: &Bound<'_, PyAny>,
        checksums: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let mut columns = Self {
            coordinates: numbers(coordinates, "coordinates")?,
            offsets: numbers(offsets, "offsets")?,
            lengths: numbers(lengths, "lengths")?,
            locations: Vec::new(),
            objects: Vec::new(),
            object: Vec::new(),
        };
        let rows = columns.offsets.len();
        let of_rows = read_locations(locations, rows, &mut columns.locations)?;
        match checksums {
            None => {
                let all = 0..columns.locations.len() as u32;
                columns.objects = all.map(|location| (location, None)).collect();
                columns.object = of_rows;
            }
            Some(checksums) => columns.read_checksums(&of_rows, checksums)?,
        }
        let found = columns.object.len();
        if found != rows || columns.lengths.len() != rows {
            return Err(PyValueError::new_err(format!(
                "the columns differ in length: {found} locations, {rows} offsets, {} lengths",
                columns.lengths.len()
            )));
        }
        Ok(columns)
    }

    fn read_checksums(&mut self, of_rows: &[u32], checksums: &Bound<'_, PyAny>) -> PyResult<()> {
        let hasher = DefaultHashBuilder::default();
        let mut known: HashTable<(u64, u32)> = HashTable::new();
        let mut rows = checksums.try_iter()?;
        for (row, location) in of_rows.iter().enumerate() {
            let Some(checksum) = rows.next() else {
                return Err(PyValueError::new_err(format!(
                    "there are {} locations, and {row} checksums",
                    of_rows.len()
                )));
            };
            let named = (*location, checksum_of(&checksum?)?);
            let hash = hasher.hash_one(&named);
            let is_it = |(found, object): &(u64, u32)| {
                *found == hash && self.objects[*object as usize] == named
            };
            let object = match known.entry(hash, is_it, |(hash, _)| *hash) {
                Entry::Occupied(known) => known.get().1,
                Entry::Vacant(vacant) => {
                    let next = self.objects.len() as u32;
                    vacant.insert((hash, next));
                    self.objects.push(named);
                    next
                }
            };
            self.object.push(object);
        }
        match rows.next() {
            None => Ok(()),
            Some(_) => Err(PyValueError::new_err(format!(
                "there are {} locations, and more checksums",
                of_rows.len()
            ))),
        }
    }

    /// Validates the objects. With `validate`, removes the rows whose object no container covers, and returns their numbers.
    ///
    /// # Errors
    /// `invalid-virtual-ref`, for the first invalid location; `zero-length-chunk`.
    pub(super) fn resolve(
        self,
        repository: &Repository,
        rank: usize,
        validate: bool,
    ) -> Result<(RefTable, Vec<usize>), Failure> {
        if let Some(row) = self.lengths.iter().position(|length| *length == 0) {
            let message = format!(
                "row {row} refers to no bytes: an encoded chunk has at least one byte, so correct its length"
            );
            return Err(Failure::new("zero-length-chunk", message));
        }
        let containers = Containers::of(repository);
        // `None` if no container covers the object.
        let mut places: Vec<Option<VirtualSource>> = Vec::with_capacity(self.locations.len());
        for (number, location) in self.locations.iter().enumerate() {
            let source = match containers.source(location) {
                Ok(source) => source,
                Err(VirtualChunkError::NoContainerNamed { .. }) if validate => {
                    places.push(None);
                    continue;
                }
                Err(error) => return Err(self.wrong(number, &error)),
            };
            let covered = !validate || containers.cover(source.location());
            places.push(covered.then_some(source));
        }
        // If there are as many objects as locations, each location has one object.
        let one_each = self.objects.len() == places.len();
        let mut sources = Vec::with_capacity(self.objects.len());
        let mut source_of: Vec<Option<u32>> = Vec::with_capacity(self.objects.len());
        for (place, checksum) in self.objects {
            let place = &mut places[place as usize];
            let source = match one_each {
                true => place.take(),
                false => place.clone(),
            };
            source_of.push(source.as_ref().map(|_| sources.len() as u32));
            sources.extend(source.map(|source| match checksum {
                Some(checksum) => source.with_checksum(checksum.into()),
                None => source,
            }));
        }
        if sources.len() == source_of.len() {
            let table = RefTable {
                coordinates: self.coordinates,
                sources,
                source: self.object,
                offsets: self.offsets,
                lengths: self.lengths,
            };
            return Ok((table, Vec::new()));
        }
        let fits = self.coordinates.len() == self.object.len() * rank;
        let mut table = RefTable {
            coordinates: Vec::new(),
            sources,
            source: Vec::new(),
            offsets: Vec::new(),
            lengths: Vec::new(),
        };
        let mut uncovered = Vec::new();
        for (row, object) in self.object.iter().enumerate() {
            let Some(source) = source_of[*object as usize] else {
                uncovered.push(row);
                continue;
            };
            table.source.push(source);
            table.offsets.push(self.offsets[row]);
            table.lengths.push(self.lengths[row]);
            if fits {
                let index = &self.coordinates[row * rank..][..rank];
                table.coordinates.extend_from_slice(index);
            }
        }
        if !fits {
            // The message quotes the location unchanged.
            table.coordinates = self.coordinates;
        }
        Ok((table, uncovered))
    }

    /// Returns the failure of an invalid location.
    fn wrong(&self, location: usize, error: &VirtualChunkError) -> Failure {
        let problem = match error {
            VirtualChunkError::Location(rule) => rule.to_string(),
            other => other.to_string(),
        };
        let text = &self.locations[location];
        let is_there = |object: &u32| self.objects[*object as usize].0 as usize == location;
        let row = self.object.iter().position(is_there).unwrap_or_default();
        let message = format!(
            "row {row} refers to {text:?}, which is no location of a virtual chunk: {problem}"
        );
        Failure::new("invalid-virtual-ref", message)
    }
}

/// A checksum of a row.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Checksum {
    ETag(String),
    Seconds(u32),
}

impl From<Checksum> for VirtualChecksum {
    fn from(checksum: Checksum) -> Self {
        match checksum {
            Checksum::ETag(tag) => Self::ETag(tag),
            Checksum::Seconds(seconds) => Self::LastModified(seconds),
        }
    }
}

/// Parses an ETag or microseconds since 1970. The format stores whole seconds, so all times within a second are equal.
fn checksum_of(given: &Bound<'_, PyAny>) -> PyResult<Option<Checksum>> {
    if given.is_none() {
        return Ok(None);
    }
    if let Ok(tag) = given.cast::<PyString>() {
        return Ok(Some(Checksum::ETag(tag.to_str()?.to_owned())));
    }
    let micros: i64 = given.extract().map_err(|_| {
        PyTypeError::new_err("a checksum is an ETag, a number of microseconds since 1970, or None")
    })?;
    match u32::try_from(micros.div_euclid(1_000_000)) {
        Ok(seconds) => Ok(Some(Checksum::Seconds(seconds))),
        Err(_) => Err(PyValueError::new_err(format!(
            "{micros} microseconds since 1970 is no time that a reference can have: those are from 1970 to 2106"
        ))),
    }
}

/// The containers of the effective configuration.
struct Containers<'a> {
    repository: &'a Repository,
    named: BTreeMap<String, String>,
    prefixes: Vec<VirtualLocation>,
}

impl<'a> Containers<'a> {
    fn of(repository: &'a Repository) -> Self {
        let config = repository.config();
        let named = config
            .containers()
            .filter_map(|it| Some((it.name.clone()?, it.url_prefix.clone())));
        let prefixes = config
            .containers()
            .flat_map(|it| container_prefixes(&it.url_prefix));
        Self {
            repository,
            named: named.collect(),
            prefixes: prefixes.collect(),
        }
    }

    /// Returns the object at a location. Version 1 has no names of containers in locations, so its locations are absolute.
    fn source(&self, location: &str) -> Result<VirtualSource, VirtualChunkError> {
        if self.repository.spec_version() != SpecVersion::V1 {
            return self.repository.virtual_source(location);
        }
        let absolute = match location.strip_prefix(RELATIVE) {
            None => Cow::Borrowed(location),
            Some(named) => Cow::Owned(self.absolute(named)?),
        };
        VirtualSource::new(&absolute).map_err(VirtualChunkError::Location)
    }

    /// Returns the URL of a path in a named container.
    fn absolute(&self, named: &str) -> Result<String, VirtualChunkError> {
        let (name, path) = named.split_once('/').unwrap_or((named, ""));
        let prefix = self.named.get(name);
        let prefix = prefix.ok_or_else(|| VirtualChunkError::NoContainerNamed {
            name: name.to_owned(),
        })?;
        Ok(format!("{}/{path}", prefix.trim_end_matches('/')))
    }

    fn cover(&self, location: &VirtualLocation) -> bool {
        let covers = |prefix: &VirtualLocation| location.below(prefix).is_some();
        self.prefixes.iter().any(covers)
    }
}

/// Reads the locations of the rows, each distinct one once. Returns the number of each row's location.
fn read_locations(
    given: &Bound<'_, PyAny>,
    rows: usize,
    locations: &mut Vec<String>,
) -> PyResult<Vec<u32>> {
    if given.is_instance_of::<PyString>() {
        return Err(PyTypeError::new_err(
            "the locations are a sequence of texts, and this is one text",
        ));
    }
    let hasher = DefaultHashBuilder::default();
    let mut known: HashTable<(u64, u32)> = HashTable::new();
    let mut of_rows = Vec::with_capacity(rows);
    // Most rows refer to the object of the row before them.
    let mut last: Option<(Bound<'_, PyAny>, u32)> = None;
    for item in given.try_iter()? {
        let item = item?;
        if let Some((before, place)) = &last
            && before.is(&item)
        {
            of_rows.push(*place);
            continue;
        }
        let text = item
            .cast::<PyString>()
            .map_err(|_| PyTypeError::new_err(format!("location {} is no text", of_rows.len())))?;
        let text = text.to_str()?;
        let hash = hasher.hash_one(text);
        let is_it =
            |(found, place): &(u64, u32)| *found == hash && locations[*place as usize] == text;
        let place = match known.entry(hash, is_it, |(hash, _)| *hash) {
            Entry::Occupied(known) => known.get().1,
            Entry::Vacant(vacant) => {
                let place = locations.len() as u32;
                vacant.insert((hash, place));
                locations.push(text.to_owned());
                place
            }
        };
        of_rows.push(place);
        last = Some((item, place));
    }
    Ok(of_rows)
}

/// Reads a column of numbers: a buffer of integers of any size, or a sequence of `int`.
fn numbers<T>(given: &Bound<'_, PyAny>, what: &str) -> PyResult<Vec<T>>
where
    T: Element
        + TryFrom<u64>
        + TryFrom<i64>
        + TryFrom<u32>
        + TryFrom<i32>
        + TryFrom<u16>
        + TryFrom<i16>
        + TryFrom<u8>
        + TryFrom<i8>,
{
    if let Ok(exact) = PyBuffer::<T>::get(given) {
        return exact.to_vec(given.py());
    }
    let of_any_width = converted::<u64, T>(given, what)
        .or_else(|| converted::<i64, T>(given, what))
        .or_else(|| converted::<u32, T>(given, what))
        .or_else(|| converted::<i32, T>(given, what))
        .or_else(|| converted::<u16, T>(given, what))
        .or_else(|| converted::<i16, T>(given, what))
        .or_else(|| converted::<u8, T>(given, what))
        .or_else(|| converted::<i8, T>(given, what));
    if let Some(converted) = of_any_width {
        return converted;
    }
    let mut numbers = Vec::with_capacity(given.len().unwrap_or_default());
    for (row, number) in given.try_iter()?.enumerate() {
        let number = number?.extract::<u64>();
        let number = number.map_err(|_| wrong(what, row))?;
        numbers.push(T::try_from(number).map_err(|_| wrong(what, row))?);
    }
    Ok(numbers)
}

/// Converts numbers of another integer type, if the buffer has that type.
fn converted<F, T>(given: &Bound<'_, PyAny>, what: &str) -> Option<PyResult<Vec<T>>>
where
    F: Element,
    T: TryFrom<F>,
{
    let buffer = PyBuffer::<F>::get(given).ok()?;
    let numbers = match buffer.to_vec(given.py()) {
        Ok(numbers) => numbers,
        Err(error) => return Some(Err(error)),
    };
    let numbers = numbers.into_iter().enumerate();
    Some(
        numbers
            .map(|(row, number)| T::try_from(number).map_err(|_| wrong(what, row)))
            .collect(),
    )
}

fn wrong(what: &str, at: usize) -> PyErr {
    PyValueError::new_err(format!(
        "item {at} of the {what} is not a non-negative integer that fits"
    ))
}
