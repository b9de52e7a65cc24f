//! A window over time that rolls: the oldest slab of chunks leaves, all others move down by one, a new one comes.
//!
//! - *Costs* of one large array: `shift` moves it with `Session::shift`, so that the window stays at index 0 and every
//!   reference is written again. `grow` leaves everything where it is: the array grows by the new slab, the oldest
//!   references are deleted, and manifests that hold one slab each keep all others from being touched.
//! - *A life*: three arrays with labels and bounds roll under two rollers that begin at the same moment, four writers, and
//!   readers in two other processes, which compare every value with what its label says. Then old windows expire.
//! - *Prepending* slab by slab while slabs are appended at the other end, and *being late* for longer than old snapshots
//!   are kept.
//! - *An offset store*, the scheme that came before, under the same comparison: it must show what the readers look for.
//!
//! Requests, bytes and memory count, not only time, so that this is no matter for criterion. What must hold decides over the
//! exit status; how long something takes is printed beside its target.
//!
//! `--storage memory|local|s3`, `--size S|M|L` and `--scenario cost|life|prepend|late|offset` choose a part.

mod cost;
mod figures;
mod life;
mod offset;
mod place;
mod reader;
mod scenarios;
mod world;

use std::env;
use std::process::{Command, ExitCode};

use icefield_benches::files::scratch;
use icefield_benches::{Mode, fact, runtime};

use cost::Size;
use place::{KINDS, Place, Places};
use world::Extent;

/// Tells a further process that it is that.
const STEP: &str = "--step";

const SIZES: [Size; 3] = [
    size("S", 56, [12, 15], 20),
    size("M", 56, [40, 45], 10),
    size("L", 56, [120, 150], 5),
];
/// The size of a test run.
const TINY: Size = size("XS", 5, [3, 4], 2);

const fn size(name: &'static str, slabs: u32, each: [u32; 2], rolls: u32) -> Size {
    Size {
        name,
        slabs,
        each,
        rolls,
    }
}

/// Windows of the life of a dataset, and rolls: in memory and on a disk, and far away, where each of its chunks takes a
/// request.
const LIFE: (Extent, u32) = (Extent::new(56, [12, 15]), 20);
const LIFE_AWAY: (Extent, u32) = (Extent::new(56, [4, 5]), 10);
const LIFE_TINY: (Extent, u32) = (Extent::new(6, [2, 2]), 6);

/// Does one step in a process of its own, and returns what it printed.
fn step(what: &str, way: &str, place: &Place, size: Size, before: u32) -> String {
    let words = place.words();
    let words = words.unwrap_or_else(|| ["memory", "", ""].map(str::to_owned));
    let numbers = [size.slabs, size.each[0], size.each[1], size.rolls, before];
    let run = Command::new(env::current_exe().expect("it runs"))
        .args([STEP, what, way])
        .args(words)
        .args(numbers.map(|number| number.to_string()))
        .output()
        .expect("it starts");
    let error = String::from_utf8_lossy(&run.stderr);
    assert!(run.status.success(), "{what}: {error}");
    String::from_utf8(run.stdout).expect("text")
}

/// A step, as another process asked for it.
fn do_step(what: &str, way: &str, place: &Place, numbers: &[u32]) -> ExitCode {
    let [slabs, y, x, rolls, before] = *numbers else {
        return ExitCode::FAILURE;
    };
    let size = size("", slabs, [y, x], rolls);
    runtime().block_on(async {
        match what {
            "build" => cost::build(way, place, size).await,
            "roll" => println!("{}", cost::roll(way, place, size, before).await.to_text()),
            "read" => {
                let extent = Extent::new(slabs, [y, x]);
                let seen = reader::read_until_told(place, extent, u64::from(before)).await;
                println!("{}", seen.to_text());
            }
            _ => {
                cost::build(way, place, size).await;
                for before in 0..rolls {
                    println!("{}", cost::roll(way, place, size, before).await.to_text());
                }
            }
        }
    });
    ExitCode::SUCCESS
}

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().collect();
    if let [_, stepping, what, way, kind, at, prefix, numbers @ ..] = arguments.as_slice()
        && stepping == STEP
    {
        let numbers: Vec<u32> = numbers.iter().map_while(|it| it.parse().ok()).collect();
        return do_step(what, way, &Place::parse(kind, at, prefix), &numbers);
    }
    let chosen = |option: &str| {
        let at = arguments.iter().position(|it| it == option)?;
        arguments.get(at + 1).map(String::as_str)
    };
    let is_chosen = |option: &str, name: &str| chosen(option).is_none_or(|it| it == name);
    let mode = Mode::of_command_line();
    let scratch = scratch(env!("CARGO_TARGET_TMPDIR"));
    let places = Places::new(scratch.path());
    let mut good = true;
    for kind in KINDS.iter().filter(|kind| is_chosen("--storage", kind)) {
        let sizes: Vec<Size> = mode
            .pick(&SIZES[..], &[TINY])
            .iter()
            // A large window says more than a small one on a disk alone, unless it is asked for.
            .filter(|size| match chosen("--size") {
                Some(name) => size.name == name,
                None => size.name.ends_with('S') || *kind == "local",
            })
            .copied()
            .collect();
        let (extent, rolls) = match (mode, *kind) {
            (Mode::Test, _) => LIFE_TINY,
            (_, "s3") => LIFE_AWAY,
            _ => LIFE,
        };
        let mut check = |scenario: &str, run: &dyn Fn() -> bool| {
            if is_chosen("--scenario", scenario) {
                let is_good = run();
                if !is_good {
                    fact(format!("{scenario}, {kind}"), "is not as it must be");
                }
                good &= is_good;
            }
        };
        check("cost", &|| cost::measure(mode, &places, kind, &sizes));
        check("life", &|| life::run(&places, kind, extent, rolls));
        check("prepend", &|| scenarios::prepend(&places, kind, extent));
        check("late", &|| scenarios::late(&places, kind, extent));
    }
    if is_chosen("--scenario", "offset") {
        good &= offset::shows_failures();
    }
    ExitCode::from(u8::from(!good))
}
