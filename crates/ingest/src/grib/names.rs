//! The names of the variables of a file.

use std::collections::BTreeMap;

use super::levels::{level_name, with_values};
use super::parameters::{NamedParameter, Own, named};
use super::product::{Level, Parameter, Product, ProductKind};

/// The key that tells the variables of a file apart.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    pub(super) parameter: Parameter,
    pub(super) kind: ProductKind,
    /// The kinds of its surface and of the second one.
    pub(super) level: (u8, Option<u8>),
    /// The height above the ground, in millimetres, of a variable that is named by it.
    pub(super) height: Option<i64>,
    /// The position of its grid.
    pub(super) grid: usize,
    /// Seconds of its intervals, if those of other lengths end at the same times.
    pub(super) interval: Option<i64>,
}

/// How a variable is described.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Described {
    pub(super) named: Option<NamedParameter>,
    pub(super) own: Own,
}

impl Key {
    pub(super) fn of(product: &Product, grid: usize) -> (Self, Described) {
        let Level {
            kind,
            value,
            second,
        } = product.level;
        let metres = value.map(|it| it.value());
        let metres = metres.filter(|_| kind == 103 && second.is_none());
        let found = named(product.parameter, kind, metres, product.kind.statistic);
        let (named, own) = found.map_or((None, Own::default()), |(it, own)| (Some(it), own));
        let height = metres.filter(|_| own.level);
        let key = Self {
            parameter: product.parameter,
            kind: product.kind.clone(),
            level: (kind, second.map(|(kind, _)| kind)),
            height: height.map(|it| (it * 1e3).round() as i64),
            grid,
            interval: None,
        };
        (key, Described { named, own })
    }

    /// Whether its level is the layer between two surfaces of one kind.
    pub(super) fn is_layer(&self) -> bool {
        self.level.1 == Some(self.level.0) && with_values(self.level.0).is_some()
    }

    /// The name of its level.
    pub(super) fn level_name(&self) -> String {
        level_name(self.level.0, self.is_layer())
    }
}

/// Returns what a parameter is called that no table has.
pub(super) fn unnamed(parameter: Parameter) -> String {
    let Parameter {
        discipline,
        category,
        number,
        ..
    } = parameter;
    format!("param{discipline}_{category}_{number}")
}

/// The suffix of the name of a parameter for its kind.
fn suffix(kind: &ProductKind, own: Own) -> String {
    let mut suffix = String::new();
    match kind.statistic.filter(|_| !own.statistic) {
        // Amounts are what has come together.
        None | Some(1) => {}
        Some(statistic) => suffix += &format!("_{}", statistic_name(statistic)),
    }
    if let Some(statistic) = kind.spatial {
        suffix += &format!("_area_{}", statistic_name(statistic));
    }
    if let Some(derived) = kind.derived {
        suffix += &match derived {
            0 => "_ensmean".to_owned(),
            4 => "_ensspread".to_owned(),
            8 => "_ensmin".to_owned(),
            9 => "_ensmax".to_owned(),
            derived => format!("_ens{derived}"),
        };
    }
    if let Some(percentile) = kind.percentile {
        suffix += &format!("_p{percentile}");
    }
    if let Some((kind, limits)) = &kind.probability {
        suffix += &format!("_prob{kind}_{}", limits.replace(' ', "_"));
    }
    if let Some(constituent) = kind.constituent {
        suffix += &format!("_c{constituent}");
    }
    suffix
}

/// The word for a statistic of table 4.10 in names.
fn statistic_name(statistic: u8) -> String {
    let name = match statistic {
        0 => "avg",
        1 => "accum",
        2 => "max",
        3 => "min",
        4 => "diff",
        5 => "rms",
        6 => "sd",
        7 => "cov",
        8 => "rdiff",
        9 => "ratio",
        10 => "stdanom",
        11 => "sum",
        statistic => return format!("stat{statistic}"),
    };
    name.to_owned()
}

/// The word for a statistic of table 4.10 in `cell_methods`.
pub(super) fn cell_method(statistic: u8) -> Option<&'static str> {
    Some(match statistic {
        0 => "mean",
        1 | 11 => "sum",
        2 => "maximum",
        3 => "minimum",
        5 => "root_mean_square",
        6 => "standard_deviation",
        _ => return None,
    })
}

/// A part of a name that tells a variable from others; none where it has nothing to say.
type Distinction = dyn Fn(&Key) -> Option<String>;

/// Gives each of the variables a name of its own. Where several would have one, each gets what tells it from the others: its
/// level, then its grid, its length of time, and whether it is one of an ensemble.
pub(super) fn names(variables: &[(Key, Described)]) -> Vec<String> {
    let base = variables.iter().map(|(key, described)| {
        let name = described.named.map(|it| it.name.to_owned());
        let name = name.unwrap_or_else(|| unnamed(key.parameter));
        name + &suffix(&key.kind, described.own)
    });
    let mut names: Vec<String> = base.collect();
    let more: [&Distinction; 6] = [
        &|key| key.interval.map(interval_name),
        &|key| Some(key.level_name()),
        &|key| (key.grid > 0).then(|| format!("grid{}", key.grid + 1)),
        &|key| key.kind.is_member.then(|| "members".to_owned()),
        &|key| key.kind.statistic.map(statistic_name),
        &|key| {
            let (kind, second) = key.level;
            Some(format!("level{kind}_{}", second.unwrap_or(u8::MAX)))
        },
    ];
    for more in more {
        let mut places: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (at, name) in names.iter().enumerate() {
            places.entry(name).or_default().push(at);
        }
        let several: Vec<usize> = places
            .into_values()
            .filter(|it| it.len() > 1)
            .flatten()
            .collect();
        for at in several {
            if let Some(more) = variables.get(at).and_then(|(key, _)| more(key)) {
                names[at] = format!("{}_{more}", names[at]);
            }
        }
    }
    // The remaining names differ in a property without a word.
    let mut seen: BTreeMap<String, u32> = BTreeMap::new();
    for name in &mut names {
        let count = seen.entry(name.clone()).or_default();
        *count += 1;
        if *count > 1 {
            *name = format!("{name}_{count}");
        }
    }
    names
}

fn interval_name(seconds: i64) -> String {
    match seconds % 3600 {
        0 => format!("{}h", seconds / 3600),
        _ => format!("{seconds}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(level: u8, kind: ProductKind, grid: usize) -> (Key, Described) {
        let parameter = Parameter::new(0, 0, 0, 98);
        let found = named(parameter, level, None, kind.statistic);
        let key = Key {
            parameter,
            kind,
            level: (level, None),
            height: None,
            grid,
            interval: None,
        };
        let described = Described {
            named: found.map(|(named, _)| named),
            own: Own::default(),
        };
        (key, described)
    }

    #[test]
    fn one_name_for_each() {
        let plain = ProductKind::default();
        let mean = ProductKind {
            statistic: Some(0),
            ..ProductKind::default()
        };
        assert_eq!(names(&[key(100, plain.clone(), 0)]), ["t"]);
        let several = [
            key(100, plain.clone(), 0),
            key(1, plain.clone(), 0),
            key(1, mean.clone(), 0),
            key(100, plain, 1),
        ];
        let expected = [
            "t_isobaricInhPa",
            "t_surface",
            "t_avg",
            "t_isobaricInhPa_grid2",
        ];
        assert_eq!(names(&several), expected);
        let others = [key(100, mean.clone(), 0), key(100, mean, 0)];
        let names = names(&others);
        assert_ne!(names[0], names[1]);
    }
}
