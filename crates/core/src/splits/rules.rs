//! The rules of `manifest.splitting`, compiled.

use icefield_format::RepositoryConfig;
use icefield_format::config::{DimensionCondition, DimensionRule, SplitCondition, SplitRule};
use regex::Regex;

use super::cells::{Cells, WHOLE};
use crate::conditions::{ArrayName, Pattern, compiled};

#[derive(Debug)]
enum Arrays {
    Any,
    None,
    Fits(Pattern),
    Or(Vec<Self>),
    And(Vec<Self>),
}

impl Arrays {
    fn of(condition: &SplitCondition) -> Self {
        match condition {
            SplitCondition::AnyArray => Self::Any,
            SplitCondition::PathMatches { regex } => {
                Pattern::path(regex).map_or(Self::None, Self::Fits)
            }
            SplitCondition::NameMatches { regex } => {
                Pattern::name(regex).map_or(Self::None, Self::Fits)
            }
            SplitCondition::Or(all) => Self::Or(all.iter().map(Self::of).collect()),
            SplitCondition::And(all) => Self::And(all.iter().map(Self::of).collect()),
        }
    }

    fn fits(&self, array: &ArrayName<'_>) -> bool {
        match self {
            Self::Any => true,
            Self::None => false,
            Self::Fits(pattern) => pattern.fits(array),
            Self::Or(all) => all.iter().any(|one| one.fits(array)),
            Self::And(all) => all.iter().all(|one| one.fits(array)),
        }
    }
}

#[derive(Debug)]
enum Axes {
    Any,
    None,
    At(usize),
    Named(Regex),
}

impl Axes {
    fn of(condition: &DimensionCondition) -> Self {
        match condition {
            DimensionCondition::Any => Self::Any,
            DimensionCondition::Axis(axis) => Self::At(*axis),
            DimensionCondition::DimensionName(regex) => {
                compiled(regex).map_or(Self::None, Self::Named)
            }
        }
    }

    fn fits(&self, axis: usize, name: Option<&str>) -> bool {
        match self {
            Self::Any => true,
            Self::None => false,
            Self::At(wanted) => *wanted == axis,
            Self::Named(regex) => name.is_some_and(|name| regex.is_match(name)),
        }
    }
}

#[derive(Debug)]
struct Rule {
    arrays: Arrays,
    /// Which axes, and the length of a cell along them.
    axes: Vec<(Axes, u32)>,
}

impl Rule {
    fn of(rule: &SplitRule) -> Self {
        let axis = |rule: &DimensionRule| (Axes::of(&rule.condition), rule.num_chunks);
        Self {
            arrays: Arrays::of(&rule.arrays),
            axes: rule.dimensions.iter().map(axis).collect(),
        }
    }
}

/// The rules of a configuration.
#[derive(Debug, Default)]
pub(crate) struct SplitRules(Vec<Rule>);

impl SplitRules {
    pub(crate) fn of(config: &RepositoryConfig) -> Self {
        let manifest = config.manifest.as_ref();
        let splitting = manifest.and_then(|manifest| manifest.splitting.as_ref());
        let rules = splitting.and_then(|splitting| splitting.split_sizes.as_ref());
        Self(rules.into_iter().flatten().map(Rule::of).collect())
    }

    /// Returns the cells that the rules ask for; none if no rule says anything of the array.
    ///
    /// The rules are gone through in order; an axis is decided by the first rule of a list that is about it. Axes that
    /// none is about are not split (the format's description, section 8).
    pub(crate) fn cells(&self, array: &ArrayName<'_>, rank: usize) -> Option<Cells> {
        let mut decided: Vec<Option<u32>> = vec![None; rank];
        let fitting = self.0.iter().filter(|rule| rule.arrays.fits(array));
        let mut any = false;
        for rule in fitting {
            any = true;
            for (axis, decided) in decided.iter_mut().enumerate() {
                let names = array.dimensions.and_then(|names| names.get(axis));
                let name = names.and_then(Option::as_deref);
                let of_axis = || rule.axes.iter().find(|(axes, _)| axes.fits(axis, name));
                *decided = decided.or_else(|| of_axis().map(|(_, length)| *length));
            }
        }
        any.then(|| Cells::of(decided.into_iter().map(|it| it.unwrap_or(WHOLE)).collect()))
    }
}
