//! The values of variables, and where they are in their shapes.
//!
//! The dimensions of a variable fall into segments: an unlimited dimension that is not the first one begins a new segment,
//! and the values along it stand in braces. How long it is, and so where the values are, is known only at the end of the text.

use crate::{DataType, Values};

use super::super::document::fill;
use super::super::error::{CdlError, Position, Rule};
use super::super::list::{append, empty};
use super::super::token::{Token, error};
use super::Parser;
use super::constant::{Constant, ConstantKind};
use super::placed::{FoundData, RunPosition, Segment};
use super::scope::Scopes;

/// The most segments of a variable.
const SEGMENTS: usize = 32;

/// A piece of char data.
struct Piece {
    start: usize,
    end: usize,
    is_text: bool,
    position: Position,
}

impl Parser<'_> {
    /// Reads `variable = values ;`.
    pub(super) fn data(&mut self, group: usize) -> Result<(), CdlError> {
        let position = self.position;
        let Token::Word(name) = &self.token else {
            return Err(self.expected("the name of a variable or }"));
        };
        let id = self.scopes.variable_id(group, name, position)?;
        if !self.scopes.begin_data(id) {
            let (what, name) = ("data of", name.clone());
            return Err(error(position, Rule::Twice { what, name }));
        }
        self.advance()?;
        self.sign(b'=', "=")?;
        let variable = self.scopes.variable(id).clone();
        let mut found = FoundData {
            id,
            position,
            segments: segments(&mut self.scopes, &variable, position)?,
            fill: fill(&variable),
            given: empty(variable.data_type),
            runs: Vec::new(),
            outer: Vec::new(),
        };
        if self.token != Token::Sign(b';') {
            let is_one = found.segments.len() == 1;
            let has_braces = is_one && self.take_sign(b'{')?;
            self.values(&mut found, &variable.name, &mut Vec::new())?;
            if has_braces {
                self.sign(b'}', "} or a comma")?;
            }
        }
        self.sign(b';', "; or a comma")?;
        self.found.push(found);
        Ok(())
    }

    /// Reads what is within some braces; `outer` are the indices of these.
    fn values(
        &mut self,
        found: &mut FoundData,
        name: &str,
        outer: &mut Vec<u64>,
    ) -> Result<(), CdlError> {
        let depth = outer.len();
        if depth + 1 == found.segments.len() {
            return match found.given.data_type() {
                DataType::Char => self.chars(found, name, outer),
                _ => self.numbers(found, name, outer),
            };
        }
        let mut count = 0;
        loop {
            let position = self.position;
            if !self.take_sign(b'{')? {
                let name = name.to_owned();
                return Err(error(position, Rule::Braces { name }));
            }
            count += 1;
            found.segments[depth].note(count, name, position)?;
            outer.push(count - 1);
            if !self.take_sign(b'}')? {
                self.values(found, name, outer)?;
                self.sign(b'}', "} or a comma")?;
            }
            outer.pop();
            if !self.take_sign(b',')? {
                return Ok(());
            }
        }
    }

    /// Reads values of all types but char.
    fn numbers(
        &mut self,
        found: &mut FoundData,
        name: &str,
        outer: &[u64],
    ) -> Result<(), CdlError> {
        let given = found.given.len();
        let mut count = 0;
        loop {
            let position = self.position;
            let constant = self.constant(name)?;
            count += 1;
            found.innermost().note(count, name, position)?;
            match constant.kind {
                ConstantKind::Fill => append(&mut found.given, &found.fill, 0..1),
                _ => constant.append_to(&mut found.given, name)?,
            }
            if !self.take_sign(b',')? {
                break;
            }
        }
        let count = found.given.len() - given;
        found.outer.extend_from_slice(outer);
        found.runs.push(RunPosition {
            start: 0,
            given,
            count,
        });
        Ok(())
    }

    /// Takes a constant of data.
    fn constant(&mut self, name: &str) -> Result<Constant, CdlError> {
        if self.token == Token::Sign(b'{') {
            let name = name.to_owned();
            return Err(error(self.position, Rule::Braces { name }));
        }
        let constant = Constant::of(&self.token, self.position)?;
        let constant = constant.ok_or_else(|| self.expected("a value"))?;
        self.advance()?;
        Ok(constant)
    }

    /// Reads chars and texts, each of which is a row or a part of one.
    fn chars(&mut self, found: &mut FoundData, name: &str, outer: &[u64]) -> Result<(), CdlError> {
        let mut bytes = Values::Char(Vec::new());
        let mut pieces = Vec::new();
        loop {
            let (start, position) = (bytes.len(), self.position);
            let constant = self.constant(name)?;
            match constant.kind {
                ConstantKind::Fill => append(&mut bytes, &found.fill, 0..1),
                _ => constant.append_to(&mut bytes, name)?,
            }
            pieces.push(Piece {
                start,
                end: bytes.len(),
                is_text: matches!(constant.kind, ConstantKind::Text(_)),
                position,
            });
            if !self.take_sign(b',')? {
                break;
            }
        }
        let Values::Char(bytes) = bytes else {
            return Ok(());
        };
        // Rows are of a fixed length unless the innermost segment is but one dimension.
        let dimensions = self.scopes.variable(found.id).dimensions.clone();
        let segment = found.innermost();
        let row = match dimensions.last() {
            Some(last) if segment.dimension + 1 < dimensions.len() => {
                self.scopes.dimension_mut(last).map(|it| it.length)
            }
            _ => None,
        };
        let capacity = segment.capacity;
        let (mut starts, mut end) = place(&pieces, row, |_| true);
        if capacity.is_some_and(|capacity| end > capacity) {
            let ends_in_newline =
                |it: &Piece| it.is_text && bytes[it.start..it.end].ends_with(b"\n");
            let joined = place(&pieces, row, |at| !ends_in_newline(&pieces[at - 1]));
            if capacity.is_some_and(|capacity| joined.1 <= capacity) {
                (starts, end) = joined;
            }
        }
        for (&start, piece) in starts.iter().zip(&pieces) {
            let length = (piece.end - piece.start) as u64;
            found
                .innermost()
                .note(start.saturating_add(length), name, piece.position)?;
        }
        if let Some(last) = pieces.last() {
            found.innermost().note(end, name, last.position)?;
        }
        for (&start, piece) in starts.iter().zip(&pieces) {
            if piece.start < piece.end {
                found.outer.extend_from_slice(outer);
                found.runs.push(RunPosition {
                    start,
                    given: found.given.len() + piece.start,
                    count: piece.end - piece.start,
                });
            }
        }
        append(
            &mut found.given,
            &Values::Char(bytes),
            0..pieces.last().map_or(0, |it| it.end),
        );
        Ok(())
    }
}

/// Returns where the pieces begin and the last row ends. A text begins a row, where `begins_row` says so, and so do chars
/// behind a text; other chars follow what is before them. Without rows, everything does.
fn place(
    pieces: &[Piece],
    row: Option<u64>,
    begins_row: impl Fn(usize) -> bool,
) -> (Vec<u64>, u64) {
    let (mut at, mut row_start) = (0u64, 0u64);
    // Even an empty text is a row.
    let next_row =
        |at: u64, row_start: u64, row: u64| round_up(at, row).max(row_start.saturating_add(row));
    let mut starts = Vec::with_capacity(pieces.len());
    for (number, piece) in pieces.iter().enumerate() {
        if let Some(row) = row
            && number > 0
            && (piece.is_text || pieces[number - 1].is_text)
            && begins_row(number)
        {
            at = next_row(at, row_start, row);
            row_start = at;
        }
        starts.push(at);
        at = at.saturating_add((piece.end - piece.start) as u64);
    }
    let end = row.map_or(at, |row| next_row(at, row_start, row));
    (starts, end)
}

fn round_up(at: u64, row: u64) -> u64 {
    match row {
        0 => at,
        row => at.div_ceil(row).saturating_mul(row),
    }
}

fn segments(
    scopes: &mut Scopes,
    variable: &crate::Variable,
    position: Position,
) -> Result<Vec<Segment>, CdlError> {
    let mut segments = vec![Segment {
        dimension: 0,
        stride: 1,
        capacity: None,
        most: 0,
    }];
    let too_large = || {
        let (what, limit) = ("the elements of a variable with data", u64::MAX);
        error(position, Rule::TooLarge { what, limit })
    };
    for (at, path) in variable.dimensions.iter().enumerate() {
        let dimension = scopes.dimension_mut(path);
        let (length, is_unlimited) =
            dimension.map_or((0, false), |it| (it.length, it.is_unlimited));
        let last = segments
            .last_mut()
            .expect("BUG: every variable has a segment");
        if at > 0 && is_unlimited {
            if segments.len() == SEGMENTS {
                let (what, limit) = ("unlimited dimensions of a variable", SEGMENTS as u64);
                return Err(error(position, Rule::TooLarge { what, limit }));
            }
            segments.push(Segment {
                dimension: at,
                stride: 1,
                capacity: None,
                most: 0,
            });
        } else if at > 0 {
            last.stride = last.stride.checked_mul(length).ok_or_else(too_large)?;
        }
    }
    // The length that the first dimension, if any, leaves room for.
    let first = variable
        .dimensions
        .first()
        .and_then(|path| scopes.dimension_mut(path));
    let length = first.map_or(Some(1), |it| (!it.is_unlimited).then_some(it.length));
    if let Some(length) = length {
        let capacity = segments[0].stride.checked_mul(length);
        segments[0].capacity = Some(capacity.ok_or_else(too_large)?);
    }
    Ok(segments)
}
