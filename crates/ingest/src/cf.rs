//! Times as the CF conventions write them: numbers with the attributes `units` and `calendar`.
//!
//! ```text
//! units     hours since 2020-02-01       a length, and the moment from which it is counted
//! calendar  standard                     which dates there are; this one if the attribute is missing
//! value     30.5                         2020-02-02 06:30
//! ```
//!
//! Moments are whole nanoseconds since the first moment of a calendar's own count of days. Numbers of one array become
//! numbers of another by way of them, or are refused: nothing is rounded that a reader could tell.

mod calendar;
mod conversion;
#[cfg(feature = "codecs")]
mod dates;
mod error;
mod units;

#[cfg(feature = "grib")]
pub(crate) use calendar::{Calendar, Date};
pub(crate) use conversion::{Conversion, Number, NumberType, moment};
pub use error::TimeError;
pub(crate) use units::{TimeUnits, is_time};
