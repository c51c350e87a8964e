//! Attributes of the values that clients send. Each value, whatever its bytes, gives one attribute, and always the same.

use std::fmt::Write as _;
use std::net::IpAddr;

use sha2::{Digest, Sha256};

use crate::address;
use crate::names::VALUE_BYTES_MAX;

/// `sha256:` and 64 digits.
pub(super) const DIGEST_BYTES: usize = 71;

/// The value of a parameter or cookie that a request has several times, with different values.
const REPEATED: &[u8] = b"repeated";

/// The value itself or, if no attribute can have it, its digest.
pub(super) fn value(bytes: &[u8]) -> String {
    text(bytes, VALUE_BYTES_MAX)
}

/// The value itself or, if it is longer than `most` bytes, no text or has control characters, its digest.
pub(super) fn text(bytes: &[u8], most: usize) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) if text.len() <= most && !text.chars().any(char::is_control) => text.to_owned(),
        _ => digest(bytes),
    }
}

/// The SHA-256 as `sha256:…`.
pub(super) fn digest(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(DIGEST_BYTES);
    text.push_str("sha256:");
    for byte in Sha256::digest(bytes) {
        write!(text, "{byte:02x}").expect("a string takes every text");
    }
    text
}

/// The address, or the network of `ipv6_prefix` bits of an IPv6 address. An entry that is no address stays as it is.
pub(super) fn address(entry: &[u8], ipv6_prefix: u8) -> String {
    let entry = entry.trim_ascii();
    let parsed = std::str::from_utf8(entry).ok().and_then(address::of_forwarded_entry);
    match parsed {
        Some(IpAddr::V4(address)) => address.to_string(),
        Some(IpAddr::V6(address)) => address::ipv6_network(address, ipv6_prefix).to_string(),
        None => value(entry),
    }
}

/// The host in lower case, without its port and without a dot at its end, so that one host has one value.
pub(super) fn host(bytes: &[u8]) -> String {
    let name_end = bytes.iter().rposition(|byte| *byte == b']').map_or(0, |bracket| bracket + 1);
    let port = bytes[name_end..].iter().position(|byte| *byte == b':');
    let name = &bytes[..port.map_or(bytes.len(), |port| name_end + port)];
    value(&name.strip_suffix(b".").unwrap_or(name).to_ascii_lowercase())
}

/// The parameter of the query, decoded once.
pub(super) fn of_query(target: &[u8], name: &str) -> Option<Vec<u8>> {
    let question = target.iter().position(|byte| *byte == b'?')?;
    let plain = |bytes: &[u8]| {
        let blanks: Vec<u8> = bytes.iter().map(|&b| if b == b'+' { b' ' } else { b }).collect();
        decoded(&blanks)
    };
    let parameters = target[question + 1..].split(|byte| *byte == b'&').map(|pair| {
        let (name, value) = split(pair);
        (plain(name), plain(value))
    });
    one_of(parameters, name)
}

/// The cookie, without quotation marks and decoded once.
pub(super) fn of_cookies<'a>(lines: impl Iterator<Item = &'a [u8]>, name: &str) -> Option<Vec<u8>> {
    let cookies = lines.flat_map(|line| line.split(|byte| *byte == b';')).map(|pair| {
        let (name, value) = split(pair);
        let value = value.trim_ascii();
        let bare = value.strip_prefix(b"\"").and_then(|value| value.strip_suffix(b"\""));
        (name.trim_ascii().to_vec(), decoded(bare.unwrap_or(value)))
    });
    one_of(cookies, name)
}

/// The value with this name, in capitals or not. If there are several, one word stands for all of them: applications differ in
/// which they read, so a client could choose what is counted.
fn one_of(values: impl Iterator<Item = (Vec<u8>, Vec<u8>)>, name: &str) -> Option<Vec<u8>> {
    let mut values = values.filter(|(known, _)| known.eq_ignore_ascii_case(name.as_bytes()));
    let (_, first) = values.next()?;
    Some(if values.all(|(_, value)| value == first) { first } else { REPEATED.to_vec() })
}

fn split(pair: &[u8]) -> (&[u8], &[u8]) {
    let end = pair.iter().position(|byte| *byte == b'=').unwrap_or(pair.len());
    (&pair[..end], pair.get(end + 1..).unwrap_or_default())
}

/// The text of these bytes. Bytes that are no text, and control characters, are encoded.
pub(super) fn printable(bytes: &[u8], in_lower_case: bool) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        for letter in chunk.valid().chars() {
            if letter.is_control() {
                encode(letter.encode_utf8(&mut [0; 4]).as_bytes(), &mut text);
            } else if in_lower_case {
                text.extend(letter.to_lowercase());
            } else {
                text.push(letter);
            }
        }
        encode(chunk.invalid(), &mut text);
    }
    text
}

/// A whole number in decimal digits. A larger one than fits is the largest.
pub(super) fn number(bytes: &[u8]) -> Option<u64> {
    let is_number = !bytes.is_empty() && bytes.iter().all(u8::is_ascii_digit);
    is_number.then(|| std::str::from_utf8(bytes).ok()?.parse().ok()).map(|n| n.unwrap_or(u64::MAX))
}

fn encode(bytes: &[u8], text: &mut String) {
    for byte in bytes {
        write!(text, "%{byte:02X}").expect("a string takes every text");
    }
}

/// The bytes with percent-encoding decoded once.
pub(super) fn decoded(path: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path;
    while let Some((&byte, after)) = rest.split_first() {
        let code = after.first_chunk().filter(|_| byte == b'%').and_then(hex);
        bytes.push(code.unwrap_or(byte));
        rest = if code.is_some() { &after[2..] } else { after };
    }
    bytes
}

fn hex(&[high, low]: &[u8; 2]) -> Option<u8> {
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    Some(digit(high)? << 4 | digit(low)?)
}
