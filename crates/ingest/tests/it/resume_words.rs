//! An import that broke off, and is begun again under the same name with other words: what these words change is made anew.

use icefield_core::Repository;
use icefield_ingest::{Import, Selection, ValueFrom};
use icefield_testkit::classic::Classic;
use icefield_testkit::stores::keys_below;

use crate::common::classic::Files;
use crate::common::{exported, path};
use crate::resume::{broken, created, run, whole};

const FILES: u32 = 3;
/// Elements along the time: chunks of more bytes than lie in manifests.
const STEPS: u32 = 100;

/// A file of times from `first` on with their bounds, and of two arrays with equal documents.
fn file(number: u32, first: u32) -> Classic {
    let steps = || (0..STEPS).map(|step| f64::from(first + step));
    let file = Classic::new()
        .dimension("time", STEPS)
        .dimension("side", 2)
        .number("low", f64::from(number))
        .number("high", f64::from(number + 40));
    let file = file
        .doubles("time", &["time"], &steps().collect::<Vec<_>>())
        .text("units", "hours since 2000-01-01")
        .text("calendar", "standard")
        .text("bounds", "time_bounds");
    let bounds: Vec<f64> = steps().flat_map(|at| [at, at + 1.0]).collect();
    let file = file.doubles("time_bounds", &["time", "side"], &bounds);
    let negative: Vec<f64> = steps().map(|at| -at - 1.0).collect();
    file.doubles("one", &["time"], &steps().collect::<Vec<_>>())
        .doubles("other", &["time"], &negative)
}

fn name(number: u32) -> String {
    format!("m{number}-k{}.nc", number + 40)
}

async fn import(files: &Files) -> Import {
    let mut sources = Vec::new();
    for number in 0..FILES {
        sources.push(files.open(&name(number)).await);
    }
    let mut sources = sources.into_iter();
    let first = sources.next().unwrap();
    let import = Import::new(first).concat("time", sources);
    import.resumable("test").resume_every(1)
}

/// Breaks the import off near its end, with some words, and checks that with others it comes to what these make alone. Each
/// file begins so many steps after the one before it.
async fn assert_made_anew(
    step: u32,
    before: impl Fn(Import) -> Import,
    after: impl Fn(Import) -> Import,
) {
    let files = Files::new();
    for number in 0..FILES {
        files
            .write(&name(number), &file(number, step * number))
            .await;
    }
    let (before, after) = (before(import(&files).await), after(import(&files).await));
    let (expected, ..) = whole(&after).await;
    let (other, _, operations) = whole(&before).await;
    assert_ne!(expected, other);
    let mut written_down = 0;
    for left in 1..12 {
        let storage = created().await;
        broken(&before, &storage, operations - left, true).await;
        if keys_below(&storage, "icefield/imports/").await.is_empty() {
            // It has landed, or there was nothing to write down.
            continue;
        }
        written_down += 1;
        let repository = Repository::open(std::sync::Arc::clone(&storage))
            .await
            .unwrap();
        let has_landed = !exported_names(&repository).await.is_empty();
        if has_landed {
            continue;
        }
        run(&after, std::sync::Arc::clone(&storage)).await.unwrap();
        let repository = Repository::open(storage).await.unwrap();
        assert_eq!(exported(&repository).await, expected, "{left} left");
    }
    assert!(written_down > 2, "{written_down}");
}

/// The arrays at the tip of main.
async fn exported_names(repository: &Repository) -> Vec<String> {
    let session = repository
        .read_session(icefield_core::BranchName::main())
        .await
        .unwrap();
    let nodes = session.nodes(&path("/")).unwrap();
    let arrays = nodes.into_iter().filter(|node| !node.path.is_root());
    arrays.map(|node| node.path.to_string()).collect()
}

#[tokio::test]
async fn times_in_other_units_are_converted_anew() {
    // The document of the bounds says nothing of units.
    assert_made_anew(
        STEPS,
        |import| import.time_units("hours since 1990-01-01"),
        |import| import.time_units("hours since 1980-01-01"),
    )
    .await;
    assert_made_anew(
        STEPS,
        |import| import.time_units("hours since 1990-01-01"),
        |import| import,
    )
    .await;
}

#[tokio::test]
async fn arrays_that_change_their_names_are_copied_anew() {
    let renamed = |one: &'static str, other: &'static str| {
        move |import: Import| {
            let selection = Selection::all().rename(path("/one"), one);
            import.select(selection.rename(path("/other"), other))
        }
    };
    assert_made_anew(STEPS, renamed("a", "b"), renamed("b", "a")).await;
    assert_made_anew(STEPS, renamed("other", "one"), |import| import).await;
}

#[tokio::test]
async fn values_that_come_from_elsewhere_are_made_anew() {
    let from = |text: &'static str| {
        move |import: Import| {
            let from = ValueFrom::parse(text).unwrap();
            import.stack("member", from).concat("member", [])
        }
    };
    let (low, high) = (from("pattern:m{}-*.nc"), from("pattern:*-k{}.nc"));
    assert_made_anew(0, low, high).await;
    assert_made_anew(0, from("attribute:low"), from("attribute:high")).await;
}
