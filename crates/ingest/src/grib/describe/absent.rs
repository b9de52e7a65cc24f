//! Warnings about messages that a variable lacks.

use super::super::cube::{Cube, Variable};

/// Returns the warning about messages that a variable lacks; `None` if it lacks none.
pub(super) fn absent(variable: &Variable, cube: &Cube) -> Option<String> {
    let lengths = variable.outer(cube);
    let all: u64 = lengths.iter().product();
    let there = variable.fields.len() as u64;
    if there == all {
        return None;
    }
    let index = |number: u64| -> Vec<u32> {
        let mut rest = number;
        let mut index: Vec<u32> = Vec::new();
        for length in lengths.iter().rev() {
            index.push((rest % length) as u32);
            rest /= length;
        }
        index.reverse();
        index
    };
    // One of so many places is free.
    let mut places = (0..=there).map(index);
    let first = places.find(|it| !variable.fields.contains_key(it))?;
    let mut rest = first.as_slice();
    let mut said = Vec::new();
    let mut next = || {
        let (first, others) = rest.split_first().unwrap_or((&0, &[]));
        rest = others;
        *first as usize
    };
    if variable.key.kind.is_member {
        said.push(format!("number {}", cube.members[next()]));
    }
    let time = cube.times[next()];
    said.push(format!("time {}", date(time)));
    let step = cube.steps[next()];
    said.push(match step % 3600 {
        0 => format!("step {} h", step / 3600),
        _ => format!("step {step} s"),
    });
    if let Some((name, axis)) = variable
        .levels
        .as_ref()
        .and_then(|it| cube.levels.get_key_value(it))
    {
        said.push(format!("{name} {}", axis.levels[next()].0));
    }
    Some(format!(
        "{} has {there} of {all} messages, and is missing where there are none: first at {}",
        variable.name,
        said.join(", ")
    ))
}

/// A moment as text.
fn date(seconds: i64) -> String {
    let (mut days, clock) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    let is_leap = |year: i64| (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    // The dates of section 1 have four digits of a year, so this ends soon.
    let mut year = 1970;
    while days < 0 {
        year -= 1;
        days += if is_leap(year) { 366 } else { 365 };
    }
    loop {
        let of_year = if is_leap(year) { 366 } else { 365 };
        if days < of_year {
            break;
        }
        days -= of_year;
        year += 1;
    }
    let february = if is_leap(year) { 29 } else { 28 };
    let mut month = 1;
    for length in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] {
        if days < length {
            break;
        }
        days -= length;
        month += 1;
    }
    let (hour, minute, second) = (clock / 3600, clock / 60 % 60, clock % 60);
    format!(
        "{year:04}-{month:02}-{:02}T{hour:02}:{minute:02}:{second:02}",
        days + 1
    )
}

#[cfg(test)]
mod tests {
    use super::date;

    #[test]
    fn moments_are_dates() {
        assert_eq!(date(0), "1970-01-01T00:00:00");
        assert_eq!(date(951_782_400 + 3661), "2000-02-29T01:01:01");
        assert_eq!(date(-1), "1969-12-31T23:59:59");
        assert_eq!(date(1_609_459_199), "2020-12-31T23:59:59");
    }
}
