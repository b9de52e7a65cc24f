//! Numbers at equal distances.

/// Returns so many numbers from the first to the last one.
pub(super) fn spread(first: f64, last: f64, count: usize) -> Vec<f64> {
    let steps = count.saturating_sub(1).max(1) as f64;
    let at = |number: usize| first + (last - first) * number as f64 / steps;
    (0..count).map(at).collect()
}

/// Returns longitudes that go east or west from the first to the last one, without a jump where they pass 0 or 360.
/// `sign` says which way, `step` goes from one to the next.
pub(super) fn longitudes(
    (first, last): (f64, f64),
    count: usize,
    sign: f64,
    step: Option<f64>,
) -> Vec<f64> {
    let mut span = (last - first) * sign;
    if span < 0.0 {
        span += 360.0;
    }
    // Some centres write a whole circle as from 0 to 0.
    if span == 0.0
        && let Some(step) = step
    {
        span = step.abs() * count.saturating_sub(1) as f64;
    }
    let mut first = first;
    if (first + span * sign) > 360.0 {
        first -= 360.0;
    }
    spread(first, first + span * sign, count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn longitudes_do_not_jump() {
        let east = |first, last, count| longitudes((first, last), count, 1.0, None);
        assert_eq!(east(0.0, 270.0, 4), [0.0, 90.0, 180.0, 270.0]);
        assert_eq!(east(180.0, 90.0, 4), [-180.0, -90.0, 0.0, 90.0]);
        assert_eq!(east(-10.0, 10.0, 3), [-10.0, 0.0, 10.0]);
        assert_eq!(east(350.0, 10.0, 3), [-10.0, 0.0, 10.0]);
        assert_eq!(longitudes((10.0, 350.0), 3, -1.0, None), [10.0, 0.0, -10.0]);
        let circle = longitudes((0.0, 0.0), 4, 1.0, Some(90.0));
        assert_eq!(circle, [0.0, 90.0, 180.0, 270.0]);
        assert_eq!(east(5.0, 5.0, 1), [5.0]);
        assert!(east(5.0, 5.0, 0).is_empty());
    }
}
