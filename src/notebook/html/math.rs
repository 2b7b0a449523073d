//! Formulas between `$` as far as letters, raised and lowered parts, fractions and roots go: a page has no script that
//! could draw more. What is not known stands there by its name.

use super::escape::escaped;

/// Parts within parts beyond which the rest is shown as it was written.
const DEEPEST: usize = 24;

/// Commands that are a sign.
const SIGNS: &[(&str, &str)] = &[
    ("cdot", "·"),
    ("times", "×"),
    ("pm", "±"),
    ("le", "≤"),
    ("leq", "≤"),
    ("ge", "≥"),
    ("geq", "≥"),
    ("ne", "≠"),
    ("neq", "≠"),
    ("approx", "≈"),
    ("sim", "∼"),
    ("to", "→"),
    ("rightarrow", "→"),
    ("leftarrow", "←"),
    ("in", "∈"),
    ("infty", "∞"),
    ("sum", "∑"),
    ("prod", "∏"),
    ("int", "∫"),
    ("partial", "∂"),
    ("nabla", "∇"),
    ("odot", "⊙"),
    ("otimes", "⊗"),
    ("ldots", "…"),
    ("dots", "…"),
    ("cdots", "⋯"),
    ("top", "⊤"),
    ("alpha", "α"),
    ("beta", "β"),
    ("gamma", "γ"),
    ("delta", "δ"),
    ("epsilon", "ε"),
    ("varepsilon", "ε"),
    ("eta", "η"),
    ("theta", "θ"),
    ("kappa", "κ"),
    ("lambda", "λ"),
    ("mu", "μ"),
    ("nu", "ν"),
    ("pi", "π"),
    ("rho", "ρ"),
    ("sigma", "σ"),
    ("tau", "τ"),
    ("phi", "φ"),
    ("varphi", "φ"),
    ("chi", "χ"),
    ("psi", "ψ"),
    ("omega", "ω"),
    ("Gamma", "Γ"),
    ("Delta", "Δ"),
    ("Theta", "Θ"),
    ("Lambda", "Λ"),
    ("Sigma", "Σ"),
    ("Phi", "Φ"),
    ("Omega", "Ω"),
    ("quad", " "),
    ("left", ""),
    ("right", ""),
];

/// A formula as HTML.
pub(super) fn render(source: &str) -> String {
    let mut rest = source.trim();
    let mut out = String::new();
    while !rest.is_empty() {
        out += &part(&mut rest, 0);
    }
    out
}

/// The next part: a letter, a number, a sign, a command with what it takes, or what stands in braces.
fn part(rest: &mut &str, depth: usize) -> String {
    let Some(c) = rest.chars().next() else { return String::new() };
    if depth > DEEPEST {
        return escaped(std::mem::take(rest));
    }
    *rest = rest.get(c.len_utf8()..).unwrap_or_default();
    match c {
        '^' => format!("<sup>{}</sup>", part(rest, depth + 1)),
        '_' => format!("<sub>{}</sub>", part(rest, depth + 1)),
        '{' => group(rest, depth + 1),
        '}' => String::new(),
        '\\' => command(rest, depth + 1),
        c if c.is_alphabetic() => format!("<em>{}</em>", escaped(&c.to_string())),
        c => escaped(&c.to_string()),
    }
}

/// What stands in braces, up to the one that closes them.
fn group(rest: &mut &str, depth: usize) -> String {
    let mut out = String::new();
    while !rest.is_empty() {
        if let Some(after) = rest.strip_prefix('}') {
            *rest = after;
            break;
        }
        out += &part(rest, depth);
    }
    out
}

fn command(rest: &mut &str, depth: usize) -> String {
    let end = rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len());
    let (name, after) = rest.split_at_checked(end).unwrap_or_default();
    if name.is_empty() {
        // An escaped sign, or a space.
        let c = rest.chars().next().unwrap_or(' ');
        *rest = rest.get(c.len_utf8()..).unwrap_or_default();
        return if matches!(c, ',' | ';' | ':' | '!') { " ".into() } else { escaped(&c.to_string()) };
    }
    *rest = after;
    match name {
        "frac" => {
            let over = part(rest, depth);
            format!("({over})/({})", part(rest, depth))
        }
        "sqrt" => format!("√({})", part(rest, depth)),
        "text" | "mathrm" | "operatorname" | "mathbf" | "mathbb" | "mathcal" => plain(rest),
        name => {
            let sign = SIGNS.iter().find(|(known, _)| *known == name).map(|(_, sign)| *sign);
            sign.map_or_else(|| escaped(name), str::to_owned)
        }
    }
}

/// What stands in braces, upright and as it is.
fn plain(rest: &mut &str) -> String {
    let Some((inside, after)) = rest.strip_prefix('{').and_then(|text| text.split_once('}')) else {
        return String::new();
    };
    *rest = after;
    escaped(inside)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formulas_are_letters_with_raised_and_lowered_parts() {
        for (source, html) in [
            ("x^2", "<em>x</em><sup>2</sup>"),
            ("w_{ij}", "<em>w</em><sub><em>i</em><em>j</em></sub>"),
            ("\\frac{1}{n} \\sum x", "(1)/(<em>n</em>) ∑ <em>x</em>"),
            ("\\alpha \\le \\text{the rate}", "α ≤ the rate"),
            ("\\sqrt{d}", "√(<em>d</em>)"),
            ("a < b", "<em>a</em> &lt; <em>b</em>"),
            ("\\nosuch{x}", "nosuch<em>x</em>"),
            ("x^", "<em>x</em><sup></sup>"),
            ("}{", ""),
            ("\\", " "),
        ] {
            assert_eq!(render(source), html, "{source}");
        }
    }

    #[test]
    fn parts_without_end_are_shown_as_they_are() {
        for source in ["{".repeat(100_000), "^".repeat(100_000), "\\frac".repeat(20_000)] {
            assert!(render(&source).len() < 2_000_000);
        }
    }
}
