//! Repositories that are damaged: exit code 5, the object named, the rest still readable.

use std::fs;

use crate::world::World;

versions!(
    a_file_that_is_not_what_it_should_be_is_named,
    a_chunk_that_is_gone_or_short_is_an_error_never_a_hole,
    a_history_is_shown_as_far_as_it_can_be_read,
    a_newer_version_is_refused_by_name,
    a_ref_to_a_missing_snapshot_is_damage_in_every_command,
    what_to_do_depends_on_what_is_damaged,
);

/// The only file that one commit added to a folder of the repository.
fn newest(world: &World, folder: &str) -> String {
    let head = world.history("r")[0].clone();
    let snapshot = world.facts(&["inspect", "r", "snapshot", &head]);
    match folder {
        "snapshots" | "transactions" => head,
        "manifests" => {
            let nodes = snapshot["nodes"].as_array().unwrap();
            let x = nodes.iter().find(|node| node["path"] == "/x").unwrap();
            x["manifests"][0]["id"].as_str().unwrap().to_owned()
        }
        _ => {
            let id = newest(world, "manifests");
            let manifest = world.facts(&["inspect", "r", "manifest", &id]);
            let refs = manifest["arrays"][0]["refs"].as_array().unwrap();
            refs.last().unwrap()["chunk_id"]
                .as_str()
                .unwrap()
                .to_owned()
        }
    }
}

fn a_file_that_is_not_what_it_should_be_is_named(spec: &str) {
    let world = World::with_history_in(spec);
    let other = fs::read(world.path("r/snapshots/1CECHNKREP0F1RSTCMT0")).unwrap();
    for folder in ["snapshots", "manifests"] {
        let id = newest(&world, folder);
        let path = world.path(&format!("r/{folder}/{id}"));
        let whole = fs::read(&path).unwrap();
        let mut flipped = whole.clone();
        *flipped.last_mut().unwrap() ^= 0x40;
        let command: &[&str] = match folder {
            "snapshots" => &["ls", "r"],
            _ => &["ls", "-l", "r"],
        };
        for (what, damaged) in [
            ("empty", &[][..]),
            ("truncated", &whole[..whole.len() / 2]),
            ("short", &whole[..10]),
            (
                "foreign",
                b"PK\x03\x04 something else entirely, long enough to have a header",
            ),
            ("another kind or id", &other),
        ] {
            fs::write(&path, damaged).unwrap();
            let error = world.fails(5, command);
            assert!(error.contains(&id), "{folder}, {what}: {error}");
        }
        // A flipped bit may hit a place that says nothing; never may it crash.
        fs::write(&path, &flipped).unwrap();
        assert!([0, 5].contains(&world.run(command).code));
        fs::remove_file(&path).unwrap();
        let error = world.fails(5, command);
        assert!(error.contains(&id), "{folder}, missing: {error}");
        fs::write(&path, whole).unwrap();
        world.ok(command);
    }
}

fn a_chunk_that_is_gone_or_short_is_an_error_never_a_hole(spec: &str) {
    let world = World::with_history_in(spec);
    let id = newest(&world, "chunks");
    let path = world.path(&format!("r/chunks/{id}"));
    fs::write(&path, "short").unwrap();
    assert!(world.fails(5, &["cat", "r", "x/c/2/0"]).contains(&id));
    fs::remove_file(&path).unwrap();
    assert!(world.fails(5, &["cat", "r", "x/c/2/0"]).contains(&id));
    assert!(world.fails(5, &["export", "r", "out"]).contains(&id));
    assert!(!world.path("out").exists());
    assert_eq!(
        fs::read_dir(world.path("")).unwrap().count(),
        3,
        "only r, one and two are there"
    );
    world.ok(&["export", "r", "out", "--ref", "v1"]);
}

fn a_history_is_shown_as_far_as_it_can_be_read(spec: &str) {
    let world = World::with_history_in(spec);
    let ids = world.history("r");
    fs::write(world.path(&format!("r/snapshots/{}", ids[1])), "nonsense").unwrap();
    let run = world.run(&["log", "r"]);
    assert!(run.stdout.starts_with(&ids[0]), "{run:?}");
    match spec {
        "1" => {
            assert_eq!(run.code, 5);
            assert!(run.stderr.contains(&ids[1]), "{run:?}");
        }
        // The object `repo` tells all of it.
        _ => {
            assert_eq!(run.code, 0, "{run:?}");
            assert!(ids.iter().all(|id| run.stdout.contains(id)), "{run:?}");
        }
    }
    assert!(
        world
            .fails(5, &["ls", "r", "--ref", &ids[1]])
            .contains(&ids[1])
    );
    // Commands that do not need the damaged snapshot work.
    world.ok(&["ls", "-l", "r"]);
    world.ok(&["branch", "list", "r"]);
}

#[test]
fn a_damaged_file_of_a_ref_does_not_hide_the_others() {
    let world = World::with_history();
    world.ok(&["branch", "create", "r", "bad"]);
    fs::write(world.path("r/refs/branch.bad/ref.json"), "{}").unwrap();
    for (args, shown) in [
        (&["branch", "list", "r"][..], "main"),
        (&["info", "r"], "damaged ref bad"),
    ] {
        let run = world.run(args);
        assert_eq!(run.code, 5, "{run:?}");
        assert!(
            run.stdout.contains("bad") && run.stdout.contains(shown),
            "{run:?}"
        );
    }
    assert!(
        world
            .fails(5, &["log", "r", "--ref", "bad"])
            .contains("branch.bad")
    );
    world.ok(&["log", "r"]);
    fs::write(
        world.path("r/refs/branch.bad/ref.json"),
        r#"{"snapshot":"ZZZZZZZZZZZZZZZZZZZG"}"#,
    )
    .unwrap();
    let run = world.run(&["ls", "r", "--ref", "bad"]);
    assert_eq!(run.code, 5, "{run:?}");
    assert!(run.stderr.contains("ZZZZZZZZZZZZZZZZZZZG"), "{run:?}");
}

/// The header of a file of a version of the format; the bytes of its magic are text.
fn of_version(version: u8) -> String {
    let program = "a later program";
    let kind = "\u{6}\u{1}";
    format!("ICE\u{1f9ca}CHUNK{program:24}{}{kind}", char::from(version))
}

fn a_newer_version_is_refused_by_name(spec: &str) {
    let world = World::with_history_in(spec);
    let repo = fs::read(world.path("r/repo"));
    world.file("r/repo", of_version(3));
    for args in [&["ls", "r"][..], &["import", "one", "r", "--group", "x2"]] {
        let error = world.fails(1, args);
        assert!(error.contains("newer version"), "{error}");
    }
    world.file("r/repo", "no object of any version");
    let error = world.fails(5, &["ls", "r"]);
    assert!(error.contains("`repo` is damaged"), "{error}");
    match (spec, repo) {
        ("1", _) => fs::remove_file(world.path("r/repo")).unwrap(),
        (_, repo) => world.file("r/repo", repo.unwrap()),
    }
    // A single file that a newer program wrote.
    let id = newest(&world, "snapshots");
    let path = world.path(&format!("r/snapshots/{id}"));
    let mut file = fs::read(&path).unwrap();
    file[36] += 1;
    let newer = format!("version {}", file[36]);
    fs::write(&path, file).unwrap();
    let error = world.fails(1, &["ls", "r"]);
    assert!(error.contains(&id) && error.contains(&newer), "{error}");
}

fn a_ref_to_a_missing_snapshot_is_damage_in_every_command(spec: &str) {
    let world = World::with_history_in(spec);
    let ids = world.history("r");
    world.ok(&["branch", "create", "r", "other", "--ref", "v1"]);
    let (tip, gone) = (world.path(&format!("r/snapshots/{}", ids[0])), &ids[0]);
    fs::remove_file(tip).unwrap();
    let commands: &[&[&str]] = &[
        &["ls", "r"],
        &["ls", "-l", "r"],
        &["tree", "r"],
        &["cat", "r", "x/zarr.json"],
        &["log", "r"],
        &["log", "r", "--ref", "main~1"],
        &["info", "r"],
        &["diff", "r", "v1", "main"],
        &["diff", "r", "main", "v1"],
        &["export", "r", "out"],
        &["import", "two", "r", "--append", "t"],
        &["branch", "create", "r", "new"],
        &["branch", "reset", "r", "other", "--ref", "branch:main"],
        &["tag", "create", "r", "new"],
    ];
    // In version 2 the object `repo` tells the history.
    let needs_no_file = |args: &[&str]| spec == "2" && args[0] == "log";
    for args in commands {
        if needs_no_file(args) {
            world.ok(args);
            continue;
        }
        let error = world.fails(5, args);
        assert!(error.contains(gone), "{args:?}: {error}");
    }
    // Naming the snapshot by its id names an object that does not exist.
    for name in [
        gone.clone(),
        gone.to_lowercase(),
        format!("snapshot:{gone}"),
    ] {
        world.fails(4, &["ls", "r", "--ref", &name]);
        world.fails(4, &["tag", "create", "r", "new", "--ref", &name]);
    }
    world.ok(&["log", "r", "--ref", "other"]);
}

/// The hint that a command ends with, if there is one.
fn hint(world: &World, args: &[&str]) -> String {
    let run = world.run(args);
    assert_eq!(run.code, 5, "{args:?}: {run:?}");
    (run.stderr.lines())
        .find_map(|line| line.strip_prefix("hint: "))
        .unwrap_or_default()
        .to_owned()
}

fn what_to_do_depends_on_what_is_damaged(spec: &str) {
    let world = World::with_history_in(spec);
    let ids = world.history("r");
    let damaged = |file: &str, bytes: &str| {
        let path = world.path(file);
        let whole = fs::read(&path).unwrap_or_default();
        fs::write(&path, bytes).unwrap();
        (path, whole)
    };
    // A manifest: the history is whole.
    let (path, whole) = damaged(
        &format!("r/manifests/{}", newest(&world, "manifests")),
        "nonsense",
    );
    assert!(hint(&world, &["ls", "-l", "r"]).contains("`icefield log` lists them"));
    world.ok(&["log", "r"]);
    world.ok(&["ls", "-l", "r", "--ref", &ids[1]]);
    fs::write(path, whole).unwrap();

    // The tip: there is no history to look at.
    let (path, whole) = damaged(&format!("r/snapshots/{}", ids[0]), "nonsense");
    let commands = [&["ls", "r"][..], &["log", "r"], &["info", "r"]];
    // In version 2 the object `repo` tells the history.
    for args in commands.iter().filter(|it| spec == "1" || it[0] == "ls") {
        let hint = hint(&world, args);
        assert!(
            !hint.contains("icefield log") && hint.contains("icefield tag list"),
            "{args:?}: {hint}"
        );
    }
    world.ok(&["ls", "r", "--ref", "v1"]);
    fs::write(path, whole).unwrap();

    if spec == "2" {
        // The one object that has refs, history and configuration.
        let (path, whole) = damaged("r/repo", "{");
        for args in [&["ls", "r"][..], &["log", "r"], &["branch", "list", "r"]] {
            let error = world.fails(5, args);
            assert!(
                error.contains("`icefield fsck --repair`"),
                "{args:?}: {error}"
            );
        }
        fs::write(path, whole).unwrap();
        world.ok(&["log", "r"]);
        return;
    }
    // A ref, also the one that every repository has.
    world.ok(&["branch", "create", "r", "bad"]);
    let (path, whole) = damaged("r/refs/branch.bad/ref.json", "{}");
    let said = hint(&world, &["log", "r", "--ref", "bad"]);
    assert!(said.contains("other refs are not affected"), "{said}");
    assert!(world.run(&["branch", "list", "r"]).stdout.contains("main"));
    world.ok(&["tag", "list", "r"]);
    fs::write(path, whole).unwrap();
    damaged("r/refs/branch.main/ref.json", "{}");
    assert!(hint(&world, &["log", "r"]).contains("`branch reset` replaces the damaged one"));
    world.ok(&["tag", "list", "r"]);
    world.ok(&["log", "r", "--ref", "bad"]);
    world.ok(&["branch", "reset", "r", "main", "--ref", &ids[0]]);
    world.ok(&["log", "r"]);

    // The configuration.
    let (path, _) = damaged("r/config.yaml", "{");
    let said = hint(&world, &["log", "r"]);
    assert!(said.contains("config.yaml"), "{said}");
    fs::remove_file(path).unwrap();
    world.ok(&["log", "r"]);
}
