//! The subjects of quota rules that the statistics name, and their charges.

use std::collections::{BTreeMap, HashMap};

use sha2::{Digest as _, Sha256};
use weir_domain::charge::RuleCharge;
use weir_domain::id::{RuleId, TenantId};
use weir_domain::subject::SHOWN_VALUE_CHARS_MAX;
use weir_domain::time::Timestamp;
use weir_store::{
    Page, Retention, RuleFilter, RuleRow, SKETCH_MS, TopFilter, TopSubject, Tx, sketch_start,
};
use weir_wire::quota_usage::{USAGE_RULES_MAX, USAGE_SUBJECTS_MAX};

use crate::error::ControlError;
use crate::rule_service::{
    CheckedRule, Exceptions, RuleSubject, active_rule, override_digests, spread_by, subject_of,
};

/// The sort key of a subject: the namespace and the name of the rule, the begin of the subject as a text, and a digest of it.
pub(crate) type Key = (String, String, String, String);

/// The most bytes of a subject in a cursor.
const KEY_BYTES_MAX: usize = 60;

/// A subject of a quota rule.
pub(crate) struct Counted {
    pub(crate) key: Key,
    /// The place of the rule among the quota rules.
    pub(crate) rule: usize,
    pub(crate) subject: BTreeMap<String, String>,
    pub(crate) denied: Option<u64>,
}

/// The quota rules of a tenant, and their subjects.
pub(crate) struct Subjects {
    pub(crate) rules: Vec<RuleRow>,
    pub(crate) counted: Vec<Counted>,
    /// The start of the statistics that name the subjects.
    pub(crate) from: Timestamp,
    /// The most checks since then of a subject that is missing.
    pub(crate) error_at_most: u64,
    /// Whether there are more rules or subjects.
    pub(crate) truncated: bool,
}

const DAY_MS: i64 = 86_400_000;

/// The rules that match the filter, and the subjects that the statistics of the retained days name.
pub(crate) async fn subjects(
    tx: &mut Tx,
    tenant_id: TenantId,
    filter: &RuleFilter,
    (now, retention): (Timestamp, Retention),
) -> Result<Subjects, ControlError> {
    let from = sketch_start(now.plus_ms(-i64::from(retention.minutes_days) * DAY_MS));
    let top = TopFilter {
        tenant_id,
        rule_id: filter.ids.as_ref().and_then(|ids| ids.first().copied()),
        namespaces: filter.namespaces.clone(),
        attribute: None,
        from,
        to: now.plus_ms(SKETCH_MS),
        most_asked_first: true,
        limit: USAGE_SUBJECTS_MAX,
    };
    let every = Page { limit: USAGE_RULES_MAX, after: None };
    let rules = tx.rules().list(tenant_id, filter, &every).await?;
    let (known, error_at_most) = tx.top_subjects().list(&top).await?;
    let most = usize::try_from(USAGE_SUBJECTS_MAX).unwrap_or(usize::MAX);
    let truncated = rules.more || known.counts.len() >= most;
    let counted = counted(&rules.items, known.counts);
    Ok(Subjects { rules: rules.items, counted, from, error_at_most, truncated })
}

/// The subjects of the quota rules. A rule that counts by no attribute has one, which needs no statistics.
fn counted(rules: &[RuleRow], known: Vec<TopSubject>) -> Vec<Counted> {
    let entry = |(at, subject, denied): (usize, BTreeMap<String, String>, Option<u64>)| {
        let row = &rules[at];
        let values = subject.iter().map(|(name, value)| format!("{name} {value}"));
        let text = values.collect::<Vec<_>>().join(", ");
        let digest: [u8; 32] = Sha256::digest(text.as_bytes()).into();
        let begin = text[..text.floor_char_boundary(KEY_BYTES_MAX)].to_owned();
        let key = (row.namespace.clone(), row.name.clone(), begin, hex::encode(&digest[..8]));
        Counted { key, rule: at, subject, denied }
    };
    let places: HashMap<RuleId, usize> =
        rules.iter().enumerate().map(|(at, row)| (row.id, at)).collect();
    let of_all = |row: &RuleRow| {
        CheckedRule::stored(row).is_ok_and(|checked| checked.rule.count_by().is_empty())
    };
    let whole = rules.iter().enumerate().filter(|(_, row)| of_all(row));
    let whole = whole.map(|(at, _)| (at, BTreeMap::new(), None));
    let named = known.into_iter().filter_map(|top| {
        let at = *places.get(&top.entry.rule_id)?;
        let subject = subject_of(top.entry.subject);
        let whole = |value: &String| value.chars().count() < SHOWN_VALUE_CHARS_MAX;
        let complete = !subject.is_empty() && subject.values().all(whole);
        complete.then_some((at, subject, Some(top.entry.denied)))
    });
    named.chain(whole).map(entry).collect()
}

/// The overrides and plans that can apply to these subjects.
pub(crate) async fn exceptions(
    tx: &mut Tx,
    tenant_id: TenantId,
    rules: &[RuleRow],
    counted: &[Counted],
    now: Timestamp,
) -> Result<Exceptions, ControlError> {
    let mut keys = Vec::new();
    for of_rule in by_rule(counted) {
        let row = &rules[of_rule[0].rule];
        let Ok(checked) = CheckedRule::stored(row) else { continue };
        let digests = |counted: &Counted| override_digests(&checked.rule, &counted.subject);
        keys.extend(of_rule.iter().flat_map(digests).map(|digest| (row.id, digest)));
    }
    let exceptions = Exceptions::from(tx.overrides().of_keys(tenant_id, &keys).await?);
    let customers =
        |name: &str| counted.iter().filter_map(|one| one.subject.get(name).cloned()).collect();
    exceptions.with_plans(tx, tenant_id, now, customers).await
}

fn by_rule(counted: &[Counted]) -> impl Iterator<Item = &[Counted]> {
    counted.chunk_by(|one, other| one.rule == other.rule)
}

/// The charges of subjects. A rule that cannot be read has none, nor has a subject that its rule cannot count any more.
pub(crate) fn charges<'a>(
    rules: &[RuleRow],
    counted: &'a [Counted],
    exceptions: &Exceptions,
    now: Timestamp,
) -> Result<Vec<(&'a Counted, RuleCharge)>, ControlError> {
    let mut charges = Vec::new();
    for of_rule in by_rule(counted) {
        let row = &rules[of_rule[0].rule];
        if CheckedRule::stored(row).is_err() {
            continue;
        }
        let active = active_rule(row, exceptions)?;
        let charge = |counted: &Counted| {
            let rule = (active.clone(), spread_by(row));
            RuleSubject::new(rule, &counted.subject, now).ok()?.charge()
        };
        charges.extend(of_rule.iter().filter_map(|counted| Some((counted, charge(counted)?))));
    }
    Ok(charges)
}
