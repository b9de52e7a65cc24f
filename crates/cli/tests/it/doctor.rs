//! doctor, on good places and bad ones.

use serde_json::Value;

use crate::world::World;

fn verdicts(facts: &Value) -> Vec<String> {
    let checks = facts["checks"].as_array().expect("a list");
    checks
        .iter()
        .map(|check| {
            let text = |name: &str| check[name].as_str().expect("text").to_owned();
            format!("{} {}", text("name"), text("verdict"))
        })
        .collect()
}

#[test]
fn a_good_place_is_called_one() {
    let world = World::with_history();
    let facts = world.facts(&["doctor", "r", "--write"]);
    assert_eq!(facts["healthy"], true);
    assert_eq!(
        verdicts(&facts),
        [
            "read good",
            "list good",
            "write good",
            "clock good",
            "conditions good",
            "delete good",
            "repository good"
        ]
    );
    assert_eq!(facts["guarantees"]["safe_commits"], true);
    assert!(facts["latency_us"][0].is_u64());
    assert!(!world.files("r").keys().any(|name| name.contains("doctor")));
    let text = world.ok(&["doctor", "r"]);
    assert!(text.contains("commits have one winner"), "{text}");
}

#[test]
fn a_bad_place_is_called_one() {
    let world = World::new();
    let empty = world.facts(&["doctor", "nothing"]);
    assert_eq!(verdicts(&empty).last().expect("some"), "repository note");
    for (location, said) in [
        ("s3://bucket/x?region=a&secret=b", "never part of a URL"),
        ("s3://bucket?endpoint=localhost:1", "endpoint"),
        ("gopher://x", "no backend"),
    ] {
        let output = world.command(&["doctor", location, "--json"]).output();
        let output = output.expect("it runs");
        assert_eq!(output.status.code(), Some(1), "{location}");
        let facts: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        assert_eq!(verdicts(&facts), ["location bad"], "{location}");
        let text = facts["checks"][0]["said"].as_str().expect("text");
        assert!(text.contains(said), "{location}: {text}");
    }
}
