//! The places of the parts of a picture, and their drawing on any canvas of `plotters`.

use plotters_backend::text_anchor::{HPos, Pos, VPos};
use plotters_backend::{
    BackendColor, BackendCoord, BackendStyle, BackendTextStyle, DrawingBackend, DrawingErrorKind,
    FontFamily, FontTransform,
};

use super::axis::{self, Tick};
use super::canvas::TextSize;
use super::colours::Rgb;
use super::drawing::Drawing;
use super::line::Line;
use super::numbers::round_numbers;
use super::raster::{Frame, Raster, magnification};
use super::titles::{cut, lines};

/// The room for an image or a line.
const ROOM: [usize; 2] = [900, 700];
const LINE: [usize; 2] = [900, 460];
/// Free pixels around all parts, and between them.
const MARGIN: usize = 16;
const GAP: usize = 6;
/// The length of ticks.
const TICK: usize = 5;
/// The width of the colour bar.
const BAR: usize = 18;
/// Letters of a line of titles, at most.
const TITLE: usize = 90;

const INK: Rgb = [40, 40, 40];
const GRID: Rgb = [225, 225, 225];
const LINE_INK: Rgb = [25, 85, 165];

/// The parts of a picture with their places.
#[derive(Debug)]
pub(super) struct Figure {
    pub(super) width: usize,
    pub(super) height: usize,
    /// Where the data are.
    pub(super) frame: Frame,
    /// The cells of an image.
    pub(super) cells: Option<Raster>,
    /// The colour bar of an image.
    pub(super) bar: Option<(Raster, Frame)>,
    line: Option<Line>,
    title: String,
    /// The lines of the subtitle.
    subtitle: Vec<String>,
    /// Marks below the frame, left of it, and right of the bar, by pixels from the upper left corner of the frame.
    across: Vec<(i32, String)>,
    down: Vec<(i32, String)>,
    colours: Vec<(i32, String)>,
    names: [String; 2],
    units: String,
    bar_letters: usize,
}

impl Figure {
    pub(super) fn new(drawing: &Drawing) -> Self {
        let cells = Raster::cells(drawing);
        let line = cells.is_none().then(|| Line::new(drawing));
        let [width, height] = match &cells {
            None => LINE,
            Some(cells) => {
                let [across, down] = magnification([cells.width, cells.height], ROOM);
                [cells.width * across, cells.height * down]
            }
        };
        let down: Vec<(i32, String)> = match (&drawing.rows, &line) {
            (Some(rows), _) => {
                let flips = axis::begins_below(rows);
                let ticks = axis::ticks(rows, height / (3 * TextSize::Normal.height()) + 1);
                pixels(ticks, rows.count, height, flips)
            }
            (None, Some(line)) => line.ticks(height),
            (None, None) => Vec::new(),
        };
        let names = [
            axis::name(&drawing.columns),
            match (&drawing.rows, &line) {
                (Some(rows), _) => axis::name(rows),
                _ => crate::output::escape::printable(&drawing.units).into_owned(),
            },
        ];
        let title = cut(&drawing.title, TITLE);
        let subtitle = lines(&drawing.subtitle, TITLE);
        let advance = TextSize::Normal.advance();
        let text_height = TextSize::Normal.height();
        let letters = |labels: &[(i32, String)]| longest(labels) * advance;
        let left = MARGIN + text_height + GAP + letters(&down) + GAP + TICK;
        let top = MARGIN + TextSize::Large.height() + subtitle.len() * text_height + 2 * GAP;
        let frame = Frame {
            left: left as i32,
            top: top as i32,
            width,
            height,
        };
        let limits = drawing.limits().filter(|_| cells.is_some());
        let bar = limits.map(|_| {
            let frame = Frame {
                left: (left + width + 3 * GAP) as i32,
                width: BAR,
                ..frame
            };
            (Raster::bar(&drawing.scale, height), frame)
        });
        let colours: Vec<(i32, String)> = limits.map_or_else(Vec::new, |(low, high)| {
            let numbers = round_numbers(low, high, height / (3 * text_height) + 1).into_iter();
            let place = |number| drawing.scale.place(number).unwrap_or_default();
            let last = height.saturating_sub(1) as f64;
            numbers
                .map(|(number, label)| ((((1.0 - place(number)) * last).round()) as i32, label))
                .collect()
        });
        let units = crate::output::escape::printable(&drawing.units).into_owned();
        let right = match bar {
            Some(_) => 3 * GAP + BAR + TICK + GAP + letters(&colours) + GAP + text_height,
            None => 0,
        };
        // The label below the last cell may reach beyond the frame.
        let right = right.max(5 * advance) + MARGIN;
        let title_width = |title: &str, size: TextSize| title.chars().count() * size.advance();
        let below = subtitle.iter();
        let title_width = below
            .map(|line| title_width(line, TextSize::Normal))
            .fold(title_width(&title, TextSize::Large), usize::max);
        Self {
            width: (left + width + right).max(title_width + 2 * MARGIN),
            height: top + height + TICK + 2 * (GAP + text_height) + MARGIN,
            frame,
            across: across(drawing, width),
            bar_letters: letters(&colours),
            cells,
            bar,
            line,
            title,
            subtitle,
            down,
            colours,
            names: names.map(|name| cut(&name, TITLE)),
            units: cut(&units, TITLE),
        }
    }

    /// Draws all parts but the rasters.
    pub(super) fn draw<B: DrawingBackend>(
        &self,
        on: &mut B,
    ) -> Result<(), DrawingErrorKind<B::ErrorType>> {
        let frame = self.frame;
        let (right, bottom) = (
            frame.left + frame.width as i32,
            frame.top + frame.height as i32,
        );
        let corner = (self.width as i32, self.height as i32);
        on.draw_rect((0, 0), corner, &Ink::of([255; 3]), true)?;
        let (gap, tick, text) = (GAP as i32, TICK as i32, TextSize::Normal.height() as i32);
        let margin = MARGIN as i32;
        let beside = Text::at(HPos::Left, VPos::Top);
        on.draw_text(&self.title, &beside.large(), (margin, margin))?;
        let below = margin + TextSize::Large.height() as i32 + gap / 2;
        for (at, line) in self.subtitle.iter().enumerate() {
            on.draw_text(line, &beside, (margin, below + at as i32 * text))?;
        }
        for (x, label) in &self.across {
            let x = frame.left + x;
            if self.line.is_some() {
                on.draw_line((x, frame.top), (x, bottom), &Ink::of(GRID))?;
            }
            on.draw_line((x, bottom), (x, bottom + tick), &Ink::of(INK))?;
            let centred = Text::at(HPos::Center, VPos::Top);
            on.draw_text(label, &centred, (x, bottom + tick + gap / 2))?;
        }
        for (y, label) in &self.down {
            let y = frame.top + y;
            if self.line.is_some() {
                on.draw_line((frame.left, y), (right, y), &Ink::of(GRID))?;
            }
            on.draw_line(
                (frame.left - 1 - tick, y),
                (frame.left - 1, y),
                &Ink::of(INK),
            )?;
            let before = Text::at(HPos::Right, VPos::Center);
            on.draw_text(label, &before, (frame.left - 1 - tick - gap / 2, y))?;
        }
        let middle = (frame.left + right) / 2;
        let [across, down] = &self.names;
        let centred = Text::at(HPos::Center, VPos::Top);
        on.draw_text(across, &centred, (middle, bottom + tick + gap + text))?;
        let upright = centred.upright();
        on.draw_text(down, &upright, (margin, (frame.top + bottom) / 2))?;
        if let Some(line) = &self.line {
            for run in line.runs(frame) {
                self.draw_run(on, run)?;
            }
        }
        outline(on, frame)?;
        if let Some((_, bar)) = &self.bar {
            outline(on, *bar)?;
            let edge = bar.left + bar.width as i32;
            for (y, label) in &self.colours {
                let y = frame.top + y;
                on.draw_line((edge, y), (edge + tick, y), &Ink::of(INK))?;
                let after = Text::at(HPos::Left, VPos::Center);
                on.draw_text(label, &after, (edge + tick + gap / 2, y))?;
            }
            let x = edge + tick + gap + self.bar_letters as i32 + gap / 2;
            on.draw_text(&self.units, &upright, (x, (frame.top + bottom) / 2))?;
        }
        Ok(())
    }

    /// Draws points that follow one another: a line, or a dot.
    fn draw_run<B: DrawingBackend>(
        &self,
        on: &mut B,
        run: Vec<BackendCoord>,
    ) -> Result<(), DrawingErrorKind<B::ErrorType>> {
        match run[..] {
            [point] => on.draw_circle(point, 2, &Ink::of(LINE_INK), true),
            _ => on.draw_path(run, &Ink::of(LINE_INK)),
        }
    }
}

/// The marks below the frame: as many as there is room for.
fn across(drawing: &Drawing, width: usize) -> Vec<(i32, String)> {
    let columns = &drawing.columns;
    let advance = TextSize::Normal.advance();
    let mut letters = 4;
    let mut marks = Vec::new();
    for _ in 0..3 {
        let most = width / ((letters + 2) * advance);
        let ticks = axis::ticks(columns, most.max(1));
        marks = pixels(ticks, columns.count, width, axis::falls(columns));
        match longest(&marks) {
            found if found <= letters => break,
            found => letters = found,
        }
    }
    marks
}

/// Ticks by pixels from the start of an axis.
fn pixels(ticks: Vec<Tick>, cells: usize, length: usize, flips: bool) -> Vec<(i32, String)> {
    let ticks = ticks.into_iter().map(|tick| {
        let place = tick.place / cells.max(1) as f64;
        let place = if flips { 1.0 - place } else { place };
        (((place * length as f64).floor()) as i32, tick.label)
    });
    ticks.collect()
}

fn longest(labels: &[(i32, String)]) -> usize {
    let letters = labels.iter().map(|(_, label)| label.chars().count());
    letters.max().unwrap_or(0)
}

fn outline<B: DrawingBackend>(
    on: &mut B,
    frame: Frame,
) -> Result<(), DrawingErrorKind<B::ErrorType>> {
    let corner = (
        frame.left + frame.width as i32,
        frame.top + frame.height as i32,
    );
    on.draw_rect(
        (frame.left - 1, frame.top - 1),
        corner,
        &Ink::of(INK),
        false,
    )
}

/// A colour to draw lines with.
struct Ink(Rgb);

impl Ink {
    fn of(colour: Rgb) -> Self {
        Self(colour)
    }
}

impl BackendStyle for Ink {
    fn color(&self) -> BackendColor {
        colour(self.0)
    }
}

fn colour([red, green, blue]: Rgb) -> BackendColor {
    BackendColor {
        alpha: 1.0,
        rgb: (red, green, blue),
    }
}

/// The style of a text.
#[derive(Clone)]
struct Text {
    anchor: Pos,
    size: TextSize,
    is_upright: bool,
}

impl Text {
    fn at(across: HPos, down: VPos) -> Self {
        Self {
            anchor: Pos::new(across, down),
            size: TextSize::Normal,
            is_upright: false,
        }
    }

    fn large(&self) -> Self {
        Self {
            size: TextSize::Large,
            ..self.clone()
        }
    }

    /// The text reads from below.
    fn upright(&self) -> Self {
        Self {
            is_upright: true,
            ..self.clone()
        }
    }
}

impl BackendTextStyle for Text {
    type FontError = std::convert::Infallible;

    fn color(&self) -> BackendColor {
        colour(INK)
    }

    fn size(&self) -> f64 {
        self.size.points()
    }

    fn transform(&self) -> FontTransform {
        match self.is_upright {
            true => FontTransform::Rotate270,
            false => FontTransform::None,
        }
    }

    fn anchor(&self) -> Pos {
        self.anchor
    }

    fn family(&self) -> FontFamily<'_> {
        FontFamily::SansSerif
    }

    fn layout_box(&self, text: &str) -> Result<((i32, i32), (i32, i32)), Self::FontError> {
        let width = self.size.advance() * text.chars().count();
        Ok(((0, 0), (width as i32, self.size.height() as i32)))
    }

    fn draw<E, D: FnMut(i32, i32, BackendColor) -> Result<(), E>>(
        &self,
        _text: &str,
        _pos: BackendCoord,
        _draw: D,
    ) -> Result<Result<(), E>, Self::FontError> {
        // Both canvases draw text themselves.
        Ok(Ok(()))
    }
}
