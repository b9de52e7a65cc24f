//! `icefield tag`

use serde::Serialize;

use super::found::FoundRepository;
use super::refs::{self, RefEditFacts, RefFacts, StrayFiles};
use super::{Context, dangling};
use crate::args::{ListRefs, Tag};
use crate::failure::Failure;
use crate::output::{self, Output};

const KIND: &str = "tag";

#[derive(Serialize)]
struct Tags {
    location: String,
    tags: Vec<RefFacts>,
    /// Names of deleted tags, which stay taken.
    deleted: Vec<String>,
    /// Keys below `refs/` that are not understood.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    stray_files: Vec<String>,
}

pub(super) async fn run(context: &Context, args: Tag) -> Result<(), Failure> {
    match args {
        Tag::List(args) => list(context, args).await,
        Tag::Create {
            location,
            name,
            at,
            output,
        } => {
            let (repository, id) = context.open_at(&location, &at.revision).await?;
            let outcome = repository
                .create_tag(name.as_str(), id)
                .await
                .map_err(|error| dangling(&at.revision, error))?;
            let edited = RefEditFacts::new(&location, "created", (KIND, &name), Some(id));
            refs::print(outcome, &edited, output)
        }
        Tag::Delete {
            location,
            name,
            output,
        } => {
            let repository = context.open(&location).await?;
            let outcome = repository.delete_tag(&name).await?;
            let edited = RefEditFacts::new(&location, "deleted", (KIND, &name), None);
            refs::print(outcome, &edited, output)
        }
    }
}

async fn list(context: &Context, args: ListRefs) -> Result<(), Failure> {
    let (tags, deleted, strays) = match context.open_any(&args.location).await? {
        FoundRepository::Today(repository) => {
            let found = repository.refs().await?;
            let deleted = found.deleted_tags.iter().map(ToString::to_string);
            let (deleted, strays) = (deleted.collect(), StrayFiles::of(&found));
            (refs::list(found.tags), deleted, strays)
        }
        // The alpha generation had no deletion of tags.
        FoundRepository::Alpha(repository) => {
            let tips = repository.tips().await?;
            (refs::list(tips.tags), Vec::new(), StrayFiles::default())
        }
    };
    let tags = Tags {
        location: output::location(&args.location),
        tags,
        deleted,
        stray_files: strays.names(),
    };
    strays.warn();
    Output::new(args.output).facts(&tags, |facts, out| refs::table(&facts.tags, out))?;
    refs::check(&tags.tags)
}
