//! The problems of a message.

/// Why a message of a GRIB file is not imported.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum GribProblem {
    /// Edition 1, or one to come.
    #[error(
        "it is of edition {edition}, and edition 2 is read: write the file anew with eccodes, `grib_set -s edition=2 IN OUT`"
    )]
    Edition {
        /// The edition.
        edition: u8,
    },
    /// The file ends within the message.
    #[error("it ends at byte {end}, and the file at byte {size}: the file was cut off")]
    Truncated {
        /// The end that the message states.
        end: u64,
        /// The size of the file.
        size: u64,
    },
    /// A message does not end where it says.
    #[error("its length is {length}, and no message ends there")]
    Length {
        /// The length that the message states.
        length: u64,
    },
    /// A section that is longer than the message, or shorter than its own header.
    #[error("its section {section} states {length} bytes, and {room} are left of the message")]
    SectionLength {
        /// The number of the section.
        section: u8,
        /// The length that it states.
        length: u64,
        /// Bytes of the message from there on.
        room: u64,
    },
    /// A section that lacks what its template has.
    #[error("its section {section} has {length} bytes, and what it holds needs {needed}")]
    SectionShort {
        /// The number of the section.
        section: u8,
        /// Its length.
        length: u64,
        /// The length that is needed at least.
        needed: u64,
    },
    /// A section that must not follow the one before it.
    #[error("its section {section} comes after section {after}")]
    Order {
        /// The number of the section.
        section: u8,
        /// The number of the one before; 0 at the beginning.
        after: u8,
    },
    /// A template that is not read here.
    #[error(
        "its section {section} is of template {section}.{number} ({}), which is not read: leave it out with --skip-unsupported, or convert it with eccodes",
        template_name(*section, *number)
    )]
    Template {
        /// The number of the section: 3, 4 or 5.
        section: u8,
        /// The number of the template.
        number: u16,
    },
    /// Something that its template allows and that is not read here.
    #[error(
        "{what} of its section {section} is {value}, which is not read: leave it out with --skip-unsupported, or convert it with eccodes"
    )]
    Unsupported {
        /// The number of the section.
        section: u8,
        /// Its kind.
        what: &'static str,
        /// Its value.
        value: u64,
    },
    /// Numbers that contradict each other, or that can be none of their kind.
    #[error("its section {section} is damaged: {problem}")]
    Damaged {
        /// The number of the section.
        section: u8,
        /// The problem.
        problem: String,
    },
    /// Two messages for one place.
    #[error(
        "it is of the same {variable}, time, step, level and member as message {earlier}: choose one with `--overlap first` or `--overlap last`"
    )]
    Duplicate {
        /// The name of the variable.
        variable: String,
        /// The number of the earlier message.
        earlier: u64,
    },
}

impl GribProblem {
    pub(super) fn damaged(section: u8, problem: impl Into<String>) -> Self {
        let problem = problem.into();
        Self::Damaged { section, problem }
    }

    /// Something of a section that its template allows and that is not read here.
    pub(super) fn unsupported(section: u8, what: &'static str, value: impl Into<u64>) -> Self {
        Self::Unsupported {
            section,
            what,
            value: value.into(),
        }
    }

    /// Whether the message can be left out without a doubt about what follows it.
    pub(super) fn is_unsupported(&self) -> bool {
        matches!(self, Self::Template { .. } | Self::Unsupported { .. })
    }
}

/// Returns the name of a template in the tables of WMO.
fn template_name(section: u8, number: u16) -> &'static str {
    match (section, number) {
        (3, 2 | 42) => "stretched grid",
        (3, 3 | 41 | 43) => "stretched or rotated grid",
        (3, 4 | 5) => "variable-resolution grid",
        (3, 12) => "transverse Mercator",
        (3, 31) => "Albers equal area",
        (3, 50..=63) | (5, 50..=53) => "spectral coefficients",
        (3, 90) => "space view",
        (3, 100) => "triangular grid on an icosahedron",
        (3, 110) => "equatorial azimuthal equidistant",
        (3, 140) => "Lambert azimuthal equal area",
        (3, 1000..=1200) => "cross-section or Hovmöller diagram",
        (4, 20) => "radar product",
        (4, 30..=35) => "satellite product",
        (4, 44..=50) => "aerosol",
        (4, 1000..=1101) => "cross-section or Hovmöller diagram",
        (5, 1) => "matrix values, simple packing",
        (_, 32768..=65534) => "of local use",
        _ => "of no common use",
    }
}
