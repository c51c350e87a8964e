//! TLS in front of control plane and gate: nginx with the documented file.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use weir_local::{Launch, ScratchDir, StopSignal, WatchedProcess, free_port};

use crate::harness::{Certificate, Stack, installed, seconds, until};
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
