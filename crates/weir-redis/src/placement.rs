//! The placement of counters: every key of a namespace has the hash tag of one of 64 buckets.
//!
//! Tags are chosen so that their slots in a cluster are evenly spaced: primaries with equal ranges of slots get equal numbers
//! of buckets. The bucket depends on the tenant, the namespace and the values by which the namespace is spread, never on
//! anything else of the check, so a counter has one name.

use weir_domain::counter::Layout;
use weir_domain::fnv::{BASIS, fnv1a};
use weir_domain::id::TenantId;
use weir_domain::spread::SpreadKey;

/// The layout of this release. Gates with different layouts would count in different keys.
pub const LAYOUT: Layout = Layout { buckets: 64, epoch: 1 };

/// A bucket: the keys that share a hash tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Bucket(u8);

/// A set of buckets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Buckets(u64);

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
    /// The bucket of a namespace, or of one part of a namespace whose counters are spread.
    pub fn of(tenant: TenantId, namespace: &str, spread: SpreadKey) -> Self {
        // FNV-1a, whose high bits are mixed best after another multiplication.
        let tenant = tenant.to_u128().to_be_bytes();
        let spread_bytes = spread.to_u64().to_be_bytes();
        let spread_bytes = if spread.is_spread() { &spread_bytes[..] } else { &[] };
        let bytes = tenant.iter().chain(namespace.as_bytes()).chain(spread_bytes);
        let hash = fnv1a(BASIS, bytes);
        let mixed = (hash ^ (hash >> 32)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        Self(u8::try_from(mixed >> 58).expect("six bits fit"))
    }

    /// The hash tag of its keys.
    pub const fn tag(self) -> &'static str {
        TAGS[self.0 as usize]
    }

    /// All buckets, in the order of their slots.
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        (0..64).map(Self)
    }

    /// The slot of its keys in a cluster.
    pub(crate) const fn slot(self) -> u16 {
        128 + 256 * self.0 as u16
    }

    /// Its position among all buckets.
    pub(crate) const fn index(self) -> usize {
        self.0 as usize
    }
}

impl Buckets {
    pub const NONE: Self = Self(0);
    pub const ALL: Self = Self(u64::MAX);

    pub fn contains(self, bucket: Bucket) -> bool {
        self.0 >> bucket.0 & 1 == 1
    }

    /// The buckets that are in either set.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The buckets that are in both sets.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// The set as a number, for atomics.
    pub const fn bits(self) -> u64 {
        self.0
    }

    pub const fn from_bits(bits: u64) -> Self {
        Self(bits)
    }
}

impl FromIterator<Bucket> for Buckets {
    fn from_iter<I: IntoIterator<Item = Bucket>>(buckets: I) -> Self {
        Self(buckets.into_iter().fold(0, |bits, bucket| bits | 1 << bucket.0))
    }
}

#[cfg(test)]
mod tests {
    use weir_domain::spread::SpreadBy;

    use super::*;
    use crate::slots;

    #[test]
    fn tags_are_in_the_middle_of_each_64th_of_the_slots() {
        let slots: Vec<_> = TAGS.iter().map(|tag| slots::of_tag(tag)).collect();
        let expected: Vec<_> = (0..64).map(|at| 128 + 256 * at).collect();
        assert_eq!(slots, expected);
        assert!(Bucket::all().map(Bucket::slot).eq(expected));
        assert_eq!(usize::from(LAYOUT.buckets), TAGS.len());
    }

    #[test]
    fn sets_contain_the_buckets_they_are_made_of() {
        let (some, others): (Vec<_>, Vec<_>) =
            Bucket::all().partition(|bucket| bucket.index() % 3 == 0);
        let set: Buckets = some.iter().copied().collect();
        assert!(some.iter().all(|bucket| set.contains(*bucket)));
        assert!(others.iter().all(|bucket| !set.contains(*bucket)));
        assert_eq!(Bucket::all().collect::<Buckets>(), Buckets::ALL);
        assert_eq!(set.and(others.into_iter().collect()), Buckets::NONE);
        assert_eq!(Buckets::from_bits(set.bits()), set);
    }

    #[test]
    fn buckets_of_namespaces_are_stable_and_even() {
        let tenant = TenantId::from_u128;
        let bucket = |tenant, name: &str| Bucket::of(tenant, name, SpreadKey::NONE).0;
        assert_eq!(["a", "b"].map(|name| bucket(tenant(1), name)), [11, 1]);
        let mut counts = [0_u32; 64];
        for number in 0..200 {
            for name in 0..100 {
                let at = bucket(tenant(number << 64 | 7), &format!("namespace-{name}"));
                counts[usize::from(at)] += 1;
            }
        }
        // 312 are expected; the bounds are six standard errors away.
        assert!(counts.iter().all(|count| (207..=417).contains(count)), "{counts:?}");
    }

    #[test]
    fn users_of_a_spread_namespace_are_in_all_buckets_evenly() {
        let by = SpreadBy::parse(vec!["user".to_owned()]).expect("valid");
        let count_by = ["user".to_owned()];
        let mut counts = [0_u32; 64];
        for user in 0..20_000 {
            let key = by.key(&count_by, &[&format!("user-{user}")]);
            counts[usize::from(Bucket::of(TenantId::from_u128(1), "api", key).0)] += 1;
        }
        assert!(counts.iter().all(|count| (207..=417).contains(count)), "{counts:?}");
    }
}
