//! Round numbers for ticks, and their texts.

/// Returns round numbers at equal distances from `low` to `high`, about `most` of them, each with its text. Of equal limits, it is
/// the limit alone.
pub(super) fn round_numbers(low: f64, high: f64, most: usize) -> Vec<(f64, String)> {
    if low == high || !(high - low).is_finite() {
        let ends = if low == high {
            vec![low]
        } else {
            vec![low, high]
        };
        return ends.into_iter().map(|end| (end, short(end))).collect();
    }
    let step = round_step((high - low) / most.max(1) as f64);
    let first = (low / step).ceil();
    let count = ((high / step).floor() - first).max(0.0) as usize;
    // Limits so close that floats have no round numbers between them have neighbouring multiples.
    if count > 4 * most.max(1) {
        return vec![(low, short(low)), (high, short(high))];
    }
    let numbers = (0..=count).map(|at| (first + at as f64) * step);
    let numbers: Vec<f64> = numbers.filter(|it| (low..=high).contains(it)).collect();
    let greatest = low.abs().max(high.abs());
    numbers
        .into_iter()
        .map(|number| (number, with_step(number, step, greatest)))
        .collect()
}

/// Returns the least of 1, 2, 5, 10, 20, … that is not less than a number; also of fractions.
fn round_step(least: f64) -> f64 {
    let power = 10_f64.powf(least.log10().floor());
    let factor = [1.0, 2.0, 5.0, 10.0];
    let factor = factor
        .into_iter()
        .find(|it| it * power >= least * (1.0 - 1e-9));
    factor.unwrap_or(10.0) * power
}

/// Returns a number with as many digits as a step needs.
fn with_step(number: f64, step: f64, greatest: f64) -> String {
    // Not -0.
    let number = if number == 0.0 { 0.0 } else { number };
    let power = step.log10().floor();
    if !(1e-4..1e6).contains(&greatest) {
        let digits = (greatest.log10().floor() - power).clamp(0.0, 15.0) as usize;
        let digits = match number == 0.0 {
            true => return "0".to_owned(),
            false => {
                let less = greatest.log10().floor() - number.abs().log10().floor();
                digits.saturating_sub(less.max(0.0) as usize)
            }
        };
        return format!("{number:.digits$e}");
    }
    let digits = (-power).clamp(0.0, 17.0) as usize;
    format!("{number:.digits$}")
}

/// Returns a number with six significant digits at most.
pub(super) fn short(number: f64) -> String {
    if number == 0.0 || !number.is_finite() {
        return format!("{}", number + 0.0);
    }
    let power = number.abs().log10().floor() as i32;
    if !(-4..=6).contains(&power) {
        let text = format!("{number:.5e}");
        let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        return format!("{}e{exponent}", without_zeros(digits));
    }
    let digits = usize::try_from(5 - power).unwrap_or(0);
    without_zeros(&format!("{number:.digits$}")).to_owned()
}

fn without_zeros(digits: &str) -> &str {
    match digits.contains('.') {
        true => digits.trim_end_matches('0').trim_end_matches('.'),
        false => digits,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(low: f64, high: f64, most: usize) -> Vec<String> {
        let numbers = round_numbers(low, high, most);
        numbers.into_iter().map(|(_, text)| text).collect()
    }

    #[test]
    fn ticks_are_round() {
        assert_eq!(texts(-2.06, 34.4, 5), ["0", "10", "20", "30"]);
        assert_eq!(
            texts(0.0, 1.0, 5),
            ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]
        );
        assert_eq!(texts(-0.3, 0.3, 4), ["-0.2", "0.0", "0.2"]);
        assert_eq!(
            texts(101_000.0, 103_000.0, 4),
            ["101000", "101500", "102000", "102500", "103000"]
        );
        assert_eq!(texts(0.0, 3e-7, 3), ["0", "1e-7", "2e-7", "3e-7"]);
        assert_eq!(
            texts(1e9, 1.5e9, 5),
            ["1.0e9", "1.1e9", "1.2e9", "1.3e9", "1.4e9", "1.5e9"]
        );
        assert_eq!(texts(7.5, 7.5, 5), ["7.5"]);
        assert_eq!(texts(f64::MIN, f64::MAX, 5).len(), 2);
        let close = 1.0 + f64::EPSILON;
        assert!(texts(1.0, close, 5).len() <= 21);
        assert!(texts(5e-324, 1e-323, 5).len() <= 21);
    }

    #[test]
    fn numbers_are_short() {
        assert_eq!(short(-2.058_408_260_345_459), "-2.05841");
        assert_eq!(short(271.25), "271.25");
        assert_eq!(short(360.0), "360");
        assert_eq!(short(1.5e-9), "1.5e-9");
        assert_eq!(short(-0.0), "0");
        assert_eq!(short(f64::INFINITY), "inf");
    }
}
