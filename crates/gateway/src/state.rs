//! The state of a gateway: what all requests share.

use std::sync::Arc;

use icefield::storage::Clock;

use crate::admission::Admission;
use crate::metrics::Metrics;
use crate::mount::Mount;
use crate::observation::RequestLog;
use crate::settings::Settings;

/// The state that all requests share.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) mounts: Vec<Mount>,
    pub(crate) settings: Settings,
    pub(crate) admission: Arc<Admission>,
    pub(crate) metrics: Metrics,
    pub(crate) log: RequestLog,
    pub(crate) clock: Arc<dyn Clock>,
}
