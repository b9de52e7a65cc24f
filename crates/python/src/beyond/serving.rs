//! Repositories over HTTP, served by this process.

use std::net::{IpAddr, SocketAddr};

use icefield_gateway::{Access, Gateway, Origins, Served, Settings};
use pyo3::prelude::*;
use serde_json::Value;
use tokio::sync::watch;

use crate::errors::Failure;
use crate::process::ProcessOwned;
use crate::repository::Repository;
use crate::task::{Task, begin, begin_to_the_end};

/// Characters of the shortest token.
const TOKEN_LENGTH: usize = 16;

/// A running server. It stops when it is dropped.
#[pyclass(frozen, module = "icefield._native")]
pub(crate) struct Server {
    running: ProcessOwned<Running>,
    url: String,
    bases: Vec<(String, String)>,
}

struct Running {
    stop: watch::Sender<bool>,
    has_ended: watch::Receiver<bool>,
}

#[pymethods]
impl Server {
    /// The URL of the server, without a slash at its end.
    #[getter]
    fn url(&self) -> &str {
        &self.url
    }

    /// The name and the URL path of each repository.
    #[getter]
    fn bases(&self) -> Vec<(String, String)> {
        self.bases.clone()
    }

    /// Ends the server: requests go on for ten seconds at most. A second call waits for the same end.
    fn stop(&self, py: Python<'_>) -> PyResult<Task> {
        let running = self.running.get()?;
        running.stop.send_replace(true);
        let mut has_ended = running.has_ended.clone();
        begin_to_the_end(py, async move {
            // An error means that the server has gone, too.
            let _ = has_ended.wait_for(|ended| *ended).await;
            Ok(())
        })
    }
}

/// Starts a server of repositories, each with a name and the text of its location. `what` is a JSON object: `host` (an address),
/// `port`, `token`, `public`, `cors` and `hosts` (lists of texts).
#[pyfunction]
pub(crate) fn serve(
    py: Python<'_>,
    repositories: Vec<(String, String, Py<Repository>)>,
    what: &str,
) -> PyResult<Task> {
    let what: Value = serde_json::from_str(what).map_err(|error| invalid(error.to_string()))?;
    let served = repositories
        .into_iter()
        .map(|(name, location, repository)| {
            let repository = repository.get().handle()?;
            Ok(Served {
                name,
                location,
                repository,
            })
        });
    let served: Vec<Served> = served.collect::<Result<_, Failure>>()?;
    let (address, settings) = read(&what)?;
    begin(py, start(served, address, settings))
}

async fn start(
    served: Vec<Served>,
    address: SocketAddr,
    settings: Settings,
) -> Result<Server, Failure> {
    let gateway = Gateway::new(served, settings).map_err(|error| invalid(error.to_string()))?;
    let bases = gateway.bases();
    let server = icefield_gateway::Server::bind(address, gateway).await;
    let server = server
        .map_err(|error| Failure::new("io", format!("{address} cannot be listened on: {error}")))?;
    let bound = server
        .address()
        .map_err(|error| Failure::new("io", error.to_string()))?;
    let (stop, mut stopped) = watch::channel(false);
    let (ended, has_ended) = watch::channel(false);
    tokio::spawn(async move {
        // An error means that the object was dropped.
        let stopped = async move {
            let _ = stopped.wait_for(|stopped| *stopped).await;
        };
        server.run(stopped).await;
        ended.send_replace(true);
    });
    let host = match bound.ip() {
        ip if ip.is_unspecified() => format!("127.0.0.1:{}", bound.port()),
        _ => bound.to_string(),
    };
    Ok(Server {
        running: ProcessOwned::new(Running { stop, has_ended }),
        url: format!("http://{host}"),
        bases,
    })
}

/// Reads the options of a server. One that other computers reach needs a token, or must be public.
fn read(what: &Value) -> Result<(SocketAddr, Settings), Failure> {
    let texts = |name: &str| -> Vec<String> {
        let texts = what[name].as_array().into_iter().flatten();
        texts
            .filter_map(|text| text.as_str().map(str::to_owned))
            .collect()
    };
    let host = what["host"].as_str().unwrap_or_default();
    let plain = host.trim_start_matches('[').trim_end_matches(']');
    let ip: IpAddr = plain
        .parse()
        .map_err(|_| invalid(format!("`host` must be an IP address, not {host:?}")))?;
    let port = what["port"].as_u64().and_then(|it| u16::try_from(it).ok());
    let port = port.ok_or_else(|| invalid("`port` must be from 0 to 65535"))?;
    let is_public = what["public"].as_bool() == Some(true);
    let (hosts, token) = (texts("hosts"), what["token"].as_str());
    let access = match token {
        _ if is_public => Access::Open,
        Some(token) if token.len() < TOKEN_LENGTH => {
            return Err(invalid(format!(
                "`token` has fewer than {TOKEN_LENGTH} characters: make one with `secrets.token_hex(24)`"
            )));
        }
        Some(token) => Access::Token(token.to_owned()),
        None if ip.is_loopback() && hosts.is_empty() => Access::Open,
        None => {
            let reached = hosts.first().cloned().unwrap_or_else(|| ip.to_string());
            return Err(invalid(format!(
                "other computers reach {reached}, and no token is set: pass `token`, or `public=True` if every client may read"
            )));
        }
    };
    let cors = texts("cors");
    let origins = match cors.is_empty() {
        true => Origins::None,
        false if cors.iter().any(|origin| origin == "*") => Origins::Any,
        false => Origins::Only(cors),
    };
    let settings = Settings {
        access,
        origins,
        hosts,
        hides_locations: is_public,
        ..Settings::default()
    };
    Ok((SocketAddr::new(ip, port), settings))
}

fn invalid(problem: impl Into<String>) -> Failure {
    Failure::new("invalid-argument", problem)
}
