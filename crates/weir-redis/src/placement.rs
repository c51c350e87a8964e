//! The placement of counters: every key of a namespace has the hash tag of one of 64 buckets.
//!
//! Tags are chosen so that their slots in a cluster are evenly spaced: primaries with equal ranges of slots get equal numbers
//! of buckets. The bucket depends on the tenant and the namespace alone, never on the check, so a counter has one name.

use weir_domain::counter::Layout;
use weir_domain::id::TenantId;

/// The layout of this release. Gates with different layouts would count in different keys.
pub const LAYOUT: Layout = Layout { buckets: 64, epoch: 1 };

/// A bucket: the keys that share a hash tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bucket(u8);

/// The owner of keys: a namespace of a tenant.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Owner<'a> {
    pub(crate) bucket: Bucket,
    /// The text of the tenant's id.
    pub(crate) tenant: &'a str,
    pub(crate) namespace: &'a str,
}

/// The tags of the slots 128, 384, 640, … 16256.
#[rustfmt::skip]
const TAGS: [&str; 64] = [
    "53t", "j3j", "if5", "kec", "574", "74b", "akm", "6bk",
    "96a", "frw", "0ip", "oin", "d1i", "38o", "0m0", "xw",
    "he6", "box", "40w", "c9q", "hav", "7ah", "447", "67a",
    "1js", "fcu", "0xr", "m5", "1n3", "3me", "e2j", "iu",
    "712", "52d", "cmk", "4dm", "75r", "h5l", "02bb", "ice",
    "3y7", "1za", "2k6", "8ax", "wu7", "931", "yg", "8e8",
    "7d8", "5gn", "621", "41g", "jc0", "qkn", "66q", "i6o",
    "3h5", "1kc", "2z4", "0yb", "3lu", "des", "he", "802",
];

impl Bucket {
    /// The bucket of a namespace.
    pub fn of(tenant: TenantId, namespace: &str) -> Self {
        // FNV-1a, whose high bits are mixed best after another multiplication.
        const PRIME: u64 = 0x0000_0100_0000_01B3;
        let tenant = tenant.to_u128().to_be_bytes();
        let bytes = tenant.iter().chain(namespace.as_bytes());
        let hash = bytes.fold(0xCBF2_9CE4_8422_2325, |hash: u64, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(PRIME)
        });
        let mixed = (hash ^ (hash >> 32)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        Self(u8::try_from(mixed >> 58).expect("six bits fit"))
    }

    /// The hash tag of its keys.
    pub const fn tag(self) -> &'static str {
        TAGS[self.0 as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The slot of a hash tag in a cluster: CRC-16 of XMODEM, modulo 16,384.
    fn slot(tag: &str) -> u16 {
        let crc = tag.bytes().fold(0_u16, |crc, byte| {
            (0..8).fold(crc ^ u16::from(byte) << 8, |crc, _| {
                if crc & 0x8000 == 0 { crc << 1 } else { crc << 1 ^ 0x1021 }
            })
        });
        crc % 16_384
    }

    #[test]
    fn tags_are_in_the_middle_of_each_64th_of_the_slots() {
        assert_eq!(slot("123456789"), 0x31C3, "the check value of the specification");
        let slots: Vec<_> = TAGS.iter().map(|tag| slot(tag)).collect();
        let expected: Vec<_> = (0..64).map(|at| 128 + 256 * at).collect();
        assert_eq!(slots, expected);
        assert_eq!(usize::from(LAYOUT.buckets), TAGS.len());
    }

    #[test]
    fn buckets_of_namespaces_are_stable_and_even() {
        let tenant = TenantId::from_u128;
        assert_eq!(["a", "b"].map(|name| Bucket::of(tenant(1), name).0), [11, 1]);
        let mut counts = [0_u32; 64];
        for number in 0..200 {
            for name in 0..100 {
                let bucket = Bucket::of(tenant(number << 64 | 7), &format!("namespace-{name}"));
                counts[usize::from(bucket.0)] += 1;
            }
        }
        // 312 are expected; the bounds are six standard errors away.
        assert!(counts.iter().all(|count| (207..=417).contains(count)), "{counts:?}");
    }
}
