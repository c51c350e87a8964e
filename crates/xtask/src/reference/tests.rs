//! The pages of the documents in openapi/.

use serde_json::Value;

use super::document::{Document, Operation, Plane};
use super::example::Examples;
use super::fields::{list, not_null};
use super::page::Theme;
use super::samples::{Samples, values};
use crate::workspace::Workspace;

fn documents(workspace: &Workspace) -> [Document; 2] {
    Plane::ALL.map(|plane| Document::read(workspace, plane).expect("a document"))
}

#[test]
fn every_operation_has_a_sample_in_each_language_with_all_that_it_needs() {
    let workspace = Workspace::open().expect("the tree");
    let theme = workspace.path("docs/theme");
    let (samples, examples) =
        (Samples::read(&theme).expect("samples"), Examples::read(&theme).expect("examples"));
    for document in &documents(&workspace) {
        for operation in
            document.groups().expect("groups").into_iter().flat_map(|group| group.operations)
        {
            let body = operation.body().map(|schema| examples.of(document, schema));
            let samples = samples.of(&operation, body.as_ref());
            assert_eq!(samples.len(), 5, "{}", operation.id);
            let curl = &samples[0].text;
            assert!(
                curl.starts_with(&format!("curl -s -X {} ", operation.method.to_uppercase())),
                "{curl}"
            );
            assert_eq!(curl.contains("WEIR_KEY"), operation.credentials().is_some(), "{curl}");
            assert_eq!(curl.contains("-d '"), body.is_some(), "{curl}");
            for parameter in operation.parameters().iter().filter(|parameter| parameter.required) {
                assert!(
                    curl.contains(&format!("{{{{{}}}}}", parameter.name)),
                    "{}: {curl}",
                    parameter.name
                );
            }
            assert_marks_are_known(&operation, samples.iter().map(|sample| sample.text.as_str()));
        }
    }
}

fn assert_marks_are_known<'a>(operation: &Operation<'_>, texts: impl Iterator<Item = &'a str>) {
    let known = values(operation);
    for text in texts {
        assert!(
            text.lines().count() >= 1 && !text.contains("{{call}}"),
            "{}: {text}",
            operation.id
        );
        let mut rest = text.to_owned();
        for (name, _) in &known {
            rest = rest.replace(&format!("{{{{{name}}}}}"), "");
        }
        assert!(!rest.contains("{{"), "{}: {rest}", operation.id);
    }
}

#[test]
fn examples_have_the_required_fields_and_only_known_ones() {
    let workspace = Workspace::open().expect("the tree");
    let examples = Examples::read(&workspace.path("docs/theme")).expect("examples");
    for document in &documents(&workspace) {
        for operation in
            document.groups().expect("groups").into_iter().flat_map(|group| group.operations)
        {
            if let Some(schema) = operation.body() {
                let example = examples.of(document, schema);
                if let Err(fault) = fits(document, schema, &example) {
                    panic!("{}: {fault} in {example}", operation.id);
                }
            }
        }
    }
}

/// Whether a value has the fields of the schema. Bounds are not compared.
fn fits(document: &Document, schema: &Value, value: &Value) -> Result<(), String> {
    let (_, schema) = document.resolve(not_null(schema));
    let variants: Vec<_> = list(schema, "oneOf").collect();
    if !variants.is_empty() {
        let fits = variants.iter().any(|variant| fits(document, variant, value).is_ok());
        return if fits { Ok(()) } else { Err(format!("{value} fits no variant")) };
    }
    if let Some(known) = schema["enum"].as_array() {
        return if known.contains(value) {
            Ok(())
        } else {
            Err(format!("{value} is not one of {known:?}"))
        };
    }
    match (value, schema["properties"].as_object()) {
        (Value::Object(fields), Some(properties)) => {
            for name in list(schema, "required").filter_map(Value::as_str) {
                if !fields.contains_key(name) {
                    return Err(format!("{name} is missing"));
                }
            }
            for (name, value) in fields {
                let property = properties.get(name).ok_or_else(|| format!("{name} is unknown"))?;
                fits(document, property, value)?;
            }
            Ok(())
        }
        (Value::Array(items), _) => {
            items.iter().try_for_each(|item| fits(document, &schema["items"], item))
        }
        _ => Ok(()),
    }
}

#[test]
fn pages_list_every_operation_and_open_the_shown_group() {
    let workspace = Workspace::open().expect("the tree");
    let theme = Theme::read(&workspace.path("docs/theme")).expect("a theme");
    let documents = documents(&workspace);
    let groups: Vec<_> =
        documents.iter().flat_map(|document| document.groups().expect("groups")).collect();
    let operations = groups.iter().map(|group| group.operations.len()).sum::<usize>();
    for number in 0..groups.len() {
        let page = theme.render(&groups, number);
        assert_eq!(page.matches("data-find=").count(), operations);
        assert_eq!(page.matches("class=\"operation\"").count(), groups[number].operations.len());
        assert_eq!(page.matches("<h1>").count(), 1);
        assert!(
            !page.contains("style=\"") && !page.contains("<style"),
            "the policy permits no styles in pages"
        );
    }
}
