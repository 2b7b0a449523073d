//! What keys typed in normal or visual mode mean.

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Operator {
    Delete,
    Change,
    Yank,
    Shift(bool),
}

/// Where to. `true` is forward where both ways are meant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Motion {
    Left,
    Right,
    Up,
    Down,
    Word(bool),
    WordEnd,
    LineStart,
    LineEnd,
    LineText,
    FirstLine,
    LastLine,
    /// `f`, `t`, `F`, `T` and its character.
    To(char, char),
    /// That again, the same way or the other.
    Again(bool),
}

/// A text object: a word, or what is between two signs, which belong to it where it is `around`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Object {
    pub around: bool,
    pub what: char,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Target {
    Motion(Motion),
    Object(Object),
    /// The operator twice.
    Lines,
    Selected,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Command {
    Move(Motion),
    Operate(Operator, Target),
    Select(Object),
    Visual(bool),
    /// To the other end of the selection.
    Swap,
    Insert(char),
    Put(bool),
    Undo,
    Repeat,
    Replace(char),
    Join,
    Case,
    Search,
    Next(bool),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Parsed {
    /// More keys are to come.
    More,
    Nothing,
    Command(Command, Option<usize>),
}

impl Command {
    /// It is what `.` does again.
    pub(super) fn changes(self) -> bool {
        match self {
            Command::Operate(operator, _) => operator != Operator::Yank,
            Command::Insert(_) | Command::Put(_) | Command::Replace(_) | Command::Join | Command::Case => {
                true
            }
            _ => false,
        }
    }
}

/// The largest count.
const MOST: usize = 9999;

pub(super) fn parse(keys: &[char], visual: bool) -> Parsed {
    let (count, rest) = count(keys);
    let Some((first, after)) = rest.split_first() else { return Parsed::More };
    let whole = |command| Parsed::Command(command, count);
    if let Some(operator) = operator(*first, visual) {
        if visual {
            return whole(Command::Operate(operator, Target::Selected));
        }
        return operated(operator, *first, after, count);
    }
    if visual && matches!(first, 'i' | 'a') {
        return match after.first() {
            None => Parsed::More,
            Some(what) => object(*first, *what).map_or(Parsed::Nothing, |o| whole(Command::Select(o))),
        };
    }
    match motion(rest) {
        Found::Some(motion) => return whole(Command::Move(motion)),
        Found::More => return Parsed::More,
        Found::None => {}
    }
    if let ('r', Some(with)) = (*first, after.first()) {
        return whole(Command::Replace(*with));
    }
    simple(*first, visual).map_or(if *first == 'r' { Parsed::More } else { Parsed::Nothing }, whole)
}

fn simple(key: char, visual: bool) -> Option<Command> {
    let delete = |target| Command::Operate(Operator::Delete, target);
    let motion = Target::Motion;
    Some(match key {
        'x' => delete(motion(Motion::Right)),
        'X' => delete(motion(Motion::Left)),
        'D' => delete(motion(Motion::LineEnd)),
        'C' => Command::Operate(Operator::Change, motion(Motion::LineEnd)),
        's' => Command::Operate(Operator::Change, motion(Motion::Right)),
        'S' => Command::Operate(Operator::Change, Target::Lines),
        'Y' => Command::Operate(Operator::Yank, Target::Lines),
        'i' | 'a' | 'I' | 'A' | 'o' | 'O' if !visual => Command::Insert(key),
        'o' => Command::Swap,
        'p' => Command::Put(false),
        'P' => Command::Put(true),
        'u' => Command::Undo,
        '.' => Command::Repeat,
        'v' => Command::Visual(false),
        'V' => Command::Visual(true),
        'J' => Command::Join,
        '~' => Command::Case,
        '/' => Command::Search,
        'n' => Command::Next(true),
        'N' => Command::Next(false),
        _ => return None,
    })
}

fn operated(operator: Operator, key: char, after: &[char], before: Option<usize>) -> Parsed {
    let (own, rest) = count(after);
    let count = match (before, own) {
        (None, None) => None,
        (a, b) => Some((a.unwrap_or(1) * b.unwrap_or(1)).min(MOST)),
    };
    let whole = |target| Parsed::Command(Command::Operate(operator, target), count);
    match rest {
        [] => Parsed::More,
        [again, ..] if *again == key => whole(Target::Lines),
        ['i' | 'a'] => Parsed::More,
        [kind @ ('i' | 'a'), what, ..] => {
            object(*kind, *what).map_or(Parsed::Nothing, |object| whole(Target::Object(object)))
        }
        _ => match motion(rest) {
            Found::Some(motion) => whole(Target::Motion(motion)),
            Found::More => Parsed::More,
            Found::None => Parsed::Nothing,
        },
    }
}

enum Found {
    Some(Motion),
    More,
    None,
}

fn motion(keys: &[char]) -> Found {
    let found = match keys {
        ['h', ..] => Motion::Left,
        ['l' | ' ', ..] => Motion::Right,
        ['k', ..] => Motion::Up,
        ['j', ..] => Motion::Down,
        ['w', ..] => Motion::Word(true),
        ['b', ..] => Motion::Word(false),
        ['e', ..] => Motion::WordEnd,
        ['0', ..] => Motion::LineStart,
        ['$', ..] => Motion::LineEnd,
        ['^', ..] => Motion::LineText,
        ['g', 'g', ..] => Motion::FirstLine,
        ['g'] => return Found::More,
        ['G', ..] => Motion::LastLine,
        ['f' | 't' | 'F' | 'T'] => return Found::More,
        [kind @ ('f' | 't' | 'F' | 'T'), c, ..] => Motion::To(*kind, *c),
        [';', ..] => Motion::Again(true),
        [',', ..] => Motion::Again(false),
        _ => return Found::None,
    };
    Found::Some(found)
}

fn operator(key: char, visual: bool) -> Option<Operator> {
    Some(match key {
        'd' => Operator::Delete,
        'c' => Operator::Change,
        'y' => Operator::Yank,
        '>' => Operator::Shift(true),
        '<' => Operator::Shift(false),
        'x' if visual => Operator::Delete,
        's' if visual => Operator::Change,
        _ => return None,
    })
}

fn object(kind: char, what: char) -> Option<Object> {
    let what = match what {
        'w' | '"' | '\'' | '`' => what,
        '(' | ')' | 'b' => '(',
        '[' | ']' => '[',
        '{' | '}' | 'B' => '{',
        _ => return None,
    };
    Some(Object { around: kind == 'a', what })
}

fn count(keys: &[char]) -> (Option<usize>, &[char]) {
    let digits =
        if keys.first() == Some(&'0') { 0 } else { keys.iter().take_while(|c| c.is_ascii_digit()).count() };
    let (number, rest) = keys.split_at_checked(digits).unwrap_or((&[], keys));
    let number: String = number.iter().collect();
    let count = (digits > 0).then(|| number.parse().unwrap_or(MOST).min(MOST));
    (count, rest)
}
