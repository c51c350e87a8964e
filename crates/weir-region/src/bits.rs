//! Numbers of 128 bits in JSON, which has no such numbers.

use std::borrow::Cow;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// An id, a digest or a random number of 128 bits, in hexadecimal.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Bits(pub u128);

impl Serialize for Bits {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{:x}", self.0))
    }
}

impl<'de> Deserialize<'de> for Bits {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Cow::<'de, str>::deserialize(deserializer)?;
        u128::from_str_radix(&text, 16).map(Self).map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_written_in_hexadecimal_and_nothing_else_is_read() {
        assert_eq!(
            serde_json::to_string(&Bits(u128::MAX)).expect("JSON"),
            format!("\"{:x}\"", u128::MAX)
        );
        for wrong in ["\"\"", "\"x\"", "1", "\"100000000000000000000000000000000\""] {
            assert!(serde_json::from_str::<Bits>(wrong).is_err(), "{wrong}");
        }
    }
}
