//! The pages: one for each group of operations, with the list of all of them.

use std::fmt::Write as _;
use std::path::Path;
use std::{fs, iter};

use anyhow::{Context as _, Result, ensure};

use super::document::{Group, Operation, Plane};
use super::example::{self, Examples};
use super::fields::{fields, parameters};
use super::markup::{escaped, filled, inline, paragraphs};
use super::samples::{Samples, values};

/// The page of the group that is shown first.
const FIRST: &str = "index.html";

pub struct Theme {
    page: String,
    introduction: String,
    examples: Examples,
    samples: Samples,
}

impl Theme {
    pub fn read(folder: &Path) -> Result<Self> {
        let read = |name: &str| {
            fs::read_to_string(folder.join(name)).with_context(|| format!("read {name}"))
        };
        let page = read("reference.html")?;
        for mark in ["{{title}}", "{{contents}}", "{{text}}"] {
            ensure!(page.contains(mark), "docs/theme/reference.html has no {mark}");
        }
        let (examples, samples) = (Examples::read(folder)?, Samples::read(folder)?);
        Ok(Self { page, introduction: read("introduction.html")?, examples, samples })
    }

    /// The page of the group at `number`.
    pub fn render(&self, groups: &[Group<'_>], number: usize) -> String {
        let group = &groups[number];
        let mut text = String::new();
        if number == 0 {
            text.push_str(&self.introduction);
        }
        // The heading of the first page is that of its introduction.
        let level = if number == 0 { 2 } else { 1 };
        let (name, about) = (title(group), inline(group.description));
        let _ =
            write!(text, "<div class=\"group\"><h{level}>{name}</h{level}><p>{about}</p></div>");
        for operation in &group.operations {
            self.operation(operation, level + 1, &mut text);
        }
        self.page
            .replace("{{title}}", &title(group))
            .replace("{{contents}}", &contents(groups, Some(number)))
            .replace("{{text}}", &text)
    }

    pub fn not_found(&self, groups: &[Group<'_>]) -> String {
        let text = "<div class=\"group\"><h1>No such page</h1><p>The contents list all operations.</p></div>";
        self.page
            .replace("{{title}}", "No such page")
            .replace("{{contents}}", &contents(groups, None))
            .replace("{{text}}", text)
    }

    /// The section of an operation, whose heading has this level.
    fn operation(&self, operation: &Operation<'_>, level: u8, html: &mut String) {
        let (id, method) = (operation.id, operation.method);
        let _ = write!(
            html,
            "<section class=\"operation\" id=\"{id}\"><div class=\"about\"><h{level}><a href=\"#{id}\">{}</a></h{level}>\
             <p class=\"call\"><span class=\"method {method}\">{}</span> <code>{}</code></p>{}",
            inline(operation.title()),
            method.to_uppercase(),
            escaped(operation.path),
            paragraphs(&operation.text()),
        );
        if operation.credentials().is_none() {
            html.push_str("<p>Needs no credentials.</p>");
        }
        let (known, level) = (operation.parameters(), level + 1);
        if !known.is_empty() {
            let _ = write!(
                html,
                "<h{level}>Parameters</h{level}>{}",
                parameters(operation.document, &known)
            );
        }
        if let Some(schema) = operation.body() {
            let _ = write!(html, "<h{level}>Body</h{level}>{}", fields(operation.document, schema));
        }
        write_answers(operation, level, html);
        html.push_str("</div><div class=\"aside\">");
        let body = operation.body().map(|schema| self.examples.of(operation.document, schema));
        let values = values(operation);
        html.push_str("<div class=\"samples\">");
        for sample in self.samples.of(operation, body.as_ref()) {
            let _ = write!(
                html,
                "<figure data-language=\"{}\"><figcaption>{}</figcaption><pre tabindex=\"0\"><code>{}</code></pre></figure>",
                sample.language,
                sample.name,
                filled(&escaped(&sample.text), &values),
            );
        }
        html.push_str("</div>");
        if operation.credentials().is_some_and(|(header, _)| header != "Authorization") {
            html.push_str("<p class=\"untried\">Gates answer this call to proxies only, not to pages in a browser.</p>");
        } else {
            let body = body.map(|body| serde_json::to_string_pretty(&body).unwrap_or_default());
            write_form(operation, body.as_deref(), html);
        }
        html.push_str("</div></section>\n");
    }
}

/// The answers with their fields, and the problems.
fn write_answers(operation: &Operation<'_>, level: u8, html: &mut String) {
    let mut problems = Vec::new();
    let _ = write!(html, "<h{level}>Answers</h{level}><ul class=\"answers\">");
    for (status, description, content) in operation.answers() {
        if content.is_some_and(|(kind, _)| kind == "application/problem+json") {
            problems.push((status, description));
            continue;
        }
        let _ = write!(html, "<li><span class=\"status\">{status}</span> {}", inline(description));
        match content {
            Some(("application/json", schema)) => {
                let inner = fields(operation.document, schema);
                let _ = write!(
                    html,
                    "<details><summary>Fields of the answer</summary>{inner}</details>"
                );
            }
            Some((kind, _)) => {
                let _ = write!(html, " <span class=\"type\">{}</span>", escaped(kind));
            }
            None => {}
        }
        html.push_str("</li>");
    }
    html.push_str("</ul>");
    if problems.is_empty() {
        return;
    }
    let numbers: Vec<_> = problems.iter().map(|(status, _)| *status).collect();
    let _ = write!(
        html,
        "<details><summary>Problems: {}</summary><ul class=\"answers\">",
        numbers.join(", ")
    );
    for (status, description) in problems {
        let _ =
            write!(html, "<li><span class=\"status\">{status}</span> {}</li>", inline(description));
    }
    html.push_str("</ul></details>");
}

/// The form that sends the call. The script shows it.
fn write_form(operation: &Operation<'_>, body: Option<&str>, html: &mut String) {
    let (plane, method) = (operation.document.plane.name(), operation.method.to_uppercase());
    let credentials = if operation.credentials().is_some() { " data-credentials" } else { "" };
    let _ = write!(
        html,
        "<details class=\"try\"><summary>Try it</summary><form data-plane=\"{plane}\" data-method=\"{method}\" \
         data-path=\"{}\"{credentials}>",
        escaped(operation.path),
    );
    for parameter in operation.parameters() {
        // The field at the top of the page has the tenant.
        if parameter.name == "tenant" {
            continue;
        }
        let value = if parameter.required {
            escaped(&example::parameter(&parameter))
        } else {
            String::new()
        };
        let required = if parameter.required { " required" } else { "" };
        let name = escaped(parameter.name);
        let _ = write!(
            html,
            "<label><span>{name}</span><input name=\"{name}\" data-place=\"{}\" value=\"{value}\" autocomplete=\"off\" \
             spellcheck=\"false\"{required}></label>",
            parameter.place,
        );
    }
    if let Some(body) = body {
        let rows = body.lines().count().clamp(3, 16);
        let _ = write!(
            html,
            "<label><span>Body</span><textarea name=\"body\" rows=\"{rows}\" spellcheck=\"false\">{}</textarea></label>",
            escaped(body),
        );
    }
    let _ = write!(
        html,
        "<p class=\"hint\"></p><button>Send {method}</button><div class=\"answer\" aria-live=\"polite\"></div></form></details>"
    );
}

/// The list of all operations by group, of which only the shown one is open.
fn contents(groups: &[Group<'_>], shown: Option<usize>) -> String {
    let mut html = String::new();
    for plane in Plane::ALL {
        let heading = if plane == Plane::Gate { "Gate" } else { "Control plane" };
        let _ = write!(html, "<p class=\"plane\">{heading}</p>");
        for (number, group) in groups.iter().enumerate().filter(|(_, group)| group.plane == plane) {
            let is_shown = shown == Some(number);
            let open = if is_shown { " open" } else { "" };
            let _ = write!(html, "<details{open}><summary>{}</summary><ul>", title(group));
            let page =
                if is_shown { String::new() } else { format!("/docs/{}", address(groups, number)) };
            for operation in &group.operations {
                let (Operation { id, method, .. }, path) = (operation, escaped(operation.path));
                let (name, summary) = (short(method), inline(operation.title()));
                let _ = write!(
                    html,
                    "<li data-find=\"{method} {path} {id}\"><a href=\"{page}#{id}\">\
                     <span class=\"method {method}\">{name}</span><span>{summary}</span></a></li>",
                );
            }
            html.push_str("</ul></details>");
        }
    }
    html
}

/// The file of a group's page.
pub fn address(groups: &[Group<'_>], number: usize) -> String {
    if number == 0 {
        return FIRST.to_owned();
    }
    let Group { plane, tag, .. } = &groups[number];
    format!("{}-{}.html", plane.name(), tag.replace(' ', "-"))
}

fn title(group: &Group<'_>) -> String {
    let mut letters = group.tag.chars();
    let first = letters.next().into_iter().flat_map(char::to_uppercase);
    let name: String = first.chain(iter::from_fn(|| letters.next())).collect();
    escaped(if name == "Me" { "My account" } else { &name })
}

fn short(method: &str) -> String {
    if method == "delete" { "DEL".to_owned() } else { method.to_uppercase() }
}
