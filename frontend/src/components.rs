//! The parts that pages are made of: they get data and callbacks, and fetch nothing.

pub mod act;
pub mod badge;
pub mod combobox;
pub mod copy;
pub mod dialog;
pub mod difference;
pub mod feedback;
pub mod field;
pub mod load;
pub mod long_table;
pub mod needs;
pub mod page;
pub mod picture;
pub mod rule_form;
pub mod rule_picker;
pub mod series_chart;
pub mod stats_range;
pub mod tabs;
pub mod theme;
pub mod time;
pub mod timer;
pub mod verdict;
pub mod wanted;
