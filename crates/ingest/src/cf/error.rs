//! Errors of converting a time to other units.

/// The reason for which a time cannot be converted to other units.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum TimeError {
    /// The text is no unit of time since a moment.
    #[error("its units {units:?} are none of the CF conventions: {problem}")]
    Units {
        /// The attribute.
        units: String,
        /// The problem with it.
        problem: String,
    },
    /// The CF conventions know no such calendar.
    #[error(
        "its calendar {calendar:?} is none of the CF conventions: they have standard, proleptic_gregorian, julian, noleap, all_leap, 360_day, utc, tai and none"
    )]
    Calendar {
        /// The attribute.
        calendar: String,
    },
    /// Moments of one calendar are none of the other.
    #[error("times of the calendar {from} cannot be had in the calendar {to}")]
    Calendars {
        /// That of the source.
        from: &'static str,
        /// That of what it is put behind.
        to: &'static str,
    },
    /// Days of this calendar have no fixed length here.
    #[error(
        "times of the calendar {calendar} cannot be counted from another moment: {problem}; have the files written with units of one moment"
    )]
    Moment {
        /// The calendar.
        calendar: &'static str,
        /// Why.
        problem: &'static str,
    },
    /// The numbers are packed, and are no counts of units as they are stored.
    #[error(
        "its times have the attribute {attribute}, and packed times are not counted from another moment: have the files written without it"
    )]
    Packed {
        /// The attribute.
        attribute: &'static str,
    },
    /// The type of the numbers is none that is converted.
    #[error("its data type {data_type} holds no numbers that can be converted")]
    DataType {
        /// The `data_type` of the document.
        data_type: String,
    },
    /// A number of the other units that the type has not.
    #[error(
        "its value {value} in {from:?} is no {data_type} in {to:?}: --time-units gives the coordinate along the dimension of a new array finer units, such as --time-units {finer:?}"
    )]
    Inexact {
        /// The number in the source.
        value: String,
        /// Its units.
        from: String,
        /// The type of what it is put behind.
        data_type: &'static str,
        /// The units of what it is put behind.
        to: String,
        /// Units in which whole numbers are more.
        finer: String,
    },
    /// A moment for which programs disagree about the calendar.
    #[error(
        "its value {value} in {units:?} lies before 1582-10-15, where readers of the calendar standard disagree about dates: have the files written with equal units, or with the calendar proleptic_gregorian or julian"
    )]
    BeforeGregorian {
        /// The number.
        value: String,
        /// Its units.
        units: String,
    },
    /// A value says that there is none, in a place where there must be one.
    #[error(
        "element {element} along {dimension:?} is no time: it is missing (NaT, NaN or the fill value); --unordered accepts it"
    )]
    Missing {
        /// The position along the dimension.
        element: u64,
        /// The dimension.
        dimension: String,
    },
    /// One moment more than once.
    #[error(
        "elements {first} and {second} along {dimension:?} are the same time, {value}; --unordered accepts them"
    )]
    Twice {
        /// The first one.
        first: u64,
        /// The one after it.
        second: u64,
        /// The dimension.
        dimension: String,
        /// The number.
        value: String,
    },
}
