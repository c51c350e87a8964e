//! Rebuilds the server when the dashboard, the guide or the API reference was built, because the macro that embeds their files does
//! not detect new files.

use std::path::Path;

fn main() {
    for dist in ["../../frontend/dist", "../../docs/dist", "../../docs/dist-reference"] {
        let dist = Path::new(dist);
        // Before its first build the directory does not exist, so its parent is watched.
        let watched = if dist.is_dir() { Some(dist) } else { dist.parent() };
        if let Some(watched) = watched {
            println!("cargo::rerun-if-changed={}", watched.display());
        }
    }
}
