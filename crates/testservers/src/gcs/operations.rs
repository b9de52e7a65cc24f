//! The operations on objects that both interfaces of GCS have.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::failure::Failure;
use crate::switches::{Orders, Switches};
use crate::world::{Condition, Cursor, Draft, ListQuery, Listing, Refusal, StoredObject, World};

/// The operations over one world.
pub(super) struct Operations {
    pub(super) world: Arc<World>,
    pub(super) switches: Switches,
}

/// The parameters of a copy.
pub(super) struct Copy<'a> {
    pub(super) from: (&'a str, &'a str),
    pub(super) from_generation: Option<u64>,
    pub(super) from_condition: Condition,
    pub(super) to: (&'a str, &'a str),
    pub(super) to_condition: Condition,
    pub(super) metadata: Option<BTreeMap<String, String>>,
}

impl Operations {
    pub(super) fn get(
        &self,
        bucket: &str,
        key: &str,
        generation: Option<u64>,
        condition: &Condition,
        orders: &Orders,
    ) -> Result<Arc<StoredObject>, Failure> {
        let object = self.world.read(bucket, key, orders.read_back);
        let object = object.map_err(|why| self.failure(why))?;
        // There is no versioning: only the present generation can be asked for.
        if generation.is_some_and(|asked| asked != object.generation) {
            return Err(self.failure(Refusal::Missing));
        }
        condition
            .check_read(&object)
            .map_err(|why| self.failure(why))?;
        Ok(object)
    }

    pub(super) async fn write(
        &self,
        bucket: &str,
        key: &str,
        draft: Draft,
        condition: &Condition,
        orders: &Orders,
    ) -> Result<Arc<StoredObject>, Failure> {
        let written = self
            .world
            .write(bucket, key, draft, condition, orders.rules)
            .await;
        written.map_err(|why| self.failure(why))
    }

    pub(super) async fn delete(
        &self,
        bucket: &str,
        key: &str,
        condition: &Condition,
        orders: &Orders,
    ) -> Result<(), Failure> {
        // Unlike S3, GCS minds that there is nothing to delete.
        self.world
            .read(bucket, key, 0)
            .map_err(|why| self.failure(why))?;
        let removed = self
            .world
            .remove(bucket, key, condition, orders.rules)
            .await;
        match removed {
            Ok(Some(_)) => Ok(()),
            Ok(None) => Err(self.failure(Refusal::Missing)),
            Err(why) => Err(self.failure(why)),
        }
    }

    pub(super) fn list(
        &self,
        bucket: &str,
        mut query: ListQuery,
        token: Option<&str>,
        orders: &Orders,
    ) -> Result<Listing, Failure> {
        let behaviour = self.switches.behaviour();
        if behaviour.deny_list {
            return Err(Failure::new(403, "forbidden"));
        }
        if let Some(token) = token {
            let start = Cursor::from_token(token);
            query.start = Some(start.ok_or_else(|| Failure::new(400, "invalid"))?);
        }
        if query.limit == 0 || query.limit > behaviour.page_size {
            query.limit = behaviour.page_size;
        }
        let listing = self.world.list(bucket, &query, orders.list_back);
        let mut listing = listing.map_err(|why| self.failure(why))?;
        if let Some(keep) = orders.short_list {
            listing.objects.truncate(keep);
            listing.prefixes.truncate(keep - listing.objects.len());
            listing.next = None;
        }
        Ok(listing)
    }

    pub(super) async fn copy(
        &self,
        copy: Copy<'_>,
        orders: &Orders,
    ) -> Result<Arc<StoredObject>, Failure> {
        let (bucket, key) = copy.from;
        let (generation, condition) = (copy.from_generation, &copy.from_condition);
        let source = self.get(bucket, key, generation, condition, orders)?;
        let mut draft = Draft::new(source.bytes.clone());
        draft.attributes = source.attributes.clone();
        if let Some(metadata) = copy.metadata.filter(|metadata| !metadata.is_empty()) {
            draft.attributes.metadata = metadata;
        }
        let (bucket, key) = copy.to;
        self.write(bucket, key, draft, &copy.to_condition, orders)
            .await
    }

    fn failure(&self, refusal: Refusal) -> Failure {
        Failure::of(refusal, &self.switches.behaviour())
    }
}
