//! Lines that begin with a colon: what is asked of the front end.

use crate::base::near::nearest;

/// A command with what stands behind it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Command<'t> {
    Help(&'t str),
    Time(&'t str),
    TimeIt(&'t str),
    Complete(&'t str),
    Devices,
    Vars,
    Mem,
    /// Over another file where `over` says so.
    Write {
        what: Export,
        path: &'t str,
        over: bool,
    },
    Load(&'t str),
    Reset,
    Restart(&'t str),
    Quit,
}

/// What is written to a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Export {
    Trace,
    Lines,
    MemSnap,
    Cells,
}

/// What writes which file; with `!` behind the name also over another one.
const WRITING: [(&str, Export); 4] = [
    ("trace", Export::Trace),
    ("lines", Export::Lines),
    ("memsnap", Export::MemSnap),
    ("save", Export::Cells),
];

/// The name of what writes a file.
pub(super) fn of(what: Export) -> &'static str {
    WRITING.iter().find(|(_, own)| *own == what).map_or("save", |(name, _)| *name)
}

/// Commands of Python's prompts, and what does the same here.
const ELSEWHERE: [(&str, &str); 10] = [
    ("time", "time"),
    ("timeit", "timeit"),
    ("who", "vars"),
    ("whos", "vars"),
    ("reset", "reset"),
    ("run", "load"),
    ("load", "load"),
    ("save", "save"),
    ("lsmagic", "help"),
    ("magic", "help"),
];

/// Name, what follows it, what it does.
pub(super) const COMMANDS: &[(&str, &str, &str)] = &[
    ("help", "[NAME]", "this list, or the help on a name; so do NAME? and ?NAME"),
    ("time", "CODE", "evaluate, and say how long it took"),
    ("timeit", "CODE", "evaluate often, and say the median and the spread"),
    ("complete", "TEXT", "names that TEXT could become, with how they are called; Tab does it as well"),
    ("devices", "", "the devices with their memory"),
    ("vars", "", "the variables"),
    ("mem", "", "who holds the devices' memory"),
    ("trace", "FILE", "write what happened on the devices so far as a Chrome trace (opens in Perfetto)"),
    ("lines", "FILE", "write what happened on the devices so far as JSON lines, one event a line"),
    ("memsnap", "FILE", "write what the GPUs' allocators hold, for PyTorch's memory viewer"),
    (
        "save",
        "FILE",
        "write the cells that ran to a script; :save! FILE replaces a file, and so do the three before",
    ),
    ("load", "FILE", "run a script here, cell by cell"),
    ("reset", "", "forget every variable and free its memory"),
    ("restart", "[DEVICES]", "end the session and begin a new one, on other devices where they are named"),
    ("quit", "", "leave; so does Ctrl-D"),
];

/// The command of a line, or what is wrong with it; `None` where the line is code.
pub(super) fn parse(line: &str) -> Option<Result<Command<'_>, String>> {
    if let Some(command) = as_elsewhere(line.trim()) {
        return Some(Ok(command));
    }
    if let Some(own) = instead_of(line.trim()) {
        return Some(Err(own));
    }
    let rest = line.trim().strip_prefix(':').filter(|rest| !rest.starts_with(':'))?;
    let (name, argument) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let writes = |name: &&str| WRITING.iter().any(|(known, _)| known == name);
    let (name, over) = match name.strip_suffix('!').filter(writes) {
        Some(name) => (name, true),
        None => (name, false),
    };
    Some(named(name, argument.trim(), over))
}

/// What Python's prompts take: `?`, `help`, `help NAME` and `help(NAME)`.
fn as_elsewhere(line: &str) -> Option<Command<'_>> {
    if line == "?" {
        return Some(Command::Help(""));
    }
    let name = line.strip_prefix("help")?;
    let name = match name.strip_prefix('(').and_then(|name| name.strip_suffix(')')) {
        Some(called) => called.trim(),
        None if name.is_empty() || name.starts_with(char::is_whitespace) => name.trim(),
        None => return None,
    };
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | ':' | '.');
    name.chars().all(is_name).then_some(Command::Help(name))
}

/// What is said of a command of Python's prompts, `%who`.
fn instead_of(line: &str) -> Option<String> {
    let name = line.strip_prefix('%')?.trim_start_matches('%').split_whitespace().next()?;
    let (_, own) = ELSEWHERE.iter().find(|(elsewhere, _)| *elsewhere == name)?;
    let (own, wants, _) = COMMANDS.iter().find(|(known, ..)| known == own)?;
    Some(format!(
        "there is no `%{name}`: {} does it here",
        format!("`:{own} {wants}").trim_end().to_owned() + "`"
    ))
}

fn named<'t>(name: &str, argument: &'t str, over: bool) -> Result<Command<'t>, String> {
    let Some((_, wants, _)) = COMMANDS.iter().find(|(known, ..)| *known == name) else {
        let near = nearest(name, COMMANDS.iter().map(|(known, ..)| *known));
        let near = near.map_or("`:help` lists them".into(), |near| format!("did you mean `:{near}`?"));
        return Err(format!("there is no command `:{name}`; {near}"));
    };
    match (wants.is_empty(), wants.starts_with('['), argument.is_empty()) {
        (true, _, false) => return Err(format!("`:{name}` takes nothing more, not `{argument}`")),
        (false, false, true) => return Err(format!("`:{name}` needs more: `:{name} {wants}`")),
        _ => {}
    }
    if let Some((_, what)) = WRITING.iter().find(|(known, _)| *known == name) {
        let path = argument;
        return Ok(Command::Write { what: *what, path, over });
    }
    Ok(match name {
        "time" => Command::Time(argument),
        "timeit" => Command::TimeIt(argument),
        "complete" => Command::Complete(argument),
        "devices" => Command::Devices,
        "vars" => Command::Vars,
        "mem" => Command::Mem,
        "load" => Command::Load(argument),
        "reset" => Command::Reset,
        "restart" => Command::Restart(argument),
        "quit" => Command::Quit,
        _ => Command::Help(argument),
    })
}

/// The code in what was typed: all of it, or what `:time` is to evaluate; `None` where there is none.
pub(crate) fn code_of(text: &str) -> Option<&str> {
    let start = text.trim_start();
    if !start.starts_with(':') || start.starts_with("::") {
        return Some(text);
    }
    let rest = start.strip_prefix(":timeit").or_else(|| start.strip_prefix(":time"))?;
    rest.starts_with(char::is_whitespace).then_some(rest)
}

/// `?name` and `name?`, which the session answers itself.
pub(crate) fn is_help(code: &str) -> bool {
    let code = code.trim();
    code.starts_with('?') || (code.ends_with('?') && !code.contains(char::is_whitespace))
}

/// Columns that the list of commands takes at most.
const COLUMNS: usize = 78;

/// What a command takes and does.
pub(super) fn about(name: &str) -> Option<String> {
    let (name, wants, text) = COMMANDS.iter().find(|(known, ..)| *known == name)?;
    Some(format!("{}  {text}\n", format!(":{name} {wants}").trim_end()))
}

/// The list of commands and keys.
pub(crate) fn overview() -> String {
    let width = COMMANDS.iter().map(|(name, wants, _)| name.len() + wants.len() + 2).max().unwrap_or(0);
    let mut out = String::new();
    for (name, wants, text) in COMMANDS {
        let call = format!(":{name} {wants}");
        let mut column = 0;
        out += &format!("{call:<width$} ");
        for word in text.split(' ') {
            if column + word.len() + 1 > COLUMNS - width {
                out += &format!("\n{:width$} ", "");
                column = 0;
            }
            out += &format!(" {word}");
            column += word.len() + 1;
        }
        out += "\n";
    }
    out += "
_ is the last value. Code that is not whole goes on in the next line, and so
does a line that ends in \\; two blank lines run it as it is. Alt-Enter breaks
a line anywhere. Tab completes, Ctrl-R searches the history, Ctrl-C clears the
line or interrupts what runs; variables stay. Ctrl-D leaves.
";
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_and_their_arguments() {
        for (line, want) in [
            (":help", Ok(Command::Help(""))),
            (" :help  relu ", Ok(Command::Help("relu"))),
            ("help", Ok(Command::Help(""))),
            ("?", Ok(Command::Help(""))),
            ("help(F::relu)", Ok(Command::Help("F::relu"))),
            ("help stream", Ok(Command::Help("stream"))),
            (":time x @ x", Ok(Command::Time("x @ x"))),
            (":save a b.rhai", Ok(Command::Write { what: Export::Cells, path: "a b.rhai", over: false })),
            (":save! a", Ok(Command::Write { what: Export::Cells, path: "a", over: true })),
            (":rest", Err("there is no command `:rest`; did you mean `:reset`?")),
            (":xyzzy", Err("there is no command `:xyzzy`; `:help` lists them")),
            (":load", Err("`:load` needs more: `:load FILE`")),
            (":vars x", Err("`:vars` takes nothing more, not `x`")),
        ] {
            assert_eq!(parse(line), Some(want.map_err(String::from)), "{line:?}");
        }
        for (line, own) in [
            ("%time 1 + 1", "there is no `%time`: `:time CODE` does it here"),
            ("%%timeit\nf(x)", "there is no `%timeit`: `:timeit CODE` does it here"),
            ("%who", "there is no `%who`: `:vars` does it here"),
        ] {
            assert_eq!(parse(line), Some(Err(own.into())), "{line}");
        }
        for code in [
            "%matplotlib inline",
            "x % who",
            "x",
            "helped",
            "help + 1",
            "help(x + 1)",
            "exit(1)",
            "let help = 2",
        ] {
            assert_eq!(parse(code), None, "{code}");
        }
        for (name, wants, _) in COMMANDS {
            let line = format!(":{name} {}", wants.trim_matches(['[', ']']));
            assert!(matches!(parse(&line), Some(Ok(_))), "{line}");
        }
    }

    #[test]
    fn code_stands_alone_or_behind_a_command() {
        assert_eq!(code_of("x + 1"), Some("x + 1"));
        assert_eq!(code_of(":time x\n+ 1"), Some(" x\n+ 1"));
        assert_eq!(code_of(":timeit x"), Some(" x"));
        assert_eq!((code_of(":timer x"), code_of(":vars")), (None, None));
        assert!(is_help("?relu") && is_help(" F::relu? ") && !is_help("x ? y"));
    }
}
