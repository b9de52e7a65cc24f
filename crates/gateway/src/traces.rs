//! Traces of requests, sent to a collector of OpenTelemetry: OTLP over HTTP, in Protocol Buffers.
//!
//! Each request is a span, of the attributes that OpenTelemetry names for servers of HTTP. Its steps and the operations of storage are
//! spans below it ([`steps`](crate::steps)). No query is recorded, and of headers only `User-Agent` and the context of the trace, so that no
//! token is.

mod collector;

use std::error::Error;
use std::fmt;
use std::future::Future;
use std::time::Duration;

use collector::Collector;
pub use collector::TraceReport;
use http::Response;
use http::request::Parts;
use opentelemetry::propagation::TextMapPropagator;
use opentelemetry::trace::{FutureExt, SpanKind, Status, TraceContextExt, Tracer, TracerProvider};
use opentelemetry::{Context, InstrumentationScope, Key, KeyValue};
use opentelemetry_http::HeaderExtractor;
use opentelemetry_otlp::{Protocol, RetryPolicy, SpanExporter, WithExportConfig, WithHttpConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::{SdkTracer, SdkTracerProvider};

use crate::body::Body;
use crate::observation::Observation;

/// The name of the service, unless the environment has one.
const SERVICE: &str = "icefield";
/// The only protocol.
const PROTOCOL: &str = "http/protobuf";

/// Why no traces can be sent.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TracesError {
    /// A variable asks for another protocol.
    #[error(
        "{variable} is {value:?}, and traces are sent as {PROTOCOL} only: leave it out, and name a port for HTTP, usually 4318"
    )]
    Protocol {
        /// The variable.
        variable: &'static str,
        /// Its value.
        value: String,
    },
    /// The address of the collector is no URL, or another setting of the exporter is wrong.
    #[error(
        "traces cannot be sent: OTEL_EXPORTER_OTLP_ENDPOINT has to be a URL such as http://127.0.0.1:4318"
    )]
    Settings(#[source] Box<dyn Error + Send + Sync>),
    /// The client cannot be made.
    #[error("the HTTP client that sends traces cannot be made")]
    Client(#[source] Box<dyn Error + Send + Sync>),
}

/// Traces for a collector. Clones send through one queue, which is bounded: what a collector does not take is lost, and no request
/// waits for it. [`Traces::finish`] ends them; the drop of the last clone blocks its thread for some seconds instead.
#[derive(Clone)]
pub struct Traces {
    provider: SdkTracerProvider,
    tracer: SdkTracer,
}

impl Traces {
    /// Returns traces for the collector that the environment names, if it names one: `OTEL_EXPORTER_OTLP_ENDPOINT` or
    /// `OTEL_EXPORTER_OTLP_TRACES_ENDPOINT`. `OTEL_SDK_DISABLED=true` and `OTEL_TRACES_EXPORTER=none` turn them off.
    ///
    /// It has to be called within a runtime of tokio, in which the spans are sent.
    ///
    /// # Errors
    /// A variable asks for another protocol than `http/protobuf` or names no URL, or there is no runtime. Unknown values of other
    /// variables count as their defaults.
    pub fn from_environment(report: TraceReport) -> Result<Option<Self>, TracesError> {
        let set = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let is_named = [
            "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
            "OTEL_EXPORTER_OTLP_ENDPOINT",
        ]
        .into_iter()
        .any(|name| set(name).is_some());
        let is_off = set("OTEL_SDK_DISABLED").is_some_and(|it| it.eq_ignore_ascii_case("true"))
            || set("OTEL_TRACES_EXPORTER").is_some_and(|it| it == "none");
        if !is_named || is_off {
            return Ok(None);
        }
        let protocol = [
            "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL",
            "OTEL_EXPORTER_OTLP_PROTOCOL",
        ]
        .into_iter()
        .find_map(|variable| Some((variable, set(variable)?)));
        match protocol {
            Some((variable, value)) if value != PROTOCOL => {
                Err(TracesError::Protocol { variable, value })
            }
            _ => Self::with(None, report).map(Some),
        }
    }

    /// Returns traces for the collector at a URL, such as `http://127.0.0.1:4318/v1/traces`. The other settings are those of the
    /// environment: headers, time-out, service, sampler.
    ///
    /// It has to be called within a runtime of tokio, in which the spans are sent.
    ///
    /// # Errors
    /// The text is no URL, or there is no runtime.
    pub fn to(url: &str, report: TraceReport) -> Result<Self, TracesError> {
        Self::with(Some(url), report)
    }

    fn with(url: Option<&str>, report: TraceReport) -> Result<Self, TracesError> {
        let collector = Collector::new(report).map_err(TracesError::Client)?;
        let mut exporter = SpanExporter::builder()
            .with_http()
            .with_protocol(Protocol::HttpBinary)
            .with_http_client(collector)
            // Spans wait in a bounded queue meanwhile, so that a retry of some would lose others.
            .with_retry_policy(RetryPolicy::disabled());
        if let Some(url) = url {
            exporter = exporter.with_endpoint(url);
        }
        let exporter = exporter.build();
        let exporter = exporter.map_err(|error| TracesError::Settings(error.into()))?;
        let provider = SdkTracerProvider::builder()
            .with_resource(resource())
            .with_batch_exporter(exporter)
            .build();
        let scope = InstrumentationScope::builder(env!("CARGO_PKG_NAME"))
            .with_version(env!("CARGO_PKG_VERSION"))
            .build();
        Ok(Self {
            tracer: provider.tracer_with_scope(scope),
            provider,
        })
    }

    /// Sends the spans that wait, for so long at most. Later ones are dropped.
    pub async fn finish(self, patience: Duration) {
        let provider = self.provider;
        let finish = move || provider.shutdown_with_timeout(patience);
        // Its failure is one of the collector, which is reported already.
        let _ = tokio::task::spawn_blocking(finish).await;
    }

    /// Traces a request while it is answered. `has_many_repositories`: whether the first part of a path is the name of one.
    pub(crate) async fn traced(
        &self,
        request: &Parts,
        has_many_repositories: bool,
        answered: impl Future<Output = (Response<Body>, Observation)>,
    ) -> (Response<Body>, Observation) {
        let headers = HeaderExtractor(&request.headers);
        let parent = TraceContextPropagator::new().extract_with_context(&Context::new(), &headers);
        let span = self
            .tracer
            .span_builder("HTTP")
            .with_kind(SpanKind::Server)
            .start_with_context(&self.tracer, &parent);
        let context = parent.with_span(span).with_value(self.tracer.clone());
        let unanswered = Unanswered(Some(context.clone()));
        let (response, observation) = answered.with_context(context.clone()).await;
        unanswered.end();
        describe(&context, &observation, has_many_repositories);
        context.span().end();
        (response, observation)
    }
}

/// The span of a request until there is a response. A client that leaves drops it.
struct Unanswered(Option<Context>);

impl Unanswered {
    fn end(mut self) {
        self.0 = None;
    }
}

impl Drop for Unanswered {
    fn drop(&mut self) {
        if let Some(context) = self.0.take() {
            let span = context.span();
            span.set_attribute(KeyValue::new("error.type", "cancelled"));
            span.end();
        }
    }
}

impl fmt::Debug for Traces {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The provider shows the headers for the collector, which may be secrets.
        f.debug_struct("Traces").finish_non_exhaustive()
    }
}

/// Describes the process: what the environment says, and a name of the service if it has none.
fn resource() -> Resource {
    let found = Resource::builder().build();
    let name = found.get(&Key::from_static_str("service.name"));
    let is_named = name.is_some_and(|name| !name.as_str().starts_with("unknown_service"));
    let version = KeyValue::new("service.version", env!("CARGO_PKG_VERSION"));
    let builder = Resource::builder().with_attribute(version);
    match is_named {
        true => builder.build(),
        false => builder.with_service_name(SERVICE).build(),
    }
}

/// Names the span of a request, and gives it the attributes of OpenTelemetry's conventions for HTTP.
fn describe(context: &Context, seen: &Observation, has_many_repositories: bool) {
    let span = context.span();
    let method = match seen.method {
        "other" => "_OTHER",
        method => method,
    };
    let word = match method {
        "_OTHER" => "HTTP",
        method => method,
    };
    let bytes = i64::try_from(seen.bytes).unwrap_or(i64::MAX);
    span.set_attributes([
        KeyValue::new("http.request.method", method),
        KeyValue::new("http.response.status_code", i64::from(seen.status)),
        KeyValue::new("http.response.body.size", bytes),
        KeyValue::new("url.scheme", "http"),
        KeyValue::new("client.address", seen.remote.to_string()),
    ]);
    match template(seen.route, has_many_repositories) {
        Some(route) => {
            span.update_name(format!("{word} {route}"));
            span.set_attribute(KeyValue::new("http.route", route));
        }
        None => span.update_name(word),
    }
    if let Some(agent) = &seen.agent {
        span.set_attribute(KeyValue::new("user_agent.original", agent.clone()));
    }
    if let Some(id) = seen.snapshot {
        span.set_attribute(KeyValue::new("icefield.snapshot", id.to_string()));
    }
    // A client that asks for the wrong thing is no failure of a server.
    if seen.status >= 500 {
        span.set_attribute(KeyValue::new("error.type", seen.status.to_string()));
        span.set_status(Status::error(""));
    }
}

/// Returns the template of the paths of a route; `None` for requests that were refused before their path was read.
fn template(route: &str, has_many_repositories: bool) -> Option<String> {
    let (within, path) = match route {
        "v3" => (true, "/{ref}/{path}"),
        "v2" => (true, "/-/v2/{ref}/{path}"),
        "raw" => (true, "/-/raw/{ref}/{path}"),
        "versions" => (true, "/"),
        "resolve" => (true, "/-/resolve/{ref}"),
        "repo" => (true, "/-/repo/{path}"),
        "repositories" => (false, "/"),
        "api" => (false, "/-/api/{call}"),
        "requests" => (false, "/-/api/requests"),
        "explore" => (false, "/-/explore/{path}"),
        "health" => (false, "/-/health"),
        "ready" => (false, "/-/ready"),
        "metrics" => (false, "/-/metrics"),
        "options" => (false, "*"),
        "s3" => (false, "/{bucket}/{key}"),
        _ => return None,
    };
    Some(match within && has_many_repositories {
        true => format!("/{{repository}}{path}"),
        false => path.to_owned(),
    })
}
