//! File descriptors. Every connection uses one, and the process needs some for itself.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Descriptors for Postgres, Redis, webhooks, files and the operations listener.
const RESERVE: usize = 192;

/// Raises the soft limit to the hard limit. Returns the number of descriptors that the process can open.
pub fn raise_limit() -> usize {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit { current: limit.maximum, maximum: limit.maximum };
    if limit.current != limit.maximum
        && let Err(error) = setrlimit(Resource::Nofile, raised)
    {
        tracing::warn!(%error, "could not raise the open file limit");
    }
    let descriptors = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    usize::try_from(descriptors).unwrap_or(usize::MAX)
}

/// The cap of connections for each of `listeners`: the configured one, or less if descriptors would run out.
pub fn connections_max(cap: usize, descriptors: usize, listeners: usize) -> usize {
    let reserve = RESERVE.min(descriptors / 2);
    let share = (descriptors - reserve) / listeners.max(1);
    if share < cap {
        tracing::warn!(
            descriptors,
            cap,
            connections_max = share,
            "the open file limit is too low for WEIR_CONNECTIONS_MAX: raise `ulimit -n`"
        );
    }
    cap.min(share)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_leave_a_reserve_of_descriptors() {
        assert_eq!(connections_max(8192, 1_048_576, 2), 8192);
        assert_eq!(connections_max(8192, 1024, 1), 1024 - 192);
        assert_eq!(connections_max(8192, 1024, 2), (1024 - 192) / 2);
        assert_eq!(connections_max(8192, 100, 1), 50, "half of very few");
    }

    #[test]
    fn soft_limit_becomes_the_hard_limit() {
        let descriptors = raise_limit();
        let limit = getrlimit(Resource::Nofile);
        assert_eq!(limit.current, limit.maximum);
        assert_eq!(Some(descriptors as u64), limit.current.or(Some(u64::MAX)));
    }
}
