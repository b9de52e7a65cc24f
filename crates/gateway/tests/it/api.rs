//! The JSON API of the explorer.

use serde_json::{Value, json};

use crate::world::{GROUP, Store, World, array, bytes, chunk, commit, put};

async fn get(world: &World, target: &str) -> Value {
    let reply = world.get(target).await;
    assert_eq!(reply.status, 200, "{target}: {}", reply.text());
    assert_eq!(
        reply.header("content-type"),
        Some("application/json; charset=utf-8")
    );
    reply.json()
}

#[tokio::test]
async fn the_index_says_where_the_data_are() {
    let (store, _) = Store::small().await;
    let world = World::serving(&store).await;
    world.reads();
    let index = get(&world, "/-/api").await;
    assert_eq!(get(&world, "/-/api/").await, index);
    let expected = json!({
        "name": "ocean", "location": "memory:", "spec_version": 1, "base": "/", "v2_base": "/-/v2/",
        "raw_base": "/-/raw/", "s3": null, "default": "main",
    });
    assert_eq!(index["repositories"][0], expected);
    assert_eq!(world.reads().total.requests(), 0);
}

#[tokio::test]
async fn refs_and_snapshots_are_described() {
    let (store, id) = Store::small().await;
    icefield::landed(store.writer.create_tag("v1", id).await.unwrap()).unwrap();
    let world = World::serving(&store).await;
    let refs = get(&world, "/-/api/ocean/refs").await;
    assert_eq!(
        refs["branches"][0],
        json!({ "name": "main", "snapshot": id.to_string(), "error": null })
    );
    assert_eq!(refs["tags"][0]["name"], "v1");
    let resolved = get(&world, "/-/api/ocean/resolve/main").await;
    assert_eq!(
        (&resolved["snapshot"], &resolved["message"]),
        (&json!(id.to_string()), &json!("small"))
    );
    assert_eq!(resolved["refs"], json!(["main", "tag:v1"]));
    for (text, kind) in [
        ("main", "branch"),
        ("v1", "tag"),
        ("tag%3Av1", "tag"),
        (&id.to_string(), "snapshot"),
    ] {
        assert_eq!(
            get(&world, &format!("/-/api/ocean/resolve/{text}")).await["kind"],
            kind
        );
    }
    assert_eq!(world.get("/-/api/ocean/resolve/nowhere").await.status, 404);
    assert_eq!(world.get("/-/api/elsewhere/refs").await.status, 404);
}

#[tokio::test]
async fn a_history_comes_in_pages_newest_first() {
    let (store, first) = Store::small().await;
    icefield::landed(store.writer.create_branch("dev", first).await.unwrap()).unwrap();
    let mut ids = vec![first.to_string()];
    for number in 0..6 {
        let session = store.session().await;
        chunk(&session, "/g/a", &[0], bytes(number, 2000)).await;
        ids.push(
            commit(&session, &format!("commit {number}"))
                .await
                .to_string(),
        );
    }
    let world = World::serving(&store).await;
    let (mut found, mut cursor) = (Vec::new(), String::new());
    for _ in 0..10 {
        let page = get(
            &world,
            &format!("/-/api/ocean/history?limit=3&cursor={cursor}"),
        )
        .await;
        let snapshots = page["snapshots"].as_array().unwrap();
        assert!(snapshots.len() <= 3);
        found.extend(
            snapshots
                .iter()
                .map(|it| it["id"].as_str().unwrap().to_owned()),
        );
        match page["next"].as_str() {
            Some(next) => cursor = next.to_owned(),
            None => break,
        }
    }
    // The first snapshot of the repository comes last.
    assert_eq!(found.len(), ids.len() + 1);
    ids.reverse();
    assert_eq!(found[..ids.len()], ids);
    let page = get(&world, "/-/api/ocean/history?from=dev").await;
    assert_eq!(page["snapshots"].as_array().unwrap().len(), 2);
    let page = get(&world, "/-/api/ocean/history?q=COMMIT%204").await;
    assert_eq!(page["snapshots"][0]["message"], "commit 4");
    assert_eq!(page["snapshots"].as_array().unwrap().len(), 1);
    assert_eq!(
        world
            .get("/-/api/ocean/history?cursor=nonsense")
            .await
            .status,
        400
    );
}

#[tokio::test]
async fn a_hierarchy_comes_in_pages_and_is_searched() {
    let (store, id) = Store::small().await;
    let world = World::serving(&store).await;
    let tree = get(&world, &format!("/-/api/ocean/tree/{id}")).await;
    let paths = |tree: &Value| -> Vec<String> {
        let nodes = tree["nodes"].as_array().unwrap();
        nodes
            .iter()
            .map(|node| node["path"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(paths(&tree), ["/", "/g", "/g/a"]);
    assert_eq!(
        (&tree["total"], &tree["arrays"], &tree["groups"]),
        (&json!(3), &json!(1), &json!(2))
    );
    let node = &tree["nodes"][2];
    assert_eq!(node["shape"], json!([4]));
    assert_eq!(
        (&node["data_type"], &node["codecs"]),
        (&json!("uint8"), &json!(["bytes"]))
    );
    assert_eq!(
        (&node["depth"], &node["kind"]),
        (&json!(2), &json!("array"))
    );
    let page = get(&world, &format!("/-/api/ocean/tree/{id}?offset=1&limit=1")).await;
    assert_eq!(
        (paths(&page), &page["total"]),
        (vec!["/g".to_owned()], &json!(3))
    );
    let hidden = get(&world, &format!("/-/api/ocean/tree/{id}?hide=%2Fg")).await;
    assert_eq!(paths(&hidden), ["/", "/g"]);
    let found = get(&world, &format!("/-/api/ocean/tree/{id}?q=UINT8")).await;
    assert_eq!(paths(&found), ["/", "/g", "/g/a"]);
    let found = get(&world, &format!("/-/api/ocean/tree/{id}?q=nothing")).await;
    assert_eq!(found["total"], 0);
    let node = get(&world, &format!("/-/api/ocean/node/{id}?path=/g/a")).await;
    assert_eq!(node["document"], array(4));
    assert_eq!(
        world
            .get(&format!("/-/api/ocean/node/{id}?path=/x"))
            .await
            .status,
        404
    );
    assert_eq!(
        world.get(&format!("/-/api/ocean/node/{id}")).await.status,
        400
    );
}

#[tokio::test]
async fn chunks_are_summed_up_and_mapped() {
    let (store, id) = Store::small().await;
    let world = World::serving(&store).await;
    let sizes = get(
        &world,
        &format!("/-/api/ocean/sizes/{id}?path=/g/a&path=/nothing"),
    )
    .await;
    let totals = &sizes["sizes"][0];
    assert_eq!(totals["native"], json!({ "count": 2, "bytes": 5000 }));
    assert_eq!(totals["inline"], json!({ "count": 1, "bytes": 6 }));
    assert_eq!(totals["missing"], 1);
    assert!(sizes["sizes"][1]["error"].is_string());
    let map = get(&world, &format!("/-/api/ocean/chunks/{id}?path=/g/a")).await;
    assert_eq!(
        (&map["grid"], &map["cell"], &map["exact"]),
        (&json!([4]), &json!([1]), &json!(true))
    );
    assert_eq!(map["cells"]["index"], json!([0, 1, 2]));
    assert_eq!(map["cells"]["native"], json!([1, 1, 0]));
    assert_eq!(map["cells"]["bytes"], json!([2000, 3000, 6]));
    let one = get(
        &world,
        &format!("/-/api/ocean/chunk/{id}?path=/g/a&index=1"),
    )
    .await;
    assert_eq!(
        (&one["kind"], &one["bytes"]),
        (&json!("native"), &json!(3000))
    );
    assert!(one["key"].as_str().unwrap().starts_with("chunks/"));
    let missing = get(
        &world,
        &format!("/-/api/ocean/chunk/{id}?path=/g/a&index=3"),
    )
    .await;
    assert_eq!(missing["kind"], "missing");
    assert_eq!(
        world
            .get(&format!("/-/api/ocean/chunk/{id}?path=/g/a&index=9"))
            .await
            .status,
        404
    );
    assert_eq!(
        world
            .get(&format!("/-/api/ocean/chunk/{id}?path=/g&index=0"))
            .await
            .status,
        404
    );
}

#[tokio::test]
async fn differences_name_nodes_and_chunks() {
    let (store, first) = Store::small().await;
    let session = store.session().await;
    chunk(&session, "/g/a", &[1], bytes(9, 3000)).await;
    put(&session, "/new", &array(1)).await;
    put(&session, "/g", &GROUP.replace("{}", r#"{"x": 1}"#)).await;
    let second = commit(&session, "changes").await;
    let world = World::serving(&store).await;
    let diff = get(
        &world,
        &format!("/-/api/ocean/diff?from={first}&to={second}"),
    )
    .await;
    let rows: Vec<_> = diff["nodes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| {
            (
                row["path"].as_str().unwrap(),
                row["change"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        rows,
        [("/g", "updated"), ("/g/a", "chunks"), ("/new", "added")]
    );
    assert_eq!(
        (&diff["total"], &diff["counts"]["chunks"]),
        (&json!(3), &json!(1))
    );
    assert_eq!(
        (&diff["from"]["id"], &diff["to"]["message"]),
        (&json!(first.to_string()), &json!("changes"))
    );
    let node = get(
        &world,
        &format!("/-/api/ocean/diff-node?from={first}&to={second}&path=/g/a"),
    )
    .await;
    assert_eq!(
        (&node["changed"], &node["cells"]["index"]),
        (&json!(1), &json!([1]))
    );
    assert_eq!(node["from_document"], node["to_document"]);
    let reply = world
        .get(&format!("/-/api/ocean/diff?from={first}&to={second}"))
        .await;
    assert!(reply.header("cache-control").unwrap().contains("immutable"));
    let reply = world
        .get(&format!("/-/api/ocean/diff?from={first}&to=main"))
        .await;
    assert_eq!(reply.header("cache-control"), Some("no-cache"));
}

#[tokio::test]
async fn the_last_requests_are_listed() {
    let (store, _) = Store::small().await;
    let world = World::serving(&store).await;
    world.get("/main/zarr.json").await;
    world.get("/main/.zgroup").await;
    let log = get(&world, "/-/api/requests").await;
    assert_eq!(log["requests"][0]["path"], "/main/.zgroup");
    assert_eq!(
        (&log["requests"][1]["status"], &log["last"]),
        (&json!(200), &json!(2))
    );
    let later = get(&world, "/-/api/requests?after=1").await;
    assert_eq!(
        (later["requests"].as_array().unwrap().len(), &later["last"]),
        (1, &json!(2))
    );
}

#[tokio::test]
async fn blame_names_the_last_commit_of_each_chunk() {
    let (store, _) = Store::small().await;
    let session = store.session().await;
    chunk(&session, "/g/a", &[1], bytes(9, 3000)).await;
    let second = commit(&session, "second").await;
    let world = World::serving(&store).await;
    let blame = get(&world, &format!("/-/api/ocean/blame/{second}?path=/g/a")).await;
    let messages: Vec<_> = blame["commits"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| &it["message"])
        .collect();
    assert_eq!(messages, ["second", "small"]);
    assert_eq!(
        blame["cells"],
        json!({ "index": [0, 1, 2], "commit": [1, 0, 1] })
    );
    assert_eq!(
        (&blame["unknown"], &blame["next"]),
        (&json!(0), &json!(null))
    );
}

#[tokio::test]
async fn sizes_and_checks_are_those_of_the_command_line() {
    let (store, _) = Store::small().await;
    let world = World::serving(&store).await;
    let summary = get(&world, "/-/api/ocean/du").await;
    assert_eq!(summary["native"], json!({ "count": 2, "bytes": 5000 }));
    for by in ["array", "ref", "commit", "container"] {
        let table = get(&world, &format!("/-/api/ocean/du?by={by}")).await;
        assert_eq!(table["by"], by);
        assert!(table["rows"].is_array());
    }
    assert_eq!(world.get("/-/api/ocean/du?by=colour").await.status, 400);
    world.reads();
    let report = get(&world, "/-/api/ocean/fsck").await;
    assert_eq!(
        (&report["sound"], &report["damage"]),
        (&json!(true), &json!(0))
    );
    let reads = world.reads();
    assert_eq!((reads.of("chunks").get, reads.total.writes()), (0, 0));
}

/// As many tips as a URL cannot spell.
#[tokio::test]
async fn a_history_of_many_branches_comes_in_pages() {
    let (store, first) = Store::small().await;
    let mut expected = vec![first.to_string()];
    for number in 0..170 {
        let name = format!("b{number}");
        icefield::landed(store.writer.create_branch(&name, first).await.unwrap()).unwrap();
        let branch = icefield::BranchName::parse(&name).unwrap();
        let session = store.writer.write_session(branch).await.unwrap();
        put(&session, "/x", &array(1)).await;
        expected.push(commit(&session, &name).await.to_string());
    }
    let world = World::serving(&store).await;
    let (mut found, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = get(&world, &format!("/-/api/ocean/history?cursor={cursor}")).await;
        let snapshots = page["snapshots"].as_array().unwrap().iter();
        found.extend(snapshots.map(|it| it["id"].as_str().unwrap().to_owned()));
        match page["next"].as_str() {
            Some(next) => cursor = next.to_owned(),
            None => break,
        }
        assert!(cursor.len() < 2000, "{} bytes of a cursor", cursor.len());
    }
    expected.sort_unstable();
    found.sort_unstable();
    found.retain(|id| expected.contains(id));
    assert_eq!(found, expected);
    let forgotten = world.get("/-/api/ocean/history?cursor=~0").await;
    assert_eq!(forgotten.status, 410);
}
