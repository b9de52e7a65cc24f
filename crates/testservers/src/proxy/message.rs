//! Messages of HTTP/1.1 as they stand on the wire: only as much is understood as tells where they end.

use std::io;

use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt};

/// A message, byte for byte.
#[derive(Clone, Debug)]
pub(super) struct Message {
    /// Start line and headers, with the empty line.
    pub(super) head: Bytes,
    /// All that follows, with the framing of chunks and with trailers.
    pub(super) body: Bytes,
    /// How the end of the body is marked.
    pub(super) framing: Framing,
}

/// How the end of a body is marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Framing {
    /// There is none.
    Empty,
    /// By its length.
    Length(usize),
    /// By a chunk of length zero, and trailers.
    Chunked,
    /// By the end of the connection.
    UntilClose,
}

/// The facts that decide how a body ends, besides the headers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MessageKind {
    Request,
    Answer,
    /// An answer to HEAD: it tells a length and has no body.
    AnswerToHead,
}

impl Message {
    /// Returns the words of the start line.
    pub(super) fn start(&self) -> Vec<String> {
        let text = String::from_utf8_lossy(&self.head).into_owned();
        let line = text.lines().next().unwrap_or_default();
        line.split(' ').map(ToOwned::to_owned).collect()
    }

    /// Returns the status of an answer.
    pub(super) fn status(&self) -> u16 {
        let status = self.start().get(1).and_then(|text| text.parse().ok());
        status.unwrap_or_default()
    }

    /// Returns a header by its name in any case.
    pub(super) fn header(&self, name: &str) -> Option<String> {
        header(&self.head, name)
    }

    /// Returns the message with another value of a header that it has.
    pub(super) fn with_header(&self, name: &str, value: &str) -> Self {
        let text = String::from_utf8_lossy(&self.head);
        let lines = text.split("\r\n").map(|line| match line.split_once(':') {
            Some((found, _)) if found.eq_ignore_ascii_case(name) => format!("{found}: {value}"),
            _ => line.to_owned(),
        });
        Self {
            head: lines.collect::<Vec<_>>().join("\r\n").into(),
            ..self.clone()
        }
    }

    /// Returns the place on the wire of one byte of the body's content.
    pub(super) fn place(&self, at: usize) -> Option<usize> {
        if self.framing != Framing::Chunked {
            return (at < self.body.len()).then_some(at);
        }
        let (mut place, mut rest) = (0, at);
        loop {
            let (size, line) = chunk(&self.body[place..])?;
            place += line;
            if size == 0 {
                return None;
            }
            if rest < size {
                return Some(place + rest);
            }
            rest -= size;
            place += size + 2;
        }
    }
}

/// Reads one message; `None` if the connection ends before it begins. What was read beyond it stays in
/// `buffer`.
pub(super) async fn read(
    stream: &mut (impl AsyncRead + Unpin),
    buffer: &mut BytesMut,
    kind: MessageKind,
) -> io::Result<Option<Message>> {
    let Some(head) = read_head(stream, buffer).await? else {
        return Ok(None);
    };
    read_body(stream, buffer, kind, head).await.map(Some)
}

/// Reads start line and headers.
pub(super) async fn read_head(
    stream: &mut (impl AsyncRead + Unpin),
    buffer: &mut BytesMut,
) -> io::Result<Option<Bytes>> {
    loop {
        if let Some(end) = buffer.windows(4).position(|four| four == b"\r\n\r\n") {
            return Ok(Some(buffer.split_to(end + 4).freeze()));
        }
        if stream.read_buf(buffer).await? == 0 {
            return match buffer.len() {
                0 => Ok(None),
                _ => Err(io::ErrorKind::UnexpectedEof.into()),
            };
        }
    }
}

/// Reads what follows a head.
pub(super) async fn read_body(
    stream: &mut (impl AsyncRead + Unpin),
    buffer: &mut BytesMut,
    kind: MessageKind,
    head: Bytes,
) -> io::Result<Message> {
    let framing = framing(&head, kind);
    loop {
        let end = match framing {
            Framing::Empty => Some(0),
            Framing::Length(length) => (buffer.len() >= length).then_some(length),
            Framing::Chunked => chunked_end(buffer),
            Framing::UntilClose => None,
        };
        if let Some(end) = end {
            let body = buffer.split_to(end).freeze();
            return Ok(Message {
                head,
                body,
                framing,
            });
        }
        if stream.read_buf(buffer).await? == 0 {
            if framing != Framing::UntilClose {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            let body = buffer.split().freeze();
            return Ok(Message {
                head,
                body,
                framing,
            });
        }
    }
}

fn framing(head: &[u8], kind: MessageKind) -> Framing {
    let text = String::from_utf8_lossy(head);
    let status = text.split(' ').nth(1).and_then(|word| word.parse().ok());
    let bodiless = matches!(status, Some(100..=199_u16 | 204 | 304));
    if kind == MessageKind::AnswerToHead || (kind == MessageKind::Answer && bodiless) {
        return Framing::Empty;
    }
    if header(head, "transfer-encoding").is_some_and(|it| it.eq_ignore_ascii_case("chunked")) {
        return Framing::Chunked;
    }
    match header(head, "content-length").and_then(|it| it.parse().ok()) {
        Some(length) => Framing::Length(length),
        None if kind == MessageKind::Request => Framing::Empty,
        None => Framing::UntilClose,
    }
}

fn header(head: &[u8], name: &str) -> Option<String> {
    let text = String::from_utf8_lossy(head);
    let mut headers = text.lines().skip(1).filter_map(|line| line.split_once(':'));
    let found = headers.find(|(found, _)| found.trim().eq_ignore_ascii_case(name));
    found.map(|(_, value)| value.trim().to_owned())
}

/// Reads the line before a chunk: its size, and the length of the line.
fn chunk(bytes: &[u8]) -> Option<(usize, usize)> {
    let end = bytes.windows(2).position(|two| two == b"\r\n")?;
    let line = String::from_utf8_lossy(&bytes[..end]);
    // Signed chunks carry their signature after a semicolon.
    let size = line.split(';').next().unwrap_or_default().trim().to_owned();
    Some((usize::from_str_radix(&size, 16).ok()?, end + 2))
}

/// Returns where a chunked body ends, trailers included, if all of it is there.
fn chunked_end(bytes: &[u8]) -> Option<usize> {
    let mut place = 0;
    loop {
        let (size, line) = chunk(bytes.get(place..)?)?;
        place += line;
        if size > 0 {
            place += size + 2;
            continue;
        }
        loop {
            let rest = bytes.get(place..)?;
            let end = rest.windows(2).position(|two| two == b"\r\n")?;
            place += end + 2;
            if end == 0 {
                return Some(place);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn parse(bytes: &[u8], kind: MessageKind) -> (Message, BytesMut) {
        let (mut stream, mut buffer) = (bytes, BytesMut::new());
        let message = read(&mut stream, &mut buffer, kind).await;
        let message = message.expect("it can be read").expect("there is one");
        tokio::io::AsyncReadExt::read_buf(&mut stream, &mut buffer)
            .await
            .expect("memory can be read");
        (message, buffer)
    }

    #[tokio::test]
    async fn chunks_and_trailers_are_kept() {
        let body = b"3;x=1\r\nabc\r\n2\r\nde\r\n0\r\nx-sum: 1\r\n\r\n";
        let head = b"PUT /a HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n";
        let bytes = [head.as_slice(), body, b"GET"].concat();
        let (message, rest) = parse(&bytes, MessageKind::Request).await;
        assert_eq!(message.body, body.as_slice());
        assert_eq!(rest, b"GET".as_slice());
        let place = message.place(3).expect("the fourth byte is there");
        assert_eq!(message.body[place], b'd');
        assert_eq!(message.place(5), None);
    }

    #[tokio::test]
    async fn an_answer_to_head_ends_with_its_head() {
        let bytes = b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n";
        let (message, _) = parse(bytes, MessageKind::AnswerToHead).await;
        assert_eq!((message.status(), message.body.len()), (200, 0));
        let other = message.with_header("Content-Length", "7");
        assert_eq!(other.header("CONTENT-LENGTH").as_deref(), Some("7"));
        assert!(other.head.ends_with(b"\r\n\r\n"));
    }

    #[tokio::test]
    async fn without_a_length_an_answer_ends_with_the_connection() {
        let (message, _) = parse(b"HTTP/1.1 200 OK\r\n\r\nrest", MessageKind::Answer).await;
        assert_eq!(message.body, b"rest".as_slice());
    }
}
