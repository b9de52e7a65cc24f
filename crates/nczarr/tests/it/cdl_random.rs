//! Random datasets come back from their text, and random texts end in a dataset or an error.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::Path;

use icefield_nczarr::cdl::{self, PrintOptions, parse, steps};
use icefield_nczarr::{
    Attribute, DataType, Dataset, Dimension, DimensionPath, Endian, Fill, Filter, Group, Storage,
    Values, Variable,
};

/// A sequence of numbers that is the same each time (SplitMix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % end as u64).unwrap()
    }

    fn is(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    fn one_of<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[self.below(list.len())]
    }
}

/// Makes a dataset and the values of its variables.
struct Maker {
    random: Random,
    dataset: Dataset,
    values: HashMap<String, Values>,
}

const NAMES: [&str; 14] = [
    "data",
    "dimensions",
    "variables",
    "types",
    "group",
    "int",
    "string",
    "NaN",
    "_",
    "NIL",
    "netcdf",
    "Infinity",
    "UNLIMITED",
    "global",
];

impl Maker {
    fn name(&mut self, used: &mut HashSet<String>) -> String {
        loop {
            let name = if self.random.is(15) {
                (*self.random.one_of(&NAMES)).to_owned()
            } else {
                let letters: Vec<char> = "abcXY019_.+-@% !\"#$&'()*,:;<=>?[]\\^`{|}~éß語"
                    .chars()
                    .collect();
                let length = 1 + self.random.below(8);
                (0..length).map(|_| *self.random.one_of(&letters)).collect()
            };
            if used.insert(name.clone()) {
                return name;
            }
        }
    }

    fn text(&mut self, with_zeros: bool) -> String {
        let letters: Vec<char> = "abc XYZ019\"'\\\n\t\r\u{1}\u{7f}é語?/*{};,_"
            .chars()
            .collect();
        let length = self.random.below(12);
        let mut text: String = (0..length).map(|_| *self.random.one_of(&letters)).collect();
        if with_zeros && !text.is_empty() && self.random.is(20) {
            text.insert(0, '\0');
        }
        text
    }

    fn values(&mut self, data_type: DataType, count: usize) -> Values {
        let random = &mut self.random;
        let mut whole = || match random.below(4) {
            0 => random.next(),
            1 => u64::MAX - random.next() % 3,
            2 => 1 << (random.next() % 64),
            _ => random.next() % 100,
        };
        macro_rules! whole {
            ($kind:ident) => {
                Values::$kind((0..count).map(|_| whole() as _).collect())
            };
        }
        match data_type {
            DataType::Byte => whole!(Byte),
            DataType::Short => whole!(Short),
            DataType::Int => whole!(Int),
            DataType::UByte => whole!(UByte),
            DataType::UShort => whole!(UShort),
            DataType::UInt => whole!(UInt),
            DataType::Int64 => whole!(Int64),
            DataType::UInt64 => whole!(UInt64),
            DataType::Float => Values::Float(
                (0..count)
                    .map(|_| match whole() % 8 {
                        0 => f32::NAN,
                        1 => f32::NEG_INFINITY,
                        2 => -0.0,
                        3 => 9.969_21e36,
                        4 => (whole() % 1000) as f32,
                        _ => f32::from_bits((whole() >> 32) as u32),
                    })
                    .map(|value| if value.is_nan() { f32::NAN } else { value })
                    .collect(),
            ),
            DataType::Double => Values::Double(
                (0..count)
                    .map(|_| match whole() % 8 {
                        0 => f64::INFINITY,
                        1 => 0.1,
                        2 => -0.0,
                        3 => (whole() % 1000) as f64,
                        _ => f64::from_bits(whole()),
                    })
                    .map(|value| if value.is_nan() { f64::NAN } else { value })
                    .collect(),
            ),
            DataType::String => Values::String((0..count).map(|_| self.text(false)).collect()),
            DataType::Char => unreachable!("chars depend on the shape"),
        }
    }

    fn attribute_values(&mut self) -> Values {
        let data_type = *self.random.one_of(&DataType::ALL);
        if data_type == DataType::Char {
            let mut text = self.text(true).into_bytes();
            if self.random.is(20) {
                text.push(0xff); // not UTF-8
            }
            return Values::Char(text);
        }
        let count = 1 + self.random.below(4);
        self.values(data_type, count)
    }

    fn attributes(&mut self) -> Vec<Attribute> {
        let mut used = HashSet::from([String::from("_FillValue")]);
        let count = self.random.below(4);
        let mut one = || Attribute {
            name: self.name(&mut used),
            values: self.attribute_values(),
        };
        (0..count).map(|_| one()).collect()
    }

    fn group(
        &mut self,
        path: &str,
        name: String,
        depth: usize,
        above: &[(DimensionPath, Dimension)],
    ) -> Group {
        let mut group = Group {
            name,
            attributes: self.attributes(),
            ..Group::default()
        };
        let mut visible = above.to_vec();
        let (mut names, mut dimension_names) = (HashSet::new(), HashSet::new());
        for _ in 0..self.random.below(4) {
            let dimension = Dimension {
                name: self.name(&mut dimension_names),
                length: self.random.next() % 5,
                is_unlimited: self.random.is(40),
            };
            let own = DimensionPath::new(path, &dimension.name);
            if dimension.is_unlimited {
                // Only values tell how long it is.
                let name = self.name(&mut names);
                let mut variable =
                    self.variable(name, DataType::Int, &[(own.clone(), dimension.clone())]);
                variable.dimensions = vec![own.clone()];
                let count = usize::try_from(dimension.length).unwrap();
                let values = self.values(DataType::Int, count);
                self.values
                    .insert(format!("{path}/{}", variable.name), values);
                group.variables.push(variable);
            }
            group.dimensions.push(dimension.clone());
            visible.push((own, dimension));
        }
        for _ in 0..self.random.below(5) {
            let data_type = *self.random.one_of(&DataType::ALL);
            let rank = if visible.is_empty() {
                0
            } else {
                self.random.below(5)
            };
            let dimensions: Vec<_> = (0..rank)
                .map(|_| self.random.one_of(&visible).clone())
                .collect();
            let name = self.name(&mut names);
            let variable = self.variable(name, data_type, &dimensions);
            let values = self.data(&variable, &dimensions);
            self.values
                .insert(format!("{path}/{}", variable.name), values);
            group.variables.push(variable);
        }
        if depth < 3 {
            for _ in 0..self.random.below(3) {
                let name = self.name(&mut names);
                let below = self.group(&format!("{path}/{name}"), name, depth + 1, &visible);
                group.groups.push(below);
            }
        }
        group
    }

    fn data(&mut self, variable: &Variable, dimensions: &[(DimensionPath, Dimension)]) -> Values {
        let lengths = dimensions.iter().map(|(_, dimension)| dimension.length);
        let count = usize::try_from(lengths.product::<u64>()).unwrap();
        if variable.data_type != DataType::Char {
            return self.values(variable.data_type, count);
        }
        // A newline breaks a row of chars, which cannot be told from two rows where their number is not fixed.
        let is_fixed = dimensions
            .iter()
            .all(|(_, dimension)| !dimension.is_unlimited);
        let bytes = b"ab\0\0'\"\\\x07\xff\xc3 \n";
        let bytes = if is_fixed {
            &bytes[..]
        } else {
            &bytes[..bytes.len() - 1]
        };
        Values::Char((0..count).map(|_| *self.random.one_of(bytes)).collect())
    }

    fn variable(
        &mut self,
        name: String,
        data_type: DataType,
        dimensions: &[(DimensionPath, Dimension)],
    ) -> Variable {
        let mut attributes = self.attributes();
        let fill = match self.random.below(4) {
            // Zeros at the end of a row of chars are not printed, so that they must be what fills it.
            0 if data_type == DataType::Char => Fill::Value(Values::Char(vec![0])),
            0 => Fill::Value(loop {
                let value = self.values(data_type, 1);
                if !matches!(&value, Values::Float(list) if list[0] == 0.0)
                    && !matches!(&value, Values::Double(list) if list[0] == 0.0)
                {
                    break value;
                }
            }),
            1 => Fill::Off,
            _ => Fill::Default,
        };
        if let Fill::Value(value) = &fill {
            let at = self.random.below(attributes.len() + 1);
            let name = String::from("_FillValue");
            attributes.insert(
                at,
                Attribute {
                    name,
                    values: value.clone(),
                },
            );
        }
        let mut storage = Storage::default();
        if !dimensions.is_empty() && self.random.is(50) {
            storage.chunk_shape = dimensions
                .iter()
                .map(|_| 1 + self.random.next() % 4)
                .collect();
        }
        if data_type.bytes().is_some_and(|bytes| bytes > 1) && self.random.is(30) {
            storage.endian = Endian::Big;
        }
        let filters = [
            Filter::Shuffle,
            Filter::Deflate(4),
            Filter::Fletcher32,
            Filter::Zstandard(-3),
            Filter::Bzip2(9),
            Filter::Other(serde_json::json!({"id": "lz4", "acceleration": 1.5})),
        ];
        let count = self.random.below(3);
        storage.filters = (0..count)
            .map(|_| self.random.one_of(&filters).clone())
            .collect();
        Variable {
            name,
            data_type,
            dimensions: dimensions.iter().map(|(path, _)| path.clone()).collect(),
            attributes,
            fill,
            storage,
        }
    }
}

fn dataset(seed: u64) -> (Dataset, HashMap<String, Values>) {
    let mut maker = Maker {
        random: Random(seed),
        dataset: Dataset::default(),
        values: HashMap::new(),
    };
    maker.dataset.root = maker.group("", String::new(), 0, &[]);
    (maker.dataset, maker.values)
}

#[test]
fn datasets_come_back_from_their_text() {
    let mut elements = 0;
    for seed in 0..400 {
        let (dataset, values) = dataset(seed);
        let mut options = PrintOptions::named("random");
        options.special_attributes = true;
        (options.float_digits, options.double_digits) = (9, 17);
        let mut text = Vec::new();
        let data = |path: &str| [Ok::<_, std::convert::Infallible>(values[path].clone())];
        cdl::print(&mut text, &dataset, &options, data).unwrap();
        let shown = String::from_utf8_lossy(&text).into_owned();
        let document = parse(&text).unwrap_or_else(|error| panic!("seed {seed}: {error}\n{shown}"));
        assert_eq!(document.name, "random");
        // NaN is no NaN to Rust, but looks like one.
        let found = format!("{:#?}", document.dataset);
        let expected = format!("{dataset:#?}");
        let (found, expected): (Vec<_>, Vec<_>) =
            (found.lines().collect(), expected.lines().collect());
        if let Some(at) = (0..expected.len()).find(|&at| found.get(at) != expected.get(at)) {
            let around = at.saturating_sub(12)..at + 1;
            let found = found.get(around.clone());
            let expected = expected.get(around);
            panic!("seed {seed}: {found:#?}\n is not\n{expected:#?}\nin\n{shown}");
        }
        for (path, values) in &values {
            let found: Vec<_> = document.read(path).map(|piece| piece.unwrap()).collect();
            assert!(found.len() <= 1, "all are small");
            let Some(found) = found.first() else {
                assert_eq!(values.len(), 0, "seed {seed}, {path}");
                continue;
            };
            elements += values.len();
            assert_eq!(
                format!("{found:?}"),
                format!("{values:?}"),
                "seed {seed}, {path}\n{shown}"
            );
        }
    }
    assert!(elements > 10_000, "{elements} elements were compared");
}

#[test]
fn damaged_texts_end_in_a_dataset_or_an_error() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cdl");
    let mut paths: Vec<_> = [folder.clone(), folder.join("ncgen")]
        .iter()
        .flat_map(|folder| fs::read_dir(folder).unwrap())
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "cdl"))
        .collect();
    paths.sort();
    let words: [&[u8]; 18] = [
        b"{",
        b"}",
        b"\"",
        b"'",
        b"\\",
        b";",
        b",",
        b":",
        b"=",
        b"(",
        b"group: g {",
        b"data:",
        b"_",
        b"UNLIMITED",
        b"999999999999",
        b"/",
        b"-",
        b"\xff",
    ];
    let mut random = Random(7);
    let (mut good, mut bad) = (0, 0);
    for path in &paths {
        let text = fs::read(path).unwrap();
        for _ in 0..60 {
            let mut damaged = text.clone();
            for _ in 0..1 + random.below(3) {
                let at = random.below(damaged.len());
                let end = (at + random.below(9)).min(damaged.len());
                let word = if random.is(60) {
                    *random.one_of(&words)
                } else {
                    &[]
                };
                damaged.splice(at..end, word.iter().copied());
            }
            match parse(&damaged) {
                Ok(document) => {
                    good += 1;
                    let _ = steps(&document.dataset, &PrintOptions::named(&document.name));
                    for data in &document.data {
                        let _ = data.values(0..100);
                    }
                }
                Err(_) => bad += 1,
            }
        }
    }
    assert!(
        good > 20 && bad > 200,
        "{good} texts were read, {bad} refused"
    );
}
