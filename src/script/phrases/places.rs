//! What stands in brackets: `x[:, 0]`, `x[1:3]`, `x[::2]`.

use super::book::Idiom;
use super::tree::{Expr, IndexPlace};
use super::writer::{Holds, Writer};

impl Writer<'_> {
    /// A value with what its brackets hold.
    pub(super) fn indexed(&mut self, on: &str, holds: Holds, places: &[IndexPlace]) -> Option<String> {
        match places {
            [IndexPlace::One(Expr::Tuple(all))] => {
                let places: Vec<IndexPlace> = all.iter().cloned().map(IndexPlace::One).collect();
                self.indexed(on, holds, &places)
            }
            [IndexPlace::One(Expr::Name(none))] if none == "None" => {
                self.uses(Idiom::NewAxis);
                Some(format!("{on}.unsqueeze(0)"))
            }
            [IndexPlace::One(at)] => Some(format!("{on}[{}]", self.expr(at)?)),
            [IndexPlace::Slice(from, to, None)] => {
                self.uses(Idiom::Slice);
                let (from, to) = (from.as_ref(), to.as_ref());
                Some(match holds {
                    Holds::Array => format!("{on}.extract({})", self.part(on, from, to)?),
                    Holds::Text => format!("{on}.sub_string({})", self.part(on, from, to)?),
                    _ => format!("{on}[{}]", self.range(from, to)?),
                })
            }
            [IndexPlace::Slice(from, to, Some(step))] => {
                self.stepped(on, holds, (from.as_ref(), to.as_ref(), step))
            }
            [IndexPlace::Dots, none] if is_none(none) => {
                self.uses(Idiom::NewAxis);
                Some(format!("{on}.unsqueeze(-1)"))
            }
            [IndexPlace::Dots, IndexPlace::One(at)] => {
                self.uses(Idiom::Dots);
                Some(format!("{on}.select(-1, {})", self.expr(at)?))
            }
            places if places.iter().any(is_none) => self.with_axes(on, holds, places),
            places => Some(format!("{on}.at({})", self.places(on, places)?)),
        }
    }

    /// `x[:, 0] = 1`: brackets write to one place, `put` to several.
    pub(super) fn assigned(&mut self, on: &str, places: &[IndexPlace], value: &str) -> Option<String> {
        match places {
            [IndexPlace::One(at)] if !matches!(at, Expr::Tuple(_)) => {
                Some(format!("{on}[{}] = {value}", self.expr(at)?))
            }
            [IndexPlace::Slice(from, to, None)] => {
                self.uses(Idiom::Slice);
                Some(format!("{on}[{}] = {value}", self.range(from.as_ref(), to.as_ref())?))
            }
            [IndexPlace::Dots, IndexPlace::One(at)] => {
                self.uses(Idiom::Dots);
                let method = if value.parse::<f64>().is_ok() { "fill_" } else { "copy_" };
                Some(format!("{on}.select(-1, {}).{method}({value})", self.expr(at)?))
            }
            places => {
                let places = self.places(on, places)?;
                self.uses(Idiom::Put);
                self.used.retain(|idiom| *idiom != Idiom::Places);
                Some(format!("{on}.put({places}, {value})"))
            }
        }
    }

    fn places(&mut self, on: &str, places: &[IndexPlace]) -> Option<String> {
        let (mut all, mut stepped) = (Vec::new(), None);
        for (dim, place) in places.iter().enumerate() {
            all.push(match place {
                IndexPlace::One(at) => self.place_of(at)?,
                IndexPlace::Slice(None, None, None) => "()".into(),
                IndexPlace::Slice(from, Some(to), None) => self.range(from.as_ref(), Some(to))?,
                IndexPlace::Slice(Some(from), None, None) => {
                    format!("{}..{on}.size({dim})", self.bound(from, 150)?)
                }
                IndexPlace::Slice(from, to, Some(step)) => {
                    // Two lists of places would be paired.
                    (stepped.replace(dim).is_none()).then_some(())?;
                    self.steps(on, dim, (from.as_ref(), to.as_ref(), step))?
                }
                IndexPlace::Dots => return None,
            });
        }
        self.uses(Idiom::Places);
        Some(format!("[{}]", all.join(", ")))
    }

    /// A place among several; a range lists its own, one for each of the others'.
    fn place_of(&mut self, at: &Expr) -> Option<String> {
        match at {
            Expr::Call(callee, given) if matches!(callee.as_ref(), Expr::Name(name) if name == "range") => {
                Some(format!("arange({})", self.arguments(given)?))
            }
            at => self.expr(at),
        }
    }

    /// The places of a dimension from one on with a step.
    fn steps(
        &mut self,
        on: &str,
        dim: usize,
        (from, to, step): (Option<&Expr>, Option<&Expr>, &Expr),
    ) -> Option<String> {
        self.uses(Idiom::Step);
        (!matches!(step, Expr::Unary("-", _))).then_some(())?;
        let mut end = |end: Option<&Expr>, without: String, is_first: bool| match end {
            None => Some(without),
            Some(end) => match from_end(end) {
                // What there is may be less.
                Some(far) if is_first => Some(format!("max(0, {on}.size({dim}) - {far})")),
                Some(far) => Some(format!("{on}.size({dim}) - {far}")),
                None => self.expr(end),
            },
        };
        let (from, to) = (end(from, "0".into(), true)?, end(to, format!("{on}.size({dim})"), false)?);
        Some(format!("arange({from}, {to}, {})", self.expr(step)?))
    }

    /// `x[:, None]`: what is taken, with an axis for each `None`.
    fn with_axes(&mut self, on: &str, holds: Holds, places: &[IndexPlace]) -> Option<String> {
        let is_whole = |place: &IndexPlace| matches!(place, IndexPlace::Slice(None, None, None));
        let rest: Vec<IndexPlace> = places.iter().filter(|place| !is_none(place)).cloned().collect();
        let mut text =
            if rest.iter().all(is_whole) { on.to_owned() } else { self.indexed(on, holds, &rest)? };
        self.uses(Idiom::NewAxis);
        let mut dim = 0;
        for place in places {
            match place {
                place if is_none(place) => text += &format!(".unsqueeze({dim})"),
                IndexPlace::One(at) if self.kind(at) == Holds::Int => continue,
                IndexPlace::Slice(..) => {}
                // It may be a tensor.
                IndexPlace::One(_) | IndexPlace::Dots => return None,
            }
            dim += 1;
        }
        Some(text)
    }

    /// What `extract` and `sub_string` are given: with numbers they count from the end, with ranges they do not.
    fn part(&mut self, on: &str, from: Option<&Expr>, to: Option<&Expr>) -> Option<String> {
        let mut far = |end: Option<&Expr>| match end {
            Some(Expr::Unary("-", of)) => self.bound(of, 151).map(Some),
            _ => Some(None),
        };
        let (first, last) = (far(from)?, far(to)?);
        Some(match ((from, first), (to, last)) {
            ((_, Some(first)), (None, _)) => format!("-{first}"),
            ((None, _), (_, Some(last))) => format!("0, {on}.len() - {last}"),
            ((_, Some(first)), (_, Some(last))) => match (first.parse::<u32>(), last.parse::<u32>()) {
                (Ok(first), Ok(last)) => format!("-{first}, {}", first.saturating_sub(last)),
                _ => format!("{on}.len() - {first}..{on}.len() - {last}"),
            },
            ((Some(from), None), (_, Some(last))) => {
                format!("{}..{on}.len() - {last}", self.bound(from, 150)?)
            }
            ((_, Some(first)), (Some(to), None)) => format!("{on}.len() - {first}..{}", self.bound(to, 150)?),
            _ => self.range(from, to)?,
        })
    }

    fn range(&mut self, from: Option<&Expr>, to: Option<&Expr>) -> Option<String> {
        let from = from.map_or(Some("0".into()), |from| self.bound(from, 150))?;
        let to = to.map_or(Some(String::new()), |to| self.bound(to, 150))?;
        Some(format!("{from}..{to}"))
    }

    /// With a step: the places are listed.
    fn stepped(
        &mut self,
        on: &str,
        holds: Holds,
        (from, to, step): (Option<&Expr>, Option<&Expr>, &Expr),
    ) -> Option<String> {
        self.uses(Idiom::Step);
        let reversed =
            matches!(step, Expr::Unary("-", one) if matches!(one.as_ref(), Expr::Number(n) if n == "1"));
        if reversed {
            return match holds {
                _ if from.is_some() || to.is_some() => None,
                Holds::Tensor => Some(format!("{on}.flip([0])")),
                Holds::Text => Some(format!("reversed({on}).reduce(|all, c| all + c, \"\")")),
                _ => Some(format!("reversed({on})")),
            };
        }
        let is_far = |end: Option<&Expr>| end.is_some_and(|end| !matches!(end, Expr::Number(_)));
        if matches!(holds, Holds::Array | Holds::Text)
            && (is_far(from) || to.is_some() || holds == Holds::Text)
        {
            let (part, at) = (self.range(from, to)?, self.free_name("at"));
            let text = format!("{on}[{part}].filter(|_x, {at}| {at} % {} == 0)", self.bound(step, 181)?);
            let is_text = holds == Holds::Text;
            return Some(if is_text { format!("{text}.reduce(|all, c| all + c, \"\")") } else { text });
        }
        if holds != Holds::Array && [from, to].into_iter().flatten().any(|end| from_end(end).is_some()) {
            return Some(format!("{on}[{}]", self.steps(on, 0, (from, to, step))?));
        }
        let from = from.map_or(Some("0".into()), |from| self.expr(from))?;
        let whole = if holds == Holds::Array { format!("len({on})") } else { format!("{on}.size(0)") };
        let to = to.map_or(Some(whole), |to| self.expr(to))?;
        let step = self.expr(step)?;
        match holds {
            Holds::Array => Some(format!("range({from}, {to}, {step}).map(|i| {on}[i])")),
            _ => Some(format!("{on}[arange({from}, {to}, {step})]")),
        }
    }
}

fn is_none(place: &IndexPlace) -> bool {
    matches!(place, IndexPlace::One(Expr::Name(name)) if name == "None")
}

/// How far from the end a place is: `2` of `-2`.
fn from_end(place: &Expr) -> Option<&str> {
    match place {
        Expr::Unary("-", of) => match of.as_ref() {
            Expr::Number(far) => Some(far),
            _ => None,
        },
        _ => None,
    }
}
