//! The state of a tenant's traffic as one sentence.

use weir_wire::replicas::{Replica, Replicas};
use weir_wire::stats::{Counts, Series, TopEntry};

use crate::model::chart::{ChartData, OUTCOMES};
use crate::model::duration::about;
use crate::model::number::{grouped, per_second, quantity, share};
use crate::model::rollout::Rollout;

/// The urgency of a sentence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    Good,
    /// Neither good nor bad by itself.
    Neutral,
    Warning,
    Bad,
}

impl Level {
    pub const fn class(self) -> &'static str {
        match self {
            Self::Good => "health health-good",
            Self::Neutral => "health",
            Self::Warning => "health health-warning",
            Self::Bad => "health health-bad",
        }
    }
}

/// The most urgent finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Health {
    pub level: Level,
    pub text: String,
}

/// The gates that report that they do not reach Redis.
pub fn without_redis(gates: &[Replica]) -> usize {
    gates.iter().filter(|gate| gate.redis_up == Some(false)).count()
}

/// Where and since when gates do not reach Redis; `None` if all do. `clock` formats a time.
pub fn outage(replicas: &Replicas, clock: impl Fn(i64) -> String) -> Option<String> {
    let away = without_redis(&replicas.data);
    if away == 0 {
        return None;
    }
    let gates = quantity(replicas.data.len(), "gate", "gates");
    let mut text = format!("Redis is unavailable at {away} of {gates}");
    let details = replicas.without_redis.as_ref();
    if let Some(since) = details.and_then(|details| details.since) {
        text.extend([" since ", &clock(since.0.as_millis())]);
    }
    text += ".";
    if let Some(checks) = details.map(|details| details.checks).filter(|checks| *checks > 0) {
        text.extend([" Answered without it so far: ", &grouped(checks), "."]);
    }
    Some(text)
}

/// The findings on a period, from the gates and the outage of Redis, its series, its counts and those of the previous period, and
/// the rule that denied most.
pub fn health(
    (rollout, outage): (Rollout, Option<String>),
    series: &Series,
    (now, before): (&Counts, &Counts),
    most_denying: Option<&TopEntry>,
) -> Health {
    let warning = |text: String| Health { level: Level::Warning, text };
    if rollout.gates == 0 {
        let text = "No gates are running, so no checks are answered.".to_owned();
        return Health { level: Level::Bad, text };
    }
    if let Some(text) = outage {
        return Health { level: Level::Bad, text };
    }
    if let Some((checks, time_ms)) = recently_degraded(series) {
        let checks = quantity(usize::try_from(checks).unwrap_or(usize::MAX), "check", "checks");
        let verb = if checks.starts_with("1 ") { "was" } else { "were" };
        return warning(format!(
            "{checks} {verb} decided without Redis in the last {}. Gates reach it now.",
            about(time_ms)
        ));
    }
    let denied = share(now.denied, now.checks());
    if let Some(times) = times_more_denied(now, before) {
        return warning(format!(
            "{denied} of checks are denied, {times}× the share of the previous period ({}){}.",
            share(before.denied, before.checks()),
            mostly_by(now, most_denying)
        ));
    }
    if !rollout.is_complete() {
        return warning(format!(
            "{} of {} gates do not serve the current rules yet.",
            rollout.gates - rollout.live,
            rollout.gates
        ));
    }
    if now.checks() == 0 {
        return silence(before);
    }
    if is_at_least(now, USUAL_PERCENT) {
        let high = is_at_least(now, HIGH_PERCENT) && now.denied >= DENIED_MIN;
        let level = if high { Level::Warning } else { Level::Neutral };
        let text = format!(
            "{denied} of checks are denied{}. {}",
            mostly_by(now, most_denying),
            compared_with(before)
        );
        return Health { level, text };
    }
    Health { level: Level::Good, text: format!("All good: {denied} of checks are denied.") }
}

/// A period without checks, which is a fault of the callers if there were some before.
fn silence(before: &Counts) -> Health {
    if before.checks() < CHECKS_MIN {
        return Health { level: Level::Neutral, text: "No checks in this period.".to_owned() };
    }
    let text = format!(
        "No checks arrived in this period. In the previous one: {}.",
        grouped(before.checks())
    );
    Health { level: Level::Warning, text }
}

/// `, 60% of them by login`.
fn mostly_by(now: &Counts, most_denying: Option<&TopEntry>) -> String {
    let Some((top, rule)) = most_denying.and_then(|top| Some((top, top.rule.as_ref()?))) else {
        return String::new();
    };
    let denied = top.denied.saturating_sub(top.shadow_denied);
    if denied == 0 {
        return String::new();
    }
    format!(", {} of them by {rule}", share(denied, now.denied))
}

/// The share of the previous period, if it has enough checks.
fn compared_with(before: &Counts) -> String {
    if before.checks() < CHECKS_MIN {
        return "The previous period has too few checks for a comparison.".to_owned();
    }
    format!("In the previous period: {}.", share(before.denied, before.checks()))
}

/// Whether at least these percent of the checks are denied.
fn is_at_least(counts: &Counts, percent: u64) -> bool {
    counts.denied > 0
        && u128::from(counts.denied) * 100 >= u128::from(counts.checks()) * u128::from(percent)
}

/// The checks of an hour in one line, such as "12 checks per second in the last hour, 3% denied".
pub fn last_hour(counts: &Counts) -> String {
    if counts.checks() == 0 {
        return "No checks in the last hour".to_owned();
    }
    let mut text = format!(
        "{} checks per second in the last hour, {} denied",
        per_second(counts.checks(), 3600),
        share(counts.denied, counts.checks())
    );
    if counts.degraded > 0 {
        text.extend([", ", &grouped(counts.degraded), " decided without Redis"]);
    }
    text
}

/// The checks decided without Redis in the last two steps, and the length of that time. `None` if they are few of all, and if the
/// steps are too long to be recent.
fn recently_degraded(series: &Series) -> Option<(u64, u64)> {
    // A range in the past has no open step, and says nothing about the present.
    let open = ChartData::of(series, &OUTCOMES).first_open_step()?;
    let recent = |counts: &[u64]| counts.iter().skip(open.saturating_sub(1)).sum::<u64>();
    let (checks, all) =
        (recent(&series.degraded), recent(&series.allowed) + recent(&series.denied));
    let is_much = checks > 0 && checks * 100 >= all * USUAL_PERCENT;
    (is_much && series.step_s <= RECENT_STEP_S).then(|| (checks, u64::from(series.step_s) * 2_000))
}

/// How many times greater the share of denied checks is than before, if that is worth a warning.
fn times_more_denied(now: &Counts, before: &Counts) -> Option<u64> {
    let enough = now.denied >= DENIED_MIN && before.checks() >= CHECKS_MIN;
    let product = |a: u64, b: u64| u128::from(a) * u128::from(b);
    let of_all = is_at_least(now, USUAL_PERCENT);
    let (this, last) =
        (product(now.denied, before.checks()), product(before.denied.max(1), now.checks().max(1)));
    let times = u64::try_from(this / last.max(1)).unwrap_or(u64::MAX);
    (enough && of_all && times >= 2).then_some(times)
}

/// The longest step of a series whose last two steps are recent, in seconds.
const RECENT_STEP_S: u32 = 600;
/// The fewest denied checks for a warning about their share.
const DENIED_MIN: u64 = 20;
/// The fewest checks of the previous period for a comparison.
const CHECKS_MIN: u64 = 20;
/// The lowest share of denied checks that is not called good, and whose rise is a warning.
const USUAL_PERCENT: u64 = 5;
/// The lowest share of denied checks that is a warning without a comparison.
const HIGH_PERCENT: u64 = 50;

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const LIVE: Rollout = Rollout { live: 2, gates: 2, after_ms: None };

    fn series(degraded: [u64; 4]) -> Series {
        serde_json::from_value(json!({
            "start": "2026-11-21T22:40:00Z", "step_s": 60, "starts": null, "allowed": [9, 9, 9, 9],
            "denied": [0, 0, 0, 0], "shadow_denied": [0, 0, 0, 0], "degraded": degraded, "refunded": [0, 0, 0, 0],
            "as_of": "2026-11-21T22:43:20Z", "dropped": 0
        }))
        .expect("a series")
    }

    fn counts(allowed: u64, denied: u64) -> Counts {
        Counts { allowed, denied, ..Counts::default() }
    }

    fn text(rollout: Rollout, degraded: [u64; 4], now: Counts, before: Counts) -> (Level, String) {
        let top: TopEntry = serde_json::from_value(json!({
            "rule_id": "rule_1", "rule": "login", "namespace": "api", "subject": null, "checks": 200, "denied": 60
        }))
        .expect("an entry");
        let health = health((rollout, None), &series(degraded), (&now, &before), Some(&top));
        (health.level, health.text)
    }

    #[test]
    fn gates_report_whether_they_reach_redis() {
        let gate = |redis_up: Option<bool>| -> Replica {
            serde_json::from_value(json!({
                "id": "gate_1", "address": null, "rulebook_version": 1, "age_ms": 0, "applied_at": "2026-11-21T22:40:00Z",
                "applied_after_ms": 1, "started_at": "2026-11-21T22:40:00Z", "redis_up": redis_up
            }))
            .expect("a gate")
        };
        let gates = [Some(true), Some(false), None].map(gate);
        assert_eq!(without_redis(&gates), 1, "a release that does not report it is no outage");
        let mut replicas: Replicas = serde_json::from_value(json!({
            "rulebook_version": 1, "tenant_version": 1, "data": gates, "without_redis": {
                "gates": 1, "since": "2026-11-21T12:00:53Z", "checks": 1682,
                "allow": { "count": 0, "first": [] }, "local": { "count": 0, "first": [] },
                "deny": { "count": 0, "first": [] },
            },
        }))
        .expect("replicas");
        let text = |replicas: &Replicas| outage(replicas, |_| "12:00:53".to_owned());
        let expected = "Redis is unavailable at 1 of 3 gates since 12:00:53. Answered without it so far: 1,682.";
        assert_eq!(text(&replicas).as_deref(), Some(expected));
        replicas.without_redis = None;
        let expected = "Redis is unavailable at 1 of 3 gates.";
        assert_eq!(text(&replicas).as_deref(), Some(expected), "of a former release");
        replicas.data.truncate(1);
        assert_eq!(text(&replicas), None);
        let of =
            |outage| health((LIVE, outage), &series([0; 4]), (&counts(9, 0), &counts(9, 0)), None);
        assert_eq!(of(Some("away".to_owned())).level, Level::Bad);
        assert_eq!(of(None).level, Level::Good, "no checks arrived meanwhile");
    }

    #[test]
    fn a_past_outage_is_no_present_one() {
        let calm = (counts(990, 10), counts(900, 10));
        let of = |series: &Series| health((LIVE, None), series, (&calm.0, &calm.1), None);
        let recent = series([0, 0, 3, 4]);
        let expected = "7 checks were decided without Redis in the last 2 min. Gates reach it now.";
        assert_eq!((of(&recent).level, of(&recent).text.as_str()), (Level::Warning, expected));
        assert!(of(&series([0, 0, 0, 1])).text.starts_with("1 check was decided"));
        let few = Series { allowed: vec![900; 4], ..recent.clone() };
        assert_eq!(of(&few).level, Level::Good, "single calls that took too long");
        let month = Series { step_s: 86_400, ..recent };
        assert_eq!(of(&month).level, Level::Good, "the last two days are not recent");
    }

    #[test]
    fn an_hour_is_one_line() {
        assert_eq!(last_hour(&counts(0, 0)), "No checks in the last hour");
        let line = "10 checks per second in the last hour, 25% denied";
        assert_eq!(last_hour(&counts(27_000, 9_000)), line);
        let degraded = Counts { degraded: 1200, ..counts(27_000, 9_000) };
        assert_eq!(last_hour(&degraded), format!("{line}, 1,200 decided without Redis"));
    }

    #[test]
    fn the_most_urgent_finding_is_named() {
        let calm = || (counts(990, 10), counts(900, 10));
        let of = |rollout, degraded| text(rollout, degraded, calm().0, calm().1);
        assert_eq!(
            of(LIVE, [0; 4]),
            (Level::Good, "All good: 1% of checks are denied.".to_owned())
        );
        let none = Rollout { live: 0, gates: 0, after_ms: None };
        assert_eq!(of(none, [0; 4]).0, Level::Bad);
        let behind = Rollout { live: 1, ..LIVE };
        let expected = "1 of 2 gates do not serve the current rules yet.".to_owned();
        assert_eq!(of(behind, [0; 4]), (Level::Warning, expected));
        assert_eq!(of(LIVE, [3, 4, 0, 0]).0, Level::Good, "Redis is back");
    }

    #[test]
    fn a_risen_share_of_denials_is_a_warning() {
        let of = |now, before| text(LIVE, [0; 4], now, before);
        let risen = of(counts(300, 100), counts(950, 50));
        let expected = "25% of checks are denied, 5× the share of the previous period (5%), 60% of them by login.";
        assert_eq!(risen, (Level::Warning, expected.to_owned()));
        for (now, before) in [
            (counts(300, 100), counts(300, 90)), // hardly more
            (counts(980, 20), counts(1000, 1)),  // few of all
            (counts(10, 19), counts(100, 1)),    // few at all
            (counts(300, 100), counts(0, 0)),    // nothing to compare with
        ] {
            assert_ne!(of(now, before).0, Level::Warning, "{now:?}");
        }
    }

    #[test]
    fn silence_after_traffic_is_a_warning() {
        let of = |before| text(LIVE, [0; 4], counts(0, 0), before);
        let expected = (Level::Neutral, "No checks in this period.".to_owned());
        assert_eq!((of(counts(0, 0)), of(counts(9, 10))), (expected.clone(), expected));
        let expected = "No checks arrived in this period. In the previous one: 1,300.";
        assert_eq!(of(counts(1_200, 100)), (Level::Warning, expected.to_owned()));
    }

    #[test]
    fn a_great_share_of_denials_is_never_called_good() {
        let of = |now, before| text(LIVE, [0; 4], now, before);
        let expected =
            "81% of checks are denied, 7% of them by login. In the previous period: 79%.";
        assert_eq!(
            of(counts(190, 810), counts(210, 790)),
            (Level::Warning, expected.to_owned()),
            "no rise"
        );
        let expected = "25% of checks are denied, 60% of them by login. The previous period has too few checks for a comparison.";
        assert_eq!(of(counts(300, 100), counts(0, 0)), (Level::Neutral, expected.to_owned()));
        for denied in 5..=100 {
            let (level, text) = of(counts(100 - denied, denied), counts(100 - denied, denied));
            assert!(level != Level::Good && !text.contains("good"), "{text}");
        }
    }
}
