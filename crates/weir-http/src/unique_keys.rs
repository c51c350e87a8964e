//! Refuses JSON in which an object names the same key twice.
//!
//! Parsers disagree on which of two equal keys counts, and a proxy in front of Weir must see the same value as Weir. Derived
//! parsers of structs refuse repeated keys; this also covers maps.
//!
//! Unless a body can hold any JSON value, a list directly inside a list is refused too: derived parsers would accept it for a
//! struct, field by field.

use std::collections::HashSet;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};

/// Any JSON value in which every key is unique, and in which lists can hold lists or not. The value itself is not retained.
pub(crate) struct UniqueKeys<const NESTED_LISTS: bool>;

impl<'de, const NESTED_LISTS: bool> Deserialize<'de> for UniqueKeys<NESTED_LISTS> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Walk { refuses_lists: false })
    }
}

struct Walk<const NESTED_LISTS: bool> {
    refuses_lists: bool,
}

/// An item of a list.
struct Item<const NESTED_LISTS: bool>;

impl<'de, const NESTED_LISTS: bool> Deserialize<'de> for Item<NESTED_LISTS> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let walk = Walk::<NESTED_LISTS> { refuses_lists: !NESTED_LISTS };
        deserializer.deserialize_any(walk).map(|UniqueKeys| Self)
    }
}

impl<'de, const NESTED_LISTS: bool> Visitor<'de> for Walk<NESTED_LISTS> {
    type Value = UniqueKeys<NESTED_LISTS>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
        Ok(UniqueKeys)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
        Ok(UniqueKeys)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> {
        Ok(UniqueKeys)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
        Ok(UniqueKeys)
    }

    fn visit_str<E>(self, _: &str) -> Result<Self::Value, E> {
        Ok(UniqueKeys)
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(UniqueKeys)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
        while items.next_element::<Item<NESTED_LISTS>>()?.is_some() {}
        if self.refuses_lists {
            return Err(A::Error::custom("must not be a list"));
        }
        Ok(UniqueKeys)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Self::Value, A::Error> {
        let mut seen = HashSet::new();
        while let Some(key) = entries.next_key::<String>()? {
            if seen.contains(&key) {
                // The error is returned from within the value, so that its path ends with the key.
                entries.next_value::<NamedTwice>()?;
            }
            seen.insert(key);
            entries.next_value::<Self::Value>()?;
        }
        Ok(UniqueKeys)
    }
}

/// Fails when it is parsed.
struct NamedTwice;

impl<'de> Deserialize<'de> for NamedTwice {
    fn deserialize<D: Deserializer<'de>>(_: D) -> Result<Self, D::Error> {
        Err(D::Error::custom("named twice in the same object"))
    }
}
