//! How code is indented while it is typed.

/// Spaces of a step.
pub const STEP: usize = 4;

/// The spaces that a line begins with.
pub fn of(line: &str) -> usize {
    line.chars().take_while(|c| *c == ' ').count()
}

/// The spaces of a line behind this one: one step more after an opening bracket.
pub fn after(line: &str) -> usize {
    of(line) + if line.trim_end().ends_with(['{', '(', '[']) { STEP } else { 0 }
}

/// The spaces before a closing bracket that is typed where a line has spaces alone so far: one step less.
pub(crate) fn before_closing(line: &str) -> Option<usize> {
    line.chars().all(|c| c == ' ').then_some(line.len())?.checked_sub(STEP)
}

/// The spaces from a column to the next step.
pub(crate) fn to_next_step(column: usize) -> usize {
    STEP - column % STEP
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_follow_brackets() {
        assert_eq!((after("if x {"), after("    y("), after("    y({  "), after("    1")), (4, 8, 8, 4));
        assert_eq!((before_closing("    "), before_closing("          ")), (Some(0), Some(6)));
        assert_eq!((before_closing("  x"), before_closing("  ")), (None, None));
        assert_eq!((to_next_step(0), to_next_step(2), to_next_step(4)), (4, 2, 4));
    }
}
