//! `icefield plot`: pictures compared with what they should be, pixel by pixel.

mod bad_input;
mod decoded;
mod terminal;

use serde_json::{Value, json};

use self::decoded::Decoded;
use crate::world::{World, array, group};

/// Colours of the sequential map at 0, 0.2 … 1, and of the diverging one at -1, -0.5 … 1: computed from the formula of Oklab by
/// a program apart.
const SEQUENTIAL: [[u8; 3]; 6] = [
    [58, 0, 96],
    [43, 70, 137],
    [6, 123, 156],
    [58, 171, 159],
    [144, 212, 145],
    [250, 241, 117],
];
const DIVERGING: [[u8; 3]; 5] = [
    [26, 83, 151],
    [120, 163, 218],
    [243, 243, 243],
    [212, 138, 125],
    [140, 50, 39],
];
const MISSING: [u8; 3] = [150, 150, 150];
/// How far a channel may be from its reference: half a step of a table of 256 colours.
const TOLERANCE: u8 = 2;

/// The document of an array of signed integers of 16 bits.
fn plane(shape: [u64; 2], chunks: [u64; 2], names: &[&str]) -> Value {
    integers(&shape, &chunks, names)
}

fn integers(shape: &[u64], chunks: &[u64], names: &[&str]) -> Value {
    let mut document = array(shape, chunks, names);
    document["data_type"] = json!("int16");
    document["codecs"] = json!([{"name": "bytes", "configuration": {"endian": "little"}}]);
    document["attributes"] = json!({});
    document
}

fn bytes(numbers: &[i16]) -> Vec<u8> {
    numbers.iter().flat_map(|it| it.to_le_bytes()).collect()
}

/// A world with the repository `r`. On main, `t` has three times of two by three numbers, 0.5 apart, of which one is missing;
/// `tag:old` has half of each. `other` has another shape in each version, `new` is only on main.
fn ocean() -> World {
    let world = World::new();
    for (name, factor, rows) in [("old", 1, 2), ("tree", 2, 3)] {
        world.json(&format!("{name}/zarr.json"), &group(json!({})));
        let mut document = integers(&[3, 2, 3], &[1, 2, 3], &["time", "lat", "lon"]);
        document["attributes"] = json!({
            "scale_factor": 0.5, "_FillValue": -1, "units": "K", "long_name": "temperature <of> the sea",
        });
        world.json(&format!("{name}/t/zarr.json"), &document);
        for time in 0..3 {
            let numbers = [0, 1, 2, 3, -1, 5].map(|it: i16| match it {
                -1 => -1,
                it => factor * (it + 10 * time),
            });
            world.file(&format!("{name}/t/c/{time}/0/0"), bytes(&numbers));
        }
        for (axis, units, numbers) in [
            ("time", "days since 2015-01-01", &[15, 45, 74][..]),
            ("lat", "degrees_north", &[10, 20]),
            ("lon", "degrees_east", &[0, 10, 20]),
        ] {
            let length = numbers.len() as u64;
            let mut document = integers(&[length], &[length], &[axis]);
            document["attributes"] = json!({"units": units});
            world.json(&format!("{name}/{axis}/zarr.json"), &document);
            world.file(&format!("{name}/{axis}/c/0"), bytes(numbers));
        }
        world.json(
            &format!("{name}/other/zarr.json"),
            &plane([rows, 2], [2, 2], &["y", "x"]),
        );
        // Of other units in each version, and of another day.
        let mut heat = plane([2, 2], [2, 2], &["y", "x"]);
        heat["attributes"] = json!({"units": format!("{factor} J")});
        world.json(&format!("{name}/heat/zarr.json"), &heat);
        let daily = integers(&[1, 2, 2], &[1, 2, 2], &["day", "y", "x"]);
        world.json(&format!("{name}/daily/zarr.json"), &daily);
        let mut day = integers(&[1], &[1], &["day"]);
        day["attributes"] = json!({"units": "days since 2015-01-01"});
        world.json(&format!("{name}/day/zarr.json"), &day);
        world.file(&format!("{name}/day/c/0"), bytes(&[factor]));
        let mut plain = plane([2, 2], [2, 2], &[]);
        plain.as_object_mut().unwrap().remove("dimension_names");
        world.json(&format!("{name}/plain/zarr.json"), &plain);
    }
    world.json("tree/new/zarr.json", &plane([2, 2], [2, 2], &["y", "x"]));
    world.ok(&["init", "r"]);
    world.ok(&["import", "old", "r"]);
    world.ok(&["tag", "create", "r", "old"]);
    world.ok(&["branch", "create", "r", "emptied", "--ref", "main~1"]);
    world.ok(&["import", "tree", "r", "--branch", "emptied"]);
    let tip = world.facts(&["log", "r", "--ref", "emptied"])["snapshots"][0]["id"].clone();
    world.ok(&[
        "branch",
        "reset",
        "r",
        "main",
        "--ref",
        tip.as_str().unwrap(),
    ]);
    world
}

/// Left, top, width and height of the data in a picture.
fn frame(facts: &Value) -> [usize; 4] {
    ["left", "top", "width", "height"].map(|it| facts["frame"][it].as_u64().unwrap() as usize)
}

/// Draws, and returns the facts and the picture.
fn drawn(world: &World, args: &[&str]) -> (Value, Decoded) {
    let facts = world.facts(&[&["plot", "r"], args, &["-o", "x.png"]].concat());
    assert_eq!(facts["file"], "x.png");
    (
        facts,
        Decoded::of(&std::fs::read(world.path("x.png")).unwrap()),
    )
}

fn is_near(one: [u8; 3], other: [u8; 3]) -> bool {
    one.iter()
        .zip(other)
        .all(|(one, other)| one.abs_diff(other) <= TOLERANCE)
}

/// Checks each pixel of the data against the colours of cells, row by row from the top.
fn assert_cells(facts: &Value, picture: &Decoded, columns: usize, cells: &[[u8; 3]]) {
    let [left, top, width, height] = frame(facts);
    let rows = cells.len() / columns;
    assert_eq!((width % columns, height % rows), (0, 0), "{facts}");
    for row in 0..height {
        for column in 0..width {
            let cell = row * rows / height * columns + column * columns / width;
            let found = picture.pixel(left + column, top + row);
            assert!(
                is_near(found, cells[cell]),
                "{column}, {row}: {found:?}, not {:?}",
                cells[cell]
            );
        }
    }
}

#[test]
fn the_pixels_of_an_image_are_the_colours_of_its_numbers() {
    let world = ocean();
    let (facts, picture) = drawn(&world, &["t", "--at", "time=0"]);
    assert_eq!(facts["limits"], json!([0.0, 5.0]));
    assert_eq!((&facts["count"], &facts["missing"]), (&json!(6), &json!(1)));
    // The greater latitude is above.
    let [c0, c1, c2, c3, _, c5] = SEQUENTIAL;
    assert_cells(&facts, &picture, 3, &[c3, MISSING, c5, c0, c1, c2]);
    // The rest is paper and ink: a frame, a bar from the greatest to the least, and text.
    let [left, top, width, height] = frame(&facts);
    assert!(left + width < picture.width && top + height < picture.height);
    assert_eq!(picture.pixel(0, 0), [255; 3]);
    assert_eq!(picture.pixel(left - 1, top + 3), [40; 3]);
    let bar = (left + width + 2..picture.width)
        .find(|column| is_near(picture.pixel(*column, top), c5))
        .unwrap();
    assert!(is_near(picture.pixel(bar, top + height - 1), c0));
    let is_ink = |row: usize| (0..picture.width).any(|it| picture.pixel(it, row)[0] < 100);
    assert!((0..top - 1).any(is_ink) && (top + height + 8..picture.height).any(is_ink));
}

#[test]
fn a_difference_is_white_where_versions_agree() {
    let world = ocean();
    let (facts, picture) = drawn(&world, &["t", "--at", "time=0", "--diff", "tag:old"]);
    assert_eq!(
        (&facts["limits"], &facts["diff"]),
        (&json!([-2.5, 2.5]), &json!("tag:old"))
    );
    let row = |row: usize, column: usize| {
        let [left, top, width, height] = frame(&facts);
        picture.pixel(
            left + width * (2 * column + 1) / 6,
            top + height * (2 * row + 1) / 4,
        )
    };
    assert!(is_near(row(0, 2), DIVERGING[4]), "{:?}", row(0, 2));
    assert_eq!(row(0, 1), MISSING);
    assert!(is_near(row(1, 0), DIVERGING[2]), "{:?}", row(1, 0));
    let (facts, picture) = drawn(
        &world,
        &[
            "t", "--at", "time=0", "--ref", "tag:old", "--diff", "main", "--limits", "-2,2",
        ],
    );
    let [left, top, width, height] = frame(&facts);
    let found = picture.pixel(left + width * 5 / 6, top + height * 3 / 4);
    assert!(is_near(found, DIVERGING[1]), "{found:?}");
    // One version has no difference from itself.
    let (facts, picture) = drawn(&world, &["t", "--diff", "main"]);
    assert_cells(
        &facts,
        &picture,
        3,
        &[
            DIVERGING[2],
            MISSING,
            DIVERGING[2],
            DIVERGING[2],
            DIVERGING[2],
            DIVERGING[2],
        ],
    );
}

#[test]
fn dimensions_are_cut_at_indices_values_and_times() {
    let world = ocean();
    let at = |args: &[&str]| drawn(&world, &[&["t"], args].concat()).0["at"].clone();
    let time = |index: u64, label: &str| json!({"name": "time", "index": index, "label": label});
    assert_eq!(at(&[]), json!([time(0, "2015-01-16")]));
    assert_eq!(at(&["--at", "time=-1"]), json!([time(2, "2015-03-16")]));
    assert_eq!(
        at(&["--at", "time=2015-02"]),
        json!([time(1, "2015-02-15")])
    );
    assert_eq!(
        at(&["--at", "0=2015-02-20T12:00"]),
        json!([time(1, "2015-02-15")])
    );
    assert_eq!(
        at(&["--at", "lat=19.0"]),
        json!([{"name": "lat", "index": 1, "label": "20 degrees_north"}])
    );
    // Two dimensions are left, and both are drawn.
    let (facts, picture) = drawn(&world, &["t", "--at", "lat=10.0", "--limits", "0,25"]);
    assert_eq!(facts["dimensions"][0]["name"], "time");
    let [left, top, width, height] = frame(&facts);
    // The last time is the uppermost row: 20 of 25 is the fourth of five steps.
    let found = picture.pixel(left + width / 6, top + height / 6);
    assert!(is_near(found, SEQUENTIAL[4]), "{found:?}");
    // Without a position, the title tells which element of time it is.
    world.ok(&["plot", "r", "t", "-o", "x.svg"]);
    let text = std::fs::read_to_string(world.path("x.svg")).unwrap();
    assert!(text.contains("time = 2015-01-16 (first of 3)"), "{text}");
    // A long subtitle goes on in a second line.
    world.ok(&[
        "plot",
        "r",
        "t",
        "--diff",
        "tag:old",
        "--at",
        "time=2015-02",
        "--at",
        "lat=10.0",
        "-o",
        "x.svg",
    ]);
    let text = std::fs::read_to_string(world.path("x.svg")).unwrap();
    assert!(
        text.contains("lat = 10 degrees_north (index 0 of 2)"),
        "{text}"
    );
}

#[test]
fn one_dimension_is_a_line() {
    let world = ocean();
    let line = ["t", "--at", "lat=0", "--at", "lon=0"];
    let (facts, picture) = drawn(&world, &line);
    assert_eq!(
        facts["dimensions"],
        json!([{"name": "time", "length": 3, "step": 1}])
    );
    assert_eq!(facts["limits"], json!([0.0, 20.0]));
    // From the lower left to the upper right, at the middles of three cells.
    let [left, top, width, height] = frame(&facts);
    let is_near = |column: usize, row: usize| {
        let around = |it: usize| it - 2..it + 3;
        // Blue, which neither paper nor frame nor grid is.
        let is_ink = |[red, _, blue]: [u8; 3]| blue.saturating_sub(red) > 60;
        around(column).any(|column| around(row).any(|row| is_ink(picture.pixel(column, row))))
    };
    let bottom = top + height - 1;
    for (column, row) in [
        (left + width / 6, bottom),
        (left + width / 2, top + height / 2),
        (left + width * 5 / 6, top),
    ] {
        assert!(is_near(column, row), "{column}, {row}");
    }
    for (column, row) in [
        (left + 9, bottom),
        (left + width / 2, bottom),
        (left + width / 2, top),
    ] {
        assert!(!is_near(column, row), "{column}, {row}");
    }
}

#[test]
fn only_chunks_of_the_slice_are_read() {
    let world = World::new();
    world.json("tree/zarr.json", &group(json!({})));
    world.json(
        "tree/a/zarr.json",
        &integers(&[4, 60, 40], &[1, 20, 40], &["t", "y", "x"]),
    );
    for (time, part) in (0..4).flat_map(|time| (0..3).map(move |part| (time, part))) {
        world.file(&format!("tree/a/c/{time}/{part}/0"), vec![time; 1600]);
    }
    world.ok(&["init", "r"]);
    world.ok(&["import", "tree", "r"]);
    for (args, chunks) in [
        (&["--at", "t=2"][..], 3),
        (&["--at", "y=30"], 4),
        (&["--at", "t=1", "--at", "y=59"], 1),
        (&["--at", "t=1", "--at", "x=7"], 3),
        (&["--at", "y=0", "--at", "x=7"], 4),
        (&["--at", "t=0", "--diff", "main"], 6),
    ] {
        let args = [&["-v", "plot", "r", "a", "-o", "x.png"], args].concat();
        let run = world.run(&args);
        assert_eq!(run.code, 0, "{run:?}");
        let read = run
            .stderr
            .lines()
            .filter(|line| line.contains("chunks/") && line.contains("outcome=\"read\""));
        assert_eq!(read.count(), chunks, "{args:?}: {}", run.stderr);
    }
}

#[test]
fn svg_is_xml_whatever_the_names_are() {
    let world = World::new();
    let nasty = "<&\"'\u{1}\u{fffe}]]>\u{202e}";
    world.json("tree/zarr.json", &group(json!({})));
    let mut document = plane([2, 2], [2, 2], &[nasty, "x"]);
    document["attributes"] = json!({"units": nasty, "long_name": nasty.repeat(100)});
    world.json("tree/a/zarr.json", &document);
    world.file("tree/a/c/0/0", bytes(&[1, 2, 3, 4]));
    world.ok(&["init", "r"]);
    world.ok(&["import", "tree", "r"]);
    let said = world.ok(&["plot", "r", "a", "-o", "x.SVG"]);
    assert!(!said.contains(['\u{1}', '\u{202e}']), "{said:?}");
    let text = std::fs::read_to_string(world.path("x.SVG")).unwrap();
    let document = roxmltree::Document::parse(&text).unwrap();
    let root = document.root_element();
    let names = |name: &str| {
        root.descendants()
            .filter(|it| it.has_tag_name(("http://www.w3.org/2000/svg", name)))
            .count()
    };
    assert_eq!((root.tag_name().name(), names("image")), ("svg", 2));
    assert!(names("text") > 5 && names("script") == 0);
    world.ok(&["plot", "r", "a", "--at", "x=0", "-o", "x.svg"]);
    let text = std::fs::read_to_string(world.path("x.svg")).unwrap();
    let document = roxmltree::Document::parse(&text).unwrap();
    assert!(
        document
            .descendants()
            .any(|it| it.tag_name().name() == "polyline")
    );
    // The same names in pixels.
    world.ok(&["plot", "r", "a", "-o", "x.png"]);
    Decoded::of(&std::fs::read(world.path("x.png")).unwrap());
}
