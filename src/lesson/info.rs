//! The line after a code fence: a language, a role, and the role's attributes.

use crate::base::near;

/// What a code block is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Run,
    Hidden,
    Predict,
    Quiz,
    Exercise,
    Check,
    Solution,
    Wrong,
    Hint,
}

/// A role with its attributes as written.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Info {
    pub role: Role,
    pub attributes: Vec<Attribute>,
    /// What is wrong with one of them, though the role is plain.
    pub fault: Option<InfoFault>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Attribute {
    pub name: String,
    pub value: String,
    /// Characters before the attribute.
    pub column: usize,
}

/// A fault in the line, with the characters that stand before it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct InfoFault {
    pub column: usize,
    pub message: String,
    pub hint: String,
}

struct RoleRow {
    role: Role,
    language: &'static str,
    word: &'static str,
    attributes: &'static [&'static str],
}

const fn row(
    role: Role,
    language: &'static str,
    word: &'static str,
    attributes: &'static [&'static str],
) -> RoleRow {
    RoleRow { role, language, word, attributes }
}

/// Every role: the block's language, the word after it, the attributes it may have.
const ROLES: [RoleRow; 9] = [
    row(Role::Run, "rhai", "run", &["id"]),
    row(Role::Hidden, "rhai", "hidden", &[]),
    row(Role::Predict, "toml", "predict", &["id"]),
    row(Role::Quiz, "toml", "quiz", &["id"]),
    row(Role::Exercise, "rhai", "exercise", &["id", "points", "devices", "changes"]),
    row(Role::Check, "rhai", "check", &["devices"]),
    row(Role::Solution, "rhai", "solution", &[]),
    row(Role::Wrong, "rhai", "wrong", &["because", "devices"]),
    row(Role::Hint, "hint", "", &[]),
];

impl Role {
    /// The role's word: `run`, `predict`, `hint`.
    pub(super) fn word(self) -> &'static str {
        let row = ROLES.iter().find(|row| row.role == self);
        row.map_or("", |row| if row.word.is_empty() { row.language } else { row.word })
    }

    /// Whether blocks of this role belong to the exercise before them.
    pub(crate) fn is_part(self) -> bool {
        matches!(self, Role::Check | Role::Solution | Role::Wrong | Role::Hint)
    }
}

impl Info {
    /// Reads what stands after the fence. `Ok(None)` is an ordinary code block.
    pub(super) fn parse(info: &str) -> Result<Option<Info>, InfoFault> {
        let trimmed = info.trim_start();
        let indent = info.chars().count() - trimmed.chars().count();
        let (language, rest) = split_word(trimmed);
        let before_rest = indent + language.chars().count();
        let word = split_word(rest.trim_start()).0;
        let word_column = before_rest + leading_spaces(rest);
        let known =
            ROLES.iter().find(|row| row.language == language && (row.word.is_empty() || row.word == word));
        let Some(row) = known else {
            let fault =
                stray(language, indent, word, word_column).or_else(|| foreign(language, indent, rest));
            return fault.map_or(Ok(None), Err);
        };
        let (skip, column) = match row.word {
            "" => (rest, before_rest),
            word => {
                (rest.trim_start().get(word.len()..).unwrap_or_default(), word_column + word.chars().count())
            }
        };
        let attributes = attributes(skip, column)?;
        let fault = check_attributes(row, &attributes).err();
        Ok(Some(Info { role: row.role, attributes, fault }))
    }

    pub(super) fn get(&self, name: &str) -> Option<&Attribute> {
        self.attributes.iter().find(|a| a.name == name)
    }
}

/// The fault of a block that has no role but looks as though it was meant to have one.
fn stray(language: &str, indent: usize, word: &str, column: usize) -> Option<InfoFault> {
    let fault = |column, message, hint| Some(InfoFault { column, message, hint });
    if let Some(row) = ROLES.iter().find(|row| row.word == language && !language.is_empty()) {
        return fault(
            indent,
            format!("`{language}` is a role, not a language"),
            format!("write ```{} {language}", row.language),
        );
    }
    let is_ours = matches!(language, "rhai" | "toml");
    if let Some(row) = ROLES.iter().find(|row| row.word == word && !word.is_empty()) {
        if !is_ours {
            return None;
        }
        return fault(
            indent,
            format!("a `{word}` block is written in {}", row.language),
            format!("write ```{} {word}", row.language),
        );
    }
    if language == "rhai" && word == "hint" {
        return fault(indent, "a hint is text, not rhai".to_owned(), "write ```hint".to_owned());
    }
    let is_word = !word.is_empty() && word.bytes().all(|b| b.is_ascii_alphabetic());
    if !is_ours || !is_word {
        return None;
    }
    let roles: Vec<&str> = ROLES.iter().filter(|row| row.language == language).map(|row| row.word).collect();
    fault(
        column,
        format!("`{word}` is not a role of {language} blocks"),
        near::suggestion(word, &roles, "the roles"),
    )
}

/// The fault of a block in another language, or with words run together, that looks as though it was meant to have a
/// role: without this the step would be text, and nobody would miss it.
fn foreign(language: &str, indent: usize, rest: &str) -> Option<InfoFault> {
    let fault = |message: String, hint: String| Some(InfoFault { column: indent, message, hint });
    let languages = ["rhai", "toml", "hint"];
    let same = |name: &str| languages.into_iter().find(|known| known.eq_ignore_ascii_case(name));
    // Other words are near `hint`: a language of their own, such as mint.
    let slips = ["hints", "hin", "hnit", "hitn", "ihnt"];
    let meant = |name: &str| {
        let near = near::nearest(name, languages).filter(|known| *known != "hint" || slips.contains(&name));
        same(name).or(near)
    };
    let word = split_word(rest.trim_start()).0;
    let has_id = rest.split_whitespace().any(|word| word.starts_with("id="));
    if let Some((first, second)) = language.split_once([',', ':', ';', '{', '.']) {
        let row =
            ROLES.iter().find(|row| !row.word.is_empty() && row.word == second.trim_end_matches('}'))?;
        meant(first)?;
        let message = format!("`{language}` is one word, and no language");
        return fault(message, format!("put a space between: ```{} {}", row.language, row.word));
    }
    if matches!(language, "rhai" | "toml") {
        let message = "a block with an id has a role before it".to_owned();
        return if has_id { fault(message, format!("write ```{language} ROLE id=\"…\"")) } else { None };
    }
    let row = ROLES.iter().find(|row| !row.word.is_empty() && row.word.eq_ignore_ascii_case(word));
    let words = ROLES.iter().map(|row| row.word).filter(|word| !word.is_empty());
    let role = row.map(|row| row.word).or_else(|| near::nearest(word, words));
    let guess = meant(language).filter(|known| match *known {
        "hint" => word.is_empty(),
        _ => has_id || role.is_some(),
    });
    let message = format!("`{language}` is not the language of a block with a role");
    match (guess, row) {
        (Some("hint"), _) => fault(format!("`{language}` is no role"), "did you mean `hint`?".to_owned()),
        (Some(known), _) => fault(message, format!("did you mean `{known}`?")),
        (None, Some(row)) => {
            let (language, word) = (row.language, row.word);
            fault(
                message,
                format!("write ```{language} {word}; a block that is only shown goes without `{word}`"),
            )
        }
        (None, None) => None,
    }
}

/// `id="a" points=2`, each with the characters before it.
fn attributes(written: &str, mut column: usize) -> Result<Vec<Attribute>, InfoFault> {
    let mut found = Vec::new();
    let mut rest = written;
    loop {
        column += leading_spaces(rest);
        rest = rest.trim_start();
        if rest.is_empty() {
            return Ok(found);
        }
        let (attribute, after) = attribute(rest, column)?;
        column += rest.chars().count() - after.chars().count();
        rest = after;
        found.push(attribute);
    }
}

fn attribute(written: &str, column: usize) -> Result<(Attribute, &str), InfoFault> {
    let fault = |message: String, hint: &str| InfoFault { column, message, hint: hint.to_owned() };
    let length =
        written.find(|c: char| !c.is_alphanumeric() && c != '_' && c != '-').unwrap_or(written.len());
    let (name, after) = written.split_at_checked(length).unwrap_or((written, ""));
    if let Some(list) = list(after).filter(|_| !name.is_empty()) {
        let end = list.find(']').ok_or_else(|| {
            fault(format!("the list of `{name}` has no closing bracket"), "write it as name = [\"a\", \"b\"]")
        })?;
        let (value, rest) = list.split_at_checked(end).unwrap_or((list, ""));
        let value = format!("[{value}]");
        let rest = rest.strip_prefix(']').unwrap_or(rest);
        return Ok((Attribute { name: name.to_owned(), value, column }, rest));
    }
    let Some(value) = after.strip_prefix('=').filter(|_| !name.is_empty()) else {
        let word = split_word(written).0;
        return Err(fault(
            format!("`{word}` is not an attribute"),
            "attributes are written name=\"value\", without spaces around the =",
        ));
    };
    let (value, rest) = match value.strip_prefix('"') {
        Some(quoted) => unquote(quoted).ok_or_else(|| {
            fault(
                format!("the value of `{name}` has no closing quotation mark"),
                "write it as name=\"value\"; a quotation mark inside is \\\"",
            )
        })?,
        None => {
            let (word, rest) = split_word(value);
            (word.to_owned(), rest)
        }
    };
    if !rest.is_empty() && !rest.starts_with(char::is_whitespace) {
        return Err(fault(
            format!("something stands right after the value of `{name}`"),
            "put a space between attributes",
        ));
    }
    let attribute = Attribute { name: name.to_owned(), value, column };
    Ok((attribute, rest))
}

/// What stands after the bracket of `= [`, with or without spaces.
fn list(text: &str) -> Option<&str> {
    text.trim_start().strip_prefix('=')?.trim_start().strip_prefix('[')
}

/// The text up to the closing quotation mark, and what follows it.
fn unquote(quoted: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut chars = quoted.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return Some((value, quoted.get(at + 1..)?)),
            '\\' => match chars.next()?.1 {
                escaped @ ('"' | '\\') => value.push(escaped),
                other => value.extend(['\\', other]),
            },
            _ => value.push(c),
        }
    }
    None
}

fn check_attributes(row: &RoleRow, attributes: &[Attribute]) -> Result<(), InfoFault> {
    for (place, attribute) in attributes.iter().enumerate() {
        let name = attribute.name.as_str();
        let fault = |message: String, hint: String| InfoFault { column: attribute.column, message, hint };
        let role = row.role.word();
        if !row.attributes.contains(&name) {
            let hint = match row.attributes {
                [] => format!("a `{role}` block has no attributes"),
                known => near::suggestion(name, known, "the attributes here"),
            };
            return Err(fault(format!("unknown attribute `{name}` of `{role}`"), hint));
        }
        if attributes.iter().take(place).any(|a| a.name == name) {
            return Err(fault(format!("attribute `{name}` is given twice"), "keep one of them".to_owned()));
        }
    }
    Ok(())
}

fn split_word(text: &str) -> (&str, &str) {
    let end = text.find(char::is_whitespace).unwrap_or(text.len());
    text.split_at_checked(end).unwrap_or((text, ""))
}

fn leading_spaces(text: &str) -> usize {
    text.chars().take_while(|c| c.is_whitespace()).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(info: &str) -> Info {
        Info::parse(info).unwrap().unwrap()
    }

    fn fault(info: &str) -> InfoFault {
        Info::parse(info).map_or_else(|fault| fault, |info| info.unwrap().fault.unwrap())
    }

    #[test]
    fn every_role_of_the_table_is_read() {
        for row in &ROLES {
            let info = read(format!("{} {}", row.language, row.word).trim());
            assert_eq!(info.role, row.role);
            assert!(info.attributes.is_empty());
        }
    }

    #[test]
    fn attributes_are_quoted_or_bare() {
        let info = read("rhai exercise id=\"one-copy\" points=2");
        assert_eq!(info.role, Role::Exercise);
        assert_eq!(info.get("id").unwrap().value, "one-copy");
        assert_eq!(info.get("points").unwrap().value, "2");
        assert_eq!(info.get("points").unwrap().column, 28);
        for written in ["devices = [\"sim:t4\", \"cpu\"]", "devices=[\"sim:t4\", \"cpu\"]"] {
            let info = read(&format!("rhai exercise id=\"a\" {written} points=2"));
            assert_eq!(info.get("devices").unwrap().value, "[\"sim:t4\", \"cpu\"]");
            assert_eq!(info.get("points").unwrap().value, "2");
        }
        let info = read(r#"rhai  wrong   because="it says \"no\" \\ \n é""#);
        assert_eq!(info.get("because").unwrap().value, r#"it says "no" \ \n é"#);
    }

    #[test]
    fn other_blocks_are_ordinary_text() {
        for info in [
            "",
            "python",
            "rhai",
            "toml",
            "rhai {.numbered}",
            "toml title=\"Cargo.toml\"",
            "sh",
            "text wrapped",
            "console,numbered",
            "rust id=\"go\"",
            "mint",
            "print",
        ] {
            assert_eq!(Info::parse(info), Ok(None), "{info}");
        }
    }

    #[test]
    fn slips_are_named_at_their_column() {
        let slip = fault("rhai exercize id=\"a\"");
        assert_eq!(slip.column, 5);
        assert!(slip.hint.contains("`exercise`"));
        assert!(fault("rhai predict id=\"a\"").message.contains("in toml"));
        assert!(fault("toml run").message.contains("in rhai"));
        assert!(fault("check").hint.contains("```rhai check"));
        assert!(fault("rhai hint").hint.contains("```hint"));
        let unknown = fault("toml quiz ident=\"a\"");
        assert_eq!(unknown.column, 10);
        assert!(unknown.message.contains("unknown attribute `ident`"));
        assert!(fault("rhai solution id=\"a\"").hint.contains("no attributes"));
        assert!(fault("rhai check id=\"a\"").hint.contains("devices"));
        assert!(fault("rhai check devices = [\"a\"").message.contains("no closing bracket"));
        assert!(fault("hint because=\"a\"").message.contains("unknown attribute"));
        assert!(fault("toml quiz id=\"a").message.contains("closing quotation"));
        assert!(fault("toml quiz id = \"a\"").message.contains("not an attribute"));
        assert!(fault("toml quiz id=\"a\" id=\"b\"").message.contains("twice"));
        assert!(fault("toml quiz id=\"a\"b").message.contains("right after"));
        assert!(fault("rhai run here").message.contains("`here`"));
    }

    #[test]
    fn a_slip_in_the_language_does_not_lose_the_step() {
        for (info, column, words) in [
            ("rahi run id=\"go\"", 0, "did you mean `rhai`?"),
            ("Rhai run", 0, "did you mean `rhai`?"),
            (" RHAI exercize id=\"a\"", 1, "did you mean `rhai`?"),
            ("rhai,run", 0, "```rhai run"),
            ("rhai{run}", 0, "```rhai run"),
            ("tmol quiz", 0, "did you mean `toml`?"),
            ("toml,quiz id=\"a\"", 0, "```toml quiz"),
            ("Hint", 0, "did you mean `hint`?"),
            ("python check", 0, "```rhai check"),
            ("sh run", 0, "goes without `run`"),
            ("rhai id=\"go\"", 0, "ROLE id="),
        ] {
            let slip = fault(info);
            assert_eq!(slip.column, column, "{info}");
            assert!(slip.hint.contains(words), "{info}: {slip:?}");
        }
    }
}
