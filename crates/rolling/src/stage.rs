//! A change of a dimension, put into a session: shapes, places of chunks, labels and origins of every array that has it.

use std::collections::BTreeSet;

use icefield_core::{ArrayMetadata, NodeMetadata, NodePath, Session, WriteMode};
use serde_json::Value;

use crate::blocks::{Block, Blocks};
use crate::dimension::{
    Dimension, MASKED_ATTRIBUTE, Member, ORIGIN_ATTRIBUTE, WINDOW_ATTRIBUTE, Window, for_each_chunk,
};
use crate::labels::{self, Axis};
use crate::{Change, Keep, RollingError};

/// How a window keeps its start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Method {
    /// Element 0 is the first one: chunks move, by reference, and every reader sees an ordinary array. Costs metadata in
    /// proportion to all chunks of the array.
    #[default]
    Shift,
    /// Elements keep their index for ever: what goes at the start is taken away, and the arrays only grow. Costs metadata in
    /// proportion to what comes and goes, if manifests are split along the dimension; readers see a long empty start.
    Absolute,
}

/// How a change is carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Options {
    /// How the window keeps its start.
    pub method: Method,
    /// Whether the start may lie within a chunk: elements before it are masked, which rewrites one slab of each array.
    pub mask: bool,
    /// Arrays of at most so many bytes, decoded, are rewritten whole where their chunks cannot move. Default 16 MiB.
    pub rewrite_bytes: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            method: Method::Shift,
            mask: false,
            rewrite_bytes: 16 << 20,
        }
    }
}

/// What a change has put into a session.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Staged {
    /// What the dimension showed.
    pub before: Window,
    /// What it shows.
    pub window: Window,
    /// Absolute indices of the elements that came in.
    pub new: std::ops::Range<i64>,
    /// Arrays whose chunks stay or move by reference.
    pub arrays: Vec<NodePath>,
    /// Small arrays that were rewritten.
    pub rewritten: Vec<NodePath>,
    /// Chunks of large arrays that were rewritten, because a part of them went.
    pub rewritten_chunks: u64,
}

/// Where the two ends go.
#[derive(Clone, Copy, Debug)]
struct Ends {
    /// Elements by which the first shown one moves.
    start: i64,
    end: i64,
}

/// Puts a change of a dimension into a writable session: of every array at and below `group` that has it. Nothing is
/// committed; after an error the session holds part of the change: discard it.
///
/// # Errors
/// [`RollingError`]; nothing that does not fit is done in part.
pub async fn stage(
    session: &Session,
    group: &NodePath,
    dimension: &str,
    change: &Change,
    options: Options,
) -> Result<Staged, RollingError> {
    change.check()?;
    if options.method == Method::Absolute && change.prepend > 0 {
        return Err(RollingError::Contradiction {
            problem: "an array whose elements keep their index cannot grow at the start",
        });
    }
    let dimension = Dimension::of(session, group, dimension)?;
    let plan = Plan::new(session, &dimension, change, options).await?;
    plan.run(session, change).await
}

/// Checks that the coordinates of a dimension name each element of its window once and in order.
///
/// # Errors
/// [`RollingError::Labels`]; what is wrong with the arrays.
pub async fn check(
    session: &Session,
    group: &NodePath,
    dimension: &str,
) -> Result<(), RollingError> {
    let dimension = Dimension::of(session, group, dimension)?;
    for axis in labels::axes(&dimension) {
        let found = axis.read(session).await?;
        axis.check(&found, dimension.window.hidden())?;
    }
    Ok(())
}

/// What becomes of one array.
enum Way {
    /// Its chunks move by so many places.
    Move(i64),
    /// All of it is written anew.
    Rewrite(Blocks),
}

struct Plan<'a> {
    dimension: &'a Dimension,
    options: Options,
    window: Window,
    /// Elements by which element 0 moves.
    moved: i64,
    new: std::ops::Range<i64>,
    ways: Vec<(&'a Member, Way)>,
}

impl<'a> Plan<'a> {
    async fn new(
        session: &Session,
        dimension: &'a Dimension,
        change: &Change,
        options: Options,
    ) -> Result<Self, RollingError> {
        let window = &dimension.window;
        let ends = ends(session, dimension, change, options).await?;
        let too_long = |rule| RollingError::TooLong {
            path: dimension.members[0].path.clone(),
            dimension: dimension.name.clone(),
            rule,
        };
        let overflow = || too_long("absolute indices have 64 bits");
        let first = window
            .first()
            .checked_add(ends.start)
            .ok_or_else(overflow)?;
        let end = window.end().checked_add(ends.end).ok_or_else(overflow)?;
        if first > window.end() || end < window.first() {
            return Err(RollingError::Contradiction {
                problem: "what comes in cannot go in the same change: trim less, or keep more",
            });
        }
        if first >= end {
            return Err(RollingError::NothingLeft {
                dimension: dimension.name.clone(),
            });
        }
        let new = match (change.append, change.prepend) {
            (0, 0) => first..first,
            (0, _) => first..window.first(),
            _ => window.end()..end,
        };
        let (large, small) = by_size(dimension, options);
        let wanted = i128::from(first) - i128::from(window.origin());
        let unit = large
            .iter()
            .try_fold(1_u64, |unit, member| lcm(unit, member.chunk()));
        let unit = unit.ok_or_else(|| too_long("its chunks have no common multiple"))?;
        let is_moved = options.method == Method::Shift && wanted != i128::from(window.hidden());
        let masked = match options.method {
            Method::Absolute => 0,
            Method::Shift if !is_moved => window.hidden(),
            Method::Shift => wanted.rem_euclid(i128::from(unit)) as u64,
        };
        if is_moved && masked > 0 && !options.mask {
            let below = ends.start.saturating_sub_unsigned(masked);
            return Err(RollingError::NotAligned {
                dimension: dimension.name.clone(),
                elements: ends.start,
                below,
                above: below.saturating_add_unsigned(unit),
                arrays: large
                    .iter()
                    .map(|it| (it.path.clone(), it.chunk()))
                    .collect(),
            });
        }
        let moved = match is_moved {
            true => i64::try_from(wanted - i128::from(masked)).map_err(|_| overflow())?,
            false => 0,
        };
        let origin = window.origin().checked_add(moved).ok_or_else(overflow)?;
        let hidden = match options.method {
            Method::Shift => masked,
            Method::Absolute => u64::try_from(wanted).map_err(|_| overflow())?,
        };
        let length = u64::try_from(i128::from(end) - i128::from(origin)).map_err(|_| overflow())?;
        let mut ways: Vec<(&Member, Way)> = Vec::new();
        for member in large {
            ways.push((member, Way::Move(moved / member.chunk() as i64)));
        }
        for (member, blocks, is_label) in small {
            let is_aligned = moved.unsigned_abs() % member.chunk() == 0;
            let way = match is_aligned && !is_label {
                true => Way::Move(moved / member.chunk() as i64),
                false => Way::Rewrite(blocks),
            };
            ways.push((member, way));
        }
        ways.sort_by(|a, b| a.0.path.cmp(&b.0.path));
        for (member, way) in &ways {
            let mut shape = member.array.shape.clone();
            shape[member.axis] = length;
            if let Way::Rewrite(blocks) = way
                && blocks.bytes(&shape) > MOST_REWRITTEN
            {
                return Err(RollingError::TooLong {
                    path: member.path.clone(),
                    dimension: dimension.name.clone(),
                    rule: "arrays that are rewritten have at most 256 MiB",
                });
            }
            if length.div_ceil(member.chunk()) > u64::from(u32::MAX) {
                return Err(RollingError::TooLong {
                    path: member.path.clone(),
                    dimension: dimension.name.clone(),
                    rule: "a dimension has fewer than 2^32 chunks",
                });
            }
        }
        Ok(Self {
            dimension,
            options,
            window: Window::new(origin, length, hidden),
            moved,
            new,
            ways,
        })
    }

    async fn run(&self, session: &Session, change: &Change) -> Result<Staged, RollingError> {
        let mut staged = Staged {
            before: self.dimension.window.clone(),
            window: self.window.clone(),
            new: self.new.clone(),
            arrays: Vec::new(),
            rewritten: Vec::new(),
            rewritten_chunks: 0,
        };
        // Labels first: they are what may be refused.
        let axes = labels::axes(self.dimension);
        let mut named = BTreeSet::new();
        for (number, axis) in axes.iter().enumerate() {
            let Some(Way::Rewrite(blocks)) = self.way(axis.member) else {
                // Too large to be rewritten: whoever has so many labels writes them.
                continue;
            };
            let given = change.labels.as_deref().filter(|_| number == 0);
            self.rewrite_labels(session, axis, blocks, given).await?;
            named.insert(axis.member.path.clone());
            if let Some(path) = bounds_path(self.dimension, &axis.member.path) {
                named.insert(path.clone());
            }
        }
        for (member, way) in &self.ways {
            match way {
                Way::Move(chunks) => {
                    staged.rewritten_chunks += self.move_chunks(session, member, *chunks).await?;
                    staged.arrays.push(member.path.clone());
                }
                Way::Rewrite(blocks) => {
                    if !named.contains(&member.path) {
                        let all = blocks.read_all(session, &member.array).await?;
                        self.rewrite(
                            session,
                            member,
                            blocks,
                            &self.moved_block(member, blocks, &all),
                        )
                        .await?;
                    }
                    staged.rewritten.push(member.path.clone());
                }
            }
        }
        Ok(staged)
    }

    fn way(&self, member: &Member) -> Option<&Way> {
        let found = self
            .ways
            .iter()
            .find(|(other, _)| other.path == member.path);
        found.map(|(_, way)| way)
    }

    fn moved_block(&self, member: &Member, blocks: &Blocks, all: &Block) -> Block {
        let masked = match self.options.method {
            Method::Shift => self.window.hidden(),
            // Labels of what went stay right, and readers need one for each element.
            Method::Absolute => 0,
        };
        blocks.moved(all, member.axis, self.moved, self.window.length(), masked)
    }

    /// Puts the labels of what came in behind or before the others, and the bounds of their cells with them.
    async fn rewrite_labels(
        &self,
        session: &Session,
        axis: &Axis<'_>,
        blocks: &Blocks,
        given: Option<&[f64]>,
    ) -> Result<(), RollingError> {
        let member = axis.member;
        let new = self.elements(&self.new);
        if let Some(given) = given
            && given.len() as u64 != new.end - new.start
        {
            return Err(RollingError::LabelCount {
                dimension: self.dimension.name.clone(),
                expected: new.end - new.start,
                found: given.len(),
            });
        }
        let all = blocks.read_all(session, &member.array).await?;
        let old = axis.numbers(&all);
        let before = axis.shown(&all, self.dimension.window.hidden());
        let mut block = self.moved_block(member, blocks, &all);
        if !new.is_empty() {
            let at_start = self.new.end == self.dimension.window.first();
            axis.go_on(&mut block, &before, new.clone(), at_start, given)?;
        }
        let labels = axis.numbers(&block);
        axis.check(&labels, self.window.hidden())?;
        self.rewrite(session, member, blocks, &block).await?;
        let bounds = bounds_path(self.dimension, &member.path);
        let bounds = self
            .ways
            .iter()
            .find(|(other, _)| Some(&other.path) == bounds);
        let Some((bounds, Way::Rewrite(blocks))) = bounds else {
            return Ok(());
        };
        let all = blocks.read_all(session, &bounds.array).await?;
        let mut block = self.moved_block(bounds, blocks, &all);
        // Where they are of no one width, they are whoever fills the window's to write.
        let cells = labels::Cells::of(
            bounds,
            &all,
            &old.as_floats(),
            self.dimension.window.hidden(),
        );
        if let Some(cells) = cells {
            let _ = cells.put(&mut block, &labels.as_floats(), new);
        }
        self.rewrite(session, bounds, blocks, &block).await
    }

    /// Where the arrays have elements, given by their absolute indices.
    fn elements(&self, absolute: &std::ops::Range<i64>) -> std::ops::Range<u64> {
        let at = |index: i64| {
            u64::try_from(i128::from(index) - i128::from(self.window.origin())).unwrap_or(0)
        };
        at(absolute.start)..at(absolute.end)
    }

    async fn rewrite(
        &self,
        session: &Session,
        member: &Member,
        blocks: &Blocks,
        block: &Block,
    ) -> Result<(), RollingError> {
        let array = self.set_document(session, member).await?;
        blocks.write_all(session, &array, block).await
    }

    /// Moves the chunks of an array, and rewrites those of which a part goes. Returns how many.
    async fn move_chunks(
        &self,
        session: &Session,
        member: &Member,
        chunks: i64,
    ) -> Result<u64, RollingError> {
        let axis = member.axis;
        let (chunk, grows) = (member.chunk(), self.window.length() > member.length());
        if chunks < 0 || grows {
            // What moves to the end needs its place first.
            self.resize(session, member, member.length().max(self.window.length()))
                .await?;
        }
        if chunks != 0 {
            let mut by = vec![0; member.array.rank()];
            by[axis] = -chunks;
            session.shift(&member.path, &by).await?;
        }
        let array = self.set_document(session, member).await?;
        let mut rewritten = 0;
        let (before, after) = (&self.dimension.window, &self.window);
        match self.options.method {
            Method::Absolute => {
                let gone = before.hidden().div_ceil(chunk).min(before.hidden() / chunk)
                    ..after.hidden() / chunk;
                for slab in gone {
                    self.delete_slab(session, member, &array, slab).await?;
                }
                let masked = after.hidden() % chunk;
                if masked > 0 && after.hidden() > before.hidden() {
                    let slab = slab(after.hidden() / chunk);
                    let blocks = Blocks::of(member)?;
                    rewritten += blocks
                        .keep_within(session, &array, axis, slab, masked..chunk)
                        .await?;
                }
            }
            Method::Shift if after.hidden() > 0 && after.first() != before.first() => {
                for slab in 0..after.hidden() / chunk {
                    self.delete_slab(session, member, &array, slab).await?;
                }
                let masked = after.hidden() % chunk;
                if masked > 0 {
                    let blocks = Blocks::of(member)?;
                    let slab = slab(after.hidden() / chunk);
                    rewritten += blocks
                        .keep_within(session, &array, axis, slab, masked..chunk)
                        .await?;
                }
            }
            Method::Shift => {}
        }
        // Behind the end of an array, a chunk may hold anything, and would show it when the array grows again.
        let rest = after.length() % chunk;
        if rest > 0 && after.end() < before.end() {
            let blocks = Blocks::of(member)?;
            let slab = slab(after.length() / chunk);
            rewritten += blocks
                .keep_within(session, &array, axis, slab, 0..rest)
                .await?;
        }
        Ok(rewritten)
    }

    async fn delete_slab(
        &self,
        session: &Session,
        member: &Member,
        array: &ArrayMetadata,
        number: u64,
    ) -> Result<(), RollingError> {
        let slab = slab(number);
        for index in for_each_chunk(
            &array.chunk_counts,
            member.axis,
            slab..slab.saturating_add(1),
        ) {
            session.delete_chunk(&member.path, &index).await?;
        }
        Ok(())
    }

    /// Gives an array another length, and nothing else.
    async fn resize(
        &self,
        session: &Session,
        member: &Member,
        length: u64,
    ) -> Result<(), RollingError> {
        self.write_document(session, member, length, &[])
            .await
            .map(drop)
    }

    /// Writes the document of an array as it will be.
    async fn set_document(
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
        match self.options.method {
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

    async fn write_document(
        &self,
        session: &Session,
        member: &Member,
        length: u64,
        attributes: &[(&str, Option<Value>)],
    ) -> Result<ArrayMetadata, RollingError> {
        let mut shape = member.array.shape.clone();
        shape[member.axis] = length;
        let document = icefield_core::edited_document(&member.document, Some(&shape), attributes);
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

/// The coordinate of a slab; grids are checked before.
fn slab(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// The bounds of a coordinate, if they have the dimension.
fn bounds_path<'a>(dimension: &'a Dimension, coordinate: &NodePath) -> Option<&'a NodePath> {
    let member = dimension
        .members
        .iter()
        .find(|member| member.path == *coordinate)?;
    let path = labels::bounds_of(member)?;
    let bounds = dimension
        .members
        .iter()
        .find(|member| member.path == path)?;
    (bounds.array.rank() == 2 && bounds.axis == 0).then_some(&bounds.path)
}

fn lcm(a: u64, b: u64) -> Option<u64> {
    let (mut x, mut y) = (a, b);
    while y > 0 {
        (x, y) = (y, x % y);
    }
    (a / x.max(1))
        .checked_mul(b)
        .filter(|lcm| i64::try_from(*lcm).is_ok())
}

/// How far the two ends go.
async fn ends(
    session: &Session,
    dimension: &Dimension,
    change: &Change,
    options: Options,
) -> Result<Ends, RollingError> {
    let window = &dimension.window;
    let shown = window.length() - window.hidden();
    let signed = |elements: u64| {
        i64::try_from(elements).map_err(|_| RollingError::TooLong {
            path: dimension.members[0].path.clone(),
            dimension: dimension.name.clone(),
            rule: "absolute indices have 64 bits",
        })
    };
    let trim = change.trim_start.saturating_add(change.trim_end);
    let there = shown
        .saturating_add(change.append)
        .saturating_add(change.prepend);
    if trim > there {
        return Err(RollingError::TooShort {
            dimension: dimension.name.clone(),
            elements: trim,
            length: there,
        });
    }
    let (mut start, mut end) = (signed(change.trim_start)?, -signed(change.trim_end)?);
    if let Some(keep) = change.keep {
        let at_start = change.prepend == 0;
        let kept = match keep {
            Keep::Count(0) => {
                return Err(RollingError::NothingLeft {
                    dimension: dimension.name.clone(),
                });
            }
            Keep::Count(count) => count,
            Keep::Span(span) => kept_of_span(session, dimension, change, span).await?,
        };
        let mut gone = there.saturating_sub(kept);
        if at_start {
            let unit = unit(dimension, options);
            if !options.mask {
                // Whole chunks, counted from element 0.
                let first = window.hidden().saturating_add(gone);
                gone = (first - first % unit).saturating_sub(window.hidden());
            }
            start = signed(gone)?;
        } else {
            end = -signed(gone)?;
        }
    }
    let add = |a: i64, b: i64| a.checked_add(b).unwrap_or(i64::MAX);
    Ok(Ends {
        start: add(start, -signed(change.prepend)?),
        end: add(end, signed(change.append)?),
    })
}

/// Most bytes of an array that is rewritten whole, decoded.
const MOST_REWRITTEN: u64 = 256 << 20;

/// The elements by which the start can move.
fn unit(dimension: &Dimension, options: Options) -> u64 {
    let (large, _) = by_size(dimension, options);
    large
        .iter()
        .fold(1, |unit, member| lcm(unit, member.chunk()).unwrap_or(unit))
}

/// An array that can be rewritten whole, and whether it holds labels or their bounds.
type Small<'a> = (&'a Member, Blocks, bool);

/// The arrays whose chunks have to move, and those that can be rewritten whole: labels, and whatever is small.
fn by_size(dimension: &Dimension, options: Options) -> (Vec<&Member>, Vec<Small<'_>>) {
    let axes = labels::axes(dimension);
    let mut labels: BTreeSet<&NodePath> = axes.iter().map(|axis| &axis.member.path).collect();
    let bounds: Vec<&NodePath> = labels
        .iter()
        .filter_map(|path| bounds_path(dimension, path))
        .collect();
    labels.extend(bounds);
    let (mut large, mut small) = (Vec::new(), Vec::new());
    for member in &dimension.members {
        let is_label = labels.contains(&member.path);
        let most = match is_label {
            true => MOST_REWRITTEN,
            false => options.rewrite_bytes,
        };
        // Chunks that nobody here can decode may move all the same.
        match Blocks::of(member) {
            Ok(blocks) if blocks.bytes(&member.array.shape) <= most => {
                small.push((member, blocks, is_label));
            }
            _ => large.push(member),
        }
    }
    (large, small)
}

/// How many elements lie within a span, those that come in among them.
async fn kept_of_span(
    session: &Session,
    dimension: &Dimension,
    change: &Change,
    span: crate::Duration,
) -> Result<u64, RollingError> {
    let axes = labels::axes(dimension);
    let number = axes.iter().position(|axis| axis.is_time());
    let axis = number.map(|number| &axes[number]);
    let axis = axis.ok_or_else(|| RollingError::NoTime {
        dimension: dimension.name.clone(),
    })?;
    let blocks = Blocks::of(axis.member)?;
    let hidden = dimension.window.hidden();
    let (append, prepend) = (change.append, change.prepend);
    let length = (axis.member.length() - hidden)
        .saturating_add(append)
        .saturating_add(prepend);
    if blocks.bytes(&[length.max(axis.member.length())]) > MOST_REWRITTEN {
        return Err(RollingError::TooLong {
            path: axis.member.path.clone(),
            dimension: dimension.name.clone(),
            rule: "labels that are looked through have at most 256 MiB",
        });
    }
    let all = blocks.read_all(session, &axis.member.array).await?;
    let first = i64::try_from(hidden).unwrap_or(0) - i64::try_from(prepend).unwrap_or(0);
    let mut block = blocks.moved(&all, 0, first, length, 0);
    let before = axis.shown(&all, hidden);
    let new = match prepend {
        0 => length - append..length,
        _ => 0..prepend,
    };
    if !new.is_empty() {
        axis.go_on(
            &mut block,
            &before,
            new,
            prepend > 0,
            change.labels.as_deref().filter(|_| number == Some(0)),
        )?;
    }
    let labels = axis.numbers(&block);
    axis.check(&labels, 0)?;
    axis.count_within(&labels, span, prepend == 0)
        .ok_or_else(|| RollingError::NoTime {
            dimension: dimension.name.clone(),
        })
}
