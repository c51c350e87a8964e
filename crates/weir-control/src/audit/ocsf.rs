//! Audit entries as events of the Open Cybersecurity Schema Framework (OCSF) 1.3, class API Activity.

use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse as _, Response};
use serde_json::{Map, Value, json};
use weir_wire::audit::{ActorKind, AuditEntry};

const VERSION: &str = "1.3.0";
/// Application Activity, and its class API Activity.
const CATEGORY: u32 = 6;
const CLASS: u32 = 6003;

/// One line for each entry.
pub(super) fn answer(entries: &[AuditEntry]) -> Response {
    let mut lines = String::new();
    for entry in entries {
        lines.push_str(&event(entry).to_string());
        lines.push('\n');
    }
    let ndjson = HeaderValue::from_static("application/x-ndjson");
    ([(header::CONTENT_TYPE, ndjson)], lines).into_response()
}

fn event(entry: &AuditEntry) -> Value {
    let activity = activity(&entry.action);
    let refused = entry.action.starts_with("access.denied") || entry.action.ends_with("_refused");
    let mut user = Map::new();
    let mut put = |name: &str, value: Option<&String>| {
        user.extend(value.map(|text| (name.to_owned(), Value::from(text.clone()))));
    };
    put("uid", entry.actor.id.as_ref());
    put("name", entry.actor.name.as_ref());
    // 1: user, 3: system, 99: other.
    let kind = match entry.actor.kind {
        ActorKind::Person => 1,
        ActorKind::System => 3,
        ActorKind::Key | ActorKind::Anonymous => 99,
    };
    user.insert("type_id".to_owned(), kind.into());
    let client = match &entry.ip {
        Some(ip) => json!({ "ip": ip }),
        None => json!({ "name": "weir" }),
    };
    json!({
        "category_uid": CATEGORY,
        "class_uid": CLASS,
        "activity_id": activity,
        "type_uid": CLASS * 100 + activity,
        "severity_id": if refused { 2 } else { 1 },
        "status_id": if refused { 2 } else { 1 },
        "time": entry.at.0.as_millis_u64(),
        "metadata": {
            "version": VERSION,
            "product": { "name": "Weir", "vendor_name": "Weir" },
            "log_name": "audit",
            "uid": entry.id,
            "sequence": entry.seq,
            "tenant_uid": entry.tenant_id,
        },
        "actor": { "user": user },
        "src_endpoint": client,
        "api": { "operation": entry.action, "request": { "uid": entry.request_id } },
        "resources": [{ "type": entry.object_kind, "uid": entry.object_id }],
        "unmapped": { "before": entry.before, "after": entry.after },
    })
}

/// The activity of an action: 1 create, 3 update, 4 delete, 99 other.
fn activity(action: &str) -> u32 {
    match action.rsplit('.').next() {
        Some("create" | "signup") => 1,
        Some("update" | "rotate" | "rename" | "revert" | "apply") => 3,
        Some("delete" | "revoke" | "purge") => 4,
        _ => 99,
    }
}

#[cfg(test)]
mod tests {
    use weir_domain::time::Timestamp;
    use weir_wire::audit::AuditActor;

    use super::*;

    #[test]
    fn entry_becomes_an_api_activity() {
        let entry = AuditEntry {
            id: "audit_1".to_owned(),
            tenant_id: Some("tenant_1".to_owned()),
            seq: 7,
            at: Timestamp::from_millis(1_763_726_400_000).into(),
            actor: AuditActor {
                kind: ActorKind::Person,
                id: Some("user_1".to_owned()),
                name: Some("ada@example.com".to_owned()),
            },
            action: "rule.update".to_owned(),
            object_kind: "rule".to_owned(),
            object_id: "rule_1".to_owned(),
            before: Some(json!({ "limit": 1 })),
            after: Some(json!({ "limit": 2 })),
            summary: None,
            ip: None,
            request_id: "req_1".to_owned(),
        };
        let expected = json!({
            "category_uid": 6, "class_uid": 6003, "activity_id": 3, "type_uid": 600_303,
            "severity_id": 1, "status_id": 1, "time": 1_763_726_400_000_u64,
            "metadata": {
                "version": "1.3.0", "product": { "name": "Weir", "vendor_name": "Weir" },
                "log_name": "audit", "uid": "audit_1", "sequence": 7, "tenant_uid": "tenant_1",
            },
            "actor": { "user": { "uid": "user_1", "name": "ada@example.com", "type_id": 1 } },
            "src_endpoint": { "name": "weir" },
            "api": { "operation": "rule.update", "request": { "uid": "req_1" } },
            "resources": [{ "type": "rule", "uid": "rule_1" }],
            "unmapped": { "before": { "limit": 1 }, "after": { "limit": 2 } },
        });
        assert_eq!(event(&entry), expected);
        let refused = AuditEntry { action: "user.login_refused".to_owned(), ..entry };
        assert_eq!(
            (&event(&refused)["status_id"], &event(&refused)["activity_id"]),
            (&json!(2), &json!(99))
        );
    }
}
