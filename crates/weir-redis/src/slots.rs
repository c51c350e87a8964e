//! The hash slots of a cluster.

/// The number of slots.
pub(crate) const COUNT: u16 = 16_384;

/// The slot of the keys with this hash tag: CRC-16 of XMODEM, modulo the number of slots.
pub(crate) fn of_tag(tag: &str) -> u16 {
    let crc = tag.bytes().fold(0_u16, |crc, byte| {
        (0..8).fold(crc ^ u16::from(byte) << 8, |crc, _| {
            if crc & 0x8000 == 0 { crc << 1 } else { crc << 1 ^ 0x1021 }
        })
    });
    crc % COUNT
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_those_of_the_specification() {
        assert_eq!(of_tag("123456789"), 0x31C3, "its check value");
        // CLUSTER KEYSLOT a, foo
        assert_eq!(["a", "foo"].map(of_tag), [15_495, 12_182]);
    }
}
