//! The plan of a set: its request, its refusals and its text.

use clap::Args;
use serde_json::{Value, json};
use weir_manifest::rule_set::{Finding, RuleSet};
use weir_wire::apply::{
    ALLOW_DELETES_DEFAULT, ApplyAnswer, ApplyBody, DEFAULT_SET, ObjectKind, ObjectName,
};
use weir_wire::problem::FieldProblem;

use super::api::{Address, Api, Applied};
use super::differences::differences;
use super::files::FilesArgs;
use super::output::{Colour, OutputArgs, print_findings, say, say_json, say_painted, warn};
use crate::terminal;

/// The set, and what may be done with its objects.
#[derive(Debug, Args)]
pub struct PlanArgs {
    #[command(flatten)]
    address: Address,
    #[command(flatten)]
    files: FilesArgs,
    /// The name of the set, such as that of the repository: the owner of the objects
    #[arg(long, default_value = DEFAULT_SET)]
    set: String,
    /// Delete objects of the set that no file contains
    #[arg(long)]
    prune: bool,
    /// Maximum number of objects that `--prune` may delete, with all overrides of deleted rules
    #[arg(long, default_value_t = ALLOW_DELETES_DEFAULT, value_name = "COUNT")]
    allow_deletes: u32,
    /// Change objects that do not belong to the set; they then belong to it
    #[arg(long)]
    adopt: bool,
    #[command(flatten)]
    pub output: OutputArgs,
}

/// A plan, with what is needed to apply it.
#[derive(Debug)]
pub struct Planned {
    pub api: Api,
    pub set: RuleSet,
    pub body: ApplyBody,
    pub plan: ApplyAnswer,
}

impl PlanArgs {
    /// Plans the set. If the files have errors or the server refuses them, prints why and returns `None`.
    pub async fn plan(&self) -> anyhow::Result<Option<Planned>> {
        let Some(set) = self.files.read(&self.output)? else { return Ok(None) };
        let body = ApplyBody {
            set: self.set.clone(),
            rules: set.rules(),
            profiles: set.profiles(),
            plans: set.plans(),
            assignments: set.assignments(),
            overrides: set.overrides(),
            alerts: set.alerts(),
            prune: self.prune,
            allow_deletes: self.allow_deletes,
            adopt: self.adopt,
            dry_run: true,
            if_version: None,
        };
        let api = self.address.client()?;
        match api.apply(&body).await? {
            Applied::Plan(plan) => Ok(Some(Planned { api, set, body, plan: *plan })),
            Applied::Refused(fields) => {
                print_refusal(&self.output, &set, &fields)?;
                Ok(None)
            }
        }
    }

    /// Prints a plan.
    pub fn print(&self, plan: &ApplyAnswer) -> anyhow::Result<()> {
        if self.output.is_json() {
            return say_json(&json!(plan));
        }
        for warning in &plan.warnings {
            let name = format!("{}/{}", warning.namespace, warning.name);
            warn(&format!("warning: {}: {}", name.trim_start_matches('/'), warning.text));
        }
        let lines = lines(&self.output, plan);
        if self.output.is_markdown() {
            let fence = if lines.is_empty() { String::new() } else { fenced(&lines) };
            return say(&format!("### Rules of `{}`\n\n{fence}{}", self.set, summary(plan)));
        }
        say_painted(&[lines, vec![summary(plan)]].concat().join("\n"))
    }
}

/// Prints the refused fields, with their places in the files.
pub fn print_refusal(
    output: &OutputArgs,
    set: &RuleSet,
    fields: &[FieldProblem],
) -> anyhow::Result<()> {
    let mut located: Vec<Finding> = Vec::new();
    for problem in fields {
        match set.locate(&problem.field, &problem.reason) {
            Some(finding) => located.push(finding),
            None => warn(&format!("`{}` {}", problem.field, problem.reason)),
        }
    }
    print_findings(output, &located, &[])
}

fn fenced(lines: &[String]) -> String {
    format!("```diff\n{}\n```\n\n", lines.join("\n"))
}

/// The numbers of a plan.
pub fn summary(plan: &ApplyAnswer) -> String {
    format!(
        "{} to create, {} to change, {} to delete, {} unchanged",
        plan.created.len(),
        plan.updated.len(),
        plan.deletions(),
        plan.unchanged
    )
}

/// A rule as `namespace/name`, other objects with their kind.
fn label(kind: ObjectKind, namespace: &str, name: &str) -> String {
    match kind {
        ObjectKind::Rule => format!("{namespace}/{name}"),
        ObjectKind::Profile => format!("profile {name}"),
        ObjectKind::Plan => format!("plan {name}"),
        ObjectKind::Assignment => format!("customer {name}"),
        ObjectKind::Override => format!("override {namespace}/{name}"),
        ObjectKind::Alert => format!("alert {name}"),
    }
}

/// The changes of a plan, one object after the other.
fn lines(output: &OutputArgs, plan: &ApplyAnswer) -> Vec<String> {
    let named = |sign: &str, colour, object: &ObjectName| {
        let label = label(object.kind, &object.namespace, &object.name);
        output.paint(colour, &format!("{sign} {label}"))
    };
    let mut lines: Vec<_> =
        plan.created.iter().map(|object| named("+", Colour::Green, object)).collect();
    for object in &plan.updated {
        // In Markdown, a `!` marks a change.
        let sign = if output.is_markdown() { "!" } else { "~" };
        let adopted = if object.adopted { " (joins the set)" } else { "" };
        let label = label(object.kind, &object.namespace, &object.name);
        let title = format!("{sign} {label}{adopted}");
        lines.push(output.paint(Colour::Yellow, &title));
        for change in &object.changes {
            let parts = differences(&change.field, &change.before, &change.after);
            let shown = parts.iter().map(|part| terminal::escaped(&format!("    {part}")));
            lines.extend(shown);
        }
        let author = object.last_changed_by.as_ref();
        let author = author.map(|author| author.name.as_deref().unwrap_or("the system"));
        let author = author.map_or(String::new(), |author| format!(" by {author}"));
        let at = time(&json!(object.last_changed_at));
        lines.push(terminal::escaped(&format!("    last changed{author} at {at}")));
    }
    lines.extend(plan.deleted.iter().map(|object| named("-", Colour::Red, object)));
    let more = match plan.deleted_more {
        0 => return lines,
        1 => "- 1 more override of the deleted rules".to_owned(),
        more => format!("- {more} more overrides of the deleted rules"),
    };
    lines.push(output.paint(Colour::Red, &more));
    lines
}

fn time(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
