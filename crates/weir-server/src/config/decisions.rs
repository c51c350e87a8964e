//! Settings of the export of decisions.

use std::path::PathBuf;

use clap::Args;
use reqwest::Url;
use secrecy::SecretString;
use weir_gate::{DecisionExportSettings, Share, ShownSubjects};

use super::problems::Problems;

/// Settings of the export of decisions as given.
#[derive(Debug, Args)]
pub struct DecisionArgs {
    /// Destination of decisions as lines of JSON: `stdout`, `file:PATH` or an `https://` URL; default: none
    #[arg(long, env = "WEIR_DECISIONS", hide_env_values = true)]
    pub decisions: Option<String>,
    /// The share of decisions to export: more than 0, at most 1
    #[arg(long, env = "WEIR_DECISIONS_SHARE", default_value = "1")]
    pub decisions_share: String,
    /// How decisions name subjects: hashed or plain
    #[arg(long, env = "WEIR_DECISIONS_SUBJECTS", default_value = "hashed")]
    pub decisions_subjects: String,
}

/// Checked settings of the export of decisions.
#[derive(Debug)]
pub struct DecisionSettings {
    pub to: Destination,
    pub export: DecisionExportSettings,
}

/// Where decisions are written.
#[derive(Debug)]
pub enum Destination {
    /// Standard output.
    Stdout,
    /// The end of a file.
    File(PathBuf),
    /// A receiver of HTTP requests. Its address can contain a password.
    Http(SecretString),
}

impl DecisionArgs {
    /// Checks the settings. `None` if decisions are written nowhere.
    pub(super) fn parse(&self, problems: &mut Problems) -> Option<DecisionSettings> {
        let share = self.decisions_share.parse().ok().and_then(Share::new);
        if share.is_none() {
            problems.add("WEIR_DECISIONS_SHARE must be more than 0 and at most 1");
        }
        let subjects = match self.decisions_subjects.as_str() {
            "hashed" => Some(ShownSubjects::Hashed),
            "plain" => Some(ShownSubjects::Plain),
            _ => {
                problems.add("WEIR_DECISIONS_SUBJECTS must be `hashed` or `plain`");
                None
            }
        };
        let text = self.decisions.as_deref().filter(|text| !text.is_empty())?;
        let to = destination(text);
        if to.is_none() {
            problems.add(
                "WEIR_DECISIONS must be `stdout`, `file:PATH` or an address with `https://`; `http://` is accepted on this machine only",
            );
        }
        Some(DecisionSettings {
            to: to?,
            export: DecisionExportSettings { share: share?, subjects: subjects? },
        })
    }
}

fn destination(text: &str) -> Option<Destination> {
    if text == "stdout" {
        return Some(Destination::Stdout);
    }
    if let Some(path) = text.strip_prefix("file:") {
        return (!path.is_empty()).then(|| Destination::File(PathBuf::from(path)));
    }
    let url = Url::parse(text).ok()?;
    let is_here = matches!(url.host_str(), Some("127.0.0.1" | "[::1]" | "localhost"));
    let is_accepted = url.scheme() == "https" || (url.scheme() == "http" && is_here);
    is_accepted.then(|| Destination::Http(SecretString::from(text)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn destinations_are_standard_output_a_file_or_an_encrypted_address() {
        assert!(matches!(destination("stdout"), Some(Destination::Stdout)));
        let file = destination("file:/var/log/decisions.ndjson");
        let Some(Destination::File(path)) = file else { panic!("{file:?}") };
        assert_eq!(path, PathBuf::from("/var/log/decisions.ndjson"));
        for accepted in ["https://logs.example/?query=x", "http://127.0.0.1:9/", "http://[::1]:9/"]
        {
            assert!(matches!(destination(accepted), Some(Destination::Http(_))), "{accepted}");
        }
        for refused in ["", "file:", "stderr", "http://logs.example/", "ftp://127.0.0.1/", "logs"] {
            assert!(destination(refused).is_none(), "{refused}");
        }
    }
}
