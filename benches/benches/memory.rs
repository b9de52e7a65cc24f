//! Memory: what an open manifest takes, measured in a process that has done nothing else.
//!
//! Not timed, so no matter for criterion. The benchmark writes the file and starts itself anew to decode it.

use std::env;
use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode};

use icefield_benches::files::scratch;
use icefield_benches::{Layout, Lengths, Mode, Refs, fact, status};
use icefield_format::{DecodeLimits, Manifest, ManifestId};

/// Resident bytes for each byte of the uncompressed manifest.
const TARGET: f64 = 1.2;
/// Tells the second process that it is that.
const MEASURE: &str = "--measure";

/// Decodes the manifest in a file and prints what is resident then, without the file's bytes.
fn measure(file: &Path, id: ManifestId, name: &str) -> ExitCode {
    let Some(before) = status("VmRSS") else {
        fact("memory", "skipped: there is no /proc/self/status");
        return ExitCode::SUCCESS;
    };
    let bytes = fs::read(file).expect("the first process wrote it");
    let compressed = bytes.len();
    let manifest = Manifest::decode(&bytes, id, &DecodeLimits::default()).expect("it is good");
    drop(bytes);
    let resident = status("VmRSS").expect("it was there before") - before;
    let peak = status("VmHWM").expect("it was there before") - before;
    let body = manifest.body_len() as u64;
    let subject = format!("open manifest of {name} refs");
    let ratio = resident as f64 / body as f64;
    let sizes = format_args!("{compressed} bytes, {body} decompressed");
    fact(&subject, sizes);
    fact(
        &subject,
        format_args!("resident {resident}, {ratio:.3} of it, target {TARGET}"),
    );
    let ratio_of_peak = peak as f64 / body as f64;
    fact(
        &subject,
        format_args!("peak while opening {peak}, {ratio_of_peak:.3} of it"),
    );
    assert!(manifest.total_refs() > 0);
    ExitCode::from(u8::from(ratio > TARGET))
}

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().collect();
    if let [_, measuring, file, id, name] = arguments.as_slice()
        && measuring == MEASURE
    {
        let id = id.parse().expect("the first process wrote it");
        return measure(Path::new(file), id, name);
    }
    let (name, count) = Mode::of_command_line().pick(("1M", 1_000_000), ("100k", 100_000));
    let scratch = scratch(env!("CARGO_TARGET_TMPDIR"));
    let file = scratch.path().join("manifest");
    let refs = Refs::new(count, Layout::Full, Lengths::Varying);
    fs::write(&file, refs.encode().bytes).expect("there is room");
    let again = Command::new(env::current_exe().expect("it runs"))
        .arg(MEASURE)
        .arg(&file)
        .arg(refs.id.to_string())
        .arg(name)
        .status()
        .expect("it starts");
    ExitCode::from(u8::from(!again.success()))
}
