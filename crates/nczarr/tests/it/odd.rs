//! Datasets that are odd and no less datasets, and one that would lose something.

use std::collections::BTreeMap;

use icefield_nczarr::{
    DataType, Dataset, Documents, Fill, ReadOptions, Values, cdl, read, read_zarr3, write,
    write_zarr3,
};
use serde_json::{Value, json};

/// A tree of the newest generation with one array of bytes.
fn tree(fill_value: Value, attributes: Value) -> Documents {
    let array = json!({
        "zarr_format": 2, "shape": [2], "chunks": [2], "dtype": "|u1", "order": "C",
        "fill_value": fill_value, "compressor": null, "filters": null,
    });
    Documents::from([
        (".zgroup".to_owned(), json!({ "zarr_format": 2 })),
        (
            ".zattrs".to_owned(),
            json!({ "_nczarr_superblock": { "version": "2.0.0" } }),
        ),
        ("v/.zarray".to_owned(), array),
        ("v/.zattrs".to_owned(), attributes),
    ])
}

/// The documents of a hierarchy that holds a dataset of bytes and ints below a group.
fn hierarchy(dataset: &Dataset, below: &str) -> BTreeMap<String, Value> {
    let nodes = write_zarr3(dataset, &BTreeMap::new()).expect("defined");
    let document = |(path, node): (String, icefield_nczarr::Zarr3Node)| {
        let mut document = match dataset.variable(&path) {
            None => json!({ "node_type": "group" }),
            Some(variable) => json!({
                "node_type": "array",
                "shape": dataset.shape(variable).expect("defined"),
                "data_type": if variable.data_type == DataType::String { "string" } else { "int32" },
                "fill_value": if variable.data_type == DataType::String { json!("") } else { json!(0) },
                "dimension_names": node.dimension_names,
            }),
        };
        document["attributes"] = node.attributes.into();
        (format!("{below}{}", path.trim_end_matches('/')), document)
    };
    nodes.into_iter().map(document).collect()
}

#[test]
fn no_fill_stays_no_fill() {
    let opened = read(&tree(Value::Null, json!({})), ReadOptions::default()).expect("readable");
    let variable = opened.dataset.variable("/v").expect("there");
    assert_eq!(variable.fill, Fill::Off);
    let written: Documents = write(&opened.dataset, &opened.arrays)
        .expect("writable")
        .into_iter()
        .collect();
    assert_eq!(written["v/.zarray"]["fill_value"], Value::Null);
}

#[test]
fn a_fill_value_of_another_type_masks_nothing_and_stays() {
    let tree = tree(json!(0), json!({ "_FillValue": -1 }));
    let opened = read(&tree, ReadOptions::default()).expect("readable");
    let variable = opened.dataset.variable("/v").expect("there");
    assert_eq!(
        variable.attribute("_FillValue"),
        Some(&Values::Int(vec![-1]))
    );
    assert_eq!(variable.fill, Fill::Value(Values::UByte(vec![0])));
}

#[test]
fn an_array_that_no_group_leads_to_is_named() {
    let mut tree = tree(json!(0), json!({}));
    let array = tree["v/.zarray"].clone();
    tree.insert("s/w/.zarray".to_owned(), array);
    let error = read(&tree, ReadOptions::default()).expect_err("it would be lost");
    assert!(error.to_string().contains("s/w/.zarray"), "{error}");
}

#[test]
fn a_dataset_may_lie_below_any_group() {
    let text = "netcdf a { dimensions: x = 2 ; t = UNLIMITED ; variables: int u(t) ;
        group: g { dimensions: x = 3 ; variables: int v(/x) ; int w(x) ; } }";
    let dataset = cdl::parse(text).expect("CDL").dataset;
    for below in ["", "/sub"] {
        let moved = read_zarr3(&hierarchy(&dataset, below)).expect("readable");
        for (array, dimension) in [("/g/v", "/x"), ("/g/w", "/g/x"), ("/u", "/t")] {
            let variable = moved.variable(&format!("{below}{array}")).expect("there");
            assert_eq!(
                variable.dimensions[0].as_str(),
                format!("{below}{dimension}")
            );
        }
    }
}

#[test]
fn fill_values_are_encoded_only_where_xarray_encodes_them() {
    let text =
        "netcdf a { dimensions: x = 1 ; variables: string s(x) ; string s:_FillValue = \"none\" ;
        :_FillValue = 1.5f ; }";
    let dataset = cdl::parse(text).expect("CDL").dataset;
    let documents = hierarchy(&dataset, "");
    assert_eq!(documents["/s"]["attributes"]["_FillValue"], "none");
    let again = read_zarr3(&documents).expect("readable");
    let none = Values::String(vec!["none".to_owned()]);
    let variable = again.variable("/s").expect("there");
    assert_eq!(variable.attribute("_FillValue"), Some(&none));
    assert_eq!(
        again.root.attribute("_FillValue"),
        Some(&Values::Float(vec![1.5]))
    );
}

#[test]
fn a_record_makes_no_other_bytes_of_an_array() {
    let document = json!({
        "node_type": "array", "shape": [8], "data_type": "uint8", "fill_value": 0,
        "attributes": { "_netcdf": "{\"type\": \"double\"}" },
    });
    let documents = BTreeMap::from([("/v".to_owned(), document)]);
    let dataset = read_zarr3(&documents).expect("readable");
    assert_eq!(
        dataset.variable("/v").map(|it| it.data_type),
        Some(DataType::UByte)
    );
}
