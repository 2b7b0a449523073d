use super::*;
use crate::script::whole::{Wholeness, wholeness};

fn shown(code: &str) -> Vec<(&str, Kind)> {
    pieces(code).into_iter().map(|p| (&code[p.range], p.kind)).collect()
}

#[test]
fn every_token_has_its_bytes() {
    use Kind::*;
    assert_eq!(
        shown("let x = cuda::sum(1..3, -1.5e-3); // ä\n`a ${x + `b`} c` @ y /* z\n */ is 'q'"),
        [
            ("let", Keyword),
            ("x", Name),
            ("=", Symbol),
            ("cuda", Name),
            ("::", Symbol),
            ("sum", Name),
            ("(", Symbol),
            ("1", Number),
            ("..", Symbol),
            ("3", Number),
            (",", Symbol),
            ("-1.5e-3", Number),
            (")", Symbol),
            (";", Symbol),
            ("// ä", Comment),
            ("`a $", Text),
            ("{", Symbol),
            ("x", Name),
            ("+", Symbol),
            ("`b`", Text),
            ("}", Symbol),
            (" c`", Text),
            ("@", Symbol),
            ("y", Name),
            ("/* z\n */", Comment),
            ("is", Keyword),
            ("'q'", Text),
        ]
    );
}

#[test]
fn brackets_find_their_partners_outside_of_strings() {
    let code = "f(\"(\", [1, #{a: 2}])";
    let all = pieces(code);
    assert_eq!(partners(code, &all, 1), Some((1, code.len() - 1)));
    assert_eq!(partners(code, &all, code.len()), Some((1, code.len() - 1)));
    assert_eq!(partners(code, &all, 12), Some((12, 17)));
    assert_eq!(partners("(]", &pieces("(]"), 0), None);
}

#[test]
fn the_parser_tells_what_is_whole() {
    for code in [
        "",
        "1",
        "let x = 1;",
        "let x = 1; // (",
        "with no_grad() { 1 }",
        "a @ b is c",
        "x.var()",
        "net.eval()",
        "`${1}`",
        "f()",
        "_ + 1",
        "opt.step(|| 1)",
        "/* whole */",
        "print(\"(\")",
        "fn f(a) { a }",
    ] {
        assert_eq!(wholeness(code), Wholeness::Whole, "{code}");
    }
    for (code, why) in [
        ("fn f(x) {\n  x", "`{` of line 1 is not closed"),
        ("f(1,", "`(` of line 1 is not closed"),
        ("`a ${1", "a string"),
        ("`over\nlines", "a string"),
        ("\"goes on \\", "a string"),
        ("/* a", "a comment"),
        ("let x =", ""),
        ("1 +", ""),
        ("f(", "`(`"),
        ("[1, 2", "`[`"),
        ("#{a: 1,", "`{`"),
        ("if x > 1 {\n  print(1);", "`{`"),
        ("for i in 0..3", ""),
        ("fn f(a, b)", ""),
        ("fn f(a,", "`(`"),
        ("let y = x.", ""),
        ("cuda::", ""),
        ("with no_grad()", ""),
        ("a @", ""),
        ("f( // a comment", "`(`"),
        ("let f = |x| {", "`{`"),
        ("switch x {", "`{`"),
        ("x[", "`[`"),
        ("f(_,", "`(`"),
        ("try { 1 }", ""),
    ] {
        match wholeness(code) {
            Wholeness::Incomplete(reason) => assert!(reason.contains(why), "{code}: {reason}"),
            other => panic!("{code}: {other:?}"),
        }
    }
    assert!(matches!(wholeness("let 3 = 4;\nlet y = 1;"), Wholeness::Wrong(Some(1), _)));
    for code in [
        "f(1))",
        "let x = 1)",
        "let = 3",
        "let x = ;",
        "\"never closed",
        "f(\"never closed\n",
        "}",
        "let x = 1 let y = 2",
    ] {
        assert!(matches!(wholeness(code), Wholeness::Wrong(..)), "{code}: {:?}", wholeness(code));
    }
}

#[test]
fn the_open_call_is_found() {
    let call = |code: &str| call_at(code, code.len());
    let found = call("let y = nn::Linear(3, #{bi").unwrap();
    assert_eq!((found.name.as_str(), found.argument, found.options), ("nn::Linear", 1, true));
    let found = call("f(x.sum(0, g(1), ").unwrap();
    assert_eq!((found.name.as_str(), found.argument, found.method, found.options), ("sum", 2, true, false));
    assert_eq!(call("f(1)"), None);
    assert_eq!(call("fn f(a, "), None);
    assert_eq!(call("f(\"a"), None);
    assert_eq!(call("f([1, "), None);
}

#[test]
fn names_and_what_binds_them() {
    assert_eq!(name_at("x + F::relu(y)", 8).as_deref(), Some("F::relu"));
    assert_eq!(name_at("x + F::relu(y)", 4).as_deref(), Some("F"));
    assert_eq!(name_at("1 + 2", 2), None);
    let code = "let a = 1; const B = 2; fn f(p, q) { p } for (i, n) in a { } map(|z, w| z | w); a | b";
    assert_eq!(bound(code), ["a", "B", "f", "p", "q", "i", "n", "z", "w"]);
}

#[test]
fn what_is_cut_off_anywhere_is_read_to_its_end() {
    let code = "let a = `x ${ f(\"y\", 'c') + `z ${1}` } w`; /* b /* c */ */ #{k: \"v\\n\"} // d";
    for (end, _) in code.char_indices() {
        let cut = &code[..end];
        let read: usize = pieces(cut).iter().map(|piece| piece.range.len()).sum();
        assert!(read <= cut.len(), "{cut}");
        open(cut);
        wholeness(cut);
    }
}

#[test]
fn threads_that_read_at_once_read_the_same() {
    let start = std::sync::Barrier::new(4);
    std::thread::scope(|scope| {
        for code in ["net.eval()", "x.sum().mean()", "net.eval().to(d)", "let y = a + b - c * d;"] {
            let start = &start;
            scope.spawn(move || {
                start.wait();
                for _ in 0..2000 {
                    assert_eq!(wholeness(code), Wholeness::Whole, "{code}");
                }
            });
        }
    });
}
