//! The webhooks of tenants that have deferred jobs, read from Postgres and retained for a while.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use weir_domain::id::{TenantId, WebhookId};
use weir_domain::time::Timestamp;
use weir_store::{Scope, Store, StoreError, WebhookTarget};
use weir_webhook::{Sealing, WebhookSecret, webhook_owner};

/// A webhook with its secrets. `Debug` of a secret hides it.
#[derive(Debug)]
pub(super) struct OpenTarget {
    id: WebhookId,
    pub(super) url: String,
    pub(super) enabled: bool,
    secret: Option<WebhookSecret>,
    previous: Option<(WebhookSecret, Timestamp)>,
}

/// The webhooks cannot be read, and are not known from before.
#[derive(Debug)]
pub(super) struct Unreadable;

/// The webhooks of tenants.
#[derive(Debug)]
pub(super) struct Targets {
    store: Store,
    sealing: Sealing,
    tenants: Mutex<HashMap<TenantId, Arc<tokio::sync::Mutex<Known>>>>,
}

/// The webhooks of a tenant.
#[derive(Debug, Default)]
struct Known {
    /// The end of the last query.
    tried_at: Option<Instant>,
    /// The end of the last query that succeeded.
    read_at: Option<Instant>,
    targets: Vec<Arc<OpenTarget>>,
}

/// The age up to which webhooks are used without a query.
const FRESH: Duration = Duration::from_secs(5);
/// The age from which an unknown id causes a query, because the webhook can be new. After a query that failed, the next one
/// also waits for this time.
const RENEWED: Duration = Duration::from_secs(1);
/// The age up to which they are used while Postgres does not answer.
const USABLE: Duration = Duration::from_mins(10);
/// The longest time for a query.
const DEADLINE: Duration = Duration::from_secs(1);
/// The most tenants whose webhooks are retained.
const TENANTS_MAX: usize = 10_000;

impl Targets {
    pub(super) fn new(store: Store, sealing: Sealing) -> Self {
        Self { store, sealing, tenants: Mutex::default() }
    }

    /// The webhook of a tenant, or `None` if the tenant has no such webhook.
    pub(super) async fn find(
        &self,
        tenant: TenantId,
        id: WebhookId,
    ) -> Result<Option<Arc<OpenTarget>>, Unreadable> {
        let known = self.known(tenant);
        // One query at a time for each tenant.
        let mut known = known.lock().await;
        let is_known = known.targets.iter().any(|target| target.id == id);
        let age_max = if is_known { FRESH } else { RENEWED };
        let is_recent =
            |at: Option<Instant>, age: Duration| at.is_some_and(|at| at.elapsed() < age);
        if !is_recent(known.read_at, age_max) && !is_recent(known.tried_at, RENEWED) {
            let read = tokio::time::timeout(DEADLINE, self.read(tenant)).await;
            // Those who waited for this query send none of their own.
            known.tried_at = Some(Instant::now());
            match read {
                Ok(Ok(targets)) => {
                    (known.targets, known.read_at) = (targets, known.tried_at);
                }
                Ok(Err(error)) => {
                    tracing::warn!(reason = error.reason(), "could not read webhooks");
                }
                Err(_) => tracing::warn!("Postgres did not return webhooks in time"),
            }
        }
        if !is_recent(known.read_at, USABLE) {
            return Err(Unreadable);
        }
        Ok(known.targets.iter().find(|target| target.id == id).cloned())
    }

    fn known(&self, tenant: TenantId) -> Arc<tokio::sync::Mutex<Known>> {
        let mut tenants = self.tenants.lock().unwrap_or_else(PoisonError::into_inner);
        if tenants.len() >= TENANTS_MAX && !tenants.contains_key(&tenant) {
            // Those in use are read again.
            tenants.clear();
        }
        Arc::clone(tenants.entry(tenant).or_default())
    }

    async fn read(&self, tenant: TenantId) -> Result<Vec<Arc<OpenTarget>>, StoreError> {
        let mut tx = self.store.begin("webhooks.targets", Scope::Tenant(tenant)).await?;
        let targets = tx.webhooks().targets(tenant).await?;
        tx.commit().await?;
        Ok(targets.into_iter().map(|target| Arc::new(self.open(tenant, target))).collect())
    }

    fn open(&self, tenant: TenantId, target: WebhookTarget) -> OpenTarget {
        let owner = webhook_owner(tenant, target.id);
        let open =
            |sealed: &[u8]| WebhookSecret::of_bytes(&self.sealing.open(&owner, sealed)?).ok();
        OpenTarget {
            id: target.id,
            url: target.url,
            enabled: target.enabled,
            secret: open(&target.secret),
            previous: target.previous.and_then(|old| Some((open(&old.secret)?, old.expires_at))),
        }
    }
}

impl OpenTarget {
    /// The secrets that sign now: none if the present one cannot be opened.
    pub(super) fn secrets(&self, now: Timestamp) -> Vec<WebhookSecret> {
        let Some(secret) = self.secret.clone() else { return Vec::new() };
        let previous = self.previous.iter().filter(|(_, expires_at)| *expires_at > now);
        std::iter::once(secret).chain(previous.map(|(secret, _)| secret.clone())).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use futures_util::FutureExt as _;
    use weir_store::{PoolSettings, Role};
    use weir_webhook::SealingKey;

    use super::*;

    /// With a silent Postgres, calls that waited for a query would otherwise send one after another, each for a second.
    #[tokio::test]
    async fn after_a_query_that_failed_nobody_waits_for_another() {
        let silent = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = silent.local_addr().expect("it has an address");
        let url = format!("postgres://weir@{address}/weir");
        let store = Store::connect(&url, Role::Gate, &PoolSettings::default()).expect("valid");
        let sealing = Sealing::new(&[SealingKey::derive(b"seed")]).expect("a key");
        let targets = Targets::new(store, sealing);
        let (tenant, webhook) = (TenantId::from_u128(1), WebhookId::from_u128(2));
        // A busy machine can be late by itself, but not each time.
        for _ in 0..5 {
            let first = targets.find(tenant, webhook).await;
            assert!(matches!(first, Err(Unreadable)), "{first:?}");
            if targets.find(tenant, webhook).now_or_never().is_some() {
                return;
            }
        }
        panic!("each call sent a query");
    }
}
