//! Code as it is typed: when it is whole, how it goes on, and what of it is evaluated.

use crate::script::phrases;
use crate::script::tokens::{Token, tokens};
use crate::script::whole::{self, Wholeness};
use crate::script::{indent, lexer};

use super::commands;

/// Whether more lines belong to what was typed: it is not whole, or its last line ends in a backslash. After two
/// blank lines it is taken as it is, so that one is never stuck.
pub(crate) fn wants_more(text: &str) -> bool {
    let code = commands::code_of(text);
    let Some(code) = code else { return false };
    if code.trim().is_empty() || commands::is_help(code) {
        return false;
    }
    let mut blank = text.rsplit('\n').take_while(|line| line.trim().is_empty());
    if blank.by_ref().take(2).count() == 2 {
        return false;
    }
    let last = text.lines().next_back().unwrap_or_default();
    let ends_blank = text.rsplit('\n').next().is_some_and(|line| line.trim().is_empty());
    if is_continued(text, last) || (phrases::is_open(code) && (!ends_blank || phrases::lacks_forward(code))) {
        return true;
    }
    match whole::wholeness(&without_backslashes(code)) {
        Wholeness::Incomplete(_) => true,
        Wholeness::Wrong(..) => !ends_blank && whole::is_value_open(code),
        Wholeness::Whole => false,
    }
}

/// Whether the last line ends in a backslash that is none of a text's.
fn is_continued(text: &str, last: &str) -> bool {
    last.trim_end().ends_with('\\')
        && tokens(text.lines()).last().is_some_and(|line| {
            line.iter().rev().find(|(c, _)| !c.is_whitespace()).is_some_and(|(_, token)| is_free(*token))
        })
}

fn is_free(token: Token) -> bool {
    !matches!(token, Token::Text | Token::Comment)
}

/// The code without the backslashes at the ends of its lines that carry it on; every place stays.
pub(crate) fn without_backslashes(code: &str) -> String {
    if !code.contains('\\') {
        return code.to_string();
    }
    let lines = tokens(code.split('\n')).into_iter().map(|mut line| {
        if let Some(end) = line.iter_mut().rev().find(|(c, _)| !c.is_whitespace())
            && end.0 == '\\'
            && is_free(end.1)
        {
            end.0 = ' ';
        }
        line.into_iter().map(|(c, _)| c).collect::<String>()
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// The spaces that a line after `text` begins with.
pub(crate) fn indent_after(text: &str) -> usize {
    indent::after(text.rsplit('\n').next().unwrap_or_default())
}

/// The spaces before a closing bracket that is typed after `text`, where its last line is blank: one step less.
pub(crate) fn spaces_to_close(text: &str) -> Option<usize> {
    indent::before_closing(text.rsplit_once('\n')?.1)
}

/// The spaces that Tab adds where a line is blank so far.
pub(crate) fn spaces_of_tab(text: &str) -> Option<usize> {
    let (_, line) = text.rsplit_once('\n')?;
    line.chars().all(|c| c == ' ').then(|| indent::to_next_step(line.len()))
}

/// The place of the bracket that belongs to the one at byte `at`, if both are code.
pub(crate) fn partner(text: &str, at: usize) -> Option<usize> {
    let (opening, closing) = lexer::partners(text, &lexer::pieces(text), at)?;
    if opening == at { Some(closing) } else { Some(opening).filter(|_| closing == at) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_go_on_until_the_code_is_whole() {
        for (text, more) in [
            ("let x = 1", false),
            ("for i in 0..3 {", true),
            ("for i in 0..3 {\n    print(i);", true),
            ("for i in 0..3 {\n    print(i);\n}", false),
            ("for i in 0..3 {\n\n", false),
            ("for i in 0..3 {\n    \n    ", false),
            ("for i in 0..3 {\n", true),
            ("1 \\", true),
            ("1 \\\n+ 2", false),
            ("\"a \\", true),
            ("// a \\", false),
            ("\\", true),
            (":time f(", true),
            (":help f(", false),
            // As at Python's prompt, a blank line ends a block.
            ("for i in range(3):", true),
            ("for i in range(3):\n    print(i)", true),
            ("class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n", true),
            ("class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n\n", false),
            (
                "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n\n    def forward(self, x):\n        return x\n",
                false,
            ),
            (
                "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n\n    def forward(self, x):",
                true,
            ),
            ("for i in range(3):\n    print(i)\n", false),
            ("if x:\n    y()\nelse:  # not x", true),
            ("if x:\n    y()\nz()", false),
            // A literal or a call of Python's over several lines.
            ("d = {", true),
            ("d = {\n    \"a\": 1,", true),
            ("d = {\n    \"a\": 1,\n}", false),
            ("loader = DataLoader(\n    ds,\n    batch_size=4,", true),
            ("loader = DataLoader(\n    ds,\n    batch_size=4,\n)", false),
            ("s = \"\"\"one", true),
            ("s = \"\"\"one\ntwo\"\"\"", false),
            ("fn f() {\n    let 3 = 4;", false),
            ("?relu", false),
            ("relu?", false),
            ("", false),
        ] {
            assert_eq!(wants_more(text), more, "{text:?}");
        }
    }

    #[test]
    fn backslashes_at_line_ends_go_and_those_in_texts_stay() {
        assert_eq!(without_backslashes("1 \\\n+ 2"), "1  \n+ 2");
        assert_eq!(without_backslashes("\"a \\\nb\""), "\"a \\\nb\"");
        assert_eq!(without_backslashes("\"\\n\" \\ "), "\"\\n\"   ");
    }

    #[test]
    fn indents_follow_brackets() {
        assert_eq!(indent_after("if x {"), 4);
        assert_eq!(indent_after("if x {\n    y(\n    1"), 4);
        assert_eq!(indent_after("if x {\n    y("), 8);
        assert_eq!(spaces_to_close("if x {\n    "), Some(0));
        assert_eq!(spaces_to_close("f({\n          "), Some(6));
        assert_eq!(spaces_to_close("f({\n  x"), None);
        assert_eq!(spaces_to_close("    "), None);
        assert_eq!(
            (spaces_of_tab("a\n  "), spaces_of_tab("a\n x"), spaces_of_tab("")),
            (Some(2), None, None)
        );
    }

    #[test]
    fn brackets_find_their_partners_in_code_alone() {
        let text = "f([1, \")\"], {\n(2)})";
        assert_eq!(partner(text, 1), Some(text.len() - 1));
        assert_eq!(partner(text, text.len() - 1), Some(1));
        assert_eq!(partner(text, 2), Some(9));
        assert_eq!(partner(text, 7), None, "it stands in a text");
        assert_eq!(partner("(]", 0), None);
        assert_eq!(partner("((", 0), None);
    }
}
