//! `-v` and `ICEFIELD_LOG`.

use crate::world::World;

fn stderr(world: &World, args: &[&str], variables: &[(&str, &str)]) -> String {
    let output = world
        .command(args)
        .envs(variables.iter().copied())
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn spans_are_printed_when_asked_for() {
    let world = World::with_history();
    assert_eq!(stderr(&world, &["log", "r"], &[]), "");
    let shown = stderr(&world, &["-v", "log", "r"], &[]);
    assert!(
        shown.contains("icefield_core") && shown.contains("snapshots/"),
        "{shown}"
    );
    assert!(
        !shown.contains('\u{1b}'),
        "colours on something that is no terminal: {shown}"
    );
    let more = stderr(&world, &["log", "r", "-vv"], &[]);
    assert!(more.lines().count() >= shown.lines().count());
    let filtered = stderr(
        &world,
        &["log", "r"],
        &[("ICEFIELD_LOG", "icefield_core=debug")],
    );
    assert!(filtered.contains("icefield_core"), "{filtered}");
    assert_eq!(
        stderr(&world, &["log", "r"], &[("ICEFIELD_LOG", "off")]),
        ""
    );
    let warned = stderr(&world, &["log", "r"], &[("ICEFIELD_LOG", "=[")]);
    assert!(warned.starts_with("warning: ICEFIELD_LOG"), "{warned}");
}

#[test]
fn standard_output_stays_facts_only() {
    let world = World::with_history();
    let output = world
        .command(&["-v", "log", "r", "--json"])
        .output()
        .unwrap();
    crate::world::facts(std::str::from_utf8(&output.stdout).unwrap());
}
