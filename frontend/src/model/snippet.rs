//! A check as code to paste, for the shell and for programs; none needs a package to be installed.
//!
//! Programs read the response as documented: 200 is allowed; 429 is denied, and `Retry-After` gives the number of
//! seconds to wait (it is missing if the request can never pass); everything else is an error.

use weir_wire::check::CheckBody;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    Curl,
    Python,
    TypeScript,
    Go,
    Java,
}

/// A check and the gate to send it to.
#[derive(Debug, Clone, Copy)]
pub struct Snippet<'a> {
    pub gate: &'a str,
    pub key: &'a str,
    pub check: &'a CheckBody,
}

impl Language {
    pub const ALL: [Self; 5] = [Self::Curl, Self::Python, Self::TypeScript, Self::Go, Self::Java];

    pub const fn label(self) -> &'static str {
        match self {
            Self::Curl => "curl",
            Self::Python => "Python",
            Self::TypeScript => "TypeScript",
            Self::Go => "Go",
            Self::Java => "Java",
        }
    }

    /// How to run the code.
    pub const fn run(self) -> &'static str {
        match self {
            Self::Curl => "Run in a terminal.",
            Self::Python => "Save as check.py and run: python3 check.py (Python 3.8 or later).",
            Self::TypeScript => {
                "Save as check.mts and run: node check.mts (Node.js 23.6 or later), or use Deno or Bun."
            }
            Self::Go => "Save as check.go and run: go run check.go (Go 1.18 or later).",
            Self::Java => "Save as Check.java and run: java Check.java (Java 14 or later).",
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
        // Attributes are inserted last, so that placeholders in entered values are not replaced.
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

/// The same check with `curl`; an unknown key is replaced by a variable.
pub fn curl(gate: &str, key: Option<&str>, check: &CheckBody) -> String {
    format!("curl -sS {}", arguments(gate, key, check))
}

/// A shell loop that sends the check until it is denied for the first time.
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

/// Quotes a text for a POSIX shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// Quotes a text as JSON, which is also a valid literal in all four languages.
fn literal(text: &str) -> String {
    serde_json::to_string(text).unwrap_or_default()
}

#[cfg(test)]
mod tests;
