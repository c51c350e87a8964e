//! Debian's second toolchain (`rustc-web` and friends, kept current for browsers). It compiles the
//! frontend and the standard library together.

use std::path::Path;
use std::process::Command;

use anyhow::{Result, ensure};

use crate::workspace::{call, capture, on_path};

pub fn is_installed() -> bool {
    let packages = ["-W", "-f", "${db:Status-Status} "];
    on_path("dpkg-query").is_some()
        && Command::new("dpkg-query")
            .args(packages)
            .args(PACKAGES)
            .output()
            .is_ok_and(|found| found.stdout == b"installed installed installed ")
        && Path::new("/usr/bin/cargo").is_file()
}

pub fn install() -> Result<()> {
    ensure!(on_path("apt-get").is_some(), "there is no apt-get");
    let root = capture(Command::new("id").arg("-u"))?.trim() == "0";
    ensure!(root, "this needs root: sudo apt-get install {}", PACKAGES.join(" "));
    call(Command::new("sh").args(["-c", include_str!("../install.sh"), "install"]).args(PACKAGES))
}

const PACKAGES: [&str; 3] = ["rustc-web", "cargo-web", "rust-web-src"];
