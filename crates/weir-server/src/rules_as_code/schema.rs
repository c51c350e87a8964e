//! `weir schema`: the JSON Schema of a manifest.

use serde_json::Value;

use super::outcome::Outcome;
use super::output::say_json;

pub fn run() -> anyhow::Result<Outcome> {
    let schema: Value = weir_manifest::schema::schema();
    say_json(&schema)?;
    Ok(Outcome::Done)
}
