//! Programs that make a call, in each language, from the templates in `docs/theme/samples/`.
//!
//! A template file has sections, which begin with `== NAME`. `http` makes any call with an HTTP library. A section that is named as an
//! operation makes it with Weir's client, and `client` is the program around it. A line that begins with `?TEXT ` is left out unless the
//! call has this text, and one with `?!TEXT ` if it has it. Marks such as `{{gate}}` stand for what the reader chooses.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};
use serde_json::Value;

use super::document::Operation;
use super::example;

/// The file, its name on the page, and its words for true, false and null.
const LANGUAGES: [(&str, &str, [&str; 3]); 5] = [
    ("curl", "curl", JSON),
    ("python", "Python", ["True", "False", "None"]),
    ("typescript", "TypeScript", JSON),
    ("go", "Go", JSON),
    ("rust", "Rust", JSON),
];
const JSON: [&str; 3] = ["true", "false", "null"];
/// The width of a line up to which a list or an object stays on it.
const WIDTH: usize = 72;

pub struct Samples(Vec<Language>);

struct Language {
    id: &'static str,
    name: &'static str,
    words: [&'static str; 3],
    sections: Vec<(String, String)>,
}

pub struct Sample {
    pub language: &'static str,
    pub name: &'static str,
    pub text: String,
}

impl Samples {
    pub fn read(theme: &Path) -> Result<Self> {
        let language = |(id, name, words)| {
            let text = fs::read_to_string(theme.join(format!("samples/{id}.txt")));
            let text = text.with_context(|| format!("read the samples in {name}"))?;
            let text = format!("\n{text}");
            let sections = text.split("\n== ").filter_map(|section| section.split_once('\n'));
            let sections = sections.filter(|(name, _)| !name.is_empty());
            let sections =
                sections.map(|(name, text)| (name.to_owned(), text.to_owned())).collect();
            Ok(Language { id, name, words, sections })
        };
        LANGUAGES.into_iter().map(language).collect::<Result<_>>().map(Self)
    }

    /// A sample of the operation in each language.
    pub fn of(&self, operation: &Operation<'_>, body: Option<&Value>) -> Vec<Sample> {
        let text = |language: &Language| {
            let call = operation
                .document
                .plane
                .has_clients()
                .then(|| language.section(operation.id))
                .flatten();
            call.map_or_else(
                || language.over_http(operation, body),
                |call| language.with_client(call),
            )
        };
        let sample = |language: &Language| Sample {
            language: language.id,
            name: language.name,
            text: text(language),
        };
        self.0.iter().map(sample).collect()
    }
}

impl Language {
    fn section(&self, name: &str) -> Option<&str> {
        self.sections.iter().find(|(one, _)| one == name).map(|(_, text)| text.as_str())
    }

    fn with_client(&self, call: &str) -> String {
        let program = chosen(self.section("client").unwrap_or_default(), call);
        replaced(&program, "{{call}}", call.trim_end())
    }

    fn over_http(&self, operation: &Operation<'_>, body: Option<&Value>) -> String {
        let credentials = operation.credentials();
        let parameters = operation.parameters();
        let in_header = parameters.iter().any(|one| one.place == "header" && one.required);
        let mut parts = String::new();
        for (has, name) in [
            (credentials.is_some(), "key "),
            (in_header, "If-Match "),
            (body.is_some(), "body "),
            (
                credentials.is_some() || in_header || (body.is_some() && self.id == "typescript"),
                "headers ",
            ),
        ] {
            parts.push_str(if has { name } else { "" });
        }
        let (header, prefix) = credentials.unwrap_or_default();
        let mut text = chosen(self.section("http").unwrap_or_default(), &parts);
        for (mark, value) in [
            ("{{METHOD}}", operation.method.to_uppercase()),
            ("{{method}}", operation.method.to_owned()),
            ("{{url}}", url(operation)),
            ("{{header}}", header.to_owned()),
            ("{{prefix}}", prefix.to_owned()),
        ] {
            text = text.replace(mark, &value);
        }
        let body = body.map(|body| written(body, 0, &self.words)).unwrap_or_default();
        let body = if self.id == "curl" { body.replace('\'', "'\\''") } else { body };
        // The command ends before the first part that is left out.
        replaced(&text, "{{body}}", &body).trim_end_matches(" \\").to_owned()
    }
}

/// The address, with marks for the server and the parameters that it needs.
fn url(operation: &Operation<'_>) -> String {
    let path = operation.path.replace('{', "{{").replace('}', "}}");
    let mut url = format!("{{{{{}}}}}{path}", operation.document.plane.name());
    for parameter in operation.parameters() {
        if parameter.place == "query" && parameter.required {
            url.push(if url.contains('?') { '&' } else { '?' });
            let _ = write!(url, "{0}={{{{{0}}}}}", parameter.name);
        }
    }
    url
}

/// The values that stand for the marks of an operation until the reader has chosen others.
pub fn values(operation: &Operation<'_>) -> Vec<(String, String)> {
    let servers = [("gate", "http://localhost:8081"), ("control", "http://localhost:8080")];
    let servers = servers.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let parameters = operation.parameters().into_iter().filter(|parameter| parameter.required);
    let parameters =
        parameters.map(|parameter| (parameter.name.to_owned(), example::parameter(&parameter)));
    servers.into_iter().chain(parameters).collect()
}

/// The lines of a template that a call needs.
fn chosen(template: &str, call: &str) -> String {
    let mut lines = Vec::new();
    for line in template.lines() {
        let Some((condition, rest)) = line.strip_prefix('?').and_then(|line| line.split_once(' '))
        else {
            lines.push(line);
            continue;
        };
        let (text, wanted) =
            condition.strip_prefix('!').map_or((condition, true), |text| (text, false));
        if call.contains(text) == wanted {
            lines.push(rest);
        }
    }
    // The first line can be one that separates lines which were left out.
    lines.join("\n").trim_start().to_owned()
}

/// Replaces a mark by lines, which are indented as its line.
fn replaced(template: &str, mark: &str, text: &str) -> String {
    let mut lines = Vec::new();
    for line in template.lines() {
        let blank = &line[..line.len() - line.trim_start().len()];
        let text = text.replace('\n', &format!("\n{blank}"));
        lines.push(line.replace(mark, &text));
    }
    lines.join("\n")
}

/// A value as it is written in a program: on one line if it fits.
fn written(value: &Value, depth: usize, words: &[&str; 3]) -> String {
    let short = on_one_line(value, words);
    if short.len() + 2 * depth <= WIDTH {
        return short;
    }
    let (open, close, parts): (_, _, Vec<String>) = match value {
        Value::Array(items) => {
            ('[', ']', items.iter().map(|item| written(item, depth + 1, words)).collect())
        }
        Value::Object(fields) => {
            let part = |(name, value)| format!("\"{name}\": {}", written(value, depth + 1, words));
            ('{', '}', fields.iter().map(part).collect())
        }
        _ => return short,
    };
    let (inner, outer) = ("  ".repeat(depth + 1), "  ".repeat(depth));
    format!("{open}\n{inner}{}\n{outer}{close}", parts.join(&format!(",\n{inner}")))
}

fn on_one_line(value: &Value, words: &[&str; 3]) -> String {
    match value {
        Value::Bool(true) => words[0].to_owned(),
        Value::Bool(false) => words[1].to_owned(),
        Value::Null => words[2].to_owned(),
        Value::Array(items) => {
            let items: Vec<_> = items.iter().map(|item| on_one_line(item, words)).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Object(fields) => {
            let field = |(name, value)| format!("\"{name}\": {}", on_one_line(value, words));
            let fields: Vec<_> = fields.iter().map(field).collect();
            format!("{{{}}}", fields.join(", "))
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_are_written_as_the_language_has_them() {
        let value = json!({ "a": [true, null], "b": "c" });
        assert_eq!(
            written(&value, 0, &["True", "False", "None"]),
            r#"{"a": [True, None], "b": "c"}"#
        );
        let long = json!({ "a": "x".repeat(40), "b": "y".repeat(40) });
        assert_eq!(written(&long, 0, &JSON).lines().count(), 4);
    }

    #[test]
    fn lines_of_a_template_depend_on_the_call() {
        let template = "?key a\n?!key b\nc";
        assert_eq!(chosen(template, "key "), "a\nc");
        assert_eq!(chosen(template, ""), "b\nc");
    }
}
