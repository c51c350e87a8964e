//! How servers are reached: their credentials and certificates.

use redis::io::tcp::TcpSettings;
use redis::{
    ConnectionAddr, ConnectionInfo, IntoConnectionInfo as _, RedisConnectionInfo, TlsCertificates,
};

use super::server_address::ServerAddress;
use crate::error::RedisError;

/// The certificates of connections over TLS.
#[derive(Debug)]
pub(super) struct Transport {
    pub(super) authority: Option<Vec<u8>>,
}

/// How servers are reached whose addresses become known later.
#[derive(Debug)]
pub(super) struct Access {
    /// The credentials.
    pub(super) settings: RedisConnectionInfo,
    pub(super) tls: bool,
    pub(super) transport: Transport,
}

impl Access {
    /// A client for this server. Nothing is connected yet.
    pub(super) fn client_of(&self, server: &ServerAddress) -> Result<redis::Client, RedisError> {
        let address = connection("", "localhost", self.tls)?;
        let address = address.set_redis_settings(self.settings.clone());
        let ServerAddress { host, port } = server.clone();
        let target = match address.addr() {
            ConnectionAddr::TcpTls { insecure, tls_params, .. } => ConnectionAddr::TcpTls {
                host,
                port,
                insecure: *insecure,
                tls_params: tls_params.clone(),
            },
            _ => ConnectionAddr::Tcp(host, port),
        };
        Ok(self.transport.client(address.set_addr(target))?)
    }
}

impl Transport {
    /// A client for one server. Nothing is connected yet.
    pub(super) fn client(&self, info: ConnectionInfo) -> Result<redis::Client, redis::RedisError> {
        // Otherwise the kernel keeps a call back until the server has confirmed the bytes of the previous one: a round trip.
        let info = info.set_tcp_settings(TcpSettings::default().set_nodelay(true));
        match &self.authority {
            None => redis::Client::open(info),
            Some(authority) => {
                let root_cert = Some(authority.clone());
                redis::Client::build_with_tls(info, TlsCertificates { client_tls: None, root_cert })
            }
        }
    }
}

/// The address of one server, from parts that are still encoded.
pub(super) fn connection(
    credentials: &str,
    host: &str,
    tls: bool,
) -> Result<ConnectionInfo, redis::RedisError> {
    let scheme = if tls { "rediss" } else { "redis" };
    let at = if credentials.is_empty() { "" } else { "@" };
    format!("{scheme}://{credentials}{at}{host}").into_connection_info()
}
