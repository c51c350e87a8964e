//! The client and its middleware against a real gate and a stub. Run it with `--test-threads=1`: a test counts the sockets of the process.

mod conformance;
mod contract;
mod faults;
mod middleware;
mod signature;
mod support;
