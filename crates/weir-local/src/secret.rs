//! Passwords of local servers. Each is generated once and stored beside the data.

use std::fs;
use std::path::Path;

use crate::random::random_hex;
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
