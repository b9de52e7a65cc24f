//! Trees of Zarr documents as datasets: NCZarr of every generation, plain Zarr of format 2, Zarr v3. The input is the tree
//! as one text: for each document a line with `@` and its key, and then its JSON.

#![no_main]

use std::collections::BTreeMap;

use icefield_fuzz::{Seeds, seed};
use icefield_nczarr::cdl::{PrintOptions, steps};
use icefield_nczarr::{
    Dataset, Documents, ReadOptions, parse_json, read, read_zarr3, write, write_zarr3,
};
use libfuzzer_sys::fuzz_target;

/// The documents of format 2 by key, and those of format 3 by path.
fn documents(input: &str) -> (Documents, Documents) {
    let (mut old, mut new) = (Documents::new(), Documents::new());
    for entry in input.split("\n@").take(1000) {
        let entry = entry.strip_prefix('@').unwrap_or(entry);
        let (key, text) = entry.split_once('\n').unwrap_or((entry, ""));
        let Ok(document) = parse_json(text.as_bytes()) else {
            continue;
        };
        match key.strip_suffix("zarr.json") {
            Some(path) => new.insert(format!("/{}", path.trim_end_matches('/')), document),
            None => old.insert(key.to_owned(), document),
        };
    }
    (old, new)
}

/// Operations that work on any dataset that was read.
fn look(dataset: &Dataset) {
    for (path, variable) in dataset.variables() {
        assert_eq!(
            dataset.variable(&path).map(|it| &it.name),
            Some(&variable.name)
        );
        dataset.shape(variable).expect("a dimension that is there");
        let _ = variable.fill_value();
    }
    let _ = steps(dataset, &PrintOptions::named("a"));
    let _ = write_zarr3(dataset, &BTreeMap::new());
}

fuzz_target!(
    init: seed(&Seeds::Trees),
    |input: &[u8]| {
        let Ok(input) = std::str::from_utf8(input) else {
            return;
        };
        let (old, new) = documents(input);
        for flags in 0..5u8 {
            let options = ReadOptions {
                is_pure: flags & 1 != 0,
                is_without_xarray: flags & 2 != 0,
                has_legacy_endian: flags & 4 != 0,
            };
            let Ok(opened) = read(&old, options) else {
                continue;
            };
            look(&opened.dataset);
            for path in opened.arrays.keys() {
                assert!(opened.dataset.variable(path).is_some(), "{path}");
            }
            // The written form can be read.
            let Ok(written) = write(&opened.dataset, &opened.arrays) else {
                continue;
            };
            let written = written.into_iter().collect();
            let again = read(&written, ReadOptions::default()).expect("what was written can be read");
            look(&again.dataset);
            assert_eq!(again.dataset.variables().len(), opened.dataset.variables().len());
        }
        if let Ok(dataset) = read_zarr3(&new) {
            look(&dataset);
        }
    }
);
