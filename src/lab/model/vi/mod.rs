//! Vi's keys over a cell's editor: normal, insert and visual mode.

mod motion;
mod object;
mod parse;

#[cfg(test)]
mod tests;

use crossterm::event::{KeyCode, KeyModifiers};

use crate::lab::model::editor::words::Class;
use crate::lab::model::editor::{Editor, Pos};
use crate::lab::model::keys::Chord;

use motion::Reach;
use parse::{Command, Operator, Parsed, Target};

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Mode {
    #[default]
    Normal,
    Insert,
    Visual,
    VisualLine,
}

/// The state of vi's keys. It goes on from cell to cell.
#[derive(Clone, Debug, Default)]
pub(crate) struct Vi {
    pub mode: Mode,
    /// Keys of a command that is not whole yet.
    keys: Vec<char>,
    register: String,
    /// The register holds whole lines.
    linewise: bool,
    /// The last `f`, `t`, `F` or `T` and its character.
    sought: Option<(char, char)>,
    /// The last change, to be done again.
    last: Vec<char>,
    /// What was typed in insert mode after it.
    typed: String,
    recording: bool,
}

/// What is to be done after a key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum After {
    /// The key is not vi's.
    Pass,
    Moved,
    Changed,
    /// The cell is to be left.
    Leave,
    /// Text to look for is to be asked for.
    Search,
    /// The next or the last place of the text looked for.
    Next(bool),
}

impl Vi {
    /// What the mode is called; with the keys typed so far.
    pub(crate) fn label(&self) -> String {
        let name = match self.mode {
            Mode::Normal => "NORMAL",
            Mode::Insert => "INSERT",
            Mode::Visual => "VISUAL",
            Mode::VisualLine => "V-LINE",
        };
        let keys: String = self.keys.iter().collect();
        if keys.is_empty() { name.into() } else { format!("{name} {keys}") }
    }

    /// Takes a key for an editor.
    pub(crate) fn key(&mut self, editor: &mut Editor, Chord(code, modifiers): Chord) -> After {
        if self.mode == Mode::Insert {
            return self.insert_key(editor, code, modifiers);
        }
        let c = match (code, modifiers) {
            (KeyCode::Esc, _) => return self.escape(editor),
            (KeyCode::Char('r'), KeyModifiers::CONTROL) => return changed(editor.redo()),
            (KeyCode::Char(c), KeyModifiers::NONE) => c,
            (KeyCode::Enter, KeyModifiers::NONE) => 'j',
            (KeyCode::Backspace, KeyModifiers::NONE) => 'h',
            (KeyCode::Left, KeyModifiers::NONE) => 'h',
            (KeyCode::Right, KeyModifiers::NONE) => 'l',
            (KeyCode::Up, KeyModifiers::NONE) => 'k',
            (KeyCode::Down, KeyModifiers::NONE) => 'j',
            _ => return After::Pass,
        };
        self.keys.push(c);
        let visual = self.mode != Mode::Normal;
        match parse::parse(&self.keys, visual) {
            Parsed::More => After::Moved,
            Parsed::Nothing => {
                self.keys.clear();
                After::Moved
            }
            Parsed::Command(command, count) => {
                let keys = std::mem::take(&mut self.keys);
                self.run(editor, command, count, keys)
            }
        }
    }

    fn insert_key(&mut self, editor: &mut Editor, code: KeyCode, modifiers: KeyModifiers) -> After {
        let plain = modifiers.is_empty();
        match code {
            KeyCode::Esc => {
                self.mode = Mode::Normal;
                self.recording = false;
                let at = editor.cursor();
                if at.col > 0 {
                    editor.set_cursor(editor.before(at));
                }
                return After::Moved;
            }
            KeyCode::Char(c) if plain && self.recording => self.typed.push(c),
            KeyCode::Enter if plain && self.recording => self.typed.push('\n'),
            KeyCode::Backspace if self.recording => {
                self.typed.pop();
            }
            _ => {}
        }
        After::Pass
    }

    fn escape(&mut self, editor: &mut Editor) -> After {
        let waiting = !std::mem::take(&mut self.keys).is_empty();
        if self.mode != Mode::Normal {
            self.mode = Mode::Normal;
            editor.clear_selection();
            return After::Moved;
        }
        if waiting { After::Moved } else { After::Leave }
    }

    fn run(&mut self, editor: &mut Editor, command: Command, count: Option<usize>, keys: Vec<char>) -> After {
        let changes = command.changes();
        let after = self.carry_out(editor, command, count);
        if changes {
            self.last = keys;
            self.typed.clear();
            self.recording = self.mode == Mode::Insert;
        }
        if self.mode == Mode::Normal {
            self.clamp(editor);
        }
        after
    }

    fn carry_out(&mut self, editor: &mut Editor, command: Command, count: Option<usize>) -> After {
        let n = count.unwrap_or(1);
        match command {
            Command::Move(motion) => {
                if let Some((to, _)) = self.target(editor, motion, count) {
                    self.go(editor, to);
                }
                return After::Moved;
            }
            Command::Operate(operator, target) => return self.operate(editor, operator, target, count),
            Command::Select(object) => {
                if let Some((start, end)) = object::find(editor, object) {
                    editor.select(start, editor.before(end).max(start));
                }
                return After::Moved;
            }
            Command::Visual(lines) => {
                let mode = if lines { Mode::VisualLine } else { Mode::Visual };
                self.mode = if self.mode == mode { Mode::Normal } else { mode };
                if self.mode == Mode::Normal {
                    editor.clear_selection();
                } else {
                    editor.begin_selection();
                }
                return After::Moved;
            }
            Command::Swap => {
                if let Some((start, end)) = editor.selection() {
                    let at = editor.cursor();
                    if at == end { editor.select(end, start) } else { editor.select(start, end) }
                }
                return After::Moved;
            }
            Command::Search => return After::Search,
            Command::Next(forward) => return After::Next(forward),
            Command::Insert(c) => self.begin_insert(editor, c),
            Command::Put(before) => self.put(editor, before, n),
            Command::Undo => return changed((0..n).all(|_| editor.undo())),
            Command::Repeat => self.repeat(editor),
            Command::Replace(with) => replace(editor, with, n),
            Command::Join => (0..n).for_each(|_| join(editor)),
            Command::Case => swap_case(editor, n),
        }
        After::Changed
    }

    /// Moves, and the selection's end with it.
    fn go(&self, editor: &mut Editor, to: Pos) {
        editor.set_cursor(to);
        if self.mode == Mode::Normal {
            editor.clear_selection();
        }
    }

    fn target(
        &mut self,
        editor: &mut Editor,
        motion: parse::Motion,
        count: Option<usize>,
    ) -> Option<(Pos, Reach)> {
        motion::target(editor, motion, count, &mut self.sought)
    }

    /// The places that an operator acts on, and whether on whole lines.
    fn extent(
        &mut self,
        editor: &mut Editor,
        target: Target,
        count: Option<usize>,
    ) -> Option<(Pos, Pos, bool)> {
        let at = editor.cursor();
        match target {
            Target::Selected => {
                let (start, end) = editor.selection().unwrap_or((at, at));
                Some((start, editor.after(end), self.mode == Mode::VisualLine))
            }
            Target::Lines => {
                let last = (at.row + count.unwrap_or(1) - 1).min(editor.end_of_text().row);
                Some((at, Pos { row: last, col: 0 }, true))
            }
            Target::Object(object) => object::find(editor, object).map(|(start, end)| (start, end, false)),
            Target::Motion(motion) => {
                let (to, reach) = self.target(editor, motion, count)?;
                let (start, end) = (at.min(to), at.max(to));
                Some(match reach {
                    Reach::Exclusive => (start, end, false),
                    Reach::Inclusive => {
                        (start, Pos { col: (end.col + 1).min(editor.length(end.row)), ..end }, false)
                    }
                    Reach::Lines => (start, end, true),
                })
            }
        }
    }

    fn operate(
        &mut self,
        editor: &mut Editor,
        operator: Operator,
        target: Target,
        count: Option<usize>,
    ) -> After {
        let at = editor.cursor();
        let extent = match (operator, target) {
            // `cw` leaves the space after the word.
            (Operator::Change, Target::Motion(parse::Motion::Word(true)))
                if editor.class(at) != Class::Space =>
            {
                let end = motion::words_end(editor, at, count.unwrap_or(1));
                Some((at, Pos { col: end.col + 1, ..end }, false))
            }
            (_, target) => self.extent(editor, target, count),
        };
        let visual = self.mode != Mode::Normal;
        self.mode = Mode::Normal;
        editor.clear_selection();
        let Some((start, end, lines)) = extent else { return After::Moved };
        match operator {
            Operator::Yank => {
                self.take(editor, start, end, lines);
                editor.set_cursor(if lines && !visual { editor.cursor() } else { start });
                return After::Moved;
            }
            Operator::Shift(right) => shift(editor, start.row, end.row, right),
            Operator::Delete => {
                self.take(editor, start, end, lines);
                if lines {
                    delete_lines(editor, start.row, end.row);
                } else {
                    editor.change(start, end, "");
                }
            }
            Operator::Change => {
                self.take(editor, start, end, lines);
                let (start, end) = if lines {
                    let indent = editor.line(start.row).chars().take_while(|c| *c == ' ').count();
                    let col = editor.length(end.row);
                    (Pos { row: start.row, col: indent }, Pos { row: end.row, col })
                } else {
                    (start, end)
                };
                editor.change(start, end, "");
                self.mode = Mode::Insert;
            }
        }
        After::Changed
    }

    fn take(&mut self, editor: &Editor, start: Pos, end: Pos, lines: bool) {
        self.linewise = lines;
        self.register = if lines {
            let all = editor.lines().iter().skip(start.row).take(end.row + 1 - start.row);
            all.map(String::as_str).collect::<Vec<_>>().join("\n")
        } else {
            editor.slice(start, end)
        };
    }

    fn begin_insert(&mut self, editor: &mut Editor, c: char) {
        self.mode = Mode::Insert;
        editor.clear_selection();
        let at = editor.cursor();
        let end = Pos { col: editor.length(at.row), ..at };
        match c {
            'a' if at.col < end.col => editor.set_cursor(editor.after(at)),
            'A' => editor.set_cursor(end),
            'I' => {
                let indent = editor.line(at.row).chars().take_while(|c| *c == ' ').count();
                editor.set_cursor(Pos { col: indent, ..at });
            }
            'o' => {
                editor.set_cursor(end);
                editor.newline();
            }
            'O' => {
                let indent: String = editor.line(at.row).chars().take_while(|c| *c == ' ').collect();
                let col = indent.chars().count();
                editor.change(Pos { col: 0, ..at }, Pos { col: 0, ..at }, &format!("{indent}\n"));
                editor.set_cursor(Pos { col, ..at });
            }
            _ => {}
        }
    }

    fn put(&mut self, editor: &mut Editor, before: bool, n: usize) {
        let visual = self.mode != Mode::Normal;
        let text = self.register.clone();
        if text.is_empty() {
            return;
        }
        let at = editor.cursor();
        if visual {
            let extent = self.extent(editor, Target::Selected, None);
            self.mode = Mode::Normal;
            if let Some((start, end, lines)) = extent {
                self.take(editor, start, end, lines);
                editor.change(start, end, &text);
            }
        } else if self.linewise {
            let block = vec![text.as_str(); n].join("\n");
            let row = if before { at.row } else { at.row + 1 };
            if before {
                editor.change(Pos { row, col: 0 }, Pos { row, col: 0 }, &format!("{block}\n"));
            } else {
                let end = Pos { col: editor.length(at.row), ..at };
                editor.change(end, end, &format!("\n{block}"));
            }
            let indent = editor.line(row).chars().take_while(|c| *c == ' ').count();
            editor.set_cursor(Pos { row, col: indent });
        } else {
            let at = if before || editor.length(at.row) == 0 { at } else { editor.after(at) };
            editor.change(at, at, &text.repeat(n));
            editor.set_cursor(editor.before(editor.cursor()));
        }
    }

    fn repeat(&mut self, editor: &mut Editor) {
        let (keys, typed) = (self.last.clone(), self.typed.clone());
        editor.together(|editor| {
            if let Parsed::Command(command, count) = parse::parse(&keys, false) {
                self.carry_out(editor, command, count);
            }
            if self.mode == Mode::Insert {
                for c in typed.chars() {
                    let _ = if c == '\n' { editor.newline() } else { editor.insert(c) };
                }
                self.mode = Mode::Normal;
            }
        });
    }

    /// In normal mode the cursor stands on a character, not after the last one.
    fn clamp(&self, editor: &mut Editor) {
        let at = editor.cursor();
        let length = editor.length(at.row);
        if length > 0 && at.col >= length {
            editor.set_cursor(editor.before(Pos { col: length, ..at }));
        }
    }
}

fn changed(done: bool) -> After {
    if done { After::Changed } else { After::Moved }
}

fn delete_lines(editor: &mut Editor, first: usize, last: usize) {
    let end = editor.end_of_text();
    if last < end.row {
        editor.change(Pos { row: first, col: 0 }, Pos { row: last + 1, col: 0 }, "");
    } else {
        let start = match first.checked_sub(1) {
            Some(row) => Pos { row, col: editor.length(row) },
            None => Pos::default(),
        };
        editor.change(start, end, "");
    }
    let row = editor.cursor().row;
    let indent = editor.line(row).chars().take_while(|c| *c == ' ').count();
    editor.set_cursor(Pos { row, col: indent });
}

fn shift(editor: &mut Editor, first: usize, last: usize, right: bool) {
    editor.select(Pos { row: first, col: 0 }, Pos { row: last, col: editor.length(last) });
    if right {
        editor.indent();
    } else {
        editor.dedent();
    }
    editor.clear_selection();
    editor.set_cursor(Pos { row: first, col: editor.line(first).chars().take_while(|c| *c == ' ').count() });
}

fn replace(editor: &mut Editor, with: char, n: usize) {
    let at = editor.cursor();
    if at.col + n <= editor.length(at.row) {
        let end = Pos { col: at.col + n, ..at };
        editor.change(at, end, &with.to_string().repeat(n));
        editor.set_cursor(Pos { col: at.col + n - 1, ..at });
    }
}

fn join(editor: &mut Editor) {
    let at = editor.cursor();
    if at.row >= editor.end_of_text().row {
        return;
    }
    let col = editor.length(at.row);
    let indent = editor.line(at.row + 1).chars().take_while(|c| *c == ' ').count();
    editor.change(Pos { col, ..at }, Pos { row: at.row + 1, col: indent }, " ");
    editor.set_cursor(Pos { col, ..at });
}

fn swap_case(editor: &mut Editor, n: usize) {
    let at = editor.cursor();
    let end = Pos { col: (at.col + n).min(editor.length(at.row)), ..at };
    let swapped: String = editor
        .slice(at, end)
        .chars()
        .map(|c| if c.is_lowercase() { c.to_uppercase().to_string() } else { c.to_lowercase().to_string() })
        .collect();
    editor.change(at, end, &swapped);
}
