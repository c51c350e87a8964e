//! A `PgBouncer` in front of a Postgres server, in transaction mode.

use std::net::{Ipv4Addr, TcpStream};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::postgres::pause_between_polls;
use crate::programs::pgbouncer;
use crate::watchdog::log_tail;
use crate::{Account, Launch, LocalError, Postgres, WatchedProcess, folder, free_port};

/// A running `PgBouncer`. Dropping it stops the process.
#[derive(Debug)]
pub struct PgBouncer {
    port: u16,
    _process: WatchedProcess,
}

const START_LIMIT: Duration = Duration::from_secs(20);

impl PgBouncer {
    /// Starts it in this folder, with one connection to the server for each login and database. It tracks no prepared
    /// statements. `logins` are names and passwords.
    pub fn start(
        dir: &Path,
        server: &Postgres,
        logins: &[(&str, &str)],
    ) -> Result<Self, LocalError> {
        let account = Account::for_servers()?;
        let dir = folder::prepare(dir, &account)?;
        let (port, program) = (free_port()?, pgbouncer()?);
        let users = logins.iter().map(|(name, password)| format!("\"{name}\" \"{password}\"\n"));
        let users: String = users.collect();
        let users_file = dir.join("users.txt");
        folder::write_private(&users_file, &users, &account)?;
        let settings = format!(
            "[databases]\n* = host=127.0.0.1 port={}\n[pgbouncer]\nlisten_addr = 127.0.0.1\n\
             listen_port = {port}\nunix_socket_dir =\nauth_type = plain\nauth_file = {}\n\
             pool_mode = transaction\ndefault_pool_size = 1\nmax_client_conn = 200\n{}",
            server.port(),
            users_file.display(),
            if tracks_statements(&program) { "max_prepared_statements = 0\n" } else { "" },
        );
        let settings_file = dir.join("pgbouncer.ini");
        folder::write_private(&settings_file, &settings, &account)?;
        let log = dir.join("pgbouncer.log");
        let launch = Launch::new(program, &dir, &log).args([settings_file]).run_as(account);
        let process = WatchedProcess::spawn(launch)?;
        let until = Instant::now() + START_LIMIT;
        while TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_err() {
            let program = "pgbouncer";
            if let Some(code) = process.exit_code() {
                return Err(LocalError::Ended { program, code, log: log_tail(&log) });
            }
            if Instant::now() >= until {
                let log = log_tail(&log);
                return Err(LocalError::NotReady { program, waited: START_LIMIT, log });
            }
            pause_between_polls();
        }
        Ok(Self { port, _process: process })
    }

    /// The port on loopback.
    pub fn port(&self) -> u16 {
        self.port
    }
}

/// Whether this release can track prepared statements: 1.21 and later.
fn tracks_statements(program: &Path) -> bool {
    let output = Command::new(program).arg("--version").output();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    let minor = text.ok().and_then(|text| {
        let (_, version) = text.lines().next()?.split_once(' ')?;
        version.split('.').nth(1)?.parse::<u32>().ok()
    });
    minor.is_some_and(|minor| minor >= 21)
}
