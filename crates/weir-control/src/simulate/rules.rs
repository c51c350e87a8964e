//! The two rules of a what-if run, and the replay of checks through them.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use weir_domain::algorithm::Algorithm;
use weir_domain::calendar;
use weir_domain::id::RuleId;
use weir_domain::overrides::Overrides;
use weir_domain::rule::Rule;
use weir_domain::rulebook::ActiveRule;
use weir_domain::time::{Micros, Timestamp};
use weir_http::problem::Problem;
use weir_store::{OverrideRow, RuleRow, Tx};
use weir_wire::overrides::OverrideBody;
use weir_wire::problem::FieldProblem;
use weir_wire::rules::RuleBody;
use weir_wire::simulate::{
    SimulateAnswer, SimulateBody, SimulatedAssignment, SimulatedPlan, TraceBody,
};
use weir_wire::time::DateTime;

use super::certainty;
use super::outcome::Steps;
use super::recorded::{self, RecordedQuery, RecordedTraffic};
use super::replay::{Replay, TooSlow};
use super::trace;
use super::traffic::Traffic;
use super::variants::variants;
use crate::actor::Caller;
use crate::error::ControlError;
use crate::rule_service::{Exceptions, active_rule};
use crate::state::ControlState;

const DEADLINE: Duration = Duration::from_secs(6);

/// The two rules.
pub(super) struct Rules {
    caller: Caller,
    /// The rule that is replaced, and its overrides.
    stored: Option<(RuleRow, Exceptions)>,
    present: Option<Arc<ActiveRule>>,
    candidate: Arc<ActiveRule>,
    warnings: Vec<String>,
}

/// The changes of plans that a request asks for.
pub(super) struct PlanChanges {
    pub(super) plan: Option<SimulatedPlan>,
    pub(super) assignments: Vec<SimulatedAssignment>,
}

impl PlanChanges {
    fn is_empty(&self) -> bool {
        self.plan.is_none() && self.assignments.is_empty()
    }
}

/// The source of the checks.
pub(super) enum Checks {
    Trace(TraceBody),
    Recorded { found: RecordedTraffic, from: Timestamp, to: Timestamp },
}

impl Rules {
    pub(super) async fn load(
        control: &ControlState,
        caller: &Caller,
        body: &SimulateBody,
    ) -> Result<Self, ControlError> {
        let rule = checked(&body.rule)?;
        caller.namespaces.admit(rule.namespace())?;
        let caller = caller.clone();
        let mut rules = Self {
            caller,
            stored: None,
            present: None,
            candidate: Arc::new(ActiveRule::new(
                control.id(RuleId::new),
                rule,
                Overrides::default(),
            )),
            warnings: Vec::new(),
        };
        let Some(id) = &body.rule_id else {
            return match (&body.plan, body.assignments.is_empty()) {
                (None, true) => Ok(rules),
                _ => {
                    Err(Problem::invalid_field("rule_id", "is missing: a plan names stored rules")
                        .into())
                }
            };
        };
        let missing = || Problem::invalid_field("rule_id", "is not a rule of this tenant");
        let id: RuleId = id.parse().map_err(|_| missing())?;
        let mut tx = control.reading("simulate.load", &rules.caller).await?;
        let found = tx.rulebook().rule(rules.caller.tenant_id, id).await?;
        let (row, stored) = found.ok_or_else(missing)?;
        let exceptions = Exceptions::from(stored);
        let present = active_rule(&row, &exceptions)?;
        let candidate = &rules.candidate.rule;
        if present.rule.namespace() != candidate.namespace() {
            let reason = "must be the namespace of the rule that is replaced";
            return Err(Problem::invalid_field("rule.namespace", reason).into());
        }
        let (overrides, lost) = overrides(candidate, id, &exceptions.overrides);
        if lost > 0 {
            rules
                .warnings
                .push(format!("{lost} overrides of the rule do not fit the changed rule"));
        }
        let rule = candidate.clone();
        rules.candidate = Arc::new(ActiveRule::new(id, rule, overrides));
        rules.present = Some(present);
        rules.stored = Some((row, exceptions));
        Ok(rules)
    }

    /// Gives both rules the plans of the customers in these checks, as they are now, and the changed rule those of the request.
    pub(super) async fn add_plans(
        &mut self,
        control: &ControlState,
        traffic: &Traffic,
        body: &PlanChanges,
    ) -> Result<(), ControlError> {
        let Some((row, exceptions)) = self.stored.take() else { return Ok(()) };
        let customers = |attribute: &str| {
            let named = traffic.requests.iter().filter_map(|request| request.attribute(attribute));
            let moved = body.assignments.iter().map(|moved| moved.customer.as_str());
            let different: HashSet<&str> = named.chain(moved).collect();
            different.into_iter().map(str::to_owned).collect()
        };
        let (tenant_id, now) = (self.caller.tenant_id, control.clock.now());
        let mut tx = control.reading("simulate.plans", &self.caller).await?;
        let exceptions = exceptions.with_present_plans(&mut tx, tenant_id, now, customers).await?;
        drop(tx);
        let present = active_rule(&row, &exceptions)?;
        let ActiveRule { id, rule, overrides, .. } = &*self.candidate;
        let changed = if body.is_empty() {
            None
        } else {
            let plan = body.plan.as_ref();
            let changed = exceptions.with_changed_plans(rule, plan, &body.assignments);
            Some(changed.map_err(Problem::invalid)?)
        };
        let after = changed.as_ref().unwrap_or(&exceptions);
        let lost = exceptions.plans_of(&present.rule).saturating_sub(after.plans_of(rule));
        if lost > 0 && body.plan.is_none() {
            self.warnings.push(format!("{lost} plans of the rule do not fit the changed rule"));
        }
        let overrides = after.of_rule(rule, overrides.clone());
        self.candidate = Arc::new(ActiveRule::new(*id, rule.clone(), overrides));
        self.present = Some(present);
        Ok(())
    }

    /// Finds the recorded checks of this time.
    pub(super) async fn recorded(
        &self,
        tx: &mut Tx,
        caller: &Caller,
        from: Timestamp,
        to: Timestamp,
    ) -> Result<Checks, ControlError> {
        if from >= to {
            let reason = "must be before `to`, and before now";
            return Err(Problem::invalid_field("from", reason).into());
        }
        let wanted = RecordedQuery {
            tenant_id: caller.tenant_id,
            candidate: &self.candidate.rule,
            present: self.present.as_ref().map(|active| &active.rule),
            from,
            to,
            warmup_ms: self.warmup_ms(from),
        };
        Ok(Checks::Recorded { found: recorded::find(tx, &wanted).await?, from, to })
    }

    /// The longest time for which either rule depends on past checks.
    fn warmup_ms(&self, at: Timestamp) -> i64 {
        let now = Micros::from_ms(at.as_millis_u64());
        let of_rule = |active: &ActiveRule| {
            let window = |algorithm: &Algorithm| match calendar::window_ms(algorithm, now) {
                // A quota that never renews depends on all past checks.
                0 => algorithm.usual_window_ms(),
                window_ms => window_ms,
            };
            let windows = active.rule.limits().iter().map(|active| window(&active.algorithm));
            windows.chain(active.rule.block_ms()).max().unwrap_or(0)
        };
        let longest =
            self.present.iter().chain([&self.candidate]).map(|active| of_rule(active)).max();
        i64::try_from(longest.unwrap_or(0)).unwrap_or(i64::MAX)
    }

    fn has_concurrency(&self) -> bool {
        let mut rules = self.present.iter().chain([&self.candidate]);
        rules.any(|active| {
            active.rule.limits().iter().any(|limit| limit.algorithm.lease_ms().is_some())
        })
    }

    pub(super) fn replay(mut self, prepared: Prepared) -> Result<SimulateAnswer, Problem> {
        let deadline = Instant::now() + DEADLINE;
        let Prepared { mut traffic, rate, since, from, to } = prepared;
        traffic.asked.retain(|check| check.at < to);
        let checks = traffic.asked.len();
        let has_concurrency = self.has_concurrency();
        let warmup_needed_ms = self.warmup_ms(from);
        let warmup_ms = (from.as_millis() - since.as_millis()).clamp(0, warmup_needed_ms);
        let begin = from.plus_ms(-warmup_ms);
        traffic.asked.retain(|check| check.at >= begin);
        let replay = Replay {
            tenant: self.caller.tenant_id,
            present: self.present,
            candidate: self.candidate,
            traffic,
            steps: Steps::new(from, to),
        };
        if has_concurrency {
            self.warnings.push(
                "concurrency limits are left out: recorded checks do not say when work ended"
                    .to_owned(),
            );
        }
        let too_slow = |TooSlow| {
            let seconds = DEADLINE.as_secs();
            let reason = format!("took longer than {seconds} s to replay: choose a shorter time");
            Problem::invalid_field("from", reason)
        };
        let outcome = replay.run(deadline).map_err(too_slow)?;
        let counted = outcome.counted();
        self.warnings.extend(certainty::warnings(&counted, rate));
        if warmup_ms < warmup_needed_ms && checks > 0 {
            let start = match warmup_ms {
                0 => String::new(),
                some => format!(" {} before this period", span(some)),
            };
            self.warnings.push(format!(
                "counters start empty{start}, so the first {} show too few denials",
                span(warmup_needed_ms - warmup_ms)
            ));
        }
        let steps = replay.steps;
        Ok(SimulateAnswer {
            from: from.into(),
            to: to.into(),
            start: steps.start.into(),
            step_ms: steps.step_ms.unsigned_abs(),
            warmup_ms: warmup_ms.unsigned_abs(),
            warmup_needed_ms: warmup_needed_ms.unsigned_abs(),
            subjects: outcome.subjects(),
            certainty: certainty::certainty(&counted, rate, checks),
            present: outcome.present,
            candidate: outcome.candidate,
            variants: variants(replay, rate, deadline).map_err(too_slow)?,
            warnings: self.warnings,
        })
    }

    /// Reads the checks.
    pub(super) fn prepare(
        &mut self,
        checks: Checks,
        (from, to): (Option<Timestamp>, Option<Timestamp>),
    ) -> Result<Prepared, Problem> {
        let namespace = self.candidate.rule.namespace();
        match checks {
            Checks::Trace(body) => {
                let traffic = trace::read(&body, namespace)?;
                let first = traffic.asked.first().map(|check| check.at).unwrap_or_default();
                let last = traffic.asked.last().map(|check| check.at).unwrap_or_default();
                let from = from.unwrap_or(first);
                let to = to.unwrap_or(last.plus_ms(1));
                if from >= to {
                    return Err(Problem::invalid_field("from", "must be before `to`"));
                }
                Ok(Prepared { traffic, rate: 1.0, since: first, from, to })
            }
            Checks::Recorded { mut found, from: asked, to } => {
                let since = found.since;
                let from = asked.max(since).min(to.plus_ms(-1));
                if from > asked {
                    let since = DateTime(from).text();
                    let said = format!("recording starts at {since}");
                    self.warnings.push(said);
                }
                self.warnings.append(&mut found.warnings);
                let (traffic, rate) = found.traffic(namespace)?;
                Ok(Prepared { traffic, rate, since, from, to })
            }
        }
    }
}

/// Checks that are ready to be replayed.
pub(super) struct Prepared {
    pub(super) traffic: Traffic,
    /// The share of the subjects whose checks are present.
    rate: f64,
    /// The time from which the checks are complete.
    since: Timestamp,
    from: Timestamp,
    to: Timestamp,
}

fn checked(body: &RuleBody) -> Result<Rule, Problem> {
    body.clone().parse().map_err(|wrong| {
        let inside = |problem: FieldProblem| {
            FieldProblem::new(format!("rule.{}", problem.field), problem.reason)
        };
        Problem::invalid(wrong.into_iter().map(inside).collect())
    })
}

/// Applies the overrides of the present rule to the changed one. Returns them with the number of those that do not fit it.
fn overrides(rule: &Rule, id: RuleId, rows: &[OverrideRow]) -> (Overrides, usize) {
    let own = rows.iter().filter(|row| row.rule_id == id);
    let parse = |row: &OverrideRow| {
        let body: OverrideBody = serde_json::from_value(row.spec.clone()).ok()?;
        Some((row.id, body.parse(rule).ok()?, row.expires_at))
    };
    let parsed: Vec<_> = own.map(parse).collect();
    let lost = parsed.iter().filter(|parsed| parsed.is_none()).count();
    (Overrides::build(rule, parsed.into_iter().flatten().collect::<Vec<_>>()), lost)
}

/// A span in words, rounded down: `90 minutes`.
fn span(ms: i64) -> String {
    const UNITS: [(i64, &str); 4] =
        [(86_400_000, "days"), (3_600_000, "hours"), (60_000, "minutes"), (1_000, "seconds")];
    let unit = UNITS.into_iter().find(|(unit, _)| ms >= 2 * unit).unwrap_or((1_000, "seconds"));
    format!("{} {}", ms / unit.0, unit.1)
}
