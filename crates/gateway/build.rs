//! Lists the files of the explorer, which are compressed and lie in one folder, so that the program holds them.

use std::path::Path;
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let root = env::var("CARGO_MANIFEST_DIR").map_err(io::Error::other)?;
    let out = env::var("OUT_DIR").map_err(io::Error::other)?;
    let folder = Path::new(&root).join("assets/explore");
    println!("cargo::rerun-if-changed={}", folder.display());
    let mut names = Vec::new();
    for entry in fs::read_dir(&folder)? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        names.extend(name.strip_suffix(".gz").map(str::to_owned));
    }
    names.sort_unstable();
    let mut text = String::from(
        "/// The files of the explorer: name, and content compressed with gzip.\nstatic FILES: &[(&str, &[u8])] = &[\n",
    );
    for name in names {
        let file = folder.join(format!("{name}.gz"));
        text.push_str(&format!("    ({name:?}, include_bytes!({file:?})),\n"));
    }
    text.push_str("];\n");
    fs::write(Path::new(&out).join("explore.rs"), text)
}
