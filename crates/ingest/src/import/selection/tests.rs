use super::*;

fn path(text: &str) -> NodePath {
    NodePath::parse(text).expect("a path")
}

/// A source with these arrays, which name coordinates, and nodes that cannot be imported.
fn hierarchy(arrays: &[(&str, &str)], unsupported: &[&str]) -> Hierarchy {
    let nodes = arrays.iter().map(|(at, coordinates)| {
        let document = serde_json::json!({
            "zarr_format": 3, "node_type": "array", "shape": [], "data_type": "int8",
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": []}},
            "chunk_key_encoding": {"name": "default"}, "fill_value": 0, "codecs": [{"name": "bytes"}],
            "attributes": {"coordinates": coordinates},
        });
        let bytes = serde_json::to_vec(&document).expect("JSON").into();
        (path(at), SourceNode::parse(bytes, 1 << 20).expect("valid"))
    });
    let unsupported = unsupported.iter().map(|at| Unsupported {
        path: path(at),
        name: "file".to_owned(),
        reason: "its type".to_owned(),
    });
    Hierarchy {
        nodes: nodes.collect(),
        unsupported: unsupported.collect(),
        ..Hierarchy::default()
    }
}

/// The nodes that an import of these variables wants and cannot have.
fn missed(selection: Selection) -> Vec<String> {
    let source = hierarchy(
        &[("/air", "lat lon"), ("/lat", ""), ("/soil/wet", "lon")],
        &["/lon", "/other", "/soil/deep", "/soil/lon"],
    );
    let chosen = selection.chosen(source).unsupported;
    chosen.iter().map(|it| it.path.to_string()).collect()
}

#[test]
fn what_a_wished_variable_names_is_missed_if_it_cannot_be_had() {
    let of = |wished: &[&str]| missed(Selection::all().variables(wished.iter().map(|it| path(it))));
    assert_eq!(of(&["/air"]), ["/lon"]);
    assert_eq!(of(&["/lat"]), [""; 0]);
    // The nearest of that name is meant.
    assert_eq!(of(&["/soil/wet"]), ["/soil/lon"]);
    assert_eq!(of(&["/soil"]), ["/soil/deep", "/soil/lon"]);
    // A variable of a group that cannot be had itself.
    assert_eq!(of(&["/other/x"]), ["/other"]);
}

#[test]
fn what_is_left_out_is_not_missed() {
    let wished = Selection::all().variables([path("/soil"), path("/air")]);
    assert_eq!(missed(wished.clone().without([path("/soil")])), ["/lon"]);
    assert_eq!(
        missed(wished.without([path("/soil"), path("/lon")])),
        [""; 0]
    );
    assert_eq!(missed(Selection::all()).len(), 4);
}
