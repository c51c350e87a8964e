//! Compressed copies of the files that the server embeds.

use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result};

use crate::workspace::{call, files_below, has_extension};

/// Writes a `.br` beside each file of text or code. Node.js contains the compressor.
pub fn compress(folder: &Path) -> Result<()> {
    let files = files_below(folder)?;
    call(Command::new("node").arg("--eval").arg(include_str!("compress.js")).args(
        files.iter().filter(|file| {
            ["bin", "css", "html", "js", "json", "md", "svg", "txt", "wasm"]
                .iter()
                .any(|extension| has_extension(file, extension))
        }),
    ))
    .context("is Node.js installed? Version 20 or newer is needed")
}
