//! `deque(maxlen=n)`: an array, from whose other end goes what is more, and records with names, `namedtuple`, which are maps.

use super::book::Idiom;
use super::kinds::place;
use super::names;
use super::reserved;
use super::statements::Statements;
use super::tree::{Arg, Expr};
use super::writer::{ATOM, Holds, Writer};

impl Statements<'_, '_, '_> {
    /// Notes how much a list may hold; gives the line that keeps the number where an object has the list.
    pub(super) fn note_most(&mut self, own: &str, value: &Expr) -> Option<String> {
        self.writer.most.remove(own);
        let most = self.writer.most_of(value)?;
        let text = self.writer.expr(most)?;
        self.writer.keeps_most(own, most).then_some(())?;
        if matches!(most, Expr::Number(_)) || !own.starts_with("self.") {
            self.writer.most.insert(own.to_owned(), text);
            return None;
        }
        let field = format!("{own}_most");
        let line = format!("{field} = {text};");
        self.writer.most.insert(own.to_owned(), field);
        Some(line)
    }

    /// `memory.append(x)`, and what is more goes.
    pub(super) fn within_most(&mut self, value: &Expr) -> Option<Vec<String>> {
        let Expr::Call(callee, _) = value else { return None };
        let Expr::Attr(on, name) = callee.as_ref() else { return None };
        let most = self.writer.most.get(&place(on)?).cloned()?;
        let (word, goes) = match name.as_str() {
            "append" => ("if", "remove(0)"),
            "appendleft" => ("if", "pop()"),
            "extend" => ("while", "remove(0)"),
            _ => return None,
        };
        let (text, of) = (self.writer.expr(value)?, self.writer.on(on)?);
        Some(vec![format!("{text};"), format!("{word} {of}.len() > {most} {{ {of}.{goes}; }}")])
    }

    /// `Point = namedtuple("Point", ["x", "y"])`: what makes such a map.
    pub(super) fn record(&mut self, target: &Expr, value: &Expr) -> Option<Vec<String>> {
        let Expr::Name(name) = target else { return None };
        let fields = self.writer.fields_of_record(value)?;
        self.writer.uses(Idiom::Dict);
        self.writer.functions.insert(name.clone(), fields.clone());
        self.writer.records.insert(name.clone());
        let pairs: Vec<String> = fields.iter().map(|field| format!("{field}: {field}")).collect();
        let text = format!("|{}| #{{{}}}", fields.join(", "), pairs.join(", "));
        Some(vec![self.one(target, &text, Holds::Closure)?])
    }
}

impl Writer<'_> {
    /// How much `deque(items, maxlen=n)` holds.
    fn most_of<'v>(&self, value: &'v Expr) -> Option<&'v Expr> {
        let given = self.given_to("collections.deque", value)?;
        let most = match given {
            [_, Arg { name: None, value, .. }] => value,
            all => &all.iter().find(|own| own.name.as_deref() == Some("maxlen"))?.value,
        };
        (!matches!(most, Expr::Name(none) if none == "None")).then_some(most)
    }

    /// Whether what a list may hold is known wherever the list is.
    fn keeps_most(&self, own: &str, most: &Expr) -> bool {
        matches!(most, Expr::Number(_)) || !own.starts_with("self.") || self.objects.contains("self")
    }

    /// What makes a list without how much it may hold, where that is noted beside it.
    pub(super) fn without_most(&self, target: &Expr, value: &Expr) -> Option<Expr> {
        let most = self.most_of(value)?;
        let Expr::Call(callee, given) = value else { return None };
        self.keeps_most(&place(target)?, most).then_some(())?;
        let items = given.iter().take(1).filter(|own| own.name.is_none()).cloned();
        Some(Expr::Call(callee.clone(), items.collect()))
    }

    /// What a function of a package is given, where a value is what it gives.
    fn given_to<'v>(&self, function: &str, value: &'v Expr) -> Option<&'v [Arg]> {
        let Expr::Call(callee, given) = value else { return None };
        let path = self.path(callee)?;
        let is_own = path.first().is_some_and(|name| self.functions.contains_key(name));
        (!is_own && names::full(&path, &self.imports)? == function).then_some(given)
    }

    fn fields_of_record(&self, value: &Expr) -> Option<Vec<String>> {
        let given = self.given_to("collections.namedtuple", value)?;
        let [_, Arg { name: None, value: fields, .. }] = given else { return None };
        let bare = |raw: &str| raw.trim_matches(['"', '\'']).to_owned();
        let fields: Vec<String> = match fields {
            Expr::Text(raw) => {
                bare(raw).split([' ', ',']).filter(|part| !part.is_empty()).map(str::to_owned).collect()
            }
            Expr::Tuple(all) | Expr::List(all) => {
                let one = |item: &Expr| match item {
                    Expr::Text(raw) => Some(bare(raw)),
                    _ => None,
                };
                all.iter().map(one).collect::<Option<_>>()?
            }
            _ => return None,
        };
        let are_names = |field: &String| {
            field.chars().all(|c| c.is_alphanumeric() || c == '_') && !reserved::is_kept(field)
        };
        (!fields.is_empty() && fields.iter().all(are_names)).then_some(fields)
    }

    /// `Point(*zip(*points))`: a map of the arrays that each field has.
    pub(super) fn record_of_columns(&mut self, name: &str, arguments: &[Arg]) -> Option<(String, u8)> {
        self.records.contains(name).then_some(())?;
        let [Arg { spread: true, name: None, value: Expr::Call(zip, rows) }] = arguments else { return None };
        let [Arg { spread: true, name: None, value: rows }] = rows.as_slice() else { return None };
        matches!(zip.as_ref(), Expr::Name(zip) if zip == "zip").then_some(())?;
        let fields = self.functions.get(name)?.clone();
        let (rows, row) = (self.on(rows)?, self.free_name("row"));
        let is_name = rows.chars().all(|c| c.is_alphanumeric() || c == '_');
        is_name.then_some(())?;
        self.uses(Idiom::Zip);
        let all = fields.iter().map(|field| format!("{field}: {rows}.map(|{row}| {row}.{field})"));
        Some((format!("#{{{}}}", all.collect::<Vec<_>>().join(", ")), ATOM))
    }

    /// What NumPy's functions that draw are given, with `size=` at the end; none where something has another name.
    pub(super) fn with_size(&mut self, full: &str, arguments: &[Arg]) -> Option<Option<Vec<Arg>>> {
        let is_named = arguments.iter().any(|own| own.name.is_some());
        if !is_named || !full.starts_with("numpy.random.") || full == "numpy.random.choice" {
            return Some(None);
        }
        let mut all = Vec::new();
        // One number is the end of what is drawn from.
        if full == "numpy.random.randint" && arguments.iter().filter(|own| own.name.is_none()).count() == 1 {
            all.push(Arg { name: None, spread: false, value: Expr::Number("0".into()) });
        }
        for own in arguments {
            let value = match (own.name.as_deref(), &own.value) {
                (Some("size"), Expr::Tuple(sides)) => Expr::Rhai(self.each(sides)?),
                (None | Some("size"), value) => value.clone(),
                _ => return None,
            };
            all.push(Arg { name: None, spread: own.spread, value });
        }
        Some(Some(all))
    }

    /// What NumPy draws: of numbers up to one, or of the items of a list.
    pub(super) fn drawn(&mut self, full: &str, arguments: &[Arg]) -> Option<String> {
        let option = |name: &str| {
            let found = arguments.iter().find(|own| own.name.as_deref() == Some(name));
            found.map(|own| &own.value)
        };
        let known = |own: &Arg| {
            !own.spread && own.name.as_deref().is_none_or(|name| matches!(name, "size" | "replace" | "p"))
        };
        let [Arg { name: None, value: of, .. }, rest @ ..] = arguments else { return None };
        arguments.iter().all(known).then_some(())?;
        let positional = rest.first().filter(|own| own.name.is_none()).map(|own| &own.value);
        let holds = self.kind(of);
        let text = self.bound(of, ATOM)?;
        let (items, count) = match holds {
            Holds::Array | Holds::Tensor | Holds::Map => (true, format!("{text}.len()")),
            Holds::Int => (false, text.clone()),
            _ => {
                self.mark(&format!("of the items of an array, `{text}.len()` says how many there are"));
                (false, text.clone())
            }
        };
        let x = self.free_name("i");
        if full == "numpy.random.permutation" {
            return Some(match items {
                true => format!("randperm({count}).tolist().map(|{x}| {text}[{x}])"),
                false => format!("randperm({count})"),
            });
        }
        let is_false = |value: &Expr| matches!(value, Expr::Name(name) if name == "False");
        let once = option("replace").is_some_and(is_false);
        let size = option("size").or(positional);
        let places = match (size, option("p")) {
            (None, None) => format!("randint(0, {count}, [1])"),
            (size, Some(chances)) => {
                let size = size.map_or(Some("1".into()), |size| self.expr(size))?;
                let chances = self.expr(chances)?;
                let again = if once { "" } else { ", #{replacement: true}" };
                format!("multinomial(tensor({chances}), {size}{again})")
            }
            (Some(size), None) if once => format!("randperm({count})[0..{}]", self.bound(size, 150)?),
            (Some(size), None) => format!("randint(0, {count}, [{}])", self.expr(size)?),
        };
        Some(match (items, size.is_some()) {
            (false, false) => format!("{places}.item()"),
            (false, true) => places,
            (true, false) => format!("{text}[{places}.item()]"),
            (true, true) => format!("{places}.tolist().map(|{x}| {text}[{x}])"),
        })
    }
}
