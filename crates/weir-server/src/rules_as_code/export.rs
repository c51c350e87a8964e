//! `weir export`: the rules, profiles, plans, assignments, overrides and alerts of a tenant as files.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::bail;
use clap::Args;
use weir_domain::names;
use weir_manifest::export::{
    alert_manifest, assignments_manifest, manifest, override_manifest, plan_manifest,
    profile_manifest,
};
use weir_wire::apply::{
    APPLY_ASSIGNMENTS_MAX, APPLY_OVERRIDES_MAX, ApplyAlert, ApplyAssignment, ApplyOverride,
};
use weir_wire::overrides::OverrideAnswer;
use weir_wire::plans::{PlanAnswer, PlanBody};
use weir_wire::profiles::ProfileBody;
use weir_wire::rules::{RuleAnswer, RuleBody};

use super::api::{Address, Api};
use super::folder::{Folder, safe};
use super::outcome::Outcome;
use super::output::{Numbers, say, say_document, warn};

mod alerts;
mod assignments;

#[derive(Debug, Args)]
pub struct ExportArgs {
    #[command(flatten)]
    address: Address,
    /// Only the objects of this namespace
    #[arg(long)]
    namespace: Option<String>,
    /// Only the objects of this set
    #[arg(long)]
    set: Option<String>,
    /// Leave out overrides
    #[arg(long)]
    without_overrides: bool,
    /// Leave out the assignments of customers to plans
    #[arg(long)]
    without_assignments: bool,
    /// Leave out alerts
    #[arg(long)]
    without_alerts: bool,
    /// Write files into this folder, instead of printing them
    #[arg(long)]
    dir: Option<PathBuf>,
}

/// The objects to be written.
#[derive(Debug, Default)]
pub struct Objects {
    pub rules: Vec<RuleBody>,
    pub profiles: Vec<ProfileBody>,
    pub plans: Vec<PlanBody>,
    pub assignments: Vec<ApplyAssignment>,
    /// The overrides of each rule.
    pub overrides: Vec<Vec<ApplyOverride>>,
    pub alerts: Vec<ApplyAlert>,
}

pub async fn run(args: &ExportArgs) -> anyhow::Result<Outcome> {
    let api = args.address.client()?;
    let rules = api.rules(args.namespace.as_deref()).await?;
    if let Some(rule) = rules.iter().find(|rule| rule.unreadable.is_some()) {
        bail!("the rule {}/{} cannot be read", rule.rule.namespace, rule.rule.name);
    }
    let overrides = args.overrides(&api, &rules).await?;
    let alerts = args.alerts(&api, &rules).await?;
    let rules = rules.into_iter().filter(|rule| args.exports(rule.managed_by.as_ref()));
    let rules = rules.map(|rule| rule.rule).collect();
    let profiles = api.profiles().await?;
    let profiles = profiles.into_iter().filter(|profile| args.exports(profile.managed_by.as_ref()));
    let of_namespace = |profile: &ProfileBody| {
        args.namespace.as_ref().is_none_or(|namespace| *namespace == profile.namespace)
    };
    let profiles = profiles.map(|answer| answer.profile).filter(|profile| of_namespace(profile));
    let profiles = profiles.collect();
    let plans = args.plans(&api).await?;
    let assignments = args.assignments(&api, &plans).await?;
    let plans = plans.into_iter().filter(|plan| args.exports(plan.managed_by.as_ref()));
    let plans = plans.map(|answer| answer.plan).collect();
    let objects = Objects { rules, profiles, plans, assignments, overrides, alerts };
    write(&objects, args.dir.as_ref())?;
    Ok(Outcome::Done)
}

impl ExportArgs {
    /// Whether objects of this owner are wanted.
    fn exports(&self, owner: Option<&String>) -> bool {
        self.set.is_none() || owner == self.set.as_ref()
    }

    /// The plans of all owners, in the order of their names. They are of no namespace.
    async fn plans(&self, api: &Api) -> anyhow::Result<Vec<PlanAnswer>> {
        if self.namespace.is_some() {
            return Ok(Vec::new());
        }
        let Some(plans) = api.plans().await? else {
            let reason = "because the key is restricted to namespaces";
            warn(&format!("plans and assignments are left out, {reason}"));
            return Ok(Vec::new());
        };
        Ok(plans)
    }

    /// The assignments to these plans, in the order of customers and times.
    async fn assignments(
        &self,
        api: &Api,
        plans: &[PlanAnswer],
    ) -> anyhow::Result<Vec<ApplyAssignment>> {
        if self.without_assignments || plans.is_empty() {
            return Ok(Vec::new());
        }
        let most = if self.set.is_some() { usize::MAX } else { APPLY_ASSIGNMENTS_MAX + 1 };
        let mut found = api.assignments(most).await?;
        found.retain(|one| self.exports(one.managed_by.as_ref()));
        let wanted = assignments::wanted(found, plans);
        if wanted.len() > APPLY_ASSIGNMENTS_MAX {
            bail!(
                "there are more than {APPLY_ASSIGNMENTS_MAX} assignments, the most of a set; use --set or --without-assignments"
            );
        }
        Ok(wanted)
    }

    /// The alerts, in the order of their names.
    async fn alerts(&self, api: &Api, rules: &[RuleAnswer]) -> anyhow::Result<Vec<ApplyAlert>> {
        if self.without_alerts {
            return Ok(Vec::new());
        }
        let Some((mut found, webhooks)) = api.alerts().await? else {
            warn("alerts are left out, because the key is restricted to namespaces");
            return Ok(Vec::new());
        };
        found.retain(|alert| self.exports(alert.managed_by.as_ref()));
        let mut wanted = alerts::wanted(found, &webhooks, rules)?;
        wanted.retain(|alert| self.namespace.is_none() || alert.namespace == self.namespace);
        alerts::in_order(wanted)
    }

    /// The overrides of each rule, in the order of the rules.
    async fn overrides(
        &self,
        api: &Api,
        rules: &[RuleAnswer],
    ) -> anyhow::Result<Vec<Vec<ApplyOverride>>> {
        if self.without_overrides {
            return Ok(Vec::new());
        }
        let most = if self.set.is_some() { usize::MAX } else { APPLY_OVERRIDES_MAX + 1 };
        let found = api.overrides(self.namespace.as_deref(), most).await?;
        let found = found.into_iter().filter(|one| self.exports(one.managed_by.as_ref()));
        let found: Vec<OverrideAnswer> = found.collect();
        if found.len() > APPLY_OVERRIDES_MAX {
            bail!(
                "there are more than {APPLY_OVERRIDES_MAX} overrides, the most of a set; use --namespace, --set or --without-overrides"
            );
        }
        let mut by_rule: BTreeMap<String, Vec<OverrideAnswer>> = BTreeMap::new();
        for one in found {
            by_rule.entry(one.body.rule_id.clone()).or_default().push(one);
        }
        let of_rule = |rule: &RuleAnswer| {
            let overrides = by_rule.remove(&rule.id)?.into_iter();
            Some(overrides.map(|one| wanted(&rule.rule, one)).collect())
        };
        Ok(rules.iter().filter_map(of_rule).collect())
    }
}

fn wanted(rule: &RuleBody, answer: OverrideAnswer) -> ApplyOverride {
    ApplyOverride::of(answer.body, rule.namespace.clone(), rule.name.clone())
}

/// Prints objects, or writes them into a folder: `<namespace>/<name>.yaml`, `<namespace>/<rule>.overrides.yaml`, `<name>.yaml` for
/// a profile, `<name>.plan.yaml`, `tenant.assignments.yaml` and `tenant.alerts.yaml`.
pub fn write(objects: &Objects, folder: Option<&PathBuf>) -> anyhow::Result<()> {
    let Objects { rules, profiles, plans, assignments, overrides, alerts } = objects;
    let Some(folder) = folder else {
        let manifests = rules.iter().map(manifest).chain(profiles.iter().map(profile_manifest));
        let manifests = manifests.chain(plans.iter().map(plan_manifest));
        let manifests = manifests.chain([assignments_manifest(assignments)]);
        let overrides = overrides.iter().map(|of_rule| override_manifest(of_rule));
        let alerts = alerts.iter().map(alert_manifest);
        return say_document(&manifests.chain(overrides).chain(alerts).collect::<String>());
    };
    let folder = Folder::create(folder)?;
    for rule in rules {
        let namespace = folder.of_namespace(&rule.namespace)?;
        namespace.write(safe(names::rule, &rule.name)?, &manifest(rule))?;
    }
    for profile in profiles {
        folder.write(safe(names::rule, &profile.name)?, &profile_manifest(profile))?;
    }
    for plan in plans {
        let name = format!("{}.plan", safe(names::rule, &plan.name)?);
        folder.write(&name, &plan_manifest(plan))?;
    }
    if !assignments.is_empty() {
        folder.write("tenant.assignments", &assignments_manifest(assignments))?;
    }
    for of_rule in overrides {
        let Some(first) = of_rule.first() else { continue };
        let name = format!("{}.overrides", safe(names::rule, &first.rule)?);
        folder.of_namespace(&first.namespace)?.write(&name, &override_manifest(of_rule))?;
    }
    if !alerts.is_empty() {
        // No profile can have this name.
        let text: String = alerts.iter().map(alert_manifest).collect();
        folder.write("tenant.alerts", &text)?;
    }
    let counts = Numbers {
        rules: rules.len(),
        profiles: profiles.len(),
        plans: plans.len(),
        assignments: assignments.len(),
        overrides: overrides.iter().map(Vec::len).sum(),
        alerts: alerts.len(),
    };
    say(&format!("{counts} written to {}", folder.path().display()))
}
