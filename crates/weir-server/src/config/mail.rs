//! The SMTP server, the sender of messages, and the address of the dashboard in their links.

use std::fmt;
use std::path::PathBuf;

use clap::Args;
use secrecy::ExposeSecret as _;
use weir_mail::Relay;

use super::problems::Problems;

/// Settings of e-mail as given. `Debug` shows none of them, because the address contains a password.
#[derive(Clone, Args)]
pub struct MailArgs {
    /// The SMTP server for e-mail to people, such as <smtps://user:password@mail.example.com>; without it none is sent
    #[arg(long, env = "WEIR_SMTP_URL", hide_env_values = true)]
    pub smtp_url: Option<String>,
    /// File that contains the value of the option above
    #[arg(long, env = "WEIR_SMTP_URL_FILE")]
    pub smtp_url_file: Option<PathBuf>,
    /// The sender of e-mail, such as <weir@example.com>
    #[arg(long, env = "WEIR_SMTP_FROM")]
    pub smtp_from: Option<String>,
    /// The address of the dashboard for links in e-mail and in messages of alerts, such as <https://limits.example.com>
    #[arg(long, env = "WEIR_DASHBOARD_URL")]
    pub dashboard_url: Option<String>,
}

/// Checked settings of e-mail.
#[derive(Debug)]
pub struct MailSettings {
    /// The server and the sender.
    pub relay: Relay,
    /// The origin of the dashboard.
    pub dashboard_url: String,
}

impl MailArgs {
    /// Checks the settings of `weir dev`, whose dashboard is at `dashboard_url` unless another address is given. Returns them with
    /// the origin of the dashboard.
    pub fn parse_for(
        &self,
        dashboard_url: &str,
    ) -> anyhow::Result<(Option<MailSettings>, Option<String>)> {
        let given = self.dashboard_url.clone().filter(|url| !url.is_empty());
        let dashboard_url = given.unwrap_or_else(|| dashboard_url.to_owned());
        let args = Self { dashboard_url: Some(dashboard_url), ..self.clone() };
        let mut problems = Problems::default();
        let origin = args.origin(&mut problems);
        let mail = args.parse(&mut problems, origin.clone());
        problems.none()?;
        Ok((mail, origin))
    }

    /// The origin of the dashboard, for links in the messages of alerts; `None` if it is not given.
    pub(super) fn origin(&self, problems: &mut Problems) -> Option<String> {
        let dashboard_url = self.dashboard_url.as_deref().filter(|url| !url.is_empty())?;
        Some(problems.dashboard_url(dashboard_url))
    }

    /// Checks the settings of the server. `None` if no server is named.
    pub(super) fn parse(
        &self,
        problems: &mut Problems,
        dashboard_url: Option<String>,
    ) -> Option<MailSettings> {
        let url = self.smtp_url.as_deref().filter(|url| !url.is_empty());
        if url.is_none() && self.smtp_url_file.is_none() {
            return None;
        }
        let url = problems.secret("WEIR_SMTP_URL", url, self.smtp_url_file.as_ref())?;
        if dashboard_url.is_none() {
            problems.add("WEIR_DASHBOARD_URL is missing: links in e-mail need it");
        }
        let Some(from) = self.smtp_from.as_deref().filter(|from| !from.is_empty()) else {
            problems.add("WEIR_SMTP_FROM is missing: e-mail needs a sender");
            return None;
        };
        match Relay::parse(url.expose_secret(), from) {
            Ok(relay) => Some(MailSettings { relay, dashboard_url: dashboard_url? }),
            Err(error @ weir_mail::InvalidRelay::From) => {
                problems.add(format!("WEIR_SMTP_FROM {error}"));
                None
            }
            Err(error) => {
                problems.add(format!("WEIR_SMTP_URL {error}"));
                None
            }
        }
    }
}

impl Problems {
    /// An origin such as `https://limits.example.com`, without a slash at its end.
    fn dashboard_url(&mut self, text: &str) -> String {
        let origin = text.strip_suffix('/').unwrap_or(text);
        match self.origins("WEIR_DASHBOARD_URL", origin).as_slice() {
            [one] => one.clone(),
            [] => String::new(),
            _ => {
                self.add("WEIR_DASHBOARD_URL must be one address");
                String::new()
            }
        }
    }
}

impl fmt::Debug for MailArgs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MailArgs")
    }
}
