use std::time::{Duration, Instant};

use super::*;

fn address(last: u8) -> IpAddr {
    IpAddr::from([192, 0, 2, last])
}

/// A connection that was last active `seconds` after the first.
fn connection(first: Instant, seconds: u64) -> Arc<ConnectionState> {
    let state = ConnectionState::new(first);
    state.touch(first + Duration::from_secs(seconds));
    state
}

fn open_numbers(registry: &Registry) -> Vec<u64> {
    let mut numbers: Vec<u64> = registry.open().connections.keys().copied().collect();
    numbers.sort_unstable();
    numbers
}

#[test]
fn full_listener_closes_the_connection_that_is_idle_for_longest() {
    let registry = Registry::new(2, 10);
    let first = Instant::now();
    let entries = [5, 3].map(|at| registry.admit(address(1), true, &connection(first, at)));
    assert!(entries.iter().all(Result::is_ok));
    let (_entry, evicted) = registry.admit(address(2), true, &connection(first, 9)).expect("room");
    assert_eq!(evicted, 1);
    assert_eq!(open_numbers(&registry), [0, 2], "the second was idle since 3 s");
}

#[test]
fn connections_that_serve_a_request_are_not_closed_and_the_new_one_is_refused() {
    let registry = Registry::new(1, 10);
    let now = Instant::now();
    let state = connection(now, 0);
    let _entry = registry.admit(address(1), true, &state).expect("room");
    let request = state.begin(now);
    let refused = registry.admit(address(2), true, &connection(now, 1)).err();
    assert_eq!(refused, Some(Full::Listener));
    drop(request);
    assert!(registry.admit(address(2), true, &connection(now, 1)).is_ok());
}

#[test]
fn one_address_has_its_share_and_closes_only_its_own_connections() {
    let registry = Registry::new(100, 2);
    let first = Instant::now();
    let other = registry.admit(address(9), true, &connection(first, 0)).expect("room");
    let mut entries: Vec<_> = (1..=2)
        .map(|at| registry.admit(address(1), true, &connection(first, at)).expect("room"))
        .collect();
    entries.push(registry.admit(address(1), true, &connection(first, 3)).expect("room"));
    assert_eq!(open_numbers(&registry), [0, 2, 3]);
    drop((other, entries));
    assert!(registry.open().per_address.is_empty());
    assert!(registry.open().connections.is_empty());
}

#[test]
fn address_with_only_busy_connections_is_refused_unless_it_is_exempt() {
    let registry = Registry::new(100, 1);
    let now = Instant::now();
    let state = connection(now, 0);
    let _entry = registry.admit(address(1), true, &state).expect("room");
    let _request = state.begin(now);
    assert_eq!(registry.admit(address(1), true, &connection(now, 1)).err(), Some(Full::Address));
    assert!(registry.admit(address(1), false, &connection(now, 1)).is_ok(), "a trusted proxy");
    assert!(registry.admit(address(2), true, &connection(now, 1)).is_ok(), "another address");
}

#[test]
fn ipv6_addresses_of_one_network_count_as_one() {
    let registry = Registry::new(100, 1);
    let now = Instant::now();
    let peer = |text: &str| text.parse().expect("an address");
    let state = connection(now, 0);
    let _entry = registry.admit(peer("2001:db8::1"), true, &state).expect("room");
    let _request = state.begin(now);
    let same_network = registry.admit(peer("2001:db8::2"), true, &connection(now, 1));
    assert_eq!(same_network.err(), Some(Full::Address));
    assert!(registry.admit(peer("2001:db8:0:1::1"), true, &connection(now, 1)).is_ok());
}
