//! The answers of a tenant's rules while gates do not reach Redis.

use weir_domain::id::RuleId;
use weir_domain::time::Timestamp;
use weir_store::{GateRow, OutageRules, Resolution, TallyFilter, Tx};
use weir_wire::replicas::{NamedRule, RulesWithoutRedis, WithoutRedis};
use weir_wire::words::OnStoreFailure;

use crate::actor::Caller;
use crate::error::ControlError;

/// The rules of each answer that are named.
const NAMED: i32 = 3;
const MINUTE_MS: i64 = 60_000;

/// `None` while all gates reach Redis, or do not report it.
pub(super) async fn read(
    tx: &mut Tx,
    caller: &Caller,
    gates: &[GateRow],
    now: Timestamp,
) -> Result<Option<WithoutRedis>, ControlError> {
    let away: Vec<_> = gates.iter().filter(|gate| gate.redis_up == Some(false)).collect();
    if away.is_empty() {
        return Ok(None);
    }
    let since = away.iter().filter_map(|gate| gate.redis_away_since).min();
    let checks = match since {
        Some(since) => degraded(tx, caller, since.min(now), now).await?,
        None => 0,
    };
    let namespaces = caller.namespaces.only();
    let rules = tx.rules().by_outage_answer(caller.tenant_id, namespaces, NAMED).await?;
    let of = |answer: OnStoreFailure| {
        let found = rules.iter().find(|rules| rules.answer == answer.as_str());
        found.map(named).unwrap_or_default()
    };
    Ok(Some(WithoutRedis {
        gates: u64::try_from(away.len()).unwrap_or(u64::MAX),
        since: since.map(Into::into),
        checks,
        allow: of(OnStoreFailure::Allow),
        local: of(OnStoreFailure::Local),
        deny: of(OnStoreFailure::Deny),
    }))
}

/// The checks that were answered without Redis since a minute.
async fn degraded(
    tx: &mut Tx,
    caller: &Caller,
    since: Timestamp,
    now: Timestamp,
) -> Result<u64, ControlError> {
    let minute = |at: Timestamp| at.as_millis().div_euclid(MINUTE_MS) * MINUTE_MS;
    let bounds = [minute(since), minute(now) + MINUTE_MS].map(Timestamp::from_millis);
    let filter = TallyFilter {
        tenant_id: caller.tenant_id,
        rule_id: None,
        namespaces: caller.namespaces.only().map(<[String]>::to_vec),
        region: None,
    };
    let counted = tx.tallies().series(&filter, &bounds, Resolution::Minute).await?;
    Ok(counted.counts.iter().map(|counts| counts.degraded).sum())
}

fn named(rules: &OutageRules) -> RulesWithoutRedis {
    let rule = |(id, name): &(RuleId, String)| NamedRule { id: id.to_string(), name: name.clone() };
    RulesWithoutRedis { count: rules.count, first: rules.first.iter().map(rule).collect() }
}
