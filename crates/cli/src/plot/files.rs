//! Pictures as files: PNG and SVG.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use plotters_backend::DrawingBackend as _;
use plotters_svg::SVGBackend;

use super::canvas::Canvas;
use super::drawing::Drawing;
use super::figure::Figure;
use super::raster::{Frame, Raster};

/// Why a picture could not be encoded.
#[derive(Debug)]
pub(crate) struct EncodeError(String);

impl std::fmt::Display for EncodeError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the picture could not be encoded: {}", self.0)
    }
}

impl std::error::Error for EncodeError {}

impl EncodeError {
    fn of(error: impl std::fmt::Display) -> Self {
        Self(error.to_string())
    }
}

/// Returns a picture as the bytes of a PNG file, and where the data are in it.
///
/// # Errors
/// [`EncodeError`].
pub(crate) fn png(drawing: &Drawing) -> Result<(Vec<u8>, Frame), EncodeError> {
    let figure = Figure::new(drawing);
    let mut canvas = Canvas::new(figure.width, figure.height);
    figure.draw(&mut canvas).map_err(EncodeError::of)?;
    if let Some(cells) = &figure.cells {
        canvas.put(cells, figure.frame);
    }
    if let Some((bar, frame)) = &figure.bar {
        canvas.put(bar, *frame);
    }
    let bytes = encoded(canvas.width, canvas.height, &canvas.pixels)?;
    Ok((bytes, figure.frame))
}

/// Returns a picture as the text of an SVG file, and where the data are in it. The cells of an image and the colour bar are
/// embedded with one pixel for each cell.
///
/// # Errors
/// [`EncodeError`].
pub(crate) fn svg(drawing: &Drawing) -> Result<(String, Frame), EncodeError> {
    let figure = Figure::new(drawing);
    let mut text = String::new();
    {
        let size = (figure.width as u32, figure.height as u32);
        let mut canvas = SVGBackend::with_string(&mut text, size);
        figure.draw(&mut canvas).map_err(EncodeError::of)?;
        canvas.present().map_err(EncodeError::of)?;
    }
    let end = text
        .rfind("</svg>")
        .ok_or_else(|| EncodeError::of("it has no end"))?;
    let mut images = String::new();
    if let Some(cells) = &figure.cells {
        images.push_str(&image(cells, figure.frame)?);
    }
    if let Some((bar, frame)) = &figure.bar {
        images.push_str(&image(bar, *frame)?);
    }
    text.insert_str(end, &images);
    Ok((text, figure.frame))
}

/// An element of SVG with a raster in it.
fn image(raster: &Raster, frame: Frame) -> Result<String, EncodeError> {
    let pixels = raster.colours.as_flattened();
    let bytes = STANDARD.encode(encoded(raster.width, raster.height, pixels)?);
    let Frame {
        left,
        top,
        width,
        height,
    } = frame;
    Ok(format!(
        "<image x=\"{left}\" y=\"{top}\" width=\"{width}\" height=\"{height}\" preserveAspectRatio=\"none\" \
         style=\"image-rendering:pixelated\" href=\"data:image/png;base64,{bytes}\"/>\n"
    ))
}

fn encoded(width: usize, height: usize, pixels: &[u8]) -> Result<Vec<u8>, EncodeError> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, width as u32, height as u32);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    let mut writer = encoder.write_header().map_err(EncodeError::of)?;
    writer.write_image_data(pixels).map_err(EncodeError::of)?;
    writer.finish().map_err(EncodeError::of)?;
    Ok(bytes)
}
