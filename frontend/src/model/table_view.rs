//! The view of a table: its order, hidden columns and density, stored in the URL.

/// The view of a table. Empty texts stand for the table's defaults.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TableView {
    /// The name of the column to sort by.
    pub sort: String,
    pub descending: bool,
    /// The names of hidden columns.
    pub hidden: Vec<String>,
    /// `comfortable` or `compact`.
    pub density: String,
}

impl TableView {
    /// The names of all URL parameters of a view.
    pub const PARAMETERS: [&'static str; 3] = ["sort", "hide", "density"];

    /// Reads the view from URL parameters.
    pub fn of(parameter: impl Fn(&str) -> Option<String>) -> Self {
        let sort = parameter("sort").unwrap_or_default();
        let hidden = parameter("hide").unwrap_or_default();
        Self {
            descending: sort.starts_with('-'),
            sort: sort.trim_start_matches('-').to_owned(),
            hidden: hidden.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect(),
            density: parameter("density").unwrap_or_default(),
        }
    }

    /// The URL parameters of the view, without defaults.
    pub fn parameters(&self) -> Vec<(&'static str, String)> {
        let sign = if self.descending { "-" } else { "" };
        let sort =
            if self.sort.is_empty() { String::new() } else { format!("{sign}{}", self.sort) };
        let all =
            [("sort", sort), ("hide", self.hidden.join(",")), ("density", self.density.clone())];
        all.into_iter().filter(|(_, value)| !value.is_empty()).collect()
    }

    /// The view after a press on the head of a column: sorted by it, or in the reverse order if it was already.
    pub fn sorted_by(&self, column: &str, was: Option<bool>, descending_first: bool) -> Self {
        let descending = was.map_or(descending_first, |descending| !descending);
        Self { sort: column.to_owned(), descending, ..self.clone() }
    }

    /// The view with a column shown or hidden.
    pub fn toggled(&self, column: &str) -> Self {
        let mut view = self.clone();
        let before = view.hidden.len();
        view.hidden.retain(|hidden| hidden != column);
        if view.hidden.len() == before {
            view.hidden.push(column.to_owned());
        }
        view
    }

    pub fn hides(&self, column: &str) -> bool {
        self.hidden.iter().any(|hidden| hidden == column)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(query: &str) -> TableView {
        TableView::of(|name| {
            let mut parts = query.split('&');
            parts.find_map(|part| part.strip_prefix(name)?.strip_prefix('=')).map(str::to_owned)
        })
    }

    fn written(view: &TableView) -> String {
        let parameters = view.parameters().into_iter();
        parameters.map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join("&")
    }

    #[test]
    fn views_survive_the_url() {
        for query in ["", "sort=name", "sort=-changed&hide=mode,limits&density=compact"] {
            assert_eq!(written(&read(query)), query);
        }
        assert_eq!(read("hide=,"), TableView::default());
    }

    #[test]
    fn a_second_press_reverses_the_order() {
        let once = TableView::default().sorted_by("denied", None, true);
        assert_eq!(written(&once), "sort=-denied");
        assert_eq!(written(&once.sorted_by("denied", Some(true), true)), "sort=denied");
    }

    #[test]
    fn columns_are_hidden_and_shown_again() {
        let hidden = TableView::default().toggled("mode");
        assert!(hidden.hides("mode") && !hidden.hides("name"));
        assert_eq!(hidden.toggled("mode"), TableView::default());
    }
}
