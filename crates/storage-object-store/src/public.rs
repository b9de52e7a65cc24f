//! Addresses that any client can reach, and clients that go to no others.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use reqwest::dns::{Addrs, Name, Resolve, Resolving};

/// Returns whether an address is one that any client can reach: not of this machine, of the network around it, or
/// reserved.
pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [one, two, three, _] = address.octets();
    let special = address.is_loopback()
        || address.is_private()
        || address.is_link_local()
        || address.is_broadcast()
        || address.is_multicast()
        || address.is_documentation();
    // "This network", shared by a carrier, of protocols, of measurements, reserved.
    let reserved = one == 0
        || (one == 100 && (64..128).contains(&two))
        || (one, two, three) == (192, 0, 0)
        || (one == 198 && (18..20).contains(&two))
        || one >= 240;
    !special && !reserved
}

/// Only what is given out to the internet (2000::/3), and of that nothing that carries another address inside.
fn is_public_v6(address: Ipv6Addr) -> bool {
    let segments = address.segments();
    let given_out = segments[0] & 0xe000 == 0x2000;
    let carries = segments[0] == 0x2002 || (segments[0] == 0x2001 && segments[1] < 0x200);
    let documentation = segments[0] == 0x2001 && segments[1] == 0xdb8;
    given_out && !carries && !documentation
}

/// Looks names up as the system does, and finds only addresses that any client can reach: a name that leads into this
/// machine leads nowhere.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PublicOnly;

impl Resolve for PublicOnly {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
            let (public, others): (Vec<SocketAddr>, Vec<SocketAddr>) =
                found.partition(|address| is_public(address.ip()));
            if public.is_empty() && !others.is_empty() {
                let problem = "it leads into this machine or the network around it";
                return Err(io::Error::new(io::ErrorKind::PermissionDenied, problem).into());
            }
            Ok(Box::new(public.into_iter()) as Addrs)
        })
    }
}
