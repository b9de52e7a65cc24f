//! A plain Zarr tree behind a protocol of lines: one JSON request in, one JSON answer out.
//!
//! Values are base64. An answer is `{"ok": …}` or `{"error": "…"}`; see `Request` for what can be asked.

use std::io::{BufRead, Write};
use std::path::Path;

use anyhow::Result;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use futures::TryStreamExt;
use icefield_zarr_fs::{Bytes, DirectoryTree, GetRange, ReadTree, TreeKey, TreePrefix, WriteTree};
use serde::Deserialize;
use serde_json::{Value, json};

/// The requests to a tree.
#[derive(Debug, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case")]
enum Request {
    /// The value, or `null`. `range` is `[start, end]`, `[start, null]` or `[-length, null]`.
    Get {
        key: String,
        range: Option<(i64, Option<u64>)>,
    },
    /// The number of bytes, or `null`.
    Size {
        key: String,
    },
    Set {
        key: String,
        value: String,
    },
    /// Whether it was stored.
    SetIfNotExists {
        key: String,
        value: String,
    },
    Erase {
        key: String,
    },
    ErasePrefix {
        prefix: String,
    },
    /// All keys below.
    List {
        prefix: String,
    },
    /// `[keys, prefixes]` directly below.
    ListDir {
        prefix: String,
    },
}

/// Answers requests until the input ends.
///
/// # Errors
/// The directory cannot be opened, or no process listens.
pub async fn serve(directory: &Path) -> Result<()> {
    let tree = DirectoryTree::open(directory)?;
    let mut out = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let answer = match answer(&tree, &line?).await {
            Ok(answer) => json!({ "ok": answer }),
            Err(error) => json!({ "error": format!("{error:#}") }),
        };
        writeln!(out, "{answer}")?;
        out.flush()?;
    }
    Ok(())
}

async fn answer(tree: &DirectoryTree, line: &str) -> Result<Value> {
    let bytes = |text: &str| anyhow::Ok(Bytes::from(STANDARD.decode(text)?));
    Ok(match serde_json::from_str(line)? {
        Request::Get { key, range } => {
            let value = tree.get(&TreeKey::parse(&key)?, range_of(range)).await?;
            json!(value.map(|value| STANDARD.encode(value)))
        }
        Request::Size { key } => json!(tree.size(&TreeKey::parse(&key)?).await?),
        Request::Set { key, value } => {
            let key = TreeKey::parse(&key)?;
            json!(tree.set(&key, bytes(&value)?).await?)
        }
        Request::SetIfNotExists { key, value } => {
            let key = TreeKey::parse(&key)?;
            json!(tree.set_if_not_exists(&key, bytes(&value)?).await?)
        }
        Request::Erase { key } => json!(tree.erase(&TreeKey::parse(&key)?).await?),
        Request::ErasePrefix { prefix } => {
            json!(tree.erase_prefix(&TreePrefix::parse(&prefix)?).await?)
        }
        Request::List { prefix } => {
            let entries = tree.list(&TreePrefix::parse(&prefix)?);
            let keys = entries.map_ok(|entry| entry.key.to_string());
            json!(keys.try_collect::<Vec<_>>().await?)
        }
        Request::ListDir { prefix } => {
            let children = tree.children(&TreePrefix::parse(&prefix)?).await?;
            let keys: Vec<_> = children.keys.iter().map(TreeKey::as_str).collect();
            let prefixes: Vec<_> = children.prefixes.iter().map(TreePrefix::as_str).collect();
            json!([keys, prefixes])
        }
    })
}

fn range_of(range: Option<(i64, Option<u64>)>) -> GetRange {
    match range {
        None => GetRange::All,
        Some((start, _)) if start < 0 => GetRange::Suffix(start.unsigned_abs()),
        Some((start, Some(end))) => GetRange::Bounded(start.unsigned_abs()..end),
        Some((start, None)) => GetRange::From(start.unsigned_abs()),
    }
}
