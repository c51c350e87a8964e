//! The keys that seal secrets, and those that sign calls between regions. They are derived from the signing keys of access tokens, the present one first.

use weir_region::RegionKey;
use weir_webhook::{Sealing, SealingKey};

use crate::tokens::{SigningKey, UnusableKey};

/// The keys that seal and open secrets. Gates open the secrets of webhooks with them; a signing key does not follow from them.
pub fn sealing_keys(keys: &[SigningKey]) -> Result<Vec<SealingKey>, UnusableKey> {
    keys.iter().map(|key| Ok(SealingKey::derive(&key.seed()?))).collect()
}

/// Seals with the key that is derived from the first of these, and opens with all.
pub fn sealing(keys: &[SigningKey]) -> Result<Sealing, UnusableKey> {
    Sealing::new(&sealing_keys(keys)?).ok_or(UnusableKey::Missing)
}

/// The keys that sign calls between regions.
pub fn region_keys(keys: &[SigningKey]) -> Result<Vec<RegionKey>, UnusableKey> {
    keys.iter().map(|key| Ok(RegionKey::derive(&key.seed()?))).collect()
}
