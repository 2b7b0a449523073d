//! The phrase book: what Python's habits are here. One table, of which the answers to errors, the page "Where Rhai differs"
//! and the tests are made.

pub use super::idiom::Idiom;
use super::package_book::OTHERS;
pub use super::phrase::Phrase;
use super::phrase::phrase;
use super::statement_book::STATEMENTS;

/// Every phrase.
pub const BOOK: &[Phrase] =
    &joined::<{ VALUES.len() + STATEMENTS.len() + OTHERS.len() }>([VALUES, STATEMENTS, OTHERS]);

#[allow(clippy::indexing_slicing, reason = "it runs while the program is compiled")]
const fn joined<const N: usize>(parts: [&[Phrase]; 3]) -> [Phrase; N] {
    let mut all = [parts[0][0]; N];
    let (mut at, mut part, mut row) = (0, 0, 0);
    while at < N {
        if row == parts[part].len() {
            (part, row) = (part + 1, 0);
            continue;
        }
        all[at] = parts[part][row];
        (at, row) = (at + 1, row + 1);
    }
    all
}

const VALUES: &[Phrase] = &[
    phrase(Idiom::Let, "a new variable begins with `let`", "", "x = 1", "let x = 1;"),
    phrase(Idiom::Let, "", "", "net = nn::Linear(3, 2)", "let net = nn::Linear(3, 2);"),
    phrase(
        Idiom::Options,
        "options stand in a map at the end",
        "",
        "x = ones(2, 3, device=\"cpu\")",
        "let x = ones(2, 3, #{device: \"cpu\"});",
    ),
    phrase(
        Idiom::Options,
        "",
        "let x = ones(2);",
        "allclose(x, x, rtol: 0.1)",
        "allclose(x, x, #{rtol: 0.1})",
    ),
    phrase(
        Idiom::Options,
        "",
        "let x = ones(2, 3);",
        "x.sum(dim=0, keepdim=True)",
        "x.sum(#{dim: 0, keepdim: true})",
    ),
    phrase(
        Idiom::Options,
        "",
        "let net = nn::Linear(3, 2);",
        "opt = torch.optim.SGD(net.parameters(), lr=0.1)",
        "let opt = optim::SGD(net.parameters(), #{lr: 0.1});",
    ),
    phrase(
        Idiom::Constant,
        "`true`, `false` and `()` are Python's `True`, `False` and `None`",
        "",
        "let done = True",
        "let done = true;",
    ),
    phrase(Idiom::Constant, "", "let x = ();", "x == None", "x == ()"),
    phrase(Idiom::Constant, "", "let x = ();", "x is not None", "x != ()"),
    phrase(Idiom::And, "`&&` is Python's `and`", "let a = true; let b = false;", "a and b", "a && b"),
    phrase(Idiom::Or, "`||` is Python's `or`", "let a = true; let b = false;", "a or b", "a || b"),
    phrase(Idiom::Not, "`!` is Python's `not`", "let a = true;", "not a", "!a"),
    phrase(Idiom::Not, "", "let a = 3;", "if not a == 2: print(a)", "if !(a == 2) { print(a); }"),
    phrase(
        Idiom::IsNot,
        "`!(a is b)` is Python's `a is not b`",
        "let a = ones(2); let b = a;",
        "a is not b",
        "!(a is b)",
    ),
    phrase(Idiom::NotIn, "`!in` is Python's `not in`", "let a = [1];", "3 not in a", "3 !in a"),
    phrase(Idiom::Invert, "`!` turns a mask over", "let m = ones(2) > 0;", "~m", "!m"),
    phrase(
        Idiom::Chained,
        "comparisons are joined by `&&`",
        "let n = 2;",
        "1 < n < 3 and True",
        "1 < n && n < 3 && true",
    ),
    phrase(Idiom::Quotes, "a text stands in double quotes", "", "name = 'hello'", "let name = \"hello\";"),
    phrase(Idiom::Quotes, "", "", "print('it is \"so\"')", "print(\"it is \\\"so\\\"\")"),
    phrase(
        Idiom::Lines,
        "a text over several lines stands between back quotes",
        "",
        "s = \"\"\"one\ntwo\"\"\"",
        "`one",
    ),
    phrase(Idiom::Comment, "a comment begins with `//`", "", "x = 1  # one", "let x = 1; // one"),
    phrase(
        Idiom::Interpolated,
        "values stand in a text between back quotes",
        "let x = 3;",
        "print(f\"x is {x}\")",
        "print(`x is ${x}`)",
    ),
    phrase(
        Idiom::Rounded,
        "`format(x, \".2f\")` is what Python's `{x:.2f}` shows",
        "let loss = 0.12345;",
        "print(f\"{loss:.2f}\")",
        "print(`${format(loss, \".2f\")}`)",
    ),
    phrase(
        Idiom::Format,
        "values stand in a text between back quotes",
        "let a = 1; let b = 2;",
        "print(\"{} and {}\".format(a, b))",
        "print(`${a} and ${b}`)",
    ),
    phrase(
        Idiom::Format,
        "",
        "let a = 1; let b = 2;",
        "print(\"%d of %d\" % (a, b))",
        "print(`${a} of ${b}`)",
    ),
    phrase(
        Idiom::Repeated,
        "what repeats is written out, or made by `map`",
        "",
        "print(\"-\" * 5)",
        "print(\"-----\")",
    ),
    phrase(Idiom::Repeated, "", "", "zeros = [0] * 3", "let zeros = (0..3).map(|_i| 0);"),
    phrase(
        Idiom::Repeated,
        "",
        "let xs = [1, 2];",
        "xs * 2",
        "(0..2).map(|_i| xs).reduce(|all, x| all + x, [])",
    ),
    phrase(
        Idiom::Join,
        "`reduce` puts texts together",
        "let names = [\"a\", \"b\"];",
        "print(\", \".join(names))",
        "print(names.reduce(|all, x| if all == () { x } else { all + \", \" + x }))",
    ),
    phrase(
        Idiom::Method,
        "texts, arrays and maps have methods of other names",
        "let s = \"abc\";",
        "s.upper()",
        "s.to_upper()",
    ),
    phrase(Idiom::Method, "", "let s = \"abc\";", "s.startswith(\"a\")", "s.starts_with(\"a\")"),
    phrase(Idiom::Method, "", "let xs = [1, 2];", "v = xs.pop(0)", "let v = xs.remove(0);"),
    phrase(
        Idiom::Str,
        "`to_string()` is Python's `str`",
        "let n = 3;",
        "print(\"n: \" + str(n))",
        "print(\"n: \" + n.to_string())",
    ),
    phrase(
        Idiom::Number,
        "`to_int()` and `to_float()` are Python's `int` and `float`; `parse_int` reads a text",
        "let x = 3.5;",
        "n = int(x)",
        "let n = x.to_int();",
    ),
    phrase(Idiom::Number, "", "let s = \"3\";", "n = int(s)", "let n = parse_int(s);"),
    phrase(
        Idiom::Type,
        "`type_of(x)` names a type",
        "let x = 3;",
        "isinstance(x, int)",
        "type_of(x) == \"i64\"",
    ),
    phrase(Idiom::Type, "", "let x = ones(2);", "type(x)", "type_of(x)"),
    phrase(
        Idiom::Tuple,
        "arrays are Python's tuples",
        "let x = ones(6);",
        "y = x.view((2, 3))",
        "let y = x.view([2, 3]);",
    ),
    phrase(Idiom::Several, "one name at a time", "", "a, b = 1, 2", "let a = 1;"),
    phrase(Idiom::Several, "", "let a = 1; let b = 2;", "a, b = b, a", "let parts = [b, a];"),
    phrase(Idiom::Several, "", "let xs = [1, 2, 3];", "first, *rest = xs", "let rest = parts.extract(1..);"),
    phrase(
        Idiom::Several,
        "",
        "let x = ones(2, 3);",
        "values, places = x.max(1)",
        "let values = parts.values;",
    ),
    phrase(Idiom::ChainedAssignment, "one name at a time", "", "a = b = 0", "let a = b;"),
    phrase(Idiom::Annotation, "variables and parameters have no types", "", "n: int = 3", "let n = 3;"),
    phrase(Idiom::Places, "several places stand in `at`", "let x = ones(2, 2);", "x[0, 1]", "x.at([0, 1])"),
    phrase(Idiom::Places, "", "let x = ones(2, 2);", "x[:, 0]", "x.at([(), 0])"),
    phrase(Idiom::Places, "", "let x = ones(4, 4);", "x[1:3, 2:]", "x.at([1..3, 2..x.size(1)])"),
    phrase(
        Idiom::Put,
        "`put` writes to several places",
        "let x = ones(2, 2);",
        "x[:, 0] = 5",
        "x.put([(), 0], 5)",
    ),
    phrase(Idiom::Slice, "`1..3` is Python's `1:3`", "let x = ones(4);", "x[1:3]", "x[1..3]"),
    phrase(Idiom::Slice, "", "let x = ones(4);", "x[:2]", "x[0..2]"),
    phrase(Idiom::Slice, "", "let x = ones(4);", "x[1:]", "x[1..]"),
    phrase(Idiom::Slice, "", "let a = [1, 2, 3];", "a[1:]", "a.extract(1..)"),
    phrase(Idiom::Slice, "", "let x = ones(4);", "x[:-1]", "x[0..-1]"),
    phrase(Idiom::Slice, "", "let a = [1, 2, 3];", "a[-2:]", "a.extract(-2)"),
    phrase(Idiom::Slice, "", "let a = [1, 2, 3];", "a[:-1]", "a.extract(0, a.len() - 1)"),
    phrase(Idiom::Slice, "", "let s = \"abc\";", "s[-2:]", "s.sub_string(-2)"),
    phrase(Idiom::Slice, "", "let s = \"abc\";", "s[1:-1]", "s.sub_string(1..s.len() - 1)"),
    phrase(
        Idiom::Step,
        "places with a step are listed by `arange`; `reversed` turns them round",
        "let x = ones(4);",
        "x[::2]",
        "x[arange(0, x.size(0), 2)]",
    ),
    phrase(Idiom::Step, "", "let xs = [1, 2];", "xs[::-1]", "reversed(xs)"),
    phrase(
        Idiom::Dots,
        "`select` takes a dimension from the end",
        "let x = ones(2, 3);",
        "x[..., 0]",
        "x.select(-1, 0)",
    ),
    phrase(
        Idiom::NewAxis,
        "`unsqueeze` is Python's `x[None]`",
        "let x = ones(2);",
        "x[None]",
        "x.unsqueeze(0)",
    ),
    phrase(Idiom::NewAxis, "", "let x = ones(2, 2);", "x[:, None]", "x.unsqueeze(1)"),
    phrase(Idiom::NewAxis, "", "let x = ones(2, 2);", "x[0, :, None]", "x.at([0, ()]).unsqueeze(1)"),
    phrase(
        Idiom::Enumerate,
        "two names take pairs apart",
        "let xs = [5, 6];",
        "for i, x in enumerate(xs): print(i + x)",
        "for (i, x) in enumerate(xs) { print(i + x); }",
    ),
    phrase(
        Idiom::Zip,
        "a loop takes the pairs of `zip` apart",
        "let xs = [1]; let ys = [2];",
        "for x, y in zip(xs, ys): print(x + y)",
        "for (x, y) in zip(xs, ys) { print(x + y); }",
    ),
    phrase(
        Idiom::Unpacked,
        "an item's parts are taken out in the block",
        "let pairs = [[1, 2]];",
        "for a, b in pairs: print(a + b)",
        "for pair in pairs {",
    ),
    phrase(
        Idiom::List,
        "`list()` makes an array, which is written in brackets",
        "",
        "xs = tuple(range(3))",
        "let xs = list(range(3));",
    ),
    phrase(Idiom::Set, "there are no sets: an array", "", "s = {1, 2}", "let s = [1, 2];"),
    phrase(Idiom::Set, "", "", "seen = set()", "let seen = [];"),
    phrase(
        Idiom::Set,
        "",
        "let xs = [1, 1];",
        "s = {x + 1 for x in xs}",
        "xs.map(|x| x + 1).reduce(|all, x| if x in all { all } else { all + [x] }, []);",
    ),
    phrase(Idiom::Dict, "a map begins with `#`", "", "d = {\"a\": 1, \"b\": 2}", "let d = #{a: 1, b: 2};"),
    phrase(Idiom::Dict, "", "", "let d = {a: 1};", "let d = #{a: 1};"),
    phrase(Idiom::Dict, "", "", "d = dict(a=1, b=2)", "let d = #{a: 1, b: 2};"),
    phrase(
        Idiom::GetDefault,
        "`??` stands before what holds where there is nothing",
        "let d = #{a: 1};",
        "d.get(\"b\", 0)",
        "d.get(\"b\") ?? 0",
    ),
    phrase(Idiom::Append, "`push` adds one item to an array", "let xs = [1];", "xs.append(2)", "xs.push(2)"),
    phrase(Idiom::Append, "", "let xs = [];", "xs.append((1, 0.5))", "xs.push([1, 0.5])"),
    phrase(
        Idiom::InPlace,
        "`replace` and `trim` change the text itself, and give nothing",
        "let s = \" hello \";",
        "out = s.strip()",
        "let out = { let text = s; text.trim(); text };",
    ),
    phrase(
        Idiom::Remove,
        "`remove` takes the place, and `index_of` finds it",
        "let xs = [\"a\", \"b\"];",
        "xs.remove(\"b\")",
        "xs.remove(xs.index_of(\"b\"))",
    ),
    phrase(
        Idiom::Comprehension,
        "`map` and `filter` make an array of another",
        "let xs = [1, 2];",
        "ys = [x * 2 for x in xs if x > 1]",
        "let ys = xs.filter(|x| x > 1).map(|x| x * 2);",
    ),
    phrase(Idiom::Comprehension, "", "", "sq = [i * i for i in range(3)]", "let sq = (0..3).map(|i| i * i);"),
    phrase(
        Idiom::Comprehension,
        "",
        "let xs = [1, 2];",
        "d = {x: x * 2 for x in xs}",
        "let d = xs.reduce(|all, x| { all[`${x}`] = x * 2; all }, #{});",
    ),
    phrase(
        Idiom::Comprehension,
        "",
        "let pairs = [[1, 2]];",
        "[a for a, b in pairs]",
        "pairs.map(|pair| { let a = pair[0]; let b = pair[1]; a })",
    ),
    phrase(
        Idiom::AnyAll,
        "`some` and `all` are Python's `any` and `all`",
        "let xs = [2, 1];",
        "any(x > 1 for x in xs)",
        "xs.some(|x| x > 1)",
    ),
    phrase(
        Idiom::MapOf,
        "`map` and `filter` are methods",
        "let xs = [2, 1];",
        "ys = map(lambda x: x + 1, xs)",
        "let ys = xs.map(|x| x + 1);",
    ),
    phrase(Idiom::MapOf, "", "let xs = [1];", "list(map(str, xs))", "list(xs.map(|x| x.to_string()))"),
    phrase(
        Idiom::Copy,
        "arrays and maps are copied on assignment",
        "let xs = [2, 1];",
        "ys = xs.copy()",
        "let ys = xs;",
    ),
    phrase(
        Idiom::Copied,
        "an array or a map is copied into a variable, a loop and a function: what changes it there gives it back",
        "",
        "def add(xs, x):\n    xs.append(x)\nxs = []\nadd(xs, 1)",
        "xs = add(xs, 1)",
    ),
];

/// What is told of an idiom.
pub(super) fn note(idiom: Idiom) -> &'static str {
    let told = |phrase: &&Phrase| phrase.idiom == idiom && !phrase.note.is_empty();
    BOOK.iter().find(told).map_or("", |phrase| phrase.note)
}
