//! Messages made by hand, and where their sections lie.

use std::collections::BTreeMap;

/// The first byte of each section of a message of one field.
pub(super) fn sections(message: &[u8]) -> BTreeMap<u8, usize> {
    let mut sections = BTreeMap::new();
    let mut at = 16;
    while at + 4 < message.len() {
        let length = u32::from_be_bytes(message[at..at + 4].try_into().unwrap());
        sections.insert(message[at + 4], at);
        at += length as usize;
    }
    sections
}

fn section(number: u8, body: Vec<u8>) -> Vec<u8> {
    let length = (body.len() + 5) as u32;
    [&length.to_be_bytes()[..], &[number], &body].concat()
}

/// A temperature on 500 hPa, `step` hours after the first of January 2024: 16 bits of each value, which is 273 and its
/// position, counted up to 999.
pub(super) fn field(columns: u32, rows: u32, step: u32) -> Vec<u8> {
    let points = columns * rows;
    let four = |number: u32| number.to_be_bytes().to_vec();
    let identification = section(
        1,
        vec![0, 98, 0, 0, 2, 0, 1, 0x07, 0xe8, 1, 1, 0, 0, 0, 0, 1],
    );
    let grid = [
        vec![0],
        four(points),
        vec![0, 0, 0, 0, 6],
        vec![0; 15],
        four(columns),
        four(rows),
        vec![0; 4],
        vec![0xff; 4],
        four(60_000_000),
        four(0),
        vec![0x30],
        four(60_000_000 - (rows - 1) * 100_000),
        four((columns - 1) * 100_000),
        four(100_000),
        four(100_000),
        vec![0],
    ];
    let product = [
        vec![0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 1],
        four(step),
        vec![100, 0],
        four(50_000),
        vec![0xff; 6],
    ];
    let packing = [
        four(points),
        vec![0, 0],
        273_f32.to_be_bytes().to_vec(),
        vec![0, 0, 0, 0, 16, 0],
    ];
    let data = (0..points).flat_map(|at| ((at % 1000) as u16).to_be_bytes());
    let body = [
        identification,
        section(3, grid.concat()),
        section(4, product.concat()),
        section(5, packing.concat()),
        section(6, vec![255]),
        section(7, data.collect()),
        b"7777".to_vec(),
    ]
    .concat();
    let length = body.len() as u64 + 16;
    [&b"GRIB\0\0\0\x02"[..], &length.to_be_bytes(), &body].concat()
}
