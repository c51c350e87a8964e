//! Conversions between the domain's values and the values that Postgres stores.

use time::OffsetDateTime;
use uuid::Uuid;
use weir_domain::time::Timestamp;

use crate::error::StoreError;

/// Converts an id, a ULID, to `uuid`.
pub(crate) fn uuid(id: u128) -> Uuid {
    Uuid::from_u128(id)
}

/// Converts to `timestamptz`. A time outside its range becomes the latest time in it.
pub(crate) fn stored(at: Timestamp) -> OffsetDateTime {
    OffsetDateTime::from_unix_timestamp_nanos(i128::from(at.as_millis()) * 1_000_000)
        .unwrap_or(OffsetDateTime::new_utc(time::Date::MAX, time::Time::MIDNIGHT))
}

/// Converts from `timestamptz`.
pub(crate) fn timestamp(at: OffsetDateTime) -> Timestamp {
    let ms = at.unix_timestamp_nanos().div_euclid(1_000_000);
    Timestamp::from_millis(i64::try_from(ms).unwrap_or(i64::MAX))
}

/// Converts to `bigint`. A value above its range becomes the greatest in it.
pub(crate) fn signed(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

/// Converts from a `bigint` that is never negative.
pub(crate) fn unsigned(value: i64) -> u64 {
    u64::try_from(value).unwrap_or(0)
}

/// Converts from a `bytea` that is a SHA-256.
pub(crate) fn digest(bytes: Vec<u8>) -> Result<[u8; 32], StoreError> {
    bytes.try_into().map_err(|_| StoreError::corrupt("a digest that is not 32 bytes long"))
}

/// Converts every row. The first row that cannot be converted is an error.
pub(crate) fn all<R, T>(rows: Vec<R>) -> Result<Vec<T>, StoreError>
where
    T: TryFrom<R, Error = StoreError>,
{
    rows.into_iter().map(T::try_from).collect()
}
