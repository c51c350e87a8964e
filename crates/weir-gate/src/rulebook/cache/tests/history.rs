//! Random changes of a few tenants, the same ones for the same seed.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::{Value, json};
use weir_domain::customers::customer_key;
use weir_domain::id::{AssignmentId, KeyId, OverrideId, PlanId, ProfileId, RuleId, TenantId};
use weir_domain::request::{Operation, Request, RequestDraft};
use weir_domain::time::Timestamp;
use weir_store::{
    Actor, KeyRotation, NewAssignment, NewKey, OverrideBody, OverrideWrite, PlanBody, PlanWrite,
    ProfileBody, ProfileWrite, RuleBody, RuleWrite, Scope, Store, Tx,
};

pub(super) const NOW: Timestamp = Timestamp::from_millis(1_790_000_000_000);
pub(super) const NAMESPACES: [&str; 3] = ["a", "b", "c"];
pub(super) const PROFILES: [&str; 3] = ["edge", "nginx", "envoy"];
pub(super) const ROUTES: [&str; 4] = ["/0", "/1", "/2", "/3"];
pub(super) const USERS: [&str; 4] = ["u0", "u1", "u2", "u3"];

/// The changes so far, and the tenants, rules and secrets that can exist after them.
#[derive(Debug, Clone)]
pub(super) struct History {
    store: Store,
    random: u64,
    /// All tenants that ever existed.
    pub(super) tenants: Vec<TenantId>,
    /// All secrets that ever existed.
    pub(super) digests: Vec<[u8; 32]>,
    rules: Vec<(TenantId, RuleId)>,
    keys: Vec<(TenantId, KeyId)>,
    overrides: Vec<(TenantId, OverrideId)>,
    profiles: Vec<(TenantId, ProfileId)>,
    plans: Vec<(TenantId, PlanId)>,
    /// The kinds of changes that were made.
    pub(super) done: BTreeSet<&'static str>,
}

impl History {
    pub(super) fn new(store: &Store, seed: u64) -> Self {
        let random = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let (tenants, digests, done) = (Vec::new(), Vec::new(), BTreeSet::new());
        let (rules, keys) = (Vec::new(), Vec::new());
        let (overrides, profiles, plans) = (Vec::new(), Vec::new(), Vec::new());
        let store = with_long_deadline(store);
        Self { store, random, tenants, digests, rules, keys, overrides, profiles, plans, done }
    }

    /// The same history, continued in another database.
    pub(super) fn with_store(self, store: &Store) -> Self {
        Self { store: with_long_deadline(store), ..self }
    }

    /// A number below `bound`.
    pub(super) fn below(&mut self, bound: u64) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        (self.random >> 16) % bound
    }

    /// Makes a random change; one in eight is rolled back.
    pub(super) async fn change(&mut self) {
        if self.tenants.is_empty() || self.below(40) == 0 {
            self.tenant().await;
            return;
        }
        let at = self.below(self.tenants.len() as u64);
        let tenant = self.tenants[usize::try_from(at).unwrap()];
        let mut tx = self.store.begin("tests", Scope::Tenant(tenant)).await.unwrap();
        if tx.tenants().begin_change(tenant).await.is_err() {
            return;
        }
        let Some(done) = self.make(&mut tx, tenant).await else { return };
        if self.below(8) == 0 {
            return;
        }
        // A change that only commits is published too.
        if self.below(2) > 0 {
            tx.publish(tenant, None).await.unwrap();
        } else {
            tx.commit().await.unwrap();
        }
        self.done.insert(done);
    }

    pub(super) async fn tenant(&mut self) -> TenantId {
        let id = TenantId::from_u128(self.unique());
        let mut tx = self.store.begin("tests", Scope::Tenant(id)).await.unwrap();
        tx.tenants().insert(id, "Shop", NOW).await.unwrap();
        tx.tenants().change(id, None, None, None, Some(Some("user"))).await.unwrap();
        tx.commit().await.unwrap();
        self.tenants.push(id);
        self.done.insert("tenant");
        id
    }

    /// A rule that can be read, in force.
    pub(super) async fn rule(&mut self, tenant: TenantId, namespace: &'static str) {
        let mut tx = self.store.begin("tests", Scope::Tenant(tenant)).await.unwrap();
        let id = RuleId::from_u128(self.unique());
        let rule = self.write(tenant, id, namespace, "enforce");
        tx.rules().insert(&rule, &Actor::System).await.unwrap();
        tx.commit().await.unwrap();
        self.rules.push((tenant, id));
    }

    /// Writes the tenant's first rule anew.
    pub(super) async fn rewrite(&mut self, tenant: TenantId, namespace: &str, mode: &str) {
        let mut tx = self.store.begin("tests", Scope::Tenant(tenant)).await.unwrap();
        let (_, id) = self.rules[0];
        let before = tx.rules().find(tenant, id).await.unwrap().unwrap();
        let rule = self.write(tenant, id, namespace, mode);
        tx.rules().update(&rule, before.revision, &Actor::System).await.unwrap().unwrap();
        tx.commit().await.unwrap();
    }

    async fn make(&mut self, tx: &mut Tx, tenant: TenantId) -> Option<&'static str> {
        match self.below(23) {
            0..=4 => self.insert_rule(tx, tenant).await,
            5 | 6 => self.update_rule(tx, tenant).await,
            7 => {
                let id = self.one_of(&self.rules.clone(), tenant)?;
                tx.rules().delete(tenant, id, None).await.unwrap()?;
                Some("delete rule")
            }
            8..=10 => self.change_override(tx, tenant).await,
            11..=13 => self.change_key(tx, tenant).await,
            14 => {
                let yes = self.below(2) == 0;
                if self.below(2) == 0 {
                    tx.tenants().set_suspended(tenant, yes).await.unwrap()?;
                    Some("suspend")
                } else {
                    tx.tenants()
                        .change(tenant, None, Some(yes), Some(!yes), None)
                        .await
                        .unwrap()?;
                    Some("record")
                }
            }
            15 | 16 => self.change_profile(tx, tenant).await,
            17..=19 => self.change_plan(tx, tenant).await,
            20 | 21 => self.assign(tx, tenant).await,
            _ if self.below(4) > 0 => None,
            _ => tx.tenants().delete(tenant).await.unwrap().then_some("delete tenant"),
        }
    }

    async fn insert_rule(&mut self, tx: &mut Tx, tenant: TenantId) -> Option<&'static str> {
        let id = RuleId::from_u128(self.unique());
        let rule = self.any_rule(tenant, id);
        tx.rules().insert(&rule, &Actor::System).await.unwrap();
        self.rules.push((tenant, id));
        Some("insert rule")
    }

    async fn update_rule(&mut self, tx: &mut Tx, tenant: TenantId) -> Option<&'static str> {
        let id = self.one_of(&self.rules.clone(), tenant)?;
        let before = tx.rules().find(tenant, id).await.unwrap()?;
        // The rule can be read. For others the previous revision remains in force, which a whole load cannot know.
        let namespace = NAMESPACES[usize::try_from(self.below(3)).unwrap()];
        let rule = self.write(tenant, id, namespace, "enforce");
        tx.rules().update(&rule, before.revision, &Actor::System).await.unwrap()?;
        Some("update rule")
    }

    async fn change_override(&mut self, tx: &mut Tx, tenant: TenantId) -> Option<&'static str> {
        let rule_id = self.one_of(&self.rules.clone(), tenant)?;
        tx.rules().find(tenant, rule_id).await.unwrap()?;
        let user = USERS[usize::try_from(self.below(4)).unwrap()];
        let mut digest = [0; 32];
        digest[..16].copy_from_slice(&self.unique().to_be_bytes());
        // One override in four does not fit its rule and is left out.
        let attribute = if self.below(4) == 0 { "route" } else { "user" };
        let body = OverrideBody {
            rule_id,
            subject: json!({ attribute: user }),
            subject_digest: digest,
            spec: json!({
                "rule_id": rule_id.to_string(), "subject": { attribute: user },
                "action": if self.below(2) == 0 { "allow" } else { "deny" },
            }),
            reason: String::new(),
            expires_at: None,
        };
        let known = self.one_of(&self.overrides.clone(), tenant);
        let known = match known {
            Some(id) => tx.overrides().find(tenant, id).await.unwrap(),
            None => None,
        };
        let id = known.as_ref().map_or_else(|| OverrideId::from_u128(self.unique()), |row| row.id);
        let write = OverrideWrite { tenant_id: tenant, id, body, managed_by: None, now: NOW };
        match (known, self.below(3)) {
            (Some(_), 0) => {
                tx.overrides().delete(tenant, id, None).await.unwrap()?;
                Some("delete override")
            }
            (Some(known), 1) => {
                tx.overrides().update(&write, known.revision, &Actor::System).await.unwrap()?;
                Some("update override")
            }
            _ => {
                let id = OverrideId::from_u128(self.unique());
                tx.overrides()
                    .insert(&OverrideWrite { id, ..write }, &Actor::System)
                    .await
                    .unwrap();
                self.overrides.push((tenant, id));
                Some("insert override")
            }
        }
    }

    /// One profile in four cannot be read and is left out.
    async fn change_profile(&mut self, tx: &mut Tx, tenant: TenantId) -> Option<&'static str> {
        let reads = if self.below(4) == 0 { "a later release" } else { "ext_authz" };
        let name = PROFILES[usize::try_from(self.below(3)).unwrap()];
        let known = self.one_of(&self.profiles.clone(), tenant);
        let known = match known {
            Some(id) => tx.profiles().find(tenant, id).await.unwrap(),
            None => None,
        };
        let name = known.as_ref().map_or_else(|| name.to_owned(), |row| row.name.clone());
        let spec = json!({
            "name": name, "reads": reads, "trusted_hops": 1 + self.below(8),
            "attributes": { "ip": { "from": "address" } },
        });
        let id = ProfileId::from_u128(self.unique());
        let body = ProfileBody { name, spec };
        let write = ProfileWrite { tenant_id: tenant, id, body, managed_by: None, now: NOW };
        let Some(known) = known else {
            // The tenant can have a profile with this name.
            tx.profiles().insert(&write, &Actor::System).await.ok()?;
            self.profiles.push((tenant, id));
            return Some("insert profile");
        };
        if self.below(2) == 0 {
            tx.profiles().delete(tenant, known.id, None).await.unwrap()?;
            return Some("delete profile");
        }
        let write = ProfileWrite { id: known.id, ..write };
        tx.profiles().update(&write, known.revision, &Actor::System).await.unwrap()?;
        Some("update profile")
    }

    /// A plan that names one of the tenant's rules. One plan in eight cannot be read and is left out.
    async fn change_plan(&mut self, tx: &mut Tx, tenant: TenantId) -> Option<&'static str> {
        let rule_id = self.one_of(&self.rules.clone(), tenant)?;
        let rule = tx.rules().find(tenant, rule_id).await.unwrap()?;
        let known = self.one_of(&self.plans.clone(), tenant);
        let known = match known {
            Some(id) => tx.plans().find(tenant, id).await.unwrap(),
            None => None,
        };
        let name = format!("plan-{}", self.unique());
        let action = ["allow", "deny"][usize::try_from(self.below(2)).unwrap()];
        let rules = json!([{ "namespace": rule.namespace, "rule": rule.name, "action": action }]);
        let rules = if self.below(8) == 0 { json!("of a later release") } else { rules };
        let mut pinned = json!([]);
        if let Some(before) = known.as_ref().filter(|_| self.random.is_multiple_of(2)) {
            let revision = before.revision;
            tx.assignments().pin_revision(tenant, before.id, revision).await.unwrap();
            pinned = json!([{ "revision": revision, "rules": before.spec["rules"] }]);
        }
        let id = PlanId::from_u128(self.unique());
        let body = PlanBody { spec: json!({ "name": name, "rules": rules }), name, pinned };
        let write = PlanWrite { tenant_id: tenant, id, body, managed_by: None, now: NOW };
        let Some(known) = known.filter(|_| self.below(3) > 0) else {
            tx.plans().insert(&write, &Actor::System).await.unwrap();
            self.plans.push((tenant, id));
            return Some("insert plan");
        };
        if self.below(4) == 0 {
            tx.plans().delete(tenant, known.id, None).await.unwrap()?;
            return Some("delete plan");
        }
        let write = PlanWrite { id: known.id, ..write };
        tx.plans().update(&write, known.revision, &Actor::System).await.unwrap()?;
        Some("update plan")
    }

    /// Assigns a user to a plan, or to none any more.
    async fn assign(&mut self, tx: &mut Tx, tenant: TenantId) -> Option<&'static str> {
        let plan_id = self.one_of(&self.plans.clone(), tenant)?;
        let customer = USERS[usize::try_from(self.below(4)).unwrap()].to_owned();
        let customer_key = customer_key("user", &customer);
        let before = tx.assignments().of_customers(tenant, &[customer_key], NOW).await.unwrap();
        let ends: Vec<_> = before.iter().map(|row| (row.id, NOW)).collect();
        tx.assignments().end_many(tenant, &ends).await.unwrap();
        if !ends.is_empty() && self.below(3) == 0 {
            return Some("end assignment");
        }
        let id = AssignmentId::from_u128(self.unique());
        let new = NewAssignment {
            id,
            customer,
            customer_key,
            plan_id,
            starts_at: NOW,
            ends_at: None,
            note: String::new(),
            email: None,
            managed_by: None,
        };
        tx.assignments().insert_many(tenant, &[new], NOW).await.unwrap();
        Some("assign")
    }

    async fn change_key(&mut self, tx: &mut Tx, tenant: TenantId) -> Option<&'static str> {
        let mut digest = [1; 32];
        digest[..16].copy_from_slice(&self.unique().to_be_bytes());
        self.digests.push(digest);
        let known = self.one_of(&self.keys.clone(), tenant);
        match (known, self.below(3)) {
            (Some(id), 0) => {
                tx.keys().revoke(tenant, id, NOW).await.unwrap()?;
                Some("revoke key")
            }
            (Some(id), 1) => {
                let (hint, previous_expires_at) = ("weir_abc".to_owned(), NOW.plus_ms(1));
                let rotation =
                    KeyRotation { id, tenant_id: tenant, digest, hint, previous_expires_at };
                tx.keys().rotate(&rotation).await.unwrap()?;
                Some("rotate key")
            }
            _ => {
                let id = KeyId::from_u128(self.unique());
                let new = NewKey {
                    id,
                    tenant_id: tenant,
                    name: "server".to_owned(),
                    scopes: vec!["check".to_owned()],
                    namespaces: None,
                    hint: "weir_abc".to_owned(),
                    digest,
                    expires_at: None,
                    created_by: "ada@example.com".to_owned(),
                    now: NOW,
                };
                tx.keys().insert(&new).await.unwrap();
                self.keys.push((tenant, id));
                Some("insert key")
            }
        }
    }

    /// A random rule. One in twelve cannot be read.
    fn any_rule(&mut self, tenant: TenantId, id: RuleId) -> RuleWrite {
        let namespace = NAMESPACES[usize::try_from(self.below(3)).unwrap()];
        let words = ["enforce", "enforce", "shadow", "off"];
        let mode = words[usize::try_from(self.below(4)).unwrap()];
        let mode = if self.below(12) == 0 { "of a later release" } else { mode };
        self.write(tenant, id, namespace, mode)
    }

    fn write(&mut self, tenant_id: TenantId, id: RuleId, namespace: &str, mode: &str) -> RuleWrite {
        let name = format!("rule-{}", self.unique());
        let route = ROUTES[usize::try_from(self.below(4)).unwrap()];
        let conditions: Value = match self.below(4) {
            0 => json!([]),
            _ => json!([{ "attribute": "route", "op": "equals", "value": route }]),
        };
        let limit = 1 + self.below(1_000);
        let body = RuleBody {
            namespace: namespace.to_owned(),
            name: name.clone(),
            spec: json!({
                "namespace": namespace, "name": name, "mode": mode, "match": conditions,
                "count_by": ["user"],
                "limits": [{ "algorithm": "fixed_window", "limit": limit, "window_ms": 60_000 }],
            }),
            slots: vec![3],
            next_slot: 4,
            patterns: weir_domain::pattern_budget::PatternCost::default(),
        };
        RuleWrite { tenant_id, id, body, managed_by: None, now: NOW }
    }

    /// One of the things that the tenant has or had.
    fn one_of<T: Copy>(&mut self, all: &[(TenantId, T)], tenant: TenantId) -> Option<T> {
        let mine: Vec<_> = all.iter().filter(|(of, _)| *of == tenant).collect();
        let at = self.below(mine.len().max(1) as u64);
        mine.get(usize::try_from(at).unwrap()).map(|(_, id)| *id)
    }

    /// A number that no other history of the process has.
    fn unique(&mut self) -> u128 {
        (u128::from(self.below(u64::MAX)) << 64) | u128::from(self.below(u64::MAX))
    }
}

/// The store with a deadline that a stalled disk does not exceed: hundreds of changes are written, and none can be lost.
fn with_long_deadline(store: &Store) -> Store {
    store.with_answer_timeout(Duration::from_secs(30))
}

/// A request of a namespace and a route.
pub(super) fn request(namespace: &str, route: &str) -> Request {
    Request::parse(RequestDraft {
        namespace: namespace.to_owned(),
        attributes: [("route".to_owned(), route.to_owned())].into(),
        cost: 1,
        operation: Operation::Peek,
        idempotency_key: None,
    })
    .unwrap()
}
