use super::*;

fn typed(text: &str) -> Editor {
    let mut editor = Editor::new("");
    for c in text.chars() {
        if c == '\n' {
            editor.newline()
        } else {
            editor.insert(c)
        };
    }
    editor
}

#[test]
fn brackets_indent_and_close() {
    let editor = typed("for i in 0..3 {\nprint(i);\n}");
    assert_eq!(editor.text(), "for i in 0..3 {\n    print(i);\n}");
    let mut editor = Editor::new("f() {}");
    editor.set_cursor(Pos { row: 0, col: 5 });
    editor.newline();
    assert_eq!((editor.text().as_str(), editor.cursor()), ("f() {\n    \n}", Pos { row: 1, col: 4 }));
}

#[test]
fn undo_takes_typing_back_by_words_and_redo_returns_it() {
    let mut editor = typed("let x");
    assert!(editor.undo());
    assert_eq!(editor.text(), "let ");
    while editor.undo() {}
    assert_eq!(editor.text(), "");
    while editor.redo() {}
    assert_eq!((editor.text().as_str(), editor.cursor()), ("let x", Pos { row: 0, col: 5 }));
    editor.paste("a\nb");
    assert_eq!(editor.text(), "let xa\nb");
    editor.undo();
    assert_eq!(editor.text(), "let x");
}

#[test]
fn erasing_joins_lines_and_comes_back() {
    let mut editor = Editor::new("ab\ncd");
    editor.set_cursor(Pos { row: 1, col: 0 });
    editor.backspace();
    editor.backspace();
    assert_eq!(editor.text(), "acd");
    editor.delete();
    assert_eq!(editor.text(), "ad");
    while editor.undo() {}
    assert_eq!(editor.text(), "ab\ncd");
}

#[test]
fn moving_keeps_the_wished_column_and_whole_characters() {
    let mut editor = Editor::new("long line\nx\nlong line");
    editor.set_cursor(Pos { row: 0, col: 7 });
    editor.move_rows(1);
    assert_eq!(editor.cursor(), Pos { row: 1, col: 1 });
    editor.move_rows(1);
    assert_eq!(editor.cursor(), Pos { row: 2, col: 7 });
    let mut editor = Editor::new("e\u{301}x");
    editor.move_right();
    assert_eq!(editor.cursor().col, 2);
    editor.backspace();
    assert_eq!(editor.text(), "x");
}

#[test]
fn a_paste_is_stripped_and_bounded() {
    let mut editor = Editor::new("");
    editor.paste("a\u{1b}[31mb\tc\r\nd");
    assert_eq!(editor.text(), "ab    c\nd");
    assert!(!editor.paste(&"x".repeat(MAX_TEXT)));
    assert_eq!(editor.text(), "ab    c\nd");
}
