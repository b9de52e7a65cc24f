//! The collector, as the exporter of spans reaches it: over HTTP, within the runtime of the server.

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response};
use tokio::runtime::Handle;

/// Takes the message that a collector is not reached, and the one that it is reached again: each once.
pub type TraceReport = Arc<dyn Fn(&str) + Send + Sync>;

/// How long making a connection may take.
const CONNECT: Duration = Duration::from_secs(5);
/// How long the collector may take to answer, unless the environment says.
const PATIENCE: Duration = Duration::from_secs(10);

/// A client that sends in the runtime in which it was made, because the exporter calls it on a thread that has none; and that says
/// once when the collector is not reached.
pub(super) struct Collector {
    client: reqwest::Client,
    runtime: Handle,
    report: TraceReport,
    is_lost: AtomicBool,
}

impl Collector {
    pub(super) fn new(report: TraceReport) -> Result<Self, Box<dyn Error + Send + Sync>> {
        // The client panics where no implementation of TLS is chosen. One that was chosen before stays.
        let _chosen_before = rustls::crypto::ring::default_provider().install_default();
        let client = reqwest::Client::builder()
            // A redirect would lead the headers, which may be secrets, elsewhere.
            .redirect(reqwest::redirect::Policy::none())
            .user_agent(concat!("icefield/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(CONNECT)
            .timeout(patience())
            .build()?;
        Ok(Self {
            client,
            runtime: Handle::try_current()?,
            report,
            is_lost: AtomicBool::new(false),
        })
    }

    /// Reports that the collector is not reached, or is reached again, unless that was reported last.
    fn report_change(&self, problem: Option<&str>) {
        let was_lost = self.is_lost.swap(problem.is_some(), Ordering::Relaxed);
        match problem {
            Some(problem) if !was_lost => (self.report)(&format!(
                "traces do not reach their collector, and are lost until they do: {problem}"
            )),
            None if was_lost => (self.report)("traces reach their collector again"),
            _ => {}
        }
    }
}

impl std::fmt::Debug for Collector {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Collector").finish_non_exhaustive()
    }
}

#[async_trait]
impl HttpClient for Collector {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let client = self.client.clone();
        let sent = self
            .runtime
            .spawn(async move { client.send_bytes(request).await });
        let answer = match sent.await {
            Ok(answer) => answer.map_err(without_url),
            Err(ended) => Err(ended.into()),
        };
        match &answer {
            Ok(response) if response.status().is_success() => self.report_change(None),
            Ok(response) => self.report_change(Some(&format!("it answers {}", response.status()))),
            Err(error) => self.report_change(Some(&with_causes(&**error))),
        }
        answer
    }
}

/// Takes the URL out of an error: it may have a password in it.
fn without_url(error: HttpError) -> HttpError {
    match error.downcast::<reqwest::Error>() {
        Ok(error) => Box::new(error.without_url()),
        Err(error) => error,
    }
}

fn with_causes(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(&format!(": {error}"));
        cause = error.source();
    }
    text
}

/// Reads how long the collector may take, in milliseconds.
fn patience() -> Duration {
    let variables = [
        "OTEL_EXPORTER_OTLP_TRACES_TIMEOUT",
        "OTEL_EXPORTER_OTLP_TIMEOUT",
    ];
    let millis = variables
        .into_iter()
        .find_map(|name| std::env::var(name).ok()?.parse().ok());
    millis.map_or(PATIENCE, Duration::from_millis)
}
