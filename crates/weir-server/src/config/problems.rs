//! Collects the problems with the settings, and performs the checks that several settings share.

use std::net::SocketAddr;
use std::path::PathBuf;

use anyhow::bail;
use secrecy::SecretString;

/// The problems with the settings.
#[derive(Debug, Default)]
pub(super) struct Problems(Vec<String>);

impl Problems {
    pub(super) fn none(self) -> anyhow::Result<()> {
        match self.0.as_slice() {
            [] => Ok(()),
            [one] => bail!("invalid settings: {one}"),
            all => bail!("invalid settings:\n  - {}", all.join("\n  - ")),
        }
    }

    pub(super) fn add(&mut self, problem: impl Into<String>) {
        self.0.push(problem.into());
    }

    pub(super) fn address(&mut self, name: &str, text: &str) -> SocketAddr {
        text.parse().unwrap_or_else(|_| {
            self.add(format!("{name} must be an address and port such as 127.0.0.1:8080"));
            SocketAddr::from(([127, 0, 0, 1], 0))
        })
    }

    pub(super) fn origins(&mut self, name: &str, text: &str) -> Vec<String> {
        let mut origins = Vec::new();
        for origin in text.split(',').map(str::trim).filter(|origin| !origin.is_empty()) {
            let rest = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
            let bare = rest.is_some_and(|rest| {
                !rest.is_empty()
                    && rest
                        .bytes()
                        .all(|byte| byte.is_ascii_alphanumeric() || b".:-[]".contains(&byte))
            });
            if bare {
                origins.push(origin.to_owned());
            } else {
                self.add(format!("{name} must list origins such as https://limits.example.com"));
            }
        }
        origins
    }

    /// Reads a secret that is given either directly or by file.
    pub(super) fn secret(
        &mut self,
        name: &str,
        direct: Option<&str>,
        file: Option<&PathBuf>,
    ) -> Option<SecretString> {
        match (direct, file) {
            (Some(text), None) => Some(SecretString::from(text)),
            (None, Some(file)) => match std::fs::read_to_string(file) {
                Ok(text) => Some(SecretString::from(text.trim())),
                Err(error) => {
                    self.add(format!("{name}_FILE cannot be read ({}): {error}", file.display()));
                    None
                }
            },
            (Some(_), Some(_)) => {
                self.add(format!("{name} and {name}_FILE are both set; which one counts?"));
                None
            }
            (None, None) => {
                self.add(format!("{name} (or {name}_FILE) is missing"));
                None
            }
        }
    }

    /// Reads a switch. A word other than `on` and `off` is a problem, and counts as `default`.
    pub(super) fn switch(&mut self, name: &str, text: &str, default: bool) -> bool {
        match text {
            "on" => true,
            "off" => false,
            _ => {
                self.add(format!("{name} must be `on` or `off`"));
                default
            }
        }
    }
}
