//! Audit entries as sentences.

use std::collections::BTreeMap;

use serde_json::Value;
use weir_wire::audit::{ActorKind, AuditActor, AuditEntry};

use crate::model::deleted_overrides::DeletedOverrides;
use crate::model::{json, subject};

/// The action and its object, such as `changed rule login-per-user`; `name` returns the name of a rule or webhook by its id, if it is known.
pub fn sentence(entry: &AuditEntry, name: &dyn Fn(&str) -> Option<String>) -> String {
    if let Some(event) = account_event(&entry.action) {
        return event.to_owned();
    }
    let verb = match entry.action.as_str() {
        "tenant.create" => "created the tenant",
        "tenant.rename" => "renamed the tenant to",
        "tenant.update" => "changed the settings of the tenant",
        "tenant.enforcement" => "turned limits on or off for the tenant",
        "tenant.ceilings" => "changed the ceilings of the tenant",
        "installation.enforcement" => "turned limits on or off for every tenant",
        "installation.regions" | "regions.add" | "regions.remove" | "regions.promote" => {
            return "changed the regions".to_owned();
        }
        "installation.ceilings" => "changed the default ceilings",
        "tenant.delete" => "deleted the tenant",
        "tenant.suspend" => "suspended the tenant",
        "tenant.resume" => "resumed the tenant",
        "rule.create" => "created rule",
        "rule.update" => "changed rule",
        "rule.revert" => "reverted rule",
        "rule.delete" => "deleted rule",
        "namespace.update" => "changed namespace",
        "views.update" => return "changed the saved views".to_owned(),
        "override.create" => "created override",
        "override.update" => "changed override",
        "override.delete" => "deleted override",
        "override.bulk" => "imported overrides",
        "key.create" => "created key",
        "key.rotate" => "rotated key",
        "key.delete" => "revoked key",
        "member.join" => "joined as",
        "member.change" => "changed the role of",
        "member.remove" => "removed member",
        "member.leave" => "left the tenant:",
        "invitation.create" => "invited",
        "invitation.revoke" | "invitation.withdraw" => "revoked the invitation of",
        "alert.create" => "created alert",
        "alert.update" => "changed alert",
        "alert.delete" => "deleted alert",
        "alert.mute" => "muted or unmuted alert",
        "webhook.create" => "created webhook",
        "webhook.update" => "changed webhook",
        "webhook.rotate" => "rotated the secret of webhook",
        "webhook.delete" => "deleted webhook",
        "webhook.test" => "sent a test event to webhook",
        "delivery.retry" => "resent delivery",
        "profile.create" => "created profile",
        "profile.update" => "changed profile",
        "profile.revert" => "reverted profile",
        "profile.delete" => "deleted profile",
        "deferred.retry" => "retried deferred job",
        "deferred.delete" => "deleted deferred job",
        "counters.reset" => "reset the counter of rule",
        "counters.reset_requested" => "requested a reset of the counter of rule",
        "counters.reset_failed" => "got no answer to the reset of the counter of rule",
        "access.denied" => "was denied access to",
        "access.denied_more" => return more_denials(entry),
        "audit.purge" => "removed old entries of this log",
        other => return format!("{other} {}", object(entry, name)),
    };
    let text = format!("{verb} {}", object(entry, name)).trim_end().to_owned();
    match DeletedOverrides::of(entry) {
        Some(deleted) => format!("{text} with {}", deleted.text()),
        None => text,
    }
}

/// An event of an account, which needs no object.
fn account_event(action: &str) -> Option<&'static str> {
    Some(match action {
        "user.signup" => "created an account",
        "user.login" => "signed in",
        "user.login_refused" => "failed to sign in",
        "user.logout" => "signed out",
        "user.password" => "changed the password",
        "user.rename" => "changed the name of the account",
        "user.create" => "created the account",
        "user.disable" => "disabled the account",
        "user.enable" => "enabled the account",
        "user.operator" => "made the account an operator",
        "user.operator_revoke" => "revoked the account's operator rights",
        "user.password_reset" => "set a new password for the account",
        "user.password_reset_request" => "requested a password reset by e-mail",
        "user.password_reset_issue" => "issued a password reset link",
        "user.second_factor_begin" => "began to set up two-factor authentication",
        "user.second_factor_enable" => "turned on two-factor authentication",
        "user.second_factor_remove" => "turned off two-factor authentication",
        "user.recovery_codes" => "created new recovery codes",
        "user.identity_link" => "linked a sign-in provider",
        "user.identity_unlink" => "unlinked a sign-in provider",
        "user.session_end" => "ended a session",
        "user.sessions_end" => "ended sessions of the account",
        "sessions.end_all" => "ended all sessions",
        "user.refresh_reused" => "reused a refresh token; the session was ended",
        _ => return None,
    })
}

/// The ids of the rules that a sentence about the entry names.
pub fn named_rule(entry: &AuditEntry) -> Option<&str> {
    match entry.object_kind.as_str() {
        "rule" => Some(&entry.object_id),
        "override" => sides(entry).find_map(|side| side.get("rule_id")?.as_str()),
        _ => None,
    }
}

/// The display name of an actor.
pub fn actor_label(actor: &AuditActor) -> String {
    let name = actor.name.as_deref().filter(|name| !name.is_empty());
    match actor.kind {
        ActorKind::Person => name.unwrap_or("unknown person").to_owned(),
        ActorKind::Key => format!("key {}", name.unwrap_or("without name")),
        ActorKind::System => "Weir".to_owned(),
        ActorKind::Anonymous => "not signed in".to_owned(),
    }
}

/// Summarises the denials of one minute that have no entries of their own.
fn more_denials(entry: &AuditEntry) -> String {
    let count = entry.after.as_ref().and_then(|after| after.get("count")?.as_u64()).unwrap_or(0);
    format!("was denied {count} more times within a minute")
}

/// The name of the object, if the entry has it or it is known; otherwise its id.
fn object(entry: &AuditEntry, name: &dyn Fn(&str) -> Option<String>) -> String {
    let field = match entry.action.as_str() {
        "member.join" => "role",
        "member.change" | "member.remove" | "member.leave" => "email",
        _ => "name",
    };
    let mut named = sides(entry).filter_map(|side: &Value| {
        side.get(field).or_else(|| side.get("email")).and_then(Value::as_str)
    });
    let unnamed = if entry.object_kind == "tenant" { "" } else { &entry.object_id };
    let mut text = match (named.next(), named_rule(entry).and_then(name)) {
        (Some(named), _) => named.to_owned(),
        (None, Some(rule)) => rule,
        (None, None) => name(&entry.object_id).unwrap_or_else(|| unnamed.to_owned()),
    };
    let Some(of) = subject_of(entry) else { return text };
    if entry.object_kind == "override" {
        let rule = named_rule(entry).and_then(name);
        return rule.map_or_else(|| of.clone(), |rule| format!("of {rule} for {of}"));
    }
    text += " for ";
    text + &of
}

fn sides(entry: &AuditEntry) -> impl Iterator<Item = &Value> {
    [entry.after.as_ref(), entry.before.as_ref()].into_iter().flatten()
}

/// The subject of an override or a reset.
fn subject_of(entry: &AuditEntry) -> Option<String> {
    let subject =
        sides(entry).find_map(|side| side.get("subject").filter(|subject| subject.is_object()))?;
    let attributes: BTreeMap<String, String> = json::read_value(subject).ok()?;
    Some(subject::label(&attributes))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn sentence_of(entry: &AuditEntry) -> String {
        sentence(entry, &|_| None)
    }

    fn entry(action: &str, kind: &str, before: &Value, after: &Value) -> AuditEntry {
        serde_json::from_value(json!({
            "id": "audit_1", "tenant_id": null, "seq": 1, "at": "2026-11-21T03:00:00Z",
            "actor": {"kind": "person", "id": "user_1", "name": "ada@example.com"},
            "action": action, "object_kind": kind, "object_id": format!("{kind}_1"),
            "before": before, "after": after, "ip": "192.0.2.7", "request_id": "req_1"
        }))
        .expect("an entry")
    }

    #[test]
    fn descriptions_name_the_object() {
        let described = |action: &str, before: Value, after: Value| {
            let kind = action.split('.').next().unwrap_or_default();
            sentence_of(&entry(action, kind, &before, &after))
        };
        let named = || json!({"name": "login"});
        assert_eq!(described("rule.update", named(), named()), "changed rule login");
        assert_eq!(described("rule.delete", named(), Value::Null), "deleted rule login");
        let with_overrides =
            json!({"name": "login", "deleted_overrides": {"count": 12, "first": []}});
        let with_overrides = described("rule.delete", with_overrides, Value::Null);
        assert_eq!(with_overrides, "deleted rule login with 12 overrides");
        assert_eq!(
            described("override.delete", json!({}), Value::Null),
            "deleted override override_1"
        );
        let person = || json!({"name": "Ada", "email": "ada@example.com", "role": "viewer"});
        assert_eq!(
            described("member.change", person(), person()),
            "changed the role of ada@example.com"
        );
        assert_eq!(described("member.join", Value::Null, person()), "joined as viewer");
        let invited = json!({"email": "ada@example.com", "role": "viewer"});
        assert_eq!(described("invitation.create", Value::Null, invited), "invited ada@example.com");
        let suspended = json!({"suspended": true});
        assert_eq!(described("tenant.suspend", Value::Null, suspended), "suspended the tenant");
        let more = json!({"count": 15, "since": "2026-11-21T03:00:00Z"});
        let more = described("access.denied_more", Value::Null, more);
        assert_eq!(more, "was denied 15 more times within a minute");
        assert_eq!(
            described("profile.create", Value::Null, json!({"name": "edge"})),
            "created profile edge"
        );
        let retried = described("deferred.retry", Value::Null, Value::Null);
        assert_eq!(retried, "retried deferred job deferred_1");
        let removed = described("user.second_factor_remove", Value::Null, Value::Null);
        assert_eq!(removed, "turned off two-factor authentication");
        assert_eq!(described("user.login", Value::Null, Value::Null), "signed in");
        assert_eq!(described("new.thing", Value::Null, Value::Null), "new.thing new_1");
    }

    #[test]
    fn overrides_and_resets_name_their_rule_and_subject() {
        let name = |id: &str| (id == "rule_1").then(|| "login".to_owned());
        let subject = json!({"rule_id": "rule_1", "subject": {"user": "u-17"}});
        let created = entry("override.create", "override", &Value::Null, &subject);
        assert_eq!(sentence(&created, &name), "created override of login for user u-17");
        assert_eq!(sentence_of(&created), "created override user u-17");
        let reset =
            entry("counters.reset", "rule", &Value::Null, &json!({"subject": {"user": "u-17"}}));
        assert_eq!(sentence(&reset, &name), "reset the counter of rule login for user u-17");
        assert_eq!(sentence_of(&reset), "reset the counter of rule rule_1 for user u-17");
    }

    #[test]
    fn actors_have_names() {
        let actor = |kind, name: &str| AuditActor { kind, id: None, name: Some(name.to_owned()) };
        assert_eq!(actor_label(&actor(ActorKind::Person, "ada@example.com")), "ada@example.com");
        assert_eq!(actor_label(&actor(ActorKind::Key, "deploy")), "key deploy");
        assert_eq!(actor_label(&actor(ActorKind::System, "")), "Weir");
    }
}
