//! Free ports on loopback.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::net::{Ipv4Addr, TcpListener};

use crate::LocalError;

/// Returns a port on which nothing listens now. It is below the range of ports that systems use for outgoing connections, so
/// it stays free while a server that uses it restarts. Another process can still take it first; callers should then try
/// another port.
pub fn free_port() -> Result<u16, LocalError> {
    let start = RandomState::new().build_hasher().finish();
    (0..u64::from(SPAN))
        .map(|step| {
            let offset = start.wrapping_add(step) % u64::from(SPAN);
            FIRST + u16::try_from(offset).expect("the offset is below a span of sixteen bits")
        })
        .find(|port| is_free(*port))
        .ok_or(LocalError::NoPort)
}

pub(crate) fn is_free(port: u16) -> bool {
    TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok()
}

const FIRST: u16 = 20_000;
const SPAN: u16 = 12_000;
