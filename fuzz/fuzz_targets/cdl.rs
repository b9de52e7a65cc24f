//! CDL: what is read can be printed, and says the same when it is read again.

#![no_main]

use icefield_fuzz::{Seeds, seed};
use icefield_nczarr::cdl::{self, Document, PrintOptions, steps};
use icefield_nczarr::{Attribute, DataType, Filter, Group, Values};
use libfuzzer_sys::fuzz_target;

/// Elements of all variables whose values are printed. A text of few bytes may declare any number.
const MAX_ELEMENTS: u64 = 1 << 14;

/// All that a text can say.
fn options(document: &Document) -> PrintOptions {
    let mut options = PrintOptions::named(&document.name);
    options.special_attributes = true;
    (options.float_digits, options.double_digits) = (9, 17);
    options
}

fn print(document: &Document) -> Vec<u8> {
    let mut text = Vec::new();
    let data = |path: &str| document.read(path);
    let printed = cdl::print(&mut text, &document.dataset, &options(document), data);
    printed.expect("what was read can be printed");
    text
}

fn elements(document: &Document) -> Option<u64> {
    let dataset = &document.dataset;
    dataset
        .variables()
        .iter()
        .try_fold(0u64, |sum, (_, variable)| {
            let shape = dataset
                .shape(variable)
                .expect("a dimension that was declared");
            let count = shape
                .iter()
                .try_fold(1u64, |product, it| product.checked_mul(*it))?;
            sum.checked_add(count)
        })
}

/// Removes differences that a text does not show: zeros at the end of a char attribute are not printed, as by `ncdump`.
fn without_last_zeros(attributes: &mut [Attribute]) {
    for attribute in attributes {
        // One without values is printed as an empty text, of whatever type it is.
        if attribute.values.is_empty() {
            attribute.values = Values::Char(Vec::new());
        }
        if let Values::Char(bytes) = &mut attribute.values {
            let end = bytes.iter().rposition(|byte| *byte != 0);
            bytes.truncate(end.map_or(0, |at| at + 1));
        }
    }
}

fn plain(group: &mut Group) {
    without_last_zeros(&mut group.attributes);
    for variable in &mut group.variables {
        without_last_zeros(&mut variable.attributes);
        // Level 0 is printed, and read as no filter, as by `ncgen`.
        variable
            .storage
            .filters
            .retain(|it| *it != Filter::Deflate(0));
    }
    group.groups.iter_mut().for_each(plain);
}

/// The dataset as text. NaN is no NaN to Rust, but looks like one.
fn said(document: &Document) -> String {
    let mut dataset = document.dataset.clone();
    plain(&mut dataset.root);
    format!("{dataset:#?}")
}

fuzz_target!(
    init: seed(&Seeds::Cdl),
    |input: &[u8]| {
        let Ok(document) = cdl::parse(input) else {
            return;
        };
        if elements(&document).is_none_or(|count| count > MAX_ELEMENTS) {
            let _ = steps(&document.dataset, &options(&document));
            for data in &document.data {
                let _ = data.values(0..100);
                assert!(data.given().all(|range| range.start < range.end && range.end <= data.elements()));
            }
            return;
        }
        let text = print(&document);
        let shown = || String::from_utf8_lossy(&text).into_owned();
        let again = cdl::parse(&text).unwrap_or_else(|error| panic!("{error}\n{}", shown()));
        // A newline in a row of chars looks like the end of it, so that the length of a dimension may be another one.
        let is_char = |(_, it): &(String, &icefield_nczarr::Variable)| it.data_type == DataType::Char;
        if !document.dataset.variables().iter().any(is_char) {
            assert_eq!(said(&again), said(&document), "{}", shown());
            let twice = print(&again);
            let third = print(&cdl::parse(&twice).expect("what was printed can be read"));
            assert!(third == twice, "{}\n is not\n{}", String::from_utf8_lossy(&third), shown());
        }
    }
);
