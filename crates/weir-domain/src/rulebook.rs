//! The rulebook: all rules and keys of all tenants at one version, compiled.
//!
//! A rulebook is immutable: a newer one is built beside it and replaces it as a whole.

mod active_rule;
mod namespace;
mod tenant;

use std::sync::Arc;

pub use self::active_rule::ActiveRule;
pub use self::namespace::Namespace;
pub use self::tenant::{ApiKey, SharedSettings, SpreadNamespaces, TenantRules, TenantState};
use crate::api_key::KeyDigest;
use crate::ceilings::CHECKS_PER_SECOND_MAX;
use crate::draft::Reach;
use crate::id::TenantId;
use crate::profile::Profile;
use crate::regions::Regions;
use crate::rule::Rule;
use crate::sharded_map::ShardedMap;
use crate::time::Timestamp;

/// All tenants at one version.
#[derive(Debug, Clone, Default)]
pub struct Rulebook {
    version: u64,
    /// A random number, which changes whenever everything is loaded anew.
    lineage: u64,
    installation: InstallationState,
    tenants: ShardedMap<TenantId, Arc<TenantRules>>,
    keys: ShardedMap<KeyDigest, Caller>,
}

/// The settings for all tenants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstallationState {
    /// Whether limits are enforced. While they are not, every check of every tenant is allowed.
    pub enforced: bool,
    /// Checks a second of a tenant that has no value of its own.
    pub checks_per_second: u64,
    /// The regions.
    pub regions: Regions,
    /// Whether this gate asks another region about rules that hold in all regions.
    pub is_home_elsewhere: bool,
}

impl Default for InstallationState {
    fn default() -> Self {
        Self {
            enforced: true,
            checks_per_second: CHECKS_PER_SECOND_MAX,
            regions: Regions::default(),
            is_home_elsewhere: false,
        }
    }
}

/// The owner of a request.
#[derive(Debug, Clone)]
pub struct Caller {
    /// The tenant that owns the key.
    pub tenant: TenantId,
    /// The key.
    pub key: Arc<ApiKey>,
}

impl Rulebook {
    /// The version of the rulebook.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// Identifies the tenant's part among all that this process has served: it changes with the tenant's rules, keys,
    /// overrides and settings, and with nothing that another tenant changes.
    pub fn tenant_generation(&self, tenant: TenantId) -> u64 {
        let version = self.tenants.get(&tenant).map_or(0, |part| part.state.version);
        self.lineage.wrapping_add(version)
    }

    /// The owner of a key, if the key is known and not expired, and its tenant is not suspended.
    pub fn caller(&self, digest: &KeyDigest, now: Timestamp) -> Option<&Caller> {
        let caller = self.keys.get(digest)?;
        let suspended = self.tenants.get(&caller.tenant).is_none_or(|part| part.state.suspended);
        let expired = caller.key.expires_at.is_some_and(|expires_at| expires_at <= now);
        (!suspended && !expired).then_some(caller)
    }

    /// Whether the tenant's rules decide: neither its own switch nor the installation's is off.
    pub fn enforced(&self, tenant: TenantId) -> bool {
        let own = self.tenants.get(&tenant).is_none_or(|part| part.state.enforced);
        own && self.installation.enforced
    }

    /// The tenant's ceiling of checks a second, on all gates together.
    pub fn checks_per_second(&self, tenant: TenantId) -> u64 {
        let own = self.tenants.get(&tenant).and_then(|part| part.state.checks_per_second);
        own.unwrap_or(self.installation.checks_per_second)
    }

    /// The regions of the installation.
    pub fn regions(&self) -> &Regions {
        &self.installation.regions
    }

    /// Whether this gate asks another region about rules that hold in all regions.
    #[inline]
    pub fn is_home_elsewhere(&self) -> bool {
        self.installation.is_home_elsewhere
    }

    /// Whether another region has the counters of a rule.
    #[inline]
    pub fn is_counted_elsewhere(&self, rule: &Rule) -> bool {
        self.installation.is_home_elsewhere && rule.reach() == Reach::World
    }

    /// The attribute that names the customers of a tenant, if it has one.
    pub fn customer_attribute(&self, tenant: TenantId) -> Option<&str> {
        let part = self.tenants.get(&tenant)?;
        part.shared().customers.as_ref().map(|customers| customers.attribute())
    }

    /// The rules of a tenant's namespace.
    pub fn rules(&self, tenant: TenantId, namespace: &str) -> &[Arc<ActiveRule>] {
        self.namespace(tenant, namespace).map_or(&[], |namespace| namespace.rules.as_slice())
    }

    /// A tenant's namespace, if it has rules.
    pub fn namespace(&self, tenant: TenantId, namespace: &str) -> Option<&Namespace> {
        self.tenants.get(&tenant)?.namespace(namespace)
    }

    /// A tenant's profile by which a proxy asks `/authorize`.
    pub fn profile(&self, tenant: TenantId, name: &str) -> Option<&Arc<Profile>> {
        self.tenants.get(&tenant)?.profile(name)
    }

    /// A tenant's profile of a domain of the rate limit service, else that of all domains.
    pub fn profile_of_domain(&self, tenant: TenantId, domain: &str) -> Option<&Arc<Profile>> {
        self.tenants.get(&tenant)?.profile_of_domain(domain)
    }

    /// A tenant's part.
    pub fn tenant(&self, tenant: TenantId) -> Option<&Arc<TenantRules>> {
        self.tenants.get(&tenant)
    }

    /// All tenants and their parts.
    pub fn tenants(&self) -> impl Iterator<Item = (TenantId, &TenantRules)> {
        self.tenants.iter().map(|(id, part)| (*id, part.as_ref()))
    }

    /// The number of tenants.
    pub fn tenant_count(&self) -> usize {
        self.tenants.len()
    }

    /// This rulebook with other settings for all tenants.
    #[must_use]
    pub fn with_installation(self, installation: InstallationState) -> Self {
        Self { installation, ..self }
    }

    /// This rulebook with a random number that no rulebook of another history of the database has. Versions of two
    /// histories can be equal.
    #[must_use]
    pub fn with_lineage(self, lineage: u64) -> Self {
        Self { lineage, ..self }
    }

    /// This rulebook with some tenants replaced (`None`: removed), at a newer version.
    #[must_use]
    pub fn with_changes(
        &self,
        version: u64,
        changes: impl IntoIterator<Item = (TenantId, Option<TenantRules>)>,
    ) -> Self {
        let tenants = self.tenants.clone();
        let keys = self.keys.clone();
        let installation = self.installation.clone();
        let mut next = Self { version, installation, tenants, keys, ..*self };
        for (tenant, rules) in changes {
            if let Some(before) = next.tenants.remove(&tenant) {
                for (digest, _) in &before.keys {
                    next.keys.remove(digest);
                }
            }
            if let Some(rules) = rules {
                for (digest, key) in &rules.keys {
                    next.keys.insert(*digest, Caller { tenant, key: Arc::clone(key) });
                }
                next.tenants.insert(tenant, Arc::new(rules));
            }
        }
        next
    }
}
