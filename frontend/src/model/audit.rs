//! The filter of the audit log, stored in the URL.

/// The logs that the page can show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuditLog {
    /// The log of the current tenant.
    Tenant,
    /// The log of the signed-in person's account.
    Mine,
    /// The log of everything outside tenants, for operators.
    Installation,
}

/// Filters the entries of a log.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AuditFilter {
    /// The name of the log in the URL; empty for the tenant's log.
    pub log: String,
    /// Text in names, ids and addresses.
    pub search: String,
    /// Text in the actor's name.
    pub actor: String,
    /// An action or the part before its dot; empty for any.
    pub action: String,
    /// The first day, in the format of a date field.
    pub from: String,
    /// The last day, in the format of a date field.
    pub until: String,
}

impl AuditFilter {
    /// The names of all URL parameters of a filter.
    pub const PARAMETERS: [&'static str; 6] = ["log", "q", "who", "action", "from", "until"];

    /// Reads the filter from URL parameters.
    pub fn of(parameter: impl Fn(&str) -> Option<String>) -> Self {
        let value = |name: &str| parameter(name).unwrap_or_default();
        Self {
            log: value("log"),
            search: value("q"),
            actor: value("who"),
            action: value("action"),
            from: value("from"),
            until: value("until"),
        }
    }

    /// The URL parameters of the filter, without empty ones.
    pub fn parameters(&self) -> Vec<(&'static str, String)> {
        let all = [
            ("log", &self.log),
            ("q", &self.search),
            ("who", &self.actor),
            ("action", &self.action),
            ("from", &self.from),
            ("until", &self.until),
        ];
        let value = all.into_iter().filter(|(_, text)| !text.trim().is_empty());
        value.map(|(name, text)| (name, text.clone())).collect()
    }

    pub fn log(&self) -> AuditLog {
        match self.log.as_str() {
            "mine" => AuditLog::Mine,
            "installation" => AuditLog::Installation,
            _ => AuditLog::Tenant,
        }
    }

    /// The query parameters for the API; `day_start` and `day_after` return the start of a day and of the day after it,
    /// if it is one.
    pub fn api_query(
        &self,
        day_start: impl Fn(&str) -> Option<String>,
        day_after: impl Fn(&str) -> Option<String>,
    ) -> Vec<(&'static str, String)> {
        let text = |text: &String| Some(text.trim().to_owned()).filter(|text| !text.is_empty());
        let all = [
            ("search", text(&self.search)),
            ("actor", text(&self.actor)),
            ("action", text(&self.action)),
            ("from", day_start(&self.from)),
            ("to", day_after(&self.until)),
        ];
        all.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
    }
}

/// The logs to choose from, with their labels.
pub fn logs(operator: bool) -> Vec<(String, String)> {
    let log = |(log, label): &(&str, &str)| ((*log).to_owned(), (*label).to_owned());
    LOGS.iter().filter(|(log, _)| operator || *log != "installation").map(log).collect()
}

const LOGS: [(&str, &str); 3] =
    [("", "This tenant"), ("mine", "Your account"), ("installation", "Installation")];

/// The actions to filter by, with their labels.
pub fn actions() -> Vec<(String, String)> {
    let action = |(action, label): &(&str, &str)| ((*action).to_owned(), (*label).to_owned());
    ACTIONS.iter().map(action).collect()
}

const ACTIONS: [(&str, &str); 31] = [
    ("", "All events"),
    ("rule", "All rule events"),
    ("rule.create", "Rule created"),
    ("rule.update", "Rule changed"),
    ("rule.revert", "Rule reverted"),
    ("rule.delete", "Rule deleted"),
    ("namespace.update", "Namespace changed"),
    ("override", "All override events"),
    ("override.create", "Override created"),
    ("override.update", "Override changed"),
    ("override.delete", "Override deleted"),
    ("override.bulk", "Overrides imported"),
    ("counters.reset", "Counter reset"),
    ("key", "All key events"),
    ("key.create", "Key created"),
    ("key.rotate", "Key rotated"),
    ("key.delete", "Key revoked"),
    ("member", "All member events"),
    ("member.join", "Member joined"),
    ("member.change", "Role changed"),
    ("member.remove", "Member removed"),
    ("member.leave", "Member left"),
    ("invitation", "All invitation events"),
    ("alert", "All alert events"),
    ("webhook", "All webhook events"),
    ("profile", "All proxy profile events"),
    ("deferred", "All deferred job events"),
    ("tenant", "All tenant events"),
    ("access", "Access denied"),
    ("user", "All account events"),
    ("user.login_refused", "Sign-in failed"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_survive_the_url_and_become_api_parameters() {
        let value = |name: &str| match name {
            "q" => Some(" login ".to_owned()),
            "action" => Some("rule.update".to_owned()),
            "from" => Some("2026-11-21".to_owned()),
            _ => None,
        };
        let filter = AuditFilter::of(value);
        let names: Vec<_> = filter.parameters().into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["q", "action", "from"]);
        let day = |day: &str| (!day.is_empty()).then(|| format!("{day}T00:00:00Z"));
        let api_query = filter.api_query(day, day);
        let api_query: Vec<_> =
            api_query.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let expected =
            [("search", "login"), ("action", "rule.update"), ("from", "2026-11-21T00:00:00Z")];
        assert_eq!(api_query, expected);
        assert_eq!(AuditFilter::default().parameters(), []);
        assert_eq!(AuditFilter::default().log(), AuditLog::Tenant);
        assert_eq!(
            AuditFilter { log: "mine".to_owned(), ..AuditFilter::default() }.log(),
            AuditLog::Mine
        );
        assert_eq!((logs(false).len(), logs(true).len()), (2, 3));
        assert_eq!(actions()[0].0, "");
    }
}
