use std::collections::BTreeMap;

use weir_domain::request::{Operation, RequestDraft};

use super::*;

const LARGE: TenantId = TenantId::from_u128(1);
const SMALL: TenantId = TenantId::from_u128(2);

fn charge(tenant: TenantId, cost: u64, bytes: usize) -> BufferedCharge {
    let draft = RequestDraft {
        namespace: "default".to_owned(),
        attributes: BTreeMap::from([("user".to_owned(), "u".repeat(bytes))]),
        cost,
        operation: Operation::Record,
        idempotency_key: Some("key".to_owned()),
    };
    let record = Charge::Record(Request::parse(draft).expect("valid"));
    BufferedCharge { tenant, key: KeyId::from_u128(1), charge: record, possibly_run: None }
}

fn costs(charges: &[BufferedCharge], of: TenantId) -> Vec<u64> {
    let costs = charges.iter().filter(|charge| charge.tenant == of).map(|charge| {
        let Charge::Record(request) = &charge.charge else { panic!("it is a record") };
        request.cost()
    });
    costs.collect()
}

#[test]
fn oldest_charge_of_the_tenant_with_the_most_is_dropped() {
    let buffer = ChargeBuffer::default();
    assert_eq!(buffer.insert(charge(SMALL, 1, 1)), 0);
    let dropped: usize =
        (0..CHARGES_MAX as u64 + 4).map(|cost| buffer.insert(charge(LARGE, cost, 1))).sum();
    assert_eq!((dropped, buffer.len()), (5, CHARGES_MAX));
    let taken = buffer.take(CHARGES_MAX + 1);
    assert_eq!(costs(&taken, SMALL), [1]);
    let expected: Vec<_> = (5..CHARGES_MAX as u64 + 4).collect();
    assert_eq!(costs(&taken, LARGE), expected, "the newest ones, in their order");
    assert_eq!(buffer.len(), 0);
}

#[test]
fn new_charge_is_never_the_dropped_one() {
    let buffer = ChargeBuffer::default();
    for tenant in 0..CHARGES_MAX as u128 {
        assert_eq!(buffer.insert(charge(TenantId::from_u128(tenant + 3), 1, 1)), 0);
    }
    assert_eq!(buffer.insert(charge(SMALL, 2, 1)), 1);
    let taken = buffer.take(CHARGES_MAX + 1);
    assert_eq!((taken.len(), costs(&taken, SMALL)), (CHARGES_MAX, vec![2]));
}

#[test]
fn bytes_are_bounded_too() {
    let buffer = ChargeBuffer::default();
    let largest = charge(LARGE, 1, 512);
    let fit = BYTES_MAX / largest.bytes();
    // Attributes of one charge are at most 32 values of 512 bytes, so their number bounds the buffer before the bytes do.
    assert!(fit > CHARGES_MAX);
    assert_eq!(buffer.insert(charge(LARGE, 2, 512)), 0);
    let mut charges = buffer.charges();
    charges.bytes = BYTES_MAX;
    drop(charges);
    assert_eq!(buffer.insert(largest), 1);
    assert_eq!(costs(&buffer.take(2), LARGE), [1], "the older one was dropped");
}

#[test]
fn tenants_are_taken_in_turn_and_charges_put_back_keep_their_order() {
    let buffer = ChargeBuffer::default();
    for cost in 1..=3 {
        buffer.insert(charge(LARGE, cost, 1));
    }
    buffer.insert(charge(SMALL, 9, 1));
    let taken = buffer.take(3);
    assert_eq!((costs(&taken, LARGE), costs(&taken, SMALL)), (vec![1, 2], vec![9]));
    assert_eq!(buffer.put_back(taken), 0);
    let taken = buffer.take(10);
    assert_eq!((costs(&taken, LARGE), costs(&taken, SMALL)), (vec![1, 2, 3], vec![9]));
}

#[test]
fn charge_that_redis_possibly_ran_is_repeated_only_while_its_key_is_known() {
    let began = Instant::now();
    let never_run = charge(SMALL, 1, 1);
    assert!(never_run.is_repeatable(began + 100 * REPEATABLE));
    let possibly_run = BufferedCharge { possibly_run: Some(began), ..never_run };
    assert!(possibly_run.is_repeatable(began + REPEATABLE / 2));
    assert!(!possibly_run.is_repeatable(began + REPEATABLE));
}
