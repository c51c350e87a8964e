//! Settings of the listeners, which both planes share.

use clap::Args;
use weir_http::client_address::{TRUSTED_PROXIES_MAX, TrustedProxies};
use weir_http::serve::ServeSettings;

use super::Problems;

/// Settings of the listeners as given.
#[derive(Debug, Args)]
pub struct ListenerArgs {
    /// Addresses and networks of proxies whose `X-Forwarded-For` is believed, separated by commas
    #[arg(long, env = "WEIR_TRUSTED_PROXIES", default_value = "")]
    pub trusted_proxies: String,
}

/// Checked settings of the listeners.
#[derive(Debug, Clone, Default)]
pub struct ListenerSettings {
    pub trusted_proxies: TrustedProxies,
}

impl ListenerSettings {
    /// The bounds of a public listener.
    pub fn serve_settings(&self) -> ServeSettings {
        ServeSettings { trusted_proxies: self.trusted_proxies.clone(), ..ServeSettings::default() }
    }
}

impl Problems {
    pub(super) fn listener(&mut self, args: &ListenerArgs) -> ListenerSettings {
        let trusted_proxies = args.trusted_proxies.parse().unwrap_or_else(|error| {
            let weir_http::client_address::InvalidNetwork(part) = error;
            self.say(format!(
                "WEIR_TRUSTED_PROXIES must list at most {TRUSTED_PROXIES_MAX} addresses and networks such as \
                 10.0.0.0/8, not `{part}`"
            ));
            TrustedProxies::default()
        });
        ListenerSettings { trusted_proxies }
    }
}
