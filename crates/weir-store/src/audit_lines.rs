//! Audit entries as lines of the log of the process, for installations that collect logs.

use serde_json::Value;

use crate::audit::NewAudit;

/// Logs a committed entry. `before` and `after` are JSON texts.
pub(crate) fn log(entry: &NewAudit) {
    let text = |value: &Option<Value>| value.as_ref().map(Value::to_string);
    tracing::debug!(
        target: "weir::audit",
        {
            audit.id = %entry.id,
            tenant.id = entry.tenant_id.map(tracing::field::display),
            actor.kind = entry.actor.kind(),
            actor.id = entry.actor.id(),
            actor.name = entry.actor.label(),
            action = entry.action,
            object.kind = entry.object_kind,
            object.id = entry.object_id,
            before = text(&entry.before),
            after = text(&entry.after),
            ip = entry.ip,
            request.id = entry.request_id,
        },
        "audit entry"
    );
}
