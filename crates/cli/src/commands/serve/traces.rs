//! Traces of the requests of a server, where the environment names a collector.

#[cfg(feature = "otlp")]
pub(super) use collected::Traces;
#[cfg(not(feature = "otlp"))]
pub(super) use missing::Traces;

#[cfg(feature = "otlp")]
mod collected {
    use std::io::{self, Write as _};
    use std::sync::Arc;
    use std::time::Duration;

    use icefield_gateway::Server;

    use crate::failure::{Exit, Failure};

    /// How long the collector may take at the end.
    const FINISH: Duration = Duration::from_secs(5);

    /// The traces, if there is a collector.
    pub(crate) struct Traces(Option<icefield_gateway::Traces>);

    impl Traces {
        pub(crate) fn start() -> Result<Self, Failure> {
            let report = |problem: &str| {
                // Standard error that cannot be written does not end the server.
                let _ = writeln!(io::stderr().lock(), "warning: {problem}");
            };
            let traces = icefield_gateway::Traces::from_environment(Arc::new(report));
            traces.map(Self).map_err(|error| {
                let cause = std::error::Error::source(&error);
                let cause = cause.map(|cause| format!(": {cause}"));
                let problem = format!("{error}{}", cause.unwrap_or_default());
                Failure::new(Exit::Usage, problem)
            })
        }

        pub(crate) fn attach(&self, server: Server) -> Server {
            match &self.0 {
                Some(traces) => server.traces(traces.clone()),
                None => server,
            }
        }

        /// Sends what waits.
        pub(crate) async fn finish(self) {
            if let Some(traces) = self.0 {
                traces.finish(FINISH).await;
            }
        }
    }
}

#[cfg(not(feature = "otlp"))]
mod missing {
    use std::io::{self, Write as _};

    use icefield_gateway::Server;

    use crate::failure::Failure;

    /// No traces.
    pub(crate) struct Traces;

    impl Traces {
        pub(crate) fn start() -> Result<Self, Failure> {
            let variables = [
                "OTEL_EXPORTER_OTLP_ENDPOINT",
                "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
            ];
            let set = |name: &&str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
            if let Some(name) = variables.iter().find(|name| set(name)) {
                let _ = writeln!(
                    io::stderr().lock(),
                    "warning: {name} has no effect: this program was built without traces, which the feature `otlp` brings"
                );
            }
            Ok(Self)
        }

        pub(crate) fn attach(&self, server: Server) -> Server {
            server
        }

        pub(crate) async fn finish(self) {}
    }
}
