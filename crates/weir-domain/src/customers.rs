//! Customers of a tenant, and the plans to which they are assigned.
//!
//! A gate holds all assignments of a tenant, so one takes [`ASSIGNMENT_BYTES`] and no name: a customer is a digest.

use std::sync::Arc;

use crate::id::PlanId;
use crate::subject::{SubjectHasher, SubjectKey};
use crate::time::Timestamp;

/// The memory of one assignment in a gate.
pub const ASSIGNMENT_BYTES: usize = size_of::<Assignment>();
/// The number of parts of the assignments. A change copies the parts that it concerns.
const SHARDS: usize = 1_024;

/// A plan, or an older revision of it that the assignment keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlanRef {
    /// The plan.
    pub plan: PlanId,
    /// The revision that is pinned. 0: the present one.
    pub pinned_revision: u32,
}

/// A customer on a plan between two times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Assignment {
    customer: [u64; 2],
    plan: [u64; 2],
    from_ms: i64,
    until_ms: i64,
    pinned_revision: u32,
}

/// The customers' own view of their usage: from where it can be read, and without which rules.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CustomerView {
    /// The stored form.
    pub text: Box<str>,
    /// The origins of pages that can read it in a browser.
    pub origins: Vec<String>,
    /// The namespaces and names of rules that customers do not see.
    pub hidden_rules: Vec<(String, String)>,
    /// The public keys (Ed25519) that verify the tokens of customers.
    pub keys: Vec<[u8; 32]>,
}

/// The assignments of a tenant, with the attribute that names its customers.
#[derive(Debug, Clone)]
pub struct Customers {
    attribute: Arc<str>,
    /// Each part has the assignments of some customers, ordered by customer and time.
    shards: Arc<[Arc<[Assignment]>]>,
}

impl Assignment {
    /// The assignment of a customer. Without `until`, it has no end.
    pub fn new(
        customer: SubjectKey,
        plan: PlanRef,
        from: Timestamp,
        until: Option<Timestamp>,
    ) -> Self {
        Self {
            customer: halves(customer.0),
            plan: halves(plan.plan.to_u128()),
            from_ms: from.as_millis(),
            until_ms: until.map_or(i64::MAX, Timestamp::as_millis),
            pinned_revision: plan.pinned_revision,
        }
    }

    /// The digest of the customer.
    pub fn customer(&self) -> SubjectKey {
        SubjectKey(whole(self.customer))
    }

    /// The plan.
    pub fn plan(&self) -> PlanRef {
        let plan = PlanId::from_u128(whole(self.plan));
        PlanRef { plan, pinned_revision: self.pinned_revision }
    }

    /// The time from which it applies.
    pub fn from(&self) -> Timestamp {
        Timestamp::from_millis(self.from_ms)
    }

    /// The time from which it does not apply any more.
    pub fn until(&self) -> Option<Timestamp> {
        (self.until_ms != i64::MAX).then(|| Timestamp::from_millis(self.until_ms))
    }

    fn is_in_force(&self, now: Timestamp) -> bool {
        (self.from_ms..self.until_ms).contains(&now.as_millis())
    }
}

impl Customers {
    /// A tenant's customers, none of which is on a plan.
    pub fn new(attribute: &str) -> Self {
        let empty: Arc<[Assignment]> = Arc::new([]);
        let shards = std::iter::repeat_n(empty, SHARDS).collect();
        Self { attribute: attribute.into(), shards }
    }

    /// The attribute that names the customer of a request.
    pub fn attribute(&self) -> &str {
        &self.attribute
    }

    /// The digest of the customer with this name.
    pub fn key_of(&self, customer: &str) -> SubjectKey {
        customer_key(&self.attribute, customer)
    }

    /// The plan of the customer with this name.
    pub fn plan_of(&self, customer: &str, now: Timestamp) -> Option<PlanRef> {
        let customer = halves(self.key_of(customer).0);
        let shard = &self.shards[shard(customer)];
        let first = shard.partition_point(|assignment| assignment.customer < customer);
        let own = shard[first..].iter().take_while(|assignment| assignment.customer == customer);
        own.into_iter().find(|assignment| assignment.is_in_force(now)).map(Assignment::plan)
    }

    /// The same with all assignments of some customers, which replace those that these customers had.
    #[must_use]
    pub fn with_changes(&self, mut changes: Vec<Assignment>) -> Self {
        let order = |assignment: &Assignment| (assignment.customer, assignment.from_ms);
        changes.sort_unstable_by_key(|assignment| (shard(assignment.customer), order(assignment)));
        let mut shards = self.shards.to_vec();
        for changes in changes.chunk_by(|a, b| shard(a.customer) == shard(b.customer)) {
            let shard = &mut shards[shard(changes[0].customer)];
            let is_unchanged = |before: &&Assignment| {
                changes.binary_search_by_key(&before.customer, |new| new.customer).is_err()
            };
            let mut all: Vec<_> = shard.iter().filter(is_unchanged).copied().collect();
            // One that ended before it began is a removal.
            all.extend(changes.iter().filter(|new| new.from_ms < new.until_ms));
            all.sort_unstable_by_key(order);
            *shard = all.into();
        }
        Self { attribute: Arc::clone(&self.attribute), shards: shards.into() }
    }

    /// All assignments.
    pub fn assignments(&self) -> impl Iterator<Item = &Assignment> {
        self.shards.iter().flat_map(|shard| shard.iter())
    }
}

/// The digest of a customer, which is also the subject of a rule that counts by the customer attribute alone.
pub fn customer_key(attribute: &str, customer: &str) -> SubjectKey {
    let mut hasher = SubjectHasher::default();
    hasher.value(attribute, customer);
    hasher.finish()
}

fn halves(number: u128) -> [u64; 2] {
    let low = u128::from(u64::MAX);
    [number >> 64, number & low].map(|half| u64::try_from(half).unwrap_or(u64::MAX))
}

fn whole([high, low]: [u64; 2]) -> u128 {
    u128::from(high) << 64 | u128::from(low)
}

#[expect(clippy::cast_possible_truncation, reason = "the remainder is below the number of shards")]
fn shard([_, low]: [u64; 2]) -> usize {
    (low % SHARDS as u64) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(1_763_726_400_000);
    const PLAN: PlanRef = PlanRef { plan: PlanId::from_u128(7), pinned_revision: 0 };
    const OTHER: PlanRef = PlanRef { plan: PlanId::from_u128(7), pinned_revision: 3 };

    fn on(customer: &str, plan: PlanRef, from: i64, until: Option<i64>) -> Assignment {
        let until = until.map(|ms| NOW.plus_ms(ms));
        Assignment::new(customer_key("org", customer), plan, NOW.plus_ms(from), until)
    }

    #[test]
    fn assignment_takes_at_most_64_bytes_and_applies_between_its_times() {
        const { assert!(ASSIGNMENT_BYTES <= 64) };
        let next = on("acme", OTHER, 10, None);
        let customers =
            Customers::new("org").with_changes(vec![next, on("acme", PLAN, 0, Some(10))]);
        let plan = |ms| customers.plan_of("acme", NOW.plus_ms(ms));
        assert_eq!([plan(-1), plan(0), plan(9)], [None, Some(PLAN), Some(PLAN)]);
        assert_eq!([plan(10), plan(i64::from(u32::MAX))], [Some(OTHER), Some(OTHER)]);
        assert_eq!(customers.plan_of("other", NOW), None);
        let Assignment { pinned_revision, .. } = next;
        assert_eq!((next.plan(), pinned_revision, next.until()), (OTHER, 3, None));
        assert_eq!(next.from(), NOW.plus_ms(10));
    }

    #[test]
    fn change_replaces_the_assignments_of_its_customers_and_shares_the_others() {
        let name = |at: u32| format!("customer-{at}");
        let all = (0..5_000).map(|at| on(&name(at), PLAN, 0, None)).collect();
        let before = Customers::new("org").with_changes(all);
        let changes = vec![on(&name(1), PLAN, 0, Some(5)), on(&name(1), OTHER, 5, None)];
        let after = before.with_changes(changes);
        assert_eq!((before.assignments().count(), after.assignments().count()), (5_000, 5_001));
        for at in 0..5_000 {
            let expected = if at == 1 { OTHER } else { PLAN };
            assert_eq!(after.plan_of(&name(at), NOW.plus_ms(5)), Some(expected), "{at}");
        }
        let pairs = before.shards.iter().zip(after.shards.iter());
        assert_eq!(pairs.filter(|(then, now)| !Arc::ptr_eq(then, now)).count(), 1);
    }
}
