//! Free ports on loopback.

use std::collections::BTreeSet;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::net::{Ipv4Addr, TcpListener};
use std::sync::{Mutex, PoisonError};

use crate::LocalError;

/// Returns a port on which nothing listens now. It is below the range of ports that systems use for outgoing connections, so
/// it stays free while a server that uses it restarts. This process does not get the same port again soon, since servers that
/// start at once have not bound theirs yet. Another process can still take it first; callers should then try another port.
pub fn free_port() -> Result<u16, LocalError> {
    let mut given = GIVEN.lock().unwrap_or_else(PoisonError::into_inner);
    if given.len() > usize::from(SPAN / 2) {
        given.clear();
    }
    let start = RandomState::new().build_hasher().finish();
    (0..u64::from(SPAN))
        .map(|step| {
            let offset = start.wrapping_add(step) % u64::from(SPAN);
            FIRST + u16::try_from(offset).expect("the offset is below a span of sixteen bits")
        })
        .find(|port| is_free(*port) && given.insert(*port))
        .ok_or(LocalError::NoPort)
}

pub(crate) fn is_free(port: u16) -> bool {
    TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok()
}

/// The ports that this process got.
static GIVEN: Mutex<BTreeSet<u16>> = Mutex::new(BTreeSet::new());

const FIRST: u16 = 20_000;
const SPAN: u16 = 12_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn process_gets_each_port_once() {
        let ports: BTreeSet<_> = (0..1_000).map(|_| free_port().unwrap()).collect();
        assert_eq!(ports.len(), 1_000);
    }
}
