//! The latitudes of Gaussian grids: where the Legendre polynomial of a degree is zero.

use std::f64::consts::PI;

/// Steps of Newton's method; four are enough for the largest grids.
const STEPS: usize = 20;

/// Returns the latitudes from north to south, twice as many as there are between a pole and the equator.
pub(super) fn gaussian_latitudes(between: usize) -> Vec<f64> {
    let degree = between * 2;
    let north = (0..between).map(|number| root(degree, number).asin().to_degrees());
    let north: Vec<f64> = north.collect();
    let south = north.iter().rev().map(|latitude| -latitude);
    north.iter().copied().chain(south).collect()
}

/// The root with this number, from the largest on.
fn root(degree: usize, number: usize) -> f64 {
    let size = degree as f64;
    let mut x = (PI * (number as f64 + 0.75) / (size + 0.5)).cos();
    for _ in 0..STEPS {
        let (mut before, mut value) = (1.0, x);
        for n in 2..=degree {
            let n = n as f64;
            (before, value) = (
                value,
                ((2.0 * n - 1.0) * x * value - (n - 1.0) * before) / n,
            );
        }
        let slope = size * (x * value - before) / (x * x - 1.0);
        let step = value / slope;
        x -= step;
        if step.abs() < 1e-15 {
            break;
        }
    }
    x
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latitudes_are_those_of_the_tables() {
        // The weights' handbooks have them to many digits.
        let one = (1.0_f64 / 3.0).sqrt().asin().to_degrees();
        let found = gaussian_latitudes(1);
        assert!((found[0] - one).abs() < 1e-12 && found[1] == -found[0]);
        let found = gaussian_latitudes(32);
        assert_eq!(found.len(), 64);
        assert!((found[0] - 87.863_798_839_233).abs() < 1e-9, "{}", found[0]);
        assert!(
            (found[31] - 1.395_306_910_839).abs() < 1e-9,
            "{}",
            found[31]
        );
        assert!(found.is_sorted_by(|a, b| a > b));
    }
}
