//! Builds the server anew when the dashboard was: its files have new names each time, which the macro that embeds them
//! does not notice.

use std::path::Path;

fn main() {
    let dist = "../../frontend/dist";
    // Until the dashboard is built for the first time, its folder appears in this one.
    let watched = if Path::new(dist).is_dir() { dist } else { "../../frontend" };
    println!("cargo::rerun-if-changed={watched}");
}
