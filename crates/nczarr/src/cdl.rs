//! CDL, the text that `ncdump` prints and `ncgen` reads.
//!
//! Printing is in steps, because the values of a variable may not fit into memory: [`steps`] returns the text of a dataset
//! with gaps, one for each variable whose values are wanted, and a [`DataPrinter`] fills such a gap from values that come in
//! pieces. [`print`](fn@print) does both for a caller that need not await its values. The text is that of `ncdump` 4.10.1,
//! byte for byte; it is UTF-8 only where the char attributes are.
//!
//! ```
//! use icefield_nczarr::cdl::{self, PrintOptions};
//! use icefield_nczarr::Values;
//!
//! let text = "netcdf small { dimensions: x = UNLIMITED ; variables: int v(x) ; v:units = \"m\" ; data: v = 1, _, 3 ; }";
//! let document = cdl::parse(text)?;
//! assert_eq!(document.dataset.root.dimensions[0].length, 3);
//!
//! let mut printed = Vec::new();
//! let options = PrintOptions::named(&document.name);
//! cdl::print(&mut printed, &document.dataset, &options, |path| document.read(path))?;
//! let printed = String::from_utf8(printed)?;
//! assert!(printed.ends_with("data:\n\n v = 1, _, 3 ;\n}\n"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`parse`] reads the language of `ncgen` as far as the twelve atomic types go. It is stricter where `ncgen` loses a part of
//! the text (numbers that do not fit their type, values without a place), and more patient with names that are words
//! of the language, which `ncdump` prints as they are.

mod attribute_text;
mod data_printer;
mod document;
mod error;
mod header;
mod layout;
mod list;
mod number;
mod parse;
mod print;
mod print_options;
mod special;
mod text;
mod token;

pub use data_printer::DataPrinter;
pub use document::{Data, Document};
pub use error::{CdlError, DumpError, Position, PrintError, Rule};
pub use parse::parse;
pub use print::{Step, print, steps};
pub use print_options::PrintOptions;
