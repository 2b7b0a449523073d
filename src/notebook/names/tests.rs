use super::*;

fn shown(names: &BTreeSet<Name>) -> String {
    names.iter().map(Name::to_string).collect::<Vec<_>>().join(" ")
}

/// What a cell defines and uses, `defines | uses`; functions of the language aside.
fn of(code: &str) -> String {
    let Names { defines, uses, .. } = names(code);
    let language = ["print", "ones", "range", "len", "get", "zeros"];
    let uses = uses
        .into_iter()
        .filter(|n| !matches!(n, Name::Function(f) if language.contains(&f.as_str())))
        .collect();
    format!("{} | {}", shown(&defines), shown(&uses)).trim().to_string()
}

#[track_caller]
fn table(rows: &[(&str, &str)]) {
    for (code, want) in rows {
        assert_eq!(of(code), *want, "{code}");
    }
}

#[test]
fn bindings_and_reads() {
    table(&[
        ("let x = 1;", "x |"),
        ("const N = 2; let y = N + 1;", "N y |"),
        ("x", "| x"),
        ("let y = x + z;", "y | x z"),
        ("let x = x + 1;", "x | x"),
        ("let x = 1; x", "x |"),
        ("let a = b; let b = 2; b", "a b | b"),
        ("print(x)", "| x"),
        ("`${x} and ${ y + 1 }`", "| x y"),
        ("[a, b]; #{k: c, d: 1}", "| a b c"),
        ("x ?? y && z || !w", "| w x y z"),
        ("\"x\"; 'y'; // z", "|"),
        ("", "|"),
        ("a @ b; c is d; -e ** f", "| a b c d e f"),
        ("return x", "| x"),
        ("throw x", "| x"),
        ("?relu", "|"),
        ("let x = ", "|"),
    ]);
}

#[test]
fn changes_need_and_define() {
    table(&[
        ("x = 1", "x | x"),
        ("x += y", "x | x y"),
        ("x[0] = y", "x | x y"),
        ("x[i][j] = 1", "x | i j x"),
        ("x.y = 1", "x | x"),
        ("x.y[i].z += 1", "x | i x"),
        ("let x = []; x[0] = 1", "x |"),
        ("drop(x)", "x | x"),
        ("if a { x = 1 }", "x | a x"),
        ("this.x = 1", "|"),
        ("a[b.c] = 1", "a | a b"),
    ]);
}

#[test]
fn methods_that_change_what_they_are_called_on() {
    table(&[
        ("a.push(x)", "a | a x push()"),
        ("x.add_(1)", "x | x add_()"),
        ("x.sum()", "| x sum()"),
        ("x[i].push(1)", "x | i x push()"),
        ("x.y.push(i)", "x | i x push()"),
        ("x[a.pop()]", "a | a x pop()"),
        ("opt.step()", "opt | opt step()"),
        ("opt.step(|| loss)", "opt | loss opt step()"),
        ("net.apply(|m| m.eval())", "net | net apply() eval_mode()"),
        ("net.eval()", "net | net eval_mode()"),
        ("f(x).push(1)", "| x f() push()"),
        ("push(a, 1)", "a | a push()"),
        ("x.sum().add_(1)", "x | x add_() sum()"),
        ("x?.push(1)", "x | x push()"),
        ("scaler.step(opt)", "scaler | opt scaler step()"),
        ("net.register_parameter(n, p)", "net | n net p register_parameter()"),
    ]);
}

#[test]
fn methods_of_modules_that_tensors_have_too_change_where_nothing_else_takes_their_value() {
    table(&[
        ("net.to(d);", "net | d net to()"),
        ("net.cuda(); 1", "net | net cuda()"),
        ("net.fc.half(); 1", "net | net half()"),
        ("x.to(d)", "| d x to()"),
        ("let y = x.to(d);", "y | d x to()"),
        ("f(x.cuda());", "| x cuda() f()"),
        ("x.sum().cuda(); 1", "| x cuda() sum()"),
    ]);
}

#[test]
fn blocks_have_names_of_their_own() {
    table(&[
        ("{ let x = 1; x }", "|"),
        ("{ let x = 1; } x", "| x"),
        ("for i in 0..n { let t = i; s += t; }", "s | n s"),
        ("for (x, i) in xs { print(x + i) }", "| xs"),
        ("for x in x { x }", "| x"),
        ("while x < 3 { let y = 1; x += y }", "x | x"),
        ("loop { let y = 1; break y + z; }", "| z"),
        ("do { let q = 1; } until q > 1", "| q"),
        ("if a { let x = 1; x } else { x }", "| a x"),
        ("try { let x = 1; y } catch (e) { print(e); x }", "| x y"),
        ("switch a { 1 => b, 2 if c => { let d = 1; d }, 3..5 => f, _ => e }", "| a b c e f"),
        ("let y = if a { let x = 2; x } else { 0 };", "y | a"),
        ("with no_grad() { let y = w * 2; w = y; }", "w | w no_grad()"),
        ("with autocast(d) { y = x; }", "y | d x y autocast()"),
        ("let x = 1; { let x = 2; x = 3; }", "x |"),
        ("{ let x = 1; x.push(2); x[0] = 1; }", "| push()"),
    ]);
}

#[test]
fn functions_see_their_parameters_only() {
    table(&[
        ("fn f(x) { x + y }", "f() |"),
        ("fn f(x) { g(x) } f(a)", "f() | a g()"),
        ("f(a, b)", "| a b f()"),
        ("fn f() { let t = 1; t = 2; }", "f() |"),
        ("fn f(x) { x += 1; } let x = 1;", "x f() |"),
        ("f(1); fn f(x) { x }", "f() |"),
        ("Fn(\"f\").call(1)", "| call() f()"),
        ("x.f(1)", "| x f()"),
        ("fn f(x) { g(x) } fn g(x) { f(x) + h(x) } f(1)", "f() g() | h()"),
        ("fn f(x) { if x > 0 { f(x - 1) } else { k(x) } } [1].map(f)", "f() | k() map()"),
    ]);
    let names = names("fn f(x) { let y = g(x); h(|a| k(a) + x); global::N } fn f() { m::q() } const N = 1;");
    assert_eq!(shown(&names.bodies["f"]), "N g() h() k() m::");
    assert_eq!(shown(&names.defines), "N f()");
}

#[test]
fn closures_need_what_they_capture() {
    table(&[
        ("let f = |a| a + x;", "f | x"),
        ("let f = |x| x + 1;", "f |"),
        ("let x = 1; let f = || x + y;", "f x | y"),
        ("let f = || { let t = 1; t + g(u) };", "f | u g()"),
        ("let f = || { x += 1 };", "f x | x"),
        ("let f = |a| { a += 1; b.push(a) };", "b f | b push()"),
        ("let f = |a| |b| a + b + c;", "f | c"),
        ("{ let x = 1; let f = || { x += y; }; }", "| y"),
        ("xs.map(|x| x * k)", "| k xs map()"),
        ("f.call(x)", "| f x call()"),
        ("let f = Fn(\"g\"); f.curry(x)", "f | x curry() g()"),
    ]);
}

#[test]
fn modules_and_imports() {
    table(&[
        ("import \"m\" as m; m::f(x)", "m:: | x m::"),
        ("let net = nn::Linear(n, 2);", "net | n nn::"),
        ("m::X", "| m::"),
        ("export x as y", "| x"),
        ("F::relu(x)", "| x F::"),
        ("cuda::device_count()", "| cuda::"),
    ]);
}

#[test]
fn a_whole_training_cell() {
    let code = "let net = nn::Sequential(nn::Linear(4, h), nn::ReLU());\nlet opt = optim::SGD(net.parameters(), #{lr: lr});\n\
        let losses = [];\nfor epoch in 0..3 {\n    for (x, y) in loader {\n        opt.zero_grad();\n        let loss = criterion(net.forward(x), y);\n\
        loss.backward();\n        opt.step();\n        losses.push(loss.item());\n    }\n}\nlosses";
    let Names { defines, uses, .. } = names(code);
    assert_eq!(shown(&defines), "losses net opt");
    let variables: Vec<String> =
        uses.iter().filter(|n| matches!(n, Name::Variable(_))).map(Name::to_string).collect();
    assert_eq!(variables, ["h", "loader", "lr"]);
    assert!(uses.contains(&Name::Function("criterion".into())));
}
