//! Pictures in a terminal: each character has two cells, one above the other.

use std::fmt::Write as _;

use super::axis;
use super::colours::Rgb;
use super::drawing::Drawing;
use super::line::Line;
use super::numbers::short;
use super::raster::{Frame, Raster, magnification};
use super::titles::{cut, lines};
use crate::output::escape::printable;

/// The colours that a terminal shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Palette {
    /// 24 bits.
    True,
    /// Six levels each of red, green and blue, and 24 greys.
    Indexed,
    /// None: characters of several densities.
    Shades,
}

/// Lines of text around the picture with a subtitle of one line, and one for the prompt.
const LINES: usize = 6;
/// Characters of the colour bar.
const BAR: usize = 24;
/// Characters of growing density.
const SHADES: [char; 5] = [' ', '░', '▒', '▓', '█'];
/// The character of a missing number among shades.
const DOT: char = '·';
const LINE_INK: Rgb = [70, 140, 230];

/// Half of a character.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Cell {
    colour: Rgb,
    /// The density from 0 to 1; `None` if the number is missing.
    density: Option<f64>,
}

/// Returns the cells of an image, for a terminal of so many columns and rows: the most of it.
pub(crate) fn most_cells(columns: usize, rows: usize) -> [usize; 2] {
    [columns.max(1), (2 * rows.saturating_sub(LINES)).max(2)]
}

/// Returns a picture for a terminal of so many columns and rows.
pub(crate) fn blocks(drawing: &Drawing, columns: usize, rows: usize, palette: Palette) -> String {
    let subtitle = lines(&drawing.subtitle, columns);
    let room = most_cells(
        columns,
        rows.saturating_sub(subtitle.len().saturating_sub(1)),
    );
    let mut text = String::new();
    let units = printable(&drawing.units);
    let title = match units.is_empty() {
        true => drawing.title.clone(),
        false => format!("{} [{units}]", drawing.title),
    };
    for line in [cut(&title, columns)].iter().chain(&subtitle) {
        text.push_str(line.trim_end());
        text.push('\n');
    }
    let (width, cells) = match Raster::numbers(drawing) {
        Some((width, numbers)) => image(drawing, width, &numbers, room),
        None => (room[0], line(drawing, room)),
    };
    let mut halves = cells.chunks(width.max(1));
    while let Some(upper) = halves.next() {
        let blank = vec![None; upper.len()];
        let lower = halves.next().unwrap_or(&blank);
        characters(&mut text, upper, lower, palette);
        text.push('\n');
    }
    legend(&mut text, drawing, palette);
    text
}

fn image(
    drawing: &Drawing,
    width: usize,
    numbers: &[f64],
    room: [usize; 2],
) -> (usize, Vec<Option<Cell>>) {
    let height = numbers.len() / width.max(1);
    let [across, down] = magnification([width, height], room);
    let cell = |number: f64| {
        Some(Cell {
            colour: drawing.scale.colour(number),
            density: drawing.scale.place(number),
        })
    };
    let mut cells = Vec::with_capacity(numbers.len() * across * down);
    for row in numbers.chunks(width.max(1)) {
        for _ in 0..down {
            let row = row.iter();
            cells.extend(row.flat_map(|number| std::iter::repeat_n(cell(*number), across)));
        }
    }
    (width * across, cells)
}

fn line(drawing: &Drawing, [width, height]: [usize; 2]) -> Vec<Option<Cell>> {
    let mut cells = vec![None; width * height];
    let frame = Frame {
        left: 0,
        top: 0,
        width,
        height,
    };
    let ink = Cell {
        colour: LINE_INK,
        density: Some(1.0),
    };
    let mut dot = |x: f64, y: f64| {
        let at = y.round() as usize * width + x.round() as usize;
        if let Some(cell) = cells.get_mut(at) {
            *cell = Some(ink);
        }
    };
    for run in Line::new(drawing).runs(frame) {
        let points: Vec<(f64, f64)> = run
            .iter()
            .map(|(x, y)| (f64::from(*x), f64::from(*y)))
            .collect();
        if let [(x, y)] = points[..] {
            dot(x, y);
        }
        for pair in points.windows(2) {
            let [(x, y), (to_x, to_y)] = [pair[0], pair[1]];
            let steps = (to_x - x).abs().max((to_y - y).abs()).max(1.0);
            for step in 0..=steps as usize {
                let share = step as f64 / steps;
                dot(x + (to_x - x) * share, y + (to_y - y) * share);
            }
        }
    }
    cells
}

/// Writes one line of characters.
fn characters(text: &mut String, upper: &[Option<Cell>], lower: &[Option<Cell>], palette: Palette) {
    let mut pen = Pen::new(palette);
    for (upper, lower) in upper.iter().zip(lower) {
        if palette == Palette::Shades {
            text.push(shade(*upper, *lower));
            continue;
        }
        let colour = |cell: &Option<Cell>| cell.map(|cell| cell.colour);
        match (colour(upper), colour(lower)) {
            (None, None) => pen.put(text, ' ', None, None),
            (Some(one), None) => pen.put(text, '▀', Some(one), None),
            (None, Some(one)) => pen.put(text, '▄', Some(one), None),
            (Some(one), Some(other)) if one == other => pen.put(text, '█', Some(one), None),
            (Some(one), Some(other)) => pen.put(text, '▀', Some(one), Some(other)),
        }
    }
    pen.lift(text);
}

fn shade(upper: Option<Cell>, lower: Option<Cell>) -> char {
    let known: Vec<f64> = [upper, lower]
        .iter()
        .flatten()
        .filter_map(|it| it.density)
        .collect();
    match (upper, lower, known.len()) {
        (None, None, _) => ' ',
        (_, _, 0) => DOT,
        (_, _, count) => {
            let mean = known.iter().sum::<f64>() / count as f64;
            SHADES[(mean * (SHADES.len() - 1) as f64).round() as usize]
        }
    }
}

/// Writes the ends of the axes and the colour bar.
fn legend(text: &mut String, drawing: &Drawing, palette: Palette) {
    let [left, right] = {
        let [first, last] = axis::ends(&drawing.columns);
        match axis::falls(&drawing.columns) {
            true => [last, first],
            false => [first, last],
        }
    };
    if let Some(rows) = &drawing.rows {
        let [first, last] = axis::ends(rows);
        let (bottom, top) = match axis::begins_below(rows) {
            true => (first, last),
            false => (last, first),
        };
        let _ = writeln!(text, "up: {}, {bottom} to {top}", axis::name(rows));
    }
    let _ = writeln!(
        text,
        "right: {}, {left} to {right}",
        axis::name(&drawing.columns)
    );
    if let Some((low, high)) = drawing.limits() {
        let _ = write!(text, "{} ", short(low));
        if drawing.rows.is_some() {
            let cells = (0..BAR).map(|at| {
                let place = at as f64 / (BAR - 1) as f64;
                Some(Cell {
                    colour: drawing.scale.at(place),
                    density: Some(place),
                })
            });
            let cells: Vec<Option<Cell>> = cells.collect();
            characters(text, &cells, &cells, palette);
        } else {
            text.push_str("to");
        }
        let _ = write!(text, " {} {}", short(high), printable(&drawing.units));
        while text.ends_with(' ') {
            text.pop();
        }
    }
    if drawing.missing() > 0 {
        if drawing.limits().is_some() {
            text.push_str("   ");
        }
        if drawing.rows.is_some() {
            let missing = [Some(Cell {
                colour: drawing.scale.colour(f64::NAN),
                density: None,
            })];
            characters(text, &missing, &missing, palette);
            text.push(' ');
        }
        let _ = write!(
            text,
            "missing: {} of {}",
            drawing.missing(),
            drawing.numbers.len()
        );
    }
    text.push('\n');
}

/// Writes characters in colours, and a sequence only where a colour changes.
struct Pen {
    palette: Palette,
    fore: Option<Rgb>,
    back: Option<Rgb>,
}

impl Pen {
    fn new(palette: Palette) -> Self {
        Self {
            palette,
            fore: None,
            back: None,
        }
    }

    fn put(&mut self, text: &mut String, character: char, fore: Option<Rgb>, back: Option<Rgb>) {
        if back.is_none() && self.back.is_some() {
            text.push_str("\x1b[49m");
        }
        for (layer, old, new) in [(38, self.fore, fore), (48, self.back, back)] {
            if let Some([red, green, blue]) = new.filter(|_| new != old) {
                let _ = match self.palette {
                    Palette::Indexed => {
                        write!(text, "\x1b[{layer};5;{}m", indexed([red, green, blue]))
                    }
                    _ => write!(text, "\x1b[{layer};2;{red};{green};{blue}m"),
                };
            }
        }
        (self.fore, self.back) = (fore.or(self.fore), back);
        text.push(character);
    }

    /// Returns to the colours of the terminal.
    fn lift(&mut self, text: &mut String) {
        if self.fore.is_some() || self.back.is_some() {
            text.push_str("\x1b[0m");
        }
        (self.fore, self.back) = (None, None);
    }
}

/// The nearest of the 240 fixed colours of a terminal with 256.
fn indexed(colour: Rgb) -> u8 {
    const LEVELS: [u8; 6] = [0, 95, 135, 175, 215, 255];
    let nearest = |channel: u8| {
        let levels = LEVELS.iter().enumerate();
        let nearest = levels.min_by_key(|(_, level)| level.abs_diff(channel));
        nearest.map_or(0, |(at, _)| at)
    };
    let [red, green, blue] = colour.map(nearest);
    let cube = [red, green, blue].map(|at| LEVELS[at]);
    let mean = colour.iter().map(|it| u32::from(*it)).sum::<u32>() / 3;
    let grey = (mean.saturating_sub(3) / 10).min(23) as u8;
    let distance = |other: Rgb| {
        let pairs = colour.iter().zip(other);
        pairs
            .map(|(one, other)| u32::from(one.abs_diff(other)).pow(2))
            .sum::<u32>()
    };
    match distance([8 + 10 * grey; 3]) < distance(cube) {
        true => 232 + grey,
        false => (16 + 36 * red + 6 * green + blue) as u8,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plot::drawing::samples::{image_of, line_of};

    #[test]
    fn two_rows_share_a_line_of_characters() {
        let drawing = image_of(2, &[0.0, 1.0, 0.0, f64::NAN, 1.0, 1.0]);
        // Three rows of two cells, two by two pixels each; the last row is at the top.
        let shown = blocks(&drawing, 5, 9, Palette::True);
        let [low, high] = [0.0, 1.0].map(|number| rgb(drawing.scale.colour(number)));
        let grey = "150;150;150";
        let lines: Vec<&str> = shown.lines().collect();
        assert_eq!(lines[..2], ["t [m]", "s"]);
        assert_eq!(lines[2], format!("\x1b[38;2;{high}m████\x1b[0m"));
        assert_eq!(
            lines[3],
            format!("\x1b[38;2;{low}m██\x1b[38;2;{grey}m██\x1b[0m")
        );
        assert_eq!(
            lines[4],
            format!("\x1b[38;2;{low}m██\x1b[38;2;{high}m██\x1b[0m")
        );
        assert_eq!(lines[5..7], ["up: r, 0 to 2", "right: c, 0 to 1"]);
        assert!(lines[7].ends_with("missing: 1 of 6"), "{}", lines[7]);
        assert_eq!(lines.len(), 8);
    }

    #[test]
    fn without_colours_there_are_shades() {
        let drawing = image_of(5, &[0.0, 0.25, 0.5, 1.0, f64::NAN]);
        let shown = blocks(&drawing, 5, 7, Palette::Shades);
        assert_eq!(
            shown,
            "t [m]\ns\n ░▒█·\nup: r, 0 to 0\nright: c, 0 to 4\n\
             0    ░░░░░░▒▒▒▒▒▒▓▓▓▓▓▓███ 1 m   · missing: 1 of 5\n"
        );
        assert!(!shown.contains('\x1b'));
    }

    #[test]
    fn a_line_rises_from_the_lower_left() {
        let drawing = line_of(&[0.0, 1.0, 2.0, f64::NAN, 2.0]);
        let shown = blocks(&drawing, 5, 7, Palette::Shades);
        let lines: Vec<&str> = shown.lines().collect();
        assert_eq!(
            lines[2..],
            ["███ █", "right: c, 0 to 4", "0 to 2 m   missing: 1 of 5"]
        );
        let taller = blocks(&drawing, 5, 9, Palette::True);
        let ink = "\x1b[38;2;70;140;230m";
        let lines: Vec<&str> = taller.lines().collect();
        assert_eq!(
            lines[2..5],
            [
                format!("  {ink}█ ▀\x1b[0m"),
                format!(" {ink}█   \x1b[0m"),
                format!("{ink}▄▀   \x1b[0m"),
            ]
        );
    }

    #[test]
    fn colours_of_256_are_the_nearest() {
        assert_eq!(indexed([0, 0, 0]), 16);
        assert_eq!(indexed([255, 255, 255]), 231);
        assert_eq!(indexed([95, 135, 255]), 16 + 36 + 12 + 5);
        assert_eq!(indexed([150, 150, 150]), 246);
        let shown = blocks(&image_of(2, &[0.0, 1.0]), 2, 7, Palette::Indexed);
        assert!(
            shown.contains("\x1b[38;5;") && !shown.contains(";2;"),
            "{shown:?}"
        );
    }

    fn rgb([red, green, blue]: Rgb) -> String {
        format!("{red};{green};{blue}")
    }
}
