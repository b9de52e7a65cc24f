//! CDL is read as `ncgen` reads it, and refused where that would lose something.

use std::fs;
use std::path::Path;

use icefield_nczarr::cdl::{self, PrintOptions, Rule, parse};
use icefield_nczarr::{DataType, Endian, Fill, Filter, Values};

#[test]
fn texts_mean_what_they_mean_to_ncgen() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cdl/ncgen");
    for name in ["attributes", "groups", "data", "names"] {
        let text = fs::read(folder.join(format!("{name}.in.cdl"))).unwrap();
        let document = parse(text).unwrap_or_else(|error| panic!("{name}: {error}"));
        let mut printed = Vec::new();
        let options = PrintOptions::named(name);
        let data = |path: &str| document.read(path);
        cdl::print(&mut printed, &document.dataset, &options, data).unwrap();
        let expected = fs::read(folder.join(format!("{name}.out.cdl"))).unwrap();
        let lines = |text: &[u8]| String::from_utf8_lossy(text).into_owned();
        for (ours, theirs) in lines(&printed).lines().zip(lines(&expected).lines()) {
            assert_eq!(ours, theirs, "{name}");
        }
        assert_eq!(printed.len(), expected.len(), "{name}");
    }
}

#[test]
fn what_is_wrong_is_named_with_its_place() {
    let cases = [
        ("", "1, 1", "\"netcdf\" must stand here"),
        (
            "netcdf a { } b",
            "1, 14",
            "the end of the text must stand here, and not b",
        ),
        (
            "netcdf a {\n  byte :b = 300 ;",
            "2, 13",
            "300 is not a value of byte, the type of b",
        ),
        (
            "netcdf a { byte :b = 200b ; }",
            "1, 22",
            "200b is not a value of byte",
        ),
        (
            "netcdf a { ubyte :b = -1 ; }",
            "1, 23",
            "-1 is not a value of ubyte",
        ),
        (
            "netcdf a { uint64 :b = -1 ; }",
            "1, 24",
            "-1 is not a value of uint64",
        ),
        (
            "netcdf a { :b = 99999999999999999999999 ; }",
            "1, 17",
            "is not a value of uint64",
        ),
        (
            "netcdf a { :b\\\u{1c}c = 1 ; }",
            "1, 14",
            "the escape \\ of a name means nothing",
        ),
        (
            "netcdf a { :b\\\u{7f} = 1 ; }",
            "1, 14",
            "the escape \\ of a name means nothing",
        ),
        (
            "netcdf a { float :b = 1e300 ; }",
            "1, 23",
            "1e300 is not a value of float",
        ),
        (
            "netcdf a { :b = 1e999 ; }",
            "1, 17",
            "1e999 is not a value of double",
        ),
        (
            "netcdf a { int :b = 1.5 ; }",
            "1, 21",
            "1.5 is not a value of int",
        ),
        (
            "netcdf a { int :b = 1e30 ; }",
            "1, 21",
            "1e30 is not a value of int",
        ),
        (
            "netcdf a { int :b = \"x\" ; }",
            "1, 21",
            "\"x\" cannot be a value of b",
        ),
        (
            "netcdf a { :b = 1, \"x\" ; }",
            "1, 17",
            "b mixes texts and numbers",
        ),
        ("netcdf a { :b = _ ; }", "1, 17", "_ cannot be a value of b"),
        ("netcdf a { :b = 08 ; }", "1, 17", "08 is no number"),
        ("netcdf a { :b = 1x ; }", "1, 17", "1x is no number"),
        (
            "netcdf a { :b = 1, ; }",
            "1, 20",
            "a constant must stand here",
        ),
        (
            "netcdf a { :b = \"x",
            "1, 17",
            "the text that begins here has no end",
        ),
        ("netcdf a { :b = 'xy' ; }", "1, 17", "char constant"),
        (
            "netcdf a { :b = \"\\400\" ; }",
            "1, 18",
            "the escape \\400 means nothing",
        ),
        (
            "netcdf a { /* ",
            "1, 12",
            "the comment that begins here has no end",
        ),
        (
            "netcdf a { dimensions: x = -1 ; }",
            "1, 28",
            "the length of x must be a number",
        ),
        (
            "netcdf a { dimensions: x = 2.5 ; }",
            "1, 28",
            "the length of x must be",
        ),
        (
            "netcdf a { dimensions: x = 1 ; x = 2 ; }",
            "1, 32",
            "dimension x is defined twice",
        ),
        (
            "netcdf a { variables: int v ; int v ; }",
            "1, 35",
            "variable v is defined twice",
        ),
        (
            "netcdf a { :b = 1 ; :b = 1 ; }",
            "1, 22",
            "attribute b is defined twice",
        ),
        (
            "netcdf a { group: g { } group: g { } }",
            "1, 32",
            "group g is defined twice",
        ),
        (
            "netcdf a { variables: int v(x) ; }",
            "1, 29",
            "no dimension is called x here",
        ),
        (
            "netcdf a { variables: int v(/g/x) ; }",
            "1, 29",
            "no dimension is called /g/x",
        ),
        (
            "netcdf a { variables: w:a = 1 ; }",
            "1, 23",
            "no variable is called w here",
        ),
        (
            "netcdf a { data: w = 1 ; }",
            "1, 18",
            "no variable is called w here",
        ),
        (
            "netcdf a { types: int enum e { A = 1 } ; }",
            "1, 12",
            "the section of types is a type of the user",
        ),
        (
            "netcdf a { variables: my_type v ; }",
            "1, 23",
            "my_type is a type of the user",
        ),
        (
            "netcdf a { variables: int v ; data: v = 1, 2 ; }",
            "1, 44",
            "v has 1 elements, and no place",
        ),
        (
            "netcdf a { variables: int v ; data: v = 1 ; v = 2 ; }",
            "1, 45",
            "data of v is defined twice",
        ),
        (
            "netcdf a { variables: int v ; data: v = NIL ; }",
            "1, 41",
            "NIL cannot be a value of v",
        ),
        (
            "netcdf a { variables: int v ; v:_FillValue = 1, 2 ; }",
            "1, 33",
            "_FillValue must be one value",
        ),
        (
            "netcdf a { variables: int v ; v:_Shuffle = \"maybe\" ; }",
            "1, 33",
            "v:_Shuffle must be",
        ),
        (
            "netcdf a { variables: int v ; v:_Filter = \"99\" ; }",
            "1, 33",
            "v:_Filter must be numbers of filters",
        ),
        (
            "netcdf a { dimensions: x = 2 ; variables: int v(x, x) ; data: v = {1, 2}, {3, 4} ; }",
            "1, 73",
            "; or a comma must stand",
        ),
        (
            "netcdf a { dimensions: x = 2 ; variables: int v(x, x) ; data: v = 1, {2} ; }",
            "1, 70",
            "braces",
        ),
        (
            "netcdf a { dimensions: x = 2 ; t = UNLIMITED ; variables: int v(x, t) ; data: v = 1 ; }",
            "1, 83",
            "braces",
        ),
        (
            "netcdf a { dimensions: x = 2 ; t = UNLIMITED ; variables: int v(x, t) ; data: v = {1}, {}, {2} ; }",
            "1, 92",
            "v has 2 elements",
        ),
        (
            "netcdf a { dimensions: x = 2 ; variables: char v(x, x) ; data: v = \"a\", \"b\", \"c\" ; }",
            "1, 78",
            "v has 4 elements",
        ),
        (
            "netcdf a { dimensions: x/y = 2 ; }",
            "1, 24",
            "x/y cannot be a name",
        ),
    ];
    for (text, place, message) in cases {
        let error = parse(text).expect_err(text);
        let found = format!("{}, {}", error.position.line, error.position.column);
        assert_eq!(found, place, "{text}: {error}");
        assert!(error.to_string().contains(message), "{text}: {error}");
    }
    assert!(matches!(
        parse(b"netcdf a { \xff : }").unwrap_err().rule,
        Rule::Name { .. }
    ));
}

#[test]
fn special_attributes_are_taken_into_the_variable() {
    let text = "netcdf a { dimensions: x = 4 ; y = 6 ; variables: int a(x, y) ;
        a:_Storage = \"chunked\" ; a:_ChunkSizes = 2, 3 ; a:_DeflateLevel = 3 ; a:_Fletcher32 = \"true\" ;
        a:_Shuffle = \"true\" ; a:_Endianness = \"big\" ; a:_NoFill = \"true\" ; a:units = \"m\" ;
        short b(x) ; b:_FillValue = 7 ; b:_Filter = \"2|32015,5\" ; b:_Shuffle = \"false\" ; b:_DeflateLevel = 0 ;
        byte c(x) ; c:_Codecs = \"[{\\\"id\\\": \\\"lz4\\\"}, {\\\"id\\\": \\\"zlib\\\", \\\"level\\\": 1}]\" ; char d ; d:_FillValue = \"\" ;
        :_Format = \"netCDF-4\" ; :_NCProperties = \"version=2\" ; :title = \"t\" ; }";
    let dataset = parse(text).unwrap().dataset;
    let variable = |name| dataset.root.variable(name).unwrap();
    let a = variable("a");
    assert_eq!(a.storage.chunk_shape, [2, 3]);
    assert_eq!(a.storage.endian, Endian::Big);
    assert_eq!(
        a.storage.filters,
        [Filter::Shuffle, Filter::Deflate(3), Filter::Fletcher32]
    );
    assert_eq!(a.fill, Fill::Off);
    assert_eq!(a.attributes.len(), 1);
    let b = variable("b");
    assert_eq!(b.fill, Fill::Value(Values::Short(vec![7])));
    assert_eq!(b.attribute("_FillValue"), Some(&Values::Short(vec![7])));
    assert_eq!(b.storage.filters, [Filter::Shuffle, Filter::Zstandard(5)]);
    let other = Filter::Other(serde_json::json!({"id": "lz4"}));
    assert_eq!(variable("c").storage.filters, [other, Filter::Deflate(1)]);
    assert_eq!(variable("d").fill, Fill::Value(Values::Char(vec![0])));
    assert_eq!(dataset.root.attributes.len(), 1);
}

#[test]
fn variables_of_other_groups_are_named_by_their_paths() {
    let text = "netcdf a { dimensions: x = 2 ; variables: int v(x) ;
        group: g { dimensions: x = 3 ; group: h { variables: int w(/x, x) ; /v:a = 1 ; int /v:b = 2 ; w:c = 3 ; :d = 4 ;
        data: /v = 1, 2 ; /g/h/w = 5 ; } } }";
    let document = parse(text).unwrap();
    let names = |path: &str| {
        let attributes = &document.dataset.variable(path).unwrap().attributes;
        let names = attributes.iter().map(|attribute| attribute.name.as_str());
        names.collect::<Vec<_>>().join(" ")
    };
    assert_eq!(names("/v"), "a b");
    assert_eq!(names("/g/h/w"), "c");
    let w = document.dataset.variable("/g/h/w").unwrap();
    assert_eq!(w.dimensions[0].as_str(), "/x");
    assert_eq!(w.dimensions[1].as_str(), "/g/x");
    let paths: Vec<_> = document
        .data
        .iter()
        .map(|data| data.path.as_str())
        .collect();
    assert_eq!(paths, ["/v", "/g/h/w"]);
    assert_eq!(document.data[1].elements(), 6);
    // By its name alone a variable is known in its own group only.
    let below = "netcdf a { variables: int v ; group: g { data: v = 1 ; } }";
    assert!(matches!(
        parse(below).unwrap_err().rule,
        Rule::Unknown { .. }
    ));
}

#[test]
fn names_may_be_words_of_the_language() {
    let text = "netcdf a {\ndimensions:\n\tdata = 2 ;\n\tUNLIMITED = 1 ;\nvariables:\n\tint data(data) ;\n\t\tdata:units = \"m\" ;
\tint int ;\n\t\tint:a = 1 ;\n\tint NaN ;\n\t\tNaN:a = 2 ;\n\tint group ;\n\t\tgroup:a = 3 ;\n\tint _ ;\ndata:\n\n data = 1, 2 ;
\n int = 1 ;\n\n NaN = 2 ;\n\n _ = 3 ;\n\ngroup: variables {\n  } // group variables\n}";
    let document = parse(text).unwrap();
    let root = &document.dataset.root;
    let attribute = |name: &str| root.variable(name).unwrap().attributes[0].values.clone();
    assert_eq!(attribute("data"), Values::text("m"));
    assert_eq!(attribute("int"), Values::Int(vec![1]));
    assert_eq!(attribute("NaN"), Values::Int(vec![2]));
    assert_eq!(attribute("group"), Values::Int(vec![3]));
    assert_eq!(document.data.len(), 4);
    assert_eq!(root.groups[0].name, "variables");
}

#[test]
fn a_long_row_of_chars_may_be_in_pieces_as_ncdump_prints_it() {
    let text = "netcdf a { dimensions: x = 2 ; l = 4 ; variables: char c(x, l) ;
        data: c = \"a\\n\", \"b\", \"\\n\", \"\\n\", \"\" ; }";
    let data = &parse(text).unwrap().data[0];
    assert_eq!(data.values(0..8), Values::Char(b"a\nb\0\n\n\0\0".to_vec()));
}

#[test]
fn elements_without_values_take_no_memory() {
    let text =
        "netcdf a { dimensions: x = 1000000 ; y = 1000000 ; t = UNLIMITED ; l = 1000000000000 ;
        variables: int v(x, y) ; char c(t, l) ; int w(x, t) ; double never(x, y, x) ;
        data: v = 1, 2 ; c = \"a\", \"b\", \"c\" ; w = {1}, {2, 3} ; }";
    let document = parse(text).unwrap();
    let data = |name: &str| document.data.iter().find(|it| it.path == name).unwrap();
    assert_eq!(data("/v").elements(), 1_000_000_000_000);
    assert_eq!(data("/v").given().collect::<Vec<_>>(), [0..2]);
    let c: Vec<_> = data("/c").given().collect();
    let row = 1_000_000_000_000;
    assert_eq!(c, [0..1, row..row + 1, 2 * row..2 * row + 1]);
    assert_eq!(
        data("/c").values(row - 1..row + 2),
        Values::Char(b"\0b\0".to_vec())
    );
    assert_eq!(data("/w").given().collect::<Vec<_>>(), [0..1, 3..5]);
    assert_eq!(
        data("/w").values(2..6),
        Values::Int(vec![-2_147_483_647, 2, 3, -2_147_483_647])
    );
    // The first values of what has none in the text.
    let first = document.read("/v").next().unwrap().unwrap();
    assert_eq!((first.len(), first.data_type()), (8192, DataType::Int));
}

#[test]
fn blocks_are_parts_of_the_shape_and_fill_around_it() {
    let text = "netcdf a { dimensions: x = 3 ; y = 4 ; variables: int v(x, y) ; int s ; v:_FillValue = -1 ;
        data: v = 0, 1, 2, 3, 4, 5, 6 ; s = 5 ; }";
    let document = parse(text).unwrap();
    let v = &document.data[0];
    let shape = [3, 4];
    let cases: [([u64; 2], [u64; 2], &[i32]); 4] = [
        ([0, 0], [1, 4], &[0, 1, 2, 3]),
        ([0, 1], [2, 2], &[1, 2, 5, 6]),
        ([1, 2], [2, 3], &[6, -1, -1, -1, -1, -1]),
        ([2, 4], [2, 2], &[-1, -1, -1, -1]),
    ];
    for (origin, extent, expected) in cases {
        let expected = Values::Int(expected.to_vec());
        assert_eq!(v.block(&shape, &origin, &extent), expected, "{origin:?}");
    }
    assert_eq!(document.data[1].block(&[], &[], &[]), Values::Int(vec![5]));
}

#[test]
fn hostile_texts_end_in_errors() {
    let deep = format!("netcdf a {{ {}", "group: g { ".repeat(100_000));
    assert!(matches!(
        parse(deep).unwrap_err().rule,
        Rule::TooLarge { .. }
    ));
    let braces = format!(
        "netcdf a {{ dimensions: t = UNLIMITED ; variables: int v({}) ; data: v = {}",
        vec!["t"; 2000].join(","),
        "{".repeat(100_000)
    );
    assert!(matches!(
        parse(braces).unwrap_err().rule,
        Rule::TooLarge { .. }
    ));
    // Short names of dimensions with long paths, again and again.
    let name = "n".repeat(250);
    let mut text = String::from("netcdf a { ");
    for _ in 0..60 {
        text += &format!("group: {name} {{ ");
    }
    text += "dimensions: x = 1 ; variables: int v(";
    text += &vec!["x"; 400_000].join(",");
    assert!(matches!(
        parse(text).unwrap_err().rule,
        Rule::TooLarge { .. }
    ));
    // An unlimited dimension in unlimited dimensions, whose product cannot be counted.
    let long = vec!["1"; 70_000].join(",");
    let text = format!(
        "netcdf a {{ dimensions: t = UNLIMITED ; variables: int v(t) ; int w(t, t, t, t, t) ;
         data: v = {long} ; w = {{{{{{{{1}}}}}}}} ; }}"
    );
    assert!(matches!(
        parse(text).unwrap_err().rule,
        Rule::TooLarge { .. }
    ));
}
