//! The geometry of charts as pure functions; components draw it as SVG.

pub mod geometry;
pub mod spark;
pub mod stack;
