//! The real clock and real randomness. Other modules receive them as values.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use weir_control::Random;
use weir_domain::time::{Clock, Timestamp};
use weir_http::request_id::RequestIds;

/// The system's clock.
#[expect(clippy::disallowed_methods, reason = "the one place that reads the wall clock")]
pub fn clock() -> Clock {
    Clock::new(|| {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp::from_millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
    })
}

/// The wall clock, for the times of spans.
#[expect(clippy::disallowed_methods, reason = "the one place that reads the wall clock")]
pub fn wall_clock() -> SystemTime {
    SystemTime::now()
}

/// The operating system's randomness, which is suitable for secrets.
pub fn random() -> Random {
    Random::new(fill)
}

/// The same for a gate.
pub fn gate_random() -> weir_gate::Random {
    weir_gate::Random::new(fill)
}

/// Fills a slice with random bytes.
pub fn fill_random(bytes: &mut [u8]) {
    fill(bytes);
}

/// `N` random bytes.
pub fn random_bytes<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    fill(&mut bytes);
    bytes
}

/// 128 random bits.
pub fn random_u128() -> u128 {
    u128::from_le_bytes(random_bytes())
}

/// A source of request ids. An id starts with the time, so ids sort, and continues with a number that other processes are
/// unlikely to use. Ids are not secret, so randomness is read from the operating system once.
pub fn request_ids() -> RequestIds {
    let clock = clock();
    let seed = random_u128();
    let next = AtomicU64::new(0);
    RequestIds::new(move || {
        let at = u128::from(clock.now().as_millis_u64());
        let number = u128::from(next.fetch_add(1, Ordering::Relaxed));
        // The factor is odd, so no number of 80 bits occurs twice.
        let spread = number.wrapping_mul(0x9E37_79B9_7F4A_7C15_F39D).wrapping_add(seed);
        (at << 80) | (spread & ((1 << 80) - 1))
    })
}

fn fill(bytes: &mut [u8]) {
    // Without randomness no key, token or id can be made, so the process cannot work.
    getrandom::fill(bytes).expect("the operating system gives randomness");
}
