//! Snapshots: encoding, decoding beside plain decompression, finding nodes.

use std::time::Duration;

use criterion::{BatchSize, Criterion, SamplingMode};
use icefield_benches::{Hierarchy, Mode, fact, fact_beside, medians, run, timed};
use icefield_format::{HEADER_LEN, NodePath};
use icefield_storage::SeededEntropy;

fn snapshot(criterion: &mut Criterion, mode: Mode) {
    let count = mode.pick(10_000, 300);
    let hierarchy = Hierarchy::new(count);
    let file = hierarchy.encode();
    let snapshot = hierarchy.decode(&file);
    let body_len = snapshot.body_len();
    let decompress =
        || zstd::bulk::decompress(&file[HEADER_LEN..], body_len).expect("the frame is whole");

    let mut group = criterion.benchmark_group("snapshot of 10k nodes");
    group.sampling_mode(SamplingMode::Flat).sample_size(20);
    group.measurement_time(Duration::from_secs(3));
    group.bench_function("encode", |bencher| {
        bencher.iter_batched(|| (), |()| hierarchy.encode(), BatchSize::PerIteration);
    });
    group.bench_function("decode", |bencher| {
        bencher.iter_batched(|| (), |()| hierarchy.decode(&file), BatchSize::PerIteration);
    });
    group.bench_function("zstd alone, new buffer", |bencher| {
        bencher.iter_batched(|| (), |()| decompress(), BatchSize::PerIteration);
    });
    group.finish();

    let entropy = SeededEntropy::new(1);
    let mut present: Vec<NodePath> = hierarchy.paths().cloned().collect();
    for at in (1..present.len()).rev() {
        present.swap(at, entropy.below(at as u64 + 1) as usize);
    }
    let absent: Vec<NodePath> = present
        .iter()
        .map(|path| path.join("missing").expect("the path is valid"))
        .collect();
    let mut group = criterion.benchmark_group("lookup in 10k nodes");
    group.measurement_time(Duration::from_secs(2));
    for (outcome, paths) in [("hit", &present), ("miss", &absent)] {
        let mut asked = paths.iter().cycle();
        group.bench_function(outcome, |bencher| {
            bencher.iter(|| {
                let path = asked.next().expect("it goes round");
                let node = snapshot.node(path);
                assert_eq!(node.is_some(), outcome == "hit");
                node.map(|node| node.id())
            });
        });
    }
    group.finish();

    if mode == Mode::Measure {
        let [decode, plain] = medians(
            101,
            [&mut || timed(|| hierarchy.decode(&file)), &mut || {
                timed(decompress)
            }],
        );
        let subject = "snapshot of 10k nodes";
        let sizes = format!("{} bytes, {body_len} decompressed", file.len());
        fact(subject, sizes);
        fact_beside(subject, ("decode", decode), ("zstd, new buffer", plain), "");
    }
}

fn main() {
    run(&[snapshot]);
}
