//! Moves the chunks of one array, and rewrites those of which a part goes.

use icefield_core::{ArrayMetadata, Session};

use super::Method;
use super::plan::Plan;
use crate::RollingError;
use crate::blocks::Blocks;
use crate::dimension::Member;

impl Plan<'_> {
    /// Moves the chunks of an array, and rewrites those of which a part goes. Returns how many.
    pub(super) async fn move_chunks(
        &self,
        session: &Session,
        member: &Member,
        chunks: i64,
    ) -> Result<u64, RollingError> {
        let axis = member.axis;
        let (chunk, grows) = (member.chunk(), self.window.length() > member.length());
        if chunks < 0 || grows {
            // Chunks that move to the end need their place first.
            self.resize(session, member, member.length().max(self.window.length()))
                .await?;
        }
        if chunks != 0 {
            let mut by = vec![0; member.array.rank()];
            by[axis] = -chunks;
            session.shift(&member.path, &by).await?;
        }
        let array = self.set_document(session, member).await?;
        let mut rewritten = 0;
        let (before, after) = (&self.dimension.window, &self.window);
        match self.method {
            Method::Absolute => {
                let gone = before.hidden() / chunk..after.hidden() / chunk;
                self.delete_slabs(session, member, &array, gone).await?;
                let masked = after.hidden() % chunk;
                if masked > 0 && after.hidden() > before.hidden() {
                    let slab = slab(after.hidden() / chunk);
                    let blocks = Blocks::of(member)?;
                    rewritten += blocks
                        .keep_within(session, &array, axis, slab, masked..chunk)
                        .await?;
                }
            }
            Method::Shift if after.hidden() > 0 && after.first() != before.first() => {
                let gone = 0..after.hidden() / chunk;
                self.delete_slabs(session, member, &array, gone).await?;
                let masked = after.hidden() % chunk;
                if masked > 0 {
                    let blocks = Blocks::of(member)?;
                    let slab = slab(after.hidden() / chunk);
                    rewritten += blocks
                        .keep_within(session, &array, axis, slab, masked..chunk)
                        .await?;
                }
            }
            Method::Shift => {}
        }
        // Behind the end of an array, a chunk may hold anything, and would show it when the array grows again.
        let rest = after.length() % chunk;
        if rest > 0 && after.end() < before.end() {
            let blocks = Blocks::of(member)?;
            let slab = slab(after.length() / chunk);
            rewritten += blocks
                .keep_within(session, &array, axis, slab, 0..rest)
                .await?;
        }
        Ok(rewritten)
    }

    async fn delete_slabs(
        &self,
        session: &Session,
        member: &Member,
        array: &ArrayMetadata,
        slabs: std::ops::Range<u64>,
    ) -> Result<(), RollingError> {
        let counts = array.chunk_counts.iter();
        let mut within: Vec<_> = counts.map(|count| 0..*count).collect();
        within[member.axis] = slab(slabs.start)..slab(slabs.end);
        session.delete_chunks(&member.path, &within).await?;
        Ok(())
    }

    /// Gives an array another length, and nothing else.
    async fn resize(
        &self,
        session: &Session,
        member: &Member,
        length: u64,
    ) -> Result<(), RollingError> {
        self.write_document(session, member, length, &[])
            .await
            .map(drop)
    }
}

/// The coordinate of a slab; grids are checked before.
fn slab(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
