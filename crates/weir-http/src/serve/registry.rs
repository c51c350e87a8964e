//! The connections of a listener, bounded in all and by address. A full listener closes those that have been idle for
//! longest, so idle connections cannot block clients.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::connection_state::ConnectionState;

/// The connections of one listener.
#[derive(Debug)]
pub(super) struct Registry {
    connections_max: usize,
    per_address_max: usize,
    open: Mutex<Open>,
}

#[derive(Debug, Default)]
struct Open {
    next: u64,
    connections: HashMap<u64, (IpAddr, Arc<ConnectionState>)>,
    per_address: HashMap<IpAddr, OfAddress>,
}

#[derive(Debug, Default)]
struct OfAddress {
    connections: usize,
    /// The bytes of bodies that its requests in progress hold.
    body_bytes: Arc<AtomicUsize>,
}

/// A connection's entry in the registry; dropping it removes the entry.
#[derive(Debug)]
pub(super) struct Entry {
    number: u64,
    registry: Arc<Registry>,
    body_bytes: Arc<AtomicUsize>,
}

/// The bound that a new connection exceeds: no connection within it is idle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Full {
    Listener,
    Address,
}

impl Registry {
    pub(super) fn new(connections_max: usize, per_address_max: usize) -> Arc<Self> {
        Arc::new(Self { connections_max, per_address_max, open: Mutex::default() })
    }

    /// Registers a connection. The bound by address applies if `is_limited`. Returns the number of idle connections that were
    /// closed for it.
    pub(super) fn admit(
        self: &Arc<Self>,
        peer: IpAddr,
        is_limited: bool,
        state: &Arc<ConnectionState>,
    ) -> Result<(Entry, usize), Full> {
        let address = network_of(peer);
        let mut open = self.open();
        let mut evicted = 0;
        let of_address = open.per_address.get(&address).map_or(0, |of| of.connections);
        if is_limited && of_address >= self.per_address_max {
            evicted += open.evict_idle(Some(address), batch(self.per_address_max));
            if evicted == 0 {
                return Err(Full::Address);
            }
        }
        if open.connections.len() >= self.connections_max {
            let more = open.evict_idle(None, batch(self.connections_max));
            if more == 0 {
                return Err(Full::Listener);
            }
            evicted += more;
        }
        let number = open.next;
        open.next += 1;
        open.connections.insert(number, (address, Arc::clone(state)));
        let of_address = open.per_address.entry(address).or_default();
        of_address.connections += 1;
        let body_bytes = Arc::clone(&of_address.body_bytes);
        drop(open);
        Ok((Entry { number, registry: Arc::clone(self), body_bytes }, evicted))
    }

    /// Closes the connections that have been idle for longest, because file descriptors have run out.
    pub(super) fn make_room(&self) -> usize {
        self.open().evict_idle(None, batch(self.connections_max))
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The number of connections to close at once: in a flood of connections, not each needs a search.
fn batch(connections_max: usize) -> usize {
    (connections_max / 128).max(1)
}

/// The address by which connections are bounded. An IPv6 client usually has a network of 64 bits.
fn network_of(peer: IpAddr) -> IpAddr {
    match peer.to_canonical() {
        IpAddr::V4(address) => IpAddr::V4(address),
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            IpAddr::V6(Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0))
        }
    }
}

impl Open {
    /// Closes up to `count` idle connections, only those of `address` if it is given. Returns their number.
    fn evict_idle(&mut self, address: Option<IpAddr>, count: usize) -> usize {
        let candidates = self
            .connections
            .iter()
            .filter(|(_, (of, _))| address.is_none_or(|address| address == *of));
        let mut idle: Vec<_> = candidates
            .filter_map(|(number, (_, state))| Some((state.idle_since()?, *number)))
            .collect();
        if idle.len() > count {
            idle.select_nth_unstable(count);
            idle.truncate(count);
        }
        for (_, number) in &idle {
            if let Some(state) = self.remove(*number) {
                state.evict();
            }
        }
        idle.len()
    }

    fn remove(&mut self, number: u64) -> Option<Arc<ConnectionState>> {
        let (address, state) = self.connections.remove(&number)?;
        if let Some(of_address) = self.per_address.get_mut(&address) {
            of_address.connections -= 1;
            if of_address.connections == 0 {
                self.per_address.remove(&address);
            }
        }
        Some(state)
    }
}

impl Entry {
    /// The bytes of bodies that the requests in progress of the connection's address hold.
    pub(super) fn body_bytes(&self) -> Arc<AtomicUsize> {
        Arc::clone(&self.body_bytes)
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        self.registry.open().remove(self.number);
    }
}

#[cfg(test)]
mod tests;
