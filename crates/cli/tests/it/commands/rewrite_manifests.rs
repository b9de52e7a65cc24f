//! `rewrite-manifests`.

use serde_json::{Value, json};

use crate::world::World;

/// One manifest for each chunk along the first axis.
const RULES: &str = "manifest:
  splitting:
    split_sizes:
    - [any_array, [{condition: !Axis 0, num_chunks: 1}]]
";

#[test]
fn manifests_are_split_by_the_rules_of_the_configuration_once() {
    let world = World::with_history();
    let exported = |name: &str| {
        world.ok(&["export", "r", name]);
        world.files(name)
    };
    let before = exported("before");
    let nothing = "all manifests are split by the rules: nothing to do\n";
    assert_eq!(world.ok(&["rewrite-manifests", "r"]), nothing);

    world.file("r/config.yaml", RULES);
    let facts = world.facts(&["rewrite-manifests", "r"]);
    let id = facts["snapshot_id"].as_str().unwrap();
    assert_eq!(world.history("r")[0], id);
    assert_eq!(facts["branch"], "main");
    // `/below/y` has one chunk and one manifest, which is as it should be.
    let arrays = facts["arrays"].as_array().unwrap();
    assert_eq!(arrays.len(), 1, "{facts}");
    assert_eq!(arrays[0]["path"], "/x");
    assert_eq!(
        [
            &arrays[0]["before"]["manifests"],
            &arrays[0]["after"]["manifests"]
        ],
        [&json!(1), &json!(3)]
    );
    assert_eq!(facts["before"], arrays[0]["before"]);
    assert_eq!(facts["after"], arrays[0]["after"]);
    let info = world.facts(&["info", "r"]);
    assert_eq!(info["manifests"], 4);
    let log = world.facts(&["log", "r", "-n", "1"]);
    assert_eq!(log["snapshots"][0]["message"], "Rewrite manifests");
    assert!(
        log["snapshots"][0]["metadata"]["splitting_config"]["split_sizes"].is_array(),
        "{log}"
    );
    // Nothing that readers see has changed.
    assert_eq!(world.ok(&["diff", "r", "main~1", "main"]), "");
    assert_eq!(exported("after"), before);

    assert_eq!(world.ok(&["rewrite-manifests", "r"]), nothing);
    let again = world.facts(&["rewrite-manifests", "r"]);
    assert_eq!(
        (&again["snapshot_id"], &again["arrays"]),
        (&Value::Null, &json!([]))
    );
    assert_eq!(world.history("r")[0], id);
}

#[test]
fn all_manifests_are_rewritten_on_request_on_any_branch() {
    let world = World::with_history();
    world.ok(&["branch", "create", "r", "b"]);
    let main = world.history("r");
    let rewrite = ["rewrite-manifests", "r", "--all", "--branch", "b"];
    let text = world.ok(&[&rewrite[..], &["-m", "anew"]].concat());
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].starts_with("array "), "{text}");
    assert_eq!(
        lines[1].split_whitespace().take(3).collect::<Vec<_>>(),
        ["/below/y", "1", "1"]
    );
    assert!(
        lines[3].starts_with("committed ")
            && lines[3].ends_with(" to b: 2 manifests of 2 arrays in place of 2"),
        "{text}"
    );
    assert_eq!(world.history("r"), main);
    let log = world.facts(&["log", "r", "--ref", "b"]);
    assert_eq!(log["snapshots"][0]["message"], "anew");
    assert_eq!(world.ok(&["diff", "r", "main", "b"]), "");
}

#[test]
fn what_is_not_there_is_not_rewritten() {
    let world = World::new();
    world.ok(&["init", "r"]);
    world.ok(&["rewrite-manifests", "r", "--all"]);
    assert_eq!(world.history("r").len(), 1, "nothing was committed");
    world.fails(4, &["rewrite-manifests", "r", "--branch", "gone"]);
    world.fails(4, &["rewrite-manifests", "elsewhere"]);
}
