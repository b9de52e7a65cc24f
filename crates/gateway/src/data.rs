//! Values of versions: the headers that say which snapshot they are of and how long they may be kept, and what becomes of a
//! failure.

use http::header::{CACHE_CONTROL, HeaderName};
use http::request::Parts;
use http::{Method, Response, StatusCode};
use icefield::SnapshotId;

use crate::admission::Caller;
use crate::body::Body;
use crate::documents::DocumentForm;
use crate::failure::Failure;
use crate::listing;
use crate::mount::Mount;
use crate::object::Object;
use crate::responses::{self, Answer, SNAPSHOT, plain};
use crate::route::View;
use crate::settings::{Access, Settings};
use crate::state::State;
use crate::steps::{note_ref, step};
use crate::target::key_of;
use crate::transfer::{send, set};
use crate::v2;
use crate::v3::{self, BYTES, Found};
use crate::versions::{Freshness, Stability, Version};

/// The header that says why a group's document has no consolidated metadata, or not all.
const CONSOLIDATED: HeaderName = HeaderName::from_static("x-icefield-consolidated");

/// A request for something of a version.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DataRequest<'a> {
    pub(crate) mount: &'a Mount,
    pub(crate) view: View,
    pub(crate) version: &'a str,
    pub(crate) key: &'a [&'a str],
    pub(crate) is_directory: bool,
}

/// A response, and the snapshot that it is of.
#[derive(Debug)]
pub(crate) struct DataAnswer {
    pub(crate) response: Response<Body>,
    pub(crate) snapshot: Option<SnapshotId>,
}

/// Answers a request for something of a version.
pub(crate) async fn answer(
    state: &State,
    wanted: DataRequest<'_>,
    request: &Parts,
    caller: &Caller,
) -> DataAnswer {
    let Some(key) = key_of(wanted.key) else {
        let response = plain(&not_found());
        return DataAnswer {
            response,
            snapshot: None,
        };
    };
    let settings = &state.settings;
    note_ref(&wanted.mount.name, wanted.version);
    if !wanted.is_directory && is_never(wanted.view, &key) {
        let mut response = plain(&not_found());
        let snapshot = wanted.version.parse::<SnapshotId>().ok();
        let stability = match snapshot {
            Some(id) => {
                set(response.headers_mut(), SNAPSHOT, &id.to_string());
                Stability::Fixed
            }
            None => Stability::Moving,
        };
        set(
            response.headers_mut(),
            CACHE_CONTROL,
            &cache_control(stability, settings),
        );
        return DataAnswer { response, snapshot };
    }
    // A document shows the branch as it is now; the chunks that follow come from there, unless the branch moves meanwhile.
    let freshness = match is_opened(&key, wanted.is_directory) && request.method == Method::GET {
        true => Freshness::Now,
        false => Freshness::Recent,
    };
    let found = wanted.mount.versions.find(wanted.version, freshness);
    let version = match step("resolve", found).await {
        Ok(version) => version,
        Err(failure) => {
            let failure = match is_opened(&key, wanted.is_directory) {
                true => failure,
                false => failure.for_chunk(),
            };
            return DataAnswer {
                response: failed(failure, &key, wanted.is_directory, request),
                snapshot: None,
            };
        }
    };
    let answer = match wanted.is_directory {
        true => list(state, wanted, &key, &version, request, caller).await,
        false => value(state, wanted, &key, &version, request, caller).await,
    };
    let mut response = match answer {
        Ok(response) => response,
        Err(mut failure) => {
            if version.stability == Stability::Fixed
                && failure.status == StatusCode::INTERNAL_SERVER_ERROR
            {
                // A missing object may have been collected with its snapshot.
                if let Err(gone) = wanted.mount.versions.check(version.id).await {
                    failure = gone;
                }
            }
            failed(failure, &key, wanted.is_directory, request)
        }
    };
    let status = response.status();
    // A value that may change in its place says so itself.
    let is_lasting = response.body().failure().is_none()
        && !response.headers().contains_key(CACHE_CONTROL)
        && (status.is_success()
            || status == StatusCode::NOT_MODIFIED
            || status == StatusCode::NOT_FOUND);
    let fields = response.headers_mut();
    if is_lasting {
        set(
            fields,
            CACHE_CONTROL,
            &cache_control(version.stability, settings),
        );
    }
    set(fields, SNAPSHOT, &version.id.to_string());
    DataAnswer {
        response,
        snapshot: Some(version.id),
    }
}

/// Lists the versions of a repository.
pub(crate) async fn versions(
    state: &State,
    mount: &Mount,
    is_directory: bool,
    request: &Parts,
    caller: &Caller,
) -> Answer {
    if !is_directory {
        return Err(not_found());
    }
    let refs = mount.repository().refs().await.map_err(Failure::of_read)?;
    let branches = refs.branches.keys().map(|name| {
        let name = name.as_str();
        match name {
            // Not to be taken for what lies below `/-/`.
            "-" => "branch:-/".to_owned(),
            name => format!("{name}/"),
        }
    });
    let tags = refs
        .tags
        .keys()
        .map(|name| format!("tag:{}/", name.as_str()));
    let children: Vec<String> = branches.chain(tags).collect();
    let mut elsewhere = vec![("/-/explore/".to_owned(), "Explorer".to_owned())];
    for (name, tip) in &refs.branches {
        if let Ok(id) = tip {
            let link = format!("{}{id}/", mount.base);
            elsewhere.push((link, format!("{} as it is now", name.as_str())));
        }
    }
    let page = listing::page(&children, &elsewhere);
    let page = Object::of_bytes(page.into(), listing::HTML);
    let mut response = send(page, request, caller, &state.admission).await?;
    set(response.headers_mut(), CACHE_CONTROL, "no-cache");
    Ok(response)
}

/// How long a response may be kept.
pub(crate) fn cache_control(stability: Stability, settings: &Settings) -> String {
    let whose = match settings.access {
        Access::Open => "public",
        Access::Token(_) => "private",
    };
    match stability {
        Stability::Fixed => format!("{whose}, max-age=31536000, immutable"),
        Stability::Tag => format!("{whose}, max-age=3600"),
        Stability::Moving => "no-cache".to_owned(),
    }
}

fn is_never(view: View, key: &str) -> bool {
    match view {
        View::V3 | View::Stored => v3::is_never(key),
        View::V2 => v3::is_document(key),
    }
}

/// Fewer bytes than a client reads at once: fsspec reads the body of a 404 before it goes on.
fn not_found() -> Failure {
    Failure::not_found("not found")
}

/// Finds the value of a key in a view.
pub(crate) async fn find(
    mount: &Mount,
    view: View,
    version: &Version,
    key: &str,
) -> Result<Found, Failure> {
    let documents = &mount.documents;
    match view {
        View::V3 => v3::find(version, documents, key, DocumentForm::Consolidated).await,
        View::Stored => v3::find(version, documents, key, DocumentForm::Stored).await,
        View::V2 => v2::find(mount, version, key).await,
    }
}

async fn value(
    state: &State,
    wanted: DataRequest<'_>,
    key: &str,
    version: &Version,
    request: &Parts,
    caller: &Caller,
) -> Answer {
    let found = find(wanted.mount, wanted.view, version, key);
    let found = step("locate", found).await?;
    let Found::Value(object, unconsolidated) = found else {
        return Err(not_found());
    };
    if object.content_type == BYTES {
        state.metrics.chunk(&object);
    }
    let mut response = send(object, request, caller, &state.admission).await?;
    if let Some(why) = unconsolidated {
        set(response.headers_mut(), CONSOLIDATED, &why);
    }
    Ok(response)
}

async fn list(
    state: &State,
    wanted: DataRequest<'_>,
    directory: &str,
    version: &Version,
    request: &Parts,
    caller: &Caller,
) -> Answer {
    let children = match wanted.view {
        View::V3 | View::Stored => v3::list(version, directory)?,
        View::V2 => v2::list(wanted.mount, version, directory).await?,
    };
    let children = children.ok_or_else(not_found)?;
    let page = listing::page(&children, &[]);
    let page = Object::of_bytes(page.into(), listing::HTML);
    send(page, request, caller, &state.admission).await
}

/// Returns whether programs ask for a key to find out what there is: a document, or a list.
pub(crate) fn is_opened(key: &str, is_directory: bool) -> bool {
    is_directory || v3::is_document(key) || v3::is_never(key)
}

/// The response of a failure.
fn failed(failure: Failure, key: &str, is_directory: bool, request: &Parts) -> Response<Body> {
    match is_opened(key, is_directory) {
        true => plain(&failure),
        false => responses::failed(&failure, request),
    }
}
