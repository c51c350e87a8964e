//! Which rows of a long table are worth having: those in sight, and a few around them. All rows are equally high.

/// Rows `from..to` of a list are shown, with empty space for the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    pub from: usize,
    pub to: usize,
    pub space_above_px: usize,
    pub space_below_px: usize,
}

/// Rows above and below those in sight, so that fast scrolling meets rows and not emptiness.
const AROUND: usize = 20;

impl Window {
    /// What is seen of `count` rows, each `row_px` high, after scrolling down by `scrolled_px` in a frame of `frame_px`.
    pub fn of(count: usize, row_px: usize, scrolled_px: usize, frame_px: usize) -> Self {
        // In steps of a row, so that small movements change nothing.
        let first = (scrolled_px / row_px).min(count);
        let seen = frame_px.div_ceil(row_px) + 1;
        let from = first.saturating_sub(AROUND);
        let to = (first + seen + AROUND).min(count);
        Self { from, to, space_above_px: from * row_px, space_below_px: (count - to) * row_px }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_list_is_shown_whole() {
        let whole = Window { from: 0, to: 7, space_above_px: 0, space_below_px: 0 };
        assert_eq!(Window::of(7, 50, 0, 800), whole);
        assert_eq!(Window::of(7, 50, 900, 800), whole);
        assert_eq!(Window::of(0, 50, 0, 800), Window { to: 0, ..whole });
    }

    #[test]
    fn rows_in_sight_are_always_among_those_shown_and_the_height_never_changes() {
        for scrolled_px in (0..=499_200).step_by(777) {
            let window = Window::of(10_000, 50, scrolled_px, 800);
            assert!(window.from * 50 <= scrolled_px, "{scrolled_px}");
            assert!(window.to * 50 >= (scrolled_px + 800).min(500_000), "{scrolled_px}");
            let rows_px = (window.to - window.from) * 50;
            assert_eq!(window.space_above_px + rows_px + window.space_below_px, 500_000);
            assert!(window.to - window.from <= 57, "few rows exist at once");
        }
    }
}
