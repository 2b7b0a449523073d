//! What stands in brackets: `x[:, 0]`, `x[1:3]`, `x[::2]`.

use super::book::Idiom;
use super::tree::{Expr, Place};
use super::writer::{Holds, Writer};

/// A value with what its brackets hold.
pub(super) fn indexed(writer: &mut Writer, on: &str, holds: Holds, places: &[Place]) -> Option<String> {
    match places {
        [Place::One(Expr::Tuple(all))] => {
            let places: Vec<Place> = all.iter().cloned().map(Place::One).collect();
            indexed(writer, on, holds, &places)
        }
        [Place::One(Expr::Name(none))] if none == "None" => {
            writer.uses(Idiom::NewAxis);
            Some(format!("{on}.unsqueeze(0)"))
        }
        [Place::One(at)] => Some(format!("{on}[{}]", writer.expr(at)?)),
        [Place::Slice(from, to, None)] => {
            writer.uses(Idiom::Slice);
            let range = range(writer, from.as_ref(), to.as_ref())?;
            Some(match holds {
                Holds::Array => format!("{on}.extract({range})"),
                Holds::Text => format!("{on}.sub_string({range})"),
                _ => format!("{on}[{range}]"),
            })
        }
        [Place::Slice(from, to, Some(step))] => {
            stepped(writer, on, holds, (from.as_ref(), to.as_ref(), step))
        }
        [Place::Dots, Place::One(at)] => {
            writer.uses(Idiom::Dots);
            Some(format!("{on}.select(-1, {})", writer.expr(at)?))
        }
        places => Some(format!("{on}.at({})", several(writer, on, places)?)),
    }
}

/// `x[:, 0] = 1`: brackets write to one place, `put` to several.
pub(super) fn assigned(writer: &mut Writer, on: &str, places: &[Place], value: &str) -> Option<String> {
    match places {
        [Place::One(at)] if !matches!(at, Expr::Tuple(_)) => {
            Some(format!("{on}[{}] = {value}", writer.expr(at)?))
        }
        [Place::Slice(from, to, None)] => {
            writer.uses(Idiom::Slice);
            Some(format!("{on}[{}] = {value}", range(writer, from.as_ref(), to.as_ref())?))
        }
        places => {
            let places = several(writer, on, places)?;
            writer.uses(Idiom::Put);
            writer.used.retain(|idiom| *idiom != Idiom::Places);
            Some(format!("{on}.put({places}, {value})"))
        }
    }
}

fn several(writer: &mut Writer, on: &str, places: &[Place]) -> Option<String> {
    let mut all = Vec::new();
    for (dim, place) in places.iter().enumerate() {
        all.push(match place {
            Place::One(at) => writer.expr(at)?,
            Place::Slice(None, None, None) => "()".into(),
            Place::Slice(from, Some(to), None) => range(writer, from.as_ref(), Some(to))?,
            Place::Slice(Some(from), None, None) => {
                format!("{}..{on}.size({dim})", writer.bound(from, 150)?)
            }
            Place::Slice(..) | Place::Dots => return None,
        });
    }
    writer.uses(Idiom::Places);
    Some(format!("[{}]", all.join(", ")))
}

fn range(writer: &mut Writer, from: Option<&Expr>, to: Option<&Expr>) -> Option<String> {
    let from = from.map_or(Some("0".into()), |from| writer.bound(from, 150))?;
    let to = to.map_or(Some(String::new()), |to| writer.bound(to, 150))?;
    Some(format!("{from}..{to}"))
}

/// With a step: the places are listed.
fn stepped(
    writer: &mut Writer,
    on: &str,
    holds: Holds,
    (from, to, step): (Option<&Expr>, Option<&Expr>, &Expr),
) -> Option<String> {
    writer.uses(Idiom::Step);
    let reversed =
        matches!(step, Expr::Unary("-", one) if matches!(one.as_ref(), Expr::Number(n) if n == "1"));
    if reversed {
        let whole = from.is_none() && to.is_none() && holds != Holds::Array && holds != Holds::Text;
        return whole.then(|| format!("{on}.flip([0])"));
    }
    let from = from.map_or(Some("0".into()), |from| writer.expr(from))?;
    let to = to.map_or(Some(format!("{on}.size(0)")), |to| writer.expr(to))?;
    let step = writer.expr(step)?;
    match holds {
        Holds::Array | Holds::Text => None,
        _ => Some(format!("{on}[arange({from}, {to}, {step})]")),
    }
}
