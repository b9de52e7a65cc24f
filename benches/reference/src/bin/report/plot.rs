//! The ratios to the reference as a picture.

use std::fmt::Write as _;

use crate::outcome::Report;
use crate::sides::Side;

const ROW: f64 = 22.0;
const LEFT: f64 = 330.0;
const WIDTH: f64 = 960.0;
/// The ratios at the ends of the axis, which is logarithmic.
const ENDS: (f64, f64) = (0.25, 256.0);

fn at(ratio: f64) -> f64 {
    let (low, high) = (ENDS.0.ln(), ENDS.1.ln());
    let share = (ratio.clamp(ENDS.0, ENDS.1).ln() - low) / (high - low);
    LEFT + share * (WIDTH - LEFT - 70.0)
}

/// Returns an SVG with a bar for each figure that has a ratio to the reference: to the right of 1 where ours is faster.
pub(crate) fn ratios(report: &Report) -> String {
    let rows = report
        .0
        .iter()
        .filter_map(|row| Some((&row.name, row.ratio(Side::Icechunk)?)));
    let rows: Vec<_> = rows.collect();
    let height = ROW * (rows.len() as f64 + 2.0);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
    );
    let mut mark = ENDS.0;
    while mark <= ENDS.1 {
        let x = at(mark);
        let width = if mark == 1.0 { 1.5 } else { 0.5 };
        let _ = writeln!(
            svg,
            "<line x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"0\" y2=\"{:.1}\" stroke=\"#888\" stroke-width=\"{width}\"/>\n\
             <text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{mark}</text>",
            height - ROW,
            height - 6.0
        );
        mark *= 4.0;
    }
    for (number, (name, ratio)) in rows.into_iter().enumerate() {
        let y = ROW * number as f64 + 4.0;
        let (from, to) = (at(1.0).min(at(ratio)), at(1.0).max(at(ratio)));
        let colour = if ratio >= 1.0 { "#1f77b4" } else { "#d62728" };
        let name = name.replace('&', "&amp;").replace('<', "&lt;");
        let _ = writeln!(
            svg,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{name}</text>\n\
             <rect x=\"{from:.1}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"{:.1}\" fill=\"{colour}\"/>\n\
             <text x=\"{:.1}\" y=\"{:.1}\">{ratio:.1}</text>",
            LEFT - 10.0,
            y + 12.0,
            to - from,
            ROW - 7.0,
            to + 5.0,
            y + 12.0
        );
    }
    svg.push_str("</svg>\n");
    svg
}
