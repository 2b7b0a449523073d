use super::*;
use crate::lab::model::keys::Chord;

/// Types keys into a text; `␛` is Escape. Gives the text with `|` before the cursor.
fn typed(text: &str, keys: &str) -> String {
    let at = text.find('|').unwrap_or(0);
    let code = text.replacen('|', "", 1);
    let mut editor = Editor::new(&code);
    editor.set_cursor(crate::lab::model::editor::bytes::place_of(editor.clone().lines(), at));
    let mut vi = Vi::default();
    for c in keys.chars() {
        let (code, modifiers) = match c {
            '␛' => (KeyCode::Esc, KeyModifiers::NONE),
            '␊' => (KeyCode::Enter, KeyModifiers::NONE),
            '®' => (KeyCode::Char('r'), KeyModifiers::CONTROL),
            c => (KeyCode::Char(c), KeyModifiers::NONE),
        };
        if vi.key(&mut editor, Chord(code, modifiers)) == After::Pass {
            match code {
                KeyCode::Char(c) => drop(editor.insert(c)),
                KeyCode::Enter => drop(editor.newline()),
                _ => {}
            }
        }
    }
    let byte = crate::lab::model::editor::bytes::cursor_byte(&editor);
    let mut text = editor.text();
    text.insert(byte, '|');
    text
}

#[test]
fn motions() {
    for (text, keys, want) in [
        ("|let x = 1;", "w", "let |x = 1;"),
        ("|let x = 1;", "3w", "let x = |1;"),
        ("let x |= 1;", "b", "let |x = 1;"),
        ("|let x", "e", "le|t x"),
        ("  a|b", "0", "|  ab"),
        ("  ab|", "^", "  |ab"),
        ("|abc", "$", "ab|c"),
        ("a\nb\n|c", "gg", "|a\nb\nc"),
        ("|a\nb\nc", "G", "a\nb\n|c"),
        ("|a\nb\nc", "2G", "a\n|b\nc"),
        ("|f(x, y)", "f,", "f(x|, y)"),
        ("|f(x, y)", "t,", "f(|x, y)"),
        ("|a.b.c", "f.;", "a.b|.c"),
        ("|a.b.c", "f.;,", "a|.b.c"),
        ("abc|d", "hh", "a|bcd"),
        ("|ab\ncd", "jl", "ab\nc|d"),
        ("|ab", "5l", "a|b"),
    ] {
        assert_eq!(typed(text, keys), want, "{text:?} {keys}");
    }
}

#[test]
fn operators_with_motions_and_objects() {
    for (text, keys, want) in [
        ("|let x = 1;", "dw", "|x = 1;"),
        ("|let x = 1;", "d2w", "|= 1;"),
        ("|let x = 1;", "cwvar␛", "va|r x = 1;"),
        ("let |x = 1;", "cwyy␛", "let y|y = 1;"),
        ("|a b c", "c2wx␛", "|x c"),
        ("let x| = 1;", "d$", "let |x"),
        ("a\n|b\nc", "dd", "a\n|c"),
        ("|a\nb\nc", "2dd", "|c"),
        ("a\n|b", "dd", "|a"),
        ("|a", "dd", "|"),
        ("|a\nb", "yyp", "a\n|a\nb"),
        ("|ab", "xp", "b|a"),
        ("f(one|, two)", "di(", "f(|)"),
        ("f(one|, two)", "da(", "|f"),
        ("f(o[n]e|)", "ci(x␛", "f(|x)"),
        ("x = \"a |b\";", "ci\"q␛", "x = \"|q\";"),
        ("one t|wo three", "diw", "one | three"),
        ("one t|wo three", "daw", "one |three"),
        ("one t|wo", "yiwP", "one tw|otwo"),
        ("|ab cd", "vey$p", "ab cda|b"),
        ("|ab\ncd\nef", "Vjd", "|ef"),
        ("|ab\ncd", ">>", "    |ab\ncd"),
        ("    |ab", "<<", "|ab"),
        ("|abc", "2x", "|c"),
        ("|abc", "rx", "|xbc"),
        ("|a\n  b", "J", "a| b"),
        ("|ab", "~", "A|b"),
        ("ab|c", "D", "a|b"),
        ("|ab", "cchi␛", "h|i"),
        ("a {\n|b\n}", "di{", "a {|}"),
        ("a(b|c)", "dt)", "a(b|)"),
    ] {
        assert_eq!(typed(text, keys), want, "{text:?} {keys}");
    }
}

#[test]
fn insert_undo_redo_and_again() {
    for (text, keys, want) in [
        ("|b", "ia␛", "|ab"),
        ("|b", "ac␛", "b|c"),
        ("  |b", "Ia␛", "  |ab"),
        ("|b c", "Ad␛", "b c|d"),
        ("|f {", "ox␛", "f {\n    |x"),
        ("a\n|b", "Ox␛", "a\n|x\nb"),
        ("|abc", "xu", "|abc"),
        ("|abc", "xu®", "|bc"),
        ("|abcd", "x..", "|d"),
        ("|one two", "cwx␛w.", "x |x"),
        ("|a\nb\nc", "ddu", "|a\nb\nc"),
        ("|a b c", "dw.", "|c"),
        ("|a", "oy␊z␛.", "a\ny\nz\ny\n|z"),
        ("|abc", "d␛x", "|bc"),
        ("|abc", "dqx", "|bc"),
    ] {
        assert_eq!(typed(text, keys), want, "{text:?} {keys}");
    }
}
