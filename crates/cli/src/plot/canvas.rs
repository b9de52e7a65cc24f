//! A canvas of pixels for the crates of `plotters`, with a font in the program, so that text needs no fonts of the system.

use std::convert::Infallible;

use noto_sans_mono_bitmap::{
    FontWeight, RasterHeight, RasterizedChar, get_raster, get_raster_width,
};
use plotters_backend::text_anchor::{HPos, VPos};
use plotters_backend::{
    BackendColor, BackendCoord, BackendTextStyle, DrawingBackend, DrawingErrorKind,
};

use super::colours::Rgb;
use super::raster::{Frame, Raster};

/// The sizes of text that the font has. In SVG, the letters are about as high.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TextSize {
    Normal,
    Large,
}

impl TextSize {
    fn raster(self) -> RasterHeight {
        match self {
            Self::Normal => RasterHeight::Size16,
            Self::Large => RasterHeight::Size20,
        }
    }

    /// The size by which `plotters` knows it.
    pub(super) fn points(self) -> f64 {
        match self {
            Self::Normal => 15.0,
            Self::Large => 19.0,
        }
    }

    fn of_points(points: f64) -> Self {
        match points > 17.0 {
            true => Self::Large,
            false => Self::Normal,
        }
    }

    /// Pixels from one letter to the next.
    pub(super) fn advance(self) -> usize {
        get_raster_width(FontWeight::Regular, self.raster())
    }

    /// Pixels of a line.
    pub(super) fn height(self) -> usize {
        self.raster().val()
    }

    fn letter(self, letter: char) -> Option<RasterizedChar> {
        let glyph = |letter| get_raster(letter, FontWeight::Regular, self.raster());
        let plain = match letter {
            // The signs that units and names have beside Latin letters.
            '\u{2010}'..='\u{2015}' | '\u{2212}' | '\u{207b}' => '-',
            '\u{2018}' | '\u{2019}' => '\'',
            '\u{201c}' | '\u{201d}' => '"',
            '\u{2026}' => '.',
            '\u{3bc}' => 'µ',
            letter => letter,
        };
        glyph(plain)
            .or_else(|| glyph('\u{fffd}'))
            .or_else(|| glyph('?'))
    }
}

/// A picture of white pixels to draw on.
#[derive(Debug)]
pub(super) struct Canvas {
    pub(super) width: usize,
    pub(super) height: usize,
    /// Red, green and blue of each pixel.
    pub(super) pixels: Vec<u8>,
}

impl Canvas {
    pub(super) fn new(width: usize, height: usize) -> Self {
        Self {
            width,
            height,
            pixels: vec![255; width * height * 3],
        }
    }

    /// Fills a frame with a raster.
    pub(super) fn put(&mut self, raster: &Raster, frame: Frame) {
        for row in 0..frame.height {
            for column in 0..frame.width {
                let colour = raster.colour(frame, column, row);
                self.blend(
                    frame.left + column as i32,
                    frame.top + row as i32,
                    colour,
                    1.0,
                );
            }
        }
    }

    /// Mixes a colour into a pixel; outside the canvas, it does nothing.
    fn blend(&mut self, x: i32, y: i32, colour: Rgb, share: f64) {
        let (Ok(x), Ok(y)) = (usize::try_from(x), usize::try_from(y)) else {
            return;
        };
        if x >= self.width || y >= self.height {
            return;
        }
        let at = (y * self.width + x) * 3;
        for (old, new) in self.pixels[at..at + 3].iter_mut().zip(colour) {
            let mixed = f64::from(*old) + (f64::from(new) - f64::from(*old)) * share;
            *old = mixed.round() as u8;
        }
    }
}

impl DrawingBackend for Canvas {
    type ErrorType = Infallible;

    fn get_size(&self) -> (u32, u32) {
        (self.width as u32, self.height as u32)
    }

    fn ensure_prepared(&mut self) -> Result<(), DrawingErrorKind<Infallible>> {
        Ok(())
    }

    fn present(&mut self) -> Result<(), DrawingErrorKind<Infallible>> {
        Ok(())
    }

    fn draw_pixel(
        &mut self,
        (x, y): BackendCoord,
        color: BackendColor,
    ) -> Result<(), DrawingErrorKind<Infallible>> {
        let (red, green, blue) = color.rgb;
        self.blend(x, y, [red, green, blue], color.alpha);
        Ok(())
    }

    fn draw_text<S: BackendTextStyle>(
        &mut self,
        text: &str,
        style: &S,
        (x, y): BackendCoord,
    ) -> Result<(), DrawingErrorKind<Infallible>> {
        let size = TextSize::of_points(style.size());
        let (advance, height) = (size.advance() as i32, size.height() as i32);
        let width = advance * text.chars().count() as i32;
        let anchor = style.anchor();
        let left = match anchor.h_pos {
            HPos::Left => 0,
            HPos::Center => -width / 2,
            HPos::Right => -width,
        };
        let top = match anchor.v_pos {
            VPos::Top => 0,
            VPos::Center => -height / 2,
            VPos::Bottom => -height,
        };
        let (red, green, blue) = style.color().rgb;
        for (number, letter) in text.chars().enumerate() {
            let Some(glyph) = size.letter(letter) else {
                continue;
            };
            for (row, shares) in glyph.rows().enumerate() {
                for (column, share) in shares.iter().enumerate() {
                    let across = left + advance * number as i32 + column as i32;
                    let (right, down) = style.transform().transform(across, top + row as i32);
                    let share = f64::from(*share) / 255.0;
                    self.blend(x + right, y + down, [red, green, blue], share);
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_drawn_outside_the_canvas() {
        let mut canvas = Canvas::new(2, 1);
        for (x, y) in [(-1, 0), (2, 0), (0, -1), (0, 1), (i32::MIN, i32::MAX)] {
            canvas.blend(x, y, [0; 3], 1.0);
        }
        assert_eq!(canvas.pixels, [255; 6]);
        canvas.blend(1, 0, [0, 100, 255], 0.5);
        assert_eq!(canvas.pixels, [255, 255, 255, 128, 178, 255]);
    }

    #[test]
    fn letters_that_the_font_lacks_have_a_sign() {
        for letter in ['°', '²', 'é', 'ż', '−', '海', '\u{1f600}'] {
            assert!(TextSize::Normal.letter(letter).is_some(), "{letter}");
        }
        let glyph = |letter| TextSize::Normal.letter(letter);
        assert_ne!(glyph('a'), glyph('海'));
        assert_eq!(glyph('−'), glyph('-'));
    }
}
