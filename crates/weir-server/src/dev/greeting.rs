//! The output of `weir dev` when everything is ready.

use std::io::Write as _;

use anyhow::Context as _;
use serde_json::json;

use super::addresses::Addresses;
use super::demo::Demo;

/// Prints addresses and commands for people, or one line of JSON for programs.
pub fn print(addresses: &Addresses, demo: &Demo, as_json: bool) -> anyhow::Result<()> {
    let text = if as_json { line(addresses, demo) } else { welcome(addresses, demo) };
    let mut out = std::io::stdout();
    writeln!(out, "{text}").and_then(|()| out.flush()).context("print what to open")
}

fn line(addresses: &Addresses, demo: &Demo) -> String {
    json!({
        "control": addresses.control,
        "gates": addresses.gates,
        "email": demo.email,
        "password": demo.password,
        "tenant": demo.tenant,
        "api_key": demo.api_key,
        "database_url": addresses.database_url,
        "redis_url": addresses.redis_url,
    })
    .to_string()
}

fn welcome(addresses: &Addresses, demo: &Demo) -> String {
    let Addresses { control, gates, redis_url, .. } = addresses;
    // `redis-cli` takes the password only from an address that names the account.
    let redis_url = redis_url.replacen("redis://:", "redis://default:", 1);
    let Demo { email, password, api_key, .. } = demo;
    let gate = gates.first().map_or("", String::as_str);
    let second =
        gates.get(1).map_or(String::new(), |gate| format!("\n  export WEIR_GATE_2={gate}"));
    format!(
        "
Weir is running.

  Dashboard   {control}
              sign in with {email} / {password}
  API docs    {control}/docs
  Gates       {gates}

In another terminal:

  export WEIR_CONTROL={control}
  export WEIR_GATE={gate}{second}
  export WEIR_KEY={api_key}
  export WEIR_PASSWORD={password}
  export WEIR_REDIS_URL={redis_url}

  curl -s $WEIR_GATE/check -H \"Authorization: Bearer $WEIR_KEY\" \\
    -H 'Content-Type: application/json' \\
    -d '{{\"namespace\":\"api\",\"attributes\":{{\"user\":\"u-17\",\"route\":\"/login\"}}}}'

Ctrl-C stops everything that was started here.",
        gates = gates.join(", "),
    )
}
