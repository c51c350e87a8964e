//! Audit entries in words, and which of them somebody wants to see; kept in the address, so that it can be shared.

use serde_json::Value;
use weir_wire::audit::{ActorKind, AuditActor, AuditEntry};

/// What was done to what: `changed rule login-per-user`.
pub fn deed(entry: &AuditEntry) -> String {
    let verb = match entry.action.as_str() {
        "tenant.create" => "made the tenant",
        "tenant.rename" => "renamed the tenant to",
        "tenant.update" => "changed the settings of the tenant",
        "tenant.enforcement" => "turned limits on or off for the tenant",
        "tenant.ceilings" => "changed the ceilings of the tenant",
        "installation.enforcement" => "turned limits on or off for every tenant:",
        "installation.ceilings" => "changed the default ceilings:",
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
        "invitation.revoke" | "invitation.withdraw" => "revoked the invitation of",
        "alert.create" => "created alert",
        "alert.update" => "changed alert",
        "alert.delete" => "deleted alert",
        "webhook.create" => "created webhook",
        "webhook.update" => "changed webhook",
        "webhook.rotate" => "gave a new secret to webhook",
        "webhook.delete" => "deleted webhook",
        "webhook.test" => "sent a test to webhook",
        "delivery.retry" => "sent again the message",
        "counters.reset" => "reset the counter of rule",
        "access.denied" => "was refused",
        "access.denied_more" => return more_denials(entry),
        "audit.purge" => "removed old entries of this log",
        "user.signup" => return "made an account".to_owned(),
        "user.login" => return "signed in".to_owned(),
        "user.login_refused" => return "was refused to sign in".to_owned(),
        "user.logout" => return "signed out".to_owned(),
        "user.password" => return "changed the password".to_owned(),
        "user.rename" => return "changed the name of the account".to_owned(),
        "user.create" => return "made the account".to_owned(),
        "user.disable" => return "disabled the account".to_owned(),
        "user.enable" => return "enabled the account".to_owned(),
        "user.operator" => return "made the account an operator".to_owned(),
        "user.operator_revoke" => return "ended the account's rights as an operator".to_owned(),
        "user.password_reset" => return "set a new password for the account".to_owned(),
        "user.session_end" => return "ended a session".to_owned(),
        "user.sessions_end" => return "ended sessions of the account".to_owned(),
        "sessions.end_all" => return "ended the sessions of everybody".to_owned(),
        "user.refresh_reused" => return "used a refresh token twice; the session ended".to_owned(),
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
        ActorKind::Anonymous => "not signed in".to_owned(),
    }
}

/// A log that the page can show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuditLog {
    /// The tenant's.
    Tenant,
    /// The signed-in person's own.
    Mine,
    /// All outside of tenants, for operators.
    Installation,
}

/// Restricts the entries of a log.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Wanted {
    /// The log, as the address names it; empty: the tenant's.
    pub log: String,
    /// In names, ids and addresses.
    pub search: String,
    /// In the name of who did it.
    pub who: String,
    /// An action, or what is before its dot; empty for any.
    pub action: String,
    /// The first day, as a date field writes it.
    pub from: String,
    /// The last day.
    pub until: String,
}

impl Wanted {
    /// From the parameters of an address.
    pub fn of(parameter: impl Fn(&str) -> Option<String>) -> Self {
        let said = |name: &str| parameter(name).unwrap_or_default();
        Self {
            log: said("log"),
            search: said("q"),
            who: said("who"),
            action: said("action"),
            from: said("from"),
            until: said("until"),
        }
    }

    /// The parameters that say the same; what is not wanted is left out.
    pub fn parameters(&self) -> Vec<(&'static str, String)> {
        let all = [
            ("log", &self.log),
            ("q", &self.search),
            ("who", &self.who),
            ("action", &self.action),
            ("from", &self.from),
            ("until", &self.until),
        ];
        let said = all.into_iter().filter(|(_, text)| !text.trim().is_empty());
        said.map(|(name, text)| (name, text.clone())).collect()
    }

    /// The log to show.
    pub fn log(&self) -> AuditLog {
        match self.log.as_str() {
            "mine" => AuditLog::Mine,
            "installation" => AuditLog::Installation,
            _ => AuditLog::Tenant,
        }
    }

    /// What to ask the server; `day_start` and `day_after` say when a day begins and ends there, if it is one.
    pub fn asked(
        &self,
        day_start: impl Fn(&str) -> Option<String>,
        day_after: impl Fn(&str) -> Option<String>,
    ) -> Vec<(&'static str, String)> {
        let text = |text: &String| Some(text.trim().to_owned()).filter(|text| !text.is_empty());
        let all = [
            ("search", text(&self.search)),
            ("actor", text(&self.who)),
            ("action", text(&self.action)),
            ("from", day_start(&self.from)),
            ("to", day_after(&self.until)),
        ];
        all.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
    }
}

/// The logs to choose from.
pub fn logs(operator: bool) -> Vec<(String, String)> {
    let log = |(log, called): &(&str, &str)| ((*log).to_owned(), (*called).to_owned());
    LOGS.iter().filter(|(log, _)| operator || *log != "installation").map(log).collect()
}

const LOGS: [(&str, &str); 3] =
    [("", "This tenant"), ("mine", "Your account"), ("installation", "Installation")];

/// What can be done, with what it is called in a filter.
pub fn actions() -> Vec<(String, String)> {
    let action = |(action, called): &(&str, &str)| ((*action).to_owned(), (*called).to_owned());
    ACTIONS.iter().map(action).collect()
}

const ACTIONS: [(&str, &str); 28] = [
    ("", "Anything"),
    ("rule", "Anything to rules"),
    ("rule.create", "Rule created"),
    ("rule.update", "Rule changed"),
    ("rule.revert", "Rule reverted"),
    ("rule.delete", "Rule deleted"),
    ("override", "Anything to overrides"),
    ("override.create", "Override created"),
    ("override.update", "Override changed"),
    ("override.delete", "Override deleted"),
    ("override.bulk", "Overrides imported"),
    ("counters.reset", "Counter reset"),
    ("key", "Anything to keys"),
    ("key.create", "Key made"),
    ("key.rotate", "Key rotated"),
    ("key.delete", "Key revoked"),
    ("member", "Anything to members"),
    ("member.join", "Member joined"),
    ("member.change", "Role changed"),
    ("member.remove", "Member removed"),
    ("member.leave", "Member left"),
    ("invitation", "Anything to invitations"),
    ("alert", "Anything to alerts"),
    ("webhook", "Anything to webhooks"),
    ("tenant", "Anything to the tenant"),
    ("access", "Access refused"),
    ("user", "Anything to accounts"),
    ("user.login_refused", "Log-in refused"),
];

/// Denials of one minute that have no entries of their own.
fn more_denials(entry: &AuditEntry) -> String {
    let count = entry.after.as_ref().and_then(|after| after.get("count")?.as_u64()).unwrap_or(0);
    format!("was refused {count} more times within a minute")
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
            "id": "audit_1", "tenant_id": null, "seq": 1, "at": "2026-11-21T03:00:00Z",
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
        let more = json!({"count": 15, "since": "2026-11-21T03:00:00Z"});
        let more = told("access.denied_more", Value::Null, more);
        assert_eq!(more, "was refused 15 more times within a minute");
        assert_eq!(told("user.login", Value::Null, Value::Null), "signed in");
        assert_eq!(told("new.thing", Value::Null, Value::Null), "new.thing new_1");
    }

    #[test]
    fn an_address_says_what_is_wanted_and_the_server_is_asked_the_same() {
        let said = |name: &str| match name {
            "q" => Some(" login ".to_owned()),
            "action" => Some("rule.update".to_owned()),
            "from" => Some("2026-11-21".to_owned()),
            _ => None,
        };
        let wanted = Wanted::of(said);
        let names: Vec<_> = wanted.parameters().into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["q", "action", "from"]);
        let day = |day: &str| (!day.is_empty()).then(|| format!("{day}T00:00:00Z"));
        let asked = wanted.asked(day, day);
        let asked: Vec<_> = asked.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let expected =
            [("search", "login"), ("action", "rule.update"), ("from", "2026-11-21T00:00:00Z")];
        assert_eq!(asked, expected);
        assert_eq!(Wanted::default().parameters(), []);
        assert_eq!(Wanted::default().log(), AuditLog::Tenant);
        assert_eq!(Wanted { log: "mine".to_owned(), ..Wanted::default() }.log(), AuditLog::Mine);
        assert_eq!((logs(false).len(), logs(true).len()), (2, 3));
        assert_eq!(actions()[0].0, "");
    }

    #[test]
    fn actors_have_names() {
        let actor = |kind, name: &str| AuditActor { kind, id: None, name: Some(name.to_owned()) };
        assert_eq!(who(&actor(ActorKind::Person, "ada@example.com")), "ada@example.com");
        assert_eq!(who(&actor(ActorKind::Key, "deploy")), "key deploy");
        assert_eq!(who(&actor(ActorKind::System, "")), "Weir itself");
    }
}
