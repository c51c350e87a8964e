//! Every operation of the document, requested by callers without the right to it. A new operation needs a row here.
//!
//! Without credentials: 401, unless the operation is public. About another tenant: 404, the same answer as for a tenant that
//! does not exist. With a role below the required one: 403.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use weir_domain::id::{
    AlertId, AssignmentId, DeferredId, DeliveryId, InvitationId, KeyId, OverrideId, PlanId,
    ProfileId, RequestId, RuleId, SessionId, TenantId, UserId, WebhookId,
};
use weir_redis::deferred::{DeferredJob, NewJob, Settled, Stored};
use weir_store::{MemberRole, Scope};

use super::support::{Answer, Member, Plane};

/// The callers that an operation admits.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum For {
    /// All callers.
    Anybody,
    /// Signed-in people.
    People,
    /// Operators of the installation.
    Operators,
    /// Members with this role or a higher one.
    Members(MemberRole),
}

/// The required callers of each operation. An operation is public only if it proves something other than the identity of the
/// caller.
pub(super) fn table() -> BTreeMap<&'static str, For> {
    use MemberRole::{Admin, Editor, Owner, Viewer};
    let mut table = BTreeMap::from([
        ("healthz", For::Anybody),
        ("readyz", For::Anybody),
        ("metrics", For::Anybody),
        ("invitations_preview", For::Anybody),
        ("customer_page", For::Anybody),
        ("tenants_list", For::People),
        ("tenants_create", For::People),
        ("ceilings_read", For::Members(Viewer)),
        ("tenants_read", For::Members(Viewer)),
        ("views_read", For::Members(Viewer)),
        ("views_update", For::Members(Editor)),
        ("tenants_update", For::Members(Admin)),
        ("tenants_delete", For::Members(Owner)),
        ("invitations_accept", For::People),
        ("invitations_list", For::Members(Viewer)),
        ("invitations_create", For::Members(Admin)),
        ("invitations_revoke", For::Members(Admin)),
        ("members_list", For::Members(Viewer)),
        ("members_leave", For::Members(Viewer)),
        ("members_change", For::Members(Admin)),
        ("members_remove", For::Members(Admin)),
        ("keys_list", For::Members(Viewer)),
        ("keys_create", For::Members(Admin)),
        ("keys_delete", For::Members(Admin)),
        ("keys_rotate", For::Members(Admin)),
        ("rules_list", For::Members(Viewer)),
        ("rules_create", For::Members(Editor)),
        ("rules_read", For::Members(Viewer)),
        ("rules_update", For::Members(Editor)),
        ("rules_delete", For::Members(Editor)),
        ("rules_revisions", For::Members(Viewer)),
        ("rules_revert", For::Members(Editor)),
        ("rules_apply", For::Members(Editor)),
        ("overrides_list", For::Members(Viewer)),
        ("overrides_create", For::Members(Editor)),
        ("overrides_read", For::Members(Viewer)),
        ("overrides_update", For::Members(Editor)),
        ("overrides_delete", For::Members(Editor)),
        ("overrides_bulk", For::Members(Editor)),
        ("overrides_restore", For::Members(Editor)),
        ("test", For::Members(Editor)),
        ("simulate", For::Members(Viewer)),
        ("recorded_read", For::Members(Viewer)),
        ("rules_suggest", For::Members(Viewer)),
        ("counters_inspect", For::Members(Editor)),
        ("counters_reset", For::Members(Editor)),
        ("subjects_inspect", For::Members(Viewer)),
        ("subjects_near_limit", For::Members(Viewer)),
        ("subjects_near_limit_of_plan", For::Members(Viewer)),
        ("search", For::Members(Viewer)),
        ("subjects_raise", For::Members(Editor)),
        ("subjects_block", For::Members(Editor)),
        ("subjects_allow", For::Members(Editor)),
        ("stats_series", For::Members(Viewer)),
        ("stats_rules", For::Members(Viewer)),
        ("rules_segments", For::Members(Viewer)),
        ("stats_summary", For::Members(Viewer)),
        ("stats_top", For::Members(Viewer)),
        ("usage_list", For::Members(Viewer)),
        ("stats_denials", For::Members(Viewer)),
        ("stats_denied_request", For::Members(Viewer)),
        ("stats_events", For::Members(Viewer)),
        ("stats_live", For::Members(Viewer)),
        ("replicas_list", For::Members(Viewer)),
        ("replicas_rollouts", For::Members(Viewer)),
        ("audit_list", For::Members(Admin)),
    ]);
    table.extend(accounts());
    table.extend(proxying());
    table.extend(operating());
    table.extend(reporting());
    table
}

/// The rows of the operations on the caller's account.
fn accounts() -> BTreeMap<&'static str, For> {
    BTreeMap::from([
        ("signup", For::Anybody),
        ("signup_confirm", For::Anybody),
        ("login", For::Anybody),
        ("refresh", For::Anybody),
        ("auth_options", For::Anybody),
        ("oidc_start", For::Anybody),
        ("oidc_callback", For::Anybody),
        ("password_reset", For::Anybody),
        ("password_reset_confirm", For::Anybody),
        ("logout", For::Anybody),
        ("me_read", For::People),
        ("me_rename", For::People),
        ("me_password", For::People),
        ("me_audit", For::People),
        ("me_second_factor", For::People),
        ("me_second_factor_begin", For::People),
        ("me_second_factor_confirm", For::People),
        ("me_second_factor_remove", For::People),
        ("me_recovery_codes", For::People),
        ("me_sessions_list", For::People),
        ("me_sessions_end", For::People),
        ("me_sessions_end_all", For::People),
    ])
}

/// The rows of the operations on profiles and namespaces.
fn proxying() -> BTreeMap<&'static str, For> {
    use MemberRole::{Admin, Editor, Viewer};
    BTreeMap::from([
        ("profiles_list", For::Members(Viewer)),
        ("profiles_create", For::Members(Editor)),
        ("profiles_read", For::Members(Viewer)),
        ("profiles_update", For::Members(Editor)),
        ("profiles_delete", For::Members(Editor)),
        ("profiles_revisions", For::Members(Viewer)),
        ("profiles_revert", For::Members(Editor)),
        ("plans_list", For::Members(Viewer)),
        ("plans_create", For::Members(Editor)),
        ("plans_read", For::Members(Viewer)),
        ("plans_update", For::Members(Editor)),
        ("plans_delete", For::Members(Editor)),
        ("plans_revisions", For::Members(Viewer)),
        ("plans_revert", For::Members(Editor)),
        ("assignments_list", For::Members(Viewer)),
        ("assignments_create", For::Members(Editor)),
        ("assignments_bulk", For::Members(Editor)),
        ("assignments_delete", For::Members(Editor)),
        ("customers_list", For::Members(Viewer)),
        ("customers_read", For::Members(Viewer)),
        ("customers_usage", For::Members(Viewer)),
        ("customers_view_token", For::Members(Editor)),
        ("customer_view_read", For::Members(Viewer)),
        ("customer_view_update", For::Members(Admin)),
        ("namespaces_list", For::Members(Viewer)),
        ("namespaces_read", For::Members(Viewer)),
        ("namespaces_update", For::Members(Editor)),
    ])
}

/// The rows of the operators of an installation.
fn operating() -> BTreeMap<&'static str, For> {
    BTreeMap::from([
        ("operator_tenants_list", For::Operators),
        ("operator_tenants_suspend", For::Operators),
        ("operator_tenants_audit", For::Operators),
        ("operator_audit", For::Operators),
        ("operator_ceilings_read", For::Operators),
        ("operator_ceilings_set", For::Operators),
        ("operator_defaults_read", For::Operators),
        ("operator_defaults_set", For::Operators),
        ("operator_enforcement_read", For::Operators),
        ("operator_regions_read", For::Operators),
        ("operator_regions_set", For::Operators),
        ("operator_usage", For::Operators),
        ("operator_replicas", For::Operators),
        ("operator_rollouts", For::Operators),
        ("operator_accounts", For::Operators),
        ("operator_password_resets", For::Operators),
        ("operator_enforcement_set", For::Operators),
    ])
}

/// The rows of the operations on webhooks and alerts.
fn reporting() -> BTreeMap<&'static str, For> {
    use MemberRole::{Admin, Editor, Viewer};
    BTreeMap::from([
        ("webhooks_list", For::Members(Viewer)),
        ("webhooks_create", For::Members(Admin)),
        ("webhooks_update", For::Members(Admin)),
        ("webhooks_delete", For::Members(Admin)),
        ("webhooks_rotate", For::Members(Admin)),
        ("webhooks_test", For::Members(Editor)),
        ("deliveries_list", For::Members(Viewer)),
        ("deliveries_retry", For::Members(Editor)),
        ("deferred_read", For::Members(Viewer)),
        ("deferred_list", For::Members(Viewer)),
        ("deferred_retry", For::Members(Editor)),
        ("deferred_delete", For::Members(Editor)),
        ("alerts_list", For::Members(Viewer)),
        ("alerts_create", For::Members(Editor)),
        ("alerts_update", For::Members(Editor)),
        ("alerts_delete", For::Members(Editor)),
        ("alerts_backtest", For::Members(Viewer)),
        ("alerts_mute", For::Members(Editor)),
    ])
}

/// The bodies of the operations that take one. All are valid, so that only the caller is wrong.
fn body(operation: &str, things: &Things) -> Option<Value> {
    let limits = json!([{ "algorithm": "fixed_window", "limit": 5, "window_ms": 1000 }]);
    let rule = json!({ "name": "other", "count_by": ["user"], "limits": limits });
    let subject = json!({ "user": "u-2" });
    let override_body = json!({ "rule_id": things.rule, "subject": subject, "action": "deny" });
    Some(match operation {
        "me_rename" | "tenants_create" | "tenants_update" | "tenants_delete" => {
            json!({ "name": "Acme" })
        }
        "me_password" => {
            json!({ "current_password": "wrong horse", "new_password": "new horse staple" })
        }
        "me_second_factor_begin" => json!({ "current_password": "wrong horse" }),
        "me_second_factor_confirm" | "me_recovery_codes" => json!({ "code": "000000" }),
        "me_second_factor_remove" => json!({ "current_password": "wrong horse", "code": "000000" }),
        "operator_password_resets" => json!({ "email": "nobody@example.com" }),
        "invitations_create" => json!({ "email": "new@example.com", "role": "viewer" }),
        "invitations_accept" => json!({ "token": "invite_of-nobody" }),
        "members_change" => json!({ "role": "editor" }),
        "operator_tenants_suspend" => json!({ "suspended": false }),
        "operator_ceilings_set" | "operator_defaults_set" => json!({ "api_keys": 50 }),
        "operator_enforcement_set" => json!({ "enforcement": "on" }),
        "operator_regions_set" => json!({ "regions": [] }),
        "keys_create" => json!({ "name": "k", "scopes": ["read"] }),
        "keys_rotate" | "webhooks_rotate" => json!({ "overlap_s": 5 }),
        "alerts_mute" => json!({ "for_s": 5 }),
        "rules_create" | "rules_update" => rule,
        "rules_apply" => json!({ "rules": [{ "rule": rule }] }),
        "rules_revert" | "profiles_revert" | "plans_revert" => json!({ "revision": 1 }),
        "overrides_create" | "overrides_update" => override_body,
        "profiles_create" | "profiles_update" => profile("other"),
        "plans_create" | "plans_update" => json!({ "name": "other" }),
        "customers_view_token" => json!({ "ttl_s": 60 }),
        "customer_view_update" => json!({ "title": "Acme API" }),
        "assignments_create" => json!({ "customer": "acme", "plan": things.plan }),
        "assignments_bulk" => {
            json!({ "assignments": [{ "customer": "acme", "plan": things.plan }] })
        }
        "namespaces_update" => json!({ "spread_by": ["user"] }),
        "overrides_bulk" => json!({ "overrides": [override_body] }),
        "overrides_restore" => json!({ "override": override_body }),
        "simulate" => json!({ "rule": rule, "source": "recorded" }),
        "rules_suggest" => json!({
            "namespace": "default", "count_by": ["user"], "algorithm": "fixed_window", "window_ms": 1000,
        }),
        "test" | "subjects_inspect" => json!({ "attributes": { "user": "u-1" } }),
        "subjects_near_limit_of_plan" => {
            json!({ "rule_id": things.rule, "plan": { "id": things.plan, "rules": [] } })
        }
        "counters_inspect" => json!({ "rule_id": things.rule, "subjects": [{ "user": "u-1" }] }),
        "webhooks_create" | "webhooks_update" => {
            json!({ "name": "w", "url": "http://127.0.0.1:9/" })
        }
        "alerts_backtest" => json!({ "kind": "denial_share", "share_percent": 5 }),
        "alerts_create" | "alerts_update" => json!({
            "name": "a", "webhook_id": things.webhook, "kind": "denial_share", "share_percent": 5,
        }),
        "subjects_raise" | "subjects_block" | "subjects_allow" => {
            json!({ "rule_id": things.rule, "subject": { "user": "u-2" }, "for_s": 3600 })
        }
        "counters_reset" => json!({ "rule_id": things.rule, "subject": { "user": "u-1" } }),
        _ => return None,
    })
}

fn profile(name: &str) -> Value {
    json!({ "name": name, "reads": "ext_authz", "attributes": { "ip": { "from": "address" } } })
}

/// One object of each kind in a tenant.
#[derive(Debug, Clone)]
pub(super) struct Things {
    pub(super) tenant: String,
    key: String,
    pub(super) rule: String,
    pub(super) exception: String,
    pub(super) profile: String,
    plan: String,
    assignment: String,
    user: String,
    invitation: String,
    webhook: String,
    delivery: String,
    deferred: String,
    alert: String,
}

impl Things {
    pub(super) async fn of(plane: &Plane, member: &Member) -> Self {
        let key = json!({ "name": "k", "scopes": ["read"] });
        let key = plane.by(member, "POST", "keys").json(&key).send().await.expect(201);
        let limits = json!([{ "algorithm": "fixed_window", "limit": 5, "window_ms": 1000 }]);
        let rule = json!({ "name": "login", "count_by": ["user"], "limits": limits });
        let rule = plane.by(member, "POST", "rules").json(&rule).send().await.expect(201);
        let exception =
            json!({ "rule_id": rule.text("/id"), "subject": { "user": "u-1" }, "action": "deny" });
        let exception =
            plane.by(member, "POST", "overrides").json(&exception).send().await.expect(201);
        let profile = plane.by(member, "POST", "profiles").json(&profile("edge"));
        let profile = profile.send().await.expect(201);
        let (plan, assignment) = plan_of(plane, member).await;
        let spread = plane.by(member, "PUT", "namespaces/default").header("if-match", "\"0\"");
        spread.json(&json!({ "spread_by": ["user"] })).send().await.expect(200);
        let invite = json!({ "email": "invited@example.com", "role": "viewer" });
        let invited =
            plane.by(member, "POST", "invitations").json(&invite).send().await.expect(201);
        let webhook = json!({ "name": "w", "url": "http://127.0.0.1:9/" });
        let webhook = plane.by(member, "POST", "webhooks").json(&webhook).send().await.expect(201);
        let webhook = webhook.text("/webhook/id");
        let path = format!("webhooks/{webhook}/test");
        let delivery = plane.by(member, "POST", &path).send().await.expect(202);
        let alert = json!({
            "name": "a", "webhook_id": webhook, "kind": "denial_share", "share_percent": 5,
        });
        let alert = plane.by(member, "POST", "alerts").json(&alert).send().await.expect(201);
        Self {
            webhook,
            delivery: delivery.text("/id"),
            deferred: dead_letter(plane, &member.tenant).await.to_string(),
            alert: alert.text("/id"),
            user: member.user.clone(),
            invitation: invited.text("/invitation/id"),
            tenant: member.tenant.clone(),
            key: key.text("/id"),
            rule: rule.text("/id"),
            exception: exception.text("/id"),
            profile: profile.text("/id"),
            plan,
            assignment,
        }
    }

    /// Well-formed ids without objects.
    fn missing() -> Self {
        Self {
            tenant: TenantId::from_u128(1).to_string(),
            key: KeyId::from_u128(1).to_string(),
            rule: RuleId::from_u128(1).to_string(),
            exception: OverrideId::from_u128(1).to_string(),
            profile: ProfileId::from_u128(1).to_string(),
            plan: PlanId::from_u128(1).to_string(),
            assignment: AssignmentId::from_u128(1).to_string(),
            user: UserId::from_u128(1).to_string(),
            invitation: InvitationId::from_u128(1).to_string(),
            webhook: WebhookId::from_u128(1).to_string(),
            delivery: DeliveryId::from_u128(1).to_string(),
            deferred: DeferredId::from_u128(1).to_string(),
            alert: AlertId::from_u128(1).to_string(),
        }
    }
}

/// A plan of the tenant, and the assignment of a customer to it.
async fn plan_of(plane: &Plane, member: &Member) -> (String, String) {
    let attribute = json!({ "customer_attribute": "user" });
    plane.by(member, "PATCH", "").json(&attribute).send().await.expect(200);
    let plan = plane.by(member, "POST", "plans").json(&json!({ "name": "pro" }));
    let plan = plan.send().await.expect(201).text("/id");
    let assigned = json!({ "customer": "acme", "plan": plan });
    let assigned = plane.by(member, "POST", "assignments").json(&assigned).send().await;
    (plan, assigned.expect(201).text("/id"))
}

/// A dead letter of a tenant.
pub(super) async fn dead_letter(plane: &Plane, tenant: &str) -> DeferredId {
    let tenant: TenantId = tenant.parse().expect("an id");
    let id = DeferredId::from_u128(tenant.to_u128());
    let job = DeferredJob {
        namespace: "default".to_owned(),
        attributes: BTreeMap::from([("user".to_owned(), "u-1".to_owned())]),
        cost: 1,
        target: WebhookId::from_u128(1).to_string(),
        key: "key".to_owned(),
        message: json!({ "data": { "payload": { "number": 1 } } }).to_string(),
    };
    let lasts = std::time::Duration::from_mins(1);
    let new = NewJob { id, order: 1, fingerprint: "f", job: &job, lasts };
    let stored = plane.state.deferred.put(tenant, &new).await.expect("Redis");
    let Stored::Stored { state, claim: Some(claim), .. } = stored else { panic!("{stored:?}") };
    let failed = Settled::Failed("the receiver answered 500".to_owned());
    let claim = (id, state.order.as_str(), claim);
    assert!(plane.state.deferred.settle(tenant, claim, &failed).await.expect("Redis"));
    id
}

/// One operation of the document.
#[derive(Debug)]
pub(super) struct Operation {
    pub(super) id: String,
    pub(super) method: String,
    pub(super) path: String,
    public: bool,
}

pub(super) fn operations() -> Vec<Operation> {
    let document = serde_json::to_value(crate::openapi()).expect("a document serialises");
    let mut operations = Vec::new();
    for (path, item) in document["paths"].as_object().expect("an object") {
        for (method, operation) in item.as_object().expect("an object") {
            operations.push(Operation {
                id: operation["operationId"].as_str().expect("each has an id").to_owned(),
                method: method.to_uppercase(),
                path: path.clone(),
                public: operation["security"] == json!([]),
            });
        }
    }
    operations
}

pub(super) async fn ask(
    plane: &Plane,
    operation: &Operation,
    things: &Things,
    token: Option<&str>,
) -> Answer {
    let path = operation
        .path
        .replace("{tenant}", &things.tenant)
        .replace("{key}", &things.key)
        .replace("{rule}", &things.rule)
        .replace("{override}", &things.exception)
        .replace("{profile}", &things.profile)
        .replace("{plan}", &things.plan)
        .replace("{assignment}", &things.assignment)
        .replace("{customer}", "acme")
        .replace("{namespace}", "default")
        .replace("{user}", &things.user)
        .replace("{request_id}", &RequestId::from_u128(1).to_string())
        .replace("{session}", &SessionId::from_u128(1).to_string())
        .replace("{invitation}", &things.invitation)
        .replace("{webhook}", &things.webhook)
        .replace("{delivery}", &things.delivery)
        .replace("{deferred}", &things.deferred)
        .replace("{alert}", &things.alert);
    assert!(!path.contains('{'), "no sample for a parameter of {path}");
    let query = if operation.id == "search" { "?q=login" } else { "" };
    let path = format!("{path}{query}");
    let mut ask = plane.ask(&operation.method, &path).header("if-match", "\"1\"");
    if let Some(token) = token {
        ask = ask.bearer(token);
    }
    if let Some(body) = body(&operation.id, things) {
        ask = ask.json(&body);
    }
    ask.send().await
}

/// An answer without its request ids.
fn bare(mut answer: Answer) -> (u16, Value, Vec<String>) {
    if let Some(id) = answer.body.get_mut("request_id") {
        id.take();
    }
    answer.headers.remove("x-request-id");
    let headers = answer.headers.iter().map(|(name, value)| format!("{name}: {value:?}")).collect();
    (answer.status.as_u16(), answer.body, headers)
}

/// A member with this role in another person's tenant, who also owns a tenant.
async fn with_role(plane: &Plane, owner: &Member, role: MemberRole) -> Member {
    let member = plane.member(&format!("{}@example.com", role.as_str())).await;
    in_tenant_of(plane, owner, member, role).await
}

async fn in_tenant_of(plane: &Plane, owner: &Member, member: Member, role: MemberRole) -> Member {
    let tenant: TenantId = owner.tenant.parse().expect("an id");
    let user: UserId = member.user.parse().expect("an id");
    let scope = Scope::Tenant(tenant);
    let mut tx = plane.database.owner.begin("tests.member", scope).await.expect("begin");
    let now = weir_domain::time::Timestamp::from_millis(0);
    tx.members().insert(tenant, user, role, now).await.expect("insert");
    tx.commit().await.expect("commit");
    Member { tenant: owner.tenant.clone(), ..member }
}

#[test]
fn every_operation_has_a_row_and_every_row_an_operation() {
    let operations = operations();
    let mut ids: Vec<_> = operations.iter().map(|operation| operation.id.as_str()).collect();
    ids.sort_unstable();
    let rows: Vec<_> = table().into_keys().collect();
    assert_eq!(ids, rows);
    for operation in &operations {
        let public = table()[operation.id.as_str()] == For::Anybody;
        assert_eq!(operation.public, public, "{}", operation.id);
    }
}

#[tokio::test]
async fn nobody_gets_anything_without_credentials() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    let things = Things::of(&plane, &ada).await;
    for operation in operations().iter().filter(|operation| !operation.public) {
        for token in [None, Some("garbage"), Some("weir_garbage"), Some("a.b.c")] {
            let answer = ask(&plane, operation, &things, token).await;
            assert_eq!(answer.status, 401, "{} with {token:?}", operation.id);
            assert_eq!(answer.body["code"], "unauthenticated");
        }
    }
}

#[tokio::test]
async fn another_tenant_is_the_same_as_none() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    let eve = plane.member("eve@example.com").await;
    let key = plane.key(&eve, &["admin"]).await;
    let (theirs, missing) = (Things::of(&plane, &ada).await, Things::missing());
    // Objects of the other tenant in a path of the caller's own tenant.
    let smuggled = Things { tenant: eve.tenant.clone(), ..theirs.clone() };
    let unknown = Things { tenant: eve.tenant.clone(), ..missing.clone() };
    for operation in operations().iter().filter(|operation| operation.path.contains("{tenant}")) {
        for token in [&eve.token, &key] {
            let other = bare(ask(&plane, operation, &theirs, Some(token)).await);
            let none = bare(ask(&plane, operation, &missing, Some(token)).await);
            assert_eq!(other.0, 404, "{}: {}", operation.id, other.1);
            assert_eq!(other, none, "{}", operation.id);
        }
        if [
            "{key}",
            "{rule}",
            "{override}",
            "{profile}",
            "{user}",
            "{invitation}",
            "{webhook}",
            "{delivery}",
            "{deferred}",
            "{alert}",
        ]
        .iter()
        .any(|name| operation.path.contains(name))
        {
            for token in [&eve.token, &key] {
                let other = bare(ask(&plane, operation, &smuggled, Some(token)).await);
                let none = bare(ask(&plane, operation, &unknown, Some(token)).await);
                assert_eq!(other, none, "{}", operation.id);
                assert!([403, 404].contains(&other.0), "{}: {}", operation.id, other.1);
            }
        }
    }
    let rules = plane.by(&ada, "GET", "rules").send().await.expect(200);
    assert_eq!(rules.body["data"][0]["revision"], 1, "nothing was changed");
}

#[tokio::test]
async fn too_low_a_role_is_refused_and_the_right_one_is_not() {
    use MemberRole::{Admin, Editor, Owner, Viewer};
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    let guest = plane.member("guest@example.com").await;
    let guest = in_tenant_of(&plane, &ada, guest, Viewer).await;
    let things = Things { user: guest.user, ..Things::of(&plane, &ada).await };
    let mut members = Vec::new();
    for role in [Viewer, Editor, Admin] {
        members.push((role, with_role(&plane, &ada, role).await));
    }
    members.push((Owner, ada));
    let table = table();
    // Operations that delete objects come last, and finally those that end the caller's membership.
    let mut operations = operations();
    operations.sort_by_key(|operation| match operation.id.as_str() {
        "members_leave" => 3,
        "tenants_delete" => 2,
        _ => u8::from(operation.method == "DELETE"),
    });
    for operation in &operations {
        let For::Members(needed) = table[operation.id.as_str()] else { continue };
        for (role, member) in &members {
            let answer = ask(&plane, operation, &things, Some(&member.token)).await;
            let status = answer.status.as_u16();
            if *role < needed {
                assert_eq!(status, 403, "{} by {role:?}: {}", operation.id, answer.body);
            } else {
                assert!(
                    ![401, 403, 500, 503].contains(&status),
                    "{} by {role:?}: {}",
                    operation.id,
                    answer.body
                );
            }
        }
    }
}

#[tokio::test]
async fn operations_for_operators_do_not_exist_for_others() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    let things = Things::of(&plane, &ada).await;
    let key = plane.key(&ada, &["admin"]).await;
    let table = table();
    for operation in operations() {
        if table[operation.id.as_str()] == For::Operators {
            for token in [&ada.token, &key] {
                let answer = ask(&plane, &operation, &things, Some(token)).await;
                assert_eq!(answer.status, 404, "{}", operation.id);
            }
        }
    }
}

#[tokio::test]
async fn members_lose_their_rights_at_once() {
    let plane = Plane::start().await;
    let ada = plane.member("ada@example.com").await;
    let eve = with_role(&plane, &ada, MemberRole::Viewer).await;
    plane.by(&eve, "GET", "rules").send().await.expect(200);
    let delete = plane.by(&ada, "DELETE", "").json(&json!({ "name": "Acme" }));
    delete.send().await.expect(204);
    plane.by(&eve, "GET", "rules").send().await.problem(404, "not_found");
}

#[test]
fn every_operation_lists_its_problems_with_their_body() {
    let document = serde_json::to_value(crate::openapi()).expect("a document serialises");
    assert_eq!(document["openapi"], "3.1.0");
    for (path, item) in document["paths"].as_object().expect("an object") {
        for (method, operation) in item.as_object().expect("an object") {
            let responses = operation["responses"].as_object().expect("an object");
            assert!(responses.contains_key("500"), "{method} {path}");
            for (status, response) in
                responses.iter().filter(|(status, _)| status.as_str() >= "400")
            {
                let schema = &response["content"]["application/problem+json"]["schema"]["$ref"];
                assert_eq!(schema, "#/components/schemas/ProblemBody", "{method} {path} {status}");
            }
        }
    }
}
