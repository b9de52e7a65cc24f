//! `icefield config`

use std::fs;

use serde_json::json;

use crate::world::World;

#[test]
fn a_setting_is_shown_set_and_unset_and_the_rest_stays() {
    let world = World::new();
    world.ok(&["init", "r"]);
    assert_eq!(world.ok(&["config", "get", "r"]), "");
    let set = world.facts(&["config", "set", "r", "storage.retries.max_tries", "7"]);
    assert_eq!((&set["before"], &set["value"]), (&json!(null), &json!("7")));
    // Somebody else's key, which no command of ours knows.
    let file = world.path("r/config.yaml");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, format!("{text}theirs:\n  deep: [1, 2]\n")).unwrap();

    world.ok(&["config", "set", "r", "compression.level", "9"]);
    assert_eq!(world.ok(&["config", "get", "r", "compression.level"]), "9\n");
    assert_eq!(world.ok(&["config", "get", "r", "theirs.deep"]), "- 1\n- 2\n");
    let text = world.ok(&["config", "get", "r"]);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(
        lines,
        ["compression.level: 9", "storage.retries.max_tries: 7", "theirs.deep:", "- 1", "- 2"]
    );
    world.ok(&["config", "unset", "r", "compression.level"]);
    assert_eq!(world.ok(&["config", "get", "r", "compression.level"]), "");
    assert_eq!(world.ok(&["config", "get", "r", "theirs.deep"]), "- 1\n- 2\n");

    let all = world.facts(&["config", "get", "r"]);
    let level = all["settings"].as_array().unwrap().iter();
    let level = level.clone().find(|it| it["name"] == "compression.level");
    let expected = json!({
        "name": "compression.level", "value": null, "allowed": "a whole number from 0 to 22",
    });
    assert_eq!(level, Some(&expected));
}

#[test]
fn a_setting_is_in_force_for_the_next_command() {
    let world = World::new();
    world.tree("tree", 1, 1);
    for (name, bytes) in [("inline", "65535"), ("native", "0")] {
        world.ok(&["init", name]);
        world.ok(&["config", "set", name, "inline_chunk_threshold_bytes", bytes]);
        world.ok(&["import", "tree", name]);
        let chunks = &world.facts(&["info", name, "-l"])["chunks"];
        assert!(chunks[name]["count"].as_u64() > Some(0), "{chunks}");
        let other = if name == "inline" { "native" } else { "inline" };
        assert_eq!(chunks[other]["count"], json!(0), "{chunks}");
    }
}

#[test]
fn what_cannot_be_set_is_refused_and_nothing_is_stored() {
    let world = World::new();
    world.ok(&["init", "r"]);
    let before = world.files("r");
    for (args, said) in [
        (&["inline_chunk_threshold_bytes", "70000"][..], "0 to 65535"),
        (&["compression.level", "-1"], "0 to 22"),
        (&["compresion.level", "1"], "is compression.level meant?"),
        (&["storage", "[1]"], "a part of the configuration"),
    ] {
        let error = world.fails(2, &[&["config", "set", "r"], args].concat());
        assert!(error.contains(said), "{error}");
    }
    world.fails(2, &["config", "get", "r", "nothing"]);
    world.fails(2, &["config", "unset", "r", "nothing"]);
    world.fails(4, &["config", "get", "elsewhere"]);
    assert_eq!(world.files("r"), before);
}
