//! Settings of the listeners, which both planes share.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use weir_http::client_address::{InvalidNetwork, TRUSTED_PROXIES_MAX, TrustedProxies};
use weir_http::serve::{ListenerMeters, ServeSettings, Tls, TlsFiles};

use super::problems::Problems;

/// Settings of the listeners as given.
#[derive(Debug, Args)]
pub struct ListenerArgs {
    /// Address that serves health, metrics and API documents; default: those of the planes, if they listen on loopback
    #[arg(long, env = "WEIR_OPERATIONS_ADDR")]
    pub operations_addr: Option<String>,
    /// Addresses and networks of proxies whose `X-Forwarded-For` is believed, separated by commas
    #[arg(long, env = "WEIR_TRUSTED_PROXIES", default_value = "")]
    pub trusted_proxies: String,
    /// File with the certificate of the planes and the rate limit service (PEM), which then speak TLS; default: plain
    #[arg(long, env = "WEIR_TLS_CERT_FILE")]
    pub tls_cert_file: Option<PathBuf>,
    /// File with the key of that certificate (PEM)
    #[arg(long, env = "WEIR_TLS_KEY_FILE")]
    pub tls_key_file: Option<PathBuf>,
    /// File with the authorities (PEM) whose certificates clients of the rate limit service must have; default: none needed
    #[arg(long, env = "WEIR_RLS_CLIENT_CA_FILE")]
    pub rls_client_ca_file: Option<PathBuf>,
    /// Maximum concurrent connections of each plane
    #[arg(long, env = "WEIR_CONNECTIONS_MAX", default_value = "8192")]
    pub connections_max: String,
    /// Maximum concurrent connections from one address; trusted proxies are exempt
    #[arg(long, env = "WEIR_CONNECTIONS_PER_ADDRESS_MAX", default_value = "1024")]
    pub connections_per_address_max: String,
    /// Maximum time that requests wait for the process before they are refused, in milliseconds
    #[arg(long, env = "WEIR_OVERLOAD_WAIT_MS", default_value = "100")]
    pub overload_wait_ms: String,
    /// Time after SIGTERM for which the process still serves but is not ready, in milliseconds
    #[arg(long, env = "WEIR_DRAIN_MS", default_value = "5000")]
    pub drain_ms: String,
}

/// Checked settings of the listeners.
#[derive(Debug, Clone)]
pub struct ListenerSettings {
    pub operations: Option<SocketAddr>,
    pub trusted_proxies: TrustedProxies,
    pub connections_max: usize,
    pub connections_per_address_max: usize,
    pub overload_wait: Duration,
    /// The certificate of the planes.
    pub tls: Option<TlsFiles>,
    /// The same of the rate limit service.
    pub rls_tls: Option<TlsFiles>,
}

impl ListenerSettings {
    /// The settings of `weir dev`: loopback only, on a machine that does other work too.
    pub fn of_one_machine() -> Self {
        let ServeSettings { connections_max, .. } = ServeSettings::default();
        Self {
            operations: None,
            trusted_proxies: TrustedProxies::default(),
            connections_max,
            connections_per_address_max: connections_max,
            overload_wait: Duration::from_secs(1),
            tls: None,
            rls_tls: None,
        }
    }

    /// The bounds of a public listener.
    pub fn serve_settings(&self, meters: Arc<ListenerMeters>) -> ServeSettings {
        ServeSettings {
            connections_max: self.connections_max,
            connections_per_address_max: self.connections_per_address_max,
            wait_max: self.overload_wait,
            trusted_proxies: self.trusted_proxies.clone(),
            meters,
            proxied_prefix: Some(weir_gate::AUTHORIZE_PREFIX),
            ..ServeSettings::default()
        }
    }
}

impl Problems {
    pub(super) fn listener(&mut self, args: &ListenerArgs) -> ListenerSettings {
        let operations = args.operations_addr.as_deref();
        let (tls, rls_tls) = self.tls(args);
        ListenerSettings {
            operations: operations.map(|text| self.address("WEIR_OPERATIONS_ADDR", text)),
            trusted_proxies: self.trusted_proxies(&args.trusted_proxies),
            connections_max: self.connections("WEIR_CONNECTIONS_MAX", &args.connections_max),
            connections_per_address_max: self
                .connections("WEIR_CONNECTIONS_PER_ADDRESS_MAX", &args.connections_per_address_max),
            overload_wait: self.overload_wait(&args.overload_wait_ms),
            tls,
            rls_tls,
        }
    }

    pub(super) fn drain(&mut self, text: &str) -> Duration {
        match text.parse() {
            Ok(ms @ 0..=60_000) => Duration::from_millis(ms),
            _ => {
                self.add("WEIR_DRAIN_MS must be from 0 to 60000");
                Duration::ZERO
            }
        }
    }

    /// The files of the planes and of the rate limit service, if they can be used.
    fn tls(&mut self, args: &ListenerArgs) -> (Option<TlsFiles>, Option<TlsFiles>) {
        let client_authority = args.rls_client_ca_file.clone();
        let (certificate, key) = match (&args.tls_cert_file, &args.tls_key_file) {
            (Some(certificate), Some(key)) => (certificate.clone(), key.clone()),
            (None, None) => {
                if client_authority.is_some() {
                    self.add(
                        "WEIR_RLS_CLIENT_CA_FILE needs WEIR_TLS_CERT_FILE and WEIR_TLS_KEY_FILE",
                    );
                }
                return (None, None);
            }
            _ => {
                self.add("WEIR_TLS_CERT_FILE and WEIR_TLS_KEY_FILE must both be set, or neither");
                return (None, None);
            }
        };
        let planes = TlsFiles { certificate, key, client_authority: None };
        let rls = TlsFiles { client_authority, ..planes.clone() };
        if let Err(error) = Tls::load(rls.clone(), false) {
            self.add(format!("TLS of the listeners: {error}"));
        }
        (Some(planes), Some(rls))
    }

    fn trusted_proxies(&mut self, text: &str) -> TrustedProxies {
        text.parse().unwrap_or_else(|InvalidNetwork(part)| {
            self.add(format!(
                "WEIR_TRUSTED_PROXIES must list at most {TRUSTED_PROXIES_MAX} addresses and networks such as \
                 10.0.0.0/8, not `{part}`"
            ));
            TrustedProxies::default()
        })
    }

    fn connections(&mut self, name: &str, text: &str) -> usize {
        match text.parse() {
            Ok(connections @ 1..=1_000_000) => connections,
            _ => {
                self.add(format!("{name} must be from 1 to 1000000"));
                1
            }
        }
    }

    fn overload_wait(&mut self, text: &str) -> Duration {
        match text.parse() {
            Ok(ms @ 10..=60_000) => Duration::from_millis(ms),
            _ => {
                self.add("WEIR_OVERLOAD_WAIT_MS must be from 10 to 60000");
                Duration::from_millis(100)
            }
        }
    }
}
