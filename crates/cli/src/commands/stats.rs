//! `icefield stats`

use std::io::{self, IsTerminal, Write};

use icefield::ingest::{Histogram, Number, StatisticsError, Summary, statistics};
use icefield::storage::with_causes;
use serde::Serialize;

use super::Context;
use super::ncdump::failed;
use crate::args::Stats;
use crate::failure::{Exit, Failure};
use crate::output::escape::printable;
use crate::output::table::Columns;
use crate::output::{self, Output};
use crate::progress::ChunkProgress;

/// The heights of the bars of a histogram.
const HEIGHTS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

#[derive(Serialize)]
struct StatisticsFacts {
    location: String,
    array: String,
    #[serde(rename = "ref")]
    revision: String,
    shape: Vec<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    units: Option<String>,
    #[serde(flatten)]
    all: StatisticsRow,
    #[serde(skip_serializing_if = "Option::is_none")]
    histogram: Option<HistogramFacts>,
    /// The dimension of `rows`.
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    rows: Vec<StatisticsRow>,
}

#[derive(Serialize)]
struct StatisticsRow {
    count: u64,
    missing: u64,
    minimum: Option<NumberFact>,
    mean: Option<NumberFact>,
    maximum: Option<NumberFact>,
    standard_deviation: Option<NumberFact>,
}

/// A number in JSON: integers are exact; floats that are not finite are strings.
#[derive(Serialize)]
#[serde(untagged)]
enum NumberFact {
    Signed(i64),
    Unsigned(u64),
    Real(f64),
    Special(&'static str),
}

#[derive(Serialize)]
struct HistogramFacts {
    low: f64,
    width: f64,
    counts: Vec<u64>,
}

pub(super) async fn run(context: &Context, args: Stats) -> Result<(), Failure> {
    let (session, _) = context.session(&args.location, &args.at.revision).await?;
    let bar = ChunkProgress::new("");
    let found = statistics(&session, &args.array, args.by.as_deref(), &bar).await;
    bar.clear();
    let found = found.map_err(failure)?;
    let facts = StatisticsFacts {
        location: output::location(&args.location),
        array: args.array.to_string(),
        revision: args.at.revision.to_string(),
        shape: found.shape,
        units: found.units,
        all: StatisticsRow::of(&found.all),
        histogram: found.histogram.map(HistogramFacts::of),
        by: args.by,
        rows: found.by.iter().map(StatisticsRow::of).collect(),
    };
    Output::new(args.output).facts(&facts, |facts, out| {
        text(facts, io::stdout().is_terminal(), out)
    })
}

fn failure(error: StatisticsError) -> Failure {
    match error {
        StatisticsError::Read(error) => failed(error),
        StatisticsError::NoDimension { .. } => Failure::new(Exit::NotFound, with_causes(&error)),
        error => Failure::new(Exit::Failure, with_causes(&error)),
    }
}

fn text(facts: &StatisticsFacts, on_terminal: bool, out: &mut dyn Write) -> io::Result<()> {
    if let Some(by) = &facts.by {
        let by = printable(by).to_uppercase();
        let mut columns = Columns::new(&[
            &format!(">{by}"),
            ">COUNT",
            ">MISSING",
            ">MINIMUM",
            ">MEAN",
            ">MAXIMUM",
            ">DEVIATION",
        ]);
        let rows = facts.rows.iter().enumerate();
        let rows = rows.map(|(at, row)| (at.to_string(), row));
        for (name, row) in rows.chain([("all".to_owned(), &facts.all)]) {
            columns.row([vec![name], row.cells()].concat());
        }
        return columns.write(out);
    }
    let mut table = Columns::pairs();
    let units = facts.units.as_deref().map(printable);
    let names = [
        "count",
        "missing",
        "minimum",
        "mean",
        "maximum",
        "deviation",
    ];
    for (at, (name, cell)) in names.into_iter().zip(facts.all.cells()).enumerate() {
        match &units {
            Some(units) if at > 1 && cell != "-" => table.row([name, &format!("{cell} {units}")]),
            _ => table.row([name, &cell]),
        }
    }
    if let (true, Some(histogram)) = (on_terminal, &facts.histogram) {
        table.row(["histogram", &histogram.line()]);
    }
    table.write(out)
}

impl StatisticsRow {
    fn of(summary: &Summary) -> Self {
        let real = |number: Option<f64>| number.map(NumberFact::real);
        let number = |number: Option<Number>| number.map(NumberFact::of);
        Self {
            count: summary.count,
            missing: summary.missing,
            minimum: number(summary.minimum),
            mean: real(summary.mean),
            maximum: number(summary.maximum),
            standard_deviation: real(summary.standard_deviation),
        }
    }

    fn cells(&self) -> Vec<String> {
        let figures = [
            &self.minimum,
            &self.mean,
            &self.maximum,
            &self.standard_deviation,
        ];
        let figures = figures.map(|figure| match figure {
            None => "-".to_owned(),
            Some(figure) => figure.to_string(),
        });
        [
            vec![self.count.to_string(), self.missing.to_string()],
            figures.to_vec(),
        ]
        .concat()
    }
}

impl NumberFact {
    fn of(number: Number) -> Self {
        match number {
            Number::Real(number) => Self::real(number),
            Number::Integer(number) => match (i64::try_from(number), u64::try_from(number)) {
                (Ok(number), _) => Self::Signed(number),
                (_, Ok(number)) => Self::Unsigned(number),
                _ => Self::real(number as f64),
            },
        }
    }

    fn real(number: f64) -> Self {
        match number {
            number if number.is_finite() => Self::Real(number),
            f64::INFINITY => Self::Special("Infinity"),
            f64::NEG_INFINITY => Self::Special("-Infinity"),
            _ => Self::Special("NaN"),
        }
    }
}

impl std::fmt::Display for NumberFact {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Signed(number) => write!(f, "{number}"),
            Self::Unsigned(number) => write!(f, "{number}"),
            Self::Special(text) => f.write_str(text),
            Self::Real(number) if *number == 0.0 || (1e-4..1e15).contains(&number.abs()) => {
                write!(f, "{number}")
            }
            Self::Real(number) => write!(f, "{number:e}"),
        }
    }
}

impl HistogramFacts {
    fn of(histogram: Histogram) -> Self {
        Self {
            low: histogram.low,
            width: histogram.width,
            counts: histogram.counts,
        }
    }

    /// Returns a bar per interval, with heights relative to the fullest one; an empty interval is a blank.
    fn line(&self) -> String {
        let fullest = self.counts.iter().copied().max().unwrap_or(1).max(1);
        let bar = |count: &u64| match count {
            0 => ' ',
            count => {
                let height = u128::from(count - 1) * HEIGHTS.len() as u128 / u128::from(fullest);
                HEIGHTS[height as usize]
            }
        };
        self.counts.iter().map(bar).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fullest_interval_has_the_highest_bar() {
        let histogram = HistogramFacts {
            low: 0.0,
            width: 1.0,
            counts: vec![1, 0, 8, 4],
        };
        assert_eq!(histogram.line(), "▁ █▄");
    }

    #[test]
    fn figures_are_exact_where_they_can_be() {
        let shown = |number| NumberFact::of(number).to_string();
        assert_eq!(
            shown(Number::Integer(u64::MAX.into())),
            u64::MAX.to_string()
        );
        assert_eq!(shown(Number::Real(271.25)), "271.25");
        assert_eq!(shown(Number::Real(1e-9)), "1e-9");
        let json = serde_json::to_string(&NumberFact::real(f64::NEG_INFINITY));
        assert_eq!(json.expect("a text"), "\"-Infinity\"");
    }
}
