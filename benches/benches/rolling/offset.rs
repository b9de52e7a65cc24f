//! The scheme that came before: chunks under stored indices, and for each array an offset that says where the window begins.
//! It is here to show that the comparison sees its failures: data missing at the end and at the start, two windows in one
//! read, and a roll that is lost.

use std::collections::BTreeMap;

use icefield_benches::fact;

use crate::world::{ARRAYS, Faults, label, tile};

const SLABS: i64 = 6;

/// Objects that any program may write.
#[derive(Clone, Debug)]
struct OffsetStore {
    /// By array and stored slab.
    chunks: BTreeMap<(usize, i64), Vec<u8>>,
    offsets: [i64; ARRAYS.len()],
    /// The step of the first label.
    first: i64,
}

impl OffsetStore {
    fn new() -> Self {
        let mut store = Self {
            chunks: BTreeMap::new(),
            offsets: [0; ARRAYS.len()],
            first: 0,
        };
        (0..SLABS).for_each(|slab| store.write(slab));
        store
    }

    fn write(&mut self, slab: i64) {
        for array in 0..ARRAYS.len() {
            let bytes = tile(array, label(slab), [0, 0]);
            self.chunks.insert((array, slab), bytes);
        }
    }

    fn delete(&mut self, slab: i64) {
        self.chunks.retain(|(_, stored), _| *stored != slab);
    }

    fn set_offsets(&mut self, offset: i64) {
        self.offsets = [offset; ARRAYS.len()];
        self.first = offset;
    }

    /// Reads as a reader does that knows these offsets, as they are cached by default.
    fn read(&self, offsets: [i64; ARRAYS.len()]) -> Faults {
        let mut faults = Faults {
            mixed: offsets.iter().any(|offset| *offset != self.first).into(),
            ..Faults::default()
        };
        for (array, offset) in offsets.into_iter().enumerate() {
            for slab in 0..SLABS {
                let expected = tile(array, label(self.first + slab), [0, 0]);
                match self.chunks.get(&(array, slab + offset)) {
                    None => faults.missing += 1,
                    Some(found) if *found == expected => {}
                    Some(_) => faults.wrong += 1,
                }
            }
        }
        faults
    }
}

/// Returns whether each failure shows, and none where everything is in order.
pub(crate) fn shows_failures() -> bool {
    let sound = OffsetStore::new();
    let (mut early, mut emptied, mut mixed, mut raced) =
        (sound.clone(), sound.clone(), sound.clone(), sound.clone());
    // The offset is visible before the data.
    early.set_offsets(1);
    // Old data is gone before the offset moves.
    emptied.delete(0);
    // One array moves after the other.
    mixed.write(SLABS);
    mixed.offsets[0] = 1;
    // Two rollers read the offset, and both write what they read plus one; each has deleted its oldest slab.
    raced.write(SLABS);
    raced.write(SLABS + 1);
    let read = raced.offsets[0];
    raced.delete(read);
    raced.set_offsets(read + 1);
    raced.delete(read + 1);
    raced.set_offsets(read + 1);
    let faults = [
        ("F1 missing at the end", early.read(early.offsets)),
        ("F2 missing at the start", emptied.read(emptied.offsets)),
        ("F3 two windows in one read", mixed.read(mixed.offsets)),
        ("F6 a lost roll", raced.read(raced.offsets)),
    ];
    let mut good = sound.read(sound.offsets).are_none();
    for (failure, faults) in faults {
        fact(
            format!("offset store, {failure}"),
            format_args!(
                "missing {}, wrong {}, mixed {}",
                faults.missing, faults.wrong, faults.mixed
            ),
        );
        good &= match failure.starts_with("F3") {
            true => faults.mixed > 0 && faults.wrong > 0,
            false => faults.missing > 0,
        };
    }
    good
}
