//! The bounds on work in flight. Requests above a bound wait: a client of Zarr that is told to come back later may take
//! that for a chunk that does not exist.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use bytes::Bytes;
use icefield::storage::Clock;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::settings::Limits;

/// Bytes that one permit stands for.
const UNIT: u64 = 1 << 10;

/// The reads and bytes in flight.
#[derive(Debug)]
struct Budget {
    reads: Arc<Semaphore>,
    bytes: Arc<Semaphore>,
    units: u32,
}

impl Budget {
    fn new(reads: usize, bytes: u64) -> Self {
        let units = u32::try_from((bytes / UNIT).max(1)).unwrap_or(u32::MAX >> 4);
        Self {
            reads: Arc::new(Semaphore::new(reads.max(1))),
            bytes: Arc::new(Semaphore::new(units as usize)),
            units,
        }
    }

    /// Waits for room for so many bytes; more than there are permits in all take all of them.
    async fn room(&self, bytes: u64) -> Option<OwnedSemaphorePermit> {
        let units = u32::try_from(bytes.div_ceil(UNIT)).unwrap_or(u32::MAX);
        let room = Arc::clone(&self.bytes);
        room.acquire_many_owned(units.min(self.units)).await.ok()
    }

    async fn turn(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.reads).acquire_owned().await.ok()
    }
}

/// The requests and bytes that one address may have in flight.
#[derive(Debug)]
struct Share {
    budget: Budget,
    connections: Arc<Semaphore>,
}

/// The bounds on work in flight, in all and for each address.
#[derive(Debug)]
pub(crate) struct Admission {
    limits: Limits,
    clock: Arc<dyn Clock>,
    /// Microseconds that reads waited for their turns.
    waited: AtomicU64,
    all: Budget,
    shares: Mutex<HashMap<IpAddr, Weak<Share>>>,
}

/// The client at the other end of a connection.
#[derive(Clone, Debug)]
pub struct Caller {
    /// Its address, for the log.
    pub(crate) remote: IpAddr,
    /// The address of this machine that it reached.
    pub(crate) local: IpAddr,
    share: Arc<Share>,
    _connection: Arc<OwnedSemaphorePermit>,
}

impl Caller {
    fn new(
        remote: IpAddr,
        local: IpAddr,
        share: Arc<Share>,
        connection: OwnedSemaphorePermit,
    ) -> Self {
        Self {
            remote,
            local,
            share,
            _connection: Arc::new(connection),
        }
    }
}

/// The address that has a share: of IPv6, the network, whose other 64 bits a client chooses as it likes.
fn network_of(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(_) => address,
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0).into()
        }
    }
}

impl Admission {
    pub(crate) fn new(limits: Limits, clock: Arc<dyn Clock>) -> Self {
        Self {
            clock,
            waited: AtomicU64::new(0),
            all: Budget::new(limits.reads, limits.bytes),
            shares: Mutex::default(),
            limits,
        }
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Begins a connection; `None` if its address has as many as it may have.
    pub(crate) fn connect(&self, remote: IpAddr, local: IpAddr) -> Option<Caller> {
        let share = self.share(remote);
        let connection = Arc::clone(&share.connections).try_acquire_owned().ok()?;
        Some(Caller::new(remote, local, share, connection))
    }

    /// As [`Admission::connect`], but waits until another connection of the address ends, for a time.
    pub(crate) async fn connect_later(&self, remote: IpAddr, local: IpAddr) -> Option<Caller> {
        let share = self.share(remote);
        let connection = Arc::clone(&share.connections).acquire_owned();
        let connection = tokio::select! {
            connection = connection => connection.ok()?,
            () = self.clock.sleep(self.limits.connection_wait) => return None,
        };
        Some(Caller::new(remote, local, share, connection))
    }

    /// The caller of requests that come from this process.
    pub(crate) fn local(&self) -> Caller {
        let here = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let share = Arc::new(self.new_share());
        let connections = Arc::clone(&share.connections);
        let connection = connections.try_acquire_owned();
        Caller {
            remote: here,
            local: here,
            share,
            _connection: Arc::new(connection.expect("BUG: a new share has a connection left")),
        }
    }

    fn new_share(&self) -> Share {
        let limits = &self.limits;
        Share {
            budget: Budget::new(limits.reads_per_address, limits.bytes_per_address),
            connections: Arc::new(Semaphore::new(limits.connections_per_address.max(1))),
        }
    }

    fn share(&self, address: IpAddr) -> Arc<Share> {
        let address = network_of(address);
        let mut shares = self.shares.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(share) = shares.get(&address).and_then(Weak::upgrade) {
            return share;
        }
        shares.retain(|_, share| share.strong_count() > 0);
        let share = Arc::new(self.new_share());
        shares.insert(address, Arc::downgrade(&share));
        share
    }

    /// Waits for a turn to read `bytes` bytes. The address's own bounds come first, so that its requests do not keep others
    /// waiting.
    pub(crate) async fn turn(&self, caller: &Caller, bytes: u64) -> Turn {
        let share = &caller.share.budget;
        let begun = self.clock.monotonic();
        // A request waits for room before it takes a turn: slow clients hold room, and must not hold turns, too.
        let room = [share.room(bytes).await, self.all.room(bytes).await];
        let reads = [share.turn().await, self.all.turn().await];
        let turn = Turn { reads, room };
        let took = self.clock.monotonic().saturating_sub(begun);
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        self.waited.fetch_add(micros, Ordering::Relaxed);
        turn
    }

    /// Returns the time that all reads together waited for their turns.
    pub(crate) fn waited(&self) -> Duration {
        Duration::from_micros(self.waited.load(Ordering::Relaxed))
    }
}

/// A read that may begin. The turn ends with the read, the room with the bytes.
#[derive(Debug)]
pub(crate) struct Turn {
    reads: [Option<OwnedSemaphorePermit>; 2],
    room: [Option<OwnedSemaphorePermit>; 2],
}

impl Turn {
    /// Ends the turn. The bytes keep their room until they are dropped.
    pub(crate) fn hold(self, bytes: Bytes) -> Bytes {
        drop(self.reads);
        Bytes::from_owner(Held {
            bytes,
            _room: self.room,
        })
    }
}

struct Held {
    bytes: Bytes,
    _room: [Option<OwnedSemaphorePermit>; 2],
}

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_of_ipv6_has_one_share() {
        let network = |text: &str| network_of(text.parse().unwrap());
        assert_eq!(network("2001:db8:1:2::1"), network("2001:db8:1:2:ffff::9"));
        assert_ne!(network("2001:db8:1:2::1"), network("2001:db8:1:3::1"));
        assert_ne!(network("10.0.0.1"), network("10.0.0.2"));
    }
}
