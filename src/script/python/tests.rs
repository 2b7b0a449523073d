use super::{Translation, translate};

/// The Python of some code, without its imports.
fn python(code: &str) -> String {
    let all = translate(code);
    match all.split_once("\n\n") {
        Some((head, rest)) if head.lines().all(|l| l.starts_with("import") || l.starts_with("from")) => {
            rest.into()
        }
        _ => all,
    }
}

#[test]
fn values_and_calls() {
    for (code, want) in [
        ("let x = rand([2, 3], #{device: \"cuda\"});", "x = torch.rand([2, 3], device=\"cuda\")"),
        ("x.sum(0, #{keepdim: true})", "x.sum(0, keepdim=True)"),
        ("net.forward(x)", "net(x)"),
        ("F::relu(x) @ w", "F.relu(x) @ w"),
        ("optim::SGD(net.parameters(), #{lr: 0.1})", "torch.optim.SGD(net.parameters(), lr=0.1)"),
        ("x[1..3]", "x[1:3]"),
        ("x[0..=2]", "x[:3]"),
        ("x.at([0, 1..3, ()])", "x[0, 1:3, :]"),
        ("a && !b || c", "a and not b or c"),
        ("(a || b) && c", "(a or b) and c"),
        ("-(a + b) * 2 ** 3 ** 2", "-(a + b) * 2 ** 3 ** 2"),
        ("-a ** 2 + 1", "-a ** 2 + 1"),
        ("(-a) ** 2", "(-a) ** 2"),
        ("-2 ** 2", "-2 ** 2"),
        ("(-2) ** 2", "(-2) ** 2"),
        ("a - (b - c)", "a - (b - c)"),
        ("(a - b) - c", "a - b - c"),
        ("(a == b) == c", "(a == b) == c"),
        ("7 / 2", "7 // 2"),
        ("7.0 / 2", "7.0 / 2"),
        ("x == ()", "x is None"),
        ("x.to(float16)", "x.to(torch.float16)"),
        ("let f = |x| x * 2;", "f = lambda x: x * 2"),
        ("`loss ${loss.item()} {}`", "f\"loss {loss.item()} {{}}\""),
        ("print(\"a\\n\\\"b\\\"\")", "print(\"a\\n\\\"b\\\"\")"),
        ("if a { 1 } else { 2 } + 1", "if a:\n    1\nelse:\n    2\n+1"),
        ("let y = if a { 1 } else { 2 };", "y = 1 if a else 2"),
        ("[1, 2].map(|v| v + 1).len()", "len([v + 1 for v in [1, 2]])"),
        ("drop(x)", "del x"),
        ("let m = #{a: 1}; m.a", "m = {\"a\": 1}\nm[\"a\"]"),
        ("cudnn::benchmark(true)", "torch.backends.cudnn.benchmark = True"),
        ("nn::Sequential([nn::Linear(1, 2), nn::ReLU()])", "nn.Sequential(nn.Linear(1, 2), nn.ReLU())"),
        ("!tensor([true])", "~torch.tensor([True])"),
        ("x is y", "x is y"),
        ("[0.0 / 0.0, 1.0 / 0.0, -1.0 / 0.0]", "[float(\"nan\"), float(\"inf\"), float(\"-inf\")]"),
        ("block_diag([a, b])", "torch.block_diag(a, b)"),
        ("nn::ModuleDict(#{act: nn::ReLU()})", "nn.ModuleDict({\"act\": nn.ReLU()})"),
        ("F::kl_div(a, b, \"sum\")", "F.kl_div(a, b, reduction=\"sum\")"),
        ("F::pad(x, [1, 1], \"reflect\")", "F.pad(x, [1, 1], \"reflect\")"),
        ("2.5.sqrt()", "math.sqrt((2.5))"),
        ("f.call(x, #{a: 1})", "f(x, {\"a\": 1})"),
        ("nn::Sequential(parts)", "nn.Sequential(*parts)"),
        ("nn::Sequential((0..2).map(|i| f(i)))", "nn.Sequential(*[f(i) for i in range(2)])"),
        ("round(x / 3.0, 2)", "round(x / 3.0, 2)"),
        ("round(100.0 * x).to_int()", "round(100.0 * x)"),
        ("max(0.5, best)", "max(0.5, best)"),
        ("(x - 1.0).abs()", "abs(x - 1.0)"),
        ("zeros([2]).abs()", "torch.zeros([2]).abs()"),
        ("(zeros([2]).sum().item() - 1.0).abs()", "abs(torch.zeros([2]).sum().item() - 1.0)"),
        ("let t = timestamp(); t.elapsed * 2.0", "t = time.perf_counter()\n(time.perf_counter() - t) * 2.0"),
        ("sleep(0.1)", "time.sleep(0.1)"),
        (
            "timeit(f).median_ms",
            "(torch.utils.benchmark.Timer(\"f()\", globals={\"f\": f}).blocked_autorange().median * 1000.0)",
        ),
        ("type_of(x) == \"array\"", "type(x).__name__ == \"list\""),
        ("all.push(#{a: 1})", "all.append({\"a\": 1})"),
        ("x.shape == [2, 3] && y.shape != [4]", "x.shape == (2, 3) and y.shape != (4,)"),
        ("net.parameters().len()", "len(list(net.parameters()))"),
        ("net.parameters()[0]", "list(net.parameters())[0]"),
        ("opt.param_groups[0].lr", "opt.param_groups[0][\"lr\"]"),
        ("let all = net.parameters();", "all = list(net.parameters())"),
        ("x.split(256 / pieces)", "x.split(256 // pieces)"),
        ("x.shape[0] / 2", "x.shape[0] // 2"),
        ("autocast(#{enabled: on})", "torch.autocast(\"cuda\", enabled=on)"),
        (
            "checkpoint_sequential(net, 2, x)",
            "torch.utils.checkpoint.checkpoint_sequential(net, 2, x, use_reentrant=False)",
        ),
    ] {
        assert_eq!(python(code), want, "{code}");
    }
}

#[test]
fn what_python_has_itself() {
    for (code, want) in [
        ("assert(c, \"m\");", "assert c, \"m\""),
        ("assert(a == b && c);", "assert a == b and c"),
        (
            "checkpoint(b, x, #{use_reentrant: false})",
            "torch.utils.checkpoint.checkpoint(b, x, use_reentrant=False)",
        ),
        ("sum([1, 2, 3])", "sum([1, 2, 3])"),
        ("sum(zeros([2]))", "torch.sum(torch.zeros([2]))"),
        ("x.put([0], 9.0);", "x[0] = 9.0"),
        ("x.put([0, 1..3], 9.0);", "x[0, 1:3] = 9.0"),
        ("throw ValueError(\"bad\");", "raise ValueError(\"bad\")"),
        ("ln(10.0) + PI() * E()", "math.log(10.0) + math.pi * math.e"),
    ] {
        assert_eq!(python(code), want, "{code}");
    }
}

#[test]
fn statements_and_blocks() {
    for (code, want) in [
        ("for i in 0..3 { // rows\n    print(i);\n}", "for i in range(3):  # rows\n    print(i)"),
        ("for (x, i) in xs { }", "for i, x in enumerate(xs):\n    pass"),
        ("with no_grad() { y += 1; }", "with torch.no_grad():\n    y += 1"),
        ("let a = with no_grad() { f(x) };", "with torch.no_grad():\n    a = f(x)"),
        ("fn f(a) { let b = a; b * 2 }\nf(1)", "def f(a):\n    b = a\n    return b * 2\nf(1)"),
        ("while x < 3 { x += 1; }", "while x < 3:\n    x += 1"),
        ("do { x += 1; } while x < 3;", "while True:\n    x += 1\n    if not x < 3:\n        break"),
        ("loop { break; }", "while True:\n    break"),
        ("if a { b() } else if c { d() } else { e() }", "if a:\n    b()\nelif c:\n    d()\nelse:\n    e()"),
        (
            "try { f() } catch (e) { print(e.message) }",
            "try:\n    f()\nexcept Exception as e:\n    print(str(e))",
        ),
        (
            "let n = 0; let add = || { n += 1; n };",
            "n = 0\ndef add():\n    global n\n    n += 1\n    return n",
        ),
        (
            "opt.step(|| { let l = f(); l.backward(); l })",
            "def function_1():\n    l = f()\n    l.backward()\n    return l\nopt.step(function_1)",
        ),
        (
            "switch x { 1 | 2 => a(), 3..5 => b(), _ => c() }",
            "match x:\n    case 1 | 2:\n        a()\n    case _ if 3 <= x < 5:\n        b()\n    case _:\n        c()",
        ),
        ("// one\n\nlet x = 1; // two", "# one\n\nx = 1  # two"),
        ("throw \"no\";", "raise RuntimeError(\"no\")"),
        ("try { f() } catch (e) { throw e; }", "try:\n    f()\nexcept Exception as e:\n    raise"),
        ("for (a, b) in zip(xs, ys) { f(a, b); }", "for a, b in zip(xs, ys):\n    f(a, b)"),
        ("for (n, p) in net.named_parameters() { f(n); }", "for n, p in net.named_parameters():\n    f(n)"),
        ("fn f(n) { n / 2 }\nlet y = f(5);", "def f(n):\n    return n // 2\ny = f(5)"),
        ("fn f(a, i) { g(a, i) }\nfn f(a) { f(a, 0) }\nf(1)", "def f(a, i=0):\n    return g(a, i)\nf(1)"),
        ("let x = 5; for i in 0..4 { x = i / 2; }", "x = 5\nfor i in range(4):\n    x = i // 2"),
    ] {
        assert_eq!(python(code), want, "{code}");
    }
}

#[test]
fn a_module_becomes_a_class() {
    let code = "let net = nn::module(#{fc: nn::Linear(3, 2)}, |self, x| self.fc.forward(x));\nnet.forward(x)";
    let want = "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n        \
                self.fc = nn.Linear(3, 2)\n\n    def forward(self, x):\n        return self.fc(x)\n\nnet = Net()\nnet(x)";
    assert_eq!(python(code), want);
}

#[test]
fn a_dataset_becomes_a_class() {
    let code = "let rows = data::Dataset(3, |i| x[i]);\nrows[1]";
    let want = "class Rows(torch.utils.data.Dataset):\n    def __len__(self):\n        return 3\n\n    \
                def __getitem__(self, i):\n        return x[i]\n\nrows = Rows()\nrows[1]";
    assert_eq!(python(code), want);
}

#[test]
fn what_is_said_of_a_call_stands_before_it_whatever_its_closure_says() {
    let text = python("let t = telemetry::record(|| { f(); g(); });");
    assert!(text.starts_with("# telemetry::record is this lab's own"), "{text}");
}

#[test]
fn what_the_lab_has_in_one_call_is_written_along_once() {
    let text = translate("let d = data::digits();\nlet e = data::digits();\nlet t = time(|| f());");
    for (function, calls) in [("handwritten_digits", 2), ("timed", 1)] {
        assert_eq!(text.matches(&format!("def {function}(")).count(), 1, "{text}");
        assert_eq!(text.matches(&format!("= {function}(")).count(), calls, "{text}");
    }
    let text = translate("let all = distributed::spawn(|rank, world| { rank * world }, #{nprocs: 2});");
    assert!(
        text.contains("def run_ranks(")
            && text.ends_with("\nall = run_ranks(lambda rank, world: rank * world, nprocs=2)"),
        "{text}"
    );
}

#[test]
fn switches_are_read_as_attributes_and_a_ceiling_is_a_number_s() {
    for (code, want) in [
        ("print(cudnn::benchmark());", "print(torch.backends.cudnn.benchmark)"),
        ("cudnn::benchmark(true);", "torch.backends.cudnn.benchmark = True"),
        ("cudnn::enabled(false);", "torch.backends.cudnn.enabled = False"),
        ("let on = matmul::allow_tf32();", "on = torch.backends.cuda.matmul.allow_tf32"),
        ("let n = (f(a) / f(b)).ceiling();", "n = math.ceil((f(a) / f(b)))"),
    ] {
        assert_eq!(python(code), want, "{code}");
    }
}

#[test]
fn no_gpu_of_pytorch_is_simulated() {
    let note = "# simulated is this lab's own; PyTorch's GPUs are real\n";
    let code = "let rows = if cuda::get_device_properties(0).simulated { 256 } else { 1024 };";
    assert_eq!(python(code), format!("{note}rows = 256 if False else 1024"));
    assert_eq!(python("let d = #{simulated: 3};\nd.simulated"), "d = {\"simulated\": 3}\nd[\"simulated\"]");
}

#[test]
fn a_sampler_of_so_many_rows_has_a_range() {
    assert_eq!(
        python("let s = data::DistributedSampler(5, #{rank: 0});"),
        "s = torch.utils.data.distributed.DistributedSampler(range(5), rank=0)"
    );
}

#[test]
fn a_statement_that_is_the_labs_own_and_makes_nothing_is_a_comment() {
    assert_eq!(
        python("if a { plot::line([1], #{title: \"x\"}); }\nf(1);"),
        "if a:\n    # plot::line is this lab's own; PyTorch has no such call\n    # plot.line([1], title=\"x\")\n    pass\nf(1)"
    );
}

#[test]
fn what_has_no_form_is_said() {
    assert_eq!(
        python("let t = telemetry::record(|| 1);"),
        "# telemetry::record is this lab's own; PyTorch has no such call\nt = telemetry.record(lambda: 1)"
    );
    for code in ["let x = ;", "f(1))", "let x = 1\nx", "f(1", "`a ${"] {
        let text = translate(code);
        assert!(text.starts_with("# no Python: ") && !text.contains('\n'), "{code}: {text}");
    }
    assert!(translate(&"(".repeat(5000)).starts_with("# no Python"));
    assert!(translate(&"-".repeat(5000)).starts_with("# no Python"));
    assert_eq!(translate(""), "");
}

/// The Python that is to run of some code, without its imports and without comments.
fn live(code: &str) -> String {
    let mut translation = Translation::to_run();
    translation.add(code);
    let text = translation.text();
    let live = text.lines().filter(|line| {
        let line = line.trim_start();
        !line.is_empty() && !line.starts_with('#') && !line.starts_with("import") && !line.starts_with("from")
    });
    live.collect::<Vec<_>>().join("\n")
}

#[test]
fn what_hangs_on_the_labs_own_is_left_out_of_what_is_to_run() {
    for (code, want) in [
        ("let t = telemetry::record(|| f());\nlet n = t.launches;\nprint(n);\nf();", "f()"),
        // Given a value again, a name can be used.
        ("let t = telemetry::record(f);\nlet t = 3;\nprint(t);", "t = 3\nprint(t)"),
        // What a function returns goes with it, and so do its calls; its parameters are its own.
        ("fn look(f) { f(); telemetry::record(f) }\nlet a = look(g);\nprint(a.launches);\ng();", "g()"),
        ("let t = telemetry::record(f);\nfn g(t) { t + 1 }\ng(1);", "def g(t):\n    return t + 1\ng(1)"),
        (
            "fn look(f) { let t = telemetry::record(f); print(t); f() }\nlook(g);",
            "def look(f):\n    return f()\nlook(g)",
        ),
        ("fn look(f) { if f { return telemetry::record(f); } 1 }\nlook(g);", ""),
        ("let look = |f| telemetry::record(f);\nlet t = look(g);\ng();", "g()"),
        // Lists and counts that it would have gone into.
        (
            "let all = [];\nlet n = 0;\nfor f in fs { let t = telemetry::record(f); all.push(t); if t.launches > 3 { n += 1; } }\n\
             print(n);\nprint(all[0]);",
            "all = []\nn = 0\nfor f in fs:\n    pass",
        ),
        // No loop runs on that it would have ended.
        ("while true { let t = telemetry::record(f); if t.launches > 3 { break; } }\ng();", "g()"),
        ("while true { for x in xs { if smi() { break; } } break; }", "while True:\n    break"),
        ("let x = if a { let t = smi(); t } else { 3 };\nprint(x);\ng();", "g()"),
        // Not what its blocks have for themselves.
        (
            "let t = telemetry::record(|| { for round in 0..3 { let m = round; f(m); } });\nlet m = 2;\nfor round in 0..t.n { f(round); }\nprint(round(2.5), m);",
            "m = 2\nprint(round(2.5), m)",
        ),
        // What its closure would have set, however it is read.
        (
            "let n = 0;\nlet p = f(telemetry::record(|| { n = 1; }).peak[\"cuda:0\"] / 2);\nprint(n);\ng();",
            "n = 0\ng()",
        ),
        (
            "let n = 0;\nlet t = telemetry::record(|| { let m = 1; n = m; });\nprint(n);\nlet m = 2;\nprint(m);",
            "n = 0\nm = 2\nprint(m)",
        ),
        // No GPU is simulated there, which is a value.
        ("if cuda::get_device_properties(0).simulated { f(); }", "if False:\n    f()"),
    ] {
        assert_eq!(live(code), want, "{code}");
    }
    let mut translation = Translation::to_run();
    translation.add("let a = smi();\nlet b = smi();\nprint(a, b, a);");
    let text = translation.text();
    assert!(text.contains("# uses a, b, which are left out\n# print(a, b, a)"), "{text}");
}

/// Every example of the reference, as the checking script takes them: one JSON object a line.
#[test]
fn every_documented_example_is_read() {
    let mut out = String::new();
    for def in crate::script::help::rows().filter(|def| !def.example.0.is_empty()) {
        let text = translate(def.example.0);
        assert!(!text.contains("# no Python"), "{}: {text}", def.name);
        let record = serde_json::json!({
            "name": def.name, "rhai": def.example.0, "python": text, "prints": def.example.1,
        });
        out += &format!("{record}\n");
    }
    if let Some(file) = std::env::var_os("TENSORLAB_PYTHON_EXAMPLES") {
        std::fs::write(file, out).unwrap();
    }
}

#[test]
fn what_python_would_do_otherwise_is_written_so_that_it_does_the_same() {
    for (code, want) in [
        ("fn on_gpu(t) { t.is_cuda; }", "def on_gpu(t):\n    return t.is_cuda"),
        ("fn total(x) { x.sum(); }", "def total(x):\n    return x.sum()"),
        ("fn once(opt) { opt.step(); }", "def once(opt):\n    opt.step()"),
        (
            "fn pick(x) { if x > 1 { \"a\"; } else { \"b\"; } }",
            "def pick(x):\n    if x > 1:\n        return \"a\"\n    else:\n        return \"b\"",
        ),
        ("let v = { let q = 2; q * 3; };", "q = 2\nv = q * 3"),
        (
            "for i in 0..2 { print(\"cuda:\" + i + \" \" + `${i}`); }",
            "for i in range(2):\n    print(\"cuda:\" + str(i) + \" \" + f\"{i}\")",
        ),
        ("let s = \"n\"; s += 4; s += \" more\";", "s = \"n\"\ns += str(4)\ns += \" more\""),
        (
            "let names = []; names += \"cuda\"; names += [1, 2];",
            "names = []\nnames.append(\"cuda\")\nnames += [1, 2]",
        ),
        ("let b = [1]; let c = b; c.push(2);", "b = [1]\nc = copy.deepcopy(b)\nc.append(2)"),
        ("let a = []; a += xs.map(|v| v + 1);", "a = []\na += [v + 1 for v in xs]"),
        (
            "let a = []; a += step(net); a += y;",
            "a = []\nitem_1 = step(net)\na += item_1 if isinstance(item_1, list) else [item_1]\n\
             a += y if isinstance(y, list) else [y]",
        ),
        ("let m = #{a: 1}; let k = m;", "m = {\"a\": 1}\nk = copy.deepcopy(m)"),
        ("let x = ones(1); print(\"x: \" + x);", "x = torch.ones(1)\nprint(\"x: \" + str(x))"),
        (
            "let a = isinstance(m, nn::Linear); let b = isinstance(m, [\"Linear\", \"Block\"]);",
            "a = isinstance(m, nn.Linear)\nb = isinstance(m, (nn.Linear, Block))",
        ),
        ("fn ready(net) { net.eval(); }", "def ready(net):\n    return net.eval()"),
    ] {
        assert_eq!(python(code).trim_end(), want, "{code}");
    }
}

#[test]
fn a_function_with_its_own_gradient_becomes_a_class() {
    let code = "let scale = autograd::Function(|ctx, x, k| { ctx.k = k; x * k }, |ctx, g| [g * ctx.k, ()]);\nscale.apply(x, 2)";
    let want = "class Scale(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, x, k):\n        ctx.k = k\n        \
                return x * k\n\n    @staticmethod\n    def backward(ctx, g):\n        return tuple([g * ctx.k, None])\n\nscale = Scale\n\
                scale.apply(x, 2)";
    assert_eq!(python(code), want);
}
