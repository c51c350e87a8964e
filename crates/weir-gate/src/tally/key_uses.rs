//! The uses of keys that are not written yet: the last one, and the requests of each hour. Only the recorder uses them.
//!
//! Counts of an hour are those of this run, and absolute, so writing them again changes nothing. A request counts in the hour in
//! which it was collected. A gate that stops loses the counts of at most a minute.

use std::collections::HashMap;

use weir_domain::id::{KeyId, TenantId};
use weir_domain::time::Timestamp;
use weir_store::KeyHourRow;

use super::minute_counts::{KeyCount, MINUTE_MS, floor};

/// The keys that were used in the present hour, and those whose uses are not written: at most all keys of the rulebook.
#[derive(Debug, Default)]
pub(super) struct KeyUses(HashMap<(TenantId, KeyId), KeyUse>);

#[derive(Debug)]
struct KeyUse {
    last: Timestamp,
    /// The last hour with requests, and the one before it.
    hours: [HourCount; 2],
    /// The use that was written last, and the time of that write.
    written: Option<(Timestamp, Timestamp)>,
}

#[derive(Debug, Default, Clone, Copy)]
struct HourCount {
    hour_ms: i64,
    requests: u64,
    written: u64,
}

/// The shortest time between two writes of a key's uses.
const WRITTEN_EVERY_MS: i64 = MINUTE_MS;
const HOUR_MS: i64 = 60 * MINUTE_MS;

impl KeyUses {
    /// Counts the uses of a key that were collected at `now`.
    pub(super) fn add(&mut self, key: (TenantId, KeyId), count: KeyCount, now: Timestamp) {
        let last = Timestamp::from_millis(count.last_ms);
        let hours = [HourCount::default(); 2];
        let key_use = self.0.entry(key).or_insert(KeyUse { last, hours, written: None });
        key_use.last = key_use.last.max(last);
        let hour_ms = floor(now.as_millis(), HOUR_MS);
        let [newest, _] = key_use.hours;
        if hour_ms > newest.hour_ms {
            key_use.hours = [HourCount { hour_ms, ..HourCount::default() }, newest];
        }
        key_use.hours[0].requests += count.requests;
    }

    /// The last uses that are to be written.
    pub(super) fn last(&self, now: Timestamp) -> Vec<(TenantId, KeyId, Timestamp)> {
        self.due(now).map(|(&(tenant, key), key_use)| (tenant, key, key_use.last)).collect()
    }

    /// The counts that are to be written.
    pub(super) fn hours(&self, now: Timestamp) -> Vec<KeyHourRow> {
        let rows = self.due(now).flat_map(|(&(tenant_id, key_id), key_use)| {
            let changed = key_use.hours.into_iter().filter(HourCount::is_changed);
            changed.map(move |HourCount { hour_ms, requests, .. }| {
                let hour = Timestamp::from_millis(hour_ms);
                let used_at = key_use.last.min(hour.plus_ms(HOUR_MS));
                KeyHourRow { tenant_id, key_id, hour, requests, used_at }
            })
        });
        rows.collect()
    }

    /// Notes that all that was due is written.
    pub(super) fn written(&mut self, now: Timestamp) {
        for key_use in self.0.values_mut().filter(|key_use| key_use.is_due(now)) {
            key_use.written = Some((key_use.last, now));
            key_use.hours.iter_mut().for_each(|hour| hour.written = hour.requests);
        }
        let present = floor(now.as_millis(), HOUR_MS);
        self.0.retain(|_, key_use| key_use.hours[0].hour_ms >= present || key_use.is_unwritten());
    }

    fn due(&self, now: Timestamp) -> impl Iterator<Item = (&(TenantId, KeyId), &KeyUse)> {
        self.0.iter().filter(move |(_, key_use)| key_use.is_due(now))
    }
}

impl KeyUse {
    fn is_unwritten(&self) -> bool {
        self.hours.iter().any(HourCount::is_changed)
    }

    fn is_due(&self, now: Timestamp) -> bool {
        self.is_unwritten()
            && self.written.is_none_or(|(_, at)| now >= at.plus_ms(WRITTEN_EVERY_MS))
    }
}

impl HourCount {
    fn is_changed(&self) -> bool {
        self.requests > self.written
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: (TenantId, KeyId) = (TenantId::from_u128(1), KeyId::from_u128(2));
    const START_MS: i64 = 1_000 * HOUR_MS;

    fn at(ms: i64) -> Timestamp {
        Timestamp::from_millis(START_MS + ms)
    }

    /// The hours from the start and the requests of the rows that are due, which are then written.
    fn write(uses: &mut KeyUses, now: Timestamp) -> Vec<(i64, u64)> {
        let mut rows = uses.hours(now);
        rows.sort_by_key(|row| row.hour);
        assert_eq!(uses.last(now).is_empty(), rows.is_empty());
        uses.written(now);
        let row = |row: &KeyHourRow| ((row.hour.as_millis() - START_MS) / HOUR_MS, row.requests);
        rows.iter().map(row).collect()
    }

    fn count(uses: &mut KeyUses, requests: u64, ms: i64) {
        uses.add(KEY, KeyCount { last_ms: START_MS + ms, requests }, at(ms));
    }

    #[test]
    fn requests_of_an_hour_add_up_and_are_written_once_a_minute() {
        let mut uses = KeyUses::default();
        count(&mut uses, 3, 5_000);
        assert_eq!(write(&mut uses, at(5_000)), [(0, 3)], "the first use is written at once");
        count(&mut uses, 4, 6_000);
        assert_eq!(write(&mut uses, at(64_999)), []);
        assert_eq!(write(&mut uses, at(65_000)), [(0, 7)], "the count of the whole hour");
        assert_eq!(write(&mut uses, at(500_000)), []);
        count(&mut uses, 1, HOUR_MS - 1);
        assert_eq!(write(&mut uses, at(HOUR_MS - 1)), [(0, 8)], "the key was not forgotten");
    }

    #[test]
    fn count_of_an_hour_is_written_after_its_end_too() {
        let mut uses = KeyUses::default();
        count(&mut uses, 1, HOUR_MS - 30_000);
        assert_eq!(write(&mut uses, at(HOUR_MS - 30_000)), [(0, 1)]);
        count(&mut uses, 2, HOUR_MS - 10_000);
        count(&mut uses, 5, HOUR_MS + 1_000);
        assert_eq!(write(&mut uses, at(HOUR_MS + 30_000)), [(0, 3), (1, 5)]);
        assert_eq!(uses.0.len(), 1);
        assert_eq!(write(&mut uses, at(2 * HOUR_MS)), []);
        assert_eq!(uses.0.len(), 0, "its hour is over and its uses are written");
    }
}
