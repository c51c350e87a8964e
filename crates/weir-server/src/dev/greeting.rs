//! The output of `weir dev` when everything is ready.

use std::io::Write as _;

use anyhow::Context as _;
use serde_json::json;

use super::addresses::{Addresses, RegionAddresses};
use super::demo::Demo;
use super::traffic::{TENANT_NAME, TrafficTenant};
use crate::dashboard;

/// Prints addresses and commands for people, or one line of JSON for programs.
pub fn print(
    addresses: &Addresses,
    demo: &Demo,
    traffic: Option<&TrafficTenant>,
    as_json: bool,
) -> anyhow::Result<()> {
    let text = if as_json {
        line(addresses, demo, traffic)
    } else {
        welcome(addresses, demo, traffic, dashboard::is_built())
    };
    let mut out = std::io::stdout();
    writeln!(out, "{text}").and_then(|()| out.flush()).context("print what to open")
}

fn line(addresses: &Addresses, demo: &Demo, traffic: Option<&TrafficTenant>) -> String {
    json!({
        "control": addresses.control,
        "gates": addresses.gates,
        "email": demo.email,
        "password": demo.password,
        "tenant": demo.tenant,
        "api_key": demo.api_key,
        "database_url": addresses.database_url,
        "redis_url": addresses.redis_url,
        "regions": addresses.regions,
        "traffic": traffic,
    })
    .to_string()
}

/// `with_dashboard` is false for a binary that was built without one.
fn welcome(
    addresses: &Addresses,
    demo: &Demo,
    traffic: Option<&TrafficTenant>,
    with_dashboard: bool,
) -> String {
    let Addresses { control, gates, redis_url, .. } = addresses;
    // `redis-cli` takes the password only from an address that names the account.
    let redis_url = redis_url.replacen("redis://:", "redis://default:", 1);
    let Demo { email, password, tenant, api_key, .. } = demo;
    let gate = gates.first().map_or("", String::as_str);
    let second =
        gates.get(1).map_or(String::new(), |gate| format!("\n  export WEIR_GATE_URL_2={gate}"));
    let dashboard = if with_dashboard {
        control
    } else {
        "none, this binary was built without it: cargo xtask release"
    };
    let region = |RegionAddresses { name, gates, redis_url }: &RegionAddresses| {
        format!("\n  Region {name:<4} {}  {redis_url}", gates.join(" "))
    };
    let regions = addresses.regions.iter().map(region).collect::<Vec<_>>().concat();
    let traffic = traffic.map_or(String::new(), |traffic| {
        format!(
            "\n  Traffic     until Ctrl-C, in the tenant \"{TENANT_NAME}\"\n              its statistics before {} are generated",
            traffic.generated_until.text()
        )
    });
    format!(
        "
Weir is running.

  Dashboard   {dashboard}
              sign in with {email} / {password}
  API docs    {control}/docs
  Gates       {gates}{regions}{traffic}

In another terminal:

  export WEIR_URL={control}
  export WEIR_GATE_URL={gate}{second}
  export WEIR_TENANT={tenant}
  export WEIR_KEY={api_key}
  export WEIR_PASSWORD={password}
  export WEIR_REDIS_URL={redis_url}

  curl -s $WEIR_GATE_URL/check -H \"Authorization: Bearer $WEIR_KEY\" \\
    -H 'Content-Type: application/json' \\
    -d '{{\"namespace\":\"api\",\"attributes\":{{\"user\":\"u-17\",\"route\":\"/login\"}}}}'

Ctrl-C stops everything that was started here.",
        gates = gates.join(", "),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn addresses() -> Addresses {
        let text = |text: &str| text.to_owned();
        Addresses {
            control: text("http://localhost:8080"),
            gates: vec![text("http://localhost:8081"), text("http://localhost:8082")],
            database_url: text("postgres://x"),
            control_database_url: text("postgres://x"),
            gate_database_url: text("postgres://x"),
            redis_url: text("redis://x"),
            regions: Vec::new(),
        }
    }

    fn demo() -> Demo {
        Demo {
            email: "demo@example.com".to_owned(),
            password: "p".to_owned(),
            tenant: "tenant_x".to_owned(),
            api_key: "weir_x".to_owned(),
            writes: true,
        }
    }

    /// Other commands and the clients read these names.
    #[test]
    fn printed_variables_are_those_that_commands_and_clients_read() {
        let shown = welcome(&addresses(), &demo(), None, true);
        for line in [
            "  export WEIR_URL=http://localhost:8080\n",
            "  export WEIR_GATE_URL=http://localhost:8081\n",
            "  export WEIR_GATE_URL_2=http://localhost:8082\n",
            "  export WEIR_TENANT=tenant_x\n",
            "  export WEIR_KEY=weir_x\n",
        ] {
            assert!(shown.contains(line), "{line}{shown}");
        }
        let readmes = [
            include_str!("../../../../clients/go/README.md"),
            include_str!("../../../../clients/java/README.md"),
            include_str!("../../../../clients/python/README.md"),
            include_str!("../../../../clients/rust/README.md"),
            include_str!("../../../../clients/typescript/README.md"),
        ];
        for readme in readmes {
            assert!(readme.contains("WEIR_GATE_URL") && !readme.contains("WEIR_URL"), "{readme}");
        }
    }

    #[test]
    fn address_of_the_dashboard_is_printed_only_if_there_is_one() {
        let with = welcome(&addresses(), &demo(), None, true);
        assert!(with.contains("  Dashboard   http://localhost:8080\n"), "{with}");
        let without = welcome(&addresses(), &demo(), None, false);
        let hint = "  Dashboard   none, this binary was built without it: cargo xtask release\n";
        assert!(without.contains(hint), "{without}");
    }
}
