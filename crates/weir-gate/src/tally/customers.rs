//! The counts of customers that are not written yet, by day of UTC. Only the recorder uses them.
//!
//! Postgres adds counts to those that it has. A batch has a number and does not change until it is written, so one that is sent
//! again, because its answer was lost, is added once.

use std::collections::HashMap;

use rustc_hash::FxHashMap;
use weir_domain::id::{RuleId, TenantId};
use weir_domain::request::{Operation, Request};
use weir_store::{CustomerCounts, CustomerDayRow};

use super::event::DecisionEvent;
use super::rule_decision::RuleDecision;

/// The most customers of one tenant that a shard, or the counts that wait, hold by name. Others are counted without a name.
const CUSTOMERS_MAX: usize = 100_000;
/// The most rows of all tenants that wait by name while Postgres is away.
const ROWS_MAX: usize = 500_000;
/// The most rows of one batch.
const BATCH_ROWS: usize = 20_000;
const DAY_MS: i64 = 86_400_000;

/// The counts of customers in one shard, by name. An empty name stands for those beyond the bound.
pub(super) type CustomersOfShard = FxHashMap<Box<str>, CustomerTally>;

/// The counts of one customer.
#[derive(Debug, Default)]
pub(super) struct CustomerTally {
    whole: CustomerCounts,
    rules: Vec<(RuleId, CustomerCounts)>,
}

/// Counts that wait.
#[derive(Debug)]
pub(super) struct CustomerDays {
    waiting: HashMap<(TenantId, i32), CustomersOfShard>,
    rows: usize,
    rows_max: usize,
    batch: Option<CustomerBatch>,
    /// The number of the last batch.
    last: u64,
}

/// Counts to be added at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CustomerBatch {
    pub(super) number: u64,
    pub(super) rows: Vec<CustomerDayRow>,
}

impl Default for CustomerDays {
    fn default() -> Self {
        Self { waiting: HashMap::new(), rows: 0, rows_max: ROWS_MAX, batch: None, last: 0 }
    }
}

/// Counts an event for its customer, if it has one.
pub(super) fn count(
    customers: &mut CustomersOfShard,
    event: &DecisionEvent<'_>,
    decisions: &[RuleDecision<'_>],
) {
    let Some(attribute) = event.customer_attribute else { return };
    let operation = event.request().operation();
    let named = event.requests.iter().find_map(|request| customer_of(request, attribute));
    if let Some(customer) = named {
        let refunds = decisions.iter().any(|decision| decision.refunded);
        let passes = if operation == Operation::Refund { refunds } else { event.answer.allowed };
        let counts = counts(operation, passes, !event.answer.allowed, event.request().cost());
        add(&mut tally_of(customers, customer).whole, &counts);
    }
    for decision in decisions {
        let Some(customer) = customer_of(decision.request, attribute) else { continue };
        let passes = match operation {
            Operation::Refund => decision.refunded,
            Operation::Record | Operation::Commit(_) => true,
            _ => decision.passes,
        };
        let denied = !decision.passes && !decision.shadow;
        let mut counts = counts(operation, passes, denied, decision.cost);
        if !event.answer.allowed && counts.allowed > 0 {
            counts.units = 0;
        }
        tally_of(customers, customer).add_rule(decision.rule.id, &counts);
    }
}

/// The customer of a request. The empty name stands for those beyond a bound, so a customer cannot have it.
fn customer_of<'r>(request: &'r Request, attribute: &str) -> Option<&'r str> {
    request.attribute(attribute).filter(|customer| !customer.is_empty())
}

/// The counts of one request of this operation. Units that a reservation holds count when it is committed.
fn counts(operation: Operation, passes: bool, denied: bool, cost: u64) -> CustomerCounts {
    let cost = i64::try_from(cost).unwrap_or(i64::MAX);
    let units = |units| CustomerCounts { units, ..CustomerCounts::default() };
    match operation {
        Operation::Record | Operation::Commit(_) => units(cost),
        Operation::Refund => units(if passes { -cost } else { 0 }),
        Operation::Reserve(_) => {
            CustomerCounts { allowed: u64::from(passes), denied: u64::from(denied), units: 0 }
        }
        _ => CustomerCounts {
            allowed: u64::from(passes),
            denied: u64::from(denied),
            units: if passes { cost } else { 0 },
        },
    }
}

fn tally_of<'c>(customers: &'c mut CustomersOfShard, customer: &str) -> &'c mut CustomerTally {
    let has_place = customers.len() < CUSTOMERS_MAX || customers.contains_key(customer);
    let name = if has_place { customer } else { "" };
    // Most customers are known, and a name is copied for a new one alone.
    if !customers.contains_key(name) {
        customers.insert(name.into(), CustomerTally::default());
    }
    customers.get_mut(name).expect("it was inserted")
}

fn add(sum: &mut CustomerCounts, counts: &CustomerCounts) {
    sum.allowed += counts.allowed;
    sum.denied += counts.denied;
    sum.units = sum.units.saturating_add(counts.units);
}

impl CustomerTally {
    fn add_rule(&mut self, rule: RuleId, counts: &CustomerCounts) {
        match self.rules.iter_mut().find(|(id, _)| *id == rule) {
            Some((_, sum)) => add(sum, counts),
            None => self.rules.push((rule, *counts)),
        }
    }

    fn rows(&self) -> usize {
        1 + self.rules.len()
    }
}

impl CustomerDays {
    /// The same, with a capacity of fewer rows.
    #[cfg(test)]
    pub(super) fn with_capacity(self, rows_max: usize) -> Self {
        Self { rows_max, ..self }
    }

    /// Moves the counts of a shard here. They belong to the day of this minute.
    pub(super) fn collect(
        &mut self,
        tenant: TenantId,
        minute_ms: i64,
        customers: &mut CustomersOfShard,
    ) {
        if customers.is_empty() {
            return;
        }
        let day = i32::try_from(minute_ms.div_euclid(DAY_MS)).unwrap_or(i32::MAX);
        let waiting = self.waiting.entry((tenant, day)).or_default();
        for (name, counted) in customers.drain() {
            let has_place = waiting.contains_key(&name)
                || waiting.len() < CUSTOMERS_MAX && self.rows < self.rows_max;
            let name = if has_place { name } else { "".into() };
            let before = waiting.get(&name).map_or(0, CustomerTally::rows);
            let sum = waiting.entry(name).or_default();
            add(&mut sum.whole, &counted.whole);
            counted.rules.iter().for_each(|(rule, counts)| sum.add_rule(*rule, counts));
            self.rows += sum.rows() - before;
        }
    }

    /// The batch to be written: the one that was not written yet, or a new one. `None`: nothing waits.
    pub(super) fn batch(&mut self) -> Option<&CustomerBatch> {
        if self.batch.is_none() && self.rows > 0 {
            self.last += 1;
            let rows = self.take_rows();
            self.batch = Some(CustomerBatch { number: self.last, rows });
        }
        self.batch.as_ref()
    }

    /// Notes that the batch is written.
    pub(super) fn written(&mut self) {
        self.batch = None;
    }

    /// All that waits, as batches.
    pub(super) fn take_all(&mut self) -> Vec<CustomerBatch> {
        let mut batches = Vec::new();
        while let Some(batch) = self.batch() {
            batches.push(batch.clone());
            self.written();
        }
        batches
    }

    fn take_rows(&mut self) -> Vec<CustomerDayRow> {
        let mut rows = Vec::new();
        while let Some((&(tenant_id, day), _)) = self.waiting.iter().next() {
            let customers = self.waiting.remove(&(tenant_id, day)).unwrap_or_default();
            let mut left = customers.into_iter();
            while rows.len() < BATCH_ROWS
                && let Some((customer, counted)) = left.next()
            {
                self.rows -= counted.rows();
                let whole = std::iter::once((None, counted.whole));
                let rules = counted.rules.into_iter().map(|(rule, counts)| (Some(rule), counts));
                rows.extend(whole.chain(rules).map(|(rule_id, counts)| CustomerDayRow {
                    tenant_id,
                    customer: customer.to_string(),
                    day,
                    rule_id,
                    counts,
                }));
            }
            let left: CustomersOfShard = left.collect();
            if !left.is_empty() {
                self.waiting.insert((tenant_id, day), left);
                break;
            }
        }
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TENANT: TenantId = TenantId::from_u128(1);

    fn shard(counts: &[(&str, u64)]) -> CustomersOfShard {
        let mut shard = CustomersOfShard::default();
        for &(customer, allowed) in counts {
            let counts = CustomerCounts { allowed, units: 1, ..CustomerCounts::default() };
            let tally = tally_of(&mut shard, customer);
            add(&mut tally.whole, &counts);
            tally.add_rule(RuleId::from_u128(7), &counts);
        }
        shard
    }

    /// The allowed whole checks of a batch by customer and day.
    fn allowed(batch: &CustomerBatch) -> Vec<(&str, i32, u64)> {
        let whole = batch.rows.iter().filter(|row| row.rule_id.is_none());
        let mut rows: Vec<_> =
            whole.map(|row| (row.customer.as_str(), row.day, row.counts.allowed)).collect();
        rows.sort_unstable();
        rows
    }

    #[test]
    fn batch_stays_as_it_is_until_it_is_written_and_the_next_has_what_came_since() {
        let mut days = CustomerDays::default();
        assert_eq!(days.batch(), None);
        days.collect(TENANT, DAY_MS - 60_000, &mut shard(&[("acme", 3), ("bolt", 1)]));
        days.collect(TENANT, DAY_MS, &mut shard(&[("acme", 5)]));
        let first = days.batch().expect("something waits").clone();
        assert_eq!(allowed(&first), [("acme", 0, 3), ("acme", 1, 5), ("bolt", 0, 1)]);
        assert_eq!(first.rows.len(), 6, "a row of the rule for each");
        days.collect(TENANT, DAY_MS, &mut shard(&[("acme", 7)]));
        assert_eq!(days.batch(), Some(&first));
        days.written();
        let second = days.batch().expect("something waits").clone();
        assert_eq!((second.number, allowed(&second)), (2, vec![("acme", 1, 7)]));
        days.written();
        assert_eq!(days.batch(), None);
        assert_eq!(days.rows, 0);
    }

    #[test]
    fn long_counts_are_split_into_batches_and_beyond_the_capacity_lose_their_names() {
        let mut days = CustomerDays::default().with_capacity(50_000);
        let names: Vec<String> = (0..40_000).map(|at| format!("c{at}")).collect();
        let counts: Vec<(&str, u64)> = names.iter().map(|name| (name.as_str(), 1)).collect();
        days.collect(TENANT, 0, &mut shard(&counts));
        let batches = days.take_all();
        let numbers: Vec<_> = batches.iter().map(|batch| batch.number).collect();
        assert_eq!(numbers, [1, 2, 3]);
        assert!(batches.iter().all(|batch| batch.rows.len() <= BATCH_ROWS + 1));
        let rows = batches.iter().flat_map(allowed);
        let (others, named): (Vec<_>, Vec<_>) =
            rows.partition(|(customer, ..)| customer.is_empty());
        assert_eq!((named.len(), others.len()), (25_000, 1));
        assert_eq!(others[0].2, 15_000);
    }
}
