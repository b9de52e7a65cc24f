//! The common behaviour of all commands.

use crate::world::World;

#[test]
fn locations_are_paths_and_urls() {
    let world = World::with_history();
    let path = world.path("r").to_str().unwrap().to_owned();
    let history = world.history("r");
    for location in [
        path.clone(),
        format!("file://{path}"),
        format!("file://localhost{path}"),
        "./r".to_owned(),
    ] {
        assert_eq!(world.history(&location), history);
    }
    world.ok(&["init", "memory:"]);
    world.fails(4, &["log", "memory:"]);
}

#[test]
fn help_is_no_failure() {
    let world = World::new();
    for args in [
        &["--help"][..],
        &["help", "import"],
        &["branch", "--help"],
        &["--version"],
    ] {
        let text = world.ok(args);
        assert!(text.contains("icefield"), "{text}");
    }
    assert!(world.ok(&["--help"]).contains("Exit codes"));
}

#[test]
fn a_file_is_no_repository() {
    let world = World::with_history();
    world.file("file", "x");
    for (code, args) in [
        (4, &["log", "file"][..]),
        (4, &["info", "file"]),
        (4, &["import", "one", "file"]),
        (4, &["branch", "list", "file"]),
        (1, &["init", "file"]),
    ] {
        let error = world.fails(code, args);
        assert!(
            error.contains("file is a file; a repository is a directory"),
            "{args:?}: {error}"
        );
    }
    assert_eq!(world.files("")["file"], b"x");
}

#[test]
fn the_rule_that_an_argument_breaks_is_named() {
    let world = World::with_history();
    let long = "n".repeat(300);
    for (args, rule) in [
        (&["log", "r", "--ref", "a/b"][..], "contains `/`"),
        (&["log", "r", "--ref", "snapshot:zzz"], "20 characters"),
        (&["branch", "create", "r", &long], "255"),
        (&["inspect", "r", "snapshot", "zzz"], "20 characters"),
    ] {
        let error = world.fails(2, args);
        assert!(error.contains(rule), "{rule:?} is not in: {error}");
    }
}
