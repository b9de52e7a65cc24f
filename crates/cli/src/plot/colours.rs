//! Colours of numbers, computed in the space Oklab, in which equal distances look equal.

/// A colour: red, green, blue.
pub(super) type Rgb = [u8; 3];

/// The colour of a missing number.
pub(super) const MISSING: Rgb = [150, 150, 150];

/// A way from numbers between 0 and 1 to colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ColourMap {
    /// From dark violet over green to light yellow; lightness grows evenly.
    Sequential,
    /// From dark blue over near-white to dark red; lightness falls evenly on both sides of the middle.
    Diverging,
}

/// The colours of numbers between two limits.
#[derive(Clone, Debug)]
pub(super) struct Scale {
    limits: Option<(f64, f64)>,
    colours: Vec<Rgb>,
}

impl Scale {
    /// Makes a scale between given limits, or else between the least and the greatest finite number; of a diverging map, the
    /// limits lie equally far from zero.
    pub(super) fn new(map: ColourMap, limits: Option<(f64, f64)>, numbers: &[f64]) -> Self {
        let finite = || numbers.iter().copied().filter(|number| number.is_finite());
        let (low, high) = (
            finite().fold(f64::INFINITY, f64::min),
            finite().fold(f64::NEG_INFINITY, f64::max),
        );
        let found = (low <= high).then(|| match map {
            ColourMap::Sequential => (low, high),
            ColourMap::Diverging => {
                let most = low.abs().max(high.abs());
                (-most, most)
            }
        });
        Self {
            limits: limits.or(found),
            colours: (0..=255_u8)
                .map(|at| map.at(f64::from(at) / 255.0))
                .collect(),
        }
    }

    pub(super) fn limits(&self) -> Option<(f64, f64)> {
        self.limits
    }

    /// Returns the colour of a number; one beyond a limit has the colour of the limit.
    pub(super) fn colour(&self, number: f64) -> Rgb {
        match self.place(number) {
            Some(place) => self.at(place),
            None => MISSING,
        }
    }

    /// Returns the colour at a place between 0 and 1.
    pub(super) fn at(&self, place: f64) -> Rgb {
        self.colours[(place.clamp(0.0, 1.0) * 255.0).round() as usize]
    }

    /// Returns the place of a number between the limits, from 0 to 1; `None` if it is missing.
    pub(super) fn place(&self, number: f64) -> Option<f64> {
        if number.is_nan() {
            return None;
        }
        let (low, high) = self.limits.unwrap_or((0.0, 0.0));
        Some(match number {
            number if low == high && number == low => 0.5,
            number if number >= high => 1.0,
            number if number <= low => 0.0,
            // Halves: the distance of the limits may be no float.
            number => (number / 2.0 - low / 2.0) / (high / 2.0 - low / 2.0),
        })
    }
}

impl ColourMap {
    /// Returns the colour at a place between 0 and 1. Screens show all of these colours: none is cut to what they show.
    fn at(self, place: f64) -> Rgb {
        match self {
            Self::Sequential => {
                // Less colour in the middle, where screens show little of it.
                let chroma = 0.1 + 0.045 * (2.0 * place - 1.0).powi(2);
                shown(0.28 + 0.66 * place, chroma, 305.0 - 200.0 * place)
            }
            Self::Diverging => {
                let side = 2.0 * place - 1.0;
                let hue = if side < 0.0 { 255.0 } else { 30.0 };
                let chroma = 0.125 * (1.0 - (1.0 - side.abs()).powi(2));
                shown(0.965 - 0.52 * side.abs(), chroma, hue)
            }
        }
    }
}

/// The colour with a lightness, a chroma and a hue in degrees.
fn shown(lightness: f64, chroma: f64, hue: f64) -> Rgb {
    let (sine, cosine) = hue.to_radians().sin_cos();
    let channels = linear(lightness, chroma * cosine, chroma * sine);
    channels.map(|channel| (gamma(channel.clamp(0.0, 1.0)) * 255.0).round() as u8)
}

/// Linear red, green and blue of a colour of Oklab.
fn linear(lightness: f64, a: f64, b: f64) -> [f64; 3] {
    let long = (lightness + 0.396_337_777_4 * a + 0.215_803_757_3 * b).powi(3);
    let medium = (lightness - 0.105_561_345_8 * a - 0.063_854_172_8 * b).powi(3);
    let short = (lightness - 0.089_484_177_5 * a - 1.291_485_548 * b).powi(3);
    [
        4.076_741_662_1 * long - 3.307_711_591_3 * medium + 0.230_969_929_2 * short,
        -1.268_438_004_6 * long + 2.609_757_401_1 * medium - 0.341_319_396_5 * short,
        -0.004_196_086_3 * long - 0.703_418_614_7 * medium + 1.707_614_701 * short,
    ]
}

/// The value of sRGB for a linear one.
fn gamma(linear: f64) -> f64 {
    match linear <= 0.003_130_8 {
        true => 12.92 * linear,
        false => 1.055 * linear.powf(1.0 / 2.4) - 0.055,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lightness of a colour in Oklab.
    fn lightness(colour: Rgb) -> f64 {
        let [red, green, blue] = colour.map(|channel| {
            let channel = f64::from(channel) / 255.0;
            match channel <= 0.04045 {
                true => channel / 12.92,
                false => ((channel + 0.055) / 1.055).powf(2.4),
            }
        });
        let long = 0.412_221_47 * red + 0.536_332_54 * green + 0.051_445_99 * blue;
        let medium = 0.211_903_5 * red + 0.680_699_55 * green + 0.107_396_96 * blue;
        let short = 0.088_302_46 * red + 0.281_718_84 * green + 0.629_978_7 * blue;
        0.210_454_26 * long.cbrt() + 0.793_617_79 * medium.cbrt() - 0.004_072_05 * short.cbrt()
    }

    #[test]
    fn equal_steps_of_numbers_are_equal_steps_of_lightness() {
        let sequential = Scale::new(ColourMap::Sequential, Some((0.0, 1.0)), &[]);
        let diverging = Scale::new(ColourMap::Diverging, Some((-1.0, 1.0)), &[]);
        for step in 0..=20_u8 {
            let place = f64::from(step) / 20.0;
            let found = lightness(sequential.colour(place));
            assert!(
                (found - (0.28 + 0.66 * place)).abs() < 0.01,
                "{place}: {found}"
            );
            for number in [place, -place] {
                let found = lightness(diverging.colour(number));
                assert!(
                    (found - (0.965 - 0.52 * place)).abs() < 0.01,
                    "{number}: {found}"
                );
            }
        }
        assert_ne!(diverging.colour(-1.0), diverging.colour(1.0));
    }

    #[test]
    fn screens_show_each_colour_as_it_is_meant() {
        for step in 0..=100_u8 {
            let place = f64::from(step) / 100.0;
            let chroma = 0.1 + 0.045 * (2.0 * place - 1.0).powi(2);
            let (sine, cosine) = (305.0 - 200.0 * place).to_radians().sin_cos();
            let channels = linear(0.28 + 0.66 * place, chroma * cosine, chroma * sine);
            assert!(
                channels.iter().all(|it| (-1e-3..=1.001).contains(it)),
                "{channels:?}"
            );
        }
    }

    #[test]
    fn numbers_beyond_the_limits_have_the_colours_of_the_limits() {
        let numbers = [1.0, f64::NAN, 3.0, f64::INFINITY, f64::NEG_INFINITY];
        let scale = Scale::new(ColourMap::Sequential, None, &numbers);
        assert_eq!(scale.limits(), Some((1.0, 3.0)));
        let places = numbers.map(|number| scale.place(number));
        assert_eq!(places, [Some(0.0), None, Some(1.0), Some(1.0), Some(0.0)]);
        assert_eq!(scale.colour(f64::NAN), MISSING);
        let wide = Scale::new(ColourMap::Sequential, None, &[f64::MIN, f64::MAX]);
        assert_eq!(wide.place(0.0), Some(0.5));
        let one = Scale::new(ColourMap::Sequential, None, &[7.0]);
        assert_eq!(one.place(7.0), Some(0.5));
        let none = Scale::new(ColourMap::Diverging, None, &[f64::NAN]);
        assert_eq!((none.limits(), none.place(f64::NAN)), (None, None));
        let difference = Scale::new(ColourMap::Diverging, None, &[-1.0, 4.0]);
        assert_eq!(difference.limits(), Some((-4.0, 4.0)));
    }
}
