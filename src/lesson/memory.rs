//! What a learner has done at each step of a lesson, as it is shown when the lesson is opened again.

use std::collections::BTreeMap;

use crate::session::verdict::Verdict;

use super::attempt::{Passed, PassedCode};
use super::progress::{Entry, Record};

/// The steps of one lesson, by their ids.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LessonMemory(BTreeMap<String, Remembered>);

/// What was done at a step.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Remembered {
    /// A number that was committed, as it was typed.
    pub typed: Option<String>,
    pub skipped: bool,
    /// What the number was held against, and whether that was a modelled time.
    pub answer: Option<(f64, bool)>,
    /// The answer as it was told to who had no number.
    pub told: Option<String>,
    /// The choices of a quiz, try by try.
    pub tries: Vec<Vec<usize>>,
    /// Hints that were shown.
    pub hints: usize,
    pub verdict: Option<Verdict>,
    /// The code that passed last.
    pub passed: Option<String>,
    /// It passed in another version of the lesson than is here.
    pub earlier: bool,
    /// The solution was shown.
    pub solution: bool,
    /// A cell ran without an error, a quiz was answered right, or an exercise passed.
    pub settled: bool,
}

impl Remembered {
    /// What the step asks for is done.
    pub(crate) fn is_done(&self) -> bool {
        self.settled || self.answer.is_some()
    }
}

impl LessonMemory {
    /// What the records say of a pack's lesson, in their order.
    pub fn of<'r>(records: impl IntoIterator<Item = &'r Record>, pack: &str, lesson: &str) -> LessonMemory {
        LessonMemory::gathered(records, (pack, lesson), |_| false)
    }

    /// The same for this version of the pack, in which an exercise may be another one than the one that was passed.
    pub fn in_version<'r>(
        records: impl IntoIterator<Item = &'r Record>,
        (pack, lesson): (&str, &str),
        version: &str,
    ) -> LessonMemory {
        LessonMemory::gathered(records, (pack, lesson), |record| record.version != version)
    }

    fn gathered<'r>(
        records: impl IntoIterator<Item = &'r Record>,
        (pack, lesson): (&str, &str),
        is_earlier: impl Fn(&Record) -> bool,
    ) -> LessonMemory {
        let mut memory = LessonMemory::default();
        let own = |record: &&Record| record.key.pack == pack && record.key.lesson == lesson;
        for record in records.into_iter().filter(own) {
            memory.take(&record.key.step, &record.entry);
            if let Entry::Attempt { code: Some(_), .. } = &record.entry
                && let Some(step) = memory.0.get_mut(&record.key.step)
            {
                step.earlier = is_earlier(record);
            }
        }
        memory
    }

    /// What was done at a step, if anything was.
    pub fn step(&self, id: &str) -> Option<&Remembered> {
        self.0.get(id)
    }

    /// Code that passed, by the ids of its steps.
    pub fn passed(&self) -> Passed {
        let mut passed = Passed::new();
        for (id, step) in &self.0 {
            if let Some(text) = step.passed.clone() {
                passed.insert(id.clone(), PassedCode { text, earlier: step.earlier });
            }
        }
        passed
    }

    /// What happens at a step is remembered with the rest.
    pub(crate) fn take(&mut self, step: &str, entry: &Entry) {
        if *entry == Entry::Reset {
            self.0.remove(step);
            return;
        }
        if *entry == Entry::Left {
            return;
        }
        let step = self.0.entry(step.to_owned()).or_default();
        match entry {
            // What is settled stays, whatever was said of it later.
            Entry::Prediction { typed, .. } if step.answer.is_none() && step.told.is_none() => {
                (step.typed, step.skipped) = (Some(typed.clone()), false);
            }
            Entry::Answer { answer, modelled, .. } if step.answer.is_none() => {
                step.answer = Some((*answer, *modelled));
            }
            Entry::Told { answer } => {
                step.told.get_or_insert_with(|| answer.clone());
            }
            Entry::Quiz { taken, right } => {
                step.tries.push(taken.clone());
                step.settled |= right;
            }
            Entry::Ran { ok } => step.settled |= ok,
            Entry::Attempt { verdict, code, .. } => {
                step.verdict = Some(verdict.clone());
                step.settled |= verdict.is_pass();
                if code.is_some() {
                    (step.passed, step.earlier) = (code.clone(), false);
                }
            }
            Entry::Hint { number } => step.hints = step.hints.max(*number),
            Entry::Solution => step.solution = true,
            Entry::Skipped => step.skipped = true,
            Entry::Prediction { .. } | Entry::Answer { .. } | Entry::Left | Entry::Reset => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lesson::Key;

    fn record(step: &str, entry: Entry) -> Record {
        let key = Key { pack: "p".into(), lesson: "l".into(), step: step.into() };
        Record { key, version: "1".into(), at_ms: 0, entry }
    }

    fn memory(records: &[Record]) -> LessonMemory {
        LessonMemory::of(records, "p", "l")
    }

    #[test]
    fn a_first_answer_stays_and_a_reset_forgets_it() {
        let typed = |text: &str| Entry::Prediction { typed: text.into(), value: 1.0 };
        let answer = |answer| Entry::Answer { answer, hit: true, modelled: false };
        let mut records = vec![
            record("a", typed("4 MiB")),
            record("a", answer(4.0)),
            record("a", typed("0")),
            record("a", answer(0.0)),
        ];
        let known = memory(&records);
        let step = known.step("a").unwrap();
        assert_eq!((step.typed.as_deref(), step.answer), (Some("4 MiB"), Some((4.0, false))));
        records.push(record("a", Entry::Reset));
        assert_eq!(memory(&records), LessonMemory::default());
    }

    #[test]
    fn what_passed_is_kept_when_a_later_try_fails() {
        let fail = Verdict::Fail { reason: "no".into(), line: None };
        let tried =
            |verdict, code: Option<&str>| Entry::Attempt { verdict, trace: None, code: code.map(Into::into) };
        let records = [
            record("e", tried(fail.clone(), None)),
            record("e", tried(Verdict::Pass, Some("let x = 1;"))),
            record("e", tried(fail.clone(), None)),
            record("q", Entry::Quiz { taken: vec![1], right: false }),
            record("q", Entry::Quiz { taken: vec![0], right: true }),
        ];
        let known = memory(&records);
        assert_eq!(known.step("e").unwrap().verdict, Some(fail));
        assert_eq!(known.passed().get("e").map(|passed| passed.text.as_str()), Some("let x = 1;"));
        assert_eq!(known.step("q").unwrap().tries, [vec![1], vec![0]]);
        let other = LessonMemory::of(&records, "p", "another");
        assert_eq!(other, LessonMemory::default());
    }
}
