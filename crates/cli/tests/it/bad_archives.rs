//! Archive files that do not go together: the file and the rule are named, the hint is of use, and nothing is committed.

use icefield_testkit::classic::Classic;

use crate::world::World;

/// A file of three times with these attributes, and of `air` with others.
fn file(times: &[f64], of_time: &[(&str, &str)], of_air: &[(&str, f64)]) -> Vec<u8> {
    let length = times.len() as u32;
    let mut file = Classic::new()
        .dimension("time", length)
        .dimension("x", 2)
        .doubles("time", &["time"], times);
    for (name, value) in of_time {
        file = file.text(name, value);
    }
    let numbers: Vec<i32> = (0..2 * length as i32).collect();
    let mut file = file.integers("air", &["time", "x"], &numbers);
    for (name, value) in of_air {
        file = file.number(name, *value);
    }
    file.bytes()
}

const HOURS: (&str, &str) = ("units", "hours since 2000-01-01");

/// Imports `a.nc` and another file behind it, and asserts what the error and its hint say; as a plan, too, if that shows it.
fn refused(first: Vec<u8>, second: Vec<u8>, words: &[&str], hint: Option<&str>) {
    let world = World::new();
    world.file("a.nc", first);
    world.file("b.nc", second);
    world.ok(&["init", "r"]);
    for more in [&[][..], &["--dry-run"]] {
        let import = [&["import", "a.nc", "b.nc", "r", "--concat", "time"], more].concat();
        let said = world.fails(1, &import);
        for word in words.iter().chain(&["b.nc"]) {
            assert!(said.contains(word), "{word} is not said: {said}");
        }
        match hint {
            Some(hint) => assert!(said.contains(hint), "{hint} is not said: {said}"),
            None => assert!(!said.contains("hint:"), "{said}"),
        }
        assert!(!said.contains("--skip-unsupported"), "{said}");
    }
    assert_eq!(world.history("r").len(), 1);
}

#[test]
fn times_that_cannot_be_converted() {
    let first = || file(&[0.0, 1.0, 2.0], &[HOURS], &[]);
    let drop =
        Some("hint: --drop PATH leaves out an array that is no coordinate along the dimension");
    for (units, calendar, words) in [
        (
            "fortnights since yesterday",
            "standard",
            ["none of the CF conventions", "fortnights"],
        ),
        (
            "hours since 2000-13-45",
            "standard",
            ["none of the CF conventions", "twelve months"],
        ),
        (HOURS.1, "martian", ["calendar", "martian"]),
        (HOURS.1, "noleap", ["noleap", "standard"]),
    ] {
        let units = [("units", units), ("calendar", calendar)];
        refused(first(), file(&[4.0, 5.0, 6.0], &units, &[]), &words, drop);
    }
    // Before 1582, readers disagree about the calendar.
    let old = |year: &str| {
        let units = format!("days since {year}-01-01");
        file(&[0.0, 1.0, 2.0], &[("units", &units)], &[])
    };
    refused(old("1500"), old("1501"), &["1582-10-15", "[0]"], drop);
    // The same moment twice is no matter of conversion.
    let twice = file(&[4.0, 5.0, 5.0], &[HOURS], &[]);
    refused(first(), twice, &["the same time, 5", "1 and 2"], None);
    let missing = file(&[4.0, f64::NAN, 6.0], &[HOURS], &[]);
    refused(first(), missing, &["element 1", "is no time"], None);
}

#[test]
fn numbers_that_cannot_be_packed() {
    let times = |first: f64| [first, first + 1.0, first + 2.0];
    let plain = |first: f64, of_air: &[(&str, f64)]| file(&times(first), &[HOURS], of_air);
    let zero = || plain(4.0, &[("scale_factor", 0.0)]);
    let words = ["scale_factor is 0", "/air"];
    let drop =
        Some("hint: --drop PATH leaves out an array that is no coordinate along the dimension");
    refused(plain(0.0, &[]), zero(), &words, drop);
    refused(plain(0.0, &[("scale_factor", 0.5)]), zero(), &words, drop);
    // No option chooses among encodings.
    refused(
        plain(0.0, &[("scale_factor", 0.5)]),
        plain(4.0, &[("scale_factor", f64::NAN)]),
        &["scale_factor", "/air"],
        Some("says how numbers are stored"),
    );
}
