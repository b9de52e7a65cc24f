//! A million references: set, changed, found, shifted.

use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use futures::FutureExt as _;
use icechunk::format::ChunkIndices;
use icechunk::format::manifest::{ChunkPayload, VirtualChunkLocation, VirtualChunkRef};
use icefield::format::config::{VirtualChunkContainer, VirtualChunkContainers, VirtualStore};
use icefield::{NodePath, RepositoryConfig, VirtualRefs, VirtualSource};

use crate::sides::{
    Amount, Side, Stopwatch, array, copy, create, memory, read, read_theirs, scattered, store,
    write, write_theirs,
};
use crate::{Figures, Workload};

const SIDES: &[Side] = &[Side::Icefield, Side::Icechunk];
/// Chunks of a source, and bytes of each.
const EACH: usize = 1000;
const CHUNK: u64 = 4096;
/// References that are looked up.
const LOOKUPS: usize = 100_000;

pub(crate) fn workloads() -> Vec<Workload> {
    vec![
        Workload {
            name: "references",
            sides: SIDES,
            prepare: |common, amount| prepare(common, amount).boxed_local(),
            run: |side, common, own, amount| set(side, common, own, amount).boxed_local(),
        },
        Workload {
            name: "change",
            sides: SIDES,
            prepare: |common, amount| filled(common, amount, Splits::Default).boxed_local(),
            run: |side, common, own, amount| change(side, common, own, amount).boxed_local(),
        },
        Workload {
            name: "find-split",
            sides: SIDES,
            prepare: |common, amount| filled(common, amount, Splits::Cells).boxed_local(),
            run: |side, common, _, amount| find(side, common, amount, "split").boxed_local(),
        },
        Workload {
            name: "find",
            sides: SIDES,
            prepare: |common, amount| filled(common, amount, Splits::One).boxed_local(),
            run: |side, common, _, amount| {
                find(side, common, amount, "in one manifest").boxed_local()
            },
        },
        Workload {
            name: "shift",
            sides: SIDES,
            prepare: |common, amount| filled(common, amount, Splits::One).boxed_local(),
            run: |side, common, own, _| shift(side, common, own).boxed_local(),
        },
    ]
}

fn sources(amount: Amount) -> usize {
    amount.of(1000, 3)
}

fn location(source: usize) -> String {
    format!("s3://archive/year=2000/file-{source:05}.nc")
}

fn index(source: usize, at: usize) -> [u32; 3] {
    [source as u32, (at / 100) as u32, (at % 100) as u32]
}

fn path() -> Result<NodePath> {
    Ok(NodePath::parse("/a")?)
}

/// How the manifests of a repository are split.
enum Splits {
    /// As each side does on its own account.
    Default,
    /// A manifest for each 50 sources.
    Cells,
    /// Not at all.
    One,
}

fn config(splits: &Splits) -> Result<RepositoryConfig> {
    let rule = match splits {
        Splits::Default => None,
        Splits::Cells => Some("[{condition: !Axis 0, num_chunks: 50}]"),
        Splits::One => Some("[{condition: Any, num_chunks: 4000000000}]"),
    };
    let config = match rule {
        Some(rule) => {
            let text =
                format!("manifest:\n  splitting:\n    split_sizes:\n    - [any_array, {rule}]\n");
            RepositoryConfig::decode(text.as_bytes())?
        }
        None => RepositoryConfig::default(),
    };
    let container = VirtualChunkContainer {
        name: None,
        url_prefix: "s3://archive/".to_owned(),
        store: VirtualStore::S3(Default::default()),
        unknown: Default::default(),
    };
    Ok(RepositoryConfig {
        virtual_chunk_containers: Some(VirtualChunkContainers::from_iter([container])),
        ..config
    })
}

async fn empty(folder: &Path, amount: Amount, splits: Splits) -> Result<()> {
    let document = array(&[sources(amount), EACH / 100, 100], &[1, 1, 1]);
    create(folder, config(&splits)?, &[("/a".to_owned(), document)]).await?;
    Ok(())
}

async fn prepare(common: &Path, amount: Amount) -> Result<()> {
    empty(common, amount, Splits::Default).await
}

async fn filled(common: &Path, amount: Amount, splits: Splits) -> Result<()> {
    empty(common, amount, splits).await?;
    let arguments = Arguments::new(amount)?;
    let session = write(common).await?;
    session.set_virtual_refs(&path()?, arguments.refs()).await?;
    icefield::committed(session.commit("references").await?)?;
    Ok(())
}

/// References in the columns that ours takes.
struct Arguments {
    coordinates: Vec<u32>,
    sources: Vec<VirtualSource>,
    source: Vec<u32>,
    offsets: Vec<u64>,
    lengths: Vec<u64>,
}

impl Arguments {
    fn new(amount: Amount) -> Result<Self> {
        let count = sources(amount) * EACH;
        let rows = (0..count).map(|row| (row / EACH, row % EACH));
        let sources = (0..sources(amount)).map(|source| VirtualSource::new(&location(source)));
        Ok(Self {
            coordinates: rows
                .clone()
                .flat_map(|(source, at)| index(source, at))
                .collect(),
            sources: sources.collect::<Result<_, _>>()?,
            source: rows.clone().map(|(source, _)| source as u32).collect(),
            offsets: rows.map(|(_, at)| at as u64 * CHUNK).collect(),
            lengths: vec![CHUNK; count],
        })
    }

    fn refs(&self) -> VirtualRefs<'_> {
        VirtualRefs {
            coordinates: &self.coordinates,
            sources: &self.sources,
            source: &self.source,
            offsets: &self.offsets,
            lengths: &self.lengths,
        }
    }
}

fn reference(source: usize, at: usize) -> Result<VirtualChunkRef> {
    Ok(VirtualChunkRef {
        location: VirtualChunkLocation::from_url(&location(source))?,
        offset: at as u64 * CHUNK,
        length: CHUNK,
        checksum: None,
    })
}

/// Sets all references in one call and commits them. Making the arguments, in the form that each side takes, does not count.
async fn set(side: Side, common: &Path, own: &Path, amount: Amount) -> Result<Figures> {
    copy(common, own)?;
    let count = sources(amount) * EACH;
    let (seconds, before) = if side == Side::Icefield {
        let arguments = Arguments::new(amount)?;
        let session = write(own).await?;
        let (before, watch) = (memory("VmRSS"), Stopwatch::start());
        session.set_virtual_refs(&path()?, arguments.refs()).await?;
        icefield::committed(session.commit("references").await?)?;
        (watch.each(1), before)
    } else {
        let mut refs = Vec::with_capacity(count);
        for row in 0..count {
            let (source, at) = (row / EACH, row % EACH);
            refs.push((
                ChunkIndices(index(source, at).to_vec()),
                reference(source, at)?,
            ));
        }
        let store = store(write_theirs(own).await?).await;
        let (before, watch) = (memory("VmRSS"), Stopwatch::start());
        store
            .set_virtual_refs(&"/a".try_into()?, true, refs)
            .await?;
        store
            .session()
            .write()
            .await
            .commit("references")
            .execute()
            .await?;
        (watch.each(1), before)
    };
    let grown = (memory("VmHWM") - before) / count as f64;
    Ok(vec![
        ("set and commit 1 M references".to_owned(), seconds),
        ("bytes of memory per reference".to_owned(), grown),
    ])
}

async fn change(side: Side, common: &Path, own: &Path, amount: Amount) -> Result<Figures> {
    copy(common, own)?;
    let at = index(sources(amount) / 2, 500);
    let opened = Stopwatch::start();
    if side == Side::Icefield {
        let found = read(own).await?.chunk_location(&path()?, &at).await?;
        ensure!(found.is_some(), "no reference");
    } else {
        let found = read_theirs(own)
            .await?
            .get_chunk_ref(&"/a".try_into()?, &ChunkIndices(at.to_vec()))
            .await?;
        ensure!(found.is_some(), "no reference");
    }
    let opened = opened.each(1);
    let bytes = |folder: &Path| -> Result<u64> {
        let lengths = crate::sides::files(folder)?
            .into_iter()
            .map(|file| Ok(file.metadata()?.len()));
        lengths.sum::<Result<u64>>()
    };
    let before = bytes(own)?;
    // Of a session that has read something, so that the change alone counts.
    let seconds = if side == Side::Icefield {
        let session = write(own).await?;
        session.chunk_location(&path()?, &at).await?;
        let source = [VirtualSource::new(&location(0))?];
        let refs = VirtualRefs {
            coordinates: &at,
            sources: &source,
            source: &[0],
            offsets: &[17],
            lengths: &[CHUNK],
        };
        let watch = Stopwatch::start();
        session.set_virtual_refs(&path()?, refs).await?;
        icefield::committed(session.commit("one").await?)?;
        watch.each(1)
    } else {
        let mut session = write_theirs(own).await?;
        session
            .get_chunk_ref(&"/a".try_into()?, &ChunkIndices(at.to_vec()))
            .await?;
        let payload = ChunkPayload::Virtual(reference(0, 1)?);
        let watch = Stopwatch::start();
        session
            .set_chunk_ref("/a".try_into()?, ChunkIndices(at.to_vec()), Some(payload))
            .await?;
        session.commit("one").execute().await?;
        watch.each(1)
    };
    Ok(vec![
        ("open to 1 of 1 M references".to_owned(), opened),
        ("change 1 of 1 M references".to_owned(), seconds),
        (
            "bytes written by that change".to_owned(),
            (bytes(own)? - before) as f64,
        ),
    ])
}

async fn find(side: Side, common: &Path, amount: Amount, layout: &str) -> Result<Figures> {
    let count = sources(amount) * EACH;
    let lookups = amount.of(LOOKUPS, 100);
    let wanted: Vec<_> = scattered(lookups, count)
        .map(|row| index(row / EACH, row % EACH))
        .collect();
    let seconds = if side == Side::Icefield {
        let (session, path) = (read(common).await?, path()?);
        // All manifests are read before the clock starts.
        for source in 0..sources(amount) {
            session
                .chunk_location(&path, &index(source, 0))
                .await?
                .context("no reference")?;
        }
        let watch = Stopwatch::start();
        for at in &wanted {
            session
                .chunk_location(&path, at)
                .await?
                .context("no reference")?;
        }
        watch.each(lookups)
    } else {
        let (session, path) = (read_theirs(common).await?, "/a".try_into()?);
        for source in 0..sources(amount) {
            session
                .get_chunk_ref(&path, &ChunkIndices(index(source, 0).to_vec()))
                .await?
                .context("no reference")?;
        }
        let wanted: Vec<_> = wanted.iter().map(|at| ChunkIndices(at.to_vec())).collect();
        let watch = Stopwatch::start();
        for at in &wanted {
            session
                .get_chunk_ref(&path, at)
                .await?
                .context("no reference")?;
        }
        watch.each(lookups)
    };
    Ok(vec![(
        format!("find 1 of 1 M references, {layout}"),
        seconds,
    )])
}

async fn shift(side: Side, common: &Path, own: &Path) -> Result<Figures> {
    copy(common, own)?;
    let seconds = if side == Side::Icefield {
        let session = write(own).await?;
        let watch = Stopwatch::start();
        session.shift(&path()?, &[-1, 0, 0]).await?;
        icefield::committed(session.commit("a shift").await?)?;
        watch.each(1)
    } else {
        let mut session = write_theirs(own).await?;
        let watch = Stopwatch::start();
        session.shift_array(&"/a".try_into()?, &[-1, 0, 0]).await?;
        session.commit("a shift").execute().await?;
        watch.each(1)
    };
    Ok(vec![("shift 1 M references".to_owned(), seconds)])
}
