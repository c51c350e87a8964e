//! Attributes of the values that clients send. Each value, whatever its bytes, gives one attribute, and always the same.

use std::fmt::Write as _;
use std::net::IpAddr;

use sha2::{Digest, Sha256};

use crate::address;
use crate::names::VALUE_BYTES_MAX;

/// `sha256:` and 64 digits.
pub(super) const DIGEST_BYTES: usize = 71;

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
