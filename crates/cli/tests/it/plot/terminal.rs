//! Pictures in a terminal.

use std::process::Stdio;

use super::ocean;
use crate::world::{PROGRAM, World};

/// Runs the program in a terminal of 40 columns and 13 rows; `None` where no program `script` makes one.
fn shown(world: &World, command: &str, variables: &[(&str, &str)]) -> Option<String> {
    let command = format!("stty cols 40 rows 13; {PROGRAM} {command} 2> /dev/null");
    let output = std::process::Command::new("script")
        .args(["-qec", &command, "/dev/null"])
        .current_dir(world.path(""))
        .env_remove("NO_COLOR")
        .env_remove("COLORTERM")
        .envs(variables.iter().copied())
        .env("TERM", "xterm")
        .stdin(Stdio::null())
        .output()
        .ok()?;
    assert!(output.status.success(), "{output:?}");
    Some(String::from_utf8(output.stdout).unwrap().replace('\r', ""))
}

#[test]
fn a_terminal_shows_half_blocks() {
    let world = ocean();
    let plot = "plot r t --at time=2015-02";
    let Some(text) = shown(&world, plot, &[("COLORTERM", "truecolor")]) else {
        eprintln!("SKIPPED a_terminal_shows_half_blocks: no program `script` here");
        return;
    };
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(
        lines[..2],
        [
            "t: temperature <of> the sea [K]",
            "main, time = 2015-02-15 (index 1 of 3)"
        ]
    );
    // Two rows of three cells, seven pixels each; the greater latitude is above.
    assert!(lines[2].contains("[38;2;150;150;150m"), "{:?}", lines[2]);
    assert_eq!(lines[2].matches('█').count(), 21, "{:?}", lines[2]);
    assert_eq!(lines[2], lines[4]);
    // One line has both rows.
    assert_eq!(lines[5].matches('▀').count(), 21, "{:?}", lines[5]);
    assert!(lines[5].contains("\u{1b}[48;2;"), "{:?}", lines[5]);
    assert_eq!(lines[8].matches('█').count(), 21, "{:?}", lines[8]);
    assert_eq!(
        lines[9..11],
        [
            "up: lat (degrees_north), 10 to 20",
            "right: lon (degrees_east), 0 to 20"
        ]
    );
    assert!(
        lines[11].starts_with("10 \u{1b}[38;2;58;0;96m█"),
        "{:?}",
        lines[11]
    );
    assert!(lines[11].ends_with("missing: 1 of 6"), "{:?}", lines[11]);
    assert_eq!(lines.len(), 12);
    let indexed = shown(&world, plot, &[]).unwrap();
    assert!(
        indexed.contains("\u{1b}[38;5;") && !indexed.contains(";2;"),
        "{indexed:?}"
    );
    let plain = shown(&world, plot, &[("NO_COLOR", "1"), ("COLORTERM", "24bit")]).unwrap();
    assert!(
        plain.contains('▓') && !plain.contains('\u{1b}'),
        "{plain:?}"
    );
    let line = shown(
        &world,
        "plot r t --at lat=0 --at lon=0",
        &[("NO_COLOR", "1")],
    )
    .unwrap();
    assert!(
        line.contains("right: time, 2015-01-16 to 2015-03-16"),
        "{line:?}"
    );
    // The subtitle has three lines, and the picture so many less.
    let lines: Vec<&str> = line.lines().collect();
    assert_eq!(
        lines[1..4],
        [
            "main,",
            "lat = 10 degrees_north (index 0 of 2),",
            "lon = 0 degrees_east (index 0 of 3)"
        ]
    );
    assert_eq!(lines.len(), 11, "{line:?}");
}
