//! Follows every primary of a cluster that serves buckets.

use std::collections::HashMap;
use std::pin::pin;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use tokio::time::sleep;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::primary;
use super::wake::Wake;
use crate::client::{Client, ServerAddress, SlotMap};
use crate::keys::marker_of;
use crate::placement::{Bucket, Buckets};

/// A primary that is followed, and the bucket of its marker.
type Followed = (ServerAddress, Bucket);

/// The subscriptions to all primaries. Announcements about a bucket are received while its primary has one.
#[derive(Debug, Default)]
struct Subscriptions(Mutex<HashMap<Followed, Subscription>>);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Subscription {
    is_open: bool,
    /// The buckets of the primary.
    buckets: Buckets,
}

/// The interval in which the primaries are compared with the slot map, and the greatest age of the map.
const COMPARE_EVERY: Duration = Duration::from_millis(500);

/// Calls `wake` for each message of any primary, when a subscription begins or ends, and when a primary has lost its data.
pub(super) async fn follow(client: &Client, wake: &impl Fn(Wake)) {
    let subscriptions = Subscriptions::default();
    let mut guards: HashMap<Followed, DropGuard> = HashMap::new();
    let mut following = FuturesUnordered::new();
    loop {
        if let Ok(map) = meanwhile(&mut following, client.slot_map(COMPARE_EVERY)).await {
            let present = primaries(&map);
            guards.retain(|followed, _| present.contains_key(followed));
            subscriptions.retain(&present, wake);
            for followed in present.into_keys() {
                if guards.contains_key(&followed) {
                    continue;
                }
                let stop = CancellationToken::new();
                guards.insert(followed.clone(), stop.clone().drop_guard());
                following.push(follow_until(stop, client, followed, &subscriptions, wake));
            }
        }
        meanwhile(&mut following, sleep(COMPARE_EVERY)).await;
    }
}

/// Waits for a future while the primaries are followed: they query the same slot map, so one that rests during its query would
/// keep all others from theirs.
async fn meanwhile<T>(
    following: &mut FuturesUnordered<impl Future<Output = ()>>,
    future: impl Future<Output = T>,
) -> T {
    let mut future = pin!(future);
    loop {
        tokio::select! {
            result = &mut future => return result,
            Some(()) = following.next() => {}
        }
    }
}

fn primaries(map: &SlotMap) -> HashMap<Followed, Buckets> {
    let with_buckets = |primary: ServerAddress| {
        let buckets: Vec<_> = map.buckets_of(&primary).collect();
        let first = *buckets.first()?;
        Some(((primary, first), buckets.into_iter().collect()))
    };
    map.primaries().into_iter().filter_map(with_buckets).collect()
}

async fn follow_until(
    stop: CancellationToken,
    client: &Client,
    followed: Followed,
    subscriptions: &Subscriptions,
    wake: &impl Fn(Wake),
) {
    let (client, marker) = (client.at(followed.0.clone()), marker_of(followed.1));
    let wake_of_one = |why| match why {
        Wake::Subscribed(_) => subscriptions.set(&followed, true, wake),
        Wake::Disconnected(_) => subscriptions.set(&followed, false, wake),
        other => wake(other),
    };
    stop.run_until_cancelled(primary::follow(&client, &marker, &wake_of_one)).await;
}

impl Subscriptions {
    /// Forgets former primaries, and follows the buckets that moved.
    fn retain(&self, present: &HashMap<Followed, Buckets>, wake: &impl Fn(Wake)) {
        self.change(wake, |subscriptions| {
            subscriptions.retain(|followed, _| present.contains_key(followed));
            for (followed, buckets) in present {
                subscriptions.entry(followed.clone()).or_default().buckets = *buckets;
            }
            false
        });
    }

    /// Notes the begin or the end of a subscription.
    fn set(&self, followed: &Followed, is_open: bool, wake: &impl Fn(Wake)) {
        self.change(wake, |subscriptions| {
            let Some(subscription) = subscriptions.get_mut(followed) else { return false };
            subscription.is_open = is_open;
            is_open
        });
    }

    /// Changes the subscriptions. `change` returns whether one began.
    fn change(
        &self,
        wake: &impl Fn(Wake),
        change: impl FnOnce(&mut HashMap<Followed, Subscription>) -> bool,
    ) {
        let mut subscriptions = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let before = received(&subscriptions);
        let began = change(&mut subscriptions);
        let after = received(&subscriptions);
        // Buckets can be lost and gained at once.
        let left = before.and(after);
        if left != before {
            wake(Wake::Disconnected(left));
        }
        if began || after != left {
            wake(Wake::Subscribed(after));
        }
    }
}

/// The buckets whose announcements are received.
fn received(subscriptions: &HashMap<Followed, Subscription>) -> Buckets {
    let open = subscriptions.values().filter(|subscription| subscription.is_open);
    open.fold(Buckets::NONE, |all, subscription| all.or(subscription.buckets))
}

#[cfg(test)]
mod tests {
    use tokio::time::timeout;

    use super::*;

    /// The longest time that a busy machine needs for a step.
    const DEADLINE: Duration = Duration::from_secs(30);

    #[tokio::test]
    async fn primary_that_queries_the_slot_map_does_not_block_its_reader() {
        let map = tokio::sync::Mutex::new(());
        let (answer, answered) = tokio::sync::oneshot::channel();
        let query = async {
            let _queried = map.lock().await;
            answered.await.expect("an answer");
        };
        let mut following = FuturesUnordered::from_iter([query]);
        meanwhile(&mut following, tokio::task::yield_now()).await;
        assert!(map.try_lock().is_err(), "the query has begun");
        answer.send(()).expect("it is awaited");
        let read = timeout(DEADLINE, meanwhile(&mut following, map.lock())).await;
        assert!(read.is_ok(), "the query rests, and holds the map");
    }
}
