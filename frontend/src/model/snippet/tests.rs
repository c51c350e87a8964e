use super::*;

const GATE: &str = "http://127.0.0.1:8081/";

fn check(json: &str) -> CheckBody {
    serde_json::from_str(json).expect("a check")
}

fn text(language: Language, check: &CheckBody) -> String {
    Snippet { gate: GATE, key: "weir_abc_def", check }.text(language)
}

#[test]
fn quotes_in_values_stay_in_the_body() {
    let check = check(r#"{"namespace":"api","attributes":{"user":"o'neil"}}"#);
    let line = curl(GATE, None, &check);
    assert!(line.starts_with("curl -sS http://127.0.0.1:8081/check "), "{line}");
    assert!(line.contains("Bearer $WEIR_KEY\""), "{line}");
    assert!(line.contains(r"o'\''neil"), "{line}");
}

#[test]
fn every_language_contains_gate_key_and_request() {
    let check = check(r#"{"namespace":"jobs","attributes":{"team":"t-3"},"cost":20}"#);
    for language in Language::ALL {
        let text = text(language, &check);
        for part in ["http://127.0.0.1:8081/check", "Bearer weir_abc_def", "jobs", "t-3", "20"] {
            assert!(text.contains(part), "{language:?} lacks {part}:\n{text}");
        }
        assert!(!text.contains(['«', '»']), "{language:?} has an open place:\n{text}");
    }
}

#[test]
fn entered_values_are_not_replaced() {
    let check = check(r#"{"namespace":"api","attributes":{"note":"a \"b\" \\ «URL» ü"}}"#);
    for language in [Language::Python, Language::TypeScript, Language::Go] {
        let text = text(language, &check);
        assert!(text.contains(r#""note": "a \"b\" \\ «URL» ü""#), "{language:?}:\n{text}");
    }
    let java = text(Language::Java, &check);
    assert!(java.contains(r#"{\"note\":\"a \\\"b\\\" \\\\ «URL» ü\"}"#), "{java}");
}

#[test]
fn denials_are_distinguished_from_errors() {
    let check = check(r#"{"namespace":"api","attributes":{"user":"u-1"}}"#);
    for language in [Language::Python, Language::TypeScript, Language::Java] {
        assert!(text(language, &check).contains("429"), "{language:?}");
    }
    for language in &Language::ALL[1..] {
        assert!(text(*language, &check).contains("Retry-After"), "{language:?}");
    }
    assert!(curl_until_denied(GATE, None, &check).contains(" -f "));
}
