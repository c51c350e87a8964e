//! The gate, the stub and the cases of this run. `cargo xtask clients` starts them and sets the variables.

use std::net::TcpListener;
use std::sync::LazyLock;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::Value;
use weir_ratelimit::{CheckRequest, OnError, Options, Weir};

/// More than a busy machine needs.
pub const GENEROUS: Duration = Duration::from_secs(20);

/// New in each run, so that counters of earlier runs do not count.
pub static RUN: LazyLock<String> = LazyLock::new(|| {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970");
    format!("rs-{}-{}", std::process::id(), since.as_nanos())
});

pub fn needed(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| panic!("{name} is not set: run `cargo xtask clients`"))
}

/// The address at which the stub answers as the case says.
pub fn stub(position: usize, run: &str) -> String {
    format!("{}/{position}/{run}", needed("WEIR_STUB"))
}

/// Patient options of a client of the gate.
pub fn of_gate(on_error: OnError) -> Options {
    of(needed("WEIR_GATE_URL"), on_error)
}

pub fn of(url: impl Into<String>, on_error: OnError) -> Options {
    Options::new(url, needed("WEIR_KEY"), on_error).timeout(GENEROUS)
}

pub fn client(options: Options) -> Weir {
    Weir::new(options).expect("options")
}

/// A subject of a limit that no test reaches.
pub fn subject() -> CheckRequest {
    CheckRequest::new("conformance")
        .attribute("suite", "bucket")
        .attribute("user", format!("faults-{}", *RUN))
}

pub fn closed_port() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    format!("http://{}", listener.local_addr().expect("an address"))
}

pub fn cases() -> Vec<Value> {
    list("/cases")
}

pub fn concurrent_cases() -> Vec<Value> {
    list("/concurrent/cases")
}

/// Each case of middleware with its position among the cases of the stub.
pub fn middleware_cases() -> Vec<(usize, Value)> {
    let before = cases().len() + concurrent_cases().len();
    list("/middleware/cases")
        .into_iter()
        .enumerate()
        .map(|(nth, case)| (before + nth, case))
        .collect()
}

fn list(path: &str) -> Vec<Value> {
    let text = std::fs::read_to_string("../conformance.json").expect("the cases");
    let file: Value = serde_json::from_str(&text).expect("JSON");
    file.pointer(path).and_then(Value::as_array).expect("a list").clone()
}
