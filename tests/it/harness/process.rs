//! Processes of the binary: servers that do not outlive the test, and commands that end by themselves.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use weir_local::{Launch, StopSignal, WatchedProcess};

/// A `weir serve` that can be stopped and started again at the same address.
#[derive(Debug)]
pub struct Server {
    pub url: String,
    pub folder: PathBuf,
    launch: Launch,
    process: Mutex<Option<WatchedProcess>>,
}

const GRACE: Duration = Duration::from_mins(1);

/// The binary under test: `WEIR_BIN`, else the one beside this test.
pub fn binary() -> PathBuf {
    let given = std::env::var_os("WEIR_BIN").map(PathBuf::from);
    given.unwrap_or_else(|| {
        let test = std::env::current_exe().expect("a running program has a path");
        test.parent().and_then(Path::parent).expect("tests lie in `deps`").join("weir")
    })
}

/// Creates a new folder in `parent`.
pub fn folder(parent: &Path, name: &str) -> PathBuf {
    let folder = parent.join(name);
    std::fs::create_dir_all(&folder).expect("a folder of the test");
    folder
}

/// Runs the binary until it ends by itself.
pub fn weir(args: &[&str], env: &[(&str, &str)], stdin: &str) -> Output {
    let mut command = Command::new(binary());
    command.args(args).envs(env.iter().copied()).current_dir("/");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap_or_else(|error| panic!("start the binary: {error}"));
    let mut input = child.stdin.take().expect("piped");
    // A process that does not read its input has possibly ended already.
    drop(input.write_all(stdin.as_bytes()));
    drop(input);
    child.wait_with_output().expect("a child can be waited for")
}

/// Sends a signal to exactly this process.
pub fn send_signal(pid: u32, name: &str) {
    let sent = Command::new("/bin/sh").args(["-c", &format!("kill -s {name} {pid}")]).status();
    assert!(sent.expect("there is a shell").success(), "send {name} to {pid}");
}

impl Server {
    /// Starts `weir serve` with these settings. The caller waits until it is ready.
    pub fn start(folder: PathBuf, url: &str, env: &[(&str, String)]) -> Self {
        let mut launch = Launch::new(binary(), &folder, &folder.join("log"))
            .args(["serve"])
            .env("WEIR_LOG", "info")
            .stop_by(StopSignal::Terminate, GRACE);
        for (name, value) in env {
            launch = launch.env(name, value);
        }
        let server = Self { url: url.to_owned(), folder, launch, process: Mutex::new(None) };
        server.start_again();
        server
    }

    /// Starts the process after it was stopped.
    pub fn start_again(&self) {
        let process = WatchedProcess::spawn(self.launch.clone());
        *self.process() = Some(process.unwrap_or_else(|error| panic!("start a server: {error}")));
    }

    /// Asks the process to end and returns its exit code.
    pub fn stop(&self) -> i32 {
        self.process().take().expect("it runs").stop()
    }

    pub fn pid(&self) -> u32 {
        self.process().as_ref().expect("it runs").pid()
    }

    /// The exit code, once the process has ended.
    pub fn exit_code(&self) -> Option<i32> {
        self.process().as_ref().expect("it was started").exit_code()
    }

    /// The log of the process.
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.folder.join("log")).unwrap_or_default()
    }

    fn process(&self) -> MutexGuard<'_, Option<WatchedProcess>> {
        self.process.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
