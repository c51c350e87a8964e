//! The geometry of charts as pure functions; components draw it as SVG.

pub mod geometry;
pub mod spark;
pub mod stack;
pub mod time_ticks;
pub mod timeline;
pub mod value_axis;
