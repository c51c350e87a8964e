//! The OpenAPI documents: their operations by tag.

use std::fs;

use anyhow::{Context as _, Result};
use serde_json::Value;

use crate::workspace::Workspace;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Plane {
    Gate,
    Control,
}

impl Plane {
    pub const ALL: [Self; 2] = [Self::Gate, Self::Control];

    /// The name of the file in `openapi/`, and of the field with the address.
    pub fn name(self) -> &'static str {
        match self {
            Self::Gate => "gate",
            Self::Control => "control",
        }
    }

    /// Whether Weir's clients make its calls.
    pub fn has_clients(self) -> bool {
        self == Self::Gate
    }
}

#[derive(Debug)]
pub struct Document {
    pub plane: Plane,
    value: Value,
}

/// The operations with one tag.
#[derive(Debug)]
pub struct Group<'a> {
    pub plane: Plane,
    pub tag: &'a str,
    pub description: &'a str,
    pub operations: Vec<Operation<'a>>,
}

#[derive(Debug)]
pub struct Operation<'a> {
    pub document: &'a Document,
    pub id: &'a str,
    /// In lower case.
    pub method: &'a str,
    pub path: &'a str,
    value: &'a Value,
}

#[derive(Debug)]
pub struct Parameter<'a> {
    pub name: &'a str,
    /// `path`, `query` or `header`.
    pub place: &'a str,
    pub required: bool,
    pub description: &'a str,
    pub schema: &'a Value,
}

impl Document {
    pub fn read(workspace: &Workspace, plane: Plane) -> Result<Self> {
        let file = format!("openapi/{}.json", plane.name());
        let text =
            fs::read_to_string(workspace.path(&file)).with_context(|| format!("read {file}"))?;
        let value = serde_json::from_str(&text).with_context(|| format!("parse {file}"))?;
        Ok(Self { plane, value })
    }

    /// The groups in the order of the document's tags.
    pub fn groups(&self) -> Result<Vec<Group<'_>>> {
        let tags = self.value["tags"].as_array().context("the document has no tags")?;
        let mut groups: Vec<Group<'_>> = tags
            .iter()
            .map(|tag| Group {
                plane: self.plane,
                tag: text(&tag["name"]),
                description: text(&tag["description"]),
                operations: Vec::new(),
            })
            .collect();
        for operation in self.operations() {
            let tag = text(&operation.value["tags"][0]);
            let group = groups.iter_mut().find(|group| group.tag == tag);
            let group = group.with_context(|| format!("the tag {tag} is not described"))?;
            group.operations.push(operation);
        }
        Ok(groups)
    }

    fn operations(&self) -> impl Iterator<Item = Operation<'_>> {
        let paths = self.value["paths"].as_object().into_iter().flatten();
        paths.flat_map(move |(path, item)| {
            item.as_object().into_iter().flatten().map(move |(method, value)| Operation {
                document: self,
                id: text(&value["operationId"]),
                method,
                path,
                value,
            })
        })
    }

    /// The schema that a reference names, and its name; other schemas themselves.
    pub fn resolve<'a>(&'a self, schema: &'a Value) -> (Option<&'a str>, &'a Value) {
        let name = schema["$ref"].as_str().and_then(|name| name.rsplit('/').next());
        name.map_or((None, schema), |name| (Some(name), &self.value["components"]["schemas"][name]))
    }
}

impl<'a> Operation<'a> {
    /// The first sentence of the summary, without a full stop.
    pub fn title(&self) -> &'a str {
        self.parted_summary().0
    }

    /// The rest of the summary, and the description.
    pub fn text(&self) -> String {
        format!("{}\n\n{}", self.parted_summary().1, text(&self.value["description"]))
    }

    fn parted_summary(&self) -> (&'a str, &'a str) {
        let summary = text(&self.value["summary"]);
        let end = [". ", ".\n"].into_iter().filter_map(|end| summary.find(end)).min();
        end.map_or((summary.trim_end_matches('.'), ""), |end| {
            (&summary[..end], &summary[end + 2..])
        })
    }

    pub fn parameters(&self) -> Vec<Parameter<'a>> {
        let parameters = self.value["parameters"].as_array().into_iter().flatten();
        parameters
            .map(|value| Parameter {
                name: text(&value["name"]),
                place: text(&value["in"]),
                required: value["required"] == true,
                description: text(&value["description"]),
                schema: &value["schema"],
            })
            .collect()
    }

    /// The schema of the body.
    pub fn body(&self) -> Option<&'a Value> {
        self.value.get("requestBody").map(|body| &body["content"]["application/json"]["schema"])
    }

    /// The status of each answer, its description, and its content by media type.
    pub fn answers(
        &self,
    ) -> impl Iterator<Item = (&'a str, &'a str, Option<(&'a str, &'a Value)>)> {
        self.value["responses"].as_object().into_iter().flatten().map(|(status, answer)| {
            let content = answer["content"].as_object().and_then(|content| content.iter().next());
            let content = content.map(|(kind, content)| (kind.as_str(), &content["schema"]));
            (status.as_str(), text(&answer["description"]), content)
        })
    }

    /// The header of the credentials, and what stands before the secret.
    pub fn credentials(&self) -> Option<(&'static str, &'static str)> {
        let names = match self.value.get("security") {
            Some(schemes) => schemes.as_array()?,
            None => self.document.value["security"].as_array()?,
        };
        let has = |name| names.iter().any(|scheme| scheme.get(name).is_some());
        if has("weir_key") {
            return Some(("X-Weir-Key", ""));
        }
        (has("api_key") || has("bearer")).then_some(("Authorization", "Bearer "))
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
