//! The queue against a real Redis.

use std::collections::BTreeMap;

use super::*;

const HOUR: Duration = Duration::from_hours(1);

fn queue() -> DeferredJobs {
    let url = weir_local::shared::redis().url();
    DeferredJobs::new(crate::client(&url).expect("a valid address"))
}

fn job(message: &str) -> DeferredJob {
    DeferredJob {
        namespace: "api".to_owned(),
        attributes: BTreeMap::from([("user".to_owned(), "u-1".to_owned())]),
        cost: 2,
        target: "webhook".to_owned(),
        key: "key".to_owned(),
        message: message.to_owned(),
    }
}

async fn put(queue: &DeferredJobs, tenant: TenantId, id: u128, order: u128) -> Stored {
    put_for(queue, tenant, id, order, HOUR).await
}

async fn put_for(
    queue: &DeferredJobs,
    tenant: TenantId,
    id: u128,
    order: u128,
    lasts: Duration,
) -> Stored {
    let job = job(&format!("{{\"number\":{id}}}"));
    let id = DeferredId::from_u128(id);
    let new = NewJob { id, order, fingerprint: "same", job: &job, lasts };
    queue.put(tenant, &new).await.expect("Redis")
}

async fn settle(
    queue: &DeferredJobs,
    tenant: TenantId,
    taken: &TakenJob,
    settled: Settled,
) -> bool {
    let claim = (taken.id, taken.state.order.as_str(), taken.claim);
    queue.settle(tenant, claim, &settled).await.expect("Redis")
}

#[tokio::test]
async fn jobs_of_an_order_are_taken_one_after_the_other_and_others_beside_them() {
    let (queue, tenant) = (queue(), TenantId::from_u128(0xdefe_0001));
    for id in 1..=3 {
        let Stored::Stored { position, claim, .. } = put(&queue, tenant, id, 7).await else {
            panic!("{id} was not stored")
        };
        assert_eq!((position, claim.is_some()), (u64::try_from(id).unwrap(), id == 1));
    }
    assert!(matches!(put(&queue, tenant, 9, 8).await, Stored::Stored { claim: Some(_), .. }));
    // Both first jobs are claimed.
    let taken = queue.take(tenant, 10).await.expect("Redis");
    assert!(taken.jobs.is_empty() && taken.next.is_some_and(|next| next > CLAIM / 2));
    let Stored::Known { position: 2, .. } = put(&queue, tenant, 2, 7).await else {
        panic!("the job is known")
    };
    let claims: Vec<_> = [(1, 7), (9, 8)].into();
    for (id, order) in claims {
        let found = queue.find(tenant, DeferredId::from_u128(id)).await.expect("Redis");
        let found = found.expect("the job waits");
        assert_eq!((found.position, found.state.order), (1, format!("{order:032x}")));
    }
}

#[tokio::test]
async fn claim_that_is_over_changes_nothing_and_the_next_one_of_the_order_follows() {
    let (queue, tenant) = (queue(), TenantId::from_u128(0xdefe_0002));
    let Stored::Stored { claim: Some(claim), state, .. } = put(&queue, tenant, 1, 7).await else {
        panic!("the caller claims the first job")
    };
    put(&queue, tenant, 2, 7).await;
    let (id, order) = (DeferredId::from_u128(1), state.order.as_str());
    let delivered = Settled::Delivered;
    assert!(!queue.settle(tenant, (id, order, claim + 1), &delivered).await.expect("Redis"));
    let denied = Settled::Denied(Duration::ZERO);
    assert!(queue.settle(tenant, (id, order, claim), &denied).await.expect("Redis"));
    let taken = queue.take(tenant, 10).await.expect("Redis").jobs;
    let [first] = &taken[..] else { panic!("one order is due: {taken:?}") };
    assert_eq!((first.id, first.state.denials, first.job.cost), (id, 1, 2));
    assert!(!queue.settle(tenant, (id, order, claim), &delivered).await.expect("Redis"));
    assert!(settle(&queue, tenant, first, Settled::Undelivered(Duration::ZERO, "no".into())).await);
    let taken = queue.take(tenant, 10).await.expect("Redis").jobs;
    assert_eq!((taken[0].id, taken[0].state.charged, taken[0].state.attempts), (id, true, 1));
    assert!(settle(&queue, tenant, &taken[0], Settled::Delivered).await);
    let found = queue.find(tenant, id).await.expect("Redis").expect("it is remembered");
    assert_eq!((found.state.state.as_str(), found.position), ("delivered", 0));
    let next = queue.take(tenant, 10).await.expect("Redis").jobs;
    assert_eq!(next[0].id, DeferredId::from_u128(2));
    assert!(settle(&queue, tenant, &next[0], Settled::Delivered).await);
    let empty = queue.take(tenant, 10).await.expect("Redis");
    assert!(empty.jobs.is_empty() && empty.next.is_none());
    let (_, usage) = queue.failed(tenant, None, 10).await.expect("Redis");
    assert_eq!(usage, QueueUse { waiting: 0, bytes: 0, failed: 0 });
}

/// The time of a job that was denied is not that of the jobs behind it.
#[tokio::test]
async fn next_job_is_due_when_the_first_is_cancelled_while_it_waits() {
    let (queue, tenant) = (queue(), TenantId::from_u128(0xdefe_0007));
    let Stored::Stored { claim: Some(claim), state, .. } = put(&queue, tenant, 1, 7).await else {
        panic!("the caller claims the first job")
    };
    put(&queue, tenant, 2, 7).await;
    let (id, order) = (DeferredId::from_u128(1), state.order.as_str());
    assert!(queue.settle(tenant, (id, order, claim), &Settled::Denied(HOUR)).await.expect("Redis"));
    assert!(queue.take(tenant, 10).await.expect("Redis").jobs.is_empty());
    assert!(queue.cancel(tenant, id).await.expect("Redis"));
    let taken = queue.take(tenant, 10).await.expect("Redis").jobs;
    assert_eq!(taken.iter().map(|job| job.id).collect::<Vec<_>>(), [DeferredId::from_u128(2)]);

    // A job that is attempted keeps its claim, and the last one leaves nothing behind.
    assert!(queue.cancel(tenant, taken[0].id).await.expect("Redis"));
    put(&queue, tenant, 3, 7).await;
    assert!(queue.take(tenant, 10).await.expect("Redis").jobs.is_empty(), "one at a time");
    assert!(settle(&queue, tenant, &taken[0], Settled::Delivered).await);
    let taken = queue.take(tenant, 10).await.expect("Redis").jobs;
    assert!(settle(&queue, tenant, &taken[0], Settled::Denied(HOUR)).await);
    assert!(queue.cancel(tenant, taken[0].id).await.expect("Redis"));
    assert_eq!(queue.take(tenant, 10).await.expect("Redis").next, None);
}

#[tokio::test]
async fn failed_job_is_a_dead_letter_that_can_wait_again_or_be_removed() {
    let (queue, tenant) = (queue(), TenantId::from_u128(0xdefe_0003));
    for id in 1..=3 {
        let Stored::Stored { claim: Some(claim), state, .. } = put(&queue, tenant, id, id).await
        else {
            panic!("the caller claims it")
        };
        let claim = (DeferredId::from_u128(id), state.order.as_str(), claim);
        let failed = Settled::Failed(format!("reason {id}"));
        assert!(queue.settle(tenant, claim, &failed).await.expect("Redis"));
    }
    let id = DeferredId::from_u128;
    let (all, usage) = queue.failed(tenant, None, 2).await.expect("Redis");
    assert_eq!((all.len(), usage.failed, usage.waiting), (2, 3, 0));
    let (rest, _) = queue.failed(tenant, Some(all[1].id), 2).await.expect("Redis");
    let mut ids: Vec<_> = all.iter().chain(&rest).map(|job| job.id).collect();
    ids.sort();
    assert_eq!(ids, [id(1), id(2), id(3)]);
    assert!(all[0].state.error.as_deref().is_some_and(|error| error.starts_with("reason")));
    assert!(matches!(
        queue.retry(tenant, id(1)).await.expect("Redis"),
        Some(Stored::Stored { .. })
    ));
    assert!(queue.retry(tenant, id(1)).await.expect("Redis").is_none(), "it waits already");
    assert!(!queue.remove_failed(tenant, id(1)).await.expect("Redis"), "it waits");
    assert!(queue.remove_failed(tenant, id(2)).await.expect("Redis"));
    let other = TenantId::from_u128(0xdefe_0004);
    assert!(!queue.cancel(other, id(3)).await.expect("Redis"), "of another tenant");
    assert!(queue.cancel(tenant, id(3)).await.expect("Redis"));
    let taken = queue.take(tenant, 10).await.expect("Redis").jobs;
    assert_eq!(taken.iter().map(|job| job.id).collect::<Vec<_>>(), [id(1)]);
    assert!(queue.cancel(tenant, id(1)).await.expect("Redis"));
    assert!(settle(&queue, tenant, &taken[0], Settled::Delivered).await, "the claim lasts");
    assert_eq!(queue.find(tenant, id(1)).await.expect("Redis"), None);
}

#[tokio::test]
async fn another_job_with_the_id_is_refused_and_tenants_with_jobs_are_found() {
    let (queue, tenant) = (queue(), TenantId::from_u128(0xdefe_0005));
    put(&queue, tenant, 1, 1).await;
    let (id, job) = (DeferredId::from_u128(1), job("{}"));
    let other = NewJob { id, order: 1, fingerprint: "other", job: &job, lasts: HOUR };
    assert_eq!(queue.put(tenant, &other).await.expect("Redis"), Stored::Reused);
    assert!(queue.due_tenants(CLAIM * 2).await.contains(&tenant));
    assert!(!queue.due_tenants(Duration::ZERO).await.contains(&tenant));
    assert!(queue.cancel(tenant, id).await.expect("Redis"));
}

#[tokio::test]
async fn queue_is_bounded_by_bytes() {
    let (queue, tenant) = (queue(), TenantId::from_u128(0xdefe_0006));
    let job = job(&"a".repeat(8 * 1024 * 1024));
    let mut outcomes = Vec::new();
    for id in 1..=8 {
        let id = DeferredId::from_u128(id);
        let new = NewJob { id, order: 1, fingerprint: "same", job: &job, lasts: HOUR };
        outcomes.push(queue.put(tenant, &new).await.expect("Redis"));
    }
    assert_eq!(outcomes.pop(), Some(Stored::Full));
    assert!(outcomes.iter().all(|stored| matches!(stored, Stored::Stored { .. })));
    for id in 1..=7 {
        assert!(queue.cancel(tenant, DeferredId::from_u128(id)).await.expect("Redis"));
    }
}

#[tokio::test]
async fn calls_fail_while_redis_is_away() {
    let queue = DeferredJobs::new(crate::client("redis://127.0.0.1:1").expect("an address"));
    for _ in 0..3 {
        assert!(queue.take(TenantId::from_u128(1), 1).await.is_err());
    }
    assert!(queue.due_tenants(Duration::ZERO).await.is_empty());
}

#[tokio::test]
async fn usage_counts_jobs_and_a_tenant_with_dead_letters_alone_is_still_listed() {
    let (queue, tenant) = (queue(), TenantId::from_u128(0xdefe_0051));
    let is_listed = async || {
        let tenants = queue.tenants_with_jobs().await.expect("Redis");
        tenants.contains(&tenant)
    };
    assert_eq!(queue.usage(tenant).await.expect("Redis"), QueueUse::default());
    assert!(!is_listed().await);
    let Stored::Stored { claim: Some(claim), state, .. } = put(&queue, tenant, 1, 7).await else {
        panic!("the caller claims the first job")
    };
    let usage = queue.usage(tenant).await.expect("Redis");
    assert_eq!((usage.waiting, usage.failed), (1, 0));
    assert!(usage.bytes > 0 && is_listed().await);
    let id = DeferredId::from_u128(1);
    let failed = Settled::Failed("gone".to_owned());
    let settled = queue.settle(tenant, (id, &state.order, claim), &failed).await;
    assert!(settled.expect("Redis"));
    let usage = queue.usage(tenant).await.expect("Redis");
    assert_eq!((usage.waiting, usage.failed, usage.bytes), (0, 1, 0));
    assert!(is_listed().await);
    assert!(!queue.due_tenants(Duration::from_hours(1)).await.contains(&tenant));
    assert!(queue.remove_failed(tenant, id).await.expect("Redis"));
    assert_eq!(queue.usage(tenant).await.expect("Redis"), QueueUse::default());
    assert!(!is_listed().await);
}
