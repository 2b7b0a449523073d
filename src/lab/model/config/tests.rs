use crossterm::event::{KeyCode, KeyModifiers};

use super::*;
use crate::lab::model::bindings::BINDINGS;
use crate::lab::model::keys::{Chord, Keymap};

fn problems(text: &str) -> Vec<String> {
    Config::parse(text).problems.iter().map(ToString::to_string).collect()
}

#[test]
fn every_key_has_a_name_that_is_read_back() {
    for binding in BINDINGS {
        for chord in binding.keys {
            assert_eq!(chord::parse(&chord::name(*chord)), Some(*chord), "{}", chord.name());
        }
    }
    let mut names: Vec<(&str, String)> =
        keys().into_iter().map(|(place, action, ..)| (place, action)).collect();
    let all = names.len();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), all, "an action has one row in each place");
    assert_eq!(
        chord::parse("Ctrl-Shift-Left"),
        Some(Chord(KeyCode::Left, KeyModifiers::CONTROL | KeyModifiers::SHIFT))
    );
    assert_eq!(chord::parse("Hyper-x"), None);
}

#[test]
fn the_template_is_a_file_of_defaults() {
    let text = template();
    let config = Config::parse(&text);
    assert_eq!(config, Config::default(), "all is in comments");
    let open: String = text
        .lines()
        .map(|l| l.strip_prefix('#').filter(|l| l.contains(" = ")).unwrap_or(l))
        .fold(String::new(), |all, line| all + line + "\n");
    let config = Config::parse(&open);
    assert_eq!(config.problems, [], "{open}");
    assert_eq!(config.keymap, Keymap::default());
    assert_eq!(config.keys.len(), keys().len());
}

#[test]
fn values_are_taken_and_bad_ones_are_told_with_their_line() {
    let text = "[look]\ntheme = \"ligth\"\nascii = true\n[edit]\nvi = 1\nvim = true\n[size]\nlesson = 90\nmachine = 40\n[colour]\n";
    let config = Config::parse(text);
    assert!(!config.vi() && config.look(false, false).ascii && !config.look(false, false).light);
    assert_eq!(config.shares(), (28, 40));
    assert_eq!(
        problems(text),
        [
            "line 2: look.theme takes \"dark\", \"light\", not \"ligth\"; did you mean \"light\"?",
            "line 5: edit.vi takes true or false",
            "line 6: there is no setting `edit.vim`; did you mean `edit.vi`?",
            "line 8: size.lesson takes a whole number from 16 to 60",
            "line 10: there is no table `colour`; there are look, edit, size, history, keys",
        ]
    );
    let broken = problems("[look\ntheme = \"light\"\n");
    assert!(broken[0].starts_with("line 1: this is not TOML"), "{broken:?}");
}

#[test]
fn keys_are_set_and_conflicts_are_told() {
    let text = "[keys.anywhere]\nrun = [\"F9\"]\nsave = \"Ctrl-S\"\n[keys.cells]\nadd-below = \"x\"\n[keys.editor]\nundo = \"z\"\n\
                redoo = \"Ctrl-G\"\ncut = [\"Nope-Q\"]\n[keys.edito]\n";
    let config = Config::parse(text);
    let run = config.keymap.rows().find(|(b, _)| b.help == "run the cell").map(|(_, keys)| keys.to_vec());
    assert_eq!(run, Some(vec![Chord(KeyCode::F(9), KeyModifiers::NONE)]));
    assert_eq!(
        problems(text),
        [
            "line 5: x is taken: it is `cells.cut-cell`; keys.cells.add-below stays as it was",
            "line 7: `z` alone is typed in a cell; keys.editor needs Ctrl or Alt",
            "line 8: there is no action `redoo`; did you mean `redo`?",
            "line 9: `Nope-Q` is no key; keys are `a`, `F5`, `Ctrl-Enter`, `Alt-Left`, …",
            "line 10: there is no place for keys `edito`; did you mean `editor`?",
        ]
    );
}
