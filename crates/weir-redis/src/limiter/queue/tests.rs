//! The order of turns, and the room of each tenant in the queue.

use std::time::Duration;

use tokio::sync::oneshot;
use weir_domain::algorithm::{PeriodBounds, Quota};

use super::super::pending::Batching;
use super::*;
use crate::limiter::pending::Reply;
use crate::limiter::script::Encoded;

type Receiver = oneshot::Receiver<Result<Reply, RedisError>>;

const VICTIM: TenantId = TenantId::from_u128(1);
const ATTACKER: TenantId = TenantId::from_u128(2);

fn queue() -> FairQueue {
    let queue = FairQueue::default();
    queue.accept();
    queue
}

fn pending(checks: usize, cost: u32, deadline: Instant) -> (PendingCheck, Receiver) {
    let encoded = Encoded::new(&[], |_: &Quota| -> PeriodBounds { unreachable!("no quota") });
    let (reply, received) = oneshot::channel();
    let batching = Batching::Shared;
    (
        PendingCheck { encoded, checks, cost, deadline, batching, span: None, reply: Some(reply) },
        received,
    )
}

fn later() -> Instant {
    Instant::now() + Duration::from_mins(1)
}

/// Pushes `count` parts of this cost, one check each.
fn push(queue: &FairQueue, tenant: TenantId, count: usize, cost: u32) -> Vec<Receiver> {
    let one = |_| {
        let (pending, received) = pending(1, cost, later());
        queue.push(tenant, pending).expect("there is room");
        received
    };
    (0..count).map(one).collect()
}

fn costs(queue: &FairQueue, cost_max: u32) -> Vec<u32> {
    let drained = queue.drain(cost_max, Instant::now());
    drained.batch.iter().map(|pending| pending.cost).collect()
}

fn result(received: &mut Receiver) -> Option<Result<Reply, RedisError>> {
    received.try_recv().ok()
}

#[tokio::test]
async fn check_beside_a_flood_is_in_the_next_call() {
    let queue = queue();
    let _flood = push(&queue, ATTACKER, 2_000, 100);
    let _check = push(&queue, VICTIM, 1, 7);
    assert!(costs(&queue, 1_000).contains(&7));
    for _ in 0..20 {
        assert_eq!(costs(&queue, 1_000).iter().sum::<u32>(), 500, "calls are full");
        let _check = push(&queue, VICTIM, 1, 7);
        let next = costs(&queue, 1_000);
        assert!(next.contains(&7), "{next:?}");
    }
}

#[tokio::test]
async fn check_beside_floods_waits_for_one_turn_of_each_and_not_for_a_full_call() {
    let queue = queue();
    let others: Vec<_> = (2..4).map(TenantId::from_u128).collect();
    let _floods: Vec<_> = others.iter().map(|flood| push(&queue, *flood, 200, 20)).collect();
    assert_eq!(costs(&queue, 1_000).len(), 25, "floods fill their calls");
    let _check = push(&queue, VICTIM, 1, 7);
    let next = costs(&queue, 1_000);
    assert!(next.contains(&7), "{next:?}");
    assert!(next.iter().sum::<u32>() <= 7 + 2 * QUANTUM, "{next:?}");
    assert_eq!(costs(&queue, 1_000).len(), 25, "floods fill their calls again");
}

#[tokio::test]
async fn calls_are_half_as_long_while_several_tenants_send_checks() {
    let queue = queue();
    let _flood = push(&queue, ATTACKER, 200, 50);
    let now = Instant::now();
    let cost_of_call = |now| {
        let drained = queue.drain(500, now);
        drained.batch.iter().map(|pending| pending.cost).sum::<u32>()
    };
    assert_eq!(cost_of_call(now), 500, "one tenant");
    let _check = push(&queue, VICTIM, 1, 7);
    assert_eq!(cost_of_call(now), 7, "the turn of the flood is over");
    assert_eq!(cost_of_call(now), 250, "the other can return");
    assert_eq!(cost_of_call(now + SHARED), 500, "one tenant again");
}

#[tokio::test]
async fn tenants_share_script_time_and_not_checks() {
    let queue = queue();
    let _large = push(&queue, ATTACKER, 200, 133);
    let _small = push(&queue, VICTIM, 2_000, 7);
    let (mut large, mut small) = (0, 0);
    for _ in 0..40 {
        for cost in costs(&queue, 1_000) {
            *if cost == 133 { &mut large } else { &mut small } += cost;
        }
    }
    assert!(large + small > 40 * 300, "calls are full: {large}, {small}");
    assert!(large.abs_diff(small) <= 3 * QUANTUM, "{large}, {small}");
}

#[tokio::test]
async fn checks_of_a_tenant_keep_their_order_and_a_large_one_is_sent_alone() {
    let queue = queue();
    let mut received = Vec::new();
    for cost in [10, 20, 16_000, 30, 40] {
        received.extend(push(&queue, VICTIM, 1, cost));
    }
    assert_eq!(costs(&queue, 500), [10, 20]);
    assert_eq!(costs(&queue, 500), [16_000]);
    assert_eq!(costs(&queue, 500), [30, 40]);
    assert_eq!(costs(&queue, 500), [0; 0]);
}

#[tokio::test]
async fn flooding_tenant_is_refused_while_others_have_room() {
    let queue = queue();
    let _flood = push(&queue, ATTACKER, TENANT_CHECKS_MAX, 7);
    let (one_more, _received) = pending(1, 7, later());
    let refused = queue.push(ATTACKER, one_more);
    assert!(matches!(refused, Err(RedisError::Overloaded)), "{refused:?}");
    push(&queue, VICTIM, 100, 7);
}

#[tokio::test]
async fn longest_queue_gives_up_its_newest_checks_when_all_is_full() {
    let queue = queue();
    let mut floods: Vec<_> = (2..4)
        .map(|tenant| push(&queue, TenantId::from_u128(tenant), TENANT_CHECKS_MAX, 7))
        .collect();
    let mut check = push(&queue, VICTIM, 1, 7).remove(0);
    assert!(result(&mut check).is_none(), "still queued");
    let displaced: Vec<_> =
        floods.iter_mut().filter_map(|flood| result(flood.last_mut()?)).collect();
    assert!(matches!(displaced[..], [Err(RedisError::Overloaded)]), "{displaced:?}");
    let first = floods.iter_mut().any(|flood| result(&mut flood[0]).is_some());
    assert!(!first, "the oldest stay");
    assert_eq!(queue.lock().checks, CHECKS_MAX);
}

#[tokio::test]
async fn checks_that_are_late_or_abandoned_are_not_sent() {
    let queue = queue();
    let now = Instant::now();
    let (late, mut received) = pending(1, 7, now);
    let (abandoned, caller) = pending(1, 8, later());
    let (in_time, _in_time) = pending(1, 9, later());
    for pending in [late, abandoned, in_time] {
        queue.push(VICTIM, pending).expect("there is room");
    }
    drop(caller);
    let drained = queue.drain(500, now);
    let batch: Vec<_> = drained.batch.iter().map(|pending| pending.cost).collect();
    assert_eq!((batch, drained.expired.len()), (vec![9], 2));
    assert!(result(&mut received).is_none(), "the caller of drain replies");
    assert_eq!(queue.lock().checks, 0);
}

#[tokio::test]
async fn checks_that_wait_behind_a_call_time_out_in_the_queue() {
    let queue = queue();
    let (soon, much_later) = (Instant::now(), later());
    let (first, mut first_received) = pending(1, 7, soon);
    let (second, mut second_received) = pending(1, 7, much_later);
    queue.push(VICTIM, first).expect("there is room");
    queue.push(ATTACKER, second).expect("there is room");
    assert_eq!(queue.earliest_deadline(), Some(soon));
    queue.expire(soon);
    assert!(matches!(result(&mut first_received), Some(Err(RedisError::Timeout))));
    assert!(result(&mut second_received).is_none());
    assert_eq!(queue.earliest_deadline(), Some(much_later));
    assert_eq!(costs(&queue, 500), [7]);
}

#[tokio::test]
async fn queue_that_refuses_fails_what_it_holds_and_what_arrives() {
    let queue = queue();
    let mut held = push(&queue, VICTIM, 3, 7);
    queue.refuse();
    let away = |received: &mut Receiver| matches!(result(received), Some(Err(RedisError::Away)));
    assert!(held.iter_mut().all(away));
    let (arriving, _received) = pending(1, 7, later());
    assert!(matches!(queue.push(VICTIM, arriving), Err(RedisError::Away)));
    queue.accept();
    push(&queue, VICTIM, 1, 7);
    queue.close();
    queue.accept();
    let (arriving, _received) = pending(1, 7, later());
    assert!(matches!(queue.push(VICTIM, arriving), Err(RedisError::Away)), "closed for good");
    assert!(!queue.arrival().await);
}
