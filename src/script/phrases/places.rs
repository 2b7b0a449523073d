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
                // Tensors count from the end as Python does, arrays and texts do not.
                let counted = matches!(holds, Holds::Array | Holds::Text).then_some(on);
                let range = self.range(from.as_ref(), to.as_ref(), counted)?;
                Some(match holds {
                    Holds::Array => format!("{on}.extract({range})"),
                    Holds::Text => format!("{on}.sub_string({range})"),
                    _ => format!("{on}[{range}]"),
                })
            }
            [IndexPlace::Slice(from, to, Some(step))] => {
                self.stepped(on, holds, (from.as_ref(), to.as_ref(), step))
            }
            [IndexPlace::Dots, IndexPlace::One(at)] => {
                self.uses(Idiom::Dots);
                Some(format!("{on}.select(-1, {})", self.expr(at)?))
            }
            places if places.iter().any(is_new) => self.with_new(on, places),
            places => Some(format!("{on}.at({})", self.places(on, places)?)),
        }
    }

    /// Brackets in which `None` makes dimensions: a place with a number takes one away.
    fn with_new(&mut self, on: &str, places: &[IndexPlace]) -> Option<String> {
        let kept: Vec<IndexPlace> = places.iter().filter(|place| !is_new(place)).cloned().collect();
        let whole = |place: &IndexPlace| matches!(place, IndexPlace::Slice(None, None, None));
        let mut text = match kept.iter().all(whole) {
            true => on.to_owned(),
            false => format!("{on}.at({})", self.places(on, &kept)?),
        };
        let mut dim = 0;
        for place in places {
            if is_new(place) {
                text += &format!(".unsqueeze({dim})");
            }
            dim += usize::from(!matches!(place, IndexPlace::One(_)) || is_new(place));
        }
        self.uses(Idiom::NewAxis);
        Some(text)
    }

    /// `x[:, 0] = 1`: brackets write to one place, `put` to several.
    pub(super) fn assigned(&mut self, on: &str, places: &[IndexPlace], value: &str) -> Option<String> {
        match places {
            [IndexPlace::One(at)] if !matches!(at, Expr::Tuple(_)) => {
                Some(format!("{on}[{}] = {value}", self.expr(at)?))
            }
            [IndexPlace::Slice(from, to, None)] => {
                self.uses(Idiom::Slice);
                Some(format!("{on}[{}] = {value}", self.range(from.as_ref(), to.as_ref(), None)?))
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
        let mut all = Vec::new();
        for (dim, place) in places.iter().enumerate() {
            all.push(match place {
                IndexPlace::One(at) => self.expr(at)?,
                IndexPlace::Slice(None, None, None) => "()".into(),
                IndexPlace::Slice(from, Some(to), None) => self.range(from.as_ref(), Some(to), None)?,
                IndexPlace::Slice(Some(from), None, None) => {
                    format!("{}..{on}.size({dim})", self.bound(from, 150)?)
                }
                IndexPlace::Slice(..) | IndexPlace::Dots => return None,
            });
        }
        self.uses(Idiom::Places);
        Some(format!("[{}]", all.join(", ")))
    }

    /// `counted` is what bounds from the end are counted on, where a range does not.
    fn range(&mut self, from: Option<&Expr>, to: Option<&Expr>, counted: Option<&str>) -> Option<String> {
        let mut bound = |bound: &Expr| match (bound, counted) {
            (Expr::Unary("-", back), Some(on)) => Some(format!("len({on}) - {}", self.bound(back, 150)?)),
            _ => self.bound(bound, 150),
        };
        let from = from.map_or(Some("0".into()), &mut bound)?;
        let to = to.map_or(Some(String::new()), bound)?;
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
        let from = from.map_or(Some("0".into()), |from| self.expr(from))?;
        let whole = if holds == Holds::Array { format!("len({on})") } else { format!("{on}.size(0)") };
        let to = to.map_or(Some(whole), |to| self.expr(to))?;
        let step = self.expr(step)?;
        match holds {
            Holds::Array => Some(format!("range({from}, {to}, {step}).map(|i| {on}[i])")),
            Holds::Text => None,
            _ => Some(format!("{on}[arange({from}, {to}, {step})]")),
        }
    }
}

/// `None` in brackets.
fn is_new(place: &IndexPlace) -> bool {
    matches!(place, IndexPlace::One(Expr::Name(none)) if none == "None")
}
