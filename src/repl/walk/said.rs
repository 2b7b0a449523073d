//! What is typed at a question, and where it leads.

/// What comes after a step.
#[derive(PartialEq)]
pub(super) enum Then {
    Next,
    Leave,
}

/// What a line at a question is.
pub(super) enum Said {
    ForQuestion(Reply),
    Help,
    /// Code of the learner's own that is run beside the lesson.
    Own(String),
}

/// What the learner says to the question itself.
pub(super) enum Reply {
    Text(String),
    Skip,
    Hint,
    Solution,
    Leave,
}

/// What can be typed at every question.
const ANYWHERE: [&str; 3] = [
    "s goes on without it; q leaves, and what you have done is kept.",
    "> CODE runs code of your own, such as > smi(), after what the lesson ran so far; the lesson forgets it again.",
    "? shows this list.",
];

impl Said {
    pub(super) fn of(line: String) -> Said {
        let text = line.trim();
        if let Some(code) = text.strip_prefix('>') {
            return Said::Own(code.trim().to_owned());
        }
        Said::ForQuestion(match text {
            "?" | ":?" | "help" | ":help" | "help()" => return Said::Help,
            "q" | ":q" | "quit" | ":quit" | "quit()" | "exit" | ":exit" | "exit()" => Reply::Leave,
            "s" => Reply::Skip,
            "h" => Reply::Hint,
            "l" => Reply::Solution,
            _ => Reply::Text(line),
        })
    }
}

/// What can be typed at a question that takes `here`.
pub(super) fn help(here: &[&str]) -> Vec<String> {
    here.iter().chain(&ANYWHERE).map(|line| format!("- {line}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_other_prompts_leave_and_help() {
        for word in ["q", " quit ", ":q", "exit", "quit()"] {
            assert!(matches!(Said::of(word.into()), Said::ForQuestion(Reply::Leave)), "{word}");
        }
        for word in ["?", "help", ":help"] {
            assert!(matches!(Said::of(word.into()), Said::Help), "{word}");
        }
        assert!(matches!(Said::of("> 1 + 1".into()), Said::Own(code) if code == "1 + 1"));
        assert!(matches!(Said::of("helper(1)".into()), Said::ForQuestion(Reply::Text(_))));
    }
}
