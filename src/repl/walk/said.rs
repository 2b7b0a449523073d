//! What is typed at a question, and where it leads.

/// What comes after a step.
#[derive(PartialEq)]
pub(super) enum Then {
    Next,
    Leave,
}

/// What the learner says at a prompt.
pub(super) enum Said {
    Text(String),
    Skip,
    Hint,
    Solution,
    Leave,
}

impl Said {
    pub(super) fn of(line: String) -> Said {
        match line.trim() {
            "q" => Said::Leave,
            "s" => Said::Skip,
            "h" => Said::Hint,
            "l" => Said::Solution,
            _ => Said::Text(line),
        }
    }
}
