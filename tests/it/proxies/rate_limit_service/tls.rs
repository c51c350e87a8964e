//! The rate limit service over TLS, to the real Envoy only if it has a certificate.

use std::fs;
use std::path::Path;

use weir_local::{ScratchDir, free_port};

use super::{Fixture, get, page, rule};
use crate::harness::{Certificate, GateSettings, seconds, shared, until};

/// The beginning of the cluster of the gates.
const CLUSTER: &str = "  - name: weir\n    type: STRICT_DNS\n";

/// The same with TLS.
fn with_tls(folder: &Path, own_certificate: bool) -> String {
    let file = |name: &str| folder.join(name).display().to_string();
    let certificate = format!(
        "tls_certificates: [ {{ certificate_chain: {{ filename: {} }}, private_key: {{ filename: {} }} }} ]",
        file("weir.crt"),
        file("weir.key")
    );
    let certificate = if own_certificate { certificate } else { String::new() };
    format!(
        r#"{CLUSTER}    transport_socket:
      name: envoy.transport_sockets.tls
      typed_config:
        "@type": type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext
        sni: localhost
        common_tls_context:
          {certificate}
          validation_context: {{ trusted_ca: {{ filename: {} }} }}
"#,
        file("authority.pem")
    )
}

#[tokio::test]
async fn envoy_needs_a_certificate_if_the_rate_limit_service_demands_one() {
    let (mut fixture, _) = Fixture::start(0, &[rule("per-user", &["user"], 1)]).await;
    let stack = shared().await;
    let scratch = ScratchDir::create().expect("a scratch folder");
    let at = |name: &str| scratch.path().join(name);
    let pem = Certificate::of_a_private_authority();
    for (name, text) in
        [("weir.crt", &pem.signed), ("weir.key", &pem.key), ("authority.pem", &pem.authority)]
    {
        fs::write(at(name), text).expect("a file of the test");
    }
    let [service, operations] =
        [(); 2].map(|()| format!("127.0.0.1:{}", free_port().expect("a port is free")));
    let path = |name: &str| at(name).display().to_string();
    let env = vec![
        ("WEIR_TLS_CERT_FILE", path("weir.crt")),
        ("WEIR_TLS_KEY_FILE", path("weir.key")),
        ("WEIR_RLS_CLIENT_CA_FILE", path("authority.pem")),
        ("WEIR_RLS_ADDR", service.clone()),
        ("WEIR_OPERATIONS_ADDR", operations.clone()),
    ];
    let mut gate = stack.gate(GateSettings { env, ..GateSettings::default() });
    gate.url = format!("http://{operations}");
    stack.until_ready(&gate).await;
    fixture.gates.push(gate);
    fixture.services.push(service);

    let key = fixture.tenant.key.clone();
    let changes = vec![(CLUSTER, with_tls(scratch.path(), false))];
    let without = fixture.starting_envoy(0, &key, changes).await;
    until(seconds(30), "a handshake without a certificate fails", async || {
        let text = page(&fixture.tenant, &format!("http://{operations}/metrics")).await;
        let line = "weir_tls_handshake_failures_total{listener=\"rls\"} ";
        let failures = text.lines().find_map(|found| found.strip_prefix(line)?.parse::<u64>().ok());
        failures.is_some_and(|failures| failures > 0)
    })
    .await;
    drop(without);

    let changes = vec![(CLUSTER, with_tls(scratch.path(), true))];
    let envoy = fixture.envoy(0, &key, changes).await;
    get(&fixture.tenant, &envoy, "/page", Some("ada")).await.expect(200);
    get(&fixture.tenant, &envoy, "/page", Some("ada")).await.expect(429);
}
