//! What Python would do otherwise in silence is written so that it gives what it gives here.

use super::{Translation, translate};

/// The Python of some code, without its imports and what is written along.
fn python(code: &str) -> String {
    let all = translate(code);
    let mut lines: Vec<&str> = Vec::new();
    let mut along = false;
    for line in all.lines().skip_while(|line| line.starts_with("import ") || line.starts_with("from ")) {
        along = line.starts_with("def _") || along && (line.starts_with(' ') || line.is_empty());
        if !along {
            lines.push(line);
        }
    }
    lines.join("\n").trim_start().to_owned()
}

fn same(cases: &[(&str, &str)]) {
    for (code, want) in cases {
        assert_eq!(python(code), *want, "{code}");
    }
}

#[test]
fn arrays_have_their_methods() {
    same(&[
        ("xs.map(f)", "[f(item) for item in xs]"),
        ("xs.map(|x, i| x * i)", "[x * i for i, x in enumerate(xs)]"),
        (
            "xs.map(|x| { let y = x; y })",
            "def function_1(x):\n    y = x\n    return y\n[function_1(item) for item in xs]",
        ),
        ("xs.reduce(|s, x| s + x, 0)", "functools.reduce(lambda s, x: s + x, xs, 0)"),
        ("xs.reduce(f)", "functools.reduce(f, xs, None)"),
        ("xs.extract(1, 2)", "xs[1:3]"),
        ("xs.extract(1)", "xs[1:]"),
        ("xs.extract(-3, n)", "xs[-3:][:n]"),
        ("xs.all(|x| x > 0)", "all(x > 0 for x in xs)"),
        ("x.all(1)", "x.all(1)"),
        ("xs.some(|x| x > 0)", "any(x > 0 for x in xs)"),
        ("xs.find(|x| x > 1)", "next((x for x in xs if x > 1), None)"),
        ("xs.index_of(|x| x > 1)", "next((place for place, x in enumerate(xs) if x > 1), -1)"),
        ("let a = [1]; a.index_of(2)", "a = [1]\na.index(2) if 2 in a else -1"),
        ("xs.splice(0, 2, [9]);", "xs[:2] = [9]"),
        ("xs.drain(|x| x > 1);", "xs[:] = [x for x in xs if not (x > 1)]"),
        (
            "let gone = xs.drain(|x| x > 1);",
            "taken_1 = [x for x in xs if x > 1]\nxs[:] = [x for x in xs if not (x > 1)]\ngone = taken_1",
        ),
        ("xs.retain(|x| x > 1);", "xs[:] = [x for x in xs if x > 1]"),
        ("let top = xs.pop();", "top = xs.pop() if xs else None"),
        ("xs.pop();", "xs.pop()"),
        ("let first = xs.shift();", "first = xs.pop(0) if xs else None"),
        ("xs.truncate(2);", "del xs[2:]"),
        ("xs.chop(2);", "del xs[:max(len(xs) - 2, 0)]"),
        ("xs.pad(4, 0);", "xs += [0] * (4 - len(xs))"),
        ("xs.sort(|x, y| y - x);", "xs.sort(key=functools.cmp_to_key(lambda x, y: y - x))"),
        ("xs.order_desc()", "sorted(xs, reverse=True)"),
        ("let a = [1, 2]; let b = a.split(1);", "a = [1, 2]\ntaken_1 = a[1:]\ndel a[1:]\nb = taken_1"),
        ("xs.zip(ys, |x, y| x + y)", "[x + y for x, y in zip(xs, ys)]"),
        ("net.append(nn::ReLU());", "net.append(nn.ReLU())"),
    ]);
}

#[test]
fn a_closure_that_changes_an_array_needs_lines() {
    same(&[(
        "let f = || xs.truncate(2);",
        "def function_1():\n    del xs[2:]\n    return None\nf = function_1",
    )]);
}

#[test]
fn what_a_loop_s_condition_takes_out_is_taken_each_time() {
    same(&[(
        "let xs = [1, 2]; while xs.split(0).len() > 0 { f(); }",
        "xs = [1, 2]\nwhile True:\n    taken_1 = xs[0:]\n    del xs[0:]\n    if not (len(taken_1) > 0):\n        break\n    f()",
    )]);
}

#[test]
fn texts_are_bound_anew_where_they_change() {
    same(&[
        ("s.trim();", "s = s.strip()"),
        ("s.replace(\"a\", \"b\");", "s = s.replace(\"a\", \"b\")"),
        ("s.make_upper();", "s = s.upper()"),
        ("s.sub_string(1, 2)", "s[1:3]"),
        ("s.split(\",\", 2)", "s.split(\",\", 1)"),
        ("s.split_rev(\",\")", "s.split(\",\")[::-1]"),
        ("let s = \"abc\"; s.truncate(2);", "s = \"abc\"\ns = s[:2]"),
        ("let s = \"abc\"; let i = s.index_of(\"c\");", "s = \"abc\"\ni = s.find(\"c\")"),
    ]);
}

#[test]
fn maps_go_in_the_order_of_their_names() {
    same(&[
        (
            "let m = #{b: 1, a: 2}; for k in m.keys() { f(k); }",
            "m = {\"b\": 1, \"a\": 2}\nfor k in sorted(m):\n    f(k)",
        ),
        ("let m = #{b: 1}; m.values()", "m = {\"b\": 1}\n[m[name] for name in sorted(m)]"),
        ("let m = #{b: 1}; m.fill_with(#{c: 2});", "m = {\"b\": 1}\nm.update({**{\"c\": 2}, **m})"),
        ("let m = #{}; m.remove(\"a\");", "m = {}\nm.pop(\"a\", None)"),
        ("let m = #{}; m.set(\"a\", 1);", "m = {}\nm[\"a\"] = 1"),
    ]);
}

#[test]
fn whole_numbers_are_divided_towards_zero() {
    same(&[
        ("fn f(a, b) { a / b }", "def f(a, b):\n    return _div(a, b)"),
        ("fn f(a, b) { a % b }", "def f(a, b):\n    return _rem(a, b)"),
        ("fn f(x) { x /= 2; x }", "def f(x):\n    x = _div_in_place(x, 2)\n    return x"),
        ("fn f(n, x) { x / n }\nf(2, y); f(3, 1)", "def f(n, x):\n    return _div(x, n)\nf(2, y)\nf(3, 1)"),
        ("-7 / 2", "int(-7 / 2)"),
        ("-7 % 3", "_rem(-7, 3)"),
        ("7 % 3", "7 % 3"),
        ("-7.5 % 2", "math.fmod(-7.5, 2)"),
        ("x % 2 == 0", "x % 2 == 0"),
        ("let n = 9; n -= 16; let k = n / 2;", "n = 9\nn -= 16\nk = int(n / 2)"),
        ("let n = 9; let k = n / 2;", "n = 9\nk = n // 2"),
        ("cuda::memory_allocated() / 1024", "torch.cuda.memory_allocated() // 1024"),
        ("a.norm() / b", "a.norm() / b"),
        ("F::mse_loss(a, b) / n", "F.mse_loss(a, b) / n"),
        ("100.0 * n / all", "100.0 * n / all"),
    ]);
    assert!(translate("fn f(a, b) { a / b }").starts_with("def _div(a, b):\n"));
}

#[test]
fn an_inner_variable_leaves_the_outer_one_alone() {
    same(&[
        ("let x = 1; if a { let x = 2; f(x); } f(x);", "x = 1\nif a:\n    x_2 = 2\n    f(x_2)\nf(x)"),
        ("let x = 1; for x in 0..2 { } f(x);", "x = 1\nfor x_2 in range(2):\n    pass\nf(x)"),
        (
            "let x = 1; for i in 0..2 { let x = x + i; f(x); }",
            "x = 1\nfor i in range(2):\n    x_2 = x + i\n    f(x_2)",
        ),
        // Nobody needs it any more, or it is given another value.
        ("let x = 1; f(x); if a { let x = 2; f(x); }", "x = 1\nf(x)\nif a:\n    x = 2\n    f(x)"),
        ("if a { let x = 2; f(x); } let x = 3; f(x);", "if a:\n    x = 2\n    f(x)\nx = 3\nf(x)"),
        ("let n = 1; let f = || { let n = n + 1; n };", "n = 1\ndef f():\n    n_2 = n + 1\n    return n_2"),
        (
            "let e = 1; try { f(); } catch (e) { g(e); } f(e);",
            "e = 1\ntry:\n    f()\nexcept Exception as e_2:\n    g(e_2)\nf(e)",
        ),
    ]);
}

#[test]
fn a_later_piece_has_the_outer_variable() {
    let (first, second) = ("let x = 1;\nif a { let x = 2; f(x); }", "f(x);");
    let mut translation = Translation::new();
    translation.look_ahead(first);
    translation.look_ahead(second);
    translation.add(first);
    translation.add(second);
    assert_eq!(translation.text(), "x = 1\nif a:\n    x_2 = 2\n    f(x_2)\nf(x)");
}

#[test]
fn what_python_needs_keeps_its_name() {
    same(&[
        ("let list = [1]; let n = list.len();", "list_ = [1]\nn = len(list_)"),
        ("let len = 3; let n = xs.len();", "len_ = 3\nn = len(xs)"),
        ("let range = 2; for i in 0..range { }", "range_ = 2\nfor i in range(range_):\n    pass"),
        ("let lambda = 1; let def = lambda;", "lambda_ = 1\ndef_ = lambda_"),
        ("let any = 1; let b = xs.some(|x| x > any);", "any_ = 1\nb = any(x > any_ for x in xs)"),
        (
            "fn loss(a) { a } let loss = loss(1); loss(2);",
            "def loss(a):\n    return a\nloss_2 = loss(1)\nloss(2)",
        ),
        ("let max = 3; max(1, max)", "max_2 = 3\nmax(1, max_2)"),
        ("f(x, #{from: 1});", "f(x, from_=1)"),
        ("fn gcd(a, b) { gcd(b, a) }", "def gcd(a, b):\n    return gcd(b, a)"),
    ]);
}

#[test]
fn a_closure_keeps_what_a_turn_of_the_loop_made() {
    same(&[
        (
            "for i in 0..3 { let own = i; fs.push(|x| x + own); }",
            "for i in range(3):\n    own = i\n    fs.append(lambda x, own=own: x + own)",
        ),
        (
            "for i in 0..3 { let own = i; let f = || own; fs.push(f); }",
            "for i in range(3):\n    own = i\n    f = lambda own=own: own\n    fs.append(f)",
        ),
        ("(0..3).map(|i| || i)", "[lambda i=i: i for i in range(3)]"),
        // All closures share a loop's own variable, here and there.
        ("for i in 0..3 { fs.push(|| i); }", "for i in range(3):\n    fs.append(lambda: i)"),
        // Called at once, or changed afterwards.
        (
            "for i in 0..3 { let own = i; opt.step(|| own); }",
            "for i in range(3):\n    own = i\n    opt.step(lambda: own)",
        ),
        (
            "for i in 0..3 { let own = i; fs.push(|| own); own = 9; }",
            "for i in range(3):\n    own = i\n    fs.append(lambda: own)\n    own = 9",
        ),
    ]);
}

#[test]
fn what_changes_after_it_was_stored_is_copied() {
    same(&[
        (
            "let row = []; for i in 0..3 { row.push(i); rows.push(row); }",
            "row = []\nfor i in range(3):\n    row.append(i)\n    rows.append(_copy(row))",
        ),
        (
            "for i in 0..3 { let row = []; row.push(i); rows.push(row); }",
            "for i in range(3):\n    row = []\n    row.append(i)\n    rows.append(row)",
        ),
        ("fn f(xs) { xs.push(1); xs }", "def f(xs):\n    xs = _copy(xs)\n    xs.append(1)\n    return xs"),
        ("for row in rows { row.push(7); }", "for row in rows:\n    row = _copy(row)\n    row.append(7)"),
        ("let a = [[1]]; let b = a[0]; b[0] = 5; f(a);", "a = [[1]]\nb = _copy(a[0])\nb[0] = 5\nf(a)"),
        (
            "let s = #{n: 0}; for i in 0..3 { s.n = i; all.push(s); }",
            "s = {\"n\": 0}\nfor i in range(3):\n    s[\"n\"] = i\n    all.append(_copy(s))",
        ),
        // Tensors and modules are the same ones, and may not be copied.
        ("let all = [w]; let kept = all;", "all = [w]\nkept = _copy(all)"),
        ("fn f(x) { x[0] = 1.0; }", "def f(x):\n    x[0] = 1.0"),
    ]);
}

#[test]
fn a_map_s_fields_are_items_whatever_they_are_called() {
    same(&[
        ("let r = #{shape: [1]}; r.shape == [1]", "r = {\"shape\": [1]}\nr[\"shape\"] == [1]"),
        (
            "let rows = [#{id: 1}]; for r in rows { f(r.id); } f(rows[0].id);",
            "rows = [{\"id\": 1}]\nfor r in rows:\n    f(r[\"id\"])\nf(rows[0][\"id\"])",
        ),
        (
            "let all = []; for i in 0..2 { all.push(#{id: i}); } all.map(|r| r.id)",
            "all = []\nfor i in range(2):\n    all.append({\"id\": i})\n[r[\"id\"] for r in all]",
        ),
        (
            "fn make(i) { #{id: i} } let r = make(1); r.id",
            "def make(i):\n    return {\"id\": i}\nr = make(1)\nr[\"id\"]",
        ),
        ("let r = #{colour: 1}; let s = g(r); s.colour", "r = {\"colour\": 1}\ns = g(r)\ns[\"colour\"]"),
    ]);
}

#[test]
fn what_lists_have_not_is_said() {
    assert_eq!(
        python("xs.for_each(|| this += 1);"),
        "# Python's lists have no `for_each`\n# def function_1():\n#     self += 1\n# xs.for_each(function_1)"
    );
}
