//! Customers: the addresses of their pages, the states of their assignments, and their checks by day.

use std::collections::BTreeMap;

use weir_wire::customers::{CustomerDay, CustomerRuleCounts, CustomerUsage};
use weir_wire::plans::AssignmentAnswer;
use weir_wire::time::DateTime;

use crate::charts::timeline::Timeline;
use crate::model::chart::{ChartData, Layer};
use crate::model::json;
use crate::model::request_link::encoded;

/// The path of the page of a customer, below the tenant. `None` for the names that no address can contain.
///
/// The browser decodes the address of a link once before it stores it. The characters that this would change are escaped with a
/// tilde.
pub fn page(customer: &str) -> Option<String> {
    if ["", ".", ".."].contains(&customer) {
        return None;
    }
    let mut name = customer.to_owned();
    for (from, to) in ESCAPES {
        name = name.replace(from, to);
    }
    if let Some(start) = name.strip_suffix(' ') {
        name = format!("{start}{SPACE}");
    }
    Some(format!("customers/{}", encoded(&name)))
}

/// The customer in the decoded address of its page.
pub fn of_page(name: &str) -> String {
    let mut customer = name.replace(SPACE, " ");
    for (to, from) in ESCAPES.iter().rev() {
        customer = customer.replace(from, to);
    }
    customer
}

/// The tilde first, because it begins the others.
const ESCAPES: [(&str, &str); 3] = [("~", "~7E"), ("%", "~25"), ("\\", "~5C")];
/// A space at the end.
const SPACE: &str = "~20";

/// Whether an assignment applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AssignmentState {
    Scheduled,
    Present,
    Ended,
    /// It was ended before its begin.
    Cancelled,
}

impl AssignmentState {
    pub fn of(assignment: &AssignmentAnswer, now_ms: i64) -> Self {
        let from_ms = assignment.from.0.as_millis();
        let until_ms = assignment.until.map_or(i64::MAX, |until| until.0.as_millis());
        match () {
            () if until_ms <= from_ms => Self::Cancelled,
            () if until_ms <= now_ms => Self::Ended,
            () if from_ms <= now_ms => Self::Present,
            () => Self::Scheduled,
        }
    }

    /// The class and the text of its badge.
    pub const fn badge(self) -> (&'static str, &'static str) {
        match self {
            Self::Scheduled => ("badge", "Scheduled"),
            Self::Present => ("badge badge-allowed", "Present"),
            Self::Ended => ("badge badge-off", "Ended"),
            Self::Cancelled => ("badge badge-off", "Cancelled"),
        }
    }

    /// Whether it can be ended.
    pub const fn is_open(self) -> bool {
        matches!(self, Self::Scheduled | Self::Present)
    }
}

/// The first day of the month of a day of UTC such as `2026-11-28`, and the day.
pub fn month_until(day: &str) -> [String; 2] {
    let month: String = day.chars().take("2026-11".len()).collect();
    [format!("{month}-01"), day.to_owned()]
}

/// The checks of each of these days. The chart shows days of UTC, so they are moved by the distance of the shown time zone.
pub fn usage_chart(
    usage: &CustomerUsage,
    [first, last]: &[String; 2],
    now_ms: i64,
    zone_ms: impl Fn(i64) -> i64,
) -> ChartData {
    let (first_ms, last_ms) = (day_ms(first).unwrap_or(0), day_ms(last).unwrap_or(0));
    let days = usize::try_from((last_ms - first_ms) / DAY_MS + 1).unwrap_or(1);
    let day = |at: usize| first_ms + i64::try_from(at).unwrap_or(0) * DAY_MS;
    let moved = |at_ms: i64| at_ms - zone_ms(at_ms);
    let layer = |name, outcome, class, of: fn(&CustomerDay) -> u64| {
        let mut counts = vec![0; days];
        for one in &usage.days {
            let at = day_ms(&one.day).and_then(|ms| usize::try_from((ms - first_ms) / DAY_MS).ok());
            if let Some(count) = at.and_then(|at| counts.get_mut(at)) {
                *count = of(one);
            }
        }
        Layer { name, outcome, class, is_line: false, counts }
    };
    let starts: Vec<_> = (0..days).map(|at| moved(day(at))).collect();
    ChartData {
        timeline: Timeline::uneven(&starts, DAY_MS),
        step_ms: DAY_MS,
        layers: vec![
            layer("Allowed", "allowed", "allowed", |day| day.counts.allowed),
            layer("Denied", "denied", "denied", |day| day.counts.denied),
        ],
        degraded: Vec::new(),
        as_of_ms: moved(now_ms),
    }
}

/// The counts of each rule on all days.
pub fn by_rule(usage: &CustomerUsage) -> Vec<CustomerRuleCounts> {
    let mut rules: BTreeMap<&str, CustomerRuleCounts> = BTreeMap::new();
    for rule in usage.days.iter().flat_map(|day| &day.rules) {
        match rules.get_mut(rule.rule_id.as_str()) {
            None => drop(rules.insert(&rule.rule_id, rule.clone())),
            Some(sum) => {
                sum.counts.allowed += rule.counts.allowed;
                sum.counts.denied += rule.counts.denied;
                sum.counts.units += rule.counts.units;
            }
        }
    }
    rules.into_values().collect()
}

/// The start of a day of UTC.
fn day_ms(day: &str) -> Option<i64> {
    let start: DateTime = json::read_value(&format!("{day}T00:00:00Z").into()).ok()?;
    Some(start.0.as_millis())
}

const DAY_MS: i64 = 86_400_000;

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn pages_preserve_every_name() {
        assert_eq!(page("acme inc").as_deref(), Some("customers/acme%20inc"));
        assert_eq!(page("50%/~ ").as_deref(), Some("customers/50~25%2F~7E~20"));
        for name in ["a", "~20", "~7E20", "%41", "~", "a\\b", " a ", "ü?#&=/.."] {
            let path = page(name).expect("an address");
            let decoded = path.strip_prefix("customers/").expect("the folder");
            assert!(!decoded.contains('\\') && !decoded.ends_with("%20"), "{path}");
            let mut bytes = Vec::new();
            let mut rest = decoded.bytes();
            while let Some(byte) = rest.next() {
                let mut digit = || char::from(rest.next().expect("a digit"));
                let hex = |pair: [char; 2]| u8::from_str_radix(&String::from_iter(pair), 16);
                let escaped = byte == b'%';
                bytes.push(if escaped { hex([digit(), digit()]).expect("hex") } else { byte });
            }
            assert_eq!(of_page(&String::from_utf8(bytes).expect("a text")), name);
        }
        assert_eq!([page(""), page("."), page("..")], [None, None, None]);
        assert_eq!(of_page("50%"), "50%");
    }

    #[test]
    fn assignments_are_scheduled_present_or_ended() {
        let state = |from: &str, until: Option<&str>| {
            let assignment = serde_json::from_value(json!({
                "id": "assignment_1", "customer": "acme", "plan": "plan_1", "pinned_revision": null,
                "from": from, "until": until, "note": "", "email": null, "rulebook_version": 1,
                "created_at": "2026-11-21T03:00:00Z"
            }));
            let now_ms = day_ms("2026-11-28").expect("a day");
            AssignmentState::of(&assignment.expect("an assignment"), now_ms)
        };
        let (before, now, after) =
            ("2026-11-27T00:00:00Z", "2026-11-28T00:00:00Z", "2026-11-29T00:00:00Z");
        assert_eq!(state(before, None), AssignmentState::Present);
        assert_eq!(state(now, Some(after)), AssignmentState::Present);
        assert_eq!(state(before, Some(now)), AssignmentState::Ended);
        assert_eq!(state(after, None), AssignmentState::Scheduled);
        assert_eq!(state(after, Some(after)), AssignmentState::Cancelled);
    }

    #[test]
    fn days_without_checks_are_shown_and_rules_are_summed() {
        let rule = |id: &str, allowed: u64, units: i64| json!({ "rule_id": id, "namespace": "api", "rule": id, "allowed": allowed, "denied": 1, "units": units });
        let day = |day: &str, rules: serde_json::Value| json!({ "day": day, "allowed": 7, "denied": 2, "units": 9, "rules": rules });
        let usage: CustomerUsage = serde_json::from_value(json!({ "complete": true, "days": [
            day("2026-11-02", json!([rule("b", 2, -3), rule("a", 1, 1)])),
            day("2026-11-03", json!([rule("a", 4, 5)])),
        ] }))
        .expect("the usage");
        let days = month_until("2026-11-03");
        assert_eq!(days, ["2026-11-01", "2026-11-03"]);
        let hour = 3_600_000;
        let noon_ms = day_ms("2026-11-03").expect("a day") + 12 * hour;
        let chart = usage_chart(&usage, &days, noon_ms, |_| -5 * hour);
        assert_eq!(chart.layers[0].counts, [0, 7, 7]);
        assert_eq!(chart.first_open_step(), Some(2));
        let shown = chart.timeline.step_ms(1).0 - 5 * hour;
        assert_eq!(Some(shown), day_ms("2026-11-02"), "the second day of UTC in the zone");
        let sums = by_rule(&usage);
        let sums: Vec<_> = sums.iter().map(|sum| (&*sum.rule_id, sum.counts)).collect();
        let counts = |allowed, denied, units| weir_wire::customers::CustomerCounts {
            allowed,
            denied,
            units,
        };
        assert_eq!(sums, [("a", counts(5, 2, 6)), ("b", counts(2, 1, -3))]);
    }
}
