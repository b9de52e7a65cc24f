//! Free ports of loopback.

use std::net::{Ipv4Addr, TcpListener};

use anyhow::{Context, Result};

/// Returns ports that no process listened on just now. Another process may still take one: a server that finds its port
/// taken is started again with others.
///
/// # Errors
/// If loopback has none left.
pub fn free<const N: usize>() -> Result<[u16; N]> {
    // All are held until all are found, or one would be found twice.
    let mut held = Vec::new();
    let mut ports = [0; N];
    for port in &mut ports {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("no free port")?;
        *port = listener.local_addr()?.port();
        held.push(listener);
    }
    Ok(ports)
}

#[cfg(test)]
mod tests {
    #[test]
    fn no_port_is_found_twice() {
        let mut ports = super::free::<8>().expect("there are ports");
        ports.sort_unstable();
        assert!(ports.windows(2).all(|pair| pair[0] < pair[1]));
    }
}
