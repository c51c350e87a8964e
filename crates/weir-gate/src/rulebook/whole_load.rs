//! Loads and compiles the whole rulebook, part by part: while a part is read, two others are compiled.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::mpsc::{self, Receiver};
use weir_domain::rule_parts::RuleParts;
use weir_domain::rulebook::TenantRules;
use weir_store::{RulebookChanges, Store, StoreError};

use super::apart;
use super::compiled::CompiledTenant;

/// The rows of a table that are in memory at once, for each part that is read or compiled.
const ROWS_PER_PART: u32 = 5_000;

/// The whole rulebook.
#[derive(Debug)]
pub(crate) struct WholeRulebook {
    /// Everything but the tenants.
    pub(crate) changes: RulebookChanges,
    pub(crate) tenants: Vec<CompiledTenant>,
}

/// Loads the whole rulebook. `None` if a thread panicked.
pub(crate) async fn load(
    store: Store,
    shared: Arc<RuleParts>,
) -> Result<Option<WholeRulebook>, StoreError> {
    let (send, receive) = mpsc::channel(1);
    let receive = Arc::new(Mutex::new(receive));
    let compiler = || {
        let receive = Arc::clone(&receive);
        let shared = Arc::clone(&shared);
        apart::run(move || compile(&receive, &shared))
    };
    let reading = apart::read(async move { store.load_whole(ROWS_PER_PART, send).await });
    let (read, first, second) = tokio::join!(reading, compiler(), compiler());
    let (Some(read), Some(first), Some(second)) = (read, first, second) else { return Ok(None) };
    read?;
    let changes = first.0.or(second.0);
    let mut tenants = first.1;
    tenants.extend(second.1);
    Ok(changes.map(|changes| WholeRulebook { changes, tenants }))
}

/// Compiles the parts that this thread gets.
fn compile(
    parts: &Mutex<Receiver<RulebookChanges>>,
    shared: &RuleParts,
) -> (Option<RulebookChanges>, Vec<CompiledTenant>) {
    let next = || parts.lock().unwrap_or_else(PoisonError::into_inner).blocking_recv();
    let none = TenantRules::default();
    let mut head = None;
    let mut compiled = Vec::new();
    while let Some(mut part) = next() {
        let tenants = std::mem::take(&mut part.tenants).into_iter();
        compiled.extend(tenants.map(|tenant| CompiledTenant::after(&none, None, tenant, shared)));
        head = Some(part);
    }
    (head, compiled)
}
