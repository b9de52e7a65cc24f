//! The gateway: requests in, responses out, without a socket.

use std::sync::Arc;

use futures::FutureExt;
use http::header::{CACHE_CONTROL, CONTENT_LENGTH, CONTENT_TYPE, HeaderValue, LOCATION};
use http::request::Parts;
use http::{Method, Response, StatusCode};
use icefield::storage::{Clock, SystemClock};

use crate::admission::{Admission, Caller};
use crate::body::Body;
use crate::data::{self, DataRequest};
use crate::decoration;
use crate::failure::Failure;
use crate::metrics::Metrics;
use crate::mount::{Mount, Served};
use crate::object::Object;
use crate::observation::{Observation, RequestLog};
use crate::responses::{self, Answer, SNAPSHOT, json, plain, text};
use crate::route::Route;
use crate::settings::Settings;
use crate::state::State;
use crate::steps::{note_ref, step};
use crate::storage_meter::StorageMeter;
use crate::target::Target;
use crate::transfer::{send, set};
use crate::versions::Freshness;
use crate::{api, explore, guard, listing, repository_files, s3};

/// Why repositories cannot be served together.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GatewayError {
    /// There is none.
    #[error("there is no repository to serve")]
    Empty,
    /// A name that cannot be a part of a URL.
    #[error("a repository cannot be called {0:?}: give it a name without slashes that is not `-`")]
    Name(String),
    /// Two have one name, or one has the name of the bucket with the Zarr v2 of another.
    #[error(
        "two repositories are called {0:?}, or one is the Zarr v2 of another: give one another name, as NAME=LOCATION"
    )]
    NameTaken(String),
}

/// Repositories as plain Zarr: a request is answered from the snapshot that its path names.
///
/// It opens no socket: [`Server`](crate::Server) does, and a program with a server of its own calls
/// [`Gateway::respond`]. Clones are handles to one gateway.
#[derive(Clone, Debug)]
pub struct Gateway(Arc<State>);

/// Returns whether a path may be that of a chunk, before it is known what there is: a failure must not look like one that
/// was never written.
fn is_chunk_path(request: &Parts) -> bool {
    let path = request.uri.path();
    let segments: Vec<&str> = path.split('/').filter(|it| !it.is_empty()).collect();
    let is_in_version = match segments.as_slice() {
        ["-", view, _, _, ..] | [_, "-", view, _, _, ..] => ["v2", "raw"].contains(view),
        ["-", ..] | [_, "-", ..] => false,
        [_, _, ..] => true,
        _ => false,
    };
    is_in_version && !data::is_opened(path, path.ends_with('/'))
}

impl Gateway {
    /// Returns a gateway to repositories: to one at `/`, to several each below its name.
    ///
    /// # Errors
    /// Names that cannot be told apart, or be parts of URLs.
    pub fn new(served: Vec<Served>, settings: Settings) -> Result<Self, GatewayError> {
        Self::with(
            served,
            settings,
            &StorageMeter::default(),
            Arc::new(SystemClock),
        )
    }

    /// As [`Gateway::new`], with the meter of the stores that the repositories were opened on, and a clock for logs and
    /// time-outs.
    ///
    /// # Errors
    /// As [`Gateway::new`].
    pub fn with(
        served: Vec<Served>,
        settings: Settings,
        storage: &StorageMeter,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, GatewayError> {
        let is_alone = served.len() == 1;
        let mut mounts: Vec<Mount> = Vec::with_capacity(served.len());
        for served in served {
            let name = &served.name;
            if name.is_empty() || name == "-" || name.contains('/') {
                return Err(GatewayError::Name(name.clone()));
            }
            if mounts.iter().any(|other| other.name == *name) {
                return Err(GatewayError::NameTaken(name.clone()));
            }
            let base = match is_alone {
                true => "/".to_owned(),
                false => format!("/{}/", listing::encoded(name)),
            };
            mounts.push(Mount::new(served, base, &settings));
        }
        let names = || mounts.iter().map(|mount| &mount.name);
        let is_bucket_of = |name: &str, other: &str| name.strip_suffix(s3::V2) == Some(other);
        if let Some(name) = names().find(|name| names().any(|other| is_bucket_of(name, other))) {
            return Err(GatewayError::NameTaken(name.clone()));
        }
        if mounts.is_empty() {
            return Err(GatewayError::Empty);
        }
        Ok(Self(Arc::new(State {
            mounts,
            admission: Arc::new(Admission::new(settings.limits.clone(), Arc::clone(&clock))),
            settings,
            metrics: Metrics::new(storage),
            log: RequestLog::default(),
            clock,
        })))
    }

    /// Returns the settings.
    pub fn settings(&self) -> &Settings {
        &self.0.settings
    }

    /// Returns the URL paths below which the repositories lie, by name: `/` or `/NAME/`.
    pub fn bases(&self) -> Vec<(String, String)> {
        let mounts = self.0.mounts.iter();
        mounts
            .map(|mount| (mount.name.clone(), mount.base.clone()))
            .collect()
    }

    /// Returns the caller of requests that come from this process.
    pub fn local_caller(&self) -> Caller {
        self.0.admission.local()
    }

    pub(crate) fn state(&self) -> &State {
        &self.0
    }

    /// Answers a request. A failure is a response, too.
    pub async fn respond(&self, request: &Parts, caller: &Caller) -> Response<Body> {
        self.observed(request, caller).await.0
    }

    /// Answers a request, and says what a log has to know of it.
    pub(crate) async fn observed(
        &self,
        request: &Parts,
        caller: &Caller,
    ) -> (Response<Body>, Observation) {
        let mut observation = Observation::begin(request, caller, &*self.0.clock);
        let _running = self.0.metrics.running();
        let answer = match guard::check(request, caller, &self.0.settings) {
            Ok(()) => self.answer(request, caller, &mut observation).boxed().await,
            Err(failure) => Err(failure),
        };
        let mut response = answer.unwrap_or_else(|failure| match is_chunk_path(request) {
            true => responses::failed(&failure, request),
            false => plain(&failure),
        });
        decoration::finish(request, &mut response, &self.0.settings);
        if request.method == Method::HEAD {
            let length = response.body().length();
            let fields = response.headers_mut();
            fields
                .entry(CONTENT_LENGTH)
                .or_insert_with(|| HeaderValue::from(length));
            *response.body_mut() = Body::empty();
        }
        observation.end(&response, &*self.0.clock);
        self.0.metrics.record(&observation);
        self.0.log.record(&observation);
        (response, observation)
    }

    /// Answers a request in the protocol of S3.
    pub(crate) async fn observed_s3(
        &self,
        request: &Parts,
        caller: &Caller,
    ) -> (Response<Body>, Observation) {
        s3::answer(&self.0, request, caller).await
    }

    async fn answer(
        &self,
        request: &Parts,
        caller: &Caller,
        observation: &mut Observation,
    ) -> Answer {
        if request.method == Method::OPTIONS {
            observation.route = "options";
            return Ok(decoration::options());
        }
        let path = request.uri.path();
        let target = Target::parse(path, request.uri.query());
        let target = target.map_err(|error| Failure::bad_request(error.to_string()))?;
        let segments = target.segments();
        match segments.as_slice() {
            ["-", "health"] => {
                observation.route = "health";
                return Ok(text("ok\n"));
            }
            ["-", "ready"] => {
                observation.route = "ready";
                return self.ready().await;
            }
            // Not secret: it holds no data, and asks for a token itself.
            ["-", "explore", name @ ..] => {
                observation.route = "explore";
                return self.explore(name, &target, request, caller).await;
            }
            _ => {}
        }
        guard::check_token(&request.headers, &self.0.settings.access)?;
        match segments.as_slice() {
            ["-", "metrics"] => {
                observation.route = "metrics";
                return Ok(self.metrics_page());
            }
            ["-", "api", rest @ ..] => {
                observation.route = match rest {
                    ["requests"] => "requests",
                    _ => "api",
                };
                return Ok(api::answer(&self.0, rest, &target, request, caller)
                    .boxed()
                    .await);
            }
            _ => {}
        }
        let (mount, rest) = match (&self.0.mounts[..], segments.as_slice()) {
            ([mount], segments) => (mount, segments),
            (_, []) => {
                observation.route = "repositories";
                return self.repositories(request, caller).await;
            }
            (mounts, [name, rest @ ..]) => {
                let mount = mounts.iter().find(|mount| mount.name == *name);
                let missing = || {
                    let missing =
                        Failure::not_found(format!("there is no repository {name:?} here"));
                    match is_chunk_path(request) {
                        true => missing.for_chunk(),
                        false => missing,
                    }
                };
                (mount.ok_or_else(missing)?, rest)
            }
        };
        match Route::of(rest) {
            Route::Data { view, version, key } => {
                observation.route = view.word();
                let wanted = DataRequest {
                    mount,
                    view,
                    version,
                    key,
                    is_directory: target.is_directory(),
                };
                let answer = data::answer(&self.0, wanted, request, caller).boxed().await;
                observation.snapshot = answer.snapshot;
                Ok(answer.response)
            }
            Route::Versions => {
                observation.route = "versions";
                data::versions(&self.0, mount, target.is_directory(), request, caller).await
            }
            Route::Resolve { version } => {
                observation.route = "resolve";
                self.resolve(mount, version).await
            }
            Route::RepositoryFile { key } if self.0.settings.repository_files => {
                observation.route = "repo";
                repository_files::answer(mount, key, request, caller, &self.0.admission).await
            }
            Route::RepositoryFile { .. } => Err(Failure::not_found(
                "the files of the repository are not served: start the server with --raw",
            )),
            Route::Nothing => Err(Failure::not_found("there is nothing here")),
        }
    }

    /// Answers whether storage answers.
    async fn ready(&self) -> Answer {
        for mount in &self.0.mounts {
            mount
                .versions
                // Anybody may ask: storage is read for all of them together.
                .find("main", Freshness::Recent)
                .await
                .map_err(|failure| {
                    // The reason may say where the repository is.
                    tracing::warn!("{} is not ready: {}", mount.name, failure.message);
                    let message = "storage does not answer";
                    Failure::new(StatusCode::SERVICE_UNAVAILABLE, "unavailable", message)
                })?;
        }
        Ok(text("ready\n"))
    }

    async fn explore(
        &self,
        name: &[&str],
        target: &Target,
        request: &Parts,
        caller: &Caller,
    ) -> Answer {
        if name.is_empty() && !target.is_directory() {
            let mut response = text("the explorer is at /-/explore/\n");
            *response.status_mut() = StatusCode::PERMANENT_REDIRECT;
            // Relative, so that it holds behind a proxy with a prefix.
            set(response.headers_mut(), LOCATION, "explore/");
            return Ok(response);
        }
        let name = name.join("/");
        let file = explore::file(&name);
        let file = file.ok_or_else(|| Failure::not_found("the explorer has no such file"))?;
        let mut response = send(file, request, caller, &self.0.admission).await?;
        explore::decorate(&name, response.headers_mut());
        Ok(response)
    }

    /// Lists the repositories.
    async fn repositories(&self, request: &Parts, caller: &Caller) -> Answer {
        let mounts = self.0.mounts.iter();
        let children: Vec<String> = mounts.map(|mount| format!("{}/", mount.name)).collect();
        let page = listing::page(
            &children,
            &[("/-/explore/".to_owned(), "Explorer".to_owned())],
        );
        let page = Object::of_bytes(page.into(), listing::HTML);
        let mut response = send(page, request, caller, &self.0.admission).await?;
        set(response.headers_mut(), CACHE_CONTROL, "no-cache");
        Ok(response)
    }

    /// Says which snapshot a version is, and where it stays.
    async fn resolve(&self, mount: &Mount, version: &str) -> Answer {
        note_ref(&mount.name, version);
        let found = mount.versions.find(version, Freshness::Now);
        let found = step("resolve", found).await?;
        let id = found.id.to_string();
        let document = serde_json::json!({
            "ref": version,
            "snapshot": id,
            "path": format!("{}{id}/", mount.base),
            "v2_path": format!("{}-/v2/{id}/", mount.base),
        });
        let mut response = json(&document);
        let fields = response.headers_mut();
        set(fields, SNAPSHOT, &id);
        set(
            fields,
            CACHE_CONTROL,
            &data::cache_control(found.stability, &self.0.settings),
        );
        Ok(response)
    }

    /// Answers a request on a port that has the metrics alone: without a token, but not to any website.
    pub(crate) fn metrics_response(&self, request: &Parts, caller: &Caller) -> Response<Body> {
        let mut response = match guard::check(request, caller, &self.0.settings) {
            Ok(()) => self.metrics_page(),
            Err(failure) => plain(&failure),
        };
        decoration::finish(request, &mut response, &self.0.settings);
        response
    }

    /// The page of metrics, which the server also shows on a port of its own.
    pub(crate) fn metrics_page(&self) -> Response<Body> {
        let mut response = Response::new(Body::from(
            self.0.metrics.page(&self.0.mounts, &self.0.admission),
        ));
        set(
            response.headers_mut(),
            CONTENT_TYPE,
            crate::metrics::MEDIA_TYPE,
        );
        set(response.headers_mut(), CACHE_CONTROL, "no-store");
        response
    }
}
