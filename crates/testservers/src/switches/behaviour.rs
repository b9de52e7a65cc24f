//! How a server behaves all the time, as opposed to the faults of single requests.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use http::HeaderMap;

use crate::world::{EtagStyle, PartLimits};

/// Limits, permissions and habits of a server.
#[derive(Clone, Debug)]
pub struct Behaviour {
    /// The most entries on one page of a list, whatever is asked for.
    pub page_size: usize,
    /// How large and how many parts and puts may be.
    pub parts: PartLimits,
    /// How entity tags are made.
    pub etags: EtagStyle,
    /// Requests without a signature may read and list.
    pub anonymous_read: bool,
    /// No client may list.
    pub deny_list: bool,
    /// A missing object is reported as 403, as AWS does to clients that may not list.
    pub missing_is_forbidden: bool,
    /// `If-Match` on a missing object is 412, as with some stores, not 404 as on AWS.
    pub if_match_on_missing_is_412: bool,
    /// A second write to an object within a second is 429, as on GCS.
    pub one_write_a_second: bool,
    /// The share of requests that are refused with 503, from 0 to 1.
    pub storm: f64,
    /// The life-cycle rules of each bucket. They are told and never carried out.
    pub lifecycle: Vec<LifecycleRule>,
    /// Until when credentials hold, by the clock of the world. A name is an access key or any part of a
    /// token; credentials that are not named here hold for ever.
    pub credentials_until: BTreeMap<String, SystemTime>,
    /// How far the `Date` of each answer is ahead of the clock that dates objects, as behind a proxy that has a clock of
    /// its own. None: it is the time of this machine.
    pub date_ahead: Option<Duration>,
}

/// A life-cycle rule for objects whose names begin with a prefix and that have all of some tags; in days.
#[derive(Clone, Debug, Default)]
pub struct LifecycleRule {
    /// Its name.
    pub name: String,
    /// How names begin.
    pub prefix: String,
    /// Tags by name.
    pub tags: BTreeMap<String, String>,
    /// When objects are deleted.
    pub delete_after: Option<i32>,
    /// When objects are moved to where they cannot be read at once.
    pub archive_after: Option<i32>,
    /// When unfinished uploads are ended.
    pub end_uploads_after: Option<i32>,
}

impl Default for Behaviour {
    fn default() -> Self {
        Self {
            page_size: 1000,
            parts: PartLimits::default(),
            etags: EtagStyle::default(),
            anonymous_read: false,
            deny_list: false,
            missing_is_forbidden: false,
            if_match_on_missing_is_412: false,
            one_write_a_second: false,
            storm: 0.0,
            lifecycle: Vec::new(),
            credentials_until: BTreeMap::new(),
            date_ahead: None,
        }
    }
}

impl Behaviour {
    /// Dates an answer at a time of the world.
    pub(crate) fn date<B>(&self, answer: &mut http::Response<B>, now: SystemTime) {
        let Some(ahead) = self.date_ahead else { return };
        if let Ok(date) = httpdate::fmt_http_date(now + ahead).parse() {
            answer.headers_mut().insert(http::header::DATE, date);
        }
    }

    /// Tells whether the credentials of a request have expired.
    pub(crate) fn expired(&self, headers: &HeaderMap, now: SystemTime) -> bool {
        let shown = ["authorization", "x-amz-security-token"].map(|name| {
            let value = headers.get(name).map(|value| value.as_bytes());
            String::from_utf8_lossy(value.unwrap_or_default()).into_owned()
        });
        self.credentials_until
            .iter()
            .any(|(name, until)| now >= *until && shown.iter().any(|text| text.contains(name)))
    }
}
