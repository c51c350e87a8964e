//! `weir check`: checks files without a server, or with one.

use clap::Args;
use weir_manifest::rule_set::RuleSet;
use weir_wire::apply::{ApplyBody, DEFAULT_SET};

use super::api::{Address, Applied};
use super::files::FilesArgs;
use super::outcome::Outcome;
use super::output::{Numbers, OutputArgs, print_valid, say};
use super::plan::print_refusal;

#[derive(Debug, Args)]
pub struct CheckArgs {
    #[command(flatten)]
    files: FilesArgs,
    #[command(flatten)]
    output: OutputArgs,
    /// Also validate on the control plane, with the settings and ceilings of the tenant. Nothing is changed
    #[arg(long)]
    server: bool,
    #[command(flatten)]
    address: Address,
}

pub async fn run(args: &CheckArgs) -> anyhow::Result<Outcome> {
    let Some(set) = args.files.read(&args.output)? else { return Ok(Outcome::Failed) };
    if args.server && !args.server_accepts(&set).await? {
        return Ok(Outcome::Failed);
    }
    print_valid(&args.output, &set.warnings(), &set.bounds())?;
    if !args.output.is_json() {
        let counts = Numbers {
            rules: set.rules().len(),
            profiles: set.profiles().len(),
            plans: set.plans().len(),
            assignments: set.assignments().len(),
            overrides: set.overrides().len(),
            alerts: set.alerts().len(),
        };
        let verb = if counts.total() == 1 { "is" } else { "are" };
        say(&format!("{counts} {verb} valid"))?;
    }
    Ok(Outcome::Done)
}

impl CheckArgs {
    /// Plans the set and drops the plan. If the server refuses the rules, prints why and returns false. Rules that belong to
    /// other sets are no error here, because the set is not known.
    async fn server_accepts(&self, set: &RuleSet) -> anyhow::Result<bool> {
        let body = ApplyBody {
            set: DEFAULT_SET.to_owned(),
            rules: set.rules(),
            profiles: set.profiles(),
            plans: set.plans(),
            assignments: set.assignments(),
            overrides: set.overrides(),
            alerts: set.alerts(),
            prune: false,
            allow_deletes: 0,
            adopt: true,
            dry_run: true,
            if_version: None,
        };
        match self.address.client()?.apply(&body).await? {
            Applied::Plan(_) => Ok(true),
            Applied::Refused(fields) => {
                print_refusal(&self.output, set, &fields)?;
                Ok(false)
            }
        }
    }
}
