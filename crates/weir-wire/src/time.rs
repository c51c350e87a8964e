//! Points in time as RFC 3339 texts in UTC.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use weir_domain::time::Timestamp;

mod rfc3339;

/// A point in time, written as `2026-11-21T03:00:00.125Z`. Requests can use any offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct DateTime(pub Timestamp);

impl DateTime {
    /// The text of the time.
    pub fn text(self) -> String {
        rfc3339::text(self.0.as_millis())
    }
}

impl From<Timestamp> for DateTime {
    fn from(at: Timestamp) -> Self {
        Self(at)
    }
}

impl Serialize for DateTime {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text())
    }
}

impl<'de> Deserialize<'de> for DateTime {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let refused = || serde::de::Error::custom("must be a time like `2026-11-21T03:00:00Z`");
        rfc3339::millis(&text).map(|ms| Self(Timestamp::from_millis(ms))).ok_or_else(refused)
    }
}

#[cfg(feature = "openapi")]
impl utoipa::PartialSchema for DateTime {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::schema::Schema> {
        use utoipa::openapi::schema::{KnownFormat, ObjectBuilder, SchemaFormat, Type};
        ObjectBuilder::new()
            .schema_type(Type::String)
            .format(Some(SchemaFormat::KnownFormat(KnownFormat::DateTime)))
            .build()
            .into()
    }
}

#[cfg(feature = "openapi")]
impl utoipa::ToSchema for DateTime {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_form_comes_back_and_any_offset_is_read() {
        let at = DateTime(Timestamp::from_millis(1_700_000_000_125));
        assert_eq!(at.text(), "2023-11-14T22:13:20.125Z");
        let read = |text: &str| serde_json::from_value::<DateTime>(text.into()).ok();
        assert_eq!(read(&at.text()), Some(at));
        assert_eq!(read("2023-11-14T23:13:20.125+01:00"), Some(at));
        assert_eq!(read("yesterday"), None);
    }
}
