//! A repository on a web server, on the command line: looked at like any other, and never changed.

use icefield_testservers::FileServer;

use crate::world::World;

#[test]
fn what_is_read_reads_the_same() {
    let world = World::with_history();
    let server = FileServer::of_directory(world.path(""));
    let url = server.url("r");
    for args in [
        &["ls"][..],
        &["ls", "-l"],
        &["tree"],
        &["ls", "--ref", "tag:v1"],
        &["tree", "--ref", "main~1"],
    ] {
        let at = |place: &str| world.ok(&[&args[..1], &[place], &args[1..]].concat());
        assert_eq!(at(&url), at("r"), "{args:?}");
    }
    // A web server lists no refs, so none is shown beside a commit.
    let log = world.ok(&["log", "r"]).replace("(main) ", "");
    assert_eq!(world.ok(&["log", &url]), log.replace("(tag:v1) ", ""));
    for key in ["x/zarr.json", "x/c/0/0", "below/y/c/0"] {
        let cat = |place: &str| {
            let output = world.command(&["cat", place, key]).output();
            let output = output.unwrap();
            assert!(output.status.success(), "{output:?}");
            output.stdout
        };
        assert_eq!(cat(&url), cat("r"), "{key}");
    }
    world.ok(&["export", &url, "out"]);
    world.ok(&["export", "r", "direct"]);
    assert_eq!(world.files("out"), world.files("direct"));
}

#[test]
fn what_cannot_be_done_is_said() {
    let world = World::with_history();
    let server = FileServer::of_directory(world.path(""));
    let url = server.url("r");
    let before = world.files("r");
    for list in [["branch", "list"], ["tag", "list"]] {
        let said = world.fails(1, &[list[0], list[1], &url]);
        assert!(
            said.contains("a web server does not say what it has"),
            "{said}"
        );
    }
    for args in [
        &["import", "one", &url, "--group", "again", "-m", "m"][..],
        &["branch", "create", &url, "mine"],
        &["tag", "create", &url, "mine"],
        &["mv", &url, "x", "z", "-m", "m"],
        &["config", "set", &url, "compression.level", "1"],
        &["expire", &url, "--keep-last", "1"],
        &["init", &server.url("new")],
    ] {
        let said = world.fails(1, args);
        assert!(said.contains("read-only"), "{args:?}: {said}");
    }
    let said = world.fails(4, &["log", &server.url("nothing")]);
    assert!(said.contains("nothing"), "{said}");
    assert_eq!(world.files("r"), before);
}

#[test]
fn refs_by_name_are_copied_and_bundled() {
    let world = World::with_history();
    let server = FileServer::of_directory(world.path(""));
    let url = server.url("r");
    let named = ["--ref", "main", "--ref", "tag:v1"];
    // Twice: what is there is compared with what cannot be listed.
    world.ok(&[&["copy", "r", "to"], &named[2..]].concat());
    world.ok(&[&["copy", &url, "to"], &named[..]].concat());
    world.ok(&[&["bundle", &url, "r.tar"], &named[..]].concat());
    world.ok(&["unbundle", "r.tar", "again"]);
    let objects = |root: &str| {
        let mut files = world.files(root);
        files.retain(|name, _| !name.starts_with(".icefield-local/"));
        files
    };
    assert_eq!(objects("to"), objects("r"));
    assert_eq!(objects("again"), objects("r"));
    let said = world.fails(1, &["copy", &url, "all"]);
    assert!(
        said.contains("a web server does not say what it has"),
        "{said}"
    );
    let said = world.fails(1, &["copy", "r", &server.url("new")]);
    assert!(said.contains("read-only"), "{said}");
}
