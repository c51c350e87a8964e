//! The head of an HTTP/1.1 request, checked strictly before it is interpreted.
//!
//! Two programs that interpret one request differently allow request smuggling. So everything that parsers interpret
//! differently is refused: bare line feeds, more than one length, any coding except exactly `chunked`, and anything except
//! one `Host` that agrees with the target.

use std::mem::MaybeUninit;

use axum::http::Uri;

/// The most bytes of a request line with its headers.
pub(super) const HEAD_BYTES_MAX: usize = 64 * 1024;
/// The most headers of a question of a proxy, which can contain those of its client: as many as Envoy accepts.
pub(super) const PROXIED_HEADERS_MAX: usize = 100;

/// The bounds of a head.
#[derive(Debug, Clone, Copy)]
pub(super) struct HeadBounds {
    /// The most headers.
    pub(super) headers_max: usize,
    /// The beginning of targets of which only proxies ask.
    pub(super) proxied_prefix: Option<&'static str>,
}

/// The framing of a request's body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Framing {
    Length(u64),
    Chunked,
}

/// The reason why a head is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refusal {
    /// The answer is 400, with this reason.
    Malformed(&'static str),
    /// The answer is 431. The most headers that this request can have.
    TooLarge(usize),
}

/// Finds the first head in `bytes`: its length and the framing of the body behind it. `None` if it is incomplete. Makes a
/// head readable that a proxy passes on: see [`mask`].
pub(super) fn inspect(
    bytes: &mut [u8],
    bounds: &HeadBounds,
) -> Result<Option<(usize, Framing)>, Refusal> {
    let Some(end) = end_of_head(bytes)? else {
        let is_too_large = bytes.len() > HEAD_BYTES_MAX;
        return if is_too_large { Err(Refusal::TooLarge(bounds.headers_max)) } else { Ok(None) };
    };
    let is_proxied = bounds.proxied_prefix.is_some_and(|prefix| asks_for(&bytes[..end], prefix));
    let headers_max = if is_proxied { PROXIED_HEADERS_MAX } else { bounds.headers_max };
    if end > HEAD_BYTES_MAX {
        return Err(Refusal::TooLarge(headers_max));
    }
    if is_proxied {
        mask(&mut bytes[..end]);
    }
    let mut headers = [const { MaybeUninit::uninit() }; HEADERS_MAX];
    let headers = &mut headers[..headers_max.min(HEADERS_MAX)];
    let mut request = httparse::Request::new(&mut []);
    match request.parse_with_uninit_headers(&bytes[..end], headers) {
        Ok(httparse::Status::Complete(_)) => {}
        Err(httparse::Error::TooManyHeaders) => return Err(Refusal::TooLarge(headers_max)),
        Ok(httparse::Status::Partial) | Err(_) => return Err(NO_REQUEST),
    }
    let target = request.path.unwrap_or_default();
    let is_1_1 = request.version == Some(1);
    let fields = Fields::of(request.headers)?;
    // Weir ignores the host of a question, which can be any text that the client sent.
    if !is_proxied {
        fields.agree_about_the_host(target, is_1_1)?;
    }
    Ok(Some((end, fields.framing(is_1_1)?)))
}

/// The capacity for headers; a listener's own bound can be lower.
const HEADERS_MAX: usize = 128;
const NO_REQUEST: Refusal = Refusal::Malformed("this is not an HTTP request");

/// Whether the target of the head begins with `prefix`.
fn asks_for(head: &[u8], prefix: &str) -> bool {
    let space = memchr::memchr(b' ', head);
    space.is_some_and(|space| head[space + 1..].starts_with(prefix.as_bytes()))
}

/// Replaces what a client can send through a proxy and no parser accepts, so that no client can have its request refused:
/// control characters in values of headers, and characters that no target has. The replacements are always the same, so a
/// client cannot make values of them either.
fn mask(head: &mut [u8]) {
    let line_end = head.iter().skip(2).position(|byte| *byte == b'\r').map_or(0, |end| end + 2);
    let (line, headers) = head.split_at_mut(line_end);
    let target_start = memchr::memchr(b' ', line).map_or(line.len(), |space| space + 1);
    let target_end = memchr::memrchr(b' ', line).unwrap_or(line.len()).max(target_start);
    for byte in &mut line[target_start..target_end] {
        if !byte.is_ascii_graphic() || b"\"<>`#".contains(byte) {
            *byte = b'_';
        }
    }
    for byte in headers {
        if byte.is_ascii_control() && !b"\t\r\n".contains(byte) {
            *byte = 0xff;
        }
    }
}

/// The offset behind the empty line that ends a head. Every line, an empty one before the request too, must end with
/// a carriage return and a line feed.
fn end_of_head(bytes: &[u8]) -> Result<Option<usize>, Refusal> {
    let mut line_start = 0;
    let mut is_in_head = false;
    for line_feed in memchr::memchr_iter(b'\n', bytes) {
        if line_feed == line_start || bytes[line_feed - 1] != b'\r' {
            return Err(Refusal::Malformed("a line must end with CR LF"));
        }
        let is_empty = line_feed - line_start == 1;
        if is_empty && is_in_head {
            return Ok(Some(line_feed + 1));
        }
        if is_empty && line_start > 0 {
            return Err(NO_REQUEST);
        }
        is_in_head |= !is_empty;
        line_start = line_feed + 1;
    }
    let starts_as_a_request =
        bytes.first().is_none_or(|byte| byte.is_ascii_graphic() || *byte == b'\r');
    if starts_as_a_request { Ok(None) } else { Err(NO_REQUEST) }
}

/// The header fields on which framing and routing depend.
#[derive(Debug, Default)]
struct Fields<'a> {
    host: Option<&'a [u8]>,
    length: Option<&'a [u8]>,
    coding: Option<&'a [u8]>,
}

impl<'a> Fields<'a> {
    fn of(headers: &[httparse::Header<'a>]) -> Result<Self, Refusal> {
        let mut fields = Self::default();
        for header in headers {
            let (field, repeated) = match header.name.len() {
                4 if header.name.eq_ignore_ascii_case("host") => {
                    (&mut fields.host, "send exactly one `Host`")
                }
                14 if header.name.eq_ignore_ascii_case("content-length") => {
                    (&mut fields.length, "send `Content-Length` once")
                }
                17 if header.name.eq_ignore_ascii_case("transfer-encoding") => {
                    (&mut fields.coding, "send `Transfer-Encoding` once")
                }
                _ => continue,
            };
            if field.replace(header.value).is_some() {
                return Err(Refusal::Malformed(repeated));
            }
        }
        Ok(fields)
    }

    fn agree_about_the_host(&self, target: &str, is_1_1: bool) -> Result<(), Refusal> {
        let host = match self.host {
            Some(host) => host,
            None if is_1_1 => return Err(Refusal::Malformed("send exactly one `Host`")),
            None => b"-",
        };
        if host.is_empty() || !HOST.contain_all(host) {
            return Err(Refusal::Malformed(
                "`Host` must be a name or an address, with or without a port",
            ));
        }
        if target.starts_with('/') && PLAIN.contain_all(target.as_bytes()) {
            return Ok(());
        }
        let uri: Uri = target.parse().map_err(|_| Refusal::Malformed("the target is not a URI"))?;
        match uri.authority() {
            Some(authority)
                if self.host.is_some()
                    && !authority.as_str().as_bytes().eq_ignore_ascii_case(host) =>
            {
                Err(Refusal::Malformed("`Host` and the target must name the same host"))
            }
            _ => Ok(()),
        }
    }

    fn framing(&self, is_1_1: bool) -> Result<Framing, Refusal> {
        match (self.coding, self.length) {
            (None, None) => Ok(Framing::Length(0)),
            (None, Some(length)) => {
                content_length(length).map(Framing::Length).ok_or(Refusal::Malformed(
                    "`Content-Length` must be a decimal number without leading zeros",
                ))
            }
            (Some(coding), None) if is_1_1 && coding.eq_ignore_ascii_case(b"chunked") => {
                Ok(Framing::Chunked)
            }
            (Some(_), None) => {
                Err(Refusal::Malformed("the only transfer coding is `chunked`, with HTTP/1.1"))
            }
            (Some(_), Some(_)) => {
                Err(Refusal::Malformed("send `Content-Length` or `Transfer-Encoding`, not both"))
            }
        }
    }
}

/// The bytes that a part of a head can have, as a table with an entry for each byte.
struct PermittedBytes([bool; 256]);

const ALPHANUMERIC: &[u8] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
static HOST: PermittedBytes = PermittedBytes::alphanumeric_and(b"-._~:[]%");
/// Bytes of a target that every parser accepts.
static PLAIN: PermittedBytes = PermittedBytes::alphanumeric_and(b"/-._~%?&=+:,;@!$'()*");

impl PermittedBytes {
    /// Letters, digits and these bytes.
    const fn alphanumeric_and(others: &[u8]) -> Self {
        Self([false; 256]).with(ALPHANUMERIC).with(others)
    }

    const fn with(mut self, bytes: &[u8]) -> Self {
        let mut at = 0;
        while at < bytes.len() {
            self.0[bytes[at] as usize] = true;
            at += 1;
        }
        self
    }

    fn contain_all(&self, bytes: &[u8]) -> bool {
        bytes.iter().all(|byte| self.0[usize::from(*byte)])
    }
}

fn content_length(digits: &[u8]) -> Option<u64> {
    let is_canonical = digits == b"0" || !digits.starts_with(b"0");
    let all_digits = digits.iter().all(u8::is_ascii_digit);
    if !is_canonical || !all_digits || digits.len() > 18 {
        return None;
    }
    std::str::from_utf8(digits).ok()?.parse().ok()
}

#[cfg(test)]
mod tests;
