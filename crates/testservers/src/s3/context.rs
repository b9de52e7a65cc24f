//! The facts that one operation needs besides its input.

use std::sync::Arc;

use crate::switches::{Behaviour, Orders};
use crate::world::World;

/// The facts that one operation needs besides its input.
pub(super) struct Context {
    pub(super) world: Arc<World>,
    pub(super) behaviour: Behaviour,
    pub(super) orders: Orders,
    pub(super) headers: http::HeaderMap,
}
