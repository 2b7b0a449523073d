//! Steps that are run again before an attempt, and what a session is asked for them.

use std::collections::BTreeMap;

use crate::session::protocol::GivenName;

use super::format::{Code, Element, Step};
use super::given::given;

/// Code that passed, by the ids of its steps.
pub type Passed = BTreeMap<String, PassedCode>;

/// Code that passed an exercise.
#[derive(Clone, PartialEq, Debug)]
pub struct PassedCode {
    pub text: String,
    /// It passed in another version of the lesson: before anything stands on it, the check of this one is asked.
    pub earlier: bool,
}

/// Something to ask, before it has the id of its request.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Ask {
    Reset,
    /// Code of the lesson, or code that passed, of the step of this number.
    Unseen {
        step: usize,
        code: Code,
        what: Unseen,
    },
    /// The check of this step, on code that passed in another version of the lesson.
    Judge {
        step: usize,
        code: Code,
    },
    Shown(Code),
    Check(Code),
    /// The answer of the prediction with this id.
    Probe(String, String),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Unseen {
    SetUp,
    /// A cell that runs as it stands.
    Cell,
    /// The lesson's answer to an exercise, which may end with the error that its check asks for.
    Solution,
    /// Code of the learner's that passed once.
    Passed,
}

/// A step that is run again.
#[derive(Clone, Debug)]
pub(super) struct Replayed {
    pub number: usize,
    pub id: String,
    pub setup: Vec<Code>,
    /// Code that passed, and the lesson's.
    pub passed: Option<Code>,
    /// The check that is asked of it, and what that reads of what was given.
    pub check: Option<(Code, Vec<GivenName>)>,
    pub code: Option<(Code, Unseen)>,
}

impl Replayed {
    pub(super) fn of(number: usize, step: &Step, passed: &Passed) -> Replayed {
        let code = match &step.element {
            Some(Element::Run(code)) => Some((code.clone(), Unseen::Cell)),
            Some(Element::Exercise(exercise)) => Some((exercise.solution.clone(), Unseen::Solution)),
            Some(Element::Predict(_) | Element::Quiz(_)) | None => None,
        };
        let (passed, check) = match &step.element {
            Some(Element::Exercise(exercise)) => {
                let passed = passed.get(&step.id);
                let asks = passed.is_some_and(|passed| passed.earlier);
                (passed, asks.then(|| (exercise.check.clone(), given(exercise))))
            }
            _ => (None, None),
        };
        Replayed {
            number,
            id: step.id.clone(),
            setup: step.setup.clone(),
            passed: passed.map(|passed| Code { text: passed.text.clone(), line: 1 }),
            check,
            code,
        }
    }

    pub(super) fn pieces(&self) -> Vec<Ask> {
        let step = self.number;
        let setup = self.setup.iter().map(|code| (code, Unseen::SetUp));
        let passed = self.passed.iter().map(|code| (code, Unseen::Passed));
        let lesson = self.code.iter().filter(|_| self.passed.is_none()).map(|(code, what)| (code, *what));
        let all = setup.chain(passed).chain(lesson);
        let all = all.map(|(code, what)| Ask::Unseen { step, code: code.clone(), what });
        let check = self.check.iter().filter(|_| self.passed.is_some());
        all.chain(check.map(|(code, _)| Ask::Judge { step, code: code.clone() })).collect()
    }
}
