//! Where virtual chunks lie: absolute URLs, normalised as every reader of the format does it.
//!
//! ```text
//! s3://Bucket/a//b/./c d.nc       s3://Bucket/a/b/c%20d.nc
//! FILE:///data/x/../y.nc          file:///data/y.nc
//! https://Host:443/é.nc           https://host/%C3%A9.nc
//! ```
//! The rules are those of URLs as browsers read them, less empty segments, queries and fragments. What those rules
//! leave open to tricks is refused: users in the place of hosts, control characters, encoded slashes.

use std::fmt;

/// The longest location in bytes. The format sets no limit.
pub const MAX_LOCATION_LEN: usize = 64 * 1024;

/// Schemes of locations, each with the one that it means.
const SCHEMES: [(&str, &str); 10] = [
    ("file", "file"),
    ("s3", "s3"),
    ("tigris", "s3"),
    ("gs", "gs"),
    ("gcs", "gs"),
    ("az", "az"),
    ("azure", "az"),
    ("abfs", "az"),
    ("http", "http"),
    ("https", "https"),
];

/// The rule of locations that a text breaks.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LocationRule {
    /// Not `scheme://…`.
    #[error("it is no absolute URL: write scheme://bucket/path, or file:///path")]
    NotAbsolute,
    /// A scheme that virtual chunks do not have.
    #[error("its scheme is none of file, s3, tigris, gs, gcs, az, azure, abfs, http, https")]
    Scheme,
    /// There is no bucket or host.
    #[error("it names no bucket or host")]
    NoHost,
    /// The bucket or host is no name of one.
    #[error("it has a bucket or host that is no name of one")]
    Host,
    /// `file://host/…`.
    #[error("it names a host, and files are read from this machine: write file:///path")]
    FileHost,
    /// `user@host`.
    #[error("it has a user in it: credentials are given to the reader, never to a location")]
    User,
    /// There is no path.
    #[error("it names no object: there is no path in it")]
    NoPath,
    /// A query or a fragment, which readers would drop.
    #[error(
        "it has a query or a fragment, which readers drop: write %3F for ? and %23 for # in a name"
    )]
    Query,
    /// A control character.
    #[error("it has a control character in it")]
    Control,
    /// A `%` that is not followed by two hexadecimal digits, or bytes that are no text.
    #[error("it has a % that encodes no character: write %25 for one in a name")]
    Encoding,
    /// A slash or a dot segment in disguise.
    #[error("it has an encoded slash or backslash, which could lead elsewhere than it says")]
    HiddenSlash,
    /// An empty segment, or one of dots.
    #[error("it has an empty segment or one of dots, which a location cannot keep")]
    Segment,
    /// Longer than [`MAX_LOCATION_LEN`].
    #[error("it has more than {MAX_LOCATION_LEN} bytes")]
    TooLong,
}

/// The location of a foreign object, or of a folder of them, normalised. Compares by its text.
///
/// ```
/// use icefield_format::VirtualLocation;
///
/// # fn main() -> Result<(), icefield_format::LocationRule> {
/// let folder = VirtualLocation::parse_prefix("s3://archive/2015")?;
/// let file = VirtualLocation::parse("s3://archive/2015/sea%20ice.nc")?;
/// assert_eq!(file.below(&folder).as_deref(), Some("sea ice.nc"));
/// assert!(!folder.covers(&VirtualLocation::parse("s3://archive/20156.nc")?));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VirtualLocation {
    text: String,
    /// Where the host begins and ends in the text.
    host: (usize, usize),
}

impl VirtualLocation {
    /// Reads the location of an object that is about to be stored. It refuses a query and a fragment, which readers
    /// would drop.
    ///
    /// # Errors
    /// The rule that it breaks.
    pub fn parse_new(text: &str) -> Result<Self, LocationRule> {
        if text.contains(['?', '#']) {
            return Err(LocationRule::Query);
        }
        Self::parse(text)
    }

    /// Reads the location of an object as it is stored.
    ///
    /// # Errors
    /// The rule that it breaks.
    pub fn parse(text: &str) -> Result<Self, LocationRule> {
        let location = Self::normalise(text)?;
        match location.path().is_empty() {
            true => Err(LocationRule::NoPath),
            false => Ok(location),
        }
    }

    /// Reads the prefix of a container. It covers the locations that begin with the same segments.
    ///
    /// # Errors
    /// The rule that it breaks.
    pub fn parse_prefix(text: &str) -> Result<Self, LocationRule> {
        if text.contains(['?', '#']) {
            return Err(LocationRule::Query);
        }
        Self::normalise(text)
    }

    fn normalise(text: &str) -> Result<Self, LocationRule> {
        if text.len() > MAX_LOCATION_LEN {
            return Err(LocationRule::TooLong);
        }
        let text = text.trim_matches(' ');
        if text.chars().any(char::is_control) {
            return Err(LocationRule::Control);
        }
        let (scheme, rest) = text.split_once(':').ok_or(LocationRule::NotAbsolute)?;
        let scheme = scheme.to_ascii_lowercase();
        if !SCHEMES.iter().any(|(name, _)| *name == scheme) {
            return Err(LocationRule::Scheme);
        }
        let like_browsers = matches!(scheme.as_str(), "file" | "http" | "https");
        let is_slash = |it: char| it == '/' || (like_browsers && it == '\\');
        let rest = rest.split(['?', '#']).next().unwrap_or_default();
        let rest = strip_slashes(rest, is_slash).ok_or(LocationRule::NotAbsolute)?;
        let (authority, path) = match rest.find(is_slash) {
            Some(at) => rest.split_at(at),
            None => (rest, ""),
        };
        let host = host(&scheme, authority)?;
        let mut text = format!("{scheme}://");
        let start = text.len();
        text.push_str(&host);
        let host = (start, text.len());
        for segment in segments(path.split(is_slash)) {
            text.push('/');
            encode(segment, &mut text)?;
        }
        Ok(Self { text, host })
    }

    /// Returns the normalised text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns the scheme as it is written.
    #[must_use]
    pub fn scheme(&self) -> &str {
        &self.text[..self.host.0 - "://".len()]
    }

    /// Returns the scheme of the service that the location means: `file`, `s3`, `gs`, `az`, `http` or `https`.
    #[must_use]
    pub fn service(&self) -> &'static str {
        let found = SCHEMES.iter().find(|(name, _)| *name == self.scheme());
        found.map_or("", |(_, service)| service)
    }

    /// Returns the bucket or the host, with its port if that is not the usual one; empty for files.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.text[self.host.0..self.host.1]
    }

    /// Returns the path, encoded, without the slash at its beginning; empty for a whole bucket.
    #[must_use]
    pub fn path(&self) -> &str {
        self.text[self.host.1..].trim_start_matches('/')
    }

    /// Returns the decoded path, as the store knows it.
    #[must_use]
    pub fn decoded_path(&self) -> String {
        decoded(self.path())
    }

    /// Returns the decoded path below a prefix; `None` if this does not lie there. Whole segments are compared, and the
    /// scheme as it is written, as readers of the format do.
    #[must_use]
    pub fn below(&self, prefix: &Self) -> Option<String> {
        if (self.scheme(), self.host()) != (prefix.scheme(), prefix.host()) {
            return None;
        }
        let rest = match prefix.path() {
            "" => self.path().to_owned(),
            // Two spellings of one character are one character.
            path => match self.path().strip_prefix(path) {
                Some(rest) => rest.strip_prefix('/')?.to_owned(),
                None => {
                    let mine = self.decoded_path();
                    let rest = mine.strip_prefix(&decoded(path))?.strip_prefix('/')?;
                    return Some(rest.to_owned());
                }
            },
        };
        (!rest.is_empty()).then(|| decoded(&rest))
    }

    /// Returns whether all that lies below `other` lies below this prefix, too, the same prefix included.
    #[must_use]
    pub fn covers(&self, other: &Self) -> bool {
        self == other || other.below(self).is_some()
    }

    /// Returns the number of segments of the path, by which the longest of several prefixes is found.
    #[must_use]
    pub fn depth(&self) -> usize {
        self.path().split('/').filter(|it| !it.is_empty()).count()
    }
}

impl fmt::Display for VirtualLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for VirtualLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.text, f)
    }
}

/// Takes the `//` away that begins an authority.
fn strip_slashes(rest: &str, is_slash: impl Fn(char) -> bool) -> Option<&str> {
    rest.strip_prefix(&is_slash)?.strip_prefix(&is_slash)
}

fn host(scheme: &str, authority: &str) -> Result<String, LocationRule> {
    if authority.contains('@') {
        return Err(LocationRule::User);
    }
    if scheme == "file" {
        return match authority.is_empty() || authority.eq_ignore_ascii_case("localhost") {
            true => Ok(String::new()),
            false => Err(LocationRule::FileHost),
        };
    }
    if authority.is_empty() {
        return Err(LocationRule::NoHost);
    }
    if !matches!(scheme, "http" | "https") {
        let plain = |it: u8| it.is_ascii_alphanumeric() || b"-_.".contains(&it);
        return match authority.bytes().all(plain) {
            true => Ok(authority.to_owned()),
            false => Err(LocationRule::Host),
        };
    }
    let (name, port) = match authority.strip_prefix('[') {
        Some(rest) => {
            let (address, port) = rest.split_once(']').ok_or(LocationRule::Host)?;
            let address: std::net::Ipv6Addr = address.parse().map_err(|_| LocationRule::Host)?;
            (
                format!("[{address}]"),
                port.strip_prefix(':').unwrap_or(port),
            )
        }
        None => {
            let (name, port) = authority.split_once(':').unwrap_or((authority, ""));
            (web_name(name)?, port)
        }
    };
    if port.is_empty() {
        return Ok(name);
    }
    let number: u16 = match port.bytes().all(|it| it.is_ascii_digit()) {
        true => port.parse().map_err(|_| LocationRule::Host)?,
        false => return Err(LocationRule::Host),
    };
    Ok(match (scheme, number) {
        ("http", 80) | ("https", 443) => name,
        _ => format!("{name}:{number}"),
    })
}

/// The name of a web server in lower case. One that browsers read as a number in some other spelling (`0x7f.1`) is
/// refused, and so is one beyond ASCII, which is spelt `xn--…`.
fn web_name(name: &str) -> Result<String, LocationRule> {
    let name = name.to_ascii_lowercase();
    let plain = |it: u8| it.is_ascii_alphanumeric() || it == b'-' || it == b'_';
    let mut labels = name.strip_suffix('.').unwrap_or(&name).split('.');
    if !labels
        .clone()
        .all(|it| !it.is_empty() && it.bytes().all(plain))
    {
        return Err(LocationRule::Host);
    }
    let last = labels.next_back().unwrap_or_default();
    let numeric = last.starts_with(|first: char| first.is_ascii_digit());
    match numeric && name.parse::<std::net::Ipv4Addr>().is_err() {
        true => Err(LocationRule::Host),
        false => Ok(name),
    }
}

/// Resolves dot segments, then drops empty ones: what is before two slashes is not taken back by `..`.
fn segments<'a>(all: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut kept = Vec::new();
    // Nothing is before the first slash.
    for segment in all.skip(1) {
        if !segment.starts_with(['.', '%']) {
            // Most segments are no dots, and need no second look.
            kept.push(segment);
            continue;
        }
        match segment.to_ascii_lowercase().as_str() {
            "." | "%2e" => {}
            ".." | ".%2e" | "%2e." | "%2e%2e" => {
                kept.pop();
            }
            _ => kept.push(segment),
        }
    }
    kept.retain(|segment| !segment.is_empty());
    kept
}

/// Appends a segment with the characters encoded that a path cannot have.
fn encode(segment: &str, out: &mut String) -> Result<(), LocationRule> {
    let plain = |it: u8| it.is_ascii_alphanumeric() || b"-_~=+".contains(&it);
    if segment.bytes().all(|it| plain(it) || it == b'.') && segment.bytes().any(plain) {
        // Nothing to encode, and nothing to decode.
        out.push_str(segment);
        return Ok(());
    }
    let mut bytes = Vec::with_capacity(segment.len());
    let mut rest = segment.as_bytes();
    while let Some((byte, tail)) = rest.split_first() {
        rest = tail;
        if *byte == b'%' {
            let digits = rest.first_chunk::<2>().ok_or(LocationRule::Encoding)?;
            let byte = hexadecimal(*digits).ok_or(LocationRule::Encoding)?;
            if matches!(byte, b'/' | b'\\') {
                return Err(LocationRule::HiddenSlash);
            }
            if byte < b' ' || byte == 0x7f {
                return Err(LocationRule::Control);
            }
            bytes.push(byte);
            out.push('%');
            out.extend(digits.iter().map(|it| char::from(*it)));
            rest = &rest[2..];
            continue;
        }
        bytes.push(*byte);
        match byte {
            b' ' | b'"' | b'#' | b'<' | b'>' | b'?' | b'`' | b'{' | b'}' | 0x80.. => {
                out.push_str(&format!("%{byte:02X}"));
            }
            byte => out.push(char::from(*byte)),
        }
    }
    match std::str::from_utf8(&bytes) {
        Ok("." | "..") | Err(_) => Err(LocationRule::Encoding),
        Ok(_) => Ok(()),
    }
}

fn hexadecimal(digits: [u8; 2]) -> Option<u8> {
    let digit = |it: u8| char::from(it).to_digit(16);
    let value = digit(digits[0])? * 16 + digit(digits[1])?;
    u8::try_from(value).ok()
}

/// Decodes a path that was checked when it was read.
fn decoded(path: &str) -> String {
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let Some((byte, tail)) = rest.split_first() {
        rest = tail;
        let encoded = (*byte == b'%').then(|| rest.first_chunk::<2>()).flatten();
        match encoded.and_then(|digits| hexadecimal(*digits)) {
            Some(byte) => {
                bytes.push(byte);
                rest = &rest[2..];
            }
            None => bytes.push(*byte),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Returns the location of an object by the parts of its name as the store knows them: what paths cannot have is
/// encoded.
///
/// # Errors
/// The rule that it breaks.
pub fn location_of(scheme: &str, host: &str, key: &str) -> Result<VirtualLocation, LocationRule> {
    if key.split('/').any(|it| matches!(it, "" | "." | "..")) {
        return Err(LocationRule::Segment);
    }
    VirtualLocation::parse_new(&format!("{scheme}://{host}/{}", encoded_key(key)))
}

/// Returns the locations that the prefix of a container in a configuration may stand for: a URL, and on the local disk
/// also a path in which nothing is encoded, as the reference implementation takes it. Empty if it is no prefix at all.
#[must_use]
pub fn container_prefixes(url_prefix: &str) -> Vec<VirtualLocation> {
    let as_url = VirtualLocation::parse_prefix(url_prefix).ok();
    let path = url_prefix.strip_prefix("file:///");
    let as_path = path.and_then(|path| location_of("file", "", path.trim_matches('/')).ok());
    let as_path = as_path.filter(|it| Some(it) != as_url.as_ref());
    as_url.into_iter().chain(as_path).collect()
}

/// Returns a key with all characters encoded that have a meaning in a URL. Decoding returns the key.
#[must_use]
pub fn encoded_key(key: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~!$&'()*+,;=:@/".contains(&byte);
    let mut text = String::with_capacity(key.len());
    for byte in key.bytes() {
        match plain(byte) {
            true => text.push(char::from(byte)),
            false => text.push_str(&format!("%{byte:02X}")),
        }
    }
    text
}

#[cfg(test)]
mod tests;
