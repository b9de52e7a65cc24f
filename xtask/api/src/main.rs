//! `icefield-api JSON TEXT`: writes the public API in a JSON file of rustdoc to a text file, one item a line.

use std::error::Error;
use std::{env, fs};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [json, text] = &arguments[..] else {
        return Err("usage: icefield-api JSON TEXT".into());
    };
    let api = public_api::Builder::from_rustdoc_json(json)
        // Implementations that follow from others say nothing new, and change with the compiler.
        .omit_blanket_impls(true)
        .omit_auto_trait_impls(true)
        .omit_auto_derived_impls(true)
        .build()?;
    let items: String = api.items().map(|item| format!("{item}\n")).collect();
    Ok(fs::write(text, items)?)
}
