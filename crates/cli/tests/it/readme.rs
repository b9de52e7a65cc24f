//! The commands of the README, in order.

use serde_json::json;

use crate::world::{World, array, group};

#[test]
fn the_example_of_the_readme_works() {
    let world = World::new();
    for (name, value) in [("january.zarr", 1), ("february.zarr", 2)] {
        world.json(&format!("{name}/zarr.json"), &group(json!({})));
        let tos = array(&[1, 4], &[1, 4], &["time", "y"]);
        world.json(&format!("{name}/tos/zarr.json"), &tos);
        world.file(&format!("{name}/tos/c/0/0"), [value; 4]);
    }
    let readme = include_str!("../../README.md");
    let block = readme
        .split("```sh\n")
        .nth(1)
        .and_then(|rest| rest.split("```").next());
    let mut run = 0;
    for line in block.unwrap().lines() {
        let command = line.split('#').next().unwrap_or_default().trim();
        let words: Vec<&str> = command
            .split_whitespace()
            .map(|word| word.trim_matches('"'))
            .collect();
        assert_eq!(words[0], "icefield", "{line}");
        world.ok(&words[1..]);
        run += 1;
    }
    assert!(run > 5);
    assert_eq!(world.files("first.zarr"), world.files("january.zarr"));
}
