//! Manifests: encoding, decoding beside plain decompression, finding refs.

use std::hint::black_box;
use std::time::Duration;

use criterion::{BatchSize, BenchmarkId, Criterion, SamplingMode, Throughput};
use icefield_benches::{Layout, Lengths, Mode, Refs, fact, fact_beside, medians, run, timed};
use icefield_format::{EncodedManifest, FileKind, HEADER_LEN, Manifest, Writer};
use icefield_storage::SeededEntropy;
use zstd::bulk::Decompressor;

const SIZES: [(&str, usize); 3] = [("1k", 1000), ("100k", 100_000), ("1M", 1_000_000)];
/// Lookups that are timed together.
const FEW: u32 = 1000;
const TEST_SIZES: [(&str, usize); 3] = [("1k", 1000), ("100k", 2000), ("1M", 5000)];

/// A manifest as a file, and what must come out of it.
struct Sample {
    refs: Refs,
    file: EncodedManifest,
    body_len: usize,
}

impl Sample {
    fn new(count: usize, layout: Layout, lengths: Lengths) -> Self {
        let refs = Refs::new(count, layout, lengths);
        let file = refs.encode();
        let body_len = refs.decode(&file.bytes).body_len();
        Self {
            refs,
            file,
            body_len,
        }
    }

    fn decode(&self) -> Manifest {
        self.refs.decode(&self.file.bytes)
    }

    fn frame(&self) -> &[u8] {
        &self.file.bytes[HEADER_LEN..]
    }

    /// Decompresses into a new buffer, as decoding must.
    fn decompress(&self) -> Vec<u8> {
        zstd::bulk::decompress(self.frame(), self.body_len).expect("the frame is whole")
    }

    /// Decompresses into a buffer whose pages are there already.
    fn decompress_into(&self, decompressor: &mut Decompressor<'_>, buffer: &mut [u8]) {
        decompressor
            .decompress_to_buffer(self.frame(), buffer)
            .expect("the frame is whole");
    }
}

fn decompressor() -> Decompressor<'static> {
    Decompressor::new().expect("there is memory")
}

fn encode_and_decode(criterion: &mut Criterion, mode: Mode) {
    for (name, count) in mode.pick(SIZES, TEST_SIZES) {
        let sample = Sample::new(count, Layout::Full, Lengths::Varying);
        let mut group = criterion.benchmark_group("manifest");
        group.throughput(Throughput::Elements(count as u64));
        group.measurement_time(Duration::from_secs(3));
        if count > 10_000 {
            group.sampling_mode(SamplingMode::Flat).sample_size(10);
        }
        group.bench_function(BenchmarkId::new("encode", name), |bencher| {
            bencher.iter_batched(|| (), |()| sample.refs.encode(), BatchSize::PerIteration);
        });
        group.bench_function(BenchmarkId::new("decode", name), |bencher| {
            bencher.iter_batched(|| (), |()| sample.decode(), BatchSize::PerIteration);
        });
        group.bench_function(
            BenchmarkId::new("zstd alone, new buffer", name),
            |bencher| {
                bencher.iter_batched(|| (), |()| sample.decompress(), BatchSize::PerIteration);
            },
        );
        group.bench_function(
            BenchmarkId::new("zstd alone, same buffer", name),
            |bencher| {
                let (mut decompressor, mut buffer) = (decompressor(), vec![0; sample.body_len]);
                bencher.iter(|| sample.decompress_into(&mut decompressor, &mut buffer));
            },
        );
        group.finish();
    }
}

/// Decoding and full verification against the decompression in it, measured in turns.
fn decode_ratio(_: &mut Criterion, mode: Mode) {
    if mode == Mode::Inspect {
        return;
    }
    for (name, count) in mode.pick(SIZES, TEST_SIZES) {
        for (lengths, chunks) in [
            (Lengths::Varying, "chunks of many lengths"),
            (Lengths::Same, "chunks of one length"),
        ] {
            let sample = Sample::new(count, Layout::Full, lengths);
            let rounds = mode.pick(if count > 10_000 { 21 } else { 2001 }, 1);
            let (mut decompressor, mut buffer) = (decompressor(), vec![0; sample.body_len]);
            let [decode, new, same] = medians(
                rounds,
                [
                    &mut || timed(|| sample.decode()),
                    &mut || timed(|| sample.decompress()),
                    &mut || timed(|| sample.decompress_into(&mut decompressor, &mut buffer)),
                ],
            );
            assert_eq!(buffer, sample.decompress());
            if mode == Mode::Test {
                continue;
            }
            let subject = format!("manifest of {name} refs, {chunks}");
            let (file, body) = (sample.file.bytes.len(), sample.body_len);
            fact(&subject, format_args!("{file} bytes, {body} decompressed"));
            let target = if name == "1M" { ", target 3.5" } else { "" };
            for plain in [("zstd, new buffer", new), ("zstd, same buffer", same)] {
                fact_beside(&subject, ("decode", decode), plain, target);
            }
        }
    }
}

/// Encoding against the compression in it, measured in turns.
fn encode_ratio(_: &mut Criterion, mode: Mode) {
    if mode == Mode::Inspect {
        return;
    }
    for (name, count) in mode.pick(SIZES, TEST_SIZES) {
        let sample = Sample::new(count, Layout::Full, Lengths::Varying);
        let body = sample.decompress();
        let level = Writer::default().level(FileKind::Manifest);
        let rounds = mode.pick(if count > 10_000 { 11 } else { 501 }, 1);
        let [encode, compress] = medians(
            rounds,
            [&mut || timed(|| sample.refs.encode()), &mut || {
                timed(|| zstd::bulk::compress(&body, level))
            }],
        );
        if mode == Mode::Measure {
            let subject = format_args!("manifest of {name} refs");
            fact_beside(subject, ("encode", encode), ("zstd", compress), "");
        }
    }
}

/// Asks a manifest for one ref after the other, in random order. The next question waits for the answer.
struct Questions<'a> {
    manifest: &'a Manifest,
    refs: &'a Refs,
    wanted: Vec<[u32; 3]>,
    at: usize,
}

impl<'a> Questions<'a> {
    /// As many as a test or a measurement needs, about any of these places.
    fn new(manifest: &'a Manifest, refs: &'a Refs, places: &[[u32; 3]], mode: Mode) -> Self {
        let entropy = SeededEntropy::new(1);
        let wanted = (0..mode.pick(1 << 18, 1 << 10))
            .map(|_| places[entropy.below(places.len() as u64) as usize])
            .collect();
        Self {
            manifest,
            refs,
            wanted,
            at: 0,
        }
    }

    fn ask(&mut self) -> Option<u64> {
        let index = &self.wanted[self.at];
        let found = self
            .manifest
            .get(&self.refs.node, index)
            .expect("the manifest is good");
        let length = found.map(|chunk| chunk.length());
        // No length has this bit, but neither compiler nor processor knows.
        let wait = black_box(length.unwrap_or(0)) >> 63;
        self.at = (self.at + 1 + wait as usize) % self.wanted.len();
        length
    }

    /// Returns the time that the next few take: few enough that other processes rarely get a turn meanwhile.
    fn ask_few(&mut self) -> Duration {
        timed(|| {
            for _ in 0..FEW {
                black_box(self.ask());
            }
        })
    }
}

fn lookup(criterion: &mut Criterion, mode: Mode) {
    for (name, count) in mode.pick(SIZES, TEST_SIZES) {
        for (layout, grid) in [
            (Layout::Full, "full grid"),
            (Layout::Half, "half of a grid"),
            (Layout::Uneven, "uneven grid"),
        ] {
            let refs = Refs::new(count, layout, Lengths::Varying);
            let manifest = refs.decode(&refs.encode().bytes);
            let mut group = criterion.benchmark_group(format!("lookup, {grid}"));
            group.warm_up_time(Duration::from_secs(1));
            group.measurement_time(Duration::from_secs(1));
            for (outcome, places) in [("hit", &refs.present), ("miss", &refs.absent)] {
                let mut questions = Questions::new(&manifest, &refs, places, mode);
                assert_eq!(questions.ask().is_some(), outcome == "hit");
                group.bench_function(BenchmarkId::new(outcome, name), |bencher| {
                    bencher.iter(|| questions.ask());
                });
                if mode == Mode::Measure {
                    let [each] = medians(501, [&mut || questions.ask_few()]);
                    let each = each.each_of(FEW);
                    let target = match count {
                        1_000_000 => ", target 1 µs",
                        _ => "",
                    };
                    let subject = format_args!("lookup in {name} refs, {grid}, {outcome}");
                    fact(subject, format_args!("{each}{target}"));
                }
            }
            group.finish();
        }
    }
}

fn main() {
    run(&[encode_and_decode, decode_ratio, encode_ratio, lookup]);
}
