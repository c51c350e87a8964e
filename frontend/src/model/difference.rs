//! In what two versions of a rule differ.

use weir_wire::rules::RuleBody;

/// The fields that differ, in the order of the form.
pub fn fields(a: &RuleBody, b: &RuleBody) -> Vec<&'static str> {
    let differs = [
        ("namespace", a.namespace != b.namespace),
        ("name", a.name != b.name),
        ("action", a.action != b.action),
        ("mode", a.mode != b.mode),
        ("description", a.description != b.description),
        ("conditions", a.conditions != b.conditions),
        ("count by", a.count_by != b.count_by),
        ("limits", a.limits != b.limits),
        ("block", a.block_ms != b.block_ms),
        ("failure", a.on_store_failure != b.on_store_failure),
        ("consistency", a.consistency != b.consistency),
    ];
    differs.into_iter().filter(|(_, differs)| *differs).map(|(name, _)| name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_differs_is_named() {
        let a: RuleBody =
            serde_json::from_str(r#"{"name":"a","count_by":["user"]}"#).expect("a rule");
        let mut b = a.clone();
        assert_eq!(fields(&a, &b), [""; 0]);
        b.description = "new".to_owned();
        b.count_by.clear();
        assert_eq!(fields(&a, &b), ["description", "count by"]);
    }
}
