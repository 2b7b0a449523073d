//! The course as a whole: what it covers, and that its map is true.

use std::collections::{BTreeMap, BTreeSet};

use tensorlab::lesson::{Element, Lesson, built_in, parse};

const MAP: &str = include_str!("../docs/course.md");

/// How many things each of the five texts says.
const CLAIMS: [(char, usize); 5] = [('A', 23), ('B', 32), ('C', 47), ('D', 49), ('E', 57)];

fn lessons() -> Vec<Lesson> {
    built_in().iter().map(|(file, text)| parse(file, text.as_bytes()).unwrap()).collect()
}

/// Rows of the map's tables: the lesson's id and the cells.
fn rows() -> Vec<(&'static str, Vec<&'static str>)> {
    let (mut lesson, mut rows) = ("", Vec::new());
    for line in MAP.lines() {
        if let Some(heading) = line.strip_prefix("## ") {
            lesson = heading.split_once(' ').unwrap().1;
        } else if let Some(row) = line.strip_prefix("| ") {
            rows.push((lesson, row.trim_end_matches(" |").split(" | ").collect()));
        }
    }
    rows.retain(|(_, cells): &(&str, Vec<&str>)| cells.last() != Some(&"steps"));
    rows
}

#[test]
fn the_map_names_steps_that_its_lessons_have() {
    let steps: BTreeMap<String, BTreeSet<String>> = lessons()
        .into_iter()
        .map(|lesson| (lesson.front.id.clone(), lesson.steps.into_iter().map(|step| step.id).collect()))
        .collect();
    let mut wrong = Vec::new();
    for (lesson, cells) in rows() {
        let named: Vec<&str> = cells.last().unwrap().split(", ").map(|id| id.trim_matches('`')).collect();
        assert!(!named.is_empty());
        let has = |id: &&str| steps.get(lesson).is_some_and(|steps| steps.contains(*id));
        wrong.extend(
            named.into_iter().filter(|id| !has(id)).map(|id| format!("{lesson} has no step {id}: {cells:?}")),
        );
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn everything_that_the_texts_say_is_tried_in_a_lesson() {
    let found: BTreeSet<&str> = rows().iter().map(|(_, cells)| cells[0]).collect();
    let wanted = CLAIMS.iter().flat_map(|(text, count)| (1..=*count).map(move |n| format!("{text}{n}")));
    let missing: Vec<String> = wanted.filter(|claim| !found.contains(claim.as_str())).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

/// Three things that people believe are met in each lesson, and each lesson has its section.
#[test]
fn each_lesson_meets_what_people_get_wrong() {
    for lesson in lessons() {
        let beliefs = rows().iter().filter(|(id, cells)| *id == lesson.front.id && cells.len() == 2).count();
        assert!(beliefs >= 3, "{}: {beliefs}", lesson.front.id);
    }
}

#[test]
fn each_lesson_has_what_the_course_promises() {
    let (mut exercises, lessons) = (0, lessons());
    for lesson in &lessons {
        let name = &lesson.front.id;
        let elements = || lesson.steps.iter().filter_map(|step| step.element.as_ref());
        let own: Vec<_> =
            elements().filter_map(|e| if let Element::Exercise(e) = e { Some(e) } else { None }).collect();
        let predictions = elements().filter(|e| matches!(e, Element::Predict(_))).count();
        let quizzes = elements().filter(|e| matches!(e, Element::Quiz(_))).count();
        assert!(own.len() >= 3 && predictions >= 3 && quizzes >= 1, "{name}");
        for exercise in &own {
            assert!(
                exercise.wrong.len() >= 2 && exercise.hints.len() >= 3,
                "{name}: {}",
                exercise.starter.text
            );
        }
        assert!((10..=25).contains(&lesson.front.minutes), "{name}: {} min", lesson.front.minutes);
        exercises += own.len();
        // Whoever comes to a lesson has done what it builds on.
        for before in &lesson.front.prerequisites {
            let place = |id: &String| lessons.iter().position(|lesson| lesson.front.id == *id);
            assert!(place(before) < place(name), "{name} builds on {before}");
        }
    }
    assert!(exercises >= 68, "{exercises}");
}
