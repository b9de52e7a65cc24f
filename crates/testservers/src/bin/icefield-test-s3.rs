//! An S3 server on loopback for tests in other languages.
//!
//! It says in its first line of output where it is, as JSON: `endpoint`, `access_key`, `secret_key` and
//! `bucket`. Then it answers each line of its input, a prefix, with one line: the objects of the bucket whose
//! keys begin with it, key → `length`, `content_type` and `metadata`, also as JSON. When its input ends, it
//! does, too, so that it does not outlive the process that started it.

use std::io::{self, BufRead, Write};

use icefield_testservers::{S3Options, S3Server};
use serde_json::{Map, Value, json};

fn main() -> io::Result<()> {
    let server = S3Server::start(S3Options::default());
    say(&json!({
        "endpoint": server.endpoint(),
        "access_key": server.access_key(),
        "secret_key": server.secret_key(),
        "bucket": server.bucket(),
    }))?;
    for prefix in io::stdin().lock().lines() {
        say(&objects(&server, &prefix?))?;
    }
    Ok(())
}

/// The objects that a server holds below a prefix, whatever its clients say about it.
fn objects(server: &S3Server, prefix: &str) -> Value {
    let mut found = Map::new();
    let keys = server.world().keys(server.bucket());
    for key in keys.into_iter().filter(|key| key.starts_with(prefix)) {
        // Gone between the two questions, it is left out.
        if let Some(object) = server.world().get(server.bucket(), &key) {
            let described = json!({
                "length": object.bytes.len(),
                "content_type": object.attributes.content_type,
                "metadata": object.attributes.metadata,
            });
            found.insert(key, described);
        }
    }
    found.into()
}

fn say(value: &Value) -> io::Result<()> {
    let mut out = io::stdout().lock();
    serde_json::to_writer(&mut out, value)?;
    writeln!(out)?;
    out.flush()
}
