//! Undoes the predictors of TIFF: the differencing of the samples of a row.

use super::window::Order;

/// Undoes horizontal differencing: adds to each sample of `size` bytes the same sample of the previous pixel, with carry across its bytes.
pub(super) fn add(row: &mut [u8], samples: usize, size: usize, order: Order) {
    let pixel = samples.saturating_mul(size);
    let significance = |which: usize| match order {
        Order::Little => which,
        Order::Big => size - 1 - which,
    };
    let mut at = pixel;
    while at.saturating_add(size) <= row.len() {
        let mut carry = 0_u16;
        for which in (0..size).map(significance) {
            let before = row.get(at - pixel + which).copied().unwrap_or(0);
            if let Some(byte) = row.get_mut(at + which) {
                let sum = u16::from(*byte) + u16::from(before) + carry;
                *byte = sum as u8;
                carry = sum >> 8;
            }
        }
        at += size;
    }
}

/// Puts floats of `size` bytes together, little-endian: a row has first the most significant bytes of all of them, then the next
/// ones, each the difference to the byte one pixel before it.
pub(super) fn join(row: &mut [u8], samples: usize, size: usize) {
    for at in samples..row.len() {
        let before = row.get(at - samples).copied().unwrap_or(0);
        if let Some(byte) = row.get_mut(at) {
            *byte = byte.wrapping_add(before);
        }
    }
    let sorted = row.to_vec();
    let count = sorted.len() / size.max(1);
    for (number, float) in row.chunks_exact_mut(size.max(1)).enumerate() {
        for (which, byte) in float.iter_mut().rev().enumerate() {
            *byte = sorted.get(which * count + number).copied().unwrap_or(0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_carry_over_bytes() {
        let mut row = [0xff, 0x00, 0x01, 0x01];
        add(&mut row, 1, 2, Order::Little);
        assert_eq!(row, [0xff, 0x00, 0x00, 0x02]);
        let mut row = [0x00, 0xff, 0x01, 0x01];
        add(&mut row, 1, 2, Order::Big);
        assert_eq!(row, [0x00, 0xff, 0x02, 0x00]);
        let mut row = [1, 10, 1, 10, 255, 1];
        add(&mut row, 2, 1, Order::Little);
        assert_eq!(row, [1, 10, 2, 20, 1, 21]);
    }

    #[test]
    fn floats_are_put_together() {
        let floats = [1.5_f32, -2.25, 3.0e8];
        let mut row: Vec<u8> = (0..4)
            .flat_map(|which| floats.map(|it| it.to_be_bytes()[which]))
            .collect();
        for at in (1..row.len()).rev() {
            row[at] = row[at].wrapping_sub(row[at - 1]);
        }
        join(&mut row, 1, 4);
        let plain: Vec<u8> = floats.iter().flat_map(|it| it.to_le_bytes()).collect();
        assert_eq!(row, plain);
    }
}
