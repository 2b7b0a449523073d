//! What learners hand in, added up for who teaches them.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::*;

/// A folder of exports, which is removed at the end.
struct Class(PathBuf);

impl Class {
    fn new(name: &str) -> Class {
        let folder = std::env::temp_dir().join(format!("tensorlab-class-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        Class(folder)
    }

    fn hands_in(&self, name: &str, learner: Option<&str>, records: &[Value]) {
        let document = json!({"program": "tensorlab", "learner": learner, "records": records});
        std::fs::write(self.0.join(name), document.to_string()).unwrap();
    }

    fn told(&self, options: &[&str]) -> Output {
        program().args(["progress", "class"]).arg(&self.0).args(options).output().unwrap()
    }
}

impl Drop for Class {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn record(step: &str, what: Value) -> Value {
    let mut all = json!({"pack": "course", "lesson": "moving", "version": "0.1.0", "at_ms": 7, "step": step});
    all.as_object_mut().unwrap().extend(what.as_object().unwrap().clone());
    all
}

fn failed(reason: &str) -> Value {
    record("one-copy", json!({"what": "attempt", "verdict": "fail", "reason": reason}))
}

/// Two learners; the same reason told one of them twice counts them once.
fn two() -> Class {
    let class = Class::new("two");
    let predicted = |typed: &str, hit: bool| {
        let said = json!({"what": "prediction", "typed": typed, "value": 4.0});
        let answered = json!({"what": "answer", "answer": 4.0, "hit": hit});
        [record("bytes-to-gpu", said), record("bytes-to-gpu", answered)]
    };
    let passed = record("one-copy", json!({"what": "attempt", "verdict": "pass", "code": "x"}));
    let mut ada = predicted("4 MiB", true).to_vec();
    ada.extend([failed("in each round"), failed("in each round"), failed("not at all"), passed]);
    ada.push(record("free-moves", json!({"what": "quiz", "taken": [1, 2], "right": false})));
    class.hands_in("export.json", Some("Ada"), &ada);
    let mut ben = predicted("2 MiB", false).to_vec();
    ben.extend([failed("in each round"), record("one-copy", json!({"what": "hint", "number": 2}))]);
    ben.push(record("one-copy", json!({"what": "solution"})));
    ben.push(record("gone", json!({"what": "ran", "ok": true})));
    class.hands_in("=ben.json", None, &ben);
    class
}

#[test]
fn a_class_is_added_up_by_learner_and_by_step() {
    let class = two();
    let o = class.told(&[]);
    assert_eq!((o.status.code(), err(&o).as_str()), (Some(0), ""));
    let told = out(&o);
    for line in [
        "2 learners, 1 lesson. The records were made on the learners' own machines, and can be changed there: they are no proof against cheating.",
        "moving: Moving tensors",
        "  =ben     1 of 30  0 of 11         1      2          1",
        "  Ada      2 of 30  2 of 11         5      0          0",
        "  bytes-to-gpu              2 of 2 done, 1 of 2 predicted rightly",
        "      1 learner, 1 time: predicted 2 MiB",
        "  one-copy                  1 of 2 done, 1 open, 5 attempts, 1 with hints, 1 with the solution",
        "      2 learners, 3 times: in each round",
        "      1 learner, 1 time: not at all",
        "      1 learner, 1 time: chose 2 and 3",
        "  gone, of another version  1 of 2 done",
        "  27 steps that nobody has begun",
    ] {
        assert!(told.lines().any(|own| own == line), "{line}\n{told}");
    }
    let value: Value = serde_json::from_str(&out(&class.told(&["--json"]))).unwrap();
    assert_eq!(
        (&value["learners"][0]["name"], &value["learners"][1]["name"]),
        (&json!("=ben"), &json!("Ada"))
    );
    let steps = value["lessons"][0]["steps"].as_array().unwrap();
    let copy = steps.iter().find(|step| step["step"] == "one-copy").unwrap();
    assert_eq!(copy["reasons"][0], json!({"reason": "in each round", "times": 3, "learners": 2}));
}

#[test]
fn a_table_of_a_class_has_a_line_for_each_learner_and_step() {
    let class = two();
    let o = class.told(&["--csv", "--lesson", "moving"]);
    let table = out(&o);
    let lines: Vec<&str> = table.lines().collect();
    assert!(lines[0].starts_with("learner,pack,lesson,step,done,"), "{table}");
    assert_eq!(lines.len(), 7, "{table}");
    assert!(table.contains("'=ben,course,moving,one-copy,false,false,1,2,true,,,fail,0.1.0,7"), "{table}");
    assert!(table.contains("Ada,course,moving,one-copy,true,false,4,0,false,,,pass,0.1.0,7"), "{table}");
    assert!(err(&o).contains("no proof"), "{}", err(&o));
    fails(&class.told(&["--lesson", "queues"]), 2, &["no learner has begun a lesson 'queues'"]);
}

#[test]
fn what_is_no_export_is_told_of_and_the_rest_is_added_up() {
    let class = two();
    std::fs::write(class.0.join("notes.json"), "{}").unwrap();
    std::fs::write(class.0.join("torn.json"), "{\"records\": [").unwrap();
    std::fs::write(class.0.join("readme.txt"), "none of it").unwrap();
    class.hands_in("late.json", Some("\u{1b}[31mEve"), &[record("gone", json!({"what": "teleported"}))]);
    let o = class.told(&[]);
    assert_eq!(o.status.code(), Some(1));
    assert!(out(&o).contains("3 learners, 1 lesson") && !out(&o).contains('\u{1b}'), "{}", out(&o));
    for piece in
        ["notes.json: it is no export", "torn.json: it is no export", "1 record that can't be read left out"]
    {
        assert!(err(&o).contains(piece), "{piece}\n{}", err(&o));
    }
    assert!(!err(&o).contains("readme"), "{}", err(&o));
    let alone = program().args(["progress", "class", "nowhere.json"]).output().unwrap();
    fails(&alone, 2, &["nowhere.json", "there is no learner's export"]);
}

#[test]
fn a_pack_that_is_not_installed_here_is_told_of() {
    let class = Class::new("elsewhere");
    let mut one = record("b", json!({"what": "ran", "ok": true}));
    one["pack"] = "gpu-kurs".into();
    let mut broken = one.clone();
    broken["at_ms"] = "late".into();
    class.hands_in("ada.json", Some("Ada"), &[one, broken]);
    for form in [&[][..], &["--csv"], &["--json"]] {
        let o = class.told(form);
        assert!(err(&o).contains("gpu-kurs/moving is not installed here"), "{}", err(&o));
        assert!(err(&o).contains("1 record that can't be read left out"), "{}", err(&o));
    }
    let told: Value = serde_json::from_str(&out(&class.told(&["--json"]))).unwrap();
    assert_eq!(told["lessons"][0]["installed"], false);
    assert!(!err(&two().told(&[])).contains("not installed"));
}

#[test]
fn an_export_says_whose_it_is() {
    let o = program().args(["progress", "export", "--json", "--learner", "Ada"]).output().unwrap();
    let value: Value = serde_json::from_str(&out(&o)).unwrap();
    assert_eq!(value["learner"], "Ada");
}
