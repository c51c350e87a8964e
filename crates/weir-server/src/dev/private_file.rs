//! Files with credentials.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use anyhow::Context as _;

/// Writes a file that only its owner can read.
pub fn write_private(file: &Path, text: &str) -> anyhow::Result<()> {
    let mut options = fs::OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600);
    let mut opened = options.open(file).with_context(|| format!("open {}", file.display()))?;
    opened.write_all(text.as_bytes()).with_context(|| format!("write {}", file.display()))
}
