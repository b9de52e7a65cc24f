//! Arrays that some sources lack.

use std::sync::Arc;

use icefield_ingest::{Import, Missing, PlanError, Source};
use serde_json::{Value, json};

use crate::common::numbers::{along_t, chunks, stored, texts, tree, write};
use crate::common::{Tree, array, chain, path, refused, repository, run};

/// A tree with so many elements along `t` of an array that all have, and with `rain`, of which all are `value`, if it is said.
fn period(length: usize, rain: Option<(&Value, f64)>) -> Tree {
    let tree = tree();
    write(
        &tree,
        "air",
        &along_t("int8", length, json!({})),
        &vec![1.0; length],
    );
    if let Some((document, value)) = rain {
        let mut document = document.clone();
        document["shape"] = json!([length]);
        write(&tree, "rain", &document, &vec![value; length]);
    }
    tree
}

fn concat(trees: &[&Tree]) -> Import {
    let mut sources = trees.iter().map(|tree| tree.source() as Arc<dyn Source>);
    let first = sources.next().unwrap();
    Import::new(first).concat("t", sources)
}

/// An array that says by its fill value, or by an attribute alone, what is missing.
fn rain(data_type: &str, fill: Value, attributes: Value) -> Value {
    let mut document = along_t(data_type, 0, attributes);
    document["fill_value"] = fill;
    document
}

#[tokio::test]
async fn what_a_source_lacks_reads_as_missing() {
    let nan = rain("float32", json!("NaN"), json!({}));
    let by_attribute = rain("int16", json!(0), json!({ "missing_value": -9 }));
    let by_both = rain("int16", json!(-1), json!({ "_FillValue": -1 }));
    let zero = rain("float64", json!(0.0), json!({}));
    for (document, missing, written) in [
        (&nan, f64::NAN, false),
        (&by_attribute, -9.0, true),
        (&by_both, -1.0, false),
        (&zero, f64::NAN, true),
    ] {
        // The second of three lacks it, between chunks that are full and within one.
        for length in [4, 3] {
            let trees = [
                period(length, Some((document, 1.0))),
                period(length, None),
                period(length, Some((document, 2.0))),
            ];
            let repository = repository().await;
            let error = refused(concat(&trees.each_ref()), &repository).await;
            let said = chain(&error);
            assert!(said.contains("/rain is not in the source"), "{said}");
            assert!(said.contains("--missing fill"), "{said}");
            let import = concat(&trees.each_ref()).missing(Missing::Fill);
            let report = run(import, &repository).await;
            let [lacking] = &report.lacking[..] else {
                panic!("{:?}", report.lacking);
            };
            assert_eq!((&lacking.path, lacking.is_filled), (&path("/rain"), true));
            assert_eq!(lacking.source, trees[1].source().to_string());
            let (found, values) = stored(&repository, "/rain").await;
            assert_eq!(found["fill_value"], document["fill_value"]);
            let mut expected = vec![1.0; length];
            expected.extend(vec![missing; length]);
            expected.extend(vec![2.0; length]);
            assert_eq!(texts(&values), texts(&expected));
            if length == 4 {
                let count = chunks(&repository, "/rain").await;
                assert_eq!(
                    count,
                    if written { 6 } else { 4 },
                    "absent where that says it"
                );
            }
        }
    }
}

#[tokio::test]
async fn the_first_source_may_lack_it_and_the_repository() {
    let document = rain("float32", json!(0.0), json!({}));
    let (without, with) = (period(3, None), period(3, Some((&document, 5.0))));
    let expected = texts(&[f64::NAN, f64::NAN, f64::NAN, 5.0, 5.0, 5.0]);
    let joined = repository().await;
    let import = concat(&[&without, &with]).missing(Missing::Fill);
    run(import, &joined).await;
    let (found, values) = stored(&joined, "/rain").await;
    assert_eq!(
        (texts(&values), &found["fill_value"]),
        (expected.clone(), &json!(0.0))
    );

    let appended = repository().await;
    run(without.import(), &appended).await;
    let error = chain(&refused(with.import().append("t"), &appended).await);
    assert!(error.contains("/rain does not exist yet"), "{error}");
    let import = with.import().append("t").missing(Missing::Fill);
    let report = run(import, &appended).await;
    assert_eq!(report.new_arrays, 1);
    assert_eq!(report.lacking[0].source, "the repository");
    let (found, values) = stored(&appended, "/rain").await;
    assert_eq!(
        (texts(&values), &found["fill_value"]),
        (expected.clone(), &json!("NaN"))
    );

    // And one that lacks it again.
    let import = without.import().append("t").missing(Missing::Fill);
    run(import, &appended).await;
    let (_, values) = stored(&appended, "/rain").await;
    assert_eq!(texts(&values)[..6], expected);
    assert_eq!(texts(&values)[6..], texts(&[f64::NAN; 3]));
}

#[tokio::test]
async fn what_cannot_read_as_missing_is_refused_by_name() {
    let document = rain("int16", json!(0), json!({ "scale_factor": 2.0 }));
    let (with, without) = (period(2, Some((&document, 5.0))), period(2, None));
    let repository = repository().await;
    let import = concat(&[&with, &without]).missing(Missing::Fill);
    let said = chain(&refused(import, &repository).await);
    let lacks = without.source().to_string();
    for word in ["/rain", "int16", "_FillValue", "--drop /rain", &lacks] {
        assert!(said.contains(word), "{word} is not said: {said}");
    }
    // Labels are never made up.
    let labelled = period(2, None);
    write(
        &labelled,
        "t",
        &along_t("float64", 2, json!({})),
        &[1.0, 2.0],
    );
    let import = concat(&[&labelled, &without]).missing(Missing::Fill);
    let error = refused(import, &repository).await;
    let plan = error.of_one_source();
    assert!(
        matches!(plan, icefield_ingest::ImportError::Plan(PlanError::NotInSource { path: at }) if *at == path("/t")),
        "{error:?}"
    );
}

#[tokio::test]
async fn arrays_without_the_dimension_come_from_those_that_have_them() {
    let with_area = |value: u8| {
        let tree = period(2, None);
        tree.json("area/zarr.json", &array(&[2], &[2], &["x"]))
            .file("area/c/0", [value, value]);
        tree
    };
    let (one, two, other, without) = (with_area(7), with_area(7), with_area(8), period(2, None));
    for order in [
        [&without, &one, &two],
        [&one, &without, &two],
        [&one, &two, &without],
    ] {
        let repository = repository().await;
        let report = run(concat(&order).missing(Missing::Fill), &repository).await;
        assert_eq!(report.lacking.len(), 1, "{:?}", report.lacking);
        assert!(!report.lacking[0].is_filled);
        assert_eq!(stored(&repository, "/area").await.1, [7.0, 7.0]);
        assert_eq!(stored(&repository, "/air").await.1, [1.0; 6]);
    }
    let repository = repository().await;
    let import = concat(&[&without, &one, &other]).missing(Missing::Fill);
    let said = chain(&refused(import, &repository).await);
    assert!(said.contains("/area") && said.contains("differs"), "{said}");
}

#[tokio::test]
async fn a_plan_names_what_is_lacking() {
    let document = rain("float32", json!("NaN"), json!({}));
    let (with, without) = (period(2, Some((&document, 5.0))), period(2, None));
    let repository = repository().await;
    let import = concat(&[&with, &without]).missing(Missing::Fill);
    let main = icefield_core::BranchName::main();
    let plan = import.plan(&repository, main).await.unwrap();
    assert_eq!(plan.lacking.len(), 1);
    let rain = plan
        .arrays
        .iter()
        .find(|it| it.path == path("/rain"))
        .unwrap();
    assert_eq!(
        (rain.copied.0, rain.assembled.0, &rain.shape[..]),
        (1, 0, &[4][..])
    );
}
