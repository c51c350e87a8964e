//! The OpenID Connect provider with which people can sign in.

use std::fmt;
use std::path::PathBuf;

use clap::Args;
use secrecy::ExposeSecret as _;
use weir_oidc::{Provider, ProviderSettings};

use super::problems::Problems;

/// Settings of the provider as given. `Debug` shows none of them, because one is a secret.
#[derive(Clone, Args)]
#[expect(clippy::struct_field_names, reason = "the fields are the names of the flags")]
pub struct OidcArgs {
    /// The OpenID Connect provider with which people can sign in, such as <https://accounts.example.com>
    #[arg(long, env = "WEIR_OIDC_ISSUER")]
    pub oidc_issuer: Option<String>,
    /// The id of this installation at the provider
    #[arg(long, env = "WEIR_OIDC_CLIENT_ID")]
    pub oidc_client_id: Option<String>,
    /// The secret for the id; a public client has none
    #[arg(long, env = "WEIR_OIDC_CLIENT_SECRET", hide_env_values = true)]
    pub oidc_client_secret: Option<String>,
    /// File that contains the value of the option above
    #[arg(long, env = "WEIR_OIDC_CLIENT_SECRET_FILE")]
    pub oidc_client_secret_file: Option<PathBuf>,
    /// The name of the provider on the button of the sign-in page
    #[arg(long, env = "WEIR_OIDC_NAME", default_value = "single sign-on")]
    pub oidc_name: String,
}

/// Checked settings of the provider.
#[derive(Debug)]
pub struct OidcSettings {
    /// The name on the button.
    pub name: String,
    /// The provider.
    pub provider: Provider,
}

impl OidcArgs {
    /// Checks the settings of `weir dev`, whose dashboard is at `dashboard_url`.
    pub fn parse_for(&self, dashboard_url: &str) -> anyhow::Result<Option<OidcSettings>> {
        let mut problems = Problems::default();
        let oidc = self.parse(&mut problems, Some(dashboard_url));
        problems.none()?;
        Ok(oidc)
    }

    /// Checks the settings. `None` if no provider is named. `MailArgs` checks the address of the dashboard.
    pub(super) fn parse(
        &self,
        problems: &mut Problems,
        dashboard_url: Option<&str>,
    ) -> Option<OidcSettings> {
        let given = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
        let issuer = given(&self.oidc_issuer)?;
        let Some(client_id) = given(&self.oidc_client_id) else {
            problems.add("WEIR_OIDC_CLIENT_ID is missing: the provider needs it");
            return None;
        };
        let Some(dashboard_url) = dashboard_url.filter(|url| !url.is_empty()) else {
            problems.add("WEIR_DASHBOARD_URL is missing: the provider sends browsers back to it");
            return None;
        };
        let secret = given(&self.oidc_client_secret);
        let file = &self.oidc_client_secret_file;
        let client_secret = if secret.is_none() && file.is_none() {
            None
        } else {
            Some(problems.secret("WEIR_OIDC_CLIENT_SECRET", secret.as_deref(), file.as_ref())?)
        };
        let dashboard_url = dashboard_url.trim_end_matches('/');
        let settings = ProviderSettings {
            issuer,
            client_id,
            client_secret: client_secret.map(|secret| secret.expose_secret().to_owned()),
            redirect_url: format!("{dashboard_url}/api/v1/auth/oidc/callback"),
        };
        match Provider::new(settings) {
            Ok(provider) => Some(OidcSettings { name: self.oidc_name.clone(), provider }),
            Err(error) => {
                problems.add(format!("WEIR_OIDC_ISSUER {error}"));
                None
            }
        }
    }
}

impl fmt::Debug for OidcArgs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OidcArgs")
    }
}
