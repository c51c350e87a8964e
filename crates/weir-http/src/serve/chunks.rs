//! Finds the end of a chunked body, and refuses everything outside the grammar.

/// The most bytes of chunk extensions and trailers of one body.
const EXTRA_BYTES_MAX: u32 = 8 * 1024;

/// A body that breaks the grammar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct BrokenChunk;

/// Parses a chunked body as it arrives, without storing it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Chunks {
    next: Next,
    /// The size of the chunk, by the digits read so far.
    size: u64,
    digits: u8,
    extra_bytes: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    Size,
    Extension,
    SizeLineFeed,
    Data,
    DataEnd,
    DataLineFeed,
    TrailerStart,
    Trailer,
    TrailerLineFeed,
    LastLineFeed,
}

impl Chunks {
    pub(super) fn new() -> Self {
        Self { next: Next::Size, size: 0, digits: 0, extra_bytes: 0 }
    }

    /// Parses more bytes. Returns the number of bytes that belong to the body, and whether it is complete.
    pub(super) fn advance(&mut self, bytes: &[u8]) -> Result<(usize, bool), BrokenChunk> {
        let mut at = 0;
        while let Some(&byte) = bytes.get(at) {
            if self.next == Next::Data {
                let left = u64::try_from(bytes.len() - at).unwrap_or(u64::MAX);
                let taken = self.size.min(left);
                self.size -= taken;
                at += usize::try_from(taken).unwrap_or(usize::MAX);
                if self.size == 0 {
                    self.next = Next::DataEnd;
                }
                continue;
            }
            at += 1;
            self.next = match (self.next, byte) {
                (Next::Size, b'0'..=b'9' | b'a'..=b'f' | b'A'..=b'F') if self.digits < 15 => {
                    let digit = char::from(byte).to_digit(16).unwrap_or_default();
                    self.size = self.size * 16 + u64::from(digit);
                    self.digits += 1;
                    Next::Size
                }
                (Next::Size, b';') if self.digits > 0 => Next::Extension,
                (Next::Size, b'\r') if self.digits > 0 => Next::SizeLineFeed,
                (Next::Extension, b'\r') => Next::SizeLineFeed,
                (Next::Extension, _) if is_text(byte) => self.extra(Next::Extension)?,
                (Next::SizeLineFeed, b'\n') => {
                    self.digits = 0;
                    if self.size == 0 { Next::TrailerStart } else { Next::Data }
                }
                (Next::DataEnd, b'\r') => Next::DataLineFeed,
                (Next::DataLineFeed, b'\n') => Next::Size,
                (Next::TrailerStart, b'\r') => Next::LastLineFeed,
                (Next::Trailer, b'\r') => Next::TrailerLineFeed,
                (Next::TrailerStart | Next::Trailer, _) if is_text(byte) => {
                    self.extra(Next::Trailer)?
                }
                (Next::TrailerLineFeed, b'\n') => Next::TrailerStart,
                (Next::LastLineFeed, b'\n') => return Ok((at, true)),
                _ => return Err(BrokenChunk),
            };
        }
        Ok((at, false))
    }

    fn extra(&mut self, next: Next) -> Result<Next, BrokenChunk> {
        self.extra_bytes += 1;
        if self.extra_bytes > EXTRA_BYTES_MAX { Err(BrokenChunk) } else { Ok(next) }
    }
}

fn is_text(byte: u8) -> bool {
    byte == b'\t' || (byte >= b' ' && byte != 0x7f)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<(usize, bool), BrokenChunk> {
        Chunks::new().advance(text.as_bytes())
    }

    #[test]
    fn end_of_a_body_is_found_wherever_it_is_split() {
        let body = "5\r\nhello\r\nA;name=value\r\n\r\n\r\n\r\n\r\n\r\n\r\n0\r\nX: y\r\n\r\n";
        assert_eq!(read(&format!("{body}GET /")), Ok((body.len(), true)));
        for cut in 1..body.len() {
            let mut chunks = Chunks::new();
            assert_eq!(chunks.advance(&body.as_bytes()[..cut]), Ok((cut, false)), "{cut}");
            let rest = &body.as_bytes()[cut..];
            assert_eq!(chunks.advance(rest), Ok((rest.len(), true)), "{cut}");
        }
    }

    #[test]
    fn bodies_outside_the_grammar_are_refused() {
        let long = format!("1;{}\r\n", "x".repeat(9000));
        for body in [
            "\r\n",
            "g\r\n",
            "5\n",
            "5 \r\n",
            " 5\r\n",
            "0x5\r\n",
            "-1\r\n",
            "1\r\nab",
            "1\r\na\n",
            "0\r\n\n",
            "0\r\nX: y\n",
            "1111111111111111\r\n",
            "1;\n\r\n",
            &long,
        ] {
            assert_eq!(read(body), Err(BrokenChunk), "{body:.40?}");
        }
    }
}
