//! The sets of rules as code that own objects, as sentences.

use weir_wire::overrides::ReplacedSet;

use crate::model::number::{grouped, quantity};

/// The note of a dialog before it changes or deletes objects, of which `sets` are the owners. `None` if people own all of them.
pub fn sentence(what: &str, whats: &str, sets: &[Option<String>]) -> Option<String> {
    let owned: Vec<&str> = sets.iter().flatten().map(String::as_str).collect();
    let mut names = owned.clone();
    names.sort_unstable();
    names.dedup();
    let names = names.join(", ");
    let begin = match (owned.len(), sets.len()) {
        (0, _) => return None,
        (1, 1) => format!("This {what} belongs"),
        (1, all) => format!("1 of these {all} {whats} belongs"),
        (some, all) => format!("{some} of these {all} {whats} belong"),
    };
    Some(format!("{begin} to the files of {names}. The next apply of the files undoes this."))
}

/// The note before an import that changes overrides of sets.
pub fn of_import(sets: &[ReplacedSet]) -> String {
    let count = |sets: &[ReplacedSet]| sets.iter().map(|set| set.overrides).sum::<u64>();
    let all = count(sets);
    let (begin, undo) = if all == 1 {
        ("1 override that belongs".to_owned(), "this change")
    } else {
        (format!("{} overrides that belong", grouped(all)), "these changes")
    };
    let (named, others) = sets.split_at(sets.len().min(SETS_NAMED_MAX));
    let of = |set: &ReplacedSet| format!("{} of {}", grouped(set.overrides), set.set);
    let mut parts: Vec<_> = named.iter().map(of).collect();
    if !others.is_empty() {
        let sets = quantity(others.len(), "other set", "other sets");
        parts.push(format!("{} of {sets}", grouped(count(others))));
    }
    let sets = match sets {
        [only] => format!("the files of {}", only.set),
        _ => format!("files: {}", parts.join(", ")),
    };
    format!("The import changes {begin} to {sets}. The next apply of the files undoes {undo}.")
}

/// The most sets that a note names.
const SETS_NAMED_MAX: usize = 5;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imports_name_the_overrides_of_each_set() {
        let note = |sets: &[(&str, u64)]| {
            let set = |(set, overrides): &(&str, u64)| ReplacedSet {
                set: (*set).to_owned(),
                overrides: *overrides,
            };
            of_import(&sets.iter().map(set).collect::<Vec<_>>())
        };
        let one = "The import changes 1 override that belongs to the files of shop. The next apply of the files undoes this change.";
        assert_eq!(note(&[("shop", 1)]), one);
        let undone = "The next apply of the files undoes these changes.";
        let two =
            "The import changes 1,203 overrides that belong to files: 1,200 of api, 3 of shop.";
        assert_eq!(note(&[("api", 1_200), ("shop", 3)]), format!("{two} {undone}"));
        let many = ["a", "b", "c", "d", "e", "f", "g"].map(|set| (set, 2));
        let text = "The import changes 14 overrides that belong to files: 2 of a, 2 of b, 2 of c, 2 of d, 2 of e, 4 of 2 other sets.";
        assert_eq!(note(&many), format!("{text} {undone}"));
    }

    #[test]
    fn sets_are_named_once_and_objects_of_people_are_not_counted() {
        let sets = |names: &[&str]| -> Vec<Option<String>> {
            names
                .iter()
                .map(|name| Some((*name).to_owned()).filter(|name| !name.is_empty()))
                .collect()
        };
        let of = |names: &[&str]| sentence("rule", "rules", &sets(names));
        let undone = "The next apply of the files undoes this.";
        assert_eq!((of(&[]), of(&["", ""])), (None, None));
        let one = format!("This rule belongs to the files of shop. {undone}");
        assert_eq!(of(&["shop"]), Some(one));
        let one = format!("1 of these 2 rules belongs to the files of shop. {undone}");
        assert_eq!(of(&["", "shop"]), Some(one));
        let several = format!("3 of these 4 rules belong to the files of api, shop. {undone}");
        assert_eq!(of(&["shop", "", "api", "shop"]), Some(several));
    }
}
