//! Reading and writing chunks.

use std::fs::{self, File};
use std::future::Future;
use std::io::Write as _;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context as _, Result, ensure};
use bytes::Bytes;
use futures::FutureExt as _;
use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use icechunk::format::ByteRange as TheirRange;
use icefield::{
    BranchName, ByteRange, LocalStorage, MemoryStorage, NodePath, Repository, WriteMode,
};

use crate::sides::{
    Amount, GROUP, Side, Stopwatch, array, create, files, noise, open, read, read_theirs, store,
    write_theirs,
};
use crate::{Figures, Workload};

/// A size of chunks: its name, bytes, chunks of a run, and how many are read at a time beside one.
struct Size {
    name: &'static str,
    bytes: usize,
    chunks: usize,
    in_flight: usize,
}

const SIZES: [Size; 3] = [
    Size {
        name: "4 MiB",
        bytes: 4 << 20,
        chunks: 96,
        in_flight: 16,
    },
    Size {
        name: "64 KiB",
        bytes: 64 << 10,
        chunks: 2000,
        in_flight: 16,
    },
    Size {
        name: "4 KiB",
        bytes: 4 << 10,
        chunks: 8000,
        in_flight: 64,
    },
];

/// Chunks written at a time.
const WRITERS: usize = 64;

impl Size {
    fn count(&self, amount: Amount) -> usize {
        amount.of(self.chunks, 8)
    }

    fn folder(&self, common: &Path) -> PathBuf {
        common.join(self.bytes.to_string())
    }

    fn arrays(&self, count: usize) -> [(String, String); 1] {
        [("/a".to_owned(), array(&[count * self.bytes], &[self.bytes]))]
    }
}

pub(crate) fn workloads() -> Vec<Workload> {
    vec![
        Workload {
            name: "read",
            sides: &Side::ALL,
            prepare: |common, amount| prepare(common, amount).boxed_local(),
            run: |side, common, _, amount| read_all(side, common, amount).boxed_local(),
        },
        Workload {
            name: "memory",
            sides: &[Side::Icefield, Side::Icechunk],
            prepare: |_, _| async { Ok(()) }.boxed_local(),
            run: |side, _, _, amount| memory(side, amount).boxed_local(),
        },
        Workload {
            name: "write",
            sides: &Side::ALL,
            prepare: |_, _| async { Ok(()) }.boxed_local(),
            run: |side, _, own, amount| write_all(side, own, amount).boxed_local(),
        },
        Workload {
            name: "flushed",
            sides: &[Side::Icefield, Side::Floor],
            prepare: |_, _| async { Ok(()) }.boxed_local(),
            run: |side, _, own, amount| flushed(side, own, amount).boxed_local(),
        },
    ]
}

async fn prepare(common: &Path, amount: Amount) -> Result<()> {
    for size in &SIZES {
        let count = size.count(amount);
        let repository = create(
            &size.folder(common),
            Default::default(),
            &size.arrays(count),
        )
        .await?;
        let session = repository.write_session(BranchName::main()).await?;
        let path = NodePath::parse("/a")?;
        for index in 0..count {
            let bytes = noise(index, size.bytes);
            session
                .set_chunk(&path, &[index as u32], bytes, WriteMode::Overwrite)
                .await?;
        }
        icefield::committed(session.commit("chunks").await?)?;
    }
    Ok(())
}

/// Does something for each index, so many at a time, and returns seconds for one.
async fn timed<F, T>(count: usize, in_flight: usize, one: impl Fn(usize) -> F) -> Result<f64>
where
    F: Future<Output = Result<T>>,
{
    let watch = Stopwatch::start();
    let all = stream::iter(0..count).map(one).buffer_unordered(in_flight);
    all.try_for_each(|_| async { Ok(()) }).await?;
    Ok(watch.each(count))
}

async fn read_all(side: Side, common: &Path, amount: Amount) -> Result<Figures> {
    let mut figures = Vec::new();
    for size in &SIZES {
        let (count, folder) = (size.count(amount), size.folder(common));
        for in_flight in [1, size.in_flight] {
            let name = format!("read {}, {in_flight} in flight", size.name);
            let seconds = match side {
                Side::Icefield => {
                    let (session, path) = (read(&folder).await?, NodePath::parse("/a")?);
                    let one = async |index: usize| -> Result<Bytes> {
                        let chunk = session
                            .chunk(&path, &[index as u32], ByteRange::All)
                            .await?;
                        let chunk = chunk.context("no chunk")?;
                        ensure!(chunk.len() == size.bytes, "{} bytes", chunk.len());
                        Ok(chunk)
                    };
                    timed(count, in_flight, &one).await?;
                    timed(count, in_flight, &one).await?
                }
                Side::Icechunk => {
                    let store = store(read_theirs(&folder).await?).await;
                    let one = async |index: usize| -> Result<Bytes> {
                        let chunk = store.get(&format!("a/c/{index}"), &TheirRange::ALL).await?;
                        ensure!(chunk.len() == size.bytes, "{} bytes", chunk.len());
                        Ok(chunk)
                    };
                    timed(count, in_flight, &one).await?;
                    timed(count, in_flight, &one).await?
                }
                Side::Floor => {
                    let files = files(&folder.join("chunks"))?;
                    plain_reads(&files, size.bytes, in_flight)?;
                    plain_reads(&files, size.bytes, in_flight)?
                }
            };
            figures.push((name, seconds));
        }
    }
    Ok(figures)
}

/// Lets threads take numbers below a count until none is left: one thread, or as many as there are processors.
fn in_threads(
    count: usize,
    threads: usize,
    one: impl Fn(usize) -> Result<()> + Sync,
) -> Result<f64> {
    let next = AtomicUsize::new(0);
    let watch = Stopwatch::start();
    std::thread::scope(|scope| {
        let work = || -> Result<()> {
            loop {
                match next.fetch_add(1, Ordering::Relaxed) {
                    at if at < count => one(at)?,
                    _ => return Ok(()),
                }
            }
        };
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        let ended = threads.into_iter().map(|it| {
            it.join()
                .unwrap_or_else(|_| anyhow::bail!("a thread panicked"))
        });
        ended.collect::<Result<Vec<()>>>()
    })?;
    Ok(watch.each(count))
}

fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

fn plain_reads(files: &[PathBuf], length: usize, in_flight: usize) -> Result<f64> {
    let threads = if in_flight == 1 { 1 } else { processors() };
    in_threads(files.len(), threads, |at| {
        let mut bytes = vec![0; length];
        File::open(&files[at])?.read_exact_at(&mut bytes, 0)?;
        std::hint::black_box(&bytes);
        Ok(())
    })
}

async fn memory(side: Side, amount: Amount) -> Result<Figures> {
    let mut figures = Vec::new();
    for size in [&SIZES[0], &SIZES[2]] {
        let (count, rounds) = (8, amount.of(200, 1));
        let seconds = match side {
            Side::Icefield => {
                let repository = Repository::create(Arc::new(MemoryStorage::new())).await?;
                let session = repository.write_session(BranchName::main()).await?;
                let path = NodePath::parse("/a")?;
                let [(_, document)] = size.arrays(count);
                session
                    .set_metadata(&path, document.into(), WriteMode::Overwrite)
                    .await?;
                for index in 0..count {
                    let bytes = noise(index, size.bytes);
                    session
                        .set_chunk(&path, &[index as u32], bytes, WriteMode::Overwrite)
                        .await?;
                }
                icefield::committed(session.commit("chunks").await?)?;
                let session = repository.read_session(BranchName::main()).await?;
                let one = async |number: usize| -> Result<Bytes> {
                    let index = (number % count) as u32;
                    session
                        .chunk(&path, &[index], ByteRange::All)
                        .await?
                        .context("no chunk")
                };
                timed(count, 1, &one).await?;
                timed(count * rounds, 1, &one).await?
            }
            Side::Icechunk => {
                let storage = icechunk_arrow_object_store::new_in_memory_storage().await?;
                let repository = icechunk::Repository::create(storage).execute().await?;
                let session = repository.writable_session("main").await?;
                let store_of = store(session).await;
                let [(_, document)] = size.arrays(count);
                store_of.set("zarr.json", GROUP.into()).await?;
                store_of.set("a/zarr.json", document.into()).await?;
                for index in 0..count {
                    store_of
                        .set(&format!("a/c/{index}"), noise(index, size.bytes))
                        .await?;
                }
                store_of
                    .session()
                    .write()
                    .await
                    .commit("chunks")
                    .execute()
                    .await?;
                let version = icechunk::repository::VersionInfo::BranchTipRef("main".to_owned());
                let store = store(repository.readonly_session(&version).await?).await;
                let one = async |number: usize| -> Result<Bytes> {
                    Ok(store
                        .get(&format!("a/c/{}", number % count), &TheirRange::ALL)
                        .await?)
                };
                timed(count, 1, &one).await?;
                timed(count * rounds, 1, &one).await?
            }
            Side::Floor => anyhow::bail!("memory has no floor"),
        };
        figures.push((format!("get {} from memory", size.name), seconds));
    }
    Ok(figures)
}

async fn write_all(side: Side, own: &Path, amount: Amount) -> Result<Figures> {
    let mut figures = Vec::new();
    for size in &SIZES {
        let (count, folder) = (size.count(amount), size.folder(own));
        // Of owned buffers, as an encoder makes them; made before the clock starts.
        let chunks: Vec<Bytes> = (0..count)
            .map(|index| noise(index % 16, size.bytes))
            .collect();
        let seconds = match side {
            Side::Icefield => {
                create(&folder, Default::default(), &size.arrays(count)).await?;
                let session = open(&folder)
                    .await?
                    .write_session(BranchName::main())
                    .await?;
                let path = NodePath::parse("/a")?;
                let one = async |index: usize| -> Result<bool> {
                    let bytes = chunks[index].clone();
                    Ok(session
                        .set_chunk(&path, &[index as u32], bytes, WriteMode::Overwrite)
                        .await?)
                };
                let seconds = timed(count, WRITERS, &one).await?;
                icefield::committed(session.commit("chunks").await?)?;
                seconds
            }
            Side::Icechunk => {
                create(&folder, Default::default(), &size.arrays(count)).await?;
                let store = store(write_theirs(&folder).await?).await;
                let one = async |index: usize| -> Result<()> {
                    Ok(store
                        .set(&format!("a/c/{index}"), chunks[index].clone())
                        .await?)
                };
                let seconds = timed(count, WRITERS, &one).await?;
                store
                    .session()
                    .write()
                    .await
                    .commit("chunks")
                    .execute()
                    .await?;
                seconds
            }
            Side::Floor => {
                fs::create_dir_all(&folder)?;
                in_threads(count, processors(), |at| {
                    Ok(fs::write(folder.join(at.to_string()), &chunks[at])?)
                })?
            }
        };
        figures.push((format!("write {}, {WRITERS} in flight", size.name), seconds));
    }
    Ok(figures)
}

/// Writes and a commit that both survive a loss of power, beside files that are flushed one by one.
async fn flushed(side: Side, own: &Path, amount: Amount) -> Result<Figures> {
    let size = &SIZES[1];
    let count = amount.of(500, 8);
    let chunks: Vec<Bytes> = (0..count).map(|index| noise(index, size.bytes)).collect();
    let seconds = match side {
        Side::Icefield => {
            create(own, Default::default(), &size.arrays(count)).await?;
            let repository = Repository::open(Arc::new(LocalStorage::builder(own).open()?)).await?;
            let session = repository.write_session(BranchName::main()).await?;
            let path = NodePath::parse("/a")?;
            let watch = Stopwatch::start();
            let one = async |index: usize| -> Result<bool> {
                let bytes = chunks[index].clone();
                Ok(session
                    .set_chunk(&path, &[index as u32], bytes, WriteMode::Overwrite)
                    .await?)
            };
            timed(count, WRITERS, &one).await?;
            icefield::committed(session.commit("chunks").await?)?;
            watch.each(count)
        }
        _ => in_threads(count, processors(), |at| {
            let mut file = File::create_new(own.join(at.to_string()))?;
            file.write_all(&chunks[at])?;
            Ok(file.sync_all()?)
        })?,
    };
    Ok(vec![(
        format!("write {} and commit, flushed", size.name),
        seconds,
    )])
}
