//! The requests with keys at gates, by the hour.

use weir_domain::id::KeyId;
use weir_domain::time::Timestamp;
use weir_store::{KeyHour, MemberRole, StoreError, Tx};
use weir_wire::api_keys::{KeyGate, KeyRequests};

use crate::actor::Caller;

/// The counts of some keys.
pub(super) struct Requests {
    rows: Vec<KeyHour>,
    now: Timestamp,
    with_addresses: bool,
}

/// The number of hours that are shown, with the present one.
const HOURS: usize = 24;
const HOUR_MS: i64 = 3_600_000;

impl Requests {
    /// Reads the counts of these keys of the caller's tenant.
    pub(super) async fn read(
        tx: &mut Tx,
        caller: &Caller,
        keys: &[KeyId],
        now: Timestamp,
    ) -> Result<Self, StoreError> {
        let rows = tx.keys().hours(caller.tenant_id, keys, first_hour(now)).await?;
        Ok(Self { rows, now, with_addresses: caller.role >= MemberRole::Editor })
    }

    /// The requests with one of the keys.
    pub(super) fn of(&self, key: KeyId) -> KeyRequests {
        let start = first_hour(self.now);
        let mut hours = vec![0; HOURS];
        let mut last_gate = None;
        // The rows are in the order of the hours.
        for row in self.rows.iter().filter(|row| row.key_id == key) {
            let at = (row.hour.as_millis() - start.as_millis()) / HOUR_MS;
            if let Some(hour) = usize::try_from(at).ok().and_then(|at| hours.get_mut(at)) {
                *hour += row.requests;
                last_gate = Some(KeyGate {
                    id: row.gate_id.to_string(),
                    address: row.gate_address.clone().filter(|_| self.with_addresses),
                });
            }
        }
        let last_hour = last_hour(&hours, self.now);
        KeyRequests { start: start.into(), hours, last_hour, last_gate }
    }
}

/// The start of the first hour that is shown.
fn first_hour(now: Timestamp) -> Timestamp {
    let present_ms = now.as_millis().div_euclid(HOUR_MS) * HOUR_MS;
    let earlier = i64::try_from(HOURS - 1).expect("a small number");
    Timestamp::from_millis(present_ms - earlier * HOUR_MS)
}

/// The requests of the last 60 minutes, if those of the hour before were evenly spread.
fn last_hour(hours: &[u64], now: Timestamp) -> u64 {
    let [.., before, present] = hours else { return 0 };
    let left_ms = HOUR_MS - now.as_millis().rem_euclid(HOUR_MS);
    let of_before = u128::from(*before) * u128::from(left_ms.unsigned_abs())
        / u128::from(HOUR_MS.unsigned_abs());
    present + u64::try_from(of_before).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use weir_domain::id::GateId;

    use super::*;

    #[test]
    fn hours_of_a_key_have_gaps_and_the_gate_of_the_last_request() {
        let now = Timestamp::from_millis(1_000 * HOUR_MS + HOUR_MS / 4);
        let key = KeyId::from_u128(1);
        let row = |key: u128, back: i64, requests: u64, gate: u128| KeyHour {
            key_id: KeyId::from_u128(key),
            hour: Timestamp::from_millis((1_000 - back) * HOUR_MS),
            requests,
            gate_id: GateId::from_u128(gate),
            gate_address: Some(format!("http://10.0.0.{gate}:8081")),
        };
        let rows = vec![row(1, 23, 7, 1), row(1, 1, 100, 2), row(1, 0, 3, 3), row(2, 0, 50, 4)];
        let mut requests = Requests { rows, now, with_addresses: true };
        let of_key = requests.of(key);
        assert_eq!((of_key.hours.len(), of_key.hours.iter().sum::<u64>()), (24, 110));
        assert_eq!((of_key.hours[0], &of_key.hours[22..]), (7, &[100, 3][..]));
        assert_eq!(of_key.last_hour, 3 + 75, "three quarters of the hour before");
        let gate = of_key.last_gate.expect("a gate");
        let address = Some("http://10.0.0.3:8081".to_owned());
        assert_eq!(gate, KeyGate { id: GateId::from_u128(3).to_string(), address });
        requests.with_addresses = false;
        assert_eq!(requests.of(key).last_gate.and_then(|gate| gate.address), None);
        let unused = requests.of(KeyId::from_u128(9));
        assert_eq!((unused.last_hour, unused.last_gate), (0, None));
    }
}
