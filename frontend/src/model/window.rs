//! The rows of a virtualised table to render: the visible ones and a few around them. All rows have the same height.

/// The rows `from..to`, with spacers for the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    pub from: usize,
    pub to: usize,
    pub space_above_px: usize,
    pub space_below_px: usize,
}

/// Extra rows above and below the visible ones, so that fast scrolling shows no gaps.
const AROUND: usize = 20;

impl Window {
    /// The rows to render of `count` rows of height `row_px`, in a frame of `frame_px` scrolled by `scrolled_px`.
    pub fn of(count: usize, row_px: usize, scrolled_px: usize, frame_px: usize) -> Self {
        // In steps of a row, so that small movements cause no rendering.
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
    fn short_lists_render_all_rows() {
        let whole = Window { from: 0, to: 7, space_above_px: 0, space_below_px: 0 };
        assert_eq!(Window::of(7, 50, 0, 800), whole);
        assert_eq!(Window::of(7, 50, 900, 800), whole);
        assert_eq!(Window::of(0, 50, 0, 800), Window { to: 0, ..whole });
    }

    #[test]
    fn visible_rows_are_always_rendered_and_the_height_is_constant() {
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
