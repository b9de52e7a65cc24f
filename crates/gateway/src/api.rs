//! The JSON API of the explorer, below `/-/api`: histories, hierarchies, differences, the places of chunks.
//!
//! Long work is done for one request at a time and ends when its client leaves. Lists are cut into pages, texts at
//! bounds, and numbers that a browser cannot hold are texts.

mod answer;
mod blame;
mod cells;
mod chunks;
mod diff;
mod history;
mod nodes;
mod upkeep;
mod values;

use http::Response;
use http::header::CACHE_CONTROL;
use http::request::Parts;
use serde_json::{Value, json};

use answer::ApiAnswer;

use crate::admission::Caller;
use crate::body::Body;
use crate::data::cache_control;
use crate::documents::packed;
use crate::failure::Failure;
use crate::mount::Mount;
use crate::object::Object;
use crate::observation::{cut, time};
use crate::responses::SNAPSHOT;
use crate::state::State;
use crate::target::Target;
use crate::transfer::{send, set};
use crate::versions::Stability;

const JSON: &str = "application/json; charset=utf-8";

/// Answers a request to the API.
pub(crate) async fn answer(
    state: &State,
    segments: &[&str],
    target: &Target,
    request: &Parts,
    caller: &Caller,
) -> Response<Body> {
    let sent = match found(state, segments, target).await {
        Ok(answer) => respond(state, answer, request, caller).await,
        Err(failure) => Err(failure),
    };
    sent.unwrap_or_else(|failure| failed(&failure))
}

async fn found(state: &State, segments: &[&str], target: &Target) -> Result<ApiAnswer, Failure> {
    match segments {
        [] => return Ok(index(state).into()),
        ["requests"] => return requests(state, target),
        _ => {}
    }
    let (name, rest) = segments.split_first().ok_or_else(nothing)?;
    let mount = state.mounts.iter().find(|mount| mount.name == *name);
    let missing = || Failure::not_found(format!("there is no repository {name:?} here"));
    let mount = mount.ok_or_else(missing)?;
    match rest {
        ["refs"] => history::refs(mount).await,
        ["resolve", version] => history::resolve(mount, version).await,
        ["history"] => history::page(mount, target).await,
        ["tree", version] => nodes::tree(mount, version, target).await,
        ["node", version] => nodes::node(mount, version, target).await,
        ["sizes", version] => chunks::sizes(mount, version, target).await,
        ["chunks", version] => chunks::map(mount, version, target).await,
        ["chunk", version] => chunks::chunk(mount, version, target).await,
        ["diff"] => diff::diff(mount, target).await,
        ["diff-node"] => diff::node(mount, target).await,
        ["v2", version] => nodes::v2(mount, version).await,
        ["blame", version] => blame::blame(mount, version, target).await,
        ["du"] => upkeep::du(mount, target).await,
        ["fsck"] => upkeep::fsck(mount, target).await,
        ["grants"] => Ok(grants(mount).into()),
        _ => Err(nothing()),
    }
}

fn nothing() -> Failure {
    Failure::not_found("the API has nothing here")
}

async fn respond(
    state: &State,
    answer: ApiAnswer,
    request: &Parts,
    caller: &Caller,
) -> Result<Response<Body>, Failure> {
    let text = answer.document.to_string();
    let object = packed(Object::of_bytes(text.into(), JSON));
    let mut response = send(object, request, caller, &state.admission).await?;
    let fields = response.headers_mut();
    // A tag is as good as a branch here: what its page shows beside it, moves.
    let stability = match answer.stability {
        Stability::Fixed => Stability::Fixed,
        _ => Stability::Moving,
    };
    set(
        fields,
        CACHE_CONTROL,
        &cache_control(stability, &state.settings),
    );
    if let Some(id) = answer.snapshot {
        set(fields, SNAPSHOT, &id.to_string());
    }
    Ok(response)
}

fn failed(failure: &Failure) -> Response<Body> {
    let error = json!({
        "kind": failure.kind,
        "message": failure.message,
        "hint": Value::Null,
        "object": Value::Null,
    });
    let mut response = crate::responses::json(&json!({ "error": error }));
    *response.status_mut() = failure.status;
    set(response.headers_mut(), CACHE_CONTROL, "no-store");
    response
}

fn index(state: &State) -> Value {
    let mounts = state.mounts.iter();
    let repositories: Vec<Value> = mounts
        .map(|mount| {
            json!({
                "name": mount.name,
                "location": match state.settings.hides_locations {
                    true => &mount.name,
                    false => &mount.location,
                },
                "spec_version": mount.repository().spec_version() as u8,
                "base": mount.base,
                "v2_base": format!("{}-/v2/", mount.base),
                "raw_base": format!("{}-/raw/", mount.base),
                "s3": Value::Null,
                "default": "main",
            })
        })
        .collect();
    json!({
        "program": "icefield",
        "version": env!("CARGO_PKG_VERSION"),
        "repositories": repositories,
    })
}

/// The last requests, newest first.
fn requests(state: &State, target: &Target) -> Result<ApiAnswer, Failure> {
    let after = values::number(target, "after", 0, u64::MAX)?;
    let limit = values::number(target, "limit", 200, 1000)?;
    let (last, requests) = state
        .log
        .after(after, usize::try_from(limit).unwrap_or(1000));
    let requests: Vec<Value> = requests
        .into_iter()
        .map(|(number, seen)| {
            json!({
                "seq": number,
                "time": time(seen.at),
                "method": seen.method,
                "path": cut(&seen.path, 1024),
                "status": seen.status,
                "bytes": values::int(seen.bytes),
                "micros": u64::try_from(seen.took.as_micros()).unwrap_or(u64::MAX),
                "agent": seen.agent,
            })
        })
        .collect();
    Ok(json!({ "last": last, "requests": requests }).into())
}

/// The containers of virtual chunks, and whether the server may read them.
fn grants(mount: &Mount) -> Value {
    let repository = mount.repository();
    let config = repository.config();
    let granted: Vec<String> = repository
        .virtual_access()
        .prefixes()
        .map(ToString::to_string)
        .collect();
    let containers = config.containers();
    let containers: Vec<Value> = containers
        .map(|container| {
            let prefix = &container.url_prefix;
            let is_granted = granted.iter().any(|it| {
                let (it, prefix) = (it.trim_end_matches('/'), prefix.trim_end_matches('/'));
                it == prefix
                    || prefix
                        .strip_prefix(it)
                        .is_some_and(|rest| rest.starts_with('/'))
                    || it
                        .strip_prefix(prefix)
                        .is_some_and(|rest| rest.starts_with('/'))
            });
            json!({
                "name": container.name,
                "prefix": prefix,
                "granted": is_granted,
                "hint": (!is_granted).then(|| format!("--grant {prefix}")),
            })
        })
        .collect();
    json!({ "containers": containers })
}
