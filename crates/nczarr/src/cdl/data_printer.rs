//! The values of one variable as text, as they come.

use std::io::{self, Write};

use crate::{Dataset, Values, Variable};

use super::error::PrintError;
use super::layout::Layout;
use super::number::{Digits, default_fill_shows, in_data};
use super::print_options::PrintOptions;
use super::text::{escape, name, quote};

/// The widest line that `ncdump` fills, in bytes.
const WIDTH: usize = 78;
/// The bytes of text that are collected before they are written.
const BUFFER: usize = 64 * 1024;

/// Prints the values of one variable, which come in any number of pieces in C order. Its memory does not depend on how many
/// there are, as long as the pieces are small.
#[derive(Debug)]
pub struct DataPrinter {
    path: String,
    variable: Variable,
    fill: Option<Values>,
    layout: Layout,
    digits: Digits,
    /// Two spaces for each group above.
    indent: usize,
    /// The elements that were printed.
    done: u64,
    /// The bytes in the current line.
    column: usize,
    /// Zeros of a row of chars that are shown only if another char follows.
    zeros: u64,
    /// The memory of one value's text, which is used again.
    token: Vec<u8>,
}

impl DataPrinter {
    /// Prepares printing the data of the variable of a path such as `/g/v`.
    ///
    /// # Errors
    /// [`PrintError::NoVariable`], [`PrintError::Model`], [`PrintError::TooLarge`].
    pub fn new(dataset: &Dataset, path: &str, options: &PrintOptions) -> Result<Self, PrintError> {
        let missing = || PrintError::NoVariable {
            name: path.to_owned(),
        };
        let variable = dataset.variable(path).ok_or_else(missing)?;
        let layout = layout(dataset, path, variable)?;
        // Zarr's fill value is not asked: without the attribute, netCDF's default counts.
        let own = variable.attribute("_FillValue");
        let default = variable.data_type.default_fill();
        let fill = match own.filter(|value| value.len() == 1) {
            Some(value) => Some(value.clone()),
            None => default_fill_shows(variable.data_type).then_some(default),
        };
        Ok(Self {
            path: path.to_owned(),
            variable: variable.clone(),
            fill,
            layout,
            digits: options.digits(),
            indent: 2 * path.matches('/').count().saturating_sub(1),
            done: 0,
            column: 0,
            zeros: 0,
            token: Vec::new(),
        })
    }

    /// Returns how many values the variable has.
    pub fn elements(&self) -> u64 {
        self.layout.elements
    }

    /// Prints the next values.
    ///
    /// # Errors
    /// [`PrintError::Write`], [`PrintError::DataType`], [`PrintError::Count`].
    pub fn push(&mut self, out: &mut impl Write, values: &Values) -> Result<(), PrintError> {
        if values.data_type() != self.variable.data_type {
            return Err(PrintError::DataType {
                path: self.path.clone(),
                expected: self.variable.data_type,
                found: values.data_type(),
            });
        }
        let count = u64::try_from(values.len()).unwrap_or(u64::MAX);
        if count > self.layout.elements - self.done {
            return Err(self.wrong_count(self.done.saturating_add(count)));
        }
        let mut text = Vec::new();
        for at in 0..values.len() {
            self.zeros_before(out, &mut text, values, at)?;
            self.element(&mut text, values, at);
            if text.len() >= BUFFER {
                out.write_all(&text)?;
                text.clear();
            }
        }
        out.write_all(&text)?;
        Ok(())
    }

    /// Ends the data.
    ///
    /// # Errors
    /// [`PrintError::Write`], [`PrintError::Count`] if values are missing.
    pub fn finish(self, out: &mut impl Write) -> Result<(), PrintError> {
        if self.done != self.layout.elements {
            return Err(self.wrong_count(self.done));
        }
        if self.layout.elements > 0 {
            out.write_all(b" ;\n")?;
        }
        Ok(())
    }

    fn wrong_count(&self, found: u64) -> PrintError {
        PrintError::Count {
            path: self.path.clone(),
            expected: self.layout.elements,
            found,
        }
    }

    /// Writes the zeros of a row of chars, of which there may be many, before a char that is none.
    fn zeros_before(
        &mut self,
        out: &mut impl Write,
        text: &mut Vec<u8>,
        values: &Values,
        at: usize,
    ) -> io::Result<()> {
        if self.zeros > 0 && matches!(values, Values::Char(bytes) if bytes[at] != 0) {
            for _ in 0..std::mem::take(&mut self.zeros) {
                escape(text, 0);
                if text.len() >= BUFFER {
                    out.write_all(text)?;
                    text.clear();
                }
            }
        }
        Ok(())
    }

    fn element(&mut self, out: &mut Vec<u8>, values: &Values, at: usize) {
        let position = self.done % self.layout.row;
        if position == 0 {
            self.begin_row(out);
        }
        let is_last = position + 1 == self.layout.row;
        let closing = if is_last {
            self.layout.closing(self.done)
        } else {
            0
        };
        if let Values::Char(bytes) = values {
            self.char(out, bytes[at]);
            if is_last {
                self.zeros = 0;
                out.push(b'"');
                out.resize(out.len() + closing, b'}');
            }
        } else {
            let mut token = std::mem::take(&mut self.token);
            if self.is_fill(values, at) {
                token.push(b'_');
            } else {
                value(&mut token, values, at, self.digits);
            }
            if is_last {
                token.resize(token.len() + closing, b'}');
            } else {
                token.extend_from_slice(b", ");
            }
            self.place(out, &token);
            token.clear();
            self.token = token;
        }
        self.done += 1;
    }

    fn begin_row(&mut self, out: &mut Vec<u8>) {
        if self.done == 0 {
            out.push(b'\n');
            out.resize(out.len() + self.indent + 1, b' ');
            name(out, &self.variable.name);
            out.extend_from_slice(if self.layout.has_rows { b" =" } else { b" = " });
            // The backslashes of a name are not counted.
            self.column = self.indent + 4 + self.variable.name.len();
        } else {
            out.push(b',');
        }
        if self.layout.has_rows {
            out.extend_from_slice(b"\n  ");
            // The indentation of groups counts, though it is not there.
            self.column = self.indent + 2;
        }
        for _ in 0..self.layout.opening(self.done) {
            out.push(b'{');
            self.column += 1;
        }
        if matches!(self.variable.data_type, crate::DataType::Char) {
            out.push(b'"');
        }
    }

    /// Puts a value into the current line, or at the beginning of the next one.
    fn place(&mut self, out: &mut Vec<u8>, token: &[u8]) {
        if self.column + token.len() > WIDTH && token.len() > 2 {
            out.push(b'\n');
            out.resize(out.len() + self.indent + 4, b' ');
            self.column = self.indent + 4;
        }
        out.extend_from_slice(token);
        self.column += token.len();
    }

    fn char(&mut self, out: &mut Vec<u8>, byte: u8) {
        if byte == 0 {
            self.zeros += 1;
            return;
        }
        escape(out, byte);
        if byte == b'\n' {
            out.extend_from_slice(b"\",\n    \"");
        }
    }

    fn is_fill(&self, values: &Values, at: usize) -> bool {
        match (values, &self.fill) {
            (Values::Byte(list), Some(Values::Byte(fill))) => list[at] == fill[0],
            (Values::Short(list), Some(Values::Short(fill))) => list[at] == fill[0],
            (Values::Int(list), Some(Values::Int(fill))) => list[at] == fill[0],
            (Values::UByte(list), Some(Values::UByte(fill))) => list[at] == fill[0],
            (Values::UShort(list), Some(Values::UShort(fill))) => list[at] == fill[0],
            (Values::UInt(list), Some(Values::UInt(fill))) => list[at] == fill[0],
            (Values::Int64(list), Some(Values::Int64(fill))) => list[at] == fill[0],
            (Values::UInt64(list), Some(Values::UInt64(fill))) => list[at] == fill[0],
            (Values::Float(list), Some(Values::Float(fill))) => {
                list[at] == fill[0] || (list[at].is_nan() && fill[0].is_nan())
            }
            (Values::Double(list), Some(Values::Double(fill))) => {
                list[at] == fill[0] || (list[at].is_nan() && fill[0].is_nan())
            }
            (Values::String(list), Some(Values::String(fill))) => list[at] == fill[0],
            _ => false,
        }
    }
}

/// Returns the layout of a variable.
pub(super) fn layout(
    dataset: &Dataset,
    path: &str,
    variable: &Variable,
) -> Result<Layout, PrintError> {
    let shape = dataset.shape(variable)?;
    let dimensions = variable.dimensions.iter();
    let unlimited =
        dimensions.map(|path| dataset.dimension(path).is_some_and(|it| it.is_unlimited));
    let unlimited: Vec<_> = unlimited.collect();
    Layout::new(&shape, &unlimited).ok_or_else(|| PrintError::TooLarge {
        path: path.to_owned(),
    })
}

fn value(out: &mut Vec<u8>, values: &Values, at: usize, digits: Digits) {
    // Writing into a vector cannot fail.
    let written: io::Result<()> = match values {
        Values::Byte(list) => write!(out, "{}", list[at]),
        Values::Short(list) => write!(out, "{}", list[at]),
        Values::Int(list) => write!(out, "{}", list[at]),
        Values::UByte(list) => write!(out, "{}", list[at]),
        Values::UShort(list) => write!(out, "{}", list[at]),
        Values::UInt(list) => write!(out, "{}", list[at]),
        Values::Int64(list) => write!(out, "{}", list[at]),
        Values::UInt64(list) => write!(out, "{}", list[at]),
        Values::Float(list) => {
            write!(out, "{}", in_data(f64::from(list[at]), digits.float, "f"))
        }
        Values::Double(list) => write!(out, "{}", in_data(list[at], digits.double, "")),
        Values::String(list) if list[at].is_empty() => write!(out, "NIL"),
        Values::String(list) => {
            quote(out, list[at].as_bytes());
            Ok(())
        }
        Values::Char(_) => Ok(()),
    };
    debug_assert!(written.is_ok(), "a vector grows");
}
