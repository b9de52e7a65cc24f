//! Carrying out what a commit plans: manifests of the base are read ahead, new ones are made on a few threads, and of many,
//! stored while others are made.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};
use std::thread;

use futures::stream::{self, StreamExt, TryStreamExt};
use icefield_format::FormatError;
use icefield_storage::Bytes;

use super::blocking::{AT_ONCE, run_blocking};
use super::manifests::{ManifestJob, NewManifest};
use super::shifted::Before;
use crate::SessionError;
use crate::change_set::ChangeSet;
use crate::objects::{Objects, OpenManifest, REMEMBERED_IN_ALL};
use crate::session::Session;

/// Manifests made at a time, at most. Each holds a few times its own size, and more threads than there are processors only
/// take more memory. The system's answer takes it a dozen files to read.
static MAKERS: LazyLock<usize> =
    LazyLock::new(|| thread::available_parallelism().map_or(4, |it| it.get().clamp(2, 4)));

/// Manifests read ahead, each as a file: most are at most a megabyte.
const AHEAD: usize = 8;

/// A job, and what is there of it.
enum Step {
    /// All of it: an earlier attempt did it.
    Done(Vec<NewManifest>),
    /// The one manifest to copy.
    Copy(ManifestJob, OpenManifest),
    Merge(ManifestJob),
}

/// Runs jobs, in order. Notes where the base has references of shifted arrays, as far as their manifests are read.
pub(super) async fn run_jobs(
    session: &Session,
    changes: &Arc<ChangeSet>,
    before: &Arc<Before>,
    jobs: impl Iterator<Item = &ManifestJob>,
) -> Result<Vec<Vec<NewManifest>>, SessionError> {
    let shared = session.shared();
    let (objects, settings) = (&shared.objects, &shared.settings);
    let earlier = session.written_manifests()?;
    let jobs: Vec<_> = jobs
        .map(|job| (job.clone(), earlier.find(job, changes)))
        .collect();
    let (waiting, decoded) = (&AtomicUsize::new(0), &AtomicUsize::new(0));
    stream::iter(jobs)
        .map(|(job, earlier)| async move {
            Ok::<_, SessionError>(match (earlier, job.lone_input(changes)) {
                (Some(manifests), _) => Step::Done(manifests),
                (None, Some(input)) => {
                    let opened = objects.open_manifest(input.id).await?;
                    Step::Copy(job, opened)
                }
                (None, None) => Step::Merge(job),
            })
        })
        .buffered(AHEAD)
        .map(|step| async move { make(objects, changes, before, step?).await })
        .buffered(*MAKERS)
        .map(|manifests| async move {
            let mut manifests = manifests?;
            for new in &mut manifests {
                let body = new.decoded.as_ref().map_or(0, |it| it.body_len());
                if decoded.fetch_add(body, Ordering::Relaxed) > REMEMBERED_IN_ALL {
                    new.decoded = None;
                }
                let bytes = new.file.as_ref().map_or(0, Bytes::len);
                // Manifests beyond this many bytes are stored at once.
                if waiting.fetch_add(bytes, Ordering::Relaxed) > settings.held_manifest_bytes
                    && let Some(file) = new.file.take()
                {
                    objects.put_manifest(new.info.id, file).await?;
                }
            }
            Ok(manifests)
        })
        .buffered(settings.concurrent_manifests.clamp(1, AHEAD))
        .try_collect()
        .await
}

async fn make(
    objects: &Objects,
    changes: &Arc<ChangeSet>,
    before: &Arc<Before>,
    step: Step,
) -> Result<Vec<NewManifest>, SessionError> {
    let (changes, before) = (Arc::clone(changes), Arc::clone(before));
    let writer = objects.writer().clone();
    match step {
        Step::Done(manifests) => Ok(manifests),
        Step::Copy(job, opened) => {
            let small = opened.work() <= AT_ONCE;
            let copy = move || {
                let input = opened.decode()?;
                before.note(&changes, &job.node, &input);
                match job.copy(&changes, &input, writer.writer())? {
                    Some(copy) => Ok(vec![copy]),
                    None => job.run(&changes, &[input], &writer),
                }
            };
            Ok(run_blocking::<Result<_, FormatError>>(small, copy).await??)
        }
        Step::Merge(job) => {
            let mut inputs = Vec::with_capacity(job.inputs.len());
            let mut loading = stream::iter(job.inputs.clone())
                .map(|input| objects.manifest(input.id))
                .buffered(AHEAD);
            while let Some(manifest) = loading.try_next().await? {
                before.note(&changes, &job.node, &manifest);
                inputs.push(manifest);
            }
            let small = job.bytes(&inputs) <= AT_ONCE;
            let merge = move || job.run(&changes, &inputs, &writer);
            Ok(run_blocking(small, merge).await??)
        }
    }
}
