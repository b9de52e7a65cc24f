//! A dataset as text, in the order of `ncdump`.

use std::io::Write;

use crate::{Dataset, Group, Values};

use super::data_printer::{DataPrinter, layout};
use super::error::{DumpError, PrintError};
use super::header::{header, line};
use super::print_options::PrintOptions;
use super::text::name;

/// A piece of the text of a dataset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// This text. It is UTF-8 unless a char attribute is not.
    Text(Vec<u8>),
    /// The data of the variable of this path, by a [`DataPrinter`]. It has at least one element.
    Data(String),
}

/// Returns the text of a dataset in steps. Together they hold the header and no data.
///
/// # Errors
/// [`PrintError::NoVariable`] for a variable of the options, [`PrintError::Model`], [`PrintError::TooLarge`].
pub fn steps(dataset: &Dataset, options: &PrintOptions) -> Result<Vec<Step>, PrintError> {
    for wanted in &options.variables {
        let is_wanted = |(path, _): &(String, _)| matches(wanted, path);
        if !dataset.variables().iter().any(is_wanted) {
            return Err(PrintError::NoVariable {
                name: wanted.clone(),
            });
        }
    }
    let mut walk = CdlPrinter {
        dataset,
        options,
        steps: Vec::new(),
        text: b"netcdf ".to_vec(),
    };
    name(&mut walk.text, &options.name);
    walk.text.extend_from_slice(b" {\n");
    // Groups are left as they were entered: the last one first.
    let mut pending = vec![Visit::Enter(String::from("/"), &dataset.root, 0)];
    while let Some(visit) = pending.pop() {
        match visit {
            Visit::Leave(group, depth) => walk.leave(group, depth),
            Visit::Enter(path, group, depth) => {
                walk.enter(&path, group, depth)?;
                pending.push(Visit::Leave(group, depth));
                let parent = path.trim_end_matches('/');
                let below = group.groups.iter().rev();
                pending.extend(below.map(|below| {
                    Visit::Enter(format!("{parent}/{}", below.name), below, depth + 1)
                }));
            }
        }
    }
    walk.end_text();
    Ok(walk.steps)
}

enum Visit<'a> {
    Enter(String, &'a Group, usize),
    Leave(&'a Group, usize),
}

struct CdlPrinter<'a> {
    dataset: &'a Dataset,
    options: &'a PrintOptions,
    steps: Vec<Step>,
    text: Vec<u8>,
}

impl CdlPrinter<'_> {
    fn enter(&mut self, path: &str, group: &Group, depth: usize) -> Result<(), PrintError> {
        if depth > 0 {
            self.text.push(b'\n');
            self.text
                .extend_from_slice("  ".repeat(depth - 1).as_bytes());
            self.text.extend_from_slice(b"group: ");
            name(&mut self.text, &group.name);
            self.text.extend_from_slice(b" {\n");
        }
        let indent = "  ".repeat(depth);
        let style = (self.options.digits(), self.options.special_attributes);
        header(&mut self.text, self.dataset, (path, group), &indent, style)?;
        if self.options.header_only || group.variables.is_empty() {
            return Ok(());
        }
        line(&mut self.text, &indent, "data:");
        for variable in &group.variables {
            let scope = path;
            let path = format!("{}/{}", path.trim_end_matches('/'), variable.name);
            let wanted = &self.options.variables;
            let is_coordinate = variable.dimensions.len() == 1
                && self.dataset.in_scope(scope, &variable.name).is_some();
            let is_wanted = (is_coordinate || !self.options.coordinates_only)
                && (wanted.is_empty() || wanted.iter().any(|wanted| matches(wanted, &path)));
            if is_wanted && layout(self.dataset, &path, variable)?.elements > 0 {
                self.end_text();
                self.steps.push(Step::Data(path));
            }
        }
        Ok(())
    }

    fn leave(&mut self, group: &Group, depth: usize) {
        if depth == 0 {
            self.text.extend_from_slice(b"}\n");
            return;
        }
        self.text.extend_from_slice("  ".repeat(depth).as_bytes());
        self.text.extend_from_slice(b"} // group ");
        name(&mut self.text, &group.name);
        self.text.push(b'\n');
    }

    fn end_text(&mut self) {
        if !self.text.is_empty() {
            self.steps.push(Step::Text(std::mem::take(&mut self.text)));
        }
    }
}

/// Returns whether a name or path of the options means the variable of an absolute path.
fn matches(wanted: &str, path: &str) -> bool {
    wanted == path || path.rsplit('/').next() == Some(wanted)
}

/// Prints a dataset with its data. For each variable that is to be printed, `data` gives its values in C order, in pieces.
///
/// # Errors
/// See [`DumpError`].
pub fn print<E, I>(
    out: &mut impl Write,
    dataset: &Dataset,
    options: &PrintOptions,
    mut data: impl FnMut(&str) -> I,
) -> Result<(), DumpError<E>>
where
    I: IntoIterator<Item = Result<Values, E>>,
{
    for step in steps(dataset, options)? {
        match step {
            Step::Text(text) => out.write_all(&text).map_err(PrintError::Write)?,
            Step::Data(path) => {
                let mut printer = DataPrinter::new(dataset, &path, options)?;
                for values in data(&path) {
                    let values = values.map_err(|source| DumpError::Data {
                        path: path.clone(),
                        source,
                    })?;
                    printer.push(out, &values)?;
                }
                printer.finish(out)?;
            }
        }
    }
    Ok(())
}
