//! Log lines, and the final message of a process that cannot continue.

use std::io::{IsTerminal as _, Write as _};
use std::process::ExitCode;

use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt;

use crate::terminal;

/// The form of log lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lines {
    /// Text if standard error is a terminal, else JSON.
    ByTerminal,
    /// Text.
    Plain,
}

/// Starts logging to standard error. `filter` has the syntax of `WEIR_LOG`.
pub fn start(filter: &str, lines: Lines) -> anyhow::Result<()> {
    let filter = parse(filter)?;
    let builder = fmt().with_env_filter(filter).with_writer(std::io::stderr);
    let terminal = std::io::stderr().is_terminal();
    if lines == Lines::Plain || terminal {
        drop(builder.with_ansi(terminal).with_target(false).try_init());
    } else {
        drop(builder.json().flatten_event(true).try_init());
    }
    Ok(())
}

/// Parses a filter with the syntax of `WEIR_LOG`.
pub fn parse(filter: &str) -> anyhow::Result<EnvFilter> {
    EnvFilter::try_new(filter)
        .map_err(|error| anyhow::anyhow!("WEIR_LOG must be a filter such as `info`: {error}"))
}

/// Prints the reason for which the process ends.
pub fn failed(error: &anyhow::Error) -> ExitCode {
    // If standard error is closed, the reason cannot be printed.
    let text = terminal::escaped(&format!("{error:#}"));
    drop(writeln!(std::io::stderr(), "weir: {text}"));
    ExitCode::FAILURE
}
