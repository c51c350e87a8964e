//! The text of a subject in statistics: the attributes that its rule counts by.

use serde_json::Value;
use weir_domain::request::Request;
use weir_domain::rulebook::ActiveRule;
use weir_domain::subject::shown_value;

const NAME_END: char = '\u{1f}';
const VALUE_END: char = '\u{1e}';

/// Writes the attributes that a rule counts by, with shortened values. Names and values contain no control characters, so
/// control characters separate them.
pub(super) fn write_subject(text: &mut String, rule: &ActiveRule, request: &Request) {
    for (name, value) in rule.rule.counted_values(|name| request.attribute(name)) {
        text.push_str(name);
        text.push(NAME_END);
        text.push_str(shown_value(&value));
        text.push(VALUE_END);
    }
}

/// The JSON object of a text that [`write_subject`] wrote.
pub(super) fn subject(text: &str) -> Value {
    let attributes =
        text.split_terminator(VALUE_END).filter_map(|attribute| attribute.split_once(NAME_END));
    let texts = attributes.map(|(name, value)| (name.to_owned(), Value::String(value.to_owned())));
    Value::Object(texts.collect())
}
