//! Presentational components: they receive data and callbacks, and fetch nothing.

pub mod badge;
pub mod combobox;
pub mod copy;
pub mod dialog;
pub mod difference;
pub mod feedback;
pub mod field;
pub mod guide_link;
pub mod long_table;
pub mod page;
pub mod picture;
pub mod remote_data;
pub mod require_role;
pub mod rule_form;
pub mod rule_picker;
pub mod series_chart;
pub mod submit;
pub mod table;
pub mod tabs;
pub mod theme;
pub mod time;
pub mod time_range;
pub mod timer;
pub mod url_state;
pub mod verdict;
