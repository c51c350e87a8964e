//! `POST /tenants/{tenant}/alerts/backtest`

use axum::extract::State;
use weir_domain::alert::Condition;
use weir_domain::time::Timestamp;
use weir_http::json::Json;
use weir_http::problem::Problem;
use weir_store::Tx;
use weir_wire::backtest::{BACKTEST_S_MAX, BacktestAnswer, BacktestBody, FIRINGS_MAX, Firing};

use super::quotas;
use crate::actor::{By, Caller, Viewer};
use crate::alerting::{Backtest, BacktestTime, DenialShare, backtest};
use crate::error::ControlError;
use crate::state::ControlState;

const MINUTE_MS: i64 = 60_000;
const DAY_MS: i64 = 24 * 60 * MINUTE_MS;
/// The most steps of the highest share.
const STEPS_MAX: usize = 300;

/// Back-test an alert: when would it have fired in a past period?
///
/// The condition is evaluated as that of a live alert, over the stored statistics. Nothing is sent, and nothing is stored.
#[utoipa::path(post, path = "/tenants/{tenant}/alerts/backtest", operation_id = "alerts_backtest", tag = "alerts",
    params(("tenant" = String, Path, description = "`tenant_…`")),
    request_body = BacktestBody,
    responses((status = 200, description = "The firings", body = BacktestAnswer)))]
pub(crate) async fn run(
    State(control): State<ControlState>,
    By { caller, .. }: By<Viewer>,
    Json(body): Json<BacktestBody>,
) -> Result<Json<BacktestAnswer>, ControlError> {
    let mut tx = control.reading("alerts.backtest", &caller).await?;
    let condition = condition(&mut tx, &caller, &body).await?;
    let Some(share) = DenialShare::of(&condition) else {
        let field = if body.alert_id.is_some() { "alert_id" } else { "kind" };
        let reason =
            "must be of kind `denial_share`: the levels of quotas in the past are not stored";
        return Err(Problem::invalid_field(field, reason).into());
    };
    let time = time(&control, &body)?;
    let retained_days = control.settings.retention.minutes_days;
    let today_ms = control.clock.now().as_millis().div_euclid(DAY_MS) * DAY_MS;
    let earliest = Timestamp::from_millis(today_ms - i64::from(retained_days) * DAY_MS);
    if share.window(time.from).0 < earliest {
        let reason = format!(
            "must be at least a window after the oldest minutes, which are retained for {retained_days} days"
        );
        return Err(Problem::invalid_field("from", reason).into());
    }
    let tested = backtest(&mut tx, caller.tenant_id, share, time).await?;
    Ok(Json(answer(time, &tested)))
}

/// The condition of the stored alert, or of the body.
async fn condition(
    tx: &mut Tx,
    caller: &Caller,
    body: &BacktestBody,
) -> Result<Condition, ControlError> {
    let Some(alert_id) = &body.alert_id else {
        let condition = body.alert().and_then(|alert| alert.condition());
        let condition = condition.map_err(Problem::invalid)?;
        quotas::must_be_there(tx, caller.tenant_id, &condition).await?;
        return Ok(condition);
    };
    if let Some(field) = body.given() {
        let reason = "must be left out with `alert_id`: the stored alert has a condition";
        return Err(Problem::invalid_field(field, reason).into());
    }
    let missing = || Problem::invalid_field("alert_id", "is not an alert of this tenant");
    let id = alert_id.parse().map_err(|_| missing())?;
    let alert = tx.alerts().find(caller.tenant_id, id).await?.ok_or_else(missing)?;
    Ok(alert.condition)
}

/// The requested time in whole minutes; a day by default.
fn time(control: &ControlState, body: &BacktestBody) -> Result<BacktestTime, Problem> {
    let now_ms = control.clock.now().as_millis();
    let to_ms = body.to.map_or(now_ms, |to| to.0.as_millis().min(now_ms));
    let from_ms = body.from.map_or(to_ms - DAY_MS, |from| from.0.as_millis());
    if from_ms >= to_ms {
        return Err(Problem::invalid_field("from", "must be before `to`, and before now"));
    }
    if to_ms - from_ms > i64::from(BACKTEST_S_MAX) * 1000 {
        return Err(Problem::invalid_field("from", "must be at most 7 days before `to`"));
    }
    let from = Timestamp::from_millis(from_ms.div_euclid(MINUTE_MS) * MINUTE_MS);
    let to = Timestamp::from_millis((to_ms + MINUTE_MS - 1).div_euclid(MINUTE_MS) * MINUTE_MS);
    Ok(BacktestTime { from, to })
}

fn answer(time: BacktestTime, tested: &Backtest) -> BacktestAnswer {
    let firings = tested.firings.iter().take(FIRINGS_MAX).map(|firing| Firing {
        from: firing.from.into(),
        to: (firing.to < time.to).then(|| firing.to.into()),
        messages: firing.messages,
        highest_percent: firing.highest_percent,
        denied: firing.denied,
        checks: firing.checks,
    });
    let minutes_per_step = tested.shares_percent.len().div_ceil(STEPS_MAX).max(1);
    let highest = |shares: &[Option<f64>]| shares.iter().copied().flatten().reduce(f64::max);
    BacktestAnswer {
        from: time.from.into(),
        to: time.to.into(),
        fired: tested.firings.len() as u64,
        messages: tested.firings.iter().map(|firing| firing.messages).sum(),
        firings: firings.collect(),
        truncated: tested.firings.len() > FIRINGS_MAX,
        step_s: u32::try_from(minutes_per_step * 60).unwrap_or(BACKTEST_S_MAX),
        highest_percent: tested.shares_percent.chunks(minutes_per_step).map(highest).collect(),
        as_of: tested.as_of.into(),
        dropped: tested.dropped,
    }
}
