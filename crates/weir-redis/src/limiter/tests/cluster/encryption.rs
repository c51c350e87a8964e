//! A cluster whose nodes speak TLS to clients and to each other, announce a host name, and know a user with few rights.

use std::time::Instant;

use weir_domain::time::Timestamp;
use weir_local::{ClusterOptions, ScratchDir};

use super::fixture::{DEADLINE, Fixture, until, window};
use crate::client::tests::tls::certificate;
use crate::limiter::Answer;
use crate::suitability::{Finding, Judgement, Report, inspect};

/// The host name of the certificate, which holds no address.
const HOST: &str = "localhost";

/// Acceptance check 10.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn encrypted_cluster_is_used_by_its_host_names_and_with_the_documented_rights() {
    // In the server, features of its dependencies choose the provider. Another test has possibly installed it.
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
    let scratch = ScratchDir::create().expect("a scratch folder");
    let files = certificate(&scratch, HOST);
    let authority = std::fs::read(&files.authority).expect("it was written");
    let options =
        ClusterOptions { replicas: 1, tls: Some(files), named: true, ..Fixture::options() };
    let mut fixture = Fixture::with(&options);
    let url = fixture.cluster.url();
    assert!(url.starts_with("rediss-cluster://") && url.contains(HOST), "{url}");
    let password = fixture.cluster.nodes()[0].password().to_owned();
    let set_rights = |rights: &str| {
        for node in fixture.cluster.nodes() {
            let user = node.command(&format!("ACL SETUSER gate {rights}")).expect("it runs");
            assert_eq!(user, "+OK\r\n");
        }
    };
    set_rights(
        "on >pass ~weir:* &weir:signal:* +@all -@admin -@dangerous +role +info +config|get +keys",
    );
    let url = url.replace(&format!(":{password}@"), "gate:pass@");
    fixture.client = crate::client_trusting(&url, authority).expect("a valid address");

    // A busy machine needs longer for the first handshakes.
    until("the nodes answer", async || {
        fixture.client.unsuitable(DEADLINE).await.is_ok_and(|unsuitable| unsuitable.is_none())
    })
    .await;
    let report = inspect_once_it_answers(&fixture.client).await;
    assert!(report.is_suitable(), "{report:?}");
    let limiter = fixture.limiter().await;
    let rules = window(1, 10);
    for namespace in fixture.namespaces().iter().step_by(8) {
        let result = limiter.check(&[fixture.asked(namespace, &rules)]).await.remove(0);
        assert!(matches!(result, Ok(Answer::Decided(..))), "{namespace}: {result:?}");
    }

    set_rights("-@scripting");
    let report = inspect_once_it_answers(&fixture.client).await;
    let bad = report.0.iter().filter(|finding| finding.judgement == Judgement::Bad);
    let bad: Vec<_> = bad.map(|finding| (finding.subject, finding.text.as_str())).collect();
    assert!(
        matches!(bad[..], [("functions", text), ("permissions", rights)]
            if text.contains("+fcall") && rights == "missing: +eval +evalsha"),
        "the missing right is named: {bad:?}"
    );
}

/// Inspects until all nodes answer in time.
async fn inspect_once_it_answers(client: &crate::Client) -> Report {
    let no_answer =
        |finding: &Finding| finding.subject == "address" && finding.judgement == Judgement::Bad;
    let deadline = Instant::now() + DEADLINE;
    loop {
        let report = inspect(client, DEADLINE, || Timestamp::from_millis(0)).await;
        if !report.0.iter().any(no_answer) {
            return report;
        }
        assert!(Instant::now() < deadline, "the nodes do not answer: {report:?}");
    }
}
