//! Metrics of several sources as one text in Prometheus' format, in which each family occurs once.

use std::collections::HashMap;

/// The lines about one metric.
#[derive(Default)]
struct Family<'a> {
    /// `# HELP` and `# TYPE`.
    head: Vec<&'a str>,
    samples: Vec<&'a str>,
}

/// Joins the families that occur more than once in `text`, at the place of the first. Keeps the first of different help texts.
pub fn joined(text: &str) -> String {
    let mut families: Vec<Family<'_>> = vec![Family::default()];
    let mut places = HashMap::new();
    let mut place = 0;
    for line in text.lines().filter(|line| !line.is_empty()) {
        let comment = line.strip_prefix("# ").map(|comment| comment.splitn(3, ' '));
        let Some((kind, name)) = comment.and_then(|mut words| words.next().zip(words.next()))
        else {
            families[place].samples.push(line);
            continue;
        };
        place = *places.entry(name).or_insert_with(|| {
            families.push(Family::default());
            families.len() - 1
        });
        let head = &mut families[place].head;
        if !head.iter().any(|known| known.split(' ').nth(1) == Some(kind)) {
            head.push(line);
        }
    }
    let mut joined = String::with_capacity(text.len());
    for line in families.iter().flat_map(|family| family.head.iter().chain(&family.samples)) {
        joined.push_str(line);
        joined.push('\n');
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_of_several_sources_occur_once() {
        let gate = "own 1\n# HELP open Open ones.\n# TYPE open gauge\nopen{listener=\"gate\"} 1\n\n\
                    # HELP took Seconds.\n# TYPE took histogram\ntook_sum 1\ntook_count 2\n";
        let control =
            "# HELP open Open ones.\n# TYPE open gauge\nopen{listener=\"control\"} 2\nother 3\n";
        assert_eq!(
            joined(&format!("{gate}{control}")),
            "own 1\n# HELP open Open ones.\n# TYPE open gauge\nopen{listener=\"gate\"} 1\n\
             open{listener=\"control\"} 2\nother 3\n# HELP took Seconds.\n# TYPE took histogram\n\
             took_sum 1\ntook_count 2\n"
        );
        assert_eq!(joined(""), "");
    }
}
