//! Charts: where things stand, as pure numbers; the components draw them as SVG.

pub mod geometry;
pub mod spark;
pub mod stack;
