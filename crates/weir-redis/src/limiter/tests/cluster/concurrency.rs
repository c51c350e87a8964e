//! Concurrency limits on a cluster: decided with all other limits of a check, on each primary.

use std::time::Duration;

use weir_domain::algorithm::{Kind, LeaseId};
use weir_domain::draft::LimitDraft;

use super::failover::one_of_each;
use super::fixture::Fixture;
use crate::limiter::tests::fixture::{Dump, charge_of, counts_units, dump_of, of_kind, values};
use crate::limiter::{Answer, ScriptCheck};

/// Longer than the test.
const SPAN_MS: u64 = 3_600_000;

impl Fixture {
    /// All keys of the tenant on a node.
    async fn dump(&self, node: usize) -> Dump {
        let client = crate::client(&self.cluster.nodes()[node].url()).expect("a local address");
        let connected = client.connect(Duration::from_secs(20)).await;
        let (mut connection, _) = connected.expect("the node accepts");
        dump_of(self.tenant, &mut connection).await
    }
}

#[tokio::test]
async fn check_denied_for_concurrency_leaves_all_rate_counters_byte_for_byte_unchanged() {
    let fixture = Fixture::start();
    let limiter = fixture.limiter().await;
    let places = LimitDraft::Concurrency { capacity: 1, lease_ms: SPAN_MS };
    let kinds = Kind::ALL.iter().filter(|&&kind| counts_units(kind));
    let rates = charge_of(2, kinds.map(|&kind| of_kind(kind, 10, SPAN_MS)).collect());
    let rules = [charge_of(1, vec![places]), rates];
    for (node, namespace) in one_of_each(&fixture).iter().enumerate() {
        let take = async |lease: u8| {
            let (cost, lease_id) = (5, LeaseId([lease; 16]));
            let asked = ScriptCheck { cost, lease_id, ..fixture.asked(namespace, &rules) };
            let result = limiter.check(&[asked]).await.remove(0);
            let Ok(Answer::Settled(_, None, decisions, _)) = result else { panic!("{result:?}") };
            decisions.iter().map(|decision| decision.allowed).collect::<Vec<_>>()
        };
        assert!(take(1).await.into_iter().all(|allowed| allowed), "{namespace}");
        let before = values(fixture.dump(node).await);
        assert!(before.len() >= 3, "a hash, a log and a set: {:?}", before.keys());
        for lease in 2..5 {
            let allowed = take(lease).await;
            assert!(!allowed[0] && allowed[1..].iter().all(|rate| *rate), "{allowed:?}");
        }
        assert_eq!(values(fixture.dump(node).await), before, "{namespace}");
    }
}
