//! `icefield cat`

use std::io::Write;

use super::Context;
use crate::args::Cat;
use crate::failure::{Exit, Failure};

pub(super) async fn run(context: &Context, args: Cat) -> Result<(), Failure> {
    let version = context.version(&args.location, &args.at.revision).await?;
    match version.get(&args.key).await? {
        Some(bytes) => {
            let mut out = std::io::stdout().lock();
            out.write_all(&bytes)?;
            Ok(out.flush()?)
        }
        None => {
            let message = format!(
                "there is no key {:?} in snapshot {}",
                args.key,
                version.id()
            );
            Err(Failure::new(Exit::NotFound, message).hint(
                "keys look like tos/zarr.json and tos/c/0/0; a chunk that was never written has no key",
            ))
        }
    }
}
