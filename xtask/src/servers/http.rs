//! As much HTTP as it takes to see that a server is there, and to make a bucket in it.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::Duration;

use anyhow::{Context, Result, bail};

const PATIENCE: Duration = Duration::from_secs(10);

/// Sends one request to a port of loopback and returns the status of the answer.
///
/// # Errors
/// If no server listens, or what comes back is no HTTP.
pub fn status(method: &str, port: u16, path: &str, json: &str) -> Result<u16> {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let mut stream = TcpStream::connect_timeout(&address, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    // A body that is none has no type either: some servers look.
    let kind = match json {
        "" => "",
        _ => "content-type: application/json\r\n",
    };
    let request = format!(
        "{method} {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\
         {kind}content-length: {}\r\n\r\n{json}",
        json.len()
    );
    stream.write_all(request.as_bytes())?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    let answer = String::from_utf8_lossy(&answer);
    let status = answer.strip_prefix("HTTP/1.").and_then(|rest| {
        let status = rest.split(' ').nth(1)?;
        status.parse().ok()
    });
    status.with_context(|| format!("no HTTP came from {address}"))
}

/// Sends a request that must be done.
///
/// # Errors
/// If it is not.
pub fn done(method: &str, port: u16, path: &str, json: &str) -> Result<()> {
    match status(method, port, path, json)? {
        200..=299 => Ok(()),
        other => bail!("{method} {path} was answered with {other}"),
    }
}
