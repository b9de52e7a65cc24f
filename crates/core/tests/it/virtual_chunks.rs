//! Chunks in foreign objects: setting references, who may read them, and how few requests that takes.

use std::sync::Arc;

use futures::{StreamExt, TryStreamExt};
use icefield_core::test_suite::Trial;
use icefield_core::test_suite::walk::assert_sound;
use icefield_core::test_suite::words::*;
use icefield_core::{
    ByteRange, ChunkLocation, ChunkRead, EditOutcome, ManifestRewrite, ReadSettings, Repository,
    RepositoryConfig, Session, SessionError, Settings, VirtualAccess, VirtualChecksum,
    VirtualChunkError, VirtualRefs, VirtualRefsError, VirtualSource,
};
use icefield_format::SpecVersion;
use icefield_format::config::{VirtualChunkContainer, VirtualChunkContainers, VirtualStore};
use icefield_storage::Storage;
use icefield_storage::wrap::CountingStorage;

use crate::support::{memory, trial};

fn containers(prefixes: &[&str]) -> RepositoryConfig {
    let container = |prefix: &&str| VirtualChunkContainer {
        name: None,
        url_prefix: (*prefix).to_owned(),
        store: VirtualStore::InMemory,
        unknown: Default::default(),
    };
    let containers: VirtualChunkContainers = prefixes.iter().map(container).collect();
    RepositoryConfig {
        virtual_chunk_containers: Some(containers),
        ..Default::default()
    }
}

fn grants(grants: &[(&str, &Arc<dyn Storage>)]) -> VirtualAccess {
    grants
        .iter()
        .fold(VirtualAccess::none(), |access, (prefix, storage)| {
            let granted = access.grant_storage(prefix, Arc::clone(storage));
            granted.expect("a prefix")
        })
}

fn source(location: &str) -> VirtualSource {
    VirtualSource::new(location).expect("a location")
}

/// References to chunks of one object, one after the other from its beginning.
async fn refer(
    session: &Session,
    at: &str,
    source: &VirtualSource,
    lengths: &[u64],
) -> Result<(), SessionError> {
    let coordinates: Vec<u32> = (0..lengths.len() as u32).collect();
    let offsets: Vec<u64> = lengths
        .iter()
        .scan(0, |next, length| {
            Some(std::mem::replace(next, *next + length))
        })
        .collect();
    let refs = VirtualRefs {
        coordinates: &coordinates,
        sources: std::slice::from_ref(source),
        source: &vec![0; lengths.len()],
        offsets: &offsets,
        lengths,
    };
    session.set_virtual_refs(&path(at), refs).await
}

async fn chunk(session: &Session, at: u32) -> Result<Option<Vec<u8>>, SessionError> {
    let bytes = session.chunk(&path("/a"), &[at], ByteRange::All).await?;
    Ok(bytes.map(|bytes| bytes.to_vec()))
}

fn problem(error: SessionError) -> VirtualChunkError {
    match error {
        SessionError::VirtualChunk { source, .. } => *source,
        other => panic!("{other:?}"),
    }
}

struct World {
    storage: Arc<dyn Storage>,
    archive: Arc<dyn Storage>,
}

impl World {
    /// A repository with the array `/a` whose first chunks are `abc`, `def`, `gh` of one object.
    async fn new(checksum: Option<VirtualChecksum>) -> Self {
        let (storage, archive) = (memory(), memory());
        put(&archive, "x/file", "abcdefgh").await;
        let builder = trial("virtual")
            .builder(&storage)
            .config(containers(&["s3://archive/"]));
        let repository = builder.create().await.expect("created");
        let session = writer(&repository).await;
        set(&session, "/a", array(&[10], &[1])).await;
        let mut file = source("s3://archive//y/../x/file");
        if let Some(checksum) = checksum {
            file = file.with_checksum(checksum);
        }
        refer(&session, "/a", &file, &[3, 3, 2]).await.expect("set");
        commit(&session, "virtual").await;
        Self { storage, archive }
    }

    async fn open(&self, access: VirtualAccess) -> Repository {
        let builder = trial("virtual")
            .builder(&self.storage)
            .virtual_access(access);
        builder.open().await.expect("opened")
    }

    async fn reader(&self, access: VirtualAccess) -> Session {
        read_main(&self.open(access).await).await
    }

    async fn granted(&self) -> Session {
        self.reader(grants(&[("s3://archive", &self.archive)]))
            .await
    }
}

#[tokio::test]
async fn references_are_kept_and_read() {
    let world = World::new(None).await;
    let session = world.granted().await;
    for (at, wanted) in [(0, "abc"), (1, "def"), (2, "gh")] {
        assert_eq!(
            chunk(&session, at).await.expect("read"),
            Some(wanted.into())
        );
    }
    assert_eq!(chunk(&session, 3).await.expect("no such chunk"), None);
    let part = ByteRange::Range { start: 1, end: 3 };
    let part = session.chunk(&path("/a"), &[1], part).await.expect("read");
    assert_eq!(part.as_deref(), Some(&b"ef"[..]));
    let beyond = ByteRange::Range { start: 1, end: 4 };
    let beyond = session.chunk(&path("/a"), &[1], beyond).await;
    assert!(matches!(
        beyond,
        Err(SessionError::RangeOutOfChunk { length: 3, .. })
    ));
    let location = session
        .chunk_location(&path("/a"), &[1])
        .await
        .expect("known");
    let Some(ChunkLocation::Virtual {
        location,
        offset: 3,
        length: 3,
        ..
    }) = location
    else {
        panic!("{location:?}");
    };
    assert_eq!(location, "s3://archive/x/file");
    // There is no answer at once where a store may have to be opened first.
    assert!(
        session
            .try_chunk_blocking(&path("/a"), &[0], ByteRange::All)
            .is_none()
    );
}

#[tokio::test]
async fn uncommitted_references_are_read_and_replaced() {
    let world = World::new(None).await;
    let repository = world
        .open(grants(&[("s3://archive", &world.archive)]))
        .await;
    let session = writer(&repository).await;
    refer(&session, "/a", &source("s3://archive/x/file"), &[1, 2])
        .await
        .expect("set");
    assert_eq!(chunk(&session, 0).await.expect("read"), Some("a".into()));
    assert_eq!(chunk(&session, 1).await.expect("read"), Some("bc".into()));
    assert_eq!(chunk(&session, 2).await.expect("read"), Some("gh".into()));
    write(&session, "/a", &[0], vec![7; 5]).await;
    assert_eq!(chunk(&session, 0).await.expect("read"), Some(vec![7; 5]));
    commit(&session, "less").await;
    let session = world.granted().await;
    assert_eq!(chunk(&session, 0).await.expect("read"), Some(vec![7; 5]));
    assert_eq!(chunk(&session, 1).await.expect("read"), Some("bc".into()));
}

#[tokio::test]
async fn g97_g100_what_was_not_granted_is_not_read() {
    let world = World::new(None).await;
    let other = memory();
    for grant in [
        None,
        Some("s3://archive/x/file"),
        Some("s3://arch"),
        Some("s3://archive/xx"),
        Some("gs://archive"),
        Some("file:///"),
    ] {
        let access = match grant {
            None => VirtualAccess::none(),
            Some(prefix) => grants(&[(prefix, &other)]),
        };
        let session = world.reader(access).await;
        // All else can be read.
        assert_eq!(
            session
                .chunk_location(&path("/a"), &[0])
                .await
                .expect("known")
                .map(|it| it.length()),
            Some(3)
        );
        let error = chunk(&session, 0).await.expect_err("not granted");
        let text = format!("{error}");
        assert!(text.contains("s3://archive/x/file"), "{text}");
        let problem = problem(error);
        assert!(
            matches!(&problem, VirtualChunkError::NotGranted { container } if container == "s3://archive/"),
            "{grant:?}: {problem:?}"
        );
    }
}

#[tokio::test]
async fn a_reference_outside_all_containers_is_neither_set_nor_read() {
    let world = World::new(None).await;
    let repository = world.open(VirtualAccess::none()).await;
    let session = writer(&repository).await;
    for location in [
        "s3://archives/x",
        "s3://archive2/x",
        "file:///etc/passwd",
        "gs://archive/x",
        "s3://archive/../../x",
    ] {
        let set = refer(&session, "/a", &source(location), &[1]).await;
        match set {
            Ok(()) => assert_eq!(location, "s3://archive/../../x", "this stays in the bucket"),
            Err(SessionError::VirtualRefs { source, .. }) => {
                let location = location.to_owned();
                assert_eq!(*source, VirtualRefsError::NoContainer { location });
            }
            other => panic!("{other:?}"),
        }
    }
    // The repository forgets the container: what it refers to is not read any more, whatever is granted.
    let config = containers(&["s3://archive/other/"]);
    let builder = trial("virtual").builder(&world.storage).config(config);
    let builder = builder.virtual_access(grants(&[("s3://archive", &world.archive)]));
    let session = read_main(&builder.open().await.expect("opened")).await;
    let problem = problem(chunk(&session, 0).await.expect_err("forgotten"));
    assert!(
        matches!(problem, VirtualChunkError::NoContainer),
        "{problem:?}"
    );
}

#[tokio::test]
async fn the_longest_grant_opens_the_store() {
    let world = World::new(None).await;
    let (narrow, never) = (memory(), memory());
    put(&narrow, "file", "ABCDEFGH").await;
    let session = world
        .reader(grants(&[
            ("s3://archive", &world.archive),
            ("s3://archive/x", &narrow),
            ("s3://archive/x/fil", &never),
        ]))
        .await;
    assert_eq!(chunk(&session, 1).await.expect("read"), Some("DEF".into()));
}

#[tokio::test]
async fn g101_an_object_that_has_changed_is_an_error() {
    let checks = [
        VirtualChecksum::LastModified(1),
        VirtualChecksum::ETag("of another state".to_owned()),
    ];
    for checksum in checks {
        let world = World::new(Some(checksum)).await;
        let session = world.granted().await;
        let changed = problem(chunk(&session, 0).await.expect_err("changed"));
        assert!(matches!(changed, VirtualChunkError::Changed), "{changed:?}");
        let many = session.get_many(vec![ChunkRead::whole(path("/a"), vec![0])]);
        let many: Result<Vec<_>, _> = many.try_collect().await;
        assert!(matches!(
            problem(many.expect_err("changed")),
            VirtualChunkError::Changed
        ));
    }
    let world = World::new(Some(VirtualChecksum::LastModified(u32::MAX))).await;
    let session = world.granted().await;
    assert_eq!(
        chunk(&session, 0).await.expect("the same"),
        Some("abc".into())
    );
}

#[tokio::test]
async fn missing_and_short_objects_are_errors_and_never_data() {
    let world = World::new(None).await;
    put(&world.archive, "x/file", "abcdefg").await;
    let session = world.granted().await;
    assert_eq!(chunk(&session, 1).await.expect("there"), Some("def".into()));
    let short = problem(chunk(&session, 2).await.expect_err("short"));
    assert!(
        matches!(short, VirtualChunkError::Truncated { end: 8 }),
        "{short:?}"
    );
    // Fetched with others, it is the one that is named.
    let all = (0..3)
        .map(|at| ChunkRead::whole(path("/a"), vec![at]))
        .collect();
    let all: Result<Vec<_>, _> = session.get_many(all).try_collect().await;
    let error = all.expect_err("short");
    assert!(
        matches!(&error, SessionError::VirtualChunk { index, .. } if index[..] == [2]),
        "{error:?}"
    );
    let empty = memory();
    let session = world.reader(grants(&[("s3://archive", &empty)])).await;
    let missing = problem(chunk(&session, 0).await.expect_err("missing"));
    assert!(matches!(missing, VirtualChunkError::Missing), "{missing:?}");
}

#[tokio::test]
async fn columns_are_checked_and_set_whole_or_not_at_all() {
    let world = World::new(None).await;
    let repository = world.open(VirtualAccess::none()).await;
    let session = writer(&repository).await;
    let sources = [source("s3://archive/x/file")];
    let good = VirtualRefs {
        coordinates: &[4, 5],
        sources: &sources,
        source: &[0, 0],
        offsets: &[0, 1],
        lengths: &[1, 1],
    };
    let bad = [
        VirtualRefs {
            coordinates: &[4],
            ..good
        },
        VirtualRefs {
            coordinates: &[4, 5, 6],
            ..good
        },
        VirtualRefs {
            lengths: &[1],
            ..good
        },
        VirtualRefs {
            source: &[0],
            ..good
        },
        VirtualRefs {
            source: &[0, 1],
            ..good
        },
        VirtualRefs {
            sources: &[],
            ..good
        },
        VirtualRefs {
            coordinates: &[4, 10],
            ..good
        },
        VirtualRefs {
            lengths: &[1, 0],
            ..good
        },
        VirtualRefs {
            offsets: &[0, u64::MAX],
            ..good
        },
    ];
    for refs in bad {
        let set = session.set_virtual_refs(&path("/a"), refs).await;
        assert!(
            matches!(set, Err(SessionError::VirtualRefs { .. })),
            "{refs:?}: {set:?}"
        );
    }
    assert!(session.set_virtual_refs(&path("/b"), good).await.is_err());
    assert!(!session.has_changes().expect("sound"));
    session
        .set_virtual_refs(&path("/a"), good)
        .await
        .expect("sound");
    session
        .set_virtual_refs(&path("/a"), VirtualRefs::default())
        .await
        .expect("nothing to do");
    assert_eq!(indices(&session, "/a").await.len(), 5);
}

#[tokio::test]
async fn references_may_be_set_before_there_is_a_container() {
    let (storage, archive) = (memory(), memory());
    put(&archive, "file", "abc").await;
    let repository = trial("anywhere").builder(&storage).create().await;
    let repository = repository.expect("created");
    assert!(!repository.has_stored_config());
    let session = writer(&repository).await;
    set(&session, "/a", array(&[10], &[1])).await;
    let file = [source("s3://archive/file")];
    let refs = VirtualRefs {
        coordinates: &[0],
        sources: &file,
        source: &[0],
        offsets: &[0],
        lengths: &[3],
    };
    let refused = session.set_virtual_refs(&path("/a"), refs).await;
    assert!(matches!(refused, Err(SessionError::VirtualRefs { .. })));
    let wrong = VirtualRefs {
        lengths: &[0],
        ..refs
    };
    let refused = session.set_virtual_refs_anywhere(&path("/a"), wrong).await;
    assert!(matches!(refused, Err(SessionError::VirtualRefs { .. })));
    let set = session.set_virtual_refs_anywhere(&path("/a"), refs).await;
    set.expect("no container is asked for");
    assert!(matches!(
        problem(
            chunk(&session, 0)
                .await
                .expect_err("no configuration says where it is")
        ),
        VirtualChunkError::NoContainer
    ));
    commit(&session, "early").await;
    let saved = repository.save_config(containers(&["s3://archive/"])).await;
    assert!(matches!(saved, Ok(EditOutcome::Done(_))));
    assert!(repository.has_stored_config());
    let opened = trial("anywhere")
        .builder(&storage)
        .virtual_access(grants(&[("s3://archive/", &archive)]))
        .open()
        .await;
    let session = read_main(&opened.expect("opened")).await;
    assert_eq!(
        chunk(&session, 0).await.expect("readable now"),
        Some(b"abc".to_vec())
    );
}

/// A repository with one array of 4 KiB chunks in one object, and the object on a store that counts.
async fn adjacent(count: u32, settings: Settings) -> (Session, CountingStorage) {
    const CHUNK: usize = 4 << 10;
    let archive = memory();
    let bytes: Vec<u8> = (0..count).flat_map(|at| [at as u8; CHUNK]).collect();
    put(&archive, "file", bytes).await;
    let counting = CountingStorage::new(archive);
    let counted: Arc<dyn Storage> = Arc::new(counting.clone());
    let repository = trial("adjacent")
        .builder(&memory())
        .settings(settings)
        .config(containers(&["file:///data"]))
        .virtual_access(grants(&[("file:///data", &counted)]))
        .create()
        .await
        .expect("created");
    let session = writer(&repository).await;
    set(&session, "/a", array(&[u64::from(count)], &[1])).await;
    let lengths = vec![CHUNK as u64; count as usize];
    refer(&session, "/a", &source("file:///data/file"), &lengths)
        .await
        .expect("set");
    commit(&session, "references").await;
    (read_main(&repository).await, counting)
}

fn whole(indices: impl IntoIterator<Item = u32>) -> Vec<ChunkRead> {
    let reads = indices
        .into_iter()
        .map(|at| ChunkRead::whole(path("/a"), vec![at]));
    reads.collect()
}

#[tokio::test]
async fn ten_thousand_chunks_take_a_fiftieth_of_the_requests_at_most() {
    let (session, counting) = adjacent(10_000, Settings::default()).await;
    counting.reset();
    let mut seen = vec![false; 10_000];
    let mut found = session.get_many(whole((0..10_000).rev()));
    while let Some((at, bytes)) = found.try_next().await.expect("read") {
        let chunk = 9_999 - at;
        let bytes = bytes.expect("there");
        assert_eq!(bytes.len(), 4 << 10);
        assert!(bytes.iter().all(|byte| *byte == chunk as u8));
        assert!(!std::mem::replace(&mut seen[chunk], true), "each once");
    }
    assert!(seen.iter().all(|seen| *seen));
    let total = counting.snapshot().total;
    assert_eq!(total.bytes_read, 10_000 * (4 << 10), "nothing twice");
    assert!(total.get <= 10_000 / 50, "{total:?}");
}

#[tokio::test]
async fn no_more_is_fetched_ahead_of_its_reader_than_may_be_buffered() {
    let reads = ReadSettings::default()
        .with_coalescing(0, 16 << 10)
        .with_in_flight(100, 64 << 10);
    let (session, counting) = adjacent(500, Settings::default().with_reads(reads)).await;
    counting.reset();
    let mut found = session.get_many(whole(0..500));
    let mut taken = 0;
    while found.try_next().await.expect("read").is_some() {
        taken += 1;
        let read = counting.snapshot().total.bytes_read;
        // One request may have been handed out but for its last chunk.
        assert!(
            read <= taken * (4 << 10) + (64 << 10) + (16 << 10),
            "{taken}: {read}"
        );
    }
    assert_eq!(taken, 500);
    assert_eq!(
        counting.snapshot().total.get,
        125,
        "four chunks to a request"
    );
}

#[tokio::test]
async fn all_kinds_of_chunks_are_read_together() {
    let world = World::new(None).await;
    let repository = world
        .open(grants(&[("s3://archive", &world.archive)]))
        .await;
    let session = writer(&repository).await;
    write(&session, "/a", &[5], vec![5; 5]).await;
    write(&session, "/a", &[6], vec![6; 2000]).await;
    commit(&session, "others").await;
    let session = writer(&repository).await;
    write(&session, "/a", &[7], vec![7; 3000]).await;
    let mut reads = whole([6, 1, 9, 5, 7, 1, 0]);
    reads.push(ChunkRead::whole(path("/nowhere"), vec![0]));
    reads[4].range = ByteRange::Suffix { length: 4 };
    let mut found: Vec<_> = session.get_many(reads).try_collect().await.expect("read");
    found.sort_unstable_by_key(|(at, _)| *at);
    let found: Vec<Option<Vec<u8>>> = found
        .into_iter()
        .map(|(_, bytes)| bytes.map(|bytes| bytes.to_vec()))
        .collect();
    let wanted: Vec<Option<Vec<u8>>> = vec![
        Some(vec![6; 2000]),
        Some("def".into()),
        None,
        Some(vec![5; 5]),
        Some(vec![7; 4]),
        Some("def".into()),
        Some("abc".into()),
        None,
    ];
    assert_eq!(found, wanted);
    assert!(session.get_many(Vec::new()).next().await.is_none());
}

/// As the section `virtual_chunk_location_compression` of `manifest` says it.
fn compressing(from: u16) -> RepositoryConfig {
    let text = format!(
        "manifest:\n  virtual_chunk_location_compression:\n    min_num_chunks: {from}\n\
         virtual_chunk_containers: {{}}\n"
    );
    let config = RepositoryConfig::decode(text.as_bytes()).expect("a configuration");
    RepositoryConfig {
        virtual_chunk_containers: containers(&["s3://archive/"]).virtual_chunk_containers,
        ..config
    }
}

/// One reference to a file of its own for each chunk from one on.
async fn refer_to_files(session: &Session, from: u32, count: u32) {
    let coordinates: Vec<u32> = (from..from + count).collect();
    let file = |at| source(&format!("s3://archive/some/model/run-7/output-{at:06}.nc"));
    let sources: Vec<VirtualSource> = coordinates.iter().map(file).collect();
    let refs = VirtualRefs {
        coordinates: &coordinates,
        sources: &sources,
        source: &(0..count).collect::<Vec<u32>>(),
        offsets: &vec![3; count as usize],
        lengths: &vec![9; count as usize],
    };
    session
        .set_virtual_refs(&path("/a"), refs)
        .await
        .expect("set");
}

/// The dictionary of the one manifest, and all locations.
async fn stored_locations(repository: &Repository) -> (Option<Vec<u8>>, Vec<String>) {
    let session = read_main(repository).await;
    let snapshot = session.snapshot_id().expect("sound");
    let snapshot = repository.snapshot(snapshot).await.expect("readable");
    let mut files = snapshot.manifest_files();
    let (file, None) = (files.next().expect("one"), files.next()) else {
        panic!("one manifest")
    };
    let manifest = repository.manifest(file.id).await.expect("readable");
    let dictionary = manifest.location_dictionary().map(<[u8]>::to_vec);
    let chunks = chunk_list(&session, "/a").await.into_iter();
    let locations = chunks.map(|chunk| match chunk.location {
        ChunkLocation::Virtual { location, .. } => location,
        other => panic!("{other:?}"),
    });
    (dictionary, locations.collect())
}

#[tokio::test]
async fn locations_are_compressed_where_the_configuration_asks_for_it() {
    for (spec, config, expected) in [
        (SpecVersion::V2, compressing(1500), true),
        (SpecVersion::V2, compressing(3000), false),
        (SpecVersion::V2, containers(&["s3://archive/"]), false),
        (SpecVersion::V1, compressing(1500), false),
    ] {
        let storage = memory();
        let trial = Trial::new("locations", spec, |_| async { memory() });
        let builder = trial.builder(&storage).config(config);
        let repository = builder.create().await.expect("created");
        let session = writer(&repository).await;
        set(&session, "/a", array(&[5000], &[1])).await;
        refer_to_files(&session, 0, 1000).await;
        commit(&session, "few").await;
        let few = stored_locations(&repository).await;
        assert_eq!((few.0, few.1.len()), (None, 1000));

        // Another process, which has the configuration from the store.
        let repository = trial.open(&storage).await;
        let session = writer(&repository).await;
        refer_to_files(&session, 1000, 1000).await;
        commit(&session, "many").await;
        let repository = trial.open(&storage).await;
        let many = stored_locations(&repository).await;
        assert_eq!(many.0.is_some(), expected, "{spec}");
        assert_eq!(many.1.len(), 2000);
        for (at, location) in many.1.iter().enumerate() {
            let wanted = format!("s3://archive/some/model/run-7/output-{at:06}.nc");
            assert_eq!(*location, wanted);
        }
        // Manifests that are rewritten go through the same.
        let session = writer(&repository).await;
        let rewritten = session
            .commit("again")
            .rewrite_manifests(ManifestRewrite::All)
            .allow_empty();
        assert!(rewritten.await.is_ok());
        assert_eq!(stored_locations(&repository).await, many);
        assert_sound(&storage).await;
    }
}
