//! The lines of a virtualised table to render: the visible ones and a few around them.

/// The lines `from..to`, with spacers for the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    pub from: usize,
    pub to: usize,
    pub space_above_px: usize,
    pub space_below_px: usize,
}

/// Extra lines above and below the visible ones, so that fast scrolling shows no gaps.
const AROUND: usize = 20;

impl Window {
    /// The lines to render in a frame of `frame_px` scrolled by `scrolled_px`. `tops_px` are the distances of the lines from
    /// the first, and at the end the height of all.
    pub fn of(tops_px: &[usize], scrolled_px: usize, frame_px: usize) -> Self {
        let Some((all_px, lines)) = tops_px.split_last() else { return Self::whole(0) };
        let count = lines.len();
        let first = lines.partition_point(|top| *top <= scrolled_px).saturating_sub(1);
        let last = lines.partition_point(|top| *top < scrolled_px.saturating_add(frame_px));
        let from = first.saturating_sub(AROUND);
        let to = (last + AROUND).min(count);
        Self { from, to, space_above_px: tops_px[from], space_below_px: all_px - tops_px[to] }
    }

    /// All lines, for tables that are not virtualised.
    pub const fn whole(count: usize) -> Self {
        Self { from: 0, to: count, space_above_px: 0, space_below_px: 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tops(count: usize, px: usize) -> Vec<usize> {
        (0..=count).map(|at| at * px).collect()
    }

    #[test]
    fn short_lists_render_all_lines() {
        assert_eq!(Window::of(&tops(7, 50), 0, 800), Window::whole(7));
        assert_eq!(Window::of(&tops(7, 50), 900, 800), Window::whole(7));
        assert_eq!(Window::of(&tops(0, 50), 0, 800), Window::whole(0));
        assert_eq!(Window::of(&[], 0, 800), Window::whole(0));
    }

    #[test]
    fn visible_lines_are_always_rendered_and_the_height_is_constant() {
        let tops = tops(10_000, 50);
        for scrolled_px in (0..=499_200).step_by(777) {
            let window = Window::of(&tops, scrolled_px, 800);
            assert!(window.from * 50 <= scrolled_px, "{scrolled_px}");
            assert!(window.to * 50 >= (scrolled_px + 800).min(500_000), "{scrolled_px}");
            let lines_px = (window.to - window.from) * 50;
            assert_eq!(window.space_above_px + lines_px + window.space_below_px, 500_000);
            assert!(window.to - window.from <= 58, "few lines exist at once");
        }
    }

    #[test]
    fn lines_can_have_different_heights() {
        // A heading of 40 px before every ten rows of 57 px.
        let px = |at: usize| if at.is_multiple_of(11) { 40 } else { 57 };
        let tops: Vec<usize> =
            (0..=1100).scan(0, |top, at| Some(std::mem::replace(top, *top + px(at)))).collect();
        let window = Window::of(&tops, 30_000, 800);
        assert!(tops[window.from + AROUND] <= 30_000 && tops[window.from + AROUND + 1] > 30_000);
        assert!(tops[window.to - AROUND] >= 30_800 && tops[window.to - AROUND - 1] < 30_800);
    }
}
