//! Kept checks on their way to Postgres: gathered for some seconds, cut into pieces, held until written.

use std::collections::{HashMap, VecDeque};

use weir_domain::id::TenantId;
use weir_domain::time::Timestamp;
use weir_store::{SampleHead, SampleRow};
use weir_wire::kept::KeptPlan;

use super::sample::{KEPT_MAX, Sample};

/// Pieces kept while they cannot be written, and their bytes.
const PIECES_MAX: usize = 2_000;
const WAITING_BYTES_MAX: usize = 16 << 20;
/// Bytes of what is gathered for the next pieces.
const GATHERED_BYTES_MAX: usize = 16 << 20;
/// Those of one tenant.
const TENANT_BYTES_MAX: usize = GATHERED_BYTES_MAX / 4;

/// What was kept and is not written yet.
#[derive(Debug, Default)]
pub(super) struct Pieces {
    gathered: HashMap<TenantId, Vec<Sample>>,
    gathered_bytes: usize,
    waiting: VecDeque<SampleRow>,
    lost: HashMap<TenantId, u64>,
}

impl Pieces {
    /// Takes in what one shard kept of a tenant's namespace.
    pub(super) fn gather(&mut self, tenant: TenantId, sample: &mut Sample) {
        if sample.seen() == 0 {
            return;
        }
        let held = self.gathered.get(&tenant).map_or(&[][..], Vec::as_slice);
        let own = TENANT_BYTES_MAX.saturating_sub(held.iter().map(Sample::bytes).sum());
        let room = own.min(GATHERED_BYTES_MAX.saturating_sub(self.gathered_bytes));
        while sample.bytes() > room {
            sample.shrink_to(sample.kept() / 2);
        }
        let all = self.gathered.entry(tenant).or_default();
        match all.iter_mut().find(|it| it.plan() == sample.plan()) {
            Some(known) => {
                let before = known.bytes();
                known.absorb(sample);
                self.gathered_bytes = self.gathered_bytes + known.bytes() - before;
            }
            None => {
                self.gathered_bytes += sample.bytes();
                all.push(sample.split());
            }
        }
    }

    /// Ends the pieces that are gathered: from now on they wait to be written.
    pub(super) fn cut(&mut self, now: Timestamp) {
        self.gathered_bytes = 0;
        for (tenant_id, mut samples) in std::mem::take(&mut self.gathered) {
            fit(&mut samples);
            for (part, sample) in samples.into_iter().enumerate() {
                let lost = self.lost.remove(&tenant_id).unwrap_or(0);
                let part = i16::try_from(part).unwrap_or(i16::MAX);
                self.waiting.push_back(row(tenant_id, part, sample, lost, now));
            }
        }
        self.keep_shares();
        let mut bytes: usize = self.waiting.iter().map(|it| it.checks.len()).sum();
        while self.waiting.len() > PIECES_MAX || bytes > WAITING_BYTES_MAX {
            let Some(gone) = self.waiting.pop_front() else { break };
            bytes -= gone.checks.len();
            *self.lost.entry(gone.tenant_id).or_default() += gone.head.seen + gone.head.lost;
        }
    }

    /// Lets go of the oldest pieces of tenants that have more than their share.
    fn keep_shares(&mut self) {
        let mut weights: HashMap<TenantId, usize> = HashMap::new();
        for piece in &self.waiting {
            *weights.entry(piece.tenant_id).or_default() += weight(piece);
        }
        let Self { waiting, lost, .. } = self;
        waiting.retain(|piece| {
            let Some(own) = weights.get_mut(&piece.tenant_id) else { return true };
            let stays = *own <= WAITING_BYTES_MAX / 4;
            if !stays {
                *own -= weight(piece);
                *lost.entry(piece.tenant_id).or_default() += piece.head.seen + piece.head.lost;
            }
            stays
        });
    }

    /// What waits to be written, to be given back if it cannot be.
    pub(super) fn take(&mut self) -> Vec<SampleRow> {
        std::mem::take(&mut self.waiting).into()
    }

    pub(super) fn give_back(&mut self, rows: Vec<SampleRow>) {
        for row in rows.into_iter().rev() {
            self.waiting.push_front(row);
        }
    }
}

/// What counts of a piece for its tenant's share: a piece, however small, is one of [`PIECES_MAX`].
fn weight(piece: &SampleRow) -> usize {
    WAITING_BYTES_MAX / PIECES_MAX + piece.checks.len()
}

/// Leaves each namespace of a tenant its share of what may be kept.
fn fit(samples: &mut [Sample]) {
    let total: usize = samples.iter().map(Sample::kept).sum();
    if total > KEPT_MAX {
        for it in samples {
            it.shrink_to(it.kept() * KEPT_MAX / total);
        }
    }
}

fn row(tenant_id: TenantId, part: i16, sample: Sample, lost: u64, until: Timestamp) -> SampleRow {
    let plan = KeptPlan::of(sample.plan());
    let head = SampleHead {
        namespace: sample.plan().namespace().to_owned(),
        since: sample.since().unwrap_or(until),
        until,
        threshold: sample.threshold(),
        seen: sample.seen(),
        kept: sample.kept() as u64,
        lost,
        plan: serde_json::to_value(plan).expect("names serialise"),
    };
    let checks = serde_json::to_string(&sample.checks()).expect("texts and numbers serialise");
    SampleRow { tenant_id, part, head, checks }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(tenant: u128, bytes: usize) -> SampleRow {
        let at = Timestamp::from_millis(0);
        let head = SampleHead {
            namespace: "default".to_owned(),
            since: at,
            until: at,
            threshold: 0,
            seen: 1,
            kept: 1,
            lost: 0,
            plan: serde_json::Value::Null,
        };
        let checks = "x".repeat(bytes);
        SampleRow { tenant_id: TenantId::from_u128(tenant), part: 0, head, checks }
    }

    #[test]
    fn tenant_with_many_pieces_pushes_out_its_own() {
        let mut pieces = Pieces::default();
        pieces.waiting.push_back(piece(1, 10));
        pieces.waiting.extend((0..40).map(|_| piece(2, 1 << 20)));
        pieces.cut(Timestamp::from_millis(1));
        let of = |tenant| {
            let tenant = TenantId::from_u128(tenant);
            pieces.waiting.iter().filter(move |it| it.tenant_id == tenant).count()
        };
        assert_eq!((of(1), of(2)), (1, 3));
    }
}
