//! The request of a commit, and the end of its reservation.

use std::collections::BTreeMap;

use weir_domain::request::{Operation, Request, RequestDraft};
use weir_domain::reservation::Commit;

use crate::requests::reservation_text::ReservationText;
use crate::state::GateState;

/// Notes that a reservation is not open any more. Its commit ended its leases too.
pub(super) fn note_committed(state: &GateState, reservation: &ReservationText) {
    state.open_reservations.closed_all(reservation.id.0);
    state.open_leases.closed_all(reservation.id.0);
}

/// The request of a commit. The cost of a reservation that nothing holds is recorded.
pub(super) fn commit_request(reservation: &ReservationText, cost: u64) -> Request {
    let operation = match reservation.degraded {
        None => Operation::Commit(Commit { id: reservation.id, ends: reservation.ends }),
        Some(_) => Operation::Record,
    };
    let draft = RequestDraft {
        namespace: reservation.namespace.clone(),
        attributes: BTreeMap::new(),
        cost,
        operation,
        idempotency_key: Some(format!("commit {:032x}", u128::from_be_bytes(reservation.id.0))),
    };
    Request::parse(draft)
        .expect("the parts of a reservation were checked, and the cost by the caller")
}
