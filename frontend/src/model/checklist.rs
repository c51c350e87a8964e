//! The first steps of a tenant, and which of them are done.

use weir_wire::rules::RuleAnswer;
use weir_wire::words::Mode;

/// A step, with the page on which it is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    pub text: &'static str,
    /// The path below the tenant.
    pub page: &'static str,
    pub done: bool,
}

/// The steps in their order. `checks` is the number of checks that gates decided lately.
pub fn steps(rules: &[RuleAnswer], checks: u64, alerts: usize) -> [Step; 4] {
    let enforced = rules.iter().any(|rule| rule.rule.mode == Mode::Enforce);
    [
        Step { text: "Create a rule", page: "start", done: !rules.is_empty() },
        Step { text: "Send the first check", page: "test", done: checks > 0 },
        Step { text: "Enforce a rule", page: "rules", done: enforced },
        Step { text: "Create an alert", page: "alerts", done: alerts > 0 },
    ]
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn step_is_done_as_soon_as_its_object_exists() {
        let rule = |mode: &str| -> RuleAnswer {
            let rule = json!({
                "namespace": "api", "name": "r", "mode": mode, "id": "1", "revision": 1, "rulebook_version": 1,
                "created_at": "2026-11-21T03:00:00Z", "updated_at": "2026-11-21T03:00:00Z",
                "limits": [{ "algorithm": "fixed_window", "limit": 5, "window_ms": 60_000 }],
                "count_by": ["user"]
            });
            serde_json::from_value(rule).expect("a rule")
        };
        let done = |steps: [Step; 4]| steps.map(|step| step.done);
        assert_eq!(done(steps(&[], 0, 0)), [false; 4]);
        assert_eq!(done(steps(&[rule("shadow")], 0, 0)), [true, false, false, false]);
        assert_eq!(done(steps(&[rule("shadow")], 7, 1)), [true, true, false, true]);
        assert_eq!(done(steps(&[rule("off"), rule("enforce")], 1, 2)), [true; 4]);
    }
}
