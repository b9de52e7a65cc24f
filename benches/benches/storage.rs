//! Stores: put and get on a local disk beside plain files, get from memory.

use std::fs;
use std::path::Path;
use std::time::Duration;

use criterion::{BenchmarkId, Criterion, Throughput};
use icefield_benches::files::{self, Durable, scratch};
use icefield_benches::{Mode, OBJECT_SIZES, elapsed, fact_beside, medians, noise, run, runtime};
use icefield_storage::{
    Bytes, Clock, DeleteOutcome, Deletion, GetOptions, Key, ObjectClass, PutMode, PutOptions,
    PutOutcome, Storage, StorageExt, SystemClock,
};
use icefield_storage_local::{Fsync, LocalStorage};
use icefield_storage_memory::MemoryStorage;
use tokio::runtime::Runtime;

/// Objects that are read in turns.
const OBJECTS: usize = 16;

fn key(number: u64) -> Key {
    Key::parse(&format!("chunks/object-{number:08}")).expect("the key is valid")
}

/// A put in one of the ways that repositories use.
async fn put(store: &dyn Storage, number: u64, bytes: &Bytes, options: PutOptions) {
    let outcome = store.put(&key(number), bytes.clone().into(), options).await;
    let outcome = outcome.expect("there is room");
    assert!(matches!(outcome, PutOutcome::Written(_)), "{outcome:?}");
}

fn new_chunk() -> PutOptions {
    PutOptions::mode(PutMode::Create).with_class(ObjectClass::Chunk)
}

fn new_object() -> PutOptions {
    PutOptions::mode(PutMode::Create)
}

/// Prints how puts without and with fsync compare with plain writes that are as safe.
fn put_facts(runtime: &Runtime, folder: &Path) {
    let plain = folder.join("plain beside");
    fs::create_dir(&plain).expect("the directory is new");
    for (name, size) in OBJECT_SIZES {
        let bytes = noise(1, size);
        for (setting, fsync, durable, rounds) in [
            ("no fsync", Fsync::None, Durable::No, 301),
            ("fsync", Fsync::Each, Durable::FileAndName, 31),
        ] {
            let root = folder.join(format!("{setting} beside"));
            let store = LocalStorage::builder(root).fsync(fsync).open();
            let store = store.expect("the directory is ours");
            let time = |options: PutOptions| {
                let time = elapsed(|| runtime.block_on(put(&store, 0, &bytes, options)));
                runtime.block_on(delete(&store, 0));
                time
            };
            let time_plain = || {
                let time = elapsed(|| files::replace(&plain, "0", &bytes, durable));
                fs::remove_file(plain.join("0")).expect("it is there");
                time
            };
            let [chunk, object, write] = medians(
                rounds,
                [
                    &mut || time(new_chunk()),
                    &mut || time(new_object()),
                    &mut || time_plain(),
                ],
            );
            let subject = format!("local put of {name}, {setting}");
            for ours in [("chunk", chunk), ("object", object)] {
                fact_beside(&subject, ours, ("std::fs write, rename", write), "");
            }
        }
    }
}

async fn delete(store: &dyn Storage, number: u64) {
    let deleted = store.delete_one(Deletion::from(key(number))).await;
    let deleted = deleted.expect("it is there");
    assert!(matches!(deleted, DeleteOutcome::Deleted), "{deleted:?}");
}

/// Times `put` of objects that are not there yet. `delete` removes each outside of that time.
async fn time_puts(count: u64, put: impl AsyncFn(u64), delete: impl AsyncFn(u64)) -> Duration {
    let mut time = Duration::ZERO;
    for number in 0..count {
        let start = SystemClock.monotonic();
        put(number).await;
        time += SystemClock.monotonic() - start;
        delete(number).await;
    }
    time
}

fn local_put(criterion: &mut Criterion, mode: Mode) {
    let runtime = runtime();
    let scratch = scratch(env!("CARGO_TARGET_TMPDIR"));
    let plain = scratch.path().join("plain");
    fs::create_dir(&plain).expect("the directory is new");
    for (name, size) in OBJECT_SIZES {
        let bytes = noise(1, size);
        let mut group = criterion.benchmark_group("local put");
        group.throughput(Throughput::Bytes(size as u64));
        group.warm_up_time(Duration::from_millis(500));
        group.measurement_time(Duration::from_secs(4));
        group.sample_size(20);
        for (setting, fsync) in [("no fsync", Fsync::None), ("fsync", Fsync::Each)] {
            let root = scratch.path().join(setting);
            let store = LocalStorage::builder(root).fsync(fsync).open();
            let store = store.expect("the directory is ours");
            for (kind, options) in [("chunk", new_chunk()), ("object", new_object())] {
                let id = BenchmarkId::new(format!("{kind}, {setting}"), name);
                group.bench_function(id, |bencher| {
                    bencher.to_async(&runtime).iter_custom(async |count| {
                        let put = async |number| put(&store, number, &bytes, options.clone()).await;
                        time_puts(count, put, async |number| delete(&store, number).await).await
                    });
                });
            }
        }
        for (kind, durable) in [
            ("std::fs write, rename", Durable::No),
            ("std::fs write, fsync, rename, fsync", Durable::FileAndName),
        ] {
            group.bench_function(BenchmarkId::new(kind, name), |bencher| {
                bencher.to_async(&runtime).iter_custom(async |count| {
                    let put = async |number: u64| {
                        files::replace(&plain, &number.to_string(), &bytes, durable)
                            .expect("there is room");
                    };
                    let delete = async |number: u64| {
                        fs::remove_file(plain.join(number.to_string())).expect("it is there");
                    };
                    time_puts(count, put, delete).await
                });
            });
        }
        group.finish();
    }
    if mode == Mode::Measure {
        put_facts(&runtime, scratch.path());
    }
}

fn local_get(criterion: &mut Criterion, mode: Mode) {
    let runtime = runtime();
    let scratch = scratch(env!("CARGO_TARGET_TMPDIR"));
    for (name, size) in OBJECT_SIZES {
        let root = scratch.path().join(size.to_string());
        let store = LocalStorage::open(&root).expect("the directory is ours");
        let keys: Vec<Key> = (0..OBJECTS as u64).map(key).collect();
        let paths: Vec<_> = keys.iter().map(|key| root.join(key.as_str())).collect();
        runtime.block_on(async {
            for number in 0..OBJECTS as u64 {
                put(&store, number, &noise(number, size), new_chunk()).await;
            }
        });
        let mut group = criterion.benchmark_group("local get");
        group.throughput(Throughput::Bytes(size as u64));
        group.warm_up_time(Duration::from_millis(500));
        group.measurement_time(Duration::from_secs(2));
        group.sample_size(30);
        group.bench_function(BenchmarkId::new("get", name), |bencher| {
            let mut keys = keys.iter().cycle();
            bencher.to_async(&runtime).iter(|| {
                let key = keys.next().expect("it goes round");
                async { store.read(key).await.expect("it is there").0 }
            });
        });
        group.bench_function(BenchmarkId::new("try_get_blocking", name), |bencher| {
            let (mut keys, whole) = (keys.iter().cycle(), GetOptions::default());
            bencher.iter(|| {
                let key = keys.next().expect("it goes round");
                let object = store.try_get_blocking(key, &whole);
                object
                    .expect("a local disk is no network")
                    .expect("it is there")
            });
        });
        group.bench_function(BenchmarkId::new("std::fs read", name), |bencher| {
            let mut paths = paths.iter().cycle();
            bencher.iter(|| {
                let path = paths.next().expect("it goes round");
                fs::read(path).expect("it is there")
            });
        });
        group.finish();
        if mode == Mode::Measure {
            let whole = GetOptions::default();
            let [get, blocking, plain] = medians(
                501,
                [
                    &mut || elapsed(|| runtime.block_on(store.read(&keys[0]))),
                    &mut || elapsed(|| store.try_get_blocking(&keys[0], &whole)),
                    &mut || elapsed(|| fs::read(&paths[0])),
                ],
            );
            let subject = format!("local get of {name}");
            for ours in [("get", get), ("try_get_blocking", blocking)] {
                fact_beside(&subject, ours, ("std::fs read", plain), "");
            }
        }
    }
}

fn memory_get(criterion: &mut Criterion, _: Mode) {
    let runtime = runtime();
    let mut group = criterion.benchmark_group("memory get");
    group.warm_up_time(Duration::from_millis(500));
    group.measurement_time(Duration::from_secs(1));
    for (name, size) in OBJECT_SIZES {
        let store = MemoryStorage::new();
        runtime.block_on(put(&store, 1, &noise(1, size), new_chunk()));
        let key = key(1);
        group.throughput(Throughput::Bytes(size as u64));
        group.bench_function(BenchmarkId::new("get", name), |bencher| {
            let read = async || store.read(&key).await.expect("it is there").0;
            bencher.to_async(&runtime).iter(read);
        });
    }
    group.finish();
}

fn main() {
    run(&[local_put, local_get, memory_get]);
}
