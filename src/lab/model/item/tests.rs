use super::*;
use crate::lesson::{Choice, Code, Tolerance, Unit};

fn predict(unit: Unit, input: &str) -> PredictState {
    let answer = Code { text: "x".into(), line: 1 };
    let (ask, explain, cell) = (Vec::new(), Vec::new(), "c".to_owned());
    let tolerance = Tolerance::Relative(0.1);
    let question = crate::lesson::Predict { ask, unit, plain: false, answer, tolerance, explain, cell };
    let item = Item::Predict(Box::new(Predict { id: "p".into(), question, past: PastPrediction::default() }));
    let ItemState::Predict(mut state) = ItemState::new(Key(1), item) else { panic!() };
    state.guess = state.question.read(input).map_or(Guess::Skipped, Guess::Made);
    *state
}

fn said(state: &PredictState) -> String {
    match &state.answer {
        Some(Ok(Answer::Compared(outcome))) => outcome.sentence.clone(),
        Some(Ok(Answer::Told(text))) => text.clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_simulated_time_is_called_modelled_whether_guessed_or_not() {
    for (input, hit) in [("0.35", Some(true)), ("7", Some(false)), ("", None)] {
        let mut state = predict(Unit::Milliseconds, input);
        state.measured(ProbeValue::Number(0.361), Basis::of(state.question.unit, None, true));
        assert!(said(&state).contains("Modelled: 0.361 ms"), "{}", said(&state));
        assert_eq!(state.is_hit(), hit);
    }
    let mut state = predict(Unit::Bytes, "4 MiB");
    state.measured(ProbeValue::Number(4_194_304.0), Basis::of(state.question.unit, None, true));
    assert!(said(&state).contains("Counted: 4,194,304 bytes"), "{}", said(&state));
}

#[test]
fn a_mean_is_not_called_counted() {
    let mut state = predict(Unit::Count, "1");
    state.question.plain = true;
    state.measured(ProbeValue::Number(1.0), state.question.basis(None, true));
    assert!(said(&state).contains("Computed: 1."), "{}", said(&state));
    // Nor is how many times as much one is as another, whatever its unit.
    let mut ratio = predict(Unit::Count, "2");
    ratio.measured(ProbeValue::Number(1.5), ratio.question.basis(None, true));
    assert!(said(&ratio).contains("Computed: 1.5"), "{}", said(&ratio));
}

#[test]
fn an_answer_that_is_no_number_is_told_and_one_that_is_none_is_a_fault() {
    let mut state = predict(Unit::Count, "3");
    state.measured(ProbeValue::Bool(true), Basis::of(state.question.unit, None, false));
    assert_eq!((said(&state).as_str(), state.is_hit()), ("Counted: true.", None));
    state.measured(ProbeValue::Number(f64::NAN), Basis::of(state.question.unit, None, false));
    assert!(matches!(&state.answer, Some(Err(reason)) if reason.contains("finite")));
}

#[test]
fn several_choices_count_when_committed_and_one_at_once() {
    let quiz = |right: &[bool]| {
        let choice = |correct: &bool| Choice { text: vec![], correct: *correct, explain: vec![], line: 1 };
        let choices = right.iter().map(choice).collect();
        let question = crate::lesson::Quiz { ask: Vec::new(), choices };
        let quiz = Quiz { id: "q".into(), question, tries: Vec::new(), skipped: false };
        match ItemState::new(Key(1), Item::Quiz(quiz)) {
            ItemState::Quiz(state) => state,
            other => panic!("{other:?}"),
        }
    };
    let mut one = quiz(&[false, true]);
    assert!(one.take(0) && !one.solved && !one.take(0), "a choice is tried once");
    assert!(one.take(1) && one.solved && !one.take(0));
    assert_eq!(one.attempts, 2);
    let mut few = quiz(&[true, false, true]);
    let mut attempt = |choice: usize| {
        few.take(choice);
        let before = few.lacks_some;
        assert!(few.commit());
        [before, few.lacks_some, few.solved]
    };
    assert_eq!(attempt(0), [false, true, false]);
    assert_eq!(attempt(1), [true, false, false], "a wrong one is among them");
    assert_eq!(attempt(1), [false, true, false], "the last attempt had none");
    assert_eq!(attempt(2), [true, false, true]);
    // What is tried after it was passed over is judged, and so is seen.
    let mut left = quiz(&[true, false, true]);
    left.take(0);
    assert!(left.commit() && !left.is_left() && left.skip() && left.is_left() && !left.skip());
    left.take(1);
    assert!(left.commit() && !left.is_left() && left.skipped && !left.lacks_some);
    let mut two = quiz(&[true, false, true]);
    assert!(!two.commit() && !two.take(0) && !two.take(1) && two.commit() && !two.solved);
    assert!(!two.take(1) && !two.take(2) && !two.solved, "not before it is committed");
    assert!(two.commit() && two.solved);
}
