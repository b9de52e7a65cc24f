//! A server of plain files over HTTP: for readers that know no object store.

use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::SystemTime;

use async_trait::async_trait;
use bytes::Bytes;
use http::request::Parts;
use http::{HeaderName, HeaderValue, Method, StatusCode};
use percent_encoding::{NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

use crate::body::{BoxError, Response, full};
use crate::front::{Front, Service};
use crate::host::Host;
use crate::log::{LoggedRequest, RequestLog};
use crate::range::{Asked, asked};
use crate::switches::Orders;
use crate::world::{Attributes, Condition, Draft, Refusal, StoredObject, World};
use crate::{Answer, Switches, Verb};

/// The bucket of a world that a [`FileServer`] shows, if it has no directory.
pub const FILES: &str = "files";

/// A running server of files. It stops when it is dropped.
pub struct FileServer {
    host: Host,
    front: Arc<Front<Files>>,
}

struct Files {
    world: Arc<World>,
    directory: Option<PathBuf>,
    redirects: Mutex<Vec<(String, u16, String)>>,
}

impl FileServer {
    /// Serves the files of a directory, and pages with links for directories.
    pub fn of_directory(directory: impl Into<PathBuf>) -> Self {
        Self::start(World::new(), Some(directory.into()))
    }

    /// Serves what [`FileServer::put`] stores.
    pub fn in_memory() -> Self {
        Self::of_world(World::new())
    }

    /// Serves the bucket [`FILES`] of a world.
    pub fn of_world(world: Arc<World>) -> Self {
        Self::start(world, None)
    }

    fn start(world: Arc<World>, directory: Option<PathBuf>) -> Self {
        world.create_bucket(FILES);
        let front = Arc::new(Front {
            service: Files {
                world: Arc::clone(&world),
                directory,
                redirects: Mutex::default(),
            },
            world,
            switches: Switches::default(),
            log: RequestLog::default(),
        });
        let serve = {
            let front = Arc::clone(&front);
            move |_| move |wire| Arc::clone(&front).connection(wire)
        };
        Self {
            host: Host::start(serve),
            front,
        }
    }

    /// Returns the URL of the root, without a slash at its end.
    pub fn endpoint(&self) -> String {
        self.host.endpoint()
    }

    /// Returns the URL of a file.
    pub fn url(&self, path: &str) -> String {
        format!("{}/{}", self.endpoint(), path.trim_start_matches('/'))
    }

    /// Stores a file in memory.
    pub fn put(&self, path: &str, bytes: impl Into<Bytes>) {
        let draft = Draft::new(bytes);
        let _stored = self.world().put(FILES, path.trim_start_matches('/'), draft);
    }

    /// Answers requests for paths that begin with this by sending the client elsewhere.
    pub fn redirect(&self, path: &str, status: u16, location: &str) {
        let path = path.trim_start_matches('/').to_owned();
        let redirects = self.front.service.redirects.lock();
        let mut redirects = redirects.unwrap_or_else(PoisonError::into_inner);
        redirects.push((path, status, location.to_owned()));
    }

    /// Returns the files in memory, and the clock.
    pub fn world(&self) -> &Arc<World> {
        &self.front.world
    }

    /// Returns what can be made to go wrong.
    pub fn switches(&self) -> &Switches {
        &self.front.switches
    }

    /// Returns the requests so far, in the order of their arrival.
    pub fn requests(&self) -> Vec<LoggedRequest> {
        self.front.log.entries()
    }
}

impl fmt::Debug for FileServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FileServer")
            .field("endpoint", &self.endpoint())
            .field("directory", &self.front.service.directory)
            .finish_non_exhaustive()
    }
}

#[async_trait]
impl Service for Files {
    fn aim(&self, head: &Parts, _: &Bytes) -> (Verb, String) {
        let path = percent_decode_str(head.uri.path().trim_start_matches('/'));
        let verb = match head.method {
            Method::GET => Verb::Read,
            Method::HEAD => Verb::Head,
            _ => Verb::Other,
        };
        (verb, path.decode_utf8_lossy().into_owned())
    }

    async fn serve(&self, head: Parts, body: Bytes, orders: Orders) -> Result<Response, BoxError> {
        let (verb, path) = self.aim(&head, &body);
        if let Some((status, location)) = self.redirected(&path) {
            let location = HeaderValue::from_str(&location)?;
            let mut response = status_only(status);
            response.headers_mut().insert("location", location);
            return Ok(response);
        }
        if verb == Verb::Other {
            return Ok(status_only(405));
        }
        if let Some(page) = self.index(&path) {
            let mut response = Response::new(full(Bytes::from(page)));
            set(&mut response, "content-type", "text/html; charset=utf-8");
            return Ok(response);
        }
        let Some(file) = self.find(&path, &orders) else {
            return Ok(status_only(404));
        };
        let mut response = match Condition::of_headers(&head.headers).check_read(&file) {
            Ok(()) => content(&head, &file),
            Err(Refusal::NotModified) => status_only(304),
            Err(_) => status_only(412),
        };
        set(&mut response, "etag", &file.etag);
        let modified = httpdate::fmt_http_date(file.last_modified);
        set(&mut response, "last-modified", &modified);
        set(&mut response, "accept-ranges", "bytes");
        Ok(response)
    }

    fn refuse(&self, _: &Parts, answer: &Answer) -> Response {
        status_only(answer.status)
    }
}

impl Files {
    fn redirected(&self, path: &str) -> Option<(u16, String)> {
        let redirects = self.redirects.lock();
        let redirects = redirects.unwrap_or_else(PoisonError::into_inner);
        let found = redirects.iter().find(|(from, ..)| path.starts_with(from));
        found.map(|(_, status, location)| (*status, location.clone()))
    }

    /// The page of a directory of the disk, as nginx writes it, for a path with a slash at its end.
    fn index(&self, path: &str) -> Option<String> {
        let directory = self.directory.as_ref()?;
        if !(path.is_empty() || path.ends_with('/')) || path.split('/').any(|part| part == "..") {
            return None;
        }
        let mut links = vec!["../".to_owned()];
        for entry in std::fs::read_dir(directory.join(path)).ok()? {
            let entry = entry.ok()?;
            let name = entry.file_name().into_string().ok()?;
            let name = utf8_percent_encode(&name, NON_ALPHANUMERIC).to_string();
            links.push(match entry.path().is_dir() {
                true => format!("{name}/"),
                false => name,
            });
        }
        let links = links
            .iter()
            .map(|link| format!("<a href=\"{link}\">{link}</a>   01-Jan-2020 00:00   -\n"));
        let links: String = links.collect();
        Some(format!(
            "<html><body><h1>Index of /{path}</h1><hr><pre>{links}</pre><hr></body></html>"
        ))
    }

    fn find(&self, path: &str, orders: &Orders) -> Option<Arc<StoredObject>> {
        let Some(directory) = &self.directory else {
            return self.world.read(FILES, path, orders.read_back).ok();
        };
        // Whatever a test asks for, it is inside of the directory.
        if path.split('/').any(|part| part == "..") {
            return None;
        }
        let place = directory.join(path);
        let about = std::fs::metadata(&place).ok()?;
        if !about.is_file() {
            return None;
        }
        let last_modified = about.modified().ok()?;
        let since = last_modified.duration_since(SystemTime::UNIX_EPOCH).ok()?;
        let generation = since.as_nanos() as u64;
        Some(Arc::new(StoredObject {
            bytes: std::fs::read(&place).ok()?.into(),
            etag: format!("\"{:x}-{generation:x}\"", about.len()),
            generation,
            metageneration: 1,
            last_modified,
            attributes: Attributes::default(),
            sums: OnceLock::new(),
        }))
    }
}

/// Answers with a file, or with the part of it that was asked for.
fn content(head: &Parts, file: &StoredObject) -> Response {
    let length = file.bytes.len();
    let header = head.headers.get("range");
    let header = header.and_then(|header| header.to_str().ok());
    // RFC 9110: a range has a meaning for GET only.
    let header = header.filter(|_| head.method == Method::GET);
    let mut response = match asked(header, length) {
        Asked::All => Response::new(full(file.bytes.clone())),
        Asked::Part(range) => {
            let shown = format!("bytes {}-{}/{length}", range.start, range.end - 1);
            let mut response = Response::new(full(file.bytes.slice(range)));
            *response.status_mut() = StatusCode::PARTIAL_CONTENT;
            set(&mut response, "content-range", &shown);
            response
        }
        Asked::Nothing => {
            let mut response = status_only(416);
            set(&mut response, "content-range", &format!("bytes */{length}"));
            return response;
        }
    };
    let kind = file.attributes.content_type.as_deref();
    let kind = kind.unwrap_or("application/octet-stream");
    set(&mut response, "content-type", kind);
    response
}

fn status_only(status: u16) -> Response {
    let mut response = Response::new(full(Bytes::new()));
    *response.status_mut() =
        StatusCode::from_u16(status).expect("a test asks for a status between 100 and 999");
    response
}

fn set(response: &mut Response, name: &'static str, value: &str) {
    let value = HeaderValue::from_str(value).expect("what a server says fits into a header");
    let name = HeaderName::from_static(name);
    response.headers_mut().insert(name, value);
}
