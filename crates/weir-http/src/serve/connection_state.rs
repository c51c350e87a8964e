//! The state of one connection: its requests in progress, the time since which it is idle, and the arrival time of the bytes
//! that are handled now.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::task::{Wake, Waker};
use std::time::{Duration, Instant};

use futures_util::task::AtomicWaker;
use tokio::sync::Notify;

/// The state of one connection, shared by its task, its bodies and the registry.
#[derive(Debug)]
pub(super) struct ConnectionState {
    opened: Instant,
    /// The number of requests in progress.
    busy: AtomicU32,
    /// The time at which a request last began, ended or sent a part of its answer, in milliseconds since `opened`.
    active_ms: AtomicU64,
    /// Whether a part of a request's body has not been read from the socket.
    body_pending: AtomicBool,
    read_waker: Arc<ReadWaker>,
    evicted: Notify,
}

/// Wakes the connection's task when bytes arrive, and records the time.
#[derive(Debug)]
pub(super) struct ReadWaker {
    task: AtomicWaker,
    opened: Instant,
    /// The arrival of the oldest unhandled bytes, in microseconds since `opened`, plus one; 0 if there are none.
    arrived_us: AtomicU64,
}

/// A request in progress. Dropping it ends the request.
#[derive(Debug)]
pub(super) struct InProgress<'a>(&'a ConnectionState);

impl ConnectionState {
    /// A connection that was accepted at `opened`.
    pub(super) fn new(opened: Instant) -> Arc<Self> {
        let arrived_us = AtomicU64::new(1);
        Arc::new(Self {
            opened,
            busy: AtomicU32::new(0),
            active_ms: AtomicU64::new(0),
            body_pending: AtomicBool::new(false),
            read_waker: Arc::new(ReadWaker { task: AtomicWaker::new(), opened, arrived_us }),
            evicted: Notify::new(),
        })
    }

    pub(super) fn read_waker(&self) -> Arc<ReadWaker> {
        Arc::clone(&self.read_waker)
    }

    pub(super) fn age(&self, now: Instant) -> Duration {
        now.duration_since(self.opened)
    }

    /// The time since the arrival of the bytes that are handled now.
    pub(super) fn waited(&self, now: Instant) -> Duration {
        match self.read_waker.arrived_us.load(Ordering::Relaxed) {
            0 => Duration::ZERO,
            arrived => self.age(now).saturating_sub(Duration::from_micros(arrived - 1)),
        }
    }

    pub(super) fn begin(&self, now: Instant) -> InProgress<'_> {
        self.busy.fetch_add(1, Ordering::Relaxed);
        self.touch(now);
        InProgress(self)
    }

    /// Records activity of the client.
    pub(super) fn touch(&self, now: Instant) {
        let age = u64::try_from(self.age(now).as_millis()).unwrap_or(u64::MAX);
        self.active_ms.store(age, Ordering::Relaxed);
    }

    /// The time since which no request is in progress and nothing was sent. `None` while a request is in progress.
    pub(super) fn idle_since(&self) -> Option<Instant> {
        let active = Duration::from_millis(self.active_ms.load(Ordering::Relaxed));
        (self.busy.load(Ordering::Relaxed) == 0).then(|| self.opened + active)
    }

    /// Counts an answer that waits for its source as in progress: the client does not cause the delay.
    pub(super) fn wait_for_source(&self) {
        self.busy.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn source_is_ready(&self) {
        self.busy.fetch_sub(1, Ordering::Relaxed);
        self.touch(Instant::now());
    }

    pub(super) fn set_body_pending(&self, pending: bool) {
        self.body_pending.store(pending, Ordering::Relaxed);
    }

    pub(super) fn body_pending(&self) -> bool {
        self.body_pending.load(Ordering::Relaxed)
    }

    /// Asks the connection's task to end.
    pub(super) fn evict(&self) {
        self.evicted.notify_one();
    }

    pub(super) async fn evicted(&self) {
        self.evicted.notified().await;
    }
}

impl Drop for InProgress<'_> {
    fn drop(&mut self) {
        self.0.busy.fetch_sub(1, Ordering::Relaxed);
        self.0.touch(Instant::now());
        self.0.read_waker.clear_arrival();
    }
}

impl ReadWaker {
    pub(super) fn register(&self, task: &Waker) {
        self.task.register(task);
    }

    /// All bytes are handled: the next wake-up is the arrival of new ones.
    pub(super) fn clear_arrival(&self) {
        self.arrived_us.store(0, Ordering::Relaxed);
    }
}

impl Wake for ReadWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if self.arrived_us.load(Ordering::Relaxed) == 0 {
            let now = u64::try_from(self.opened.elapsed().as_micros()).unwrap_or(u64::MAX - 1);
            self.arrived_us.store(now + 1, Ordering::Relaxed);
        }
        self.task.wake();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wait_begins_with_the_arrival_of_bytes() {
        let opened = Instant::now();
        let state = ConnectionState::new(opened);
        let later = |ms| opened + Duration::from_millis(ms);
        assert_eq!(
            state.waited(later(30)),
            Duration::from_millis(30),
            "waits since it was accepted"
        );
        state.read_waker.clear_arrival();
        assert_eq!(state.waited(later(1_000_000)), Duration::ZERO, "the client sends nothing");
        state.read_waker().wake();
        assert!(state.waited(later(1_000_000)) > Duration::from_mins(15), "woken long ago");
        drop(state.begin(opened));
        assert_eq!(state.waited(later(1_000_000)), Duration::ZERO, "handled");
    }

    #[test]
    fn connection_is_idle_since_its_last_activity() {
        let opened = Instant::now();
        let state = ConnectionState::new(opened);
        assert_eq!(state.idle_since(), Some(opened));
        let request = state.begin(opened + Duration::from_secs(5));
        assert_eq!(state.idle_since(), None);
        drop(request);
        state.touch(opened + Duration::from_secs(7));
        assert_eq!(state.idle_since(), Some(opened + Duration::from_secs(7)));
        state.wait_for_source();
        assert_eq!(state.idle_since(), None);
        state.source_is_ready();
        assert!(state.idle_since().is_some());
    }
}
