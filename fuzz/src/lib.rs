//! Common parts of the fuzz targets.

#[path = "../../crates/format/tests/it/common/roundtrip.rs"]
pub mod roundtrip;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use icefield_format::{
    DecodeLimits, FileKind, HEADER_LEN, MAGIC, Manifest, RepoInfo, Snapshot, SpecVersion,
};

/// Where seeds come from; unset when nothing shall be seeded.
const SEEDS_FROM: &str = "ICEFIELD_FUZZ_SEEDS_FROM";
/// The corpus that seeds go to.
const SEEDS_TO: &str = "ICEFIELD_FUZZ_SEEDS_TO";

/// Small limits, so that hostile inputs stay cheap.
pub fn limits() -> DecodeLimits {
    DecodeLimits {
        max_decompressed: 4 << 20,
        max_ratio: 256,
        ratio_floor: 1 << 20,
        max_metadata: 4 << 20,
        latest: SpecVersion::V2,
    }
}

/// Returns the input as a file: as it is if it begins like one, else as the body of one.
pub fn as_file(input: &[u8], kind: FileKind) -> Vec<u8> {
    as_file_of(SpecVersion::V1, input, kind)
}

/// Returns the same of a spec version.
pub fn as_file_of(version: SpecVersion, input: &[u8], kind: FileKind) -> Vec<u8> {
    if input.starts_with(&MAGIC) {
        return input.to_vec();
    }
    let mut file = with_header(kind, 0, input);
    file[36] = version as u8;
    file
}

/// Returns the input as a file of either version.
pub fn as_files(input: &[u8], kind: FileKind) -> [Vec<u8>; 2] {
    [SpecVersion::V1, SpecVersion::V2].map(|version| as_file_of(version, input, kind))
}

/// Puts a header before a body that is stored as the compression byte says.
pub fn with_header(kind: FileKind, compression: u8, body: &[u8]) -> Vec<u8> {
    let mut file = MAGIC.to_vec();
    file.extend_from_slice(&[b' '; 24]);
    file.extend_from_slice(&[1, kind as u8, compression]);
    file.extend_from_slice(body);
    file
}

/// Returns a number that follows from the input, so that seeds need no fields of their own for it.
pub fn number_of(input: &[u8], salt: u64) -> u64 {
    let mix = |state: u64, byte: &u8| (state ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    input.iter().fold(0xcbf2_9ce4_8422_2325 ^ salt, mix)
}

/// The seeds of a target.
pub enum Seeds {
    /// Files in this directory of each repository, whole and as bare bodies.
    Binary(&'static str),
    /// Files of this name.
    Named(&'static str),
    /// Versions of `repo`, whole and as bare bodies.
    RepoInfo,
    /// Metadata and configurations in them.
    FlexBuffers,
    /// Dictionaries of manifests, each behind a frame made with it, and texts.
    Dictionaries,
    /// The paths of all files.
    Keys,
    /// The `zarr.json` of every node in every snapshot.
    Documents,
    /// Texts of CDL, from the fixtures next to the repositories.
    Cdl,
    /// The documents of each Zarr tree there, as one text.
    Trees,
    /// The files of the tests of `icefield-ingest`.
    Grib,
    /// Snapshots, manifests and refs of the alpha generation.
    Alpha,
    /// These.
    Texts(&'static [&'static str]),
}

/// Fills the corpus, if the environment asks for it.
pub fn seed(seeds: &Seeds) {
    let variable = |name| std::env::var_os(name).map(PathBuf::from);
    let (Some(from), Some(to)) = (variable(SEEDS_FROM), variable(SEEDS_TO)) else {
        return;
    };
    if let Seeds::Texts(texts) = seeds {
        for (number, text) in texts.iter().enumerate() {
            let seed = to.join(format!("seed-{number:04}-text"));
            std::fs::write(seed, text).expect("the corpus can be written");
        }
        return;
    }
    let datasets = from.with_file_name("nczarr");
    if let Seeds::Trees = seeds {
        for (number, text) in trees(&datasets).iter().enumerate() {
            std::fs::write(to.join(format!("seed-{number:04}-tree")), text)
                .expect("the corpus can be written");
        }
        return;
    }
    let mut files = Vec::new();
    let tests = from.join("../../crates/ingest/tests/fixtures/grib");
    let below = match seeds {
        Seeds::Cdl => &datasets,
        Seeds::Grib => &tests,
        _ => &from,
    };
    walk(below, &mut files);
    for (number, file) in files.iter().enumerate() {
        let put = |form: &str, bytes: &[u8]| {
            let seed = to.join(format!("seed-{number:04}-{form}"));
            std::fs::write(seed, bytes).expect("the corpus can be written");
        };
        let bytes = || std::fs::read(file).expect("a fixture can be read");
        let directory = file.parent().and_then(Path::file_name);
        match seeds {
            Seeds::Binary(kind) if directory.is_some_and(|name| name == *kind) => {
                let bytes = bytes();
                put("file", &bytes);
                if let Ok(body) = zstd::stream::decode_all(&bytes[HEADER_LEN..]) {
                    put("body", &body);
                }
            }
            Seeds::RepoInfo if is_repo(file) => {
                let bytes = bytes();
                put("file", &bytes);
                if let Ok(body) = zstd::stream::decode_all(&bytes[HEADER_LEN..]) {
                    put("body", &body);
                }
            }
            Seeds::FlexBuffers if is_repo(file) => {
                let Ok(info) = RepoInfo::decode(&bytes(), &limits()) else {
                    continue;
                };
                if let Some(config) = info.config_bytes() {
                    put("config", config);
                }
                for (at, snapshot) in info.snapshots().snapshots().enumerate() {
                    let metadata = snapshot.metadata(1 << 20).into_iter().flatten();
                    for (name, value) in metadata {
                        let document = icefield_format::encode_flexbuffers(&value);
                        put(&format!("{at}-{name}"), &document.unwrap_or_default());
                    }
                }
            }
            Seeds::Dictionaries if directory.is_some_and(|name| name == "manifests") => {
                let name = file.file_name().unwrap_or_default().to_string_lossy();
                let Ok(id) = name.parse() else { continue };
                let Ok(manifest) = Manifest::decode(&bytes(), id, &limits()) else {
                    continue;
                };
                let refs = manifest.arrays().flat_map(|array| array.refs());
                let chunks = refs.filter_map(|record| record.chunk_ref().ok());
                let locations = chunks.filter_map(|chunk| match chunk {
                    icefield_format::ChunkRef::Virtual { location, .. } => Some(location),
                    _ => None,
                });
                let text: Vec<&str> = locations.take(40).collect();
                put("text", text.join("\n").as_bytes());
                if let Some(dictionary) = manifest.location_dictionary() {
                    put("dictionary", &[&[0], dictionary].concat());
                }
            }
            Seeds::Named(name) if file.file_name().is_some_and(|found| found == *name) => {
                put("file", &bytes());
            }
            Seeds::Documents if directory.is_some_and(|name| name == "snapshots") => {
                let name = file.file_name().unwrap_or_default().to_string_lossy();
                let Ok(id) = name.parse() else { continue };
                let Ok(snapshot) = Snapshot::decode(&bytes(), id, &limits()) else {
                    continue;
                };
                for (at, node) in snapshot.nodes().enumerate() {
                    put(&format!("node-{at}"), node.user_data());
                }
            }
            Seeds::Cdl if file.extension().is_some_and(|found| found == "cdl") => {
                put("cdl", &bytes());
            }
            Seeds::Grib if file.extension().is_some_and(|found| found == "grib2") => {
                put("grib", &bytes());
            }
            Seeds::Alpha => {
                let key = file.strip_prefix(&from).unwrap_or(file).to_string_lossy();
                let kind = key.splitn(4, '/').nth(2).unwrap_or_default();
                if key.starts_with("alpha") && matches!(kind, "s" | "m" | "r") {
                    put(kind, &bytes());
                }
            }
            Seeds::Keys => {
                let key = file.strip_prefix(&from).unwrap_or(file).to_string_lossy();
                // Without the name of the vector and of its `repo` directory.
                let key = key.splitn(3, '/').nth(2).unwrap_or_default();
                put("key", key.as_bytes());
            }
            _ => {}
        }
    }
}

/// Tells whether a file is `repo`, or an earlier version of it.
fn is_repo(file: &Path) -> bool {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    file.is_file() && (name == "repo" || name.starts_with("repo."))
}

/// The documents of each dataset, as the target `nczarr` wants them: for each a line with its key, and its JSON.
fn trees(datasets: &Path) -> Vec<String> {
    let mut files = Vec::new();
    walk(datasets, &mut files);
    let mut trees: BTreeMap<PathBuf, String> = BTreeMap::new();
    for file in files {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        if !name.starts_with(".z") && !name.starts_with(".ncz") && name != "zarr.json" {
            continue;
        }
        let Some(root) = file.ancestors().find(|it| it.ends_with("data")) else {
            continue;
        };
        let key = file.strip_prefix(root).unwrap_or(&file).to_string_lossy();
        let text = std::fs::read_to_string(&file).expect("a document is text");
        let tree = trees.entry(root.to_owned()).or_default();
        tree.push_str(&format!(
            "{}@{key}\n{text}",
            if tree.is_empty() { "" } else { "\n" }
        ));
    }
    trees.into_values().collect()
}

fn walk(directory: &Path, files: &mut Vec<PathBuf>) {
    let entries = std::fs::read_dir(directory).expect("a fixture directory can be read");
    let mut paths: Vec<_> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            walk(&path, files)
        } else {
            files.push(path)
        }
    }
}
