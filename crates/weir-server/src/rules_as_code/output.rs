//! Output of these commands: text with or without colours, JSON, Markdown.

use std::fmt;
use std::io::{IsTerminal as _, Write as _};

use anyhow::Context as _;
use clap::{Args, ValueEnum};
use serde_json::{Value, json};
use weir_domain::quantity::counted;
use weir_manifest::rule_set::Finding;

use crate::terminal;

/// The format of the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people.
    Text,
    /// For programs.
    Json,
    /// For a comment on a pull request.
    Markdown,
}

/// The options of all commands with output.
#[derive(Debug, Args)]
pub struct OutputArgs {
    /// The format of the output
    #[arg(long, short, value_enum, default_value = "text")]
    output: Format,
    /// Print without colours, as with a non-empty `NO_COLOR`
    #[arg(long, env = "NO_COLOR", num_args = 0..=1, default_missing_value = "1", hide_env = true)]
    no_color: Option<String>,
}

/// A colour of the terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Colour {
    Red,
    Green,
    Yellow,
}

impl OutputArgs {
    /// A text, coloured if the output is a terminal and colours are permitted.
    pub fn paint(&self, colour: Colour, text: &str) -> String {
        let text = terminal::escaped(text);
        let refused = self.no_color.as_ref().is_some_and(|value| !value.is_empty());
        if refused || !std::io::stdout().is_terminal() {
            return text;
        }
        let code = match colour {
            Colour::Red => 31,
            Colour::Green => 32,
            Colour::Yellow => 33,
        };
        format!("\u{1b}[{code}m{text}\u{1b}[0m")
    }

    /// Whether programs read the output.
    pub fn is_json(&self) -> bool {
        self.output == Format::Json
    }

    /// Whether the output is a comment on a pull request.
    pub fn is_markdown(&self) -> bool {
        self.output == Format::Markdown
    }
}

/// Prints a text with a line feed to standard output.
pub fn say(text: &str) -> anyhow::Result<()> {
    say_painted(&terminal::escaped(text))
}

/// Prints JSON or YAML with a line feed to standard output.
pub fn say_document(text: &str) -> anyhow::Result<()> {
    say_painted(&terminal::escaped_document(text))
}

/// Prints a text with colours, whose parts are escaped.
pub fn say_painted(text: &str) -> anyhow::Result<()> {
    let mut out = std::io::stdout();
    writeln!(out, "{}", text.trim_end_matches('\n'))
        .and_then(|()| out.flush())
        .context("write to standard output")
}

/// Prints a line to standard error.
pub fn warn(text: &str) {
    // If standard error is closed, the line cannot be printed.
    drop(writeln!(std::io::stderr(), "{}", terminal::escaped(text)));
}

/// Prints JSON.
pub fn say_json(value: &Value) -> anyhow::Result<()> {
    say_document(&serde_json::to_string_pretty(value).context("write JSON")?)
}

/// Prints errors and warnings: for programs to standard output, for people to standard error.
pub fn print_findings(
    output: &OutputArgs,
    errors: &[Finding],
    warnings: &[Finding],
) -> anyhow::Result<()> {
    if output.is_json() {
        let list = |findings: &[Finding]| findings.iter().map(finding).collect::<Vec<_>>();
        return say_json(&json!({ "errors": list(errors), "warnings": list(warnings) }));
    }
    for error in errors {
        warn(&error.to_string());
    }
    print_marked("warning", warnings);
    Ok(())
}

/// Prints the warnings about valid rules and the bounds of approximate ones, as [`print_findings`] prints warnings.
pub fn print_valid(
    output: &OutputArgs,
    warnings: &[Finding],
    bounds: &[Finding],
) -> anyhow::Result<()> {
    if output.is_json() {
        let list = |findings: &[Finding]| findings.iter().map(finding).collect::<Vec<_>>();
        let warnings = list(warnings);
        let bounds = list(bounds);
        return say_json(&json!({ "errors": [], "warnings": warnings, "bounds": bounds }));
    }
    print_marked("warning", warnings);
    print_marked("bound", bounds);
    Ok(())
}

fn print_marked(mark: &str, findings: &[Finding]) {
    for Finding { file, at, text } in findings {
        warn(&format!("{file}:{}:{}: {mark}: {text}", at.line, at.column));
    }
}

fn finding(finding: &Finding) -> Value {
    let Finding { file, at, text } = finding;
    json!({ "file": file, "line": at.line, "column": at.column, "text": text })
}

/// The numbers of objects: `3 rules`, `1 rule, 2 profiles and 1 alert`. Only rules are named if there are none.
#[derive(Debug, Clone, Copy, Default)]
pub struct Numbers {
    pub rules: usize,
    pub profiles: usize,
    pub plans: usize,
    pub assignments: usize,
    pub overrides: usize,
    pub alerts: usize,
}

impl Numbers {
    pub const fn total(self) -> usize {
        let of_customers = self.plans + self.assignments;
        self.rules + self.profiles + of_customers + self.overrides + self.alerts
    }
}

impl fmt::Display for Numbers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts = [
            (self.rules, "rule", "rules"),
            (self.profiles, "profile", "profiles"),
            (self.plans, "plan", "plans"),
            (self.assignments, "assignment", "assignments"),
            (self.overrides, "override", "overrides"),
            (self.alerts, "alert", "alerts"),
        ];
        let is_named = |(at, (count, ..)): &(usize, (usize, &str, &str))| *at == 0 || *count > 0;
        let named = counts.into_iter().enumerate().filter(is_named);
        let mut parts: Vec<_> =
            named.map(|(_, (count, one, many))| counted(count as u64, one, many)).collect();
        match parts.pop() {
            Some(last) if !parts.is_empty() => write!(f, "{} and {last}", parts.join(", ")),
            last => f.write_str(&last.unwrap_or_default()),
        }
    }
}
