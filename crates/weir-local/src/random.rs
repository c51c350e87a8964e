//! Random texts of hexadecimal digits.

use std::fmt::Write as _;
use std::fs;
use std::io::Read as _;
use std::path::Path;

use crate::LocalError;

/// The length of a random name.
pub(crate) const NAME_LEN: usize = 16;

/// A name that cannot be guessed, for folders in shared directories.
pub(crate) fn random_name() -> Result<String, LocalError> {
    random_hex::<{ NAME_LEN / 2 }>()
}

pub(crate) fn random_hex<const BYTES: usize>() -> Result<String, LocalError> {
    let source = Path::new("/dev/urandom");
    let mut bytes = [0; BYTES];
    fs::File::open(source)
        .and_then(|mut file| file.read_exact(&mut bytes))
        .map_err(LocalError::file("read", source))?;
    Ok(bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    }))
}
