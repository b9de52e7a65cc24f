//! The output of `ncdump` is printed again, byte for byte.

use std::fs;
use std::path::{Path, PathBuf};

use icefield_nczarr::cdl::{
    self, DataPrinter, DumpError, PrintError, PrintOptions, Step, parse, steps,
};
use icefield_nczarr::{DataType, Dataset, Dimension, DimensionPath, Values, Variable};

fn here(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn printed(document: &cdl::Document, options: &PrintOptions) -> String {
    let mut out = Vec::new();
    cdl::print(&mut out, &document.dataset, options, |path| {
        document.read(path)
    })
    .unwrap();
    String::from_utf8_lossy(&out).into_owned()
}

fn read(path: &Path) -> (String, cdl::Document) {
    let text = fs::read(path).unwrap();
    let document = parse(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    (String::from_utf8_lossy(&text).into_owned(), document)
}

/// Compares texts by lines, so that a failure can be read.
fn assert_same(printed: &str, expected: &str, what: &Path) {
    for (number, (ours, theirs)) in printed.lines().zip(expected.lines()).enumerate() {
        assert_eq!(ours, theirs, "line {} of {}", number + 1, what.display());
    }
    assert_eq!(printed.len(), expected.len(), "{}", what.display());
}

fn cases(prefix: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(here("tests/cdl")).unwrap();
    let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        name.starts_with(prefix) && name.ends_with(".cdl")
    });
    paths.sort();
    assert!(!paths.is_empty(), "no text begins with {prefix}");
    paths
}

#[test]
fn whole_datasets_are_printed_as_they_were() {
    for prefix in [
        "odd-shapes",
        "groups",
        "line-filling",
        "random-",
        "options-all",
    ] {
        for path in cases(prefix) {
            let (text, document) = read(&path);
            let options = PrintOptions::named(&document.name);
            assert_same(&printed(&document, &options), &text, &path);
        }
    }
}

#[test]
fn options_choose_the_data() {
    let (_, document) = read(&here("tests/cdl/options-all.cdl"));
    let cases: [(&str, &[&str], bool, bool); 6] = [
        ("header", &[], true, false),
        ("coordinates", &[], false, true),
        ("name", &["y"], false, false),
        ("names", &["x", "w"], false, false),
        ("path", &["/g/y"], false, false),
        ("none", &["y"], false, true),
    ];
    for (name, variables, header_only, coordinates_only) in cases {
        let path = here(&format!("tests/cdl/options-{name}.cdl"));
        let mut options = PrintOptions::named("options");
        options.variables = variables.iter().map(|&name| name.to_owned()).collect();
        options.header_only = header_only;
        options.coordinates_only = coordinates_only;
        let expected = fs::read_to_string(&path).unwrap();
        assert_same(&printed(&document, &options), &expected, &path);
    }
    let mut options = PrintOptions::named("options");
    options.variables = vec![String::from("nosuch")];
    let name = String::from("nosuch");
    let refused = steps(&document.dataset, &options).unwrap_err();
    assert!(matches!(refused, PrintError::NoVariable { name: found } if found == name));
}

#[test]
fn more_digits_keep_every_value() {
    let path = here("tests/cdl/digits-9-17.cdl");
    let (text, document) = read(&path);
    let mut options = PrintOptions::named("digits");
    (options.float_digits, options.double_digits) = (9, 17);
    assert_same(&printed(&document, &options), &text, &path);
}

#[test]
fn storage_is_shown_as_special_attributes() {
    for path in cases("special") {
        let (text, document) = read(&path);
        let mut options = PrintOptions::named(&document.name);
        options.special_attributes = true;
        options.header_only = true;
        assert_same(&printed(&document, &options), &text, &path);
    }
}

#[test]
fn what_ncdump_printed_of_other_writers_is_printed_again() {
    let mut found = 0;
    for path in vectors() {
        let name = path.file_name().unwrap();
        if name == "ncdump-4.10.1.cdl" || name == "ncdump-main.cdl" {
            let (text, document) = read(&path);
            let options = PrintOptions::named(&document.name);
            assert_same(&printed(&document, &options), &text, &path);
            found += 1;
        }
    }
    assert!(found >= 50, "{found} texts");
}

/// Texts that were printed of NCZarr whose writer kept all of its source. Plain Zarr has no types of attributes, no unlimited
/// dimensions and no order of variables.
fn kept_by_the_writer(source: &Path) -> Option<PathBuf> {
    let path = source.to_string_lossy().replace('\\', "/");
    let dumps = [
        ("/netcdf-c-4.9.1-nczarr/", "ncdump-4.10.1.cdl"),
        ("/netcdf-c-4.10.1-nczarr/", "ncdump-4.10.1.cdl"),
        ("/netcdf-c-main-zip/", "ncdump-main.cdl"),
    ];
    let (_, dump) = dumps.iter().find(|(set, _)| path.contains(set))?;
    if path.contains("/netcdf-c-4.9.1-nczarr/endian/") {
        return None; // it wrote big-endian numbers with their bytes swapped
    }
    let dump = source.with_file_name(dump);
    dump.exists().then_some(dump)
}

#[test]
fn sources_are_printed_as_the_datasets_that_were_written_from_them() {
    let mut found = 0;
    for path in vectors() {
        if path.file_name().unwrap() != "source.cdl" {
            continue;
        }
        let Some(dump) = kept_by_the_writer(&path) else {
            continue;
        };
        let (expected, dumped) = read(&dump);
        let (_, document) = read(&path);
        let printed = printed(&document, &PrintOptions::named(&dumped.name));
        // NCZarr keeps texts as JSON where they can be read as that.
        let kept = |text: &str| {
            let is_json = |line: &&str| line.contains(":json = ") || line.contains(":digits = ");
            let lines: Vec<_> = text.lines().filter(|line| !is_json(line)).collect();
            lines.join("\n")
        };
        assert_same(&kept(&printed), &kept(&expected), &path);
        found += 1;
    }
    assert!(found >= 28, "{found} sources");
}

fn vectors() -> Vec<PathBuf> {
    let mut pending = vec![here("../../fixtures/nczarr/vectors")];
    let mut found = Vec::new();
    while let Some(folder) = pending.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                if path.file_name().unwrap() != "data" {
                    pending.push(path);
                }
            } else if path.extension().is_some_and(|extension| extension == "cdl") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

#[test]
fn values_may_come_in_any_pieces() {
    for path in cases("odd-shapes").into_iter().chain(cases("line-filling")) {
        let (text, document) = read(&path);
        let options = PrintOptions::named(&document.name);
        for size in [1, 7] {
            let mut out = Vec::new();
            for step in steps(&document.dataset, &options).unwrap() {
                match step {
                    Step::Text(text) => out.extend_from_slice(&text),
                    Step::Data(path) => {
                        let mut printer =
                            DataPrinter::new(&document.dataset, &path, &options).unwrap();
                        let data = document.data.iter().find(|it| it.path == path).unwrap();
                        for start in (0..printer.elements()).step_by(size) {
                            let values = data.values(start..start + size as u64);
                            printer.push(&mut out, &values).unwrap();
                        }
                        printer.finish(&mut out).unwrap();
                    }
                }
            }
            assert_same(&String::from_utf8_lossy(&out), &text, &path);
        }
    }
}

/// Counts what is written, and keeps only the end.
#[derive(Default)]
struct Tail {
    bytes: u64,
    longest: usize,
    end: Vec<u8>,
}

impl std::io::Write for Tail {
    fn write(&mut self, text: &[u8]) -> std::io::Result<usize> {
        self.bytes += text.len() as u64;
        self.longest = self.longest.max(text.len());
        self.end = text[text.len().saturating_sub(20)..].to_vec();
        Ok(text.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_variable_of_any_size_is_printed_in_small_pieces() {
    let mut dataset = of_three();
    dataset.root.dimensions[0].length = 1 << 20;
    dataset.root.variables[0].data_type = DataType::Char;
    let options = PrintOptions::named("large");
    let mut printer = DataPrinter::new(&dataset, "/v", &options).unwrap();
    let mut out = Tail::default();
    // Zeros that turn out to be within the row after all.
    let zeros = Values::Char(vec![0; 1 << 10]);
    for _ in 0..(1 << 10) - 1 {
        printer.push(&mut out, &zeros).unwrap();
    }
    let mut last = vec![0; 1 << 10];
    last[1022] = b'x';
    printer.push(&mut out, &Values::Char(last)).unwrap();
    printer.finish(&mut out).unwrap();
    let text = "\n v = \"".len() + "x\" ;\n".len();
    assert_eq!(out.bytes, ((1 << 20) - 2) * 4 + text as u64);
    assert!(out.longest < 1 << 17, "{} bytes at once", out.longest);
    assert_eq!(out.end, b" ;\n");
}

/// Returns a dataset of one variable `v` of ints with three elements.
fn of_three() -> Dataset {
    let mut dataset = Dataset::default();
    dataset.root.dimensions.push(Dimension {
        name: String::from("x"),
        length: 3,
        is_unlimited: false,
    });
    dataset.root.variables.push(Variable {
        name: String::from("v"),
        data_type: DataType::Int,
        dimensions: vec![DimensionPath::new("/", "x")],
        attributes: Vec::new(),
        fill: icefield_nczarr::Fill::Default,
        storage: icefield_nczarr::Storage::default(),
    });
    dataset
}

#[test]
fn values_that_do_not_fit_are_refused() {
    let dataset = of_three();
    let options = PrintOptions::named("three");
    let printer = || DataPrinter::new(&dataset, "/v", &options).unwrap();
    let mut out = Vec::new();
    let wrong = printer()
        .push(&mut out, &Values::Short(vec![1]))
        .unwrap_err();
    assert!(matches!(wrong, PrintError::DataType { .. }));
    let wrong = printer()
        .push(&mut out, &Values::Int(vec![1; 4]))
        .unwrap_err();
    assert!(matches!(
        wrong,
        PrintError::Count {
            expected: 3,
            found: 4,
            ..
        }
    ));
    let mut short = printer();
    short.push(&mut out, &Values::Int(vec![1, 2])).unwrap();
    let wrong = short.finish(&mut out).unwrap_err();
    assert_eq!(
        wrong.to_string(),
        "the variable /v has 3 elements, and was given 2"
    );
    assert!(DataPrinter::new(&dataset, "/w", &options).is_err());
}

#[test]
fn errors_of_the_reader_of_values_name_the_variable() {
    let dataset = of_three();
    let options = PrintOptions::named("three");
    let mut out = Vec::new();
    let failed = cdl::print(&mut out, &dataset, &options, |_| [Err("no disk")]).unwrap_err();
    assert!(matches!(failed, DumpError::Data { path, source: "no disk" } if path == "/v"));
}

#[test]
fn a_shape_beyond_counting_is_refused() {
    let mut dataset = of_three();
    dataset.root.dimensions[0].length = u64::MAX;
    let path = dataset.root.variables[0].dimensions[0].clone();
    dataset.root.variables[0].dimensions.push(path);
    let refused = steps(&dataset, &PrintOptions::named("large"));
    let path = String::from("/v");
    assert!(matches!(refused, Err(PrintError::TooLarge { path: found }) if found == path));
}
