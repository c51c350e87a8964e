//! Builds the server anew when the dashboard or the guide was built: the macro that embeds their files does not notice
//! new names.

use std::path::Path;

fn main() {
    for dist in ["../../frontend/dist", "../../docs/dist"] {
        let dist = Path::new(dist);
        // Until it is built for the first time, it appears in the directory above.
        let watched = if dist.is_dir() { Some(dist) } else { dist.parent() };
        if let Some(watched) = watched {
            println!("cargo::rerun-if-changed={}", watched.display());
        }
    }
}
