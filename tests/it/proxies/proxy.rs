//! A real proxy, started from the files of `deploy/proxies`. Only the addresses, the key and paths of files are replaced,
//! and the timeouts: on a busy machine an answer of Weir can take longer than a user of the proxy would wait.

use std::fs;
use std::path::{Path, PathBuf};

use weir_local::{Launch, ScratchDir, StopSignal, WatchedProcess, free_port};

use super::Kind;
use crate::harness::{Http, installed, seconds, until};

pub struct Proxy {
    pub url: String,
    /// The address of Envoy's and Caddy's administration.
    pub admin: String,
    _process: WatchedProcess,
    _scratch: ScratchDir,
}

/// The values that the files need.
pub struct Surroundings<'a> {
    /// The address of a gate, with its port.
    pub gate: &'a str,
    pub application: u16,
    pub key: &'a str,
    /// Whether the timeouts of the files stay.
    pub own_timeouts: bool,
}

impl Proxy {
    /// Starts a proxy and waits until it forwards requests.
    pub async fn start(kind: Kind, around: &Surroundings<'_>) -> Self {
        let names: Vec<_> = kind.files().iter().map(|&name| (name, name)).collect();
        Self::of_files(kind, &names, |folder, ports| replacements(kind, around, folder, ports))
            .await
    }

    /// The same with these documented files under other names, and these replacements in a folder and with two ports.
    pub async fn of_files(
        kind: Kind,
        names: &[(&str, &str)],
        replacements: impl FnOnce(&Path, [u16; 2]) -> Replacements,
    ) -> Self {
        let scratch = ScratchDir::create().expect("a scratch folder");
        let ports = [(); 2].map(|()| free_port().expect("a port is free"));
        let [port, other_port] = ports;
        let folder = scratch.path();
        let replacements = replacements(folder, ports);
        let read = |(name, _): &(&str, &str)| {
            fs::read_to_string(documented(kind, name)).expect("a file of deploy")
        };
        let texts: Vec<String> = names.iter().map(read).collect();
        for (from, _) in &replacements {
            assert!(texts.iter().any(|text| text.contains(from)), "no file has `{from}`");
        }
        for ((_, name), text) in names.iter().zip(texts) {
            let replaced = |text: String, (from, to): &(&str, String)| text.replace(from, to);
            let text = replacements.iter().fold(text, replaced);
            fs::write(folder.join(name), text).expect("a file of the test");
        }
        let process = WatchedProcess::spawn(launch(kind, folder, other_port));
        let process = process.unwrap_or_else(|error| panic!("start {kind:?}: {error}"));
        let url = format!("http://127.0.0.1:{port}");
        let log = folder.join("log");
        until(seconds(60), &format!("{kind:?} forwards requests"), async || {
            let ended = process.exit_code();
            assert_eq!(ended, None, "{}", fs::read_to_string(&log).unwrap_or_default());
            // Traefik listens before it has routes.
            let reply = Http::new().try_get(&format!("{url}/ready")).await;
            reply.is_some_and(|reply| reply.status != 404)
        })
        .await;
        let admin = format!("http://127.0.0.1:{other_port}");
        Self { url, admin, _process: process, _scratch: scratch }
    }
}

/// The path of a documented file.
pub fn documented(kind: Kind, name: &str) -> PathBuf {
    let proxies = Path::new(env!("CARGO_MANIFEST_DIR")).with_file_name("deploy/proxies");
    proxies.join(kind.name()).join(name)
}

/// The texts of the files that are replaced, with their replacements.
pub type Replacements = Vec<(&'static str, String)>;

fn replacements(
    kind: Kind,
    around: &Surroundings<'_>,
    folder: &Path,
    ports: [u16; 2],
) -> Replacements {
    let mut all = vec![("weir_KEY", around.key.to_owned())];
    all.extend(match kind {
        Kind::Envoy => envoy_addresses(around, "8081", ports),
        _ => addresses(kind, around, folder, ports[0]),
    });
    if !around.own_timeouts {
        all.extend(match kind {
            Kind::Nginx | Kind::Caddy => {
                vec![("50ms", "20s".to_owned()), ("100ms", "20s".to_owned())]
            }
            Kind::Haproxy => vec![("TIMEOUT_MS = 100", "TIMEOUT_MS = 20000".to_owned())],
            Kind::Envoy => vec![("timeout: 0.1s", "timeout: 20s".to_owned())],
            Kind::Traefik => Vec::new(),
        });
    }
    all
}

fn addresses(kind: Kind, around: &Surroundings<'_>, folder: &Path, port: u16) -> Replacements {
    let in_folder = |name: &str| folder.join(name).display().to_string();
    let mut all = vec![
        ("weir-gate.internal:8081", around.gate.to_owned()),
        ("app.internal:9000", format!("127.0.0.1:{}", around.application)),
    ];
    let own = match kind {
        Kind::Nginx => [
            ("listen 8000", format!("listen 127.0.0.1:{port}")),
            ("/var/www/html", folder.display().to_string()),
        ],
        Kind::Traefik => [
            ("0.0.0.0:8000", format!("127.0.0.1:{port}")),
            ("/etc/traefik/weir.yml", in_folder("weir.yml")),
        ],
        Kind::Haproxy => [
            ("0.0.0.0:8000", format!("127.0.0.1:{port}")),
            ("/etc/haproxy/weir.lua", in_folder("weir.lua")),
        ],
        Kind::Caddy | Kind::Envoy => [
            ("http://:8000", format!("http://:{port}")),
            ("bind 0.0.0.0", "bind 127.0.0.1".to_owned()),
        ],
    };
    all.extend(own);
    all
}

/// The addresses of Envoy's files. `documented` is the port of the gate in the file.
pub fn envoy_addresses(
    around: &Surroundings<'_>,
    documented: &str,
    [port, other_port]: [u16; 2],
) -> Replacements {
    let (gate_host, gate_port) = around.gate.split_once(':').expect("an address has a port");
    let address =
        |host: &str, port: &dyn std::fmt::Display| format!("address: {host}, port_value: {port}");
    let gate = match documented {
        "8082" => "address: weir-gate.internal, port_value: 8082",
        _ => "address: weir-gate.internal, port_value: 8081",
    };
    vec![
        ("address: 0.0.0.0, port_value: 8000", address("127.0.0.1", &port)),
        ("address: 127.0.0.1, port_value: 9901", address("127.0.0.1", &other_port)),
        ("address: app.internal, port_value: 9000", address("127.0.0.1", &around.application)),
        (gate, address(gate_host, &gate_port)),
    ]
}

fn launch(kind: Kind, folder: &Path, other_port: u16) -> Launch {
    let program = program(kind);
    let launch = Launch::new(program, folder, &folder.join("log"))
        .env("HOME", folder)
        .stop_by(StopSignal::Terminate, seconds(10));
    let file = |name: &str| folder.join(name).display().to_string();
    match kind {
        Kind::Nginx => {
            let main = file("main.conf");
            fs::write(&main, nginx_main(folder)).expect("a file of the test");
            launch.args(["-p", &folder.display().to_string(), "-c", &main])
        }
        Kind::Traefik => launch.args([format!("--configFile={}", file("traefik.yml"))]),
        Kind::Caddy => launch.env("CADDY_ADMIN", format!("127.0.0.1:{other_port}")).args([
            "run",
            "--adapter",
            "caddyfile",
            "--config",
            &file("Caddyfile"),
        ]),
        Kind::Haproxy => launch.args(["-db", "-f", &file("haproxy.cfg")]),
        // Each Envoy of a machine needs an id of its own, for its shared memory.
        Kind::Envoy => launch.args(["-c", &file("envoy.yaml"), "--use-dynamic-base-id"]),
    }
}

/// The part of nginx' configuration that Debian's package brings.
pub fn nginx_main(folder: &Path) -> String {
    let folder = folder.display();
    let paths: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .map(|name| format!("{name}_temp_path {folder}/{name};"))
        .concat();
    format!(
        "daemon off; master_process off; pid {folder}/pid; error_log {folder}/errors;\n\
         events {{ }}\nhttp {{ access_log off; {paths} include {folder}/weir.conf; }}\n"
    )
}

/// The path of a proxy's program.
fn program(kind: Kind) -> PathBuf {
    installed(kind.name())
}
