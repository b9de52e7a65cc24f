//! The part of a group that `ncdump` prints before its data.

use std::io::Write;

use crate::{Dataset, Group, Variable};

use super::attribute_text::attribute;
use super::error::PrintError;
use super::number::Digits;
use super::special::{global_attributes, special_attributes};
use super::text::name;

/// Writes the dimensions, variables and attributes of the group of a path.
pub(super) fn header(
    out: &mut Vec<u8>,
    dataset: &Dataset,
    (path, group): (&str, &Group),
    indent: &str,
    (digits, is_special): (Digits, bool),
) -> Result<(), PrintError> {
    if !group.dimensions.is_empty() {
        line(out, indent, "dimensions:");
        for dimension in &group.dimensions {
            out.extend_from_slice(indent.as_bytes());
            out.push(b'\t');
            name(out, &dimension.name);
            let length = dimension.length;
            let text = if dimension.is_unlimited {
                format!(" = UNLIMITED ; // ({length} currently)\n")
            } else {
                format!(" = {length} ;\n")
            };
            out.extend_from_slice(text.as_bytes());
        }
    }
    if !group.variables.is_empty() {
        line(out, indent, "variables:");
        for variable in &group.variables {
            declaration(out, dataset, path, variable, indent);
            for it in &variable.attributes {
                let names = (variable.name.as_str(), it.name.as_str());
                attribute(out, indent, names, &it.values, digits);
            }
            if is_special {
                for it in special_attributes(dataset, variable)? {
                    let names = (variable.name.as_str(), it.name.as_str());
                    attribute(out, indent, names, &it.values, digits);
                }
            }
        }
    }
    let globals = if is_special && path == "/" {
        global_attributes()
    } else {
        Vec::new()
    };
    if !group.attributes.is_empty() || !globals.is_empty() {
        let scope = if path == "/" { "global" } else { "group" };
        let _ = writeln!(out, "\n{indent}// {scope} attributes:");
        for it in group.attributes.iter().chain(&globals) {
            attribute(out, indent, ("", &it.name), &it.values, digits);
        }
    }
    Ok(())
}

/// Writes a line of one word.
pub(super) fn line(out: &mut Vec<u8>, indent: &str, text: &str) {
    out.extend_from_slice(indent.as_bytes());
    out.extend_from_slice(text.as_bytes());
    out.push(b'\n');
}

fn declaration(
    out: &mut Vec<u8>,
    dataset: &Dataset,
    group: &str,
    variable: &Variable,
    indent: &str,
) {
    let _ = write!(out, "{indent}\t{} ", variable.data_type);
    name(out, &variable.name);
    for (at, path) in variable.dimensions.iter().enumerate() {
        out.extend_from_slice(if at == 0 { b"(" } else { b", " });
        // A name means the nearest dimension; one that is hidden by it is named by its path.
        if dataset.in_scope(group, path.name()).as_ref() == Some(path) {
            name(out, path.name());
        } else {
            name(out, path.as_str());
        }
    }
    if !variable.dimensions.is_empty() {
        out.push(b')');
    }
    out.extend_from_slice(b" ;\n");
}
