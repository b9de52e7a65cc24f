//! `icefield info`

use std::io::{self, Write};

use futures::TryStreamExt;
use icefield::{
    ChunkKeyEncoding, NodeKind, NodePath, RefList, RefsError, Repository, RepositoryError, Session,
};
use serde::Serialize;

use super::Context;
use super::chunk_counts::{ChunkCounts, ChunkTotal};
use super::log::{RefNames, SnapshotFacts};
use super::nodes::encoding;
use super::refs::{self, RefFacts, StrayFiles};
use super::version::count_chunks;
use crate::args::Info;
use crate::failure::Failure;
use crate::output::escape::{first_line, printable};
use crate::output::table::Columns;
use crate::output::{self, Output, count};

#[derive(Serialize)]
struct RepositoryFacts {
    location: String,
    spec_version: u8,
    /// The status of a repository of spec version 2.
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<String>,
    store: StoreFacts,
    branches: usize,
    tags: usize,
    deleted_tags: usize,
    damaged_refs: Vec<RefFacts>,
    /// Keys below `refs/` that are not understood.
    stray_files: Vec<String>,
    #[serde(skip)]
    strays: StrayFiles,
    snapshot: SnapshotFacts,
    groups: u64,
    arrays: u64,
    manifests: u64,
    manifest_bytes: u64,
    chunk_refs: u64,
    /// Counts of chunks by their storage, with `--long`.
    #[serde(skip_serializing_if = "Option::is_none")]
    chunks: Option<ChunkCounts>,
    /// Arrays whose chunks the reference implementation cannot read.
    other_chunk_keys: Vec<OtherKeys>,
}

#[derive(Serialize)]
struct StoreFacts {
    writable: bool,
    safe_commits: bool,
    durable: bool,
}

#[derive(Serialize)]
struct OtherKeys {
    path: String,
    chunk_key_encoding: String,
}

pub(super) async fn run(context: &Context, args: Info) -> Result<(), Failure> {
    let (repository, session, id) = context
        .open_session(&args.location, &args.at.revision)
        .await?;
    let refs = repository.refs().await?;
    let (names, strays) = (RefNames::of(&refs), StrayFiles::of(&refs));
    let info = repository.ancestry(id).try_next().await?;
    let Some(info) = info else {
        return Err(RefsError::SnapshotNotFound(id).into());
    };
    let mut facts = RepositoryFacts {
        location: output::location(&args.location),
        spec_version: repository.spec_version() as u8,
        status: status(&repository).await?,
        store: store(&repository),
        branches: refs.branches.len(),
        tags: refs.tags.len(),
        deleted_tags: refs.deleted_tags.len(),
        stray_files: strays.names(),
        strays,
        damaged_refs: damaged(refs),
        snapshot: SnapshotFacts::from(info).named(&names),
        groups: 0,
        arrays: 0,
        manifests: 0,
        manifest_bytes: 0,
        chunk_refs: 0,
        chunks: args.long.then(ChunkCounts::default),
        other_chunk_keys: Vec::new(),
    };
    for file in repository.snapshot(id).await?.manifest_files() {
        facts.manifests += 1;
        facts.manifest_bytes = facts.manifest_bytes.saturating_add(file.size_bytes);
        facts.chunk_refs += u64::from(file.num_chunk_refs);
    }
    count_nodes(&repository, &session, &mut facts).await?;
    Output::new(args.output).facts(&facts, text)?;
    refs::check(&facts.damaged_refs)
}

async fn status(repository: &Repository) -> Result<Option<String>, Failure> {
    match repository.status().await {
        Ok(status) => Ok(Some(super::set_status::status_text(&status))),
        Err(RepositoryError::Refs(RefsError::OnlySpecV2 { .. })) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn store(repository: &Repository) -> StoreFacts {
    let capabilities = repository.storage().capabilities();
    StoreFacts {
        writable: capabilities.writable,
        safe_commits: capabilities.safe_commits(),
        durable: capabilities.durable,
    }
}

fn damaged(refs: RefList) -> Vec<RefFacts> {
    let mut damaged = refs::list(refs.branches);
    damaged.extend(refs::list(refs.tags));
    damaged.retain(|one| one.damage.is_some());
    damaged
}

async fn count_nodes(
    repository: &Repository,
    session: &Session,
    facts: &mut RepositoryFacts,
) -> Result<(), Failure> {
    for node in session.nodes(&NodePath::root())? {
        if node.kind == NodeKind::Group {
            facts.groups += 1;
            continue;
        }
        facts.arrays += 1;
        if let Some(chunks) = &mut facts.chunks {
            chunks.add(count_chunks(repository, session, &node.path).await?);
        }
        let keys = session.array(&node.path)?.chunk_key_encoding;
        if keys != ChunkKeyEncoding::COMMON {
            facts.other_chunk_keys.push(OtherKeys {
                path: node.path.to_string(),
                chunk_key_encoding: encoding(keys),
            });
        }
    }
    Ok(())
}

fn text(facts: &RepositoryFacts, out: &mut dyn Write) -> io::Result<()> {
    let mut table = Columns::pairs();
    let guarantees = match (
        facts.store.writable,
        facts.store.safe_commits,
        facts.store.durable,
    ) {
        (false, ..) => "read-only",
        (true, false, _) => "writable, but without conditional writes: commits are refused",
        (true, true, true) => "safe commits, durable",
        (true, true, false) => "safe commits, not durable",
    };
    let (groups, arrays) = (
        count(facts.groups, "group", "groups"),
        count(facts.arrays, "array", "arrays"),
    );
    table.row(["location", &facts.location]);
    table.row(["store", guarantees]);
    table.row(["spec version", &facts.spec_version.to_string()]);
    if let Some(status) = &facts.status {
        table.row(["status", &printable(status)]);
    }
    table.row([
        "refs",
        &format!(
            "{}, {} ({} deleted)",
            count(facts.branches as u64, "branch", "branches"),
            count(facts.tags as u64, "tag", "tags"),
            facts.deleted_tags
        ),
    ]);
    table.row(["snapshot", &facts.snapshot.id]);
    table.row(["written at", &facts.snapshot.written_at]);
    table.row(["message", &first_line(&facts.snapshot.message)]);
    table.row(["hierarchy", &format!("{groups}, {arrays}")]);
    table.row([
        "chunks",
        &format!(
            "{} in {} ({})",
            facts.chunk_refs,
            count(facts.manifests, "manifest", "manifests"),
            output::bytes(facts.manifest_bytes)
        ),
    ]);
    if let Some(chunks) = &facts.chunks {
        let stored = |it: ChunkTotal| {
            format!(
                "{}, {}",
                count(it.count, "chunk", "chunks"),
                output::bytes(it.bytes)
            )
        };
        table.row(["native", &stored(chunks.native)]);
        table.row(["inline", &stored(chunks.inline)]);
        table.row(["virtual", &stored(chunks.external)]);
        for (container, it) in &chunks.containers {
            let place = match container.as_str() {
                "" => "in no container".to_owned(),
                container => format!("in {}", printable(container)),
            };
            table.row(["", &format!("{} {place}", stored(*it))]);
        }
    }
    table.write(out)?;
    facts.strays.write(out)?;
    for one in &facts.damaged_refs {
        let damage = one.damage.as_deref().unwrap_or_default();
        writeln!(
            out,
            "damaged ref {}: {}",
            printable(&one.name),
            printable(damage)
        )?;
    }
    for other in &facts.other_chunk_keys {
        writeln!(
            out,
            "the reference implementation cannot read the chunks of {}: their keys are encoded as {:?}",
            printable(&other.path),
            other.chunk_key_encoding
        )?;
    }
    Ok(())
}
