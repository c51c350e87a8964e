//! Refuses JSON in which an object names the same key twice.
//!
//! Parsers disagree on which of two equal keys counts, and a proxy in front of Weir must see the same value as Weir. Derived
//! parsers of structs refuse repeated keys; this also covers maps.
//!
//! It also refuses a list directly inside a list: no body has one, and derived parsers would accept it for a struct, field by
//! field.

use std::collections::HashSet;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};

/// Any JSON value in which every key is unique. The value itself is not retained.
pub(crate) struct UniqueKeys;

impl<'de> Deserialize<'de> for UniqueKeys {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Walk { in_list: false })
    }
}

struct Walk {
    in_list: bool,
}

/// An item of a list.
struct Item;

impl<'de> Deserialize<'de> for Item {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Walk { in_list: true }).map(|UniqueKeys| Self)
    }
}

impl<'de> Visitor<'de> for Walk {
    type Value = UniqueKeys;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_bool<E>(self, _: bool) -> Result<UniqueKeys, E> {
        Ok(UniqueKeys)
    }

    fn visit_i64<E>(self, _: i64) -> Result<UniqueKeys, E> {
        Ok(UniqueKeys)
    }

    fn visit_u64<E>(self, _: u64) -> Result<UniqueKeys, E> {
        Ok(UniqueKeys)
    }

    fn visit_f64<E>(self, _: f64) -> Result<UniqueKeys, E> {
        Ok(UniqueKeys)
    }

    fn visit_str<E>(self, _: &str) -> Result<UniqueKeys, E> {
        Ok(UniqueKeys)
    }

    fn visit_unit<E>(self) -> Result<UniqueKeys, E> {
        Ok(UniqueKeys)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<UniqueKeys, A::Error> {
        while items.next_element::<Item>()?.is_some() {}
        if self.in_list {
            return Err(A::Error::custom("must not be a list"));
        }
        Ok(UniqueKeys)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<UniqueKeys, A::Error> {
        let mut seen = HashSet::new();
        while let Some(key) = entries.next_key::<String>()? {
            if seen.contains(&key) {
                // The error is returned from within the value, so that its path ends with the key.
                entries.next_value::<NamedTwice>()?;
            }
            seen.insert(key);
            entries.next_value::<UniqueKeys>()?;
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
