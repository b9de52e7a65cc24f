//! Repositories at `shelf:` locations, opened by the facade as it is.

use std::sync::Arc;

use icefield::storage::Storage;
use icefield::{BranchName, Connect, Error, Location, NodePath, Repository, Schemes, WriteMode};
use shelf_storage::ShelfStorage;

#[derive(Debug)]
struct Shelves;

#[async_trait::async_trait]
impl Connect for Shelves {
    async fn connect(&self, location: &Location) -> Result<Arc<dyn Storage>, Error> {
        let name = location.as_str().trim_start_matches("shelf://");
        Ok(Arc::new(ShelfStorage::named(name)))
    }
}

#[tokio::test]
async fn a_repository_lives_on_a_shelf() -> Result<(), Error> {
    let schemes = Schemes::standard().with("shelf", Arc::new(Shelves));
    let location = Location::parse("shelf://ocean")?;
    let repository = Repository::create(schemes.storage(&location).await?).await?;
    let session = repository.write_session(BranchName::main()).await?;
    let group = r#"{"zarr_format":3,"node_type":"group"}"#;
    session
        .set_metadata(&NodePath::root(), group.into(), WriteMode::Overwrite)
        .await?;
    icefield::committed(session.commit("a group").await?)?;

    let again = Repository::open(schemes.storage(&location).await?).await?;
    let session = again.read_session(BranchName::main()).await?;
    assert!(session.metadata(&NodePath::root())?.is_some());
    Ok(())
}
