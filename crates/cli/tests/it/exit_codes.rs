//! The table of exit codes, as far as a local disk can provoke them. Code 6 is tested where faults
//! can be made, in `commands/import.rs`: a local disk always knows.

use crate::world::World;

#[test]
fn every_code_means_what_the_help_says() {
    let world = World::with_history();
    let ids = world.history("r");
    let unknown = "ZZZZZZZZZZZZZZZZZZZG";
    let wrong_id = "ILLEGAL!";
    world.ok(&["branch", "create", "r", "b"]);
    let table: &[(i32, &[&str])] = &[
        (0, &["ls", "r"]),
        (0, &["diff", "r", "main", "v1"]),
        // A failure that is none of the others: the data do not fit.
        (1, &["import", "two", "r", "--append", "nothing"]),
        (1, &["branch", "delete", "r", "main"]),
        (1, &["import", "r/refs/branch.main/ref.json", "r"]),
        (1, &["import", "r", "r"]),
        (1, &["export", "r", "r/refs/x"]),
        (1, &["export", "r", "r/new"]),
        // The command itself is wrong.
        (2, &[]),
        (2, &["frobnicate", "r"]),
        (2, &["ls"]),
        (2, &["ls", ""]),
        (2, &["ls", "gopher://bucket/x"]),
        (2, &["ls", "file://server/share"]),
        (2, &["ls", "file:///a%2Fb"]),
        (2, &["ls", "r", "a//b"]),
        (2, &["ls", "r", ".."]),
        (2, &["log", "r", "--ref", "~1"]),
        (2, &["log", "r", "--ref", ""]),
        (2, &["log", "r", "--ref", "a/b"]),
        (2, &["log", "r", "--ref", "snapshot:1"]),
        (2, &["log", "r", "-n", "-1"]),
        (2, &["cat", "r", "a//b"]),
        (2, &["cat", "r", "../../etc/passwd"]),
        (2, &["branch", "create", "r", "a/b"]),
        (2, &["branch", "create", "r", ""]),
        (2, &["branch", "create", "r", " b"]),
        (2, &["tag", "create", "r", "a\nb"]),
        (2, &["inspect", "r", "snapshot", wrong_id]),
        (2, &["inspect", "r", "chunk", unknown]),
        (2, &["ls", "r", "--fsync", "sometimes"]),
        (2, &["import", "one", "r", "--branch", "a/b"]),
        (2, &["import", "one", "r", "--group", "a/../b"]),
        // Another writer was first, or the name is taken.
        (3, &["init", "r"]),
        (3, &["init", "one"]),
        (3, &["import", "one", "r"]),
        (3, &["export", "r", "one"]),
        (3, &["branch", "create", "r", "b"]),
        (
            3,
            &["branch", "reset", "r", "b", "--ref", "v1", "--expect", "v1"],
        ),
        (3, &["tag", "create", "r", "v1"]),
        // Not found.
        (4, &["ls", "nowhere"]),
        (4, &["ls", "one"]),
        (4, &["import", "nowhere", "r"]),
        (4, &["import", "one", "nowhere"]),
        (4, &["import", "one", "r", "--branch", "missing"]),
        (4, &["export", "r", "no/such/directory"]),
        (4, &["ls", "r", "nothing"]),
        (4, &["cat", "r", "nothing/zarr.json"]),
        (4, &["cat", "r", "x/c/9/9"]),
        (4, &["log", "r", "--ref", "missing"]),
        (4, &["log", "r", "--ref", "tag:missing"]),
        (4, &["log", "r", "--ref", "branch:missing~1"]),
        (4, &["log", "r", "--ref", "main~3"]),
        (4, &["log", "r", "--ref", "main@1970-01-01T00:00:00Z"]),
        (4, &["log", "r", "--ref", unknown]),
        (4, &["branch", "delete", "r", "missing"]),
        (4, &["branch", "reset", "r", "missing", "--ref", "main"]),
        (4, &["branch", "reset", "r", "b", "--ref", unknown]),
        (4, &["tag", "delete", "r", "missing"]),
        (4, &["inspect", "r", "snapshot", unknown]),
        (4, &["inspect", "r", "transaction-log", unknown]),
    ];
    for (code, args) in table {
        match code {
            0 => drop(world.ok(args)),
            2 if args.is_empty() => assert_eq!(world.run(args).code, 2),
            _ => drop(world.fails(*code, args)),
        }
    }
    assert_eq!(
        world.history("r"),
        ids,
        "a command that failed changed something"
    );
}

#[test]
fn a_deleted_tag_is_not_found_and_its_name_is_taken() {
    let world = World::with_history();
    world.ok(&["tag", "delete", "r", "v1"]);
    assert!(
        world
            .fails(4, &["ls", "r", "--ref", "tag:v1"])
            .contains("was deleted")
    );
    world.fails(4, &["tag", "delete", "r", "v1"]);
    world.fails(3, &["tag", "create", "r", "v1"]);
}

#[test]
fn what_to_do_next_is_said() {
    let world = World::with_history();
    for (args, said) in [
        (&["ls", "nowhere"][..], "icefield init"),
        (&["ls", "r", "--ref", "missing"], "icefield branch list"),
        (
            &["ls", "r", "--ref", "main@2015-01-16"],
            "main@2015-03-01T00:00:00Z",
        ),
        (&["cat", "r", "x/c/9/9"], "keys look like"),
        (
            &["import", "one", "r", "--branch", "missing"],
            "icefield branch list",
        ),
        (&["import", "one", "nowhere"], "icefield init"),
    ] {
        let text = world.fails(4, args);
        assert!(text.contains(said), "{said} is not in: {text}");
    }
    let text = world.fails(3, &["import", "one", "r"]);
    assert!(
        text.contains("--group") && text.contains("--append"),
        "{text}"
    );
}
