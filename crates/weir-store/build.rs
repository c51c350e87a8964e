//! Builds the store again when a migration appears: they are embedded.

fn main() {
    println!("cargo:rerun-if-changed=../../migrations");
}
