//! `icefield config`

use std::fs;

use icefield::RepositoryConfig;
use serde_json::{Value, json};

use crate::world::World;

/// A setting as `config get --json` has it.
fn setting(world: &World, name: &str) -> Value {
    let facts = world.facts(&["config", "get", "r"]);
    let mut all = facts["settings"].as_array().unwrap().iter();
    all.find(|it| it["name"] == name).unwrap().clone()
}

/// The configuration as the library reads it.
fn decoded(world: &World) -> RepositoryConfig {
    RepositoryConfig::decode(&fs::read(world.path("r/config.yaml")).unwrap()).unwrap()
}

#[test]
fn a_setting_is_shown_set_and_unset_and_the_rest_stays() {
    let world = World::new();
    world.ok(&["init", "r"]);
    let text = world.ok(&["config", "get", "r"]);
    assert!(
        text.lines().all(|line| line.ends_with(" # default")),
        "{text}"
    );
    assert!(
        text.starts_with("inline_chunk_threshold_bytes: 512 # default\n"),
        "{text}"
    );
    assert!(
        text.contains("\nstorage.storage_class: null # default\n"),
        "{text}"
    );
    let set = world.facts(&["config", "set", "r", "storage.retries.max_tries", "7"]);
    assert_eq!((&set["before"], &set["value"]), (&json!(null), &json!("7")));
    // A key of another program, which no command knows.
    let file = world.path("r/config.yaml");
    let text = fs::read_to_string(&file).unwrap();
    let theirs = "theirs:\n  deep:\n  - 1\n  - !tagged 0x10\n  text: '007'\n";
    fs::write(&file, format!("{text}{theirs}")).unwrap();
    let before = decoded(&world).unknown;

    world.ok(&["config", "set", "r", "compression.level", "9"]);
    assert_eq!(
        world.ok(&["config", "get", "r", "compression.level"]),
        "9\n"
    );
    assert_eq!(world.ok(&["config", "get", "r", "theirs.text"]), "'007'\n");
    assert_eq!(
        world.ok(&["config", "get", "r", "compression"]),
        "compression.algorithm: zstd # default\ncompression.level: 9 # stored\n"
    );
    let text = world.ok(&["config", "get", "r"]);
    let stored: Vec<&str> = text.lines().filter(|it| it.contains("# stored")).collect();
    let expected = [
        "compression.level: 9 # stored",
        "storage.retries.max_tries: 7 # stored",
        "theirs.deep: # stored, not known to icefield",
        "theirs.text: '007' # stored, not known to icefield",
    ];
    assert_eq!(stored, expected);
    assert_eq!(decoded(&world).unknown, before);
    let config = decoded(&world);
    assert_eq!(config.compression_level(), Some(9));
    assert!(!before.is_empty());

    world.ok(&["config", "unset", "r", "compression.level"]);
    assert_eq!(
        world.ok(&["config", "get", "r", "compression.level"]),
        "3\n"
    );
    assert_eq!(decoded(&world).unknown, before);
    let expected = json!({
        "name": "compression.level", "value": "3", "source": "default", "known": true,
        "allowed": "a whole number from 0 to 22",
    });
    assert_eq!(setting(&world, "compression.level"), expected);
    assert_eq!(setting(&world, "theirs.text")["known"], json!(false));
    world.ok(&["config", "unset", "r", "theirs"]);
    assert!(decoded(&world).unknown.is_empty());
    // Unsetting an unset setting is no change.
    let files = world.files("r");
    world.ok(&["config", "unset", "r", "compression.level"]);
    assert_eq!(world.files("r"), files);
}

#[test]
fn settings_with_a_structure_are_given_as_yaml_or_json() {
    let world = World::new();
    world.ok(&["init", "r"]);
    for (name, value) in [
        (
            "manifest.splitting.split_sizes",
            "[[!name_matches {regex: '^t2m$'}, [{condition: !DimensionName time, num_chunks: 3}, \
             {condition: Any, num_chunks: 2}]], [any_array, [{condition: !Axis 1, num_chunks: 9}]]]",
        ),
        (
            "manifest.preload.preload_if",
            "!and [!name_matches {regex: '^(time|lat)$'}, !num_refs {from: !Included 1, to: Unbounded}]",
        ),
        (
            "virtual_chunk_containers",
            "{'s3://sea/': {url_prefix: 's3://sea', store: !s3 {region: eu-west-1}}}",
        ),
        ("caching", r#"{"num_chunk_refs": 5, "num_bytes_chunks": 6}"#),
    ] {
        world.ok(&["config", "set", "r", name, value]);
        assert_ne!(world.ok(&["config", "get", "r", name]), "null\n", "{name}");
    }
    let config = decoded(&world);
    assert_eq!(config.split_rules().len(), 2);
    assert_eq!(config.containers().next().unwrap().url_prefix, "s3://sea/");
    assert_eq!(config.caching.unwrap().num_bytes_chunks, Some(6));
    // A printed value is accepted as an argument.
    let value = world.ok(&["config", "get", "r", "manifest.splitting.split_sizes"]);
    world.ok(&["config", "unset", "r", "manifest"]);
    assert!(decoded(&world).split_rules().is_empty());
    world.ok(&[
        "config",
        "set",
        "r",
        "manifest.splitting.split_sizes",
        &value,
    ]);
    assert_eq!(
        decoded(&world).split_rules(),
        config
            .manifest
            .unwrap()
            .splitting
            .unwrap()
            .split_sizes
            .unwrap()
    );
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
        (&["storage", "[1]"], "a mapping of its parts"),
        (&["storage.retries", "{max_tries: ["], "is no YAML"),
        (
            &["manifest.preload.preload_if", "!path_matches {regex: 'a('}"],
            "unclosed group",
        ),
        (
            &[
                "manifest.splitting.split_sizes",
                "[[any_array, [{condition: Any, num_chunks: 0}]]]",
            ],
            "num_chunks is 0",
        ),
        (&["virtual_chunk_containers", "{a: b}"], "a is no container"),
    ] {
        let error = world.fails(2, &[&["config", "set", "r"], args].concat());
        assert!(
            error.contains(said) && error.contains("\nhint: "),
            "{error}"
        );
        assert!(
            error.contains(args[0]) || said.starts_with("is "),
            "{error}"
        );
    }
    world.fails(2, &["config", "get", "r", "nothing"]);
    world.fails(2, &["config", "unset", "r", "nothing"]);
    for (verb, rest) in [
        ("get", &[][..]),
        ("set", &["compression.level", "1"]),
        ("unset", &["compression.level"]),
    ] {
        let said = world.fails(4, &[&["config", verb, "elsewhere"], rest].concat());
        assert!(said.contains("elsewhere"), "{said}");
    }
    assert_eq!(world.files("r"), before);
}
