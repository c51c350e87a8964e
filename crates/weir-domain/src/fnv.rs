//! FNV-1a, which is fast for short texts. It is no secret: people can choose texts with the same hash.

/// The hash of no bytes.
pub const BASIS: u64 = 0xcbf2_9ce4_8422_2325;

/// The hash of the bytes before, continued with these bytes.
pub fn fnv1a<'b>(hash: u64, bytes: impl IntoIterator<Item = &'b u8>) -> u64 {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    bytes.into_iter().fold(hash, step)
}
