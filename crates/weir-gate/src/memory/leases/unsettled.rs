//! Units that must be settled with Redis: returned to it, or a request that had no answer.

use std::sync::Arc;
use std::time::Instant;

use weir_domain::algorithm::LeaseId;
use weir_domain::charge::RuleCharge;
use weir_domain::decide::Decision;
use weir_domain::id::TenantId;
use weir_domain::request::Operation;
use weir_domain::time::Micros;
use weir_redis::limiter::{Idempotency, ScriptCheck};

use super::call_ids::CallIds;
use super::window::{LeaseWindow, TRIED_FOR};

/// Units to be settled with Redis. Each call that settles them has an idempotency key, so it can be repeated.
#[derive(Debug)]
pub(crate) struct Unsettled {
    pub(crate) tenant: TenantId,
    pub(crate) charge: RuleCharge,
    pub(crate) origin: Origin,
    /// The id of the call, once it was made.
    pub(crate) id: Option<u64>,
    /// The time after which the entry is not tried again.
    pub(crate) until: Instant,
    /// Shared with the lease, which takes no units while another holder has some.
    #[expect(dead_code, reason = "the lease sees that the entry exists")]
    pub(crate) holder: Holder,
}

/// A holder of units of one counter: a lease, a request for units or an unsettled entry.
pub(crate) type Holder = Arc<()>;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    /// Unused units of a window. `ends` is its end by Redis' clock.
    Return { units: u64, ends: Micros },
    /// A request that had no answer. `cost` of its units were for its check.
    Unanswered { units: u64, cost: u64 },
}

impl Unsettled {
    /// The number of units that no gate can use until the entry is settled.
    pub(crate) fn units(&self) -> u64 {
        match self.origin {
            Origin::Return { units, .. } => units,
            Origin::Unanswered { units, cost } => units - cost,
        }
    }

    pub(crate) fn can_be_tried_at(&self, now: Instant) -> bool {
        now < self.until
    }

    /// Prepares the call that settles the entry.
    pub(crate) fn begin(&mut self, ids: &CallIds, now: Instant) {
        if self.id.is_none() {
            self.id = Some(ids.next());
            self.until = self.until.min(now + TRIED_FOR);
        }
    }

    /// The return of the units that Redis gave to an unanswered request. `None` if Redis denied it. `repeated`: the answer is
    /// that of the first call, repeated at `at`.
    pub(crate) fn returned(
        self,
        repeated: bool,
        at: Micros,
        decisions: &[Decision],
        now: Instant,
    ) -> Option<Self> {
        let (&[decision], Origin::Unanswered { units, cost }) = (decisions, self.origin) else {
            return None;
        };
        let asked_at = self.until.checked_sub(TRIED_FOR).unwrap_or(now);
        let since_us = now.saturating_duration_since(asked_at).as_micros();
        let since_us = u64::try_from(since_us).unwrap_or(u64::MAX);
        // A request that runs only now has no check any more, so all of its units are returned. A repeated answer counts from
        // the first call.
        let (units, decided_at) = if repeated {
            (units - cost, Micros(at.0.saturating_sub(since_us)))
        } else {
            (units, at)
        };
        let [limit] = self.charge.limits() else { return None };
        let algorithm = &limit.algorithm;
        let reset_after_ms = decision.reset_after_ms;
        let until = now
            + LeaseWindow::lasts(algorithm, reset_after_ms)
            + LeaseWindow::returned_for(algorithm);
        let ends = LeaseWindow::ends(algorithm, decided_at, reset_after_ms);
        let origin = Origin::Return { units, ends };
        (decision.allowed && units > 0).then_some(Self { origin, id: None, until, ..self })
    }

    /// The call that settles the entry: it returns the units, or repeats the request for them.
    pub(crate) fn call(&self, ids: &CallIds) -> ScriptCheck<'_> {
        let (operation, cost) = match self.origin {
            Origin::Return { units, .. } => (Operation::Refund, units),
            Origin::Unanswered { units, .. } => (Operation::Consume, units),
        };
        let idempotency = self.id.map(|id| ids.idempotency(id));
        call_of((self.tenant, &self.charge), operation, cost, idempotency)
    }
}

/// A call that takes or returns units of one counter.
pub(super) fn call_of(
    (tenant, charge): (TenantId, &RuleCharge),
    operation: Operation,
    cost: u64,
    idempotency: Option<Idempotency>,
) -> ScriptCheck<'_> {
    ScriptCheck {
        tenant,
        namespace: charge.active.rule.namespace(),
        operation,
        cost,
        rules: std::slice::from_ref(charge),
        lease_id: LeaseId::default(),
        idempotency,
        charged: None,
    }
}
