//! TLS in front of control plane and gate, by nginx with the documented file, and TLS of their own.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use weir_local::{Launch, ScratchDir, StopSignal, WatchedProcess, free_port};

use crate::harness::{
    Certificate, GateSettings, Stack, Tenant, installed, seconds, shared, until, weir,
};
use crate::proxies::nginx_main;

const FILE: &str = include_str!("../../deploy/tls/nginx.conf");

/// Asks by HTTPS, with no other trust than in this authority.
fn ask(authority: &Path, url: &str) -> Output {
    let mut curl = Command::new("curl");
    curl.args(["--silent", "--include", "--max-time", "20", "--cacert"]).arg(authority).arg(url);
    curl.output().expect("curl is installed")
}

#[tokio::test(flavor = "multi_thread")]
async fn documented_file_puts_tls_in_front_of_both_planes() {
    let mut stack = Stack::start(crate::harness::PATIENT_MS).await;
    let trusted = ("WEIR_TRUSTED_PROXIES", "127.0.0.0/8".to_owned());
    let control = stack.control_that_has(&[trusted]).await;
    let gate = stack.gates.remove(0);
    let host = |url: &str| url.trim_start_matches("http://").to_owned();
    let scratch = ScratchDir::create().expect("a scratch folder");
    let at = |name: &str| scratch.path().join(name);
    let pem = Certificate::of_a_private_authority();
    let authority = at("authority.pem");
    let [control_port, gate_port] = [(); 2].map(|()| free_port().expect("a port is free"));
    let mut text = FILE.to_owned();
    for (from, to) in [
        ("weir-control.internal:8080", host(&control.url)),
        ("weir-gate-1.internal:8081", host(&gate.url)),
        ("weir-gate-2.internal:8081", format!("{} backup", host(&gate.url))),
        ("/etc/nginx/weir.crt", at("weir.crt").display().to_string()),
        ("/etc/nginx/weir.key", at("weir.key").display().to_string()),
        ("200ms", "20s".to_owned()),
    ] {
        assert!(text.contains(from), "the file has no `{from}`");
        text = text.replace(from, &to);
    }
    for port in [control_port, gate_port] {
        text = text.replacen("listen 443 ", &format!("listen 127.0.0.1:{port} "), 1);
    }
    for (name, text) in [
        ("weir.crt", &pem.signed),
        ("weir.key", &pem.key),
        ("authority.pem", &pem.authority),
        ("weir.conf", &text),
        ("main.conf", &nginx_main(scratch.path())),
    ] {
        fs::write(at(name), text).expect("a file of the test");
    }
    let launch = Launch::new(installed("nginx"), scratch.path(), &at("log"))
        .args(["-p".into(), scratch.path().to_owned(), "-c".into(), at("main.conf")])
        .stop_by(StopSignal::Terminate, seconds(10));
    let nginx = WatchedProcess::spawn(launch).expect("start nginx");
    for (port, is_control) in [(control_port, true), (gate_port, false)] {
        let url = format!("https://localhost:{port}/readyz");
        until(seconds(60), "nginx forwards requests", async || {
            assert_eq!(nginx.exit_code(), None, "{}", nginx.log_tail());
            let (authority, url) = (authority.clone(), url.clone());
            let asked = tokio::task::spawn_blocking(move || ask(&authority, &url)).await;
            let answer = String::from_utf8_lossy(&asked.expect("it ends").stdout).to_lowercase();
            // The control plane trusts the proxy, which says that the client spoke TLS.
            answer.starts_with("http/2 200")
                && answer.contains("strict-transport-security") == is_control
        })
        .await;
    }
    // A client that does not know the authority trusts nobody.
    let url = format!("https://localhost:{control_port}/readyz");
    let refused = ask(Path::new("/dev/null"), &url);
    assert!(!refused.status.success() && refused.stdout.is_empty());
}

/// The files of a certificate in a folder, with the names of the settings.
fn written(folder: &Path, pem: &Certificate) -> [(&'static str, String); 2] {
    let write = |name: &str, text: &str| {
        fs::write(folder.join(name), text).expect("a file of the test");
        folder.join(name).display().to_string()
    };
    write("authority.pem", &pem.authority);
    let certificate = write("weir.crt", &pem.signed);
    [("WEIR_TLS_CERT_FILE", certificate), ("WEIR_TLS_KEY_FILE", write("weir.key", &pem.key))]
}

#[tokio::test(flavor = "multi_thread")]
async fn listener_speaks_tls_and_reads_a_renewed_certificate() {
    let stack = shared().await;
    let scratch = ScratchDir::create().expect("a scratch folder");
    let env = written(scratch.path(), &Certificate::of_a_private_authority()).to_vec();
    let gate = stack.gate(GateSettings { env, ..GateSettings::default() });
    let tenant = Tenant::sign_up(stack).await;
    let port = gate.url.rsplit(':').next().expect("a port").to_owned();
    let authority = scratch.path().join("authority.pem");
    let check = |version: &'static str| {
        let (authority, key) = (authority.clone(), tenant.key.clone());
        let url = format!("https://localhost:{port}/check");
        async move {
            let asking = tokio::task::spawn_blocking(move || {
                let mut curl = Command::new("curl");
                curl.args(["--silent", "--include", "--max-time", "20", version, "--cacert"]);
                curl.arg(authority).args(["--header", &format!("authorization: Bearer {key}")]);
                curl.args(["--json", "{}", &url]).output().expect("curl is installed")
            });
            let answer = asking.await.expect("it ends");
            String::from_utf8_lossy(&answer.stdout).to_lowercase()
        }
    };
    for (version, status) in [("--http1.1", "http/1.1 200"), ("--http2", "http/2 200")] {
        until(seconds(60), status, async || {
            let answer = check(version).await;
            answer.starts_with(status) && answer.contains("strict-transport-security")
        })
        .await;
    }
    let plain = ask(Path::new("/dev/null"), &format!("http://localhost:{port}/readyz"));
    assert!(!plain.status.success(), "{plain:?}");

    // A certificate without its key is not used, so the former one is presented until both are there.
    let renewed = Certificate::of_a_private_authority();
    fs::write(scratch.path().join("weir.crt"), &renewed.signed).expect("a file of the test");
    written(scratch.path(), &renewed);
    until(seconds(60), "the renewed certificate is presented", async || {
        check("--http2").await.starts_with("http/2 200")
    })
    .await;
    assert_eq!(gate.stop(), 0);
}

#[test]
fn files_that_are_no_certificate_with_its_key_are_refused_at_the_start() {
    let scratch = ScratchDir::create().expect("a scratch folder");
    let one = Certificate::of_a_private_authority();
    let settings = written(scratch.path(), &one);
    let at = |name: &str| scratch.path().join(name).display().to_string();
    fs::write(at("other.key"), Certificate::of_a_private_authority().key).expect("a file");
    fs::write(at("empty.crt"), "").expect("a file");
    let [certificate, key] = settings;
    let refusal = |env: &[(&str, &str)]| {
        let refused = weir(&["serve", "--roles", "gate"], env, "");
        assert!(!refused.status.success());
        String::from_utf8_lossy(&refused.stderr).into_owned()
    };
    let name = "WEIR_TLS_KEY_FILE";
    for (env, expected) in [
        (vec![(certificate.0, certificate.1.as_str())], "must both be set, or neither"),
        (vec![(certificate.0, &*certificate.1), (name, &*at("other.key"))], "cannot use"),
        (vec![(certificate.0, &*at("empty.crt")), (name, &*key.1)], "has no certificate in PEM"),
        (vec![(certificate.0, &*at("missing.crt")), (name, &*key.1)], "cannot read"),
        (vec![("WEIR_RLS_CLIENT_CA_FILE", &*certificate.1)], "needs WEIR_TLS_CERT_FILE"),
    ] {
        let refused = refusal(&env);
        assert!(refused.contains(expected), "{env:?}: {refused}");
        assert!(!refused.contains("PRIVATE"), "{refused}");
    }
}
