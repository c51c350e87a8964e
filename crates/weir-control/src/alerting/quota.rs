//! The share of a rule's quotas that its busiest subjects have used.
//!
//! Redis stores counters under digests of subjects, so they cannot be listed. A subject that crosses a threshold was checked
//! just before, so the sketches of the last hour give the subjects to inspect, busiest first. A rule with one counter for all
//! subjects needs no search.

use std::collections::BTreeMap;
use std::sync::Arc;

use sha2::{Digest as _, Sha256};
use weir_domain::alert::reached;
use weir_domain::algorithm::{Algorithm, Quota};
use weir_domain::calendar;
use weir_domain::charge::RuleCharge;
use weir_domain::id::RuleId;
use weir_domain::overrides::{Active, Effect};
use weir_domain::rulebook::ActiveRule;
use weir_domain::time::{Micros, Timestamp};
use weir_store::{AlertRow, RuleRow, SKETCH_MS, Scope, TopFilter, Tx};

use crate::alerting::finding::Finding;
use crate::alerting::message::{AlertName, QuotaReached, RuleName, WebhookMessage};
use crate::error::ControlError;
use crate::rule_service::{
    Exceptions, Inspected, active_rule, charge_of, inspect, override_digests, spread_by, subject_of,
};
use crate::state::ControlState;

/// The most subjects that one evaluation inspects.
const SUBJECTS_MAX: u32 = 100;
const LOOK_BACK_MS: i64 = 60 * 60 * 1000;
/// The longest subject, in bytes, that a mark contains as text.
const MARK_SUBJECT_MAX: usize = 500;

type Subject = BTreeMap<String, String>;

/// A subject that the rule limits, and its charge.
struct LimitedSubject {
    subject: Subject,
    charge: RuleCharge,
}

/// One limit of one subject.
struct Level<'a> {
    subject: &'a Subject,
    quota: &'a Quota,
    slot: u16,
    used: u64,
    decided: Micros,
}

/// The thresholds that are reached, whether they were announced before or not.
pub(super) async fn findings(
    control: &ControlState,
    alert: &AlertRow,
    (rule_id, customer): (RuleId, Option<&str>),
    thresholds_percent: &[u8],
) -> Result<Vec<Finding>, ControlError> {
    let now = control.clock.now();
    let mut tx = control.store.begin("alerts.quota", Scope::Tenant(alert.tenant_id)).await?;
    let Some(row) = tx.rules().find(alert.tenant_id, rule_id).await? else {
        return Ok(Vec::new());
    };
    let rule = active_rule(&row, &Exceptions::default())?;
    let attribute = match customer {
        None => None,
        Some(customer) => {
            let tenant = tx.tenants().find(alert.tenant_id).await?;
            let Some(name) = tenant.and_then(|tenant| tenant.customer_attribute) else {
                return Ok(Vec::new());
            };
            Some((name, customer.to_owned()))
        }
    };
    let subjects = subjects(&mut tx, &row, &rule, attribute, now).await?;
    let digests: Vec<_> =
        subjects.iter().flat_map(|subject| override_digests(&rule.rule, subject)).collect();
    let overrides = tx.overrides().for_subjects(row.tenant_id, row.id, &digests).await?;
    let customers = |name: &str| subjects.iter().filter_map(|one| one.get(name).cloned()).collect();
    let exceptions = Exceptions::from(overrides);
    let exceptions = exceptions.with_plans(&mut tx, alert.tenant_id, now, customers).await?;
    drop(tx);
    let rule = active_rule(&row, &exceptions)?;
    let limited: Vec<LimitedSubject> =
        subjects.into_iter().filter_map(|subject| charge(&rule, &row, subject, now)).collect();
    let charges = limited.iter().map(|limited| &limited.charge);
    let inspected = inspect(control, alert.tenant_id, rule.rule.namespace(), 1, charges).await;
    let mut findings = Vec::new();
    for (limited, inspected) in limited.iter().zip(inspected) {
        let Inspected { at: decided, decisions, .. } = inspected?;
        for (limit, decision) in limited.charge.limits().iter().zip(decisions) {
            let Algorithm::Quota(quota) = &limit.algorithm else { continue };
            // After its end, a quota has nothing left, whatever was used.
            if calendar::bounds(quota, decided).limit == 0 {
                continue;
            }
            let used = quota.limit().saturating_sub(decision.remaining);
            let slot = limit.slot;
            let subject = &limited.subject;
            let level = Level { subject, quota, slot, used, decided };
            findings.extend(finding(alert, &row, thresholds_percent, &level));
        }
    }
    Ok(findings)
}

/// The stored form of a mark. A digest replaces a long subject, because a mark is part of a key.
fn mark(of: &str, percent: u8, subject: &str) -> String {
    if subject.len() <= MARK_SUBJECT_MAX {
        return format!("{of} {percent} {subject}");
    }
    let digest: [u8; 32] = Sha256::digest(subject.as_bytes()).into();
    format!("{of} {percent} sha256:{}", hex::encode(digest))
}

async fn subjects(
    tx: &mut Tx,
    row: &RuleRow,
    rule: &ActiveRule,
    attribute: Option<(String, String)>,
    now: Timestamp,
) -> Result<Vec<Subject>, ControlError> {
    if rule.rule.count_by().is_empty() {
        return Ok(vec![Subject::new()]);
    }
    // A customer is the only subject with its name, unless the rule counts by other attributes too.
    if let (Some((name, customer)), [counted]) = (&attribute, rule.rule.count_by()) {
        let is_its = counted.attribute == *name;
        let own = Subject::from([(name.clone(), customer.clone())]);
        return Ok(Some(own).filter(|_| is_its).into_iter().collect());
    }
    let filter = TopFilter {
        tenant_id: row.tenant_id,
        rule_id: Some(row.id),
        namespaces: None,
        attribute,
        from: now.plus_ms(-LOOK_BACK_MS),
        to: now.plus_ms(SKETCH_MS),
        most_asked_first: true,
        limit: SUBJECTS_MAX,
    };
    let (counted, _) = tx.top_subjects().list(&filter).await?;
    Ok(counted.counts.into_iter().map(|top| subject_of(top.entry.subject)).collect())
}

/// The charge of a subject. `None` if the rule does not limit the subject, or now counts by other attributes.
fn charge(
    active: &Arc<ActiveRule>,
    row: &RuleRow,
    subject: Subject,
    now: Timestamp,
) -> Option<LimitedSubject> {
    let rule = &active.rule;
    let values = rule.subject_values(|name| subject.get(name).map(String::as_str)).ok()?;
    let exception = active.overrides.find(rule, &values, now);
    let unlimited = |exception: &Active| !matches!(exception.effect, Effect::Limits(_));
    if exception.is_some_and(unlimited) {
        return None;
    }
    let charge = charge_of(active, &spread_by(row), &values, exception);
    Some(LimitedSubject { subject, charge })
}

/// The highest threshold that is reached, with the marks of the lower ones, which are not announced any more.
fn finding(
    alert: &AlertRow,
    row: &RuleRow,
    thresholds_percent: &[u8],
    level: &Level<'_>,
) -> Option<Finding> {
    let limit = level.quota.limit();
    let reached = reached(thresholds_percent, level.used, limit);
    let highest = reached.last()?;
    let periods = calendar::bounds(level.quota, level.decided);
    let renews = !periods.never_renews();
    let at = usize::from(renews);
    let [start, end] = [at, at + 1].map(|at| Micros(periods.bounds_us[at]).timestamp());
    let subject = serde_json::to_string(level.subject).expect("texts serialise");
    let of = format!("{} {} {}", row.id, level.slot, start.as_millis());
    let marks = reached.iter().map(|&percent| mark(&of, percent, &subject)).collect();
    let message = WebhookMessage::Quota(QuotaReached {
        alert: AlertName::of(alert),
        rule: RuleName::of(row),
        subject: level.subject.clone(),
        threshold_percent: *highest,
        used: level.used,
        limit,
        period: level.quota.calendar().period.as_str(),
        between: renews.then_some((start, end)),
    });
    Some(Finding { marks, expires_at: end, message })
}
