//! Reads while others commit: a pinned version stays, and the header is true.

use std::collections::HashMap;
use std::sync::Mutex;

use crate::world::{Store, World, array, bytes, chunk, commit, put};

const COMMITS: u8 = 200;
const CLIENTS: usize = 8;

#[tokio::test(flavor = "multi_thread")]
async fn eight_clients_read_a_branch_through_commits() {
    let store = Store::new().await;
    let session = store.session().await;
    put(&session, "/a", &array(2)).await;
    chunk(&session, "/a", &[0], bytes(0, 600)).await;
    chunk(&session, "/a", &[1], bytes(0, 600)).await;
    let first = commit(&session, "0").await;
    let world = World::serving(&store).await;
    let snapshots = Mutex::new(HashMap::from([(first.to_string(), 0_u8)]));
    let done = tokio::sync::watch::channel(false);
    let seen = Mutex::new(Vec::new());
    let writer = async {
        for number in 1..=COMMITS {
            let session = store.session().await;
            chunk(&session, "/a", &[0], bytes(number, 600)).await;
            chunk(&session, "/a", &[1], bytes(number, 600)).await;
            let id = commit(&session, "next").await;
            snapshots.lock().unwrap().insert(id.to_string(), number);
        }
        done.0.send(true).unwrap();
    };
    let clients = (0..CLIENTS).map(|client| {
        let (world, seen, done) = (&world, &seen, done.1.clone());
        async move {
            while !*done.borrow() {
                let reply = world.get(&format!("/main/a/c/{}", client % 2)).await;
                assert_eq!(reply.status, 200);
                let id = reply.header("x-icefield-snapshot").unwrap().to_owned();
                seen.lock().unwrap().push((id, reply.body));
                // The first version, again and again, while others commit.
                let pinned = world.get(&format!("/{first}/a/c/{}", client % 2)).await;
                assert_eq!((pinned.status, &pinned.body), (200, &bytes(0, 600)));
                assert_eq!(
                    pinned.header("x-icefield-snapshot"),
                    Some(&*first.to_string())
                );
            }
        }
    });
    futures::future::join(writer, futures::future::join_all(clients)).await;
    let snapshots = snapshots.into_inner().unwrap();
    let seen = seen.into_inner().unwrap();
    assert!(!seen.is_empty());
    for (id, body) in seen {
        assert_eq!(
            body,
            bytes(snapshots[&id], 600),
            "the header names the snapshot of the bytes"
        );
    }
    for (id, number) in &snapshots {
        for index in 0..2 {
            let reply = world.get(&format!("/{id}/a/c/{index}")).await;
            assert_eq!(reply.body, bytes(*number, 600), "pinned");
        }
    }
}

#[tokio::test]
async fn a_branch_that_is_deleted_while_it_is_read_is_gone() {
    let (store, id) = Store::small().await;
    icefield::landed(store.writer.create_branch("dev", id).await.unwrap()).unwrap();
    let world = World::serving(&store).await;
    assert_eq!(world.get("/dev/zarr.json").await.status, 200);
    let dev = icefield::BranchName::parse("dev").unwrap();
    icefield::landed(store.writer.delete_branch(&dev).await.unwrap()).unwrap();
    assert_eq!(world.get("/dev/zarr.json").await.status, 404);
    assert_eq!(world.get(&format!("/{id}/zarr.json")).await.status, 200);
}
