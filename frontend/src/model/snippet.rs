//! A check as a line for the shell.

use weir_wire::check::CheckBody;

/// The `curl` that asks a gate the same; a key that is not known is named by a variable.
pub fn curl(gate: &str, key: Option<&str>, check: &CheckBody) -> String {
    let key = key.unwrap_or("$WEIR_KEY");
    let body = serde_json::to_string(check).unwrap_or_default();
    format!(
        "curl -s {}/check \\\n  -H \"Authorization: Bearer {key}\" \\\n  -H 'Content-Type: application/json' \\\n  -d {}",
        gate.trim_end_matches('/'),
        quoted(&body)
    )
}

/// Between single quotes for a POSIX shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_in_values_stay_in_the_body() {
        let check: CheckBody =
            serde_json::from_str(r#"{"namespace":"api","attributes":{"user":"o'neil"}}"#)
                .expect("a check");
        let line = curl("http://127.0.0.1:8081/", None, &check);
        assert!(line.starts_with("curl -s http://127.0.0.1:8081/check "), "{line}");
        assert!(line.contains("Bearer $WEIR_KEY\""), "{line}");
        assert!(line.contains(r"o'\''neil"), "{line}");
    }
}
