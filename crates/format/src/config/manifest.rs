//! The part of the configuration about manifests: which to fetch early, and how to split them.
//!
//! Conditions are sets of arrays. Their regular expressions are searches, not full matches.

use std::ops::Bound;

use serde::{Deserialize, Serialize};

use super::section::{plain_entries, section};

section! { keywise
    /// `manifest`: the preloading and splitting of manifests.
    ManifestConfig {
        /// The manifests that a reader fetches when it opens a session.
        preload: PreloadConfig,
        /// The rules by which a writer splits the refs of an array over manifests.
        splitting: SplittingConfig,
    }
}

section! { whole
    /// `manifest.preload`: the manifests that a reader fetches when it opens a session, so that the first read of a
    /// chunk needs one request less.
    PreloadConfig {
        /// The number of refs in all manifests that are fetched. Default: 10 000.
        max_total_refs: u32 = "10000",
        /// The arrays whose manifests are fetched. Default: those named like coordinates.
        preload_if: PreloadCondition,
    }
}

section! { whole
    /// `manifest.splitting`: the rules by which a writer splits the refs of an array over manifests.
    SplittingConfig {
        /// Rules, the first that fits an axis counts. Default: none. icefield then splits by size
        /// (decision 15); the reference implementation writes one manifest for each array.
        split_sizes: Vec<SplitRule> = "[]",
    }
}

/// The set of arrays whose manifests a reader fetches early.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PreloadCondition {
    /// Arrays in any of these sets.
    Or(Vec<Self>),
    /// Arrays in all of these sets.
    And(Vec<Self>),
    /// Arrays whose path fits.
    PathMatches {
        /// The expression.
        regex: String,
    },
    /// Arrays whose last path segment fits.
    NameMatches {
        /// The expression.
        regex: String,
    },
    /// Arrays with a number of refs between bounds.
    NumRefs {
        /// Lower bound.
        from: Bound<u32>,
        /// Upper bound.
        to: Bound<u32>,
    },
    /// All arrays.
    True,
    /// No array.
    False,
}

/// The set of arrays to which a rule of splitting applies.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SplitCondition {
    /// Arrays in any of these sets.
    Or(Vec<Self>),
    /// Arrays in all of these sets.
    And(Vec<Self>),
    /// Arrays whose path fits.
    PathMatches {
        /// The expression.
        regex: String,
    },
    /// Arrays whose last path segment fits.
    NameMatches {
        /// The expression.
        regex: String,
    },
    /// All arrays.
    AnyArray,
}

/// A rule by which the refs of some arrays are split over manifests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    from = "(SplitCondition, Vec<DimensionRule>)",
    into = "(SplitCondition, Vec<DimensionRule>)"
)]
pub struct SplitRule {
    /// The arrays to which the rule applies.
    pub arrays: SplitCondition,
    /// The rules for axes; the first that fits an axis counts.
    pub dimensions: Vec<DimensionRule>,
}

impl From<(SplitCondition, Vec<DimensionRule>)> for SplitRule {
    fn from((arrays, dimensions): (SplitCondition, Vec<DimensionRule>)) -> Self {
        Self { arrays, dimensions }
    }
}

impl From<SplitRule> for (SplitCondition, Vec<DimensionRule>) {
    fn from(rule: SplitRule) -> Self {
        (rule.arrays, rule.dimensions)
    }
}

/// The number of chunks along some axes that one manifest covers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DimensionRule {
    /// The axes to which the rule applies.
    pub condition: DimensionCondition,
    /// The number of chunks along the axis in one manifest. A file may say 0.
    pub num_chunks: u32,
}

impl PreloadCondition {
    /// The regular expressions in it.
    pub(super) fn expressions<'a>(&'a self, into: &mut Vec<&'a str>) {
        match self {
            Self::Or(all) | Self::And(all) => all.iter().for_each(|it| it.expressions(into)),
            Self::PathMatches { regex } | Self::NameMatches { regex } => into.push(regex),
            Self::NumRefs { .. } | Self::True | Self::False => {}
        }
    }
}

impl SplitCondition {
    /// The regular expressions in it.
    pub(super) fn expressions<'a>(&'a self, into: &mut Vec<&'a str>) {
        match self {
            Self::Or(all) | Self::And(all) => all.iter().for_each(|it| it.expressions(into)),
            Self::PathMatches { regex } | Self::NameMatches { regex } => into.push(regex),
            Self::AnyArray => {}
        }
    }
}

impl SplitRule {
    /// The regular expressions in it.
    pub(super) fn expressions<'a>(&'a self, into: &mut Vec<&'a str>) {
        self.arrays.expressions(into);
        for rule in &self.dimensions {
            if let DimensionCondition::DimensionName(regex) = &rule.condition {
                into.push(regex);
            }
        }
    }
}

/// The set of axes to which a rule applies.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum DimensionCondition {
    /// The axis at a position.
    Axis(usize),
    /// Axes whose name fits the expression.
    DimensionName(String),
    /// All axes.
    Any,
}

plain_entries!(
    PreloadCondition = "a condition on arrays, such as !name_matches {regex: '^time$'}, 'true' or 'false'",
    Vec<SplitRule> = "a list of rules, such as [[any_array, [{condition: Any, num_chunks: 1000}]]], each with one chunk or more",
);
