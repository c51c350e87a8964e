//! The frames of HTTP/2 (RFC 9113) that a client of one gRPC method writes and reads.

use anyhow::{Result, ensure};
use prost::Message as _;
use weir_rls::RateLimitRequest;

/// The bytes before a payload.
const HEAD_BYTES: usize = 9;
const PING_BYTES: u32 = 8;
/// The bytes before the message of a call.
const PREFIX_BYTES: u32 = 5;
const OPENING: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RESET: u8 = 3;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const GO_AWAY: u8 = 7;
const WINDOW_UPDATE: u8 = 8;
const END_STREAM: u8 = 1;
/// The same bit as `END_STREAM`, in frames of connections.
const ACKNOWLEDGES: u8 = 1;
const END_HEADERS: u8 = 4;
/// A header that is added to the table of the receiver.
const ADDED: u8 = 0x40;
/// A header in a table, by its place.
const INDEXED: u8 = 0x80;
const POST: u8 = INDEXED | 3;
const SCHEME_HTTP: u8 = INDEXED | 6;
/// The place of the header that was added last.
const NEWEST: u8 = 62;
/// The headers of a call that are added to the table.
const CALL_HEADERS: u8 = 5;
/// The first stream of a client.
const FIRST_STREAM: u32 = 1;

/// The parts that all calls share.
#[derive(Debug)]
pub(super) struct Call {
    /// The host and port.
    pub(super) authority: String,
    pub(super) path: &'static str,
    /// The secret of the API key.
    pub(super) bearer: String,
}

/// A frame of the service.
#[derive(Debug)]
pub(super) struct Frame<'a> {
    pub(super) kind: Kind,
    pub(super) ends_stream: bool,
    /// Whether it acknowledges a frame of the client.
    acknowledges: bool,
    pub(super) stream: u32,
    pub(super) payload: &'a [u8],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Data,
    Headers,
    Reset,
    Settings,
    Ping,
    GoAway,
    Other,
}

/// The first frame of these bytes and its length, if all of it is there.
pub(super) fn next(bytes: &[u8]) -> Option<(Frame<'_>, usize)> {
    let (head, rest) = bytes.split_first_chunk::<HEAD_BYTES>()?;
    let &[a, b, c, kind, flags, stream @ ..] = head;
    let length = u32::from_be_bytes([0, a, b, c]) as usize;
    let payload = rest.get(..length)?;
    let kind = match kind {
        DATA => Kind::Data,
        HEADERS => Kind::Headers,
        RESET => Kind::Reset,
        SETTINGS => Kind::Settings,
        PING => Kind::Ping,
        GO_AWAY => Kind::GoAway,
        _ => Kind::Other,
    };
    let of_stream = matches!(kind, Kind::Data | Kind::Headers);
    let frame = Frame {
        kind,
        ends_stream: of_stream && flags & END_STREAM != 0,
        acknowledges: !of_stream && flags & ACKNOWLEDGES != 0,
        stream: u32::from_be_bytes(stream),
        payload,
    };
    Some((frame, HEAD_BYTES + length))
}

/// Writes the opening of a connection with the default settings.
pub(super) fn push_opening(bytes: &mut Vec<u8>) {
    bytes.extend_from_slice(OPENING);
    push_head(bytes, 0, SETTINGS, 0, 0);
}

/// Writes the headers of a call. Those of the first fill the table of the service, the others refer to it.
pub(super) fn push_headers(bytes: &mut Vec<u8>, stream: u32, call: &Call) -> Result<()> {
    let bearer = format!("Bearer {}", call.bearer);
    let headers: [_; CALL_HEADERS as usize] = [
        (":authority", call.authority.as_str()),
        (":path", call.path),
        ("content-type", "application/grpc"),
        ("te", "trailers"),
        ("authorization", &bearer),
    ];
    let mut block = vec![POST, SCHEME_HTTP];
    if stream == FIRST_STREAM {
        for (name, value) in headers {
            block.push(ADDED);
            push_text(&mut block, name)?;
            push_text(&mut block, value)?;
        }
    } else {
        block.extend((NEWEST..NEWEST + CALL_HEADERS).rev().map(|place| INDEXED | place));
    }
    push_head(bytes, u32::try_from(block.len())?, HEADERS, END_HEADERS, stream);
    bytes.extend_from_slice(&block);
    Ok(())
}

fn push_text(block: &mut Vec<u8>, text: &str) -> Result<()> {
    // A longer text has a length of several bytes.
    ensure!(text.len() < 127, "{text} is too long for a header");
    block.push(u8::try_from(text.len())?);
    block.extend_from_slice(text.as_bytes());
    Ok(())
}

/// Writes the message of a call, which ends its stream.
pub(super) fn push_message(
    bytes: &mut Vec<u8>,
    stream: u32,
    message: &RateLimitRequest,
) -> Result<()> {
    let length = u32::try_from(message.encoded_len())?;
    push_head(bytes, PREFIX_BYTES + length, DATA, END_STREAM, stream);
    // It is not compressed.
    bytes.push(0);
    bytes.extend_from_slice(&length.to_be_bytes());
    message.encode(bytes)?;
    Ok(())
}

/// Lets the service send this many bytes more.
pub(super) fn push_window(bytes: &mut Vec<u8>, more: u32) {
    push_head(bytes, 4, WINDOW_UPDATE, 0, 0);
    bytes.extend_from_slice(&more.to_be_bytes());
}

/// Acknowledges settings or a ping, unless the frame is itself an acknowledgement.
pub(super) fn push_acknowledgement(bytes: &mut Vec<u8>, frame: &Frame<'_>) {
    if frame.acknowledges {
        return;
    }
    if frame.kind == Kind::Ping {
        push_head(bytes, PING_BYTES, PING, ACKNOWLEDGES, 0);
        bytes.extend_from_slice(frame.payload);
    } else {
        push_head(bytes, 0, SETTINGS, ACKNOWLEDGES, 0);
    }
}

fn push_head(bytes: &mut Vec<u8>, length: u32, kind: u8, flags: u8, stream: u32) {
    let [_, a, b, c] = length.to_be_bytes();
    bytes.extend_from_slice(&[a, b, c, kind, flags]);
    bytes.extend_from_slice(&stream.to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_that_are_written_are_read_whole() {
        let call = Call { authority: "gate:1".into(), path: "/method", bearer: "secret".into() };
        let mut bytes = Vec::new();
        push_opening(&mut bytes);
        for stream in [1, 3] {
            push_headers(&mut bytes, stream, &call).expect("short headers");
            push_message(&mut bytes, stream, &RateLimitRequest::default()).expect("a message");
        }
        let mut rest = bytes.strip_prefix(OPENING).expect("the opening comes first");
        let mut read = Vec::new();
        while let Some((frame, length)) = next(rest) {
            assert!(next(&rest[..length - 1]).is_none(), "a part of a frame is no frame");
            read.push((frame.kind, frame.stream, frame.ends_stream, frame.payload.len()));
            rest = &rest[length..];
        }
        let first = 2
            + 5 * 3
            + ":authoritygate:1:path/methodcontent-typeapplication/grpc".len()
            + "tetrailersauthorizationBearer secret".len();
        let expected = [
            (Kind::Settings, 0, false, 0),
            (Kind::Headers, 1, false, first),
            (Kind::Data, 1, true, 5),
            (Kind::Headers, 3, false, 7),
            (Kind::Data, 3, true, 5),
        ];
        assert_eq!(read, expected);
        assert!(rest.is_empty());
    }

    #[test]
    fn settings_and_pings_are_acknowledged_once() {
        let frame = |kind, acknowledges, payload| Frame {
            kind,
            ends_stream: false,
            acknowledges,
            stream: 0,
            payload,
        };
        let mut bytes = Vec::new();
        push_acknowledgement(&mut bytes, &frame(Kind::Ping, false, b"12345678"));
        push_acknowledgement(&mut bytes, &frame(Kind::Settings, false, b""));
        push_acknowledgement(&mut bytes, &frame(Kind::Settings, true, b""));
        let (ping, length) = next(&bytes).expect("a ping");
        assert!(ping.kind == Kind::Ping && ping.acknowledges && ping.payload == b"12345678");
        let (settings, last) = next(&bytes[length..]).expect("settings");
        assert!(settings.kind == Kind::Settings && settings.acknowledges);
        assert_eq!(length + last, bytes.len());
    }
}
