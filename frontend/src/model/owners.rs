//! The sets of rules as code that own objects, as sentences.

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

#[cfg(test)]
mod tests {
    use super::*;

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
