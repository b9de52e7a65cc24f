//! Grants of a reader, and the settings that a repository's configuration may have: each rule of decision 11, on the command line.

use std::net::TcpListener;

use icefield::format::config::{HttpOptions, S3Options, VirtualChunkContainer, VirtualStore};
use icefield::{
    BranchName, CommitOutcome, EditOutcome, NodePath, Repository, RepositoryConfig, VirtualRefs,
    VirtualSource, WriteMode,
};
use icefield_testservers::world::Draft;
use icefield_testservers::{FileServer, S3Options as Server, S3Server};

use crate::world::{Run, World, array};

const BYTES: &[u8] = b"abcd";

/// A world with a repository `r`, whose array `x` has one chunk, which lies elsewhere.
fn referring(container: Option<(&str, VirtualStore)>, location: &str) -> World {
    let world = World::new();
    world.ok(&["init", "r"]);
    let mut config = RepositoryConfig::default();
    if let Some((prefix, store)) = container {
        let container = VirtualChunkContainer {
            name: None,
            url_prefix: prefix.to_owned(),
            store,
            unknown: Default::default(),
        };
        config.virtual_chunk_containers = Some([container].into_iter().collect());
    }
    let path = world.path("r").display().to_string();
    icefield::runtime().unwrap().block_on(async {
        let repository = icefield::open(&path).await.unwrap();
        let saved = repository.save_config(config).await.unwrap();
        assert!(matches!(saved, EditOutcome::Done(_)), "{saved:?}");
        refer(&repository, location).await;
    });
    world
}

async fn refer(repository: &Repository, location: &str) {
    let session = repository.write_session(BranchName::main()).await.unwrap();
    let at = NodePath::parse("/x").unwrap();
    let document = serde_json::to_vec(&array(&[4], &[4], &["t"])).unwrap();
    let set = session.set_metadata(&at, document.into(), WriteMode::Overwrite);
    set.await.unwrap();
    let refs = VirtualRefs {
        coordinates: &[0],
        sources: &[VirtualSource::new(location).unwrap()],
        source: &[0],
        offsets: &[0],
        lengths: &[4],
    };
    session.set_virtual_refs_anywhere(&at, refs).await.unwrap();
    let outcome = session.commit("refer").await.unwrap();
    assert!(
        matches!(outcome, CommitOutcome::Committed(_)),
        "{outcome:?}"
    );
}

/// Reads the chunk, with the keys of the server in the environment.
fn read(world: &World, grants: &[&str]) -> Run {
    let mut args = vec!["cat", "r", "x/c/0"];
    for grant in grants {
        args.extend(["--grant", *grant]);
    }
    let mut command = world.command(&args);
    command.env("AWS_ACCESS_KEY_ID", "test");
    command.env("AWS_SECRET_ACCESS_KEY", "testtest");
    let output = command.output().unwrap();
    Run {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

#[track_caller]
fn refused(world: &World, grants: &[&str], hint: &str) {
    let run = read(world, grants);
    assert_ne!(run.code, 0, "{grants:?}: {run:?}");
    assert!(run.stderr.contains(hint), "{grants:?}: {run:?}");
    assert_eq!(run.stdout, "");
}

#[track_caller]
fn granted(world: &World, grants: &[&str]) {
    let run = read(world, grants);
    assert_eq!(
        (run.code, run.stdout.as_bytes()),
        (0, BYTES),
        "{grants:?}: {run:?}"
    );
}

fn s3(endpoint: Option<String>) -> VirtualStore {
    VirtualStore::S3Compatible(S3Options {
        endpoint_url: endpoint,
        region: Some("eu-west-1".to_owned()),
        allow_http: Some(true),
        ..Default::default()
    })
}

fn server() -> S3Server {
    let server = S3Server::start(Server::default());
    let _ = server
        .world()
        .put("bucket", "data/x", Draft::new(BYTES.to_vec()));
    server
}

#[test]
fn a_container_and_a_grant_must_cover_a_location() {
    let world = World::new();
    world.file("data/x", BYTES);
    let data = world.path("data").canonicalize().unwrap();
    let prefix = format!("file://{}/", data.display());
    let location = format!("{prefix}x");
    let local = || VirtualStore::LocalFileSystem(String::new());
    let bare = referring(None, &location);
    refused(&bare, &[&prefix], "no container");
    let world = referring(Some((&prefix, local())), &location);
    refused(&world, &[], "was not granted");
    granted(&world, &[&prefix]);
    // By whole segments.
    let place = prefix.trim_end_matches('/');
    refused(&world, &[&place[..place.len() - 1]], "was not granted");
    refused(&world, &[&format!("{prefix}x/y")], "was not granted");
    // A path that leaves the container is not in it.
    let out = referring(Some((&prefix, local())), &format!("{prefix}../data2/x"));
    refused(&out, &["file:///"], "no container");
    for odd in ["https://me:you@host/", "https://0x7f.1/", "s3://b/a%2Fb"] {
        refused(&world, &[odd], "error");
    }
}

#[test]
fn requests_go_to_no_endpoint_that_only_the_repository_names() {
    let server = server();
    let world = referring(
        Some(("s3://bucket/", s3(Some(server.endpoint())))),
        "s3://bucket/data/x",
    );
    for text in [
        "s3://bucket/",
        "s3://bucket/?credentials",
        "s3://bucket/?endpoint=http://127.0.0.1:1",
        "s3://bucket/?credentials&endpoint=http://127.0.0.1:1",
    ] {
        refused(&world, &[text], &format!("?endpoint={}", server.endpoint()));
    }
    assert!(server.requests().is_empty(), "{:?}", server.requests());
    let named = format!("s3://bucket/?credentials&endpoint={}", server.endpoint());
    granted(&world, &[&named]);
    // Nor where it names none: the grant alone says it.
    let world = referring(Some(("s3://bucket/", s3(None))), "s3://bucket/data/x");
    granted(&world, &[&named]);
}

#[test]
fn nothing_of_the_environment_is_used_unless_the_grant_says_so() {
    let server = server();
    server
        .switches()
        .set(|behaviour| behaviour.anonymous_read = true);
    let world = referring(
        Some(("s3://bucket/", s3(Some(server.endpoint())))),
        "s3://bucket/data/x",
    );
    let unsigned = format!("s3://bucket/?endpoint={}", server.endpoint());
    granted(&world, &[&unsigned]);
    assert!(!server.requests().is_empty());
    assert!(server.requests().iter().all(|request| !request.authorized));
    granted(&world, &[&format!("{unsigned}&credentials")]);
    assert!(server.requests().iter().any(|request| request.authorized));
}

#[test]
fn endpoints_accounts_and_kinds_of_servers_are_the_readers_to_name() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let evil = format!("http://{}", listener.local_addr().unwrap());
    let named = |name: &str, value: &str| [(name.to_owned(), value.to_owned())].into();
    let account = VirtualStore::Azure(named("account", "theirs"));
    let mut both = match &account {
        VirtualStore::Azure(options) => options.clone(),
        _ => unreachable!("BUG: it is of Azure"),
    };
    both.insert("endpoint".to_owned(), evil.clone());
    let tigris = VirtualStore::Tigris(S3Options::default());
    let endpoint = format!("?endpoint={evil}");
    let endpoint = endpoint.as_str();
    for (prefix, store, grant, hint) in [
        (
            "gs://b/",
            VirtualStore::Gcs(named("base_url", &evil)),
            "gs://b/",
            endpoint,
        ),
        (
            "gs://b/",
            VirtualStore::Gcs(named("base_url", &evil)),
            "gs://b/?credentials",
            endpoint,
        ),
        (
            "az://b/",
            VirtualStore::Azure(both.clone()),
            "az://b/?account=theirs",
            endpoint,
        ),
        (
            "az://b/",
            VirtualStore::Azure(both),
            "az://b/?account=theirs&credentials",
            endpoint,
        ),
        ("az://b/", account, "az://b/?credentials", "?account=theirs"),
        ("s3://b/", tigris, "s3://b/?credentials", "?preset=tigris"),
    ] {
        let world = referring(Some((prefix, store)), &format!("{prefix}x"));
        refused(&world, &[grant], hint);
    }
    assert!(listener.accept().is_err(), "it was asked");
}

#[test]
fn tokens_go_through_no_network_in_clear_text() {
    for (prefix, grant) in [
        ("gs://b/", "gs://b/?credentials&endpoint=http://10.0.0.1"),
        (
            "az://b/",
            "az://b/?credentials&account=me&endpoint=http://10.0.0.1",
        ),
    ] {
        let store = match prefix {
            "gs://b/" => VirtualStore::Gcs(Default::default()),
            _ => VirtualStore::Azure(Default::default()),
        };
        let world = referring(Some((prefix, store)), &format!("{prefix}x"));
        refused(&world, &[grant], "clear text");
    }
}

#[test]
fn servers_of_this_machine_are_read_and_headers_sent_only_if_the_grant_says_so() {
    let server = FileServer::in_memory();
    server.put("data/x", BYTES);
    let prefix = format!("{}/", server.url("data"));
    let headers = [("x-theirs".to_owned(), "yes".to_owned())];
    let store = VirtualStore::Http(HttpOptions {
        options: Default::default(),
        headers: headers.into(),
    });
    let world = referring(Some((&prefix, store)), &format!("{prefix}x"));
    refused(&world, &[&prefix], "error");
    refused(&world, &[&format!("{prefix}?headers")], "error");
    assert!(server.requests().is_empty(), "{:?}", server.requests());
    granted(&world, &[&format!("{prefix}?private")]);
    let theirs = |server: &FileServer| {
        let requests = server.requests();
        requests
            .iter()
            .filter(|it| it.header("x-theirs").is_some())
            .count()
    };
    assert_eq!(theirs(&server), 0);
    granted(&world, &[&format!("{prefix}?private&headers")]);
    assert!(theirs(&server) > 0);
}
