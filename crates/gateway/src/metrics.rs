//! Metrics in the text format of OpenMetrics, which Prometheus reads. Labels are few words: never a path or a ref.

use std::fmt::{self, Write};

use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{DescriptorEncoder, EncodeLabelSet, EncodeMetric};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::{ConstGauge, Gauge};
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::{Registry, Unit};

use crate::admission::Admission;
use crate::mount::Mount;
use crate::object::{Object, Source};
use crate::observation::Observation;
use crate::storage_meter::StorageMeter;

/// The media type of the page.
pub(crate) const MEDIA_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
/// The bounds of OpenTelemetry's `http.server.request.duration`, in seconds.
const DURATIONS: [f64; 14] = [
    0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0,
];

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RequestLabels {
    method: &'static str,
    route: &'static str,
    status: u16,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RouteLabels {
    route: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct KindLabels {
    kind: &'static str,
}

/// The metrics of a gateway.
#[derive(Debug)]
pub(crate) struct Metrics {
    registry: Registry,
    requests: Family<RequestLabels, Counter>,
    durations: Family<RouteLabels, Histogram>,
    bytes: Family<RouteLabels, Counter>,
    running: Gauge,
    connections: Gauge,
    chunks: Family<KindLabels, Counter>,
}

impl Metrics {
    pub(crate) fn new(storage: &StorageMeter) -> Self {
        let metrics = Self {
            registry: Registry::default(),
            requests: Family::default(),
            durations: Family::new_with_constructor(|| Histogram::new(DURATIONS)),
            bytes: Family::default(),
            running: Gauge::default(),
            connections: Gauge::default(),
            chunks: Family::default(),
        };
        metrics.registered(storage)
    }

    fn registered(mut self, storage: &StorageMeter) -> Self {
        let all = &mut self.registry;
        let (seconds, bytes) = (Unit::Seconds, Unit::Bytes);
        all.register("icefield_http_requests", "Requests", self.requests.clone());
        all.register_with_unit(
            "icefield_http_request_duration",
            "Time until a response begins",
            seconds,
            self.durations.clone(),
        );
        all.register_with_unit(
            "icefield_http_response",
            "Bytes that responses promise",
            bytes.clone(),
            self.bytes.clone(),
        );
        all.register(
            "icefield_http_in_flight",
            "Requests being answered",
            self.running.clone(),
        );
        all.register(
            "icefield_http_connections",
            "Open connections",
            self.connections.clone(),
        );
        all.register(
            "icefield_chunks",
            "Chunks sent, by the place of their bytes",
            self.chunks.clone(),
        );
        all.register(
            "icefield_storage_operations",
            "Storage operations",
            storage.operations.clone(),
        );
        all.register_with_unit(
            "icefield_storage",
            "Bytes read from storage",
            bytes,
            storage.bytes.clone(),
        );
        let version = [("version", env!("CARGO_PKG_VERSION"))];
        all.register("icefield_build", "The program", Info::new(version.to_vec()));
        all.register_collector(Box::new(Process));
        self
    }

    /// Counts a request as running until the value is dropped.
    pub(crate) fn running(&self) -> Running {
        self.running.inc();
        Running(self.running.clone())
    }

    /// Counts a connection as open until the value is dropped.
    pub(crate) fn connected(&self) -> Running {
        self.connections.inc();
        Running(self.connections.clone())
    }

    /// Counts a request.
    pub(crate) fn record(&self, seen: &Observation) {
        let labels = RequestLabels {
            method: seen.method,
            route: seen.route,
            status: seen.status,
        };
        self.requests.get_or_create(&labels).inc();
        let labels = RouteLabels { route: seen.route };
        self.durations
            .get_or_create(&labels)
            .observe(seen.took.as_secs_f64());
        self.bytes.get_or_create(&labels).inc_by(seen.bytes);
    }

    /// Counts a chunk.
    pub(crate) fn chunk(&self, object: &Object) {
        let kind = match &object.source {
            Source::Bytes(_) => "inline",
            Source::Chunk {
                is_virtual: true, ..
            } => "virtual",
            Source::Chunk { .. } => "native",
        };
        self.chunks.get_or_create(&KindLabels { kind }).inc();
    }

    /// Returns the page.
    pub(crate) fn page(&self, mounts: &[Mount], admission: &Admission) -> String {
        let mut page = String::new();
        // Writing to a string cannot fail.
        let _ = encode(&mut page, &self.registry);
        let end = "# EOF\n";
        page.truncate(page.len().saturating_sub(end.len()));
        let (hits, misses) = mounts.iter().fold((0, 0), |(hits, misses), mount| {
            let (more, fewer) = mount.documents.hits_and_misses();
            (hits + more, misses + fewer)
        });
        for (name, help, value) in [
            ("hits", "Documents that were ready", hits),
            ("misses", "Documents that had to be made", misses),
        ] {
            let _ = write!(
                page,
                "# HELP icefield_cache_{name} {help}.\n# TYPE icefield_cache_{name} counter\nicefield_cache_{name}_total{{cache=\"documents\"}} {value}\n"
            );
        }
        let objects: u64 = mounts
            .iter()
            .map(|mount| mount.repository().cache_statistics().bytes)
            .sum();
        let _ = write!(
            page,
            "# HELP icefield_cache_bytes Bytes of decoded objects.\n# TYPE icefield_cache_bytes gauge\n# UNIT icefield_cache_bytes bytes\nicefield_cache_bytes{{cache=\"objects\"}} {objects}\n"
        );
        let waited = admission.waited().as_secs_f64();
        let _ = write!(
            page,
            "# HELP icefield_http_queue_seconds Time that reads waited for their turns.\n# TYPE icefield_http_queue_seconds counter\n# UNIT icefield_http_queue_seconds seconds\nicefield_http_queue_seconds_total {waited}\n"
        );
        page.push_str(end);
        page
    }
}

/// A running request, or an open connection.
#[derive(Debug)]
pub(crate) struct Running(Gauge);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.dec();
    }
}

/// Figures of the operating system on this process, where `/proc` has them.
#[derive(Debug)]
struct Process;

impl Collector for Process {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let mut gauge = |name: &str, help: &str, unit: Option<&Unit>, value: Option<u64>| {
            let Some(value) = value else { return Ok(()) };
            let gauge = ConstGauge::new(i64::try_from(value).unwrap_or(i64::MAX));
            let metric = encoder.encode_descriptor(name, help, unit, gauge.metric_type())?;
            gauge.encode(metric)
        };
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let resident = status.lines().find_map(|line| {
            let rest = line.strip_prefix("VmRSS:")?.trim().strip_suffix(" kB")?;
            rest.trim().parse::<u64>().ok()
        });
        let files = std::fs::read_dir("/proc/self/fd")
            .ok()
            .map(|files| files.count() as u64);
        let bytes = Some(&Unit::Bytes);
        gauge(
            "process_resident_memory",
            "Resident memory",
            bytes,
            resident.map(|kib| kib << 10),
        )?;
        gauge("process_open_fds", "Open files", None, files)
    }
}
