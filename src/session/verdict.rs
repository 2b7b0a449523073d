//! Verdicts of an attempt.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::script::Fault;

/// What came of an attempt at an exercise. Only `Pass` counts as passed, and only `Pass`, `Fail`,
/// `LearnerError`, `Timeout`, `TooMuchOutput` and `OutOfMemory` say something about the learner's code.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "verdict", rename_all = "snake_case")]
pub enum Verdict {
    Pass,
    /// A check did not hold. `line` is the line of the learner's code that broke the rule, from 1.
    Fail {
        reason: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        line: Option<u32>,
    },
    /// The learner's code raised an error that the check did not expect.
    LearnerError {
        message: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        line: Option<u32>,
    },
    /// The check itself went wrong: the lesson's fault. `line` is the line in the lesson file.
    CheckerFault {
        message: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        line: Option<u32>,
    },
    /// The attempt ran past the lesson's limit.
    Timeout {
        limit_ms: u64,
    },
    /// The attempt printed or showed more than the lesson allows, such as `64.0 KiB of text`.
    TooMuchOutput {
        limit: String,
    },
    /// The attempt asked for more memory than the device, or the lesson's limit, has.
    OutOfMemory {
        device: String,
        message: String,
    },
    /// The step needs a device that this session has not got, or that failed.
    DeviceUnavailable {
        message: String,
    },
}

impl Verdict {
    /// What an error of the learner's code means for an attempt.
    pub(crate) fn of_fault(fault: &Fault) -> Verdict {
        let message = format!("{}: {}", fault.kind, fault.message);
        match fault.kind.as_str() {
            "OutOfMemoryError" => Verdict::OutOfMemory { device: full_device(&fault.message), message },
            // A GPU that was never there is of the code: a session has what its lesson needs.
            "DeviceError" if !fault.message.contains("invalid device ordinal") => {
                Verdict::DeviceUnavailable { message }
            }
            _ => Verdict::LearnerError { message, line: fault.line },
        }
    }

    /// Why code fails that does not define what a check asks for.
    pub(crate) fn asks_for(name: &str) -> String {
        format!("the exercise asks for `{name}`; your code does not define it")
    }

    /// The same where the code defines it in a block.
    pub(crate) fn ended_with_block(name: &str) -> String {
        format!(
            "the exercise asks for `{name}`, and a `let` within braces ends with them: put `let {name} = ();` before \
             the block, and `{name} = …` in it"
        )
    }

    /// The same verdict with what it says put through `clean`.
    pub(crate) fn said(mut self, clean: impl Fn(&str) -> String) -> Verdict {
        match &mut self {
            Verdict::Fail { reason: text, .. }
            | Verdict::LearnerError { message: text, .. }
            | Verdict::CheckerFault { message: text, .. }
            | Verdict::OutOfMemory { message: text, .. }
            | Verdict::DeviceUnavailable { message: text } => *text = clean(text),
            Verdict::TooMuchOutput { limit } => *limit = clean(limit),
            Verdict::Pass | Verdict::Timeout { .. } => {}
        }
        self
    }

    pub(crate) fn is_pass(&self) -> bool {
        matches!(self, Verdict::Pass)
    }

    /// Whether the verdict speaks of the learner's code, and so counts as an attempt of theirs.
    pub fn counts_as_attempt(&self) -> bool {
        !matches!(self, Verdict::CheckerFault { .. } | Verdict::DeviceUnavailable { .. })
    }

    /// Why a wrong answer fails, where that is known: the text that `because` is compared with.
    pub fn reason(&self) -> Option<String> {
        match self {
            Verdict::Fail { reason, .. } => Some(reason.clone()),
            Verdict::LearnerError { message, .. } | Verdict::OutOfMemory { message, .. } => {
                Some(message.clone())
            }
            Verdict::Timeout { .. } | Verdict::TooMuchOutput { .. } => Some(self.to_string()),
            Verdict::Pass | Verdict::CheckerFault { .. } | Verdict::DeviceUnavailable { .. } => None,
        }
    }

    /// The fault of what a lesson does before the learner's code begins, as it is told.
    pub(crate) fn not_begun(&self) -> String {
        let Verdict::CheckerFault { message, line } = self else { return self.to_string() };
        let at = line.map(|line| format!(" in line {line} of the lesson")).unwrap_or_default();
        format!(
            "Before your code began, something of the lesson's failed{at}, and nothing was counted: {message}"
        )
    }

    /// Whether this verdict is a failure for the reason a lesson's `wrong` block gives: its reason contains
    /// `because`, whatever the case and the white space.
    pub(crate) fn fails_because(&self, because: &str) -> bool {
        let because = plain(because);
        !because.is_empty() && self.reason().is_some_and(|r| plain(&r).contains(&because))
    }
}

/// The device that an error of memory speaks of.
fn full_device(message: &str) -> String {
    let number = message.split_once("GPU ").map(|(_, rest)| rest.chars().take_while(char::is_ascii_digit));
    match number.map(Iterator::collect::<String>) {
        Some(number) if !number.is_empty() => format!("cuda:{number}"),
        _ => "cpu".into(),
    }
}

/// One sentence for the learner.
impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Verdict::Pass => f.write_str("Passed."),
            Verdict::Fail { reason, line } => {
                write!(f, "Not yet: {reason}")?;
                at_line(f, *line)
            }
            Verdict::LearnerError { message, line } => {
                write!(f, "The code stopped with an error: {message}")?;
                at_line(f, *line)
            }
            Verdict::CheckerFault { message, line } => {
                let at = line.map(|line| format!(" in line {line} of the lesson")).unwrap_or_default();
                write!(
                    f,
                    "The check of this exercise is broken{at} ({message}). That is the lesson's fault, and nothing was \
                     counted."
                )
            }
            Verdict::Timeout { limit_ms } => {
                let seconds = *limit_ms as f64 / 1000.0;
                write!(f, "Stopped: it ran longer than the {seconds} s this lesson allows.")
            }
            Verdict::TooMuchOutput { limit } => {
                write!(f, "Stopped: it made more than the {limit} that this lesson allows.")
            }
            Verdict::OutOfMemory { device, message } => {
                // What follows speaks of the device's memory, which the error's own report does at length.
                let told = message.split_once(" GPU ").map_or(message.as_str(), |(told, _)| told);
                write!(f, "Out of memory on {device}: {told}")
            }
            Verdict::DeviceUnavailable { message } => {
                write!(f, "This step can't run here: {message}")
            }
        }
    }
}

fn at_line(f: &mut fmt::Formatter<'_>, line: Option<u32>) -> fmt::Result {
    match line {
        Some(line) => write!(f, " (line {line})"),
        None => Ok(()),
    }
}

fn plain(text: &str) -> String {
    let words: Vec<String> = text.split_whitespace().map(str::to_lowercase).collect();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> Vec<Verdict> {
        let message = "what happened".to_owned();
        vec![
            Verdict::Pass,
            Verdict::Fail { reason: message.clone(), line: Some(3) },
            Verdict::LearnerError { message: message.clone(), line: None },
            Verdict::CheckerFault { message: message.clone(), line: Some(70) },
            Verdict::Timeout { limit_ms: 2500 },
            Verdict::TooMuchOutput { limit: message.clone() },
            Verdict::OutOfMemory { device: "cuda:0".to_owned(), message: message.clone() },
            Verdict::DeviceUnavailable { message },
        ]
    }

    #[test]
    fn verdicts_survive_json_and_stay_apart() {
        let texts: Vec<String> = all().iter().map(|v| serde_json::to_string(v).unwrap()).collect();
        assert_eq!(texts[1], r#"{"verdict":"fail","reason":"what happened","line":3}"#);
        for (verdict, text) in all().iter().zip(&texts) {
            assert_eq!(&serde_json::from_str::<Verdict>(text).unwrap(), verdict);
            assert_eq!(texts.iter().filter(|t| *t == text).count(), 1);
        }
    }

    #[test]
    fn a_broken_check_is_neither_passed_nor_the_learners() {
        let verdicts = all();
        let passed: Vec<_> = verdicts.iter().filter(|v| v.is_pass()).collect();
        assert_eq!(passed, [&Verdict::Pass]);
        let uncounted: Vec<_> = verdicts.iter().filter(|v| !v.counts_as_attempt()).collect();
        assert_eq!(uncounted, [&verdicts[3], &verdicts[7]]);
    }

    #[test]
    fn a_wrong_answer_fails_for_its_own_reason() {
        let fail = Verdict::Fail { reason: "The batch was  copied 3 times".to_owned(), line: None };
        assert!(fail.fails_because("copied 3 times"));
        assert!(fail.fails_because("the batch was copied"));
        assert!(!fail.fails_because("on cpu"));
        assert!(!fail.fails_because(" "));
        assert!(!Verdict::Pass.fails_because("copied"));
        let fault = Verdict::CheckerFault { message: "copied".to_owned(), line: None };
        assert!(!fault.fails_because("copied"));
    }

    #[test]
    fn a_sentence_names_the_line() {
        let said: Vec<String> = all().iter().map(Verdict::to_string).collect();
        assert_eq!(said[1], "Not yet: what happened (line 3)");
        assert!(said[3].contains("the lesson's fault"));
        assert!(said[4].contains("2.5 s"));
    }
}
