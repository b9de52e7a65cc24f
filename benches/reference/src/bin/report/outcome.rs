//! Medians, ratios and verdicts: as a table, as JSON, and as a page.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use anyhow::Result;

use crate::Figures;
use crate::sides::Side;
use crate::targets::{self, Target};

/// The figures of all rounds of one workload.
#[derive(Default)]
pub(crate) struct Rounds(Vec<(String, BTreeMap<Side, Vec<f64>>)>);

impl Rounds {
    pub(crate) fn note(&mut self, side: Side, figures: Figures) {
        for (name, figure) in figures {
            let at = self.0.iter().position(|(known, _)| *known == name);
            let at = at.unwrap_or_else(|| {
                self.0.push((name, BTreeMap::new()));
                self.0.len() - 1
            });
            self.0[at].1.entry(side).or_default().push(figure);
        }
    }
}

/// One figure of all sides, a value a round.
pub(crate) struct Row {
    workload: &'static str,
    pub(crate) name: String,
    rounds: BTreeMap<Side, Vec<f64>>,
}

impl Row {
    fn median(&self, side: Side) -> Option<f64> {
        middle(self.rounds.get(&side)?.clone())
    }

    /// Returns how many times as much the other side takes as ours: the median of the rounds, each against itself.
    pub(crate) fn ratio(&self, other: Side) -> Option<f64> {
        let (ours, theirs) = (self.rounds.get(&Side::Icefield)?, self.rounds.get(&other)?);
        middle(
            ours.iter()
                .zip(theirs)
                .map(|(ours, theirs)| theirs / ours)
                .collect(),
        )
    }

    /// Returns each bound in words, and whether the figure keeps it; none where the side was not measured.
    fn verdicts(&self) -> Vec<(String, Option<bool>)> {
        let verdict = |target: &Target| match target {
            Target::Reference(times) => {
                let met = self.ratio(Side::Icechunk).map(|it| it >= *times);
                (format!("{times} x icechunk"), met)
            }
            Target::Floor(times) => {
                let met = self.ratio(Side::Floor).map(|it| 1.0 / it <= *times);
                (format!("within {times} x floor"), met)
            }
            Target::Most(most) => {
                let met = self.median(Side::Icefield).map(|it| it <= *most);
                (format!("at most {}", self.value(*most)), met)
            }
        };
        targets::of(&self.name).iter().map(verdict).collect()
    }

    /// Spells a value: seconds, unless the name of the figure begins with another unit.
    fn value(&self, value: f64) -> String {
        match value {
            _ if self.name.starts_with("bytes") => format!("{value:.0} B"),
            value if value < 1e-6 => format!("{:.0} ns", value * 1e9),
            value if value < 1e-3 => format!("{:.1} us", value * 1e6),
            value if value < 1.0 => format!("{:.2} ms", value * 1e3),
            value => format!("{value:.2} s"),
        }
    }

    fn cells(&self) -> [String; 7] {
        let value = |side| {
            self.median(side)
                .map_or("-".to_owned(), |it| self.value(it))
        };
        let ratio = |ratio: Option<f64>| ratio.map_or("-".to_owned(), |it| format!("{it:.2}"));
        let words = |(bound, met): (String, Option<bool>)| match met {
            Some(true) => format!("{bound}: met"),
            Some(false) => format!("{bound}: missed"),
            None => format!("{bound}: not measured"),
        };
        let verdicts: Vec<String> = self.verdicts().into_iter().map(words).collect();
        [
            self.name.clone(),
            value(Side::Icefield),
            value(Side::Icechunk),
            value(Side::Floor),
            ratio(self.ratio(Side::Icechunk)),
            ratio(self.ratio(Side::Floor).map(|it| 1.0 / it)),
            verdicts.join("; "),
        ]
    }
}

fn middle(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

/// All figures.
#[derive(Default)]
pub(crate) struct Report(pub(crate) Vec<Row>);

const HEAD: [&str; 7] = [
    "one operation",
    "icefield",
    "icechunk",
    "floor",
    "times as fast as icechunk",
    "times the floor",
    "targets",
];

impl Report {
    pub(crate) fn add(&mut self, workload: &'static str, rounds: Rounds) {
        let row = |(name, rounds)| Row {
            workload,
            name,
            rounds,
        };
        self.0.extend(rounds.0.into_iter().map(row));
    }

    /// Returns a table of Markdown whose columns are aligned.
    pub(crate) fn table(&self) -> String {
        let mut lines = vec![HEAD.map(str::to_owned)];
        lines.extend(self.0.iter().map(Row::cells));
        let width = |column: usize| {
            lines
                .iter()
                .map(|line| line[column].chars().count())
                .max()
                .unwrap_or(0)
        };
        let widths: Vec<usize> = (0..HEAD.len()).map(width).collect();
        let mut text = String::new();
        for (number, line) in lines.iter().enumerate() {
            let cells = line
                .iter()
                .zip(&widths)
                .map(|(cell, width)| format!("{cell:width$}"));
            let _ = writeln!(text, "| {} |", cells.collect::<Vec<_>>().join(" | "));
            if number == 0 {
                let rule = widths.iter().map(|width| "-".repeat(width + 2));
                let _ = writeln!(text, "|{}|", rule.collect::<Vec<_>>().join("|"));
            }
        }
        text
    }

    /// Returns every number of every round.
    ///
    /// # Errors
    /// If it cannot be written as JSON.
    pub(crate) fn json(&self, machine: &str) -> Result<String> {
        let row = |row: &Row| {
            let sides =
                |of: &dyn Fn(Side) -> Option<f64>| -> serde_json::Map<String, serde_json::Value> {
                    let known = Side::ALL
                        .into_iter()
                        .filter_map(|side| Some((side.name().to_owned(), of(side)?.into())));
                    known.collect()
                };
            let rounds = row
                .rounds
                .iter()
                .map(|(side, all)| (side.name().to_owned(), all.clone().into()));
            let rounds: serde_json::Map<String, serde_json::Value> = rounds.collect();
            let targets = row
                .verdicts()
                .into_iter()
                .map(|(target, met)| serde_json::json!({"target": target, "met": met}));
            serde_json::json!({
                "workload": row.workload,
                "name": row.name,
                "rounds": rounds,
                "medians": sides(&|side| row.median(side)),
                "ratios": sides(&|side| if side == Side::Icefield { None } else { row.ratio(side) }),
                "targets": targets.collect::<Vec<_>>(),
            })
        };
        let rows: Vec<_> = self.0.iter().map(row).collect();
        let document = serde_json::json!({"schema": 1, "machine": machine, "rows": rows});
        Ok(serde_json::to_string_pretty(&document)?)
    }

    /// Returns the page of the documentation.
    pub(crate) fn markdown(&self, machine: &str) -> String {
        format!(
            "<!-- Written by `cargo xtask bench --peer`; edit benches/reference/src/bin/report instead. -->\n\
             # Performance\n\n\
             The command `cargo xtask bench --peer` writes this page. It runs each workload through icefield, through the reference\n\
             implementation ([icechunk](https://crates.io/crates/icechunk) 2.3.1) and through the least that the machine needs for it,\n\
             in turns and in processes of their own; medians of the rounds, and of the rounds' ratios. Both write spec version 1\n\
             to a local disk, without fsync unless a row says otherwise, and read with a warm page cache. The floor is plain files: `open` and\n\
             `pread` into a new buffer, `write` under the final name, or a walk of the directory.\n\n\
             Machine: {machine}.\n\n{}\n![Times as fast as icechunk](performance.svg)\n",
            self.table()
        )
    }
}
