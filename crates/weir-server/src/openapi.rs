//! `weir openapi`: prints the documents of both planes as they are served.

use std::io::Write as _;
use std::path::PathBuf;

use anyhow::Context as _;
use clap::Args;

#[derive(Debug, Args)]
pub struct OpenapiArgs {
    /// Write control.json and gate.json into this folder instead of printing them
    #[arg(long)]
    out: Option<PathBuf>,
}

pub fn run(args: &OpenapiArgs) -> anyhow::Result<()> {
    let documents = [("control", weir_control::openapi()), ("gate", weir_gate::openapi())];
    for (name, document) in documents {
        let text =
            serde_json::to_string_pretty(&document).context("write the document as JSON")? + "\n";
        match &args.out {
            Some(folder) => {
                let file = folder.join(format!("{name}.json"));
                std::fs::write(&file, text).with_context(|| format!("write {}", file.display()))?;
            }
            None => std::io::stdout().write_all(text.as_bytes()).context("print the document")?,
        }
    }
    Ok(())
}
