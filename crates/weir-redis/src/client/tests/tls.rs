//! Sentinels, a primary and a replica that speak TLS to clients and to each other.

use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use weir_domain::draft::LimitDraft;
use weir_local::{ScratchDir, SentinelOptions, TlsFiles};

use super::{Caller, Fixture, consume};
use crate::limiter::tests::fixture::{charge_of, fresh_tenant, until, until_up};

/// Creates an authority, and a certificate of it for the host that the servers announce.
pub(crate) fn certificate(scratch: &ScratchDir, host: &str) -> TlsFiles {
    let mut params = CertificateParams::new(Vec::new()).expect("no names");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    // OpenSSL takes a certificate whose subject is its issuer for one that signed itself.
    params.distinguished_name.push(DnType::CommonName, "authority");
    let key = KeyPair::generate().expect("a key");
    let authority = params.self_signed(&key).expect("a certificate of its own");
    let issuer = Issuer::new(params, key);
    let key = KeyPair::generate().expect("a key");
    let params = CertificateParams::new(vec![host.to_owned()]).expect("a host");
    let certificate = params.signed_by(&key, &issuer).expect("a certificate");
    let written = |name: &str, text: &str| -> PathBuf {
        let path = scratch.path().join(name);
        std::fs::write(&path, text).expect("a file of ours");
        // Redis runs under another account.
        let mode = std::fs::Permissions::from_mode(0o644);
        std::fs::set_permissions(&path, mode).expect("a file of ours");
        path
    };
    TlsFiles {
        certificate: written("redis.crt", &certificate.pem()),
        key: written("redis.key", &key.serialize_pem()),
        authority: written("authority.crt", &authority.pem()),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn failover_is_followed_over_tls_with_a_trusted_certificate_only() {
    // In the server, features of its dependencies choose the provider. Another test has possibly installed it.
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
    let scratch = ScratchDir::create().expect("a scratch folder");
    let files = certificate(&scratch, "127.0.0.1");
    let authority = std::fs::read(&files.authority).expect("it was written");
    let tls = Some(files);
    let fixture = Fixture::start_with(&SentinelOptions { tls, ..SentinelOptions::default() });
    let url = fixture.group.url();
    assert!(url.starts_with("rediss-sentinel://"), "{url}");

    // A busy machine needs longer for the first handshakes than a client waits for Sentinels.
    until("the certificate is not trusted", async || {
        let doubting = fixture.client.unsuitable(super::DEADLINE).await;
        assert!(doubting.is_err(), "{doubting:?}");
        doubting.is_err_and(|error| error.cause().contains("certificate"))
    })
    .await;
    let believing = crate::client_trusting(&url, authority).expect("a valid address");
    until("the Sentinels answer", async || {
        let unsuitable = believing.unsuitable(super::DEADLINE).await;
        unsuitable.is_ok_and(|unsuitable| unsuitable.is_none())
    })
    .await;

    let limits = vec![LimitDraft::FixedWindow { limit: 1_000_000, window_ms: 31_622_400_000 }];
    let (tenant, rules) = (fresh_tenant(), vec![charge_of(1, limits)]);
    let caller = Caller::new(fixture.limiter_by(believing));
    until_up(&caller.limiter).await;
    caller.until_decided(&consume(tenant, &rules), 20).await;
    let before = fixture.primary().await;
    fixture.group.servers()[before].kill().expect("it ran");
    caller.until_decided(&consume(tenant, &rules), 20).await;
    fixture.until_replaced(before).await;
    assert!(fixture.calls(1 - before) >= 20, "the new primary decides");
}
