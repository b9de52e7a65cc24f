//! Checksums of HDF5, as `fixtures/fletcher32.py` had them made.

use std::collections::BTreeMap;

use icefield_zarr_store::{ChunkCodec, Elements, Fletcher32};
use serde_json::{Value, json};

const SUMS: &str = include_str!("../fixtures/fletcher32.json");

/// The checksums of chunks of 1, 2, 3 and more elements, by NumPy's name of their type.
fn sums() -> BTreeMap<String, Vec<[u8; 4]>> {
    let found: BTreeMap<String, String> = serde_json::from_str(SUMS).unwrap();
    let number = |digits: &[u8]| u8::from_str_radix(std::str::from_utf8(digits).unwrap(), 16);
    let sums = |text: String| -> Vec<[u8; 4]> {
        let bytes = text.as_bytes().chunks(2).map(|two| number(two).unwrap());
        bytes.collect::<Vec<u8>>().as_chunks::<4>().0.to_vec()
    };
    found
        .into_iter()
        .map(|(dtype, text)| (dtype, sums(text)))
        .collect()
}

/// The bytes of an element, the type in `zarr.json`, its fill value, and whether the first byte is the highest.
fn described(dtype: &str) -> (usize, Value, Value, bool) {
    let size: usize = dtype
        .trim_start_matches(|it: char| !it.is_ascii_digit())
        .parse()
        .unwrap();
    let kind = dtype.trim_matches(|it: char| !it.is_ascii_alphabetic());
    let fixed = |name: &str| json!({ "name": name, "configuration": { "length_bytes": size } });
    let named = |name: &str| json!(format!("{name}{}", size * 8));
    let (data_type, fill) = match kind {
        "i" => (named("int"), json!(0)),
        "u" => (named("uint"), json!(0)),
        "f" => (named("float"), json!(0)),
        "c" => (named("complex"), json!([0, 0])),
        "S" => (fixed("null_terminated_bytes"), json!("")),
        _ => (fixed("raw_bytes"), json!("")),
    };
    (size, data_type, fill, dtype.starts_with('>'))
}

/// The bytes of `fixtures/fletcher32.py`.
fn data(count: usize) -> Vec<u8> {
    let byte = |at: usize| ((at * 167 + count * 31 + 7) % 256) as u8;
    (0..count).map(byte).collect()
}

#[test]
fn chunks_with_the_checksums_of_hdf5_are_decoded_and_made_whatever_their_length() {
    let mut checked = 0;
    for (dtype, sums) in sums() {
        let (size, data_type, fill, is_big) = described(&dtype);
        assert_eq!(sums.len(), 64, "{dtype}");
        for (count, sum) in (1..).zip(sums) {
            let plain = data(count * size);
            let chunk = [&plain[..], &sum].concat();
            assert_eq!(Fletcher32.encoded(plain.clone()), chunk, "{dtype} {count}");
            assert_eq!(
                Fletcher32.decoded(&chunk),
                Some(&plain[..]),
                "{dtype} {count}"
            );

            let endian = if is_big { "big" } else { "little" };
            let codecs = json!([
                { "name": "bytes", "configuration": { "endian": endian } },
                { "name": "numcodecs.fletcher32", "configuration": {} },
            ]);
            let codec = ChunkCodec::of(&codecs, &data_type, &fill, &[count as u64]).unwrap();
            let elements: Vec<u8> = match is_big {
                true => plain
                    .chunks(size)
                    .flat_map(|it| it.iter().rev().copied())
                    .collect(),
                false => plain,
            };
            let elements = Elements::Fixed(elements);
            assert_eq!(
                codec.decode(&chunk).as_ref(),
                Ok(&elements),
                "{dtype} {count}"
            );
            assert_eq!(codec.encode(elements), Ok(chunk.clone()), "{dtype} {count}");

            let mut damaged = chunk;
            damaged[count * size / 2] ^= 1;
            assert!(codec.decode(&damaged).is_err(), "{dtype} {count}");
            checked += 1;
        }
    }
    assert_eq!(checked, 21 * 64);
    assert_eq!(Fletcher32.encoded(Vec::new()), [0; 4]);
}

#[test]
fn a_shard_of_chunks_with_checksums_is_decoded() {
    let codecs = json!([{ "name": "sharding_indexed", "configuration": {
        "chunk_shape": [3],
        "codecs": ["bytes", { "name": "numcodecs.fletcher32", "configuration": {} }],
        "index_codecs": [{ "name": "bytes", "configuration": { "endian": "little" } }],
        "index_location": "end",
    }}]);
    let codec = ChunkCodec::of(&codecs, &json!("uint8"), &json!(0), &[6]).unwrap();
    let elements = Elements::Fixed(vec![0, 1, 2, 9, 0, 255]);
    let shard = codec.encode(elements.clone()).unwrap();
    assert!(
        shard.windows(7).any(|part| part == [0, 1, 2, 1, 2, 2, 2]),
        "{shard:?}"
    );
    assert_eq!(codec.decode(&shard), Ok(elements));
}
