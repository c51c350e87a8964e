//! Reads the counters of quotas and stores their units, so that the usage of ended periods can be listed.
//!
//! Redis has the units of a period until the first charge of the next one, or until it deletes the counter, a second after the
//! end. So the counters of a tenant are read each hour, a few seconds before each end, and just after it. A counter that is still
//! there after the end has all units of the period; of the others, the units until the last reading are known.

use std::time::Duration;

use tokio_util::sync::CancellationToken;
use weir_domain::algorithm::{Algorithm, Quota};
use weir_domain::calendar;
use weir_domain::charge::RuleCharge;
use weir_domain::id::TenantId;
use weir_domain::limit::Limit;
use weir_domain::spread::SpreadKey;
use weir_domain::subject::SubjectKey;
use weir_domain::time::{Micros, Timestamp};
use weir_redis::limiter::{WindowCounter, WindowUnits};
use weir_store::{QuotaPeriodRow, RuleFilter, RuleHas, RuleRow, Scope, StoreError};

use crate::error::ControlError;
use crate::meters::BackgroundTask;
use crate::rule_service::{CheckedRule, places, window_units};
use crate::state::ControlState;
use crate::stats::usage::metered::{Counted, charges, exceptions, subjects};

/// The longest interval between two queries for due tenants.
const EVERY: Duration = Duration::from_secs(5);
/// Tenants with their first quota are searched every n-th query: every minute, or sooner.
const FIND_EVERY: u32 = 12;
/// The most tenants that are taken at once. Their counters are read one after the other.
const AT_ONCE: u32 = 20;
const READ_EVERY_MS: i64 = 60 * 60 * 1000;
/// The time of the reading before an end. Gates write the names of subjects every ten seconds.
const BEFORE_END_MS: i64 = 3_000;
/// The time of the reading after an end. Redis deletes counters a second after it.
const AFTER_END_MS: i64 = 100;
/// Counters of periods that ended longer ago are not there any more.
const ENDED_MS: i64 = 60_000;

/// Reads the counters of all tenants until `stop`. Several control planes can do so at once, because each takes different tenants.
pub async fn read_quotas(control: ControlState, stop: CancellationToken) {
    control.meters().succeeded(BackgroundTask::Quotas, control.clock.now());
    for turn in 0_u32.. {
        let now = control.clock.now();
        let next = match read_due(&control, turn.is_multiple_of(FIND_EVERY)).await {
            Ok(next) => {
                control.meters().succeeded(BackgroundTask::Quotas, now);
                next
            }
            Err(error) => {
                let reason = error.reason();
                tracing::warn!(reason, "could not query due quotas; will retry");
                None
            }
        };
        let pause = next.map_or(EVERY, |next| {
            let ms = next.as_millis() - control.clock.now().as_millis();
            EVERY.min(Duration::from_millis(u64::try_from(ms).unwrap_or(0)))
        });
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(pause) => {}
        }
    }
}

/// Reads the counters of some of the due tenants. Returns when the next of them is due; now, if more tenants can be due.
pub(crate) async fn read_due(
    control: &ControlState,
    find: bool,
) -> Result<Option<Timestamp>, StoreError> {
    let now = control.clock.now();
    let mut tx = control.store.begin("quotas.take", Scope::Service).await?;
    let due = tx.quota_periods().take(now, find, AT_ONCE).await?;
    tx.commit().await?;
    let mut next = (due.len() == AT_ONCE as usize).then_some(now);
    for tenant_id in due {
        match read_tenant(control, tenant_id).await {
            Ok(at) => next = Some(next.map_or(at, |next| next.min(at))),
            Err(error) => {
                tracing::warn!(?error, tenant = %tenant_id, "could not read quotas; will retry");
            }
        }
    }
    Ok(next)
}

/// Reads the counters of a tenant. Returns when they are due again.
async fn read_tenant(
    control: &ControlState,
    tenant_id: TenantId,
) -> Result<Timestamp, ControlError> {
    let now = control.clock.now();
    finish(control, tenant_id, now).await?;
    let next_at = observe(control, tenant_id, now).await?;
    let mut tx = control.store.begin("quotas.next", Scope::Tenant(tenant_id)).await?;
    tx.quota_periods().read_next(tenant_id, next_at).await?;
    tx.commit().await?;
    Ok(next_at)
}

/// Completes the rows of periods that have just ended, if their counters are still there.
async fn finish(
    control: &ControlState,
    tenant_id: TenantId,
    now: Timestamp,
) -> Result<(), ControlError> {
    let mut tx = control.store.begin("quotas.finish", Scope::Tenant(tenant_id)).await?;
    let mut rows = tx.quota_periods().unfinished(tenant_id, now.plus_ms(-ENDED_MS), now).await?;
    drop(tx);
    let counters: Vec<_> = rows
        .iter()
        .map(|row| WindowCounter {
            namespace: &row.namespace,
            spread: SpreadKey::from_u64(row.spread),
            subject: SubjectKey(row.subject_key),
            rule: row.rule_id,
            slot: row.slot,
        })
        .collect();
    let mut read = window_units(control, tenant_id, &counters).await?.into_iter();
    rows.retain_mut(|row| read.next().is_some_and(|units| update(row, &units)));
    write(control, tenant_id, &rows).await
}

/// Writes the units of a row's period into it: those of all places that have the counter. Returns whether one has some.
fn update(row: &mut QuotaPeriodRow, places: &[WindowUnits]) -> bool {
    let is_of_period = |units: &&WindowUnits| {
        let taken_at = units.taken_at.timestamp();
        row.from <= taken_at && taken_at < row.to
    };
    let of_period: Vec<_> = places.iter().filter(is_of_period).collect();
    let Some(read_at) = of_period.iter().map(|units| units.read_at).min() else { return false };
    row.used = of_period.iter().map(|units| units.taken).sum();
    row.counted_until = read_at.timestamp().min(row.to);
    true
}

/// Stores the units of the present periods. Returns when the counters are due again.
async fn observe(
    control: &ControlState,
    tenant_id: TenantId,
    now: Timestamp,
) -> Result<Timestamp, ControlError> {
    let filter = RuleFilter { has: Some(RuleHas::Quota), ..RuleFilter::default() };
    let mut tx = control.store.begin("quotas.observe", Scope::Tenant(tenant_id)).await?;
    let known = subjects(&mut tx, tenant_id, &filter, (now, control.settings.retention)).await?;
    let (rules, mut counted) = (known.rules, known.counted);
    counted.sort_by_key(|counted| counted.rule);
    let exceptions = exceptions(&mut tx, tenant_id, &rules, &counted, now).await?;
    drop(tx);
    let charges = charges(&rules, &counted, &exceptions, now)?;
    let metered: Vec<_> = charges
        .iter()
        .flat_map(|(counted, charge)| {
            let quotas = charge.limits().iter().filter_map(quota);
            quotas.map(move |(slot, quota)| (*counted, charge, slot, quota))
        })
        .collect();
    let counters: Vec<_> = metered
        .iter()
        .map(|(counted, charge, slot, _)| WindowCounter {
            namespace: &rules[counted.rule].namespace,
            spread: charge.spread,
            subject: charge.subject,
            rule: charge.active.id,
            slot: *slot,
        })
        .collect();
    let read = window_units(control, tenant_id, &counters).await?;
    let rows: Vec<_> = metered
        .iter()
        .zip(read)
        .filter_map(|((counted, charge, slot, quota), units)| {
            let mut row = row(&rules[counted.rule], counted, charge, (*slot, *quota), now)?;
            row.limit = row.limit.saturating_mul(places(control, charge));
            update(&mut row, &units).then_some(row)
        })
        .collect();
    write(control, tenant_id, &rows).await?;
    let of_rules: Vec<Quota> = rules
        .iter()
        .filter_map(|row| CheckedRule::stored(row).ok())
        .flat_map(|checked| checked.rule.limits().iter().filter_map(owned).collect::<Vec<_>>())
        .collect();
    let quotas = metered.iter().map(|(.., quota)| *quota).chain(&of_rules);
    let due = quotas.filter_map(|quota| due(quota, now));
    Ok(due.fold(now.plus_ms(READ_EVERY_MS), Timestamp::min))
}

fn quota(limit: &Limit) -> Option<(u16, &Quota)> {
    match &limit.algorithm {
        Algorithm::Quota(quota) => Some((limit.slot, quota)),
        _ => None,
    }
}

fn owned(limit: &Limit) -> Option<Quota> {
    quota(limit).map(|(_, quota)| quota.clone())
}

/// The row of a subject's present period, without its units. `None` if the quota never renews.
fn row(
    rule: &RuleRow,
    counted: &Counted,
    charge: &RuleCharge,
    (slot, quota): (u16, &Quota),
    now: Timestamp,
) -> Option<QuotaPeriodRow> {
    let periods = calendar::bounds(quota, micros(now));
    if periods.never_renews() {
        return None;
    }
    let [_, from, to, _] = periods.bounds_us.map(Micros);
    Some(QuotaPeriodRow {
        rule_id: rule.id,
        slot,
        subject_key: charge.subject.0,
        spread: charge.spread.to_u64(),
        namespace: rule.namespace.clone(),
        rule: rule.name.clone(),
        subject: serde_json::to_value(&counted.subject).expect("texts serialise"),
        period: quota.calendar().period.as_str().to_owned(),
        starts_on: calendar::local_day(quota, from),
        from: from.timestamp(),
        to: to.timestamp(),
        used: 0,
        limit: quota.limit(),
        counted_until: now,
    })
}

/// The next reading before or after the end of the present period. `None` if the quota never renews.
fn due(quota: &Quota, now: Timestamp) -> Option<Timestamp> {
    let periods = calendar::bounds(quota, micros(now));
    if periods.never_renews() {
        return None;
    }
    let end = Micros(periods.bounds_us[2]).timestamp();
    let before = end.plus_ms(-BEFORE_END_MS);
    Some(if before > now { before } else { end.plus_ms(AFTER_END_MS) })
}

fn micros(at: Timestamp) -> Micros {
    Micros::from_ms(at.as_millis_u64())
}

async fn write(
    control: &ControlState,
    tenant_id: TenantId,
    rows: &[QuotaPeriodRow],
) -> Result<(), ControlError> {
    if rows.is_empty() {
        return Ok(());
    }
    let mut tx = control.store.begin("quotas.record", Scope::Tenant(tenant_id)).await?;
    tx.quota_periods().record(tenant_id, rows).await?;
    tx.commit().await?;
    Ok(())
}
