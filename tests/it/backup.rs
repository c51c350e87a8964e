//! The commands of the chapter on backups restore an installation on another server, as an owner who is no superuser.

use std::path::Path;
use std::process::{Command, Output};

use weir_local::{Postgres, PostgresOptions, ScratchDir};

use crate::harness::{Http, control_env, folder, seconds, signing_key, start_control, until, weir};
use crate::tour::{Step, shell, steps};

const OWNER: &str = "keeper";
const PASSWORD: &str = "a password of this test";
/// Each table with its number of rows, each policy, each right, and each function: what a restore must bring back. A restored table
/// has the same rights in another order.
const CONTENT: &str = "SELECT format('%s %s', c.oid::regclass, (xpath('/row/c/text()',
        query_to_xml(format('SELECT count(*) AS c FROM %s', c.oid::regclass), false, true, '')))[1])
    FROM pg_class c
    WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') AND c.relname <> 'sessions'
    UNION ALL SELECT format('policy %s %s %s', polrelid::regclass, polname, polroles::regrole[]) FROM pg_policy
    UNION ALL SELECT format('right %s %s %s', c.oid::regclass, a.grantee::regrole, a.privilege_type)
    FROM pg_class c, aclexplode(c.relacl) a WHERE c.relnamespace = 'public'::regnamespace
    UNION ALL SELECT format('function %s %s', p.oid::regprocedure, a.grantee::regrole)
    FROM pg_proc p, aclexplode(p.proacl) a WHERE p.pronamespace = 'public'::regnamespace
    ORDER BY 1";

/// A server whose administrator made a login that can own a database, and nothing else.
fn server(scratch: &Path, name: &str) -> Postgres {
    let options = PostgresOptions { data_dir: scratch.join(name), durable: false };
    let server = Postgres::start(options).expect("start Postgres");
    let owner = format!("CREATE ROLE {OWNER} LOGIN CREATEROLE PASSWORD '{PASSWORD}'");
    server.psql("postgres", &["-c", &owner]).expect("a login");
    server
}

fn database(server: &Postgres, name: &str) -> String {
    let create = format!("CREATE DATABASE {name} OWNER {OWNER}");
    server.psql("postgres", &["-c", &create]).expect("a database");
    server.url_as(name, OWNER, PASSWORD)
}

/// Migrates, with the passwords of the logins of the planes.
fn migrate(url: &str) -> Output {
    let env = [
        ("WEIR_DATABASE_URL", url),
        ("WEIR_CONTROL_DATABASE_PASSWORD", PASSWORD),
        ("WEIR_GATE_DATABASE_PASSWORD", PASSWORD),
    ];
    weir(&["migrate"], &env, "")
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Runs the commands of the chapter in one shell, which ends at the first that fails.
fn run_chapter(folder: &Path, env: &[(&str, &str)]) -> Output {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/operate/backup.md");
    let page = std::fs::read_to_string(page).expect("the chapter");
    let commands = steps(&page).into_iter().map(|step| match step {
        Step::Commands { text, .. } => text,
        Step::File { name, .. } => panic!("the chapter has no files, but {name}"),
    });
    let script = commands.collect::<Vec<_>>().join("\n");
    let mut shell = shell(&script);
    shell.current_dir(folder).envs(env.iter().copied());
    shell.output().expect("there is a bash")
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_of_the_chapter_restore_everything_on_another_server() {
    let scratch = ScratchDir::create().expect("a scratch folder");
    let (old, new) = (server(scratch.path(), "old"), server(scratch.path(), "new"));
    let (old_url, new_url) = (database(&old, "weir"), database(&new, "weir"));
    assert!(migrate(&old_url).status.success());
    let create = ["user", "create", "--operator", "--email", "op@example.com"];
    let made = weir(&create, &[("WEIR_DATABASE_URL", &old_url)], "the password of op\n");
    assert!(made.status.success(), "{}", stderr(&made));
    // The statements of the chapter for the administrator.
    let backup = format!(
        "CREATE ROLE weir_backup LOGIN BYPASSRLS PASSWORD '{PASSWORD}'; GRANT pg_read_all_data TO weir_backup"
    );
    old.psql("postgres", &["-c", &backup]).expect("a login");

    // Before the roles exist, a restore loses policies, and `weir migrate` says what to do.
    let backup_url = old.url_as("weir", "weir_backup", PASSWORD);
    let broken_url = database(&new, "broken");
    let lossy = format!(
        "pg_dump --format=custom '{backup_url}' | pg_restore --no-owner --dbname='{broken_url}'"
    );
    Command::new("bash").args(["-c", &lossy]).output().expect("there is a bash");
    let refused = migrate(&broken_url);
    assert!(!refused.status.success());
    let text = stderr(&refused);
    assert!(
        text.contains("lacks weir_app and weir_gate: drop it, run weir migrate --roles-only"),
        "{text}"
    );

    let env = [
        ("WEIR_BACKUP_URL", backup_url.as_str()),
        ("WEIR_DATABASE_URL", &old_url),
        ("NEW_URL", &new_url),
        ("WEIR_CONTROL_DATABASE_PASSWORD", PASSWORD),
        ("WEIR_GATE_DATABASE_PASSWORD", PASSWORD),
    ];
    let ran = run_chapter(scratch.path(), &env);
    assert!(ran.status.success(), "{}", stderr(&ran));
    let content = |server: &Postgres| server.psql("weir", &["-c", CONTENT]).expect("a list");
    let (before, after) = (content(&old), content(&new));
    assert!(before.contains("policy ") && before.contains("right "), "{before}");
    assert_eq!(without_sessions_end(&after), without_sessions_end(&before));

    // Now the roles exist, but not the policies that the former restore lost.
    let refused = migrate(&broken_url);
    let text = stderr(&refused);
    assert!(!refused.status.success());
    assert!(text.contains("lacks the policies of weir_app and weir_gate"), "{text}");

    // Signing in needs Redis; a control plane on the restored database reports its own state.
    let control_url = new.url_as("weir", "weir_control_login", PASSWORD);
    let env = control_env(control_url, "redis://127.0.0.1:1".to_owned(), &signing_key());
    let control = start_control(folder(scratch.path(), "control"), &env);
    until(seconds(60), "the control plane is ready", async || {
        let ready = Http::new().try_get(&format!("{}/readyz", control.url)).await;
        ready.is_some_and(|answer| answer.status == 200)
    })
    .await;
}

/// The content, except the numbers of audit entries and chains: `weir sessions end --all` appends an entry.
fn without_sessions_end(content: &str) -> Vec<&str> {
    let counted = ["audit_entries ", "audit_chains "];
    content.lines().filter(|line| !counted.iter().any(|table| line.starts_with(table))).collect()
}
