//! Aligned columns.

use std::io::{self, Write};

use comfy_table::{CellAlignment, Table, presets};

use super::escape::printable;

/// Columns under headings, without lines between them.
#[derive(Debug)]
pub(crate) struct Columns(Table);

impl Columns {
    /// Begins a table. A heading that begins with `>` makes a right-aligned column of numbers.
    pub(crate) fn new(headings: &[&str]) -> Self {
        let mut table = Table::new();
        table.load_style(presets::NOTHING);
        table.set_header(
            headings
                .iter()
                .map(|heading| heading.trim_start_matches('>')),
        );
        for (index, heading) in headings.iter().enumerate() {
            if let Some(column) = table.column_mut(index) {
                column.set_padding((0, 2));
                if heading.starts_with('>') {
                    column.set_cell_alignment(CellAlignment::Right);
                }
            }
        }
        Self(table)
    }

    /// Begins a table of names and values.
    pub(crate) fn pairs() -> Self {
        let mut table = Table::new();
        table.load_style(presets::NOTHING);
        Self(table)
    }

    /// Adds a row, with its cells escaped.
    pub(crate) fn row<T: AsRef<str>>(&mut self, cells: impl IntoIterator<Item = T>) {
        let cells: Vec<String> = cells
            .into_iter()
            .map(|cell| printable(cell.as_ref()).into_owned())
            .collect();
        self.0.add_row(cells);
    }

    /// Prints the table, if it has rows.
    pub(crate) fn write(mut self, out: &mut dyn Write) -> io::Result<()> {
        if self.0.is_empty() {
            return Ok(());
        }
        if self.0.header().is_none()
            && let Some(names) = self.0.column_mut(0)
        {
            names.set_padding((0, 2));
        }
        for line in self.0.lines() {
            writeln!(out, "{}", line.trim_end())?;
        }
        Ok(())
    }
}
