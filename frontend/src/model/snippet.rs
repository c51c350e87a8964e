//! A check as code to paste: for the shell and for programs, each with nothing to install.
//!
//! Programs read the answer as the contract has it: 200 may go on, 429 may not and `Retry-After` says in how many
//! seconds it may (it is missing when it never may), everything else is an error.

use weir_wire::check::CheckBody;

/// What the code is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    Curl,
    Python,
    TypeScript,
    Go,
    Java,
}

/// A check, and where it is asked.
#[derive(Debug, Clone, Copy)]
pub struct Snippet<'a> {
    pub gate: &'a str,
    pub key: &'a str,
    pub check: &'a CheckBody,
}

impl Language {
    pub const ALL: [Self; 5] = [Self::Curl, Self::Python, Self::TypeScript, Self::Go, Self::Java];

    /// What it is called.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Curl => "curl",
            Self::Python => "Python",
            Self::TypeScript => "TypeScript",
            Self::Go => "Go",
            Self::Java => "Java",
        }
    }

    /// How the code is run.
    pub const fn run(self) -> &'static str {
        match self {
            Self::Curl => "Paste it into a shell.",
            Self::Python => "Save it as check.py and run: python3 check.py (3.8 or newer).",
            Self::TypeScript => {
                "Save it as check.mts and run: node check.mts (23.6 or newer), deno or bun."
            }
            Self::Go => "Save it as check.go and run: go run check.go (1.18 or newer).",
            Self::Java => "Save it as Check.java and run: java Check.java (14 or newer).",
        }
    }
}

impl Snippet<'_> {
    /// The code.
    pub fn text(&self, language: Language) -> String {
        let template = match language {
            Language::Curl => return curl(self.gate, Some(self.key), self.check),
            Language::Python => include_str!("snippet/check.py"),
            Language::TypeScript => include_str!("snippet/check.mts"),
            Language::Go => include_str!("snippet/check.go.txt"),
            Language::Java => include_str!("snippet/Check.java.txt"),
        };
        let (url, bearer) = (format!("{}/check", self.gate.trim_end_matches('/')), self.key.trim());
        let pairs: Vec<String> = self
            .check
            .attributes
            .iter()
            .map(|(name, value)| format!("{}: {}", literal(name), literal(value)))
            .collect();
        let body = serde_json::to_string(self.check).unwrap_or_default();
        let mut text = template.to_owned();
        // The attributes come last, so that nothing is looked for in values that people typed.
        for (name, value) in [
            ("URL", literal(&url)),
            ("BEARER", literal(&format!("Bearer {bearer}"))),
            ("NAMESPACE", literal(&self.check.namespace)),
            ("COST", self.check.cost.to_string()),
            ("BODY", literal(&body)),
            ("ATTRIBUTES", pairs.join(", ")),
        ] {
            text = text.replacen(&format!("«{name}»"), &value, 1);
        }
        text
    }
}

/// The `curl` that asks a gate the same; a key that is not known is named by a variable.
pub fn curl(gate: &str, key: Option<&str>, check: &CheckBody) -> String {
    format!("curl -sS {}", arguments(gate, key, check))
}

/// A loop for the shell that asks until it is refused for the first time.
pub fn curl_until_denied(gate: &str, key: Option<&str>, check: &CheckBody) -> String {
    let arguments = arguments(gate, key, check);
    format!(
        "while curl -sS -f -o /dev/null -w '%{{http_code}}\\n' {arguments}\ndo sleep 0.01; done"
    )
}

fn arguments(gate: &str, key: Option<&str>, check: &CheckBody) -> String {
    let key = key.unwrap_or("$WEIR_KEY");
    let body = serde_json::to_string(check).unwrap_or_default();
    format!(
        "{}/check \\\n  -H \"Authorization: Bearer {key}\" \\\n  -H 'Content-Type: application/json' \\\n  -d {}",
        gate.trim_end_matches('/'),
        quoted(&body)
    )
}

/// Between single quotes for a POSIX shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// Between double quotes: what JSON escapes, and how, the four languages read alike.
fn literal(text: &str) -> String {
    serde_json::to_string(text).unwrap_or_default()
}

#[cfg(test)]
mod tests;
