//! Runs the images three ways until a check is answered: with podman alone, as the chart's pods, and as docker-compose.yml says.
//!
//! Runs in namespaces of its own, so ports and names are fixed.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};

use super::containers::{command, output};
use crate::setup;
use crate::workspace::{Workspace, call, step};

pub fn run(workspace: &Workspace, scratch: &Path) -> Result<()> {
    call(Command::new("ip").args(["link", "set", "lo", "up"]))?;
    let host = Host { workspace, scratch, secrets: scratch.join("secrets") };
    host.write_secrets()?;
    host.start_servers()?;
    step("podman", || host.with_podman())?;
    step("podman, as the chart says", || host.with_chart())?;
    output(host.podman(60).args(["rm", "--force", "--time=0", "--all"]))?;
    step("podman-compose", || host.with_compose())
}

struct Host<'a> {
    workspace: &'a Workspace,
    scratch: &'a Path,
    /// A folder for each Secret of the chart.
    secrets: PathBuf,
}

/// The options that docker-compose.yml and the chart set for every container.
const CONFINED: [&str; 7] = [
    "--network=weir",
    "--read-only",
    "--cap-drop=all",
    "--security-opt=no-new-privileges",
    "--user=10001:10001",
    "--tmpfs=/tmp",
    "--pull=never",
];

impl Host<'_> {
    fn podman(&self, deadline_s: u32) -> Command {
        command(self.scratch, deadline_s, "podman")
    }

    fn python(&self, script: &str) -> Result<Command> {
        let python = setup::python_tool(self.workspace, "python")?
            .context("Python packages are missing: cargo xtask setup --for test")?;
        let mut command = Command::new("timeout");
        command.args(["--kill-after=5", "120"]).arg(python).arg("-B");
        command.arg(self.workspace.path("crates/xtask/src/image").join(script));
        command.current_dir(&self.workspace.root);
        Ok(command)
    }

    fn write_secrets(&self) -> Result<()> {
        let jwt_key = output(command(self.scratch, 10, "openssl").args(["rand", "-base64", "32"]))?;
        let url = |login: &str| format!("postgres://{login}:{login}-has-a-password@postgres/weir");
        for (file, text) in [
            ("weir-owner/database_url", url("weir")),
            ("weir-owner/password", "weir-has-a-password".to_owned()),
            ("weir-owner/control_password", "weir_control_login-has-a-password".to_owned()),
            ("weir-owner/gate_password", "weir_gate_login-has-a-password".to_owned()),
            ("weir-control/database_url", url("weir_control_login")),
            ("weir-control/jwt_key", jwt_key),
            ("weir-gate/database_url", url("weir_gate_login")),
            ("weir-redis/redis_url", "redis://redis/0".to_owned()),
        ] {
            self.write_secret(file, &text)?;
        }
        Ok(())
    }

    /// Readable for the group of Weir's processes only, as the chart mounts it.
    fn write_secret(&self, file: &str, text: &str) -> Result<()> {
        let path = self.secrets.join(file);
        fs::create_dir_all(path.parent().context("a secret is in a folder")?)?;
        let mut file = fs::File::create(&path)?;
        file.write_all(text.as_bytes())?;
        file.set_permissions(fs::Permissions::from_mode(0o440))?;
        chown(&path, Some(0), Some(10001)).context("give the secret to the group")
    }

    fn start_servers(&self) -> Result<()> {
        output(self.podman(30).args([
            "network",
            "create",
            "--subnet=10.89.7.0/24",
            "--gateway=10.89.7.1",
            "weir",
        ]))?;
        let mut postgres = self.podman(60);
        postgres.args(["run", "--detach", "--name=postgres", "--network=weir", "--pull=never"]);
        postgres.args(["--user=postgres", "--group-add=10001", "--cap-drop=all"]);
        postgres.args(["--security-opt=no-new-privileges", &self.mount("weir-owner")]);
        postgres.args(["--env=POSTGRES_USER=weir", "--env=POSTGRES_DB=weir"]);
        postgres.arg("--env=POSTGRES_PASSWORD_FILE=/run/weir/weir-owner/password");
        postgres.arg("--env=POSTGRES_INITDB_ARGS=--no-sync --auth-host=scram-sha-256");
        output(postgres.arg("postgres:15-bookworm"))?;
        let mut redis = self.podman(60);
        redis.args(["run", "--detach", "--name=redis"]).args(CONFINED).arg("redis:7-bookworm");
        output(redis.args(["redis-server", "--save", "", "--protected-mode", "no"]))?;
        // Over TCP: the server that prepares a new folder listens on its socket only.
        let ready = ["exec", "postgres", "pg_isready", "--host=127.0.0.1", "--username=weir"];
        self.until("Postgres is ready", || Ok(output(self.podman(20).args(ready)).is_ok()))
    }

    fn mount(&self, secret: &str) -> String {
        format!("--volume={}/{secret}:/run/weir/{secret}:ro", self.secrets.display())
    }

    /// A container of Weir with settings, and with these secrets at /run/weir.
    fn weir(&self, options: &[&str], secrets: &[&str], settings: &[(&str, &str)]) -> Command {
        let mut podman = self.podman(60);
        podman.arg("run").args(options).args(CONFINED);
        podman.args(secrets.iter().map(|secret| self.mount(secret)));
        podman.arg("--env=WEIR_DATABASE_INSECURE=on");
        podman.args(settings.iter().map(|(name, value)| format!("--env={name}={value}")));
        podman.arg("weir");
        podman
    }

    /// A command of the owner of the tables.
    fn owner(&self) -> Command {
        self.weir(
            &["--rm"],
            &["weir-owner"],
            &[
                ("WEIR_DATABASE_URL_FILE", "/run/weir/weir-owner/database_url"),
                ("WEIR_CONTROL_DATABASE_PASSWORD_FILE", "/run/weir/weir-owner/control_password"),
                ("WEIR_GATE_DATABASE_PASSWORD_FILE", "/run/weir/weir-owner/gate_password"),
            ],
        )
    }

    fn with_podman(&self) -> Result<()> {
        let version = output(self.weir(&["--rm"], &[], &[]).arg("--version"))?;
        ensure!(version.starts_with("weir"), "weir --version printed {version}");
        let mut bill = self.podman(60);
        bill.args(["run", "--rm", "--entrypoint=cat"]).args(CONFINED);
        let bill = output(bill.args(["weir", "/usr/local/share/weir.cdx.json"]))?;
        ensure!(bill.contains("pkg:cargo/tokio@"), "the bill of materials does not name tokio");
        output(self.owner().arg("migrate"))?;
        let common = [
            ("WEIR_REDIS_URL_FILE", "/run/weir/weir-redis/redis_url"),
            ("WEIR_OPERATIONS_ADDR", "0.0.0.0:9090"),
            // No load balancer is there to notice the stop.
            ("WEIR_DRAIN_MS", "0"),
            ("WEIR_HEALTH_URL", "http://127.0.0.1:9090"),
        ];
        let control = [
            ("WEIR_ROLES", "control"),
            ("WEIR_CONTROL_ADDR", "0.0.0.0:8080"),
            ("WEIR_DATABASE_URL_FILE", "/run/weir/weir-control/database_url"),
            ("WEIR_JWT_KEY_FILE", "/run/weir/weir-control/jwt_key"),
        ];
        let gate = [
            ("WEIR_ROLES", "gate"),
            ("WEIR_GATE_ADDR", "0.0.0.0:8081"),
            ("WEIR_DATABASE_URL_FILE", "/run/weir/weir-gate/database_url"),
        ];
        for (name, publish, settings) in
            [("control", "8080:8080", &control[..]), ("gate", "8081:8081", &gate[..])]
        {
            let options = ["--detach", "--name", name, "--publish", publish];
            let settings = [&common[..], settings].concat();
            let secrets = [&format!("weir-{name}"), "weir-redis"];
            output(self.weir(&options, &secrets, &settings).arg("serve"))?;
        }
        let created =
            output(self.owner().args(["user", "create", "--operator", "--email=a@example.com"]));
        self.first_check("8081", "a@example.com", &created?, &["control", "gate"])?;
        for name in ["control", "gate"] {
            output(self.podman(30).args(["exec", name, "weir", "health"]))?;
            output(self.podman(60).args(["stop", "--time=45", name]))?;
            let format = "{{.State.ExitCode}}";
            let code = output(self.podman(20).args(["inspect", "--format", format, name]))?;
            ensure!(code.trim() == "0", "{name} was stopped and ended with {code}");
            output(self.podman(20).args(["rm", name]))?;
        }
        Ok(())
    }

    fn with_chart(&self) -> Result<()> {
        self.play("migrate")?;
        self.expect_success("weir-migrate-weir")?;
        self.play("planes")?;
        let created =
            output(self.owner().args(["user", "create", "--operator", "--email=b@example.com"]));
        let names = ["weir-control-pod-0-weir", "weir-gate-pod-0-weir"];
        let key = self.first_check("8081", "b@example.com", &created?, &names)?;
        self.write_secret("weir-test/api_key", &key)?;
        self.play("test")?;
        self.expect_success("weir-test-check-check")?;
        output(self.podman(60).args(["pod", "rm", "--force", "--time=45", "--all"]))?;
        Ok(())
    }

    /// Starts a part of the chart.
    fn play(&self, part: &str) -> Result<()> {
        let manifest = output(self.python("kube.py")?.arg(part).arg(&self.secrets))?;
        let file = self.scratch.join(format!("{part}.yaml"));
        fs::write(&file, manifest)?;
        let mut podman = self.podman(90);
        // A folder of the image's name would be taken for its sources.
        podman.args(["play", "kube", "--network=weir"]).arg(&file).current_dir(self.scratch);
        output(&mut podman)?;
        Ok(())
    }

    fn expect_success(&self, container: &str) -> Result<()> {
        let code = output(self.podman(90).args(["wait", container]))?;
        if code.trim() != "0" {
            bail!("{container} ended with {code}:\n{}", self.logs(&[container]));
        }
        Ok(())
    }

    fn with_compose(&self) -> Result<()> {
        // podman 4.3 does not start containers by the health of others, so this does.
        output(self.compose()?.args(["up", "-d", "--no-build", "secrets", "postgres", "redis"]))?;
        for name in ["weir_postgres_1", "weir_redis_1"] {
            self.until_healthy(name)?;
        }
        output(self.compose()?.args(["up", "-d", "--no-build", "--no-deps", "migrate"]))?;
        self.expect_success("weir_migrate_1")?;
        let planes = ["control", "gate-1", "gate-2"];
        output(self.compose()?.args(["up", "-d", "--no-build", "--no-deps"]).args(planes))?;
        let create = ["user", "create", "--operator", "--email=c@example.com"];
        let created = output(
            self.compose()?.args(["run", "--rm", "-T", "--no-deps", "migrate"]).args(create),
        )?;
        let names = planes.map(|plane| format!("weir_{plane}_1"));
        let names = names.each_ref().map(String::as_str);
        self.first_check("8082", "c@example.com", &created, &names)?;
        for name in names {
            self.until_healthy(name)?;
        }
        for port in [8083, 8084] {
            speaks_http2(port).with_context(|| format!("the rate limit service on {port}"))?;
        }
        output(self.compose()?.args(["down", "--volumes", "--timeout=1"]))?;
        Ok(())
    }

    fn until_healthy(&self, container: &str) -> Result<()> {
        let healthy =
            || Ok(output(self.podman(20).args(["healthcheck", "run", container])).is_ok());
        self.until(container, healthy)
    }

    fn compose(&self) -> Result<Command> {
        let program = setup::python_tool(self.workspace, "podman-compose")?
            .context("podman-compose is missing: cargo xtask setup --for test")?;
        let mut command = self.podman_compose(&program);
        command.arg("--file").arg(self.workspace.path("docker-compose.yml"));
        Ok(command)
    }

    fn podman_compose(&self, program: &Path) -> Command {
        command(self.scratch, 120, &program.to_string_lossy())
    }

    /// Signs in with the password that `weir user create` printed, and goes on to the first answered check. Returns the API key.
    fn first_check(
        &self,
        port: &str,
        email: &str,
        created: &str,
        names: &[&str],
    ) -> Result<String> {
        let password = created.lines().find_map(|line| line.trim().strip_prefix("password: "));
        let password = password.with_context(|| format!("no password in {created}"))?;
        let gate = format!("http://127.0.0.1:{port}");
        let mut script = self.python("first_check.py")?;
        script.args(["http://127.0.0.1:8080", &gate, email, password]);
        let key = output(&mut script).with_context(|| self.logs(names))?;
        Ok(key.trim().to_owned())
    }

    fn logs(&self, names: &[&str]) -> String {
        let log =
            |name: &&str| output(self.podman(20).args(["logs", "--names", "--tail=20", name]));
        names.iter().map(|name| log(name).unwrap_or_else(|error| format!("{error:#}"))).collect()
    }

    fn until(&self, what: &str, holds: impl Fn() -> Result<bool>) -> Result<()> {
        let until = Instant::now() + Duration::from_mins(1);
        while !holds()? {
            ensure!(Instant::now() < until, "no answer in time: {what}");
        }
        Ok(())
    }
}

/// Sends the beginning of an HTTP/2 connection, and expects the other side's: a frame of settings.
fn speaks_http2(port: u16) -> Result<()> {
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_read_timeout(Some(Duration::from_secs(10)))?;
    stream.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0")?;
    let mut head = [0; 9];
    stream.read_exact(&mut head)?;
    ensure!(head[3] == 4, "answered with a frame of type {}", head[3]);
    Ok(())
}
