//! Fields put together to variables: hypercubes of members, times, steps and levels.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use super::field::Decoder;
use super::grid::{Grid, MAX_HELD};
use super::levels::{LevelKind, with_values};
use super::names::{Described, Key, names, unnamed};
use super::octets::{Decimal, Octets};
use super::packing::Width;
use super::parameters::named;
use super::problem::GribProblem;
use super::product::{Parameter, Product};
use super::scan::Field;
use crate::{Overlap, SourceError};

/// The contents of a file, put together.
#[derive(Debug, Default)]
pub(super) struct Cube {
    pub(super) grids: Vec<Grid>,
    pub(super) members: Vec<i64>,
    /// Reference times, in seconds since 1970.
    pub(super) times: Vec<i64>,
    /// Seconds from them.
    pub(super) steps: Vec<i64>,
    /// By their names.
    pub(super) levels: BTreeMap<String, LevelAxis>,
    pub(super) variables: Vec<Variable>,
    /// Fields that cannot be read, by what they would be called.
    pub(super) left_out: BTreeMap<String, LeftOut>,
    /// Duplicates that were left out.
    pub(super) duplicates: u64,
    /// The centre of the first field.
    pub(super) centre: Option<u16>,
}

/// The levels of one kind.
#[derive(Debug)]
pub(super) struct LevelAxis {
    pub(super) kind: Option<&'static LevelKind>,
    pub(super) is_layer: bool,
    /// In the order of the array: the surface, and the second one of a layer.
    pub(super) levels: Vec<(f64, f64)>,
}

/// A hypercube.
#[derive(Debug)]
pub(super) struct Variable {
    pub(super) name: String,
    pub(super) key: Key,
    pub(super) described: Described,
    pub(super) width: Width,
    /// The name of its levels, if they are a dimension.
    pub(super) levels: Option<String>,
    /// The surface, if it is no dimension.
    pub(super) level: Option<f64>,
    /// The positions of the fields, by their coordinates in the outer dimensions.
    pub(super) fields: BTreeMap<Vec<u32>, (usize, Decoder)>,
}

/// Fields that cannot be read for one reason.
#[derive(Debug)]
pub(super) struct LeftOut {
    pub(super) count: u64,
    /// The error of the first one.
    pub(super) first: SourceError,
}

/// A field that can be read.
struct Member {
    at: usize,
    product: Product,
    decoder: Decoder,
}

/// Where a field lies: member, time, step, level.
type CubePlace = (i64, i64, i64, (u64, u64));

impl Variable {
    /// The lengths of the outer dimensions.
    pub(super) fn outer(&self, cube: &Cube) -> Vec<u64> {
        let mut lengths = Vec::new();
        if self.key.kind.is_member {
            lengths.push(cube.members.len() as u64);
        }
        lengths.push(cube.times.len() as u64);
        lengths.push(cube.steps.len() as u64);
        if let Some(axis) = self.levels.as_ref().and_then(|name| cube.levels.get(name)) {
            lengths.push(axis.levels.len() as u64);
        }
        lengths
    }
}

/// Puts fields together. `url` is what messages call the file, `duplicates` says which of two fields of one place is kept.
///
/// # Errors
/// The first field that is damaged, or of the place of another one.
pub(super) fn cube(url: &str, fields: &[Field], duplicates: Overlap) -> Result<Cube, SourceError> {
    let mut cube = Cube::default();
    let mut groups: BTreeMap<Key, (Described, Vec<Member>)> = BTreeMap::new();
    let mut known: HashMap<Arc<[u8]>, Result<usize, GribProblem>> = HashMap::new();
    let mut room = MAX_HELD;
    for (at, field) in fields.iter().enumerate() {
        let read = read(field, at, &mut cube.grids, &mut known, &mut room);
        match read {
            Ok((grid, member)) => {
                cube.centre.get_or_insert(member.product.centre);
                let (key, described) = Key::of(&member.product, grid);
                let group = groups.entry(key).or_insert((described, Vec::new()));
                group.1.push(member);
            }
            Err(problem) if problem.is_unsupported() => {
                let error = SourceError::grib(url, field.message, field.offset, problem);
                let left_out = cube.left_out.entry(name_of(field));
                left_out.and_modify(|it| it.count += 1).or_insert(LeftOut {
                    count: 1,
                    first: error,
                });
            }
            Err(problem) => {
                return Err(SourceError::grib(url, field.message, field.offset, problem));
            }
        }
    }
    let groups = by_length(groups);
    let keys: Vec<(Key, Described)> = groups
        .iter()
        .map(|(key, (described, _))| (key.clone(), *described))
        .collect();
    let names = names(&keys);
    cube.axes(&groups);
    for ((key, (described, members)), name) in groups.into_iter().zip(names) {
        let variable = cube.variable(url, name, (key, described), members, duplicates)?;
        cube.variables.push(variable);
    }
    Ok(cube)
}

fn read(
    field: &Field,
    at: usize,
    grids: &mut Vec<Grid>,
    known: &mut HashMap<Arc<[u8]>, Result<usize, GribProblem>>,
    room: &mut u64,
) -> Result<(usize, Member), GribProblem> {
    let product = Product::of(field)?;
    let grid = match known.get(&field.grid) {
        Some(grid) => grid.clone(),
        None => {
            let read = Grid::of(&field.grid, room).map(|grid| {
                grids.push(grid);
                grids.len() - 1
            });
            known.insert(Arc::clone(&field.grid), read.clone());
            read
        }
    }?;
    let shape = &grids[grid].shape;
    let decoder = Decoder::of(field, shape.order(), shape.points())?;
    let member = Member {
        at,
        product,
        decoder,
    };
    Ok((grid, member))
}

/// The name that a field would have, as far as that can be told.
fn name_of(field: &Field) -> String {
    let octets = Octets::new(4, &field.product);
    let number = |octet| octets.u8(octet).unwrap_or(u8::MAX);
    let centre = Octets::new(1, &field.identification).u16(6);
    let centre = centre.unwrap_or(u16::MAX);
    let parameter = Parameter::new(field.discipline, number(10), number(11), centre);
    let named = named(parameter, u8::MAX, None, None);
    let name = named.map_or_else(|| unnamed(parameter), |(it, _)| it.name.to_owned());
    format!("{name}_unsupported")
}

impl Member {
    /// The values of its surfaces, in the units of the level.
    fn level(&self) -> (f64, f64) {
        let power = with_values(self.product.level.kind).map_or(0, |kind| kind.units.1);
        let value = |it: Option<Decimal>| it.map_or(0.0, |it| it.shifted(power));
        let second = self.product.level.second.and_then(|(_, value)| value);
        (value(self.product.level.value), value(second))
    }

    fn place(&self) -> CubePlace {
        let Product {
            member,
            reference,
            step,
            ..
        } = self.product;
        let (one, other) = self.level();
        (member, reference, step, (bits(one), bits(other)))
    }
}

/// A number that is equal where the other one is.
fn bits(value: f64) -> u64 {
    // Of the two zeros there is one.
    (value + 0.0).to_bits()
}

/// Parts fields of intervals that end at one time and have different lengths: those from the reference time on are one
/// variable, those of each other length another one.
fn by_length(
    groups: BTreeMap<Key, (Described, Vec<Member>)>,
) -> BTreeMap<Key, (Described, Vec<Member>)> {
    let mut parted: BTreeMap<Key, (Described, Vec<Member>)> = BTreeMap::new();
    for (key, (described, members)) in groups {
        let length = |it: &Member| it.product.statistic.map_or(0, |it| it.length);
        let mut lengths: HashMap<CubePlace, i64> = HashMap::new();
        let differ = members
            .iter()
            .any(|it| *lengths.entry(it.place()).or_insert(length(it)) != length(it));
        if !differ {
            parted.insert(key, (described, members));
            continue;
        }
        for member in members {
            let length = length(&member);
            let is_from_start = length == member.product.step;
            let key = Key {
                interval: (!is_from_start).then_some(length),
                ..key.clone()
            };
            let part = parted.entry(key).or_insert((described, Vec::new()));
            part.1.push(member);
        }
    }
    parted
}

/// Whether the levels of a variable are a dimension.
fn has_levels(key: &Key, described: Described, members: &[Member]) -> bool {
    if described.own.level {
        return false;
    }
    if with_values(key.level.0).is_some() {
        return true;
    }
    let first = members.first().map(Member::level);
    members.iter().any(|it| Some(it.level()) != first)
}

impl Cube {
    /// Gathers the coordinates of all variables.
    fn axes(&mut self, groups: &BTreeMap<Key, (Described, Vec<Member>)>) {
        let (mut members, mut times, mut steps) =
            (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        for (key, (described, group)) in groups {
            for it in group {
                if key.kind.is_member {
                    members.insert(it.product.member);
                }
                times.insert(it.product.reference);
                steps.insert(it.product.step);
            }
            if has_levels(key, *described, group) {
                let axis = self.levels.entry(key.level_name());
                let axis = axis.or_insert_with(|| LevelAxis {
                    kind: with_values(key.level.0),
                    is_layer: key.is_layer(),
                    levels: Vec::new(),
                });
                axis.levels.extend(group.iter().map(Member::level));
            }
        }
        self.members = members.into_iter().collect();
        self.times = times.into_iter().collect();
        self.steps = steps.into_iter().collect();
        for (name, axis) in &mut self.levels {
            axis.levels.sort_by(|one, other| {
                let by_value = one.0.total_cmp(&other.0);
                by_value.then(one.1.total_cmp(&other.1))
            });
            axis.levels.dedup_by(|one, other| {
                (bits(one.0), bits(one.1)) == (bits(other.0), bits(other.1))
            });
            // From the ground up, as pressure levels are listed everywhere.
            if name == "isobaricInhPa" {
                axis.levels.reverse();
            }
        }
    }

    fn variable(
        &mut self,
        url: &str,
        name: String,
        (key, described): (Key, Described),
        members: Vec<Member>,
        duplicates: Overlap,
    ) -> Result<Variable, SourceError> {
        let levels = has_levels(&key, described, &members).then(|| key.level_name());
        let mut variable = Variable {
            level: match (&levels, members.first()) {
                (None, Some(first)) => first.product.level.value.map(|_| first.level().0),
                _ => None,
            },
            name,
            key,
            described,
            width: Width::Single,
            levels,
            fields: BTreeMap::new(),
        };
        let position = |all: &[i64], one: i64| all.binary_search(&one).unwrap_or(0) as u32;
        for member in members {
            let mut index = Vec::new();
            if variable.key.kind.is_member {
                index.push(position(&self.members, member.product.member));
            }
            index.push(position(&self.times, member.product.reference));
            index.push(position(&self.steps, member.product.step));
            if let Some(axis) = variable.levels.as_ref().and_then(|it| self.levels.get(it)) {
                let level = member.level();
                let at = axis
                    .levels
                    .iter()
                    .position(|it| (bits(it.0), bits(it.1)) == (bits(level.0), bits(level.1)));
                index.push(at.unwrap_or(0) as u32);
            }
            if let Some((_, earlier)) = variable.fields.get(&index) {
                self.duplicates += 1;
                match duplicates {
                    Overlap::First => continue,
                    Overlap::Last => {}
                    Overlap::Refuse => {
                        let problem = GribProblem::Duplicate {
                            variable: variable.name,
                            earlier: earlier.message,
                        };
                        let Decoder {
                            message, offset, ..
                        } = member.decoder;
                        return Err(SourceError::grib(url, message, offset, problem));
                    }
                }
            }
            variable.width = variable.width.max(member.decoder.width());
            variable.fields.insert(index, (member.at, member.decoder));
        }
        Ok(variable)
    }
}
