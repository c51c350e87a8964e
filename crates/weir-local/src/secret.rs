//! Passwords of local servers. Each is generated once and stored beside the data.

use std::fmt::Write as _;
use std::fs;
use std::io::Read as _;
use std::path::Path;

use crate::{Account, LocalError, folder};

/// Reads the password in `path`, or stores a new one there.
pub(crate) fn load_or_make(path: &Path, account: &Account) -> Result<String, LocalError> {
    if let Ok(found) = fs::read_to_string(path) {
        return Ok(found.trim().to_owned());
    }
    let password = random_hex::<24>()?;
    folder::write_private(path, &password, account)?;
    Ok(password)
}

/// A name that cannot be guessed, for folders in shared directories.
pub(crate) fn random_name() -> Result<String, LocalError> {
    random_hex::<8>()
}

fn random_hex<const BYTES: usize>() -> Result<String, LocalError> {
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
