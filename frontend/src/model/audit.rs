//! Audit entries in words, and which of them somebody wants to see.

use serde_json::Value;
use weir_wire::audit::{ActorKind, AuditActor, AuditEntry};

/// What was done to what: `changed rule login-per-user`.
pub fn deed(entry: &AuditEntry) -> String {
    let verb = match entry.action.as_str() {
        "tenant.create" => "made the tenant",
        "tenant.rename" => "renamed the tenant to",
        "tenant.update" => "changed the settings of the tenant",
        "tenant.delete" => "deleted the tenant",
        "tenant.suspend" => "suspended the tenant",
        "tenant.resume" => "resumed the tenant",
        "rule.create" => "created rule",
        "rule.update" => "changed rule",
        "rule.revert" => "reverted rule",
        "rule.delete" => "deleted rule",
        "override.create" => "created override",
        "override.update" => "changed override",
        "override.delete" => "deleted override",
        "override.bulk" => "imported overrides",
        "key.create" => "made key",
        "key.rotate" => "gave a new secret to key",
        "key.delete" => "revoked key",
        "member.join" => "joined as",
        "member.change" => "changed the role of",
        "member.remove" => "removed member",
        "member.leave" => "left:",
        "invitation.create" => "invited",
        "invitation.withdraw" => "withdrew the invitation of",
        "counters.reset" => "reset the counter of rule",
        "access.denied" => "was refused",
        other => return format!("{other} {}", object(entry)),
    };
    format!("{verb} {}", object(entry)).trim_end().to_owned()
}

/// Who did it.
pub fn who(actor: &AuditActor) -> String {
    let name = actor.name.as_deref().filter(|name| !name.is_empty());
    match actor.kind {
        ActorKind::Person => name.unwrap_or("somebody").to_owned(),
        ActorKind::Key => format!("key {}", name.unwrap_or("without a name")),
        ActorKind::System => "Weir itself".to_owned(),
    }
}

/// The kinds of things that are acted on, with what they are called in a filter.
pub fn kinds() -> Vec<(Option<&'static str>, String)> {
    let kind = |kind, called: &str| (Some(kind), called.to_owned());
    vec![
        (None, "Anything".to_owned()),
        kind("rule", "Rules"),
        kind("override", "Overrides"),
        kind("key", "Keys"),
        kind("member", "Members"),
        kind("invitation", "Invitations"),
        kind("tenant", "The tenant"),
        kind("operation", "Refused access"),
    ]
}

/// Whether every word of `typed` occurs in the entry, and it is about the wanted kind.
pub fn shows(entry: &AuditEntry, typed: &str, kind: Option<&str>) -> bool {
    if kind.is_some_and(|kind| kind != entry.object_kind) {
        return false;
    }
    let ip = entry.ip.as_deref().unwrap_or_default();
    let AuditEntry { action, object_id, request_id, .. } = entry;
    let (who, deed) = (who(&entry.actor), deed(entry));
    let text = format!("{who} {deed} {action} {object_id} {ip} {request_id}").to_lowercase();
    typed.to_lowercase().split_whitespace().all(|word| text.contains(word))
}

/// What the thing is called, as far as the entry tells; its id otherwise.
fn object(entry: &AuditEntry) -> &str {
    let field = match entry.action.as_str() {
        "member.join" => "role",
        "member.change" | "member.remove" | "member.leave" => "email",
        _ => "name",
    };
    let sides = [entry.after.as_ref(), entry.before.as_ref()];
    let mut named = sides.into_iter().flatten().filter_map(|side: &Value| {
        side.get(field).or_else(|| side.get("email")).and_then(Value::as_str)
    });
    let unnamed = if entry.object_kind == "tenant" { "" } else { &entry.object_id };
    named.next().unwrap_or(unnamed)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn entry(action: &str, kind: &str, before: &Value, after: &Value) -> AuditEntry {
        serde_json::from_value(json!({
            "id": "audit_1", "at": "2026-11-21T03:00:00Z",
            "actor": {"kind": "person", "id": "user_1", "name": "ada@example.com"},
            "action": action, "object_kind": kind, "object_id": format!("{kind}_1"),
            "before": before, "after": after, "ip": "192.0.2.7", "request_id": "req_1"
        }))
        .expect("an entry")
    }

    #[test]
    fn deeds_name_what_they_were_done_to() {
        let told = |action: &str, before: Value, after: Value| {
            let kind = action.split('.').next().unwrap_or_default();
            deed(&entry(action, kind, &before, &after))
        };
        let named = || json!({"name": "login"});
        assert_eq!(told("rule.update", named(), named()), "changed rule login");
        assert_eq!(told("rule.delete", named(), Value::Null), "deleted rule login");
        assert_eq!(told("override.delete", json!({}), Value::Null), "deleted override override_1");
        let person = || json!({"name": "Ada", "email": "ada@example.com", "role": "viewer"});
        assert_eq!(
            told("member.change", person(), person()),
            "changed the role of ada@example.com"
        );
        assert_eq!(told("member.join", Value::Null, person()), "joined as viewer");
        let invited = json!({"email": "ada@example.com", "role": "viewer"});
        assert_eq!(told("invitation.create", Value::Null, invited), "invited ada@example.com");
        let suspended = json!({"suspended": true});
        assert_eq!(told("tenant.suspend", Value::Null, suspended), "suspended the tenant");
        assert_eq!(told("new.thing", Value::Null, Value::Null), "new.thing new_1");
    }

    #[test]
    fn filter_wants_every_word_and_the_kind() {
        let it = entry("rule.update", "rule", &Value::Null, &json!({"name": "login"}));
        assert!(shows(&it, "", None));
        assert!(shows(&it, "ADA login 192.0.2", Some("rule")));
        assert!(!shows(&it, "ada logout", None));
        assert!(!shows(&it, "", Some("key")));
    }

    #[test]
    fn actors_have_names() {
        let actor = |kind, name: &str| AuditActor { kind, id: None, name: Some(name.to_owned()) };
        assert_eq!(who(&actor(ActorKind::Person, "ada@example.com")), "ada@example.com");
        assert_eq!(who(&actor(ActorKind::Key, "deploy")), "key deploy");
        assert_eq!(who(&actor(ActorKind::System, "")), "Weir itself");
    }
}
