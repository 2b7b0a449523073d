//! What who comes from Python writes without a thought: `print` of several values, `len`, `enumerate`, `.data`.

use crate::nn::Lab;
use crate::parallel::{fault, on};

#[test]
fn each_gives_what_python_gives() {
    let mut lab = Lab::on("sim:t4x2");
    for (code, want) in [
        ("len(ones(3, 2)) + len([1]) + len(\"abc\") + len(#{a: 1}) + len(0..5) + len(range(0, 6, 2))", "16"),
        ("len(data::DataLoader(arange(5), #{batch_size: 2}))", "3"),
        ("list(range(2, 8, 3)) + list(ones(1, 1)) + list(\"ab\")", "[2, 5, tensor([1.]), a, b]"),
        ("(0..4).map(|i| i * i) + (0..=4).filter(|i| i > 3) + (0..2).to_array()", "[0, 1, 4, 9, 4, 0, 1]"),
        ("next(nn::Linear(2, 1).to(1).parameters()).device", "device(type='cuda', index=1)"),
        ("let it = iter(range(3)); next(it); [next(it), list(it)]", "[1, [2]]"),
        ("next(iter(data::DataLoader(arange(4), #{batch_size: 2})))", "tensor([0, 1])"),
        (
            "[sum([1, 2.5]), sum([true, true]), sum((1..4)), sum([ones(1), ones(1)])]",
            "[3.5, 2, 6, tensor([2.])]",
        ),
        (
            "[min([3, 1]), max([3, 1.5]), max(2, 5, 3), max([\"b\", \"a\"]), min([-3, 2], #{key: |x| x * x})]",
            "[1, 3, 5, \"b\", 2]",
        ),
        (
            "[sorted([3, 1]), sorted([[2, 0], [1, 9]]), sorted([1, -2], #{key: |x| -x, reverse: true}), reversed([1, 2])]",
            "[[1, 3], [[1, 9], [2, 0]], [-2, 1], [2, 1]]",
        ),
        (
            "[round(2.675, 2), round(0.125, 2), round(2.5), round(1250, -2), round(5)]",
            "[2.67, 0.12, 2.0, 1200, 5]",
        ),
        ("round(tensor([2.346, 1.0]), 2)", "tensor([2.3500, 1.0000])"),
        ("let rows = []; for row in arange(4).view(2, 2) { rows.push(row.sum().item()); } rows", "[1, 5]"),
        (
            "let x = ones(2); [x.to(1).device.index, x.to(float64, true).dtype, x.to(x.cuda(1)).device.index]",
            "[1, torch.float64, 1]",
        ),
        (
            "[x.to(float32, false, true) is x, x.to(float32) is x, x.to(\"cuda\", float16, true).dtype]",
            "[false, true, torch.float16]",
        ),
        ("with autocast() { is_autocast_enabled(\"cuda\") }", "true"),
        ("with cuda::amp::autocast(false) { is_autocast_enabled(\"cuda\") }", "false"),
        ("with amp::autocast(\"cpu\") { is_autocast_enabled(\"cpu\") }", "true"),
        ("cuda::amp::GradScaler(2.0).get_scale()", "2.0"),
        ("fn f(x, y) { with no_grad() { x * 2.0 }\n-y } f(3, 1)", "-1"),
        ("fn g(x) { with no_grad() { x * 2.0 } // twice\n  [x] } g(3)", "[3]"),
        ("fn h(x) { with no_grad() { x * 2.0 } } h(3)", "6.0"),
        ("let w = with no_grad() { 2.0 }\n- 1.0; w", "1.0"),
        ("[sqrt(4), 9.sqrt(), exp(0), ln(1), cos(0)]", "[2.0, 3.0, 1.0, 0.0, 1.0]"),
    ] {
        assert_eq!(lab.text(code), want, "{code}");
    }
}

#[test]
fn each_fails_as_python_does() {
    let mut lab = Lab::on("sim:t4x2");
    for (code, want) in [
        ("len(3)", "TypeError: object of type 'int' has no len()"),
        ("len(tensor(1))", "TypeError: len() of a 0-d tensor"),
        ("for x in tensor(1) { }", "TypeError: iteration over a 0-d tensor"),
        ("next(3)", "TypeError: 'int' object is not an iterator"),
        ("next(iter([]))", "StopIteration"),
        ("enumerate(3)", "TypeError: 'int' object is not iterable"),
        ("sum([\"a\"])", "TypeError: unsupported operand type(s) for +: 'int' and 'string'"),
        ("sorted([1, \"a\"])", "TypeError: '<' not supported between instances of 'string' and 'int'"),
        ("max([])", "ValueError: max() arg is an empty sequence"),
        ("range(1, 5, 0)", "ValueError: range() arg 3 must not be zero"),
        ("list(0..100000000)", "an array holds at most"),
        ("let a = [1]; for i in 0..999 { a = zip(a, a); }", "LimitError"),
        ("assert(1 > 2)", "AssertionError: the condition does not hold"),
        ("assert(zeros(1), \"no\")", "AssertionError: no"),
        ("ones(1).to(-1)", "Device index must not be negative"),
        ("ones(1).to(7)", "do you have enough GPUs"),
        ("ones(1).to(\"cuda\", true)", "argument 'dtype' must be a dtype"),
    ] {
        let (text, _) = lab.error(code);
        assert!(text.contains(want), "{code}: {text}");
    }
}

/// As PyTorch's: its writes are in no graph, and no version of the tensor's counts them.
#[test]
fn data_is_the_tensor_without_its_graph() {
    let mut lab = Lab::on("sim:t4x2");
    lab.run("let w = ones(2, #{requires_grad: true}); let y = (w * w).sum(); w.data[0] = 5.0; y.backward();");
    assert_eq!(lab.text("[w.grad, w.data.requires_grad]"), "[tensor([10.,  2.]), false]");
    lab.run(
        "let w = ones(2, #{requires_grad: true}); let y = (w * w).sum(); let d = w.detach(); d[0] = 5.0;",
    );
    assert!(lab.error("y.backward()").0.contains("modified by an inplace operation"));
    lab.run("let net = nn::Linear(2, 1); let opt = optim::SGD(net.parameters(), 0.5); net.weight.data = zeros(1, 2).cuda(1);");
    assert_eq!(lab.text("net.weight"), "tensor([[0., 0.]], device='cuda:1', requires_grad=True)");
    lab.run("net.weight.data = net.weight.data + 1; net.weight.sum().backward(); opt.step();");
    assert_eq!(lab.text("net.weight.tolist()"), "[[0.5, 0.5]]");
    lab.run("let t = zeros(1, 2); net.weight.data = t; t.fill_(3);");
    assert_eq!(lab.text("net.weight.tolist()"), "[[0.0, 0.0]]");
    for (code, want) in [
        ("net.weight.data = ones(3)", "keeps its shape"),
        ("net.weight.data = 3", "Variable data has to be a tensor, but got int"),
        ("net.weight.data = ones(1, 2).long()", "must be floating point"),
    ] {
        let told = lab.error(code);
        assert!(format!("{told:?}").contains(want), "{code}: {told:?}");
    }
    // What is changed in its place is not copied.
    assert_eq!(
        lab.text(
            "let w = ones(1024, #{device: \"cuda\"}); telemetry::record(|| { w.data *= 2.0; }).d2d.count"
        ),
        "0"
    );
}

#[test]
fn several_values_are_printed_in_one_line() {
    use std::sync::{Arc, Mutex};
    use tensorlab::plot::Figure;
    use tensorlab::script::{Host, Interpreter, Limits, Origin};

    #[derive(Default)]
    struct Printed(Mutex<Vec<String>>);

    impl Host for Printed {
        fn print(&self, text: &str) {
            self.0.lock().unwrap().push(text.into());
        }

        fn warn(&self, _: &str) {}

        fn figure(&self, _: &Figure, _: Option<&str>) {}

        fn progress(&self, _: &str, _: u64, _: Option<u64>, _: &str) {}
    }

    let host = Arc::new(Printed::default());
    let machine = tensorlab::device::Machine::cpu_only();
    let mut lab = Interpreter::new(machine, Arc::clone(&host) as Arc<dyn Host>, &Limits::default());
    let code = "print(\"Using device:\", device(\"cuda\"), 1, 2.5, (), [\"a\", 'b'], ones(2), true); print(); \
                print(1, 2, #{sep: \", \"}); print(\"m\", #{a: 1})";
    let _ = lab.evaluate(1, &Origin { name: "test", code, first_line: 1 }).unwrap();
    let want = ["Using device: cuda 1 2.5 () [\"a\", b] tensor([1., 1.]) true", "", "1, 2", "m #{\"a\": 1}"];
    assert_eq!(*host.0.lock().unwrap(), want);
}

#[test]
fn what_catches_an_error_gives_the_value() {
    let mut lab = Lab::on("cpu");
    for (code, want) in [
        ("fn g() { try { throw \"x\"; true } catch { false } } g()", "false"),
        (
            "fn g(x) { try { if x { throw \"x\" } 1 } catch (e) { if e == \"x\" { 2 } else { throw; } } } [g(true), g(false)]",
            "[2, 1]",
        ),
        ("fn g() { try { throw 1 } catch (e) { try { throw 2 } catch (f) { e + f } } } g()", "3"),
        ("fn g() { try { throw 3 } catch (e) { return e * 2; } } g()", "6"),
        (
            "let all = []; for i in 0..3 { try { if i == 1 { throw 1 } all.push(i) } catch { continue; } } all",
            "[0, 2]",
        ),
        ("let x = 1; try { throw 5 } catch (e) { let y = e; x += y; } x", "6"),
        ("try { no_function(1) } catch (e) { e.kind }", "NameError"),
        // A `try` within what a `catch` gives has its own.
        ("fn inner() { try { 1 } catch { 2 } } fn g() { try { throw 0 } catch { inner() + 10 } } g()", "11"),
    ] {
        assert_eq!(lab.text(code), want, "{code}");
    }
}

#[test]
fn format_gives_a_text_of_whatever_it_is_given() {
    let mut lab = Lab::on("cpu");
    assert_eq!(
        lab.text(
            "[format(ones(2)), format([1, 2]), format(true), format(()), format(float32), format(#{a: 1})]"
        ),
        "[\"tensor([1., 1.])\", \"[1, 2]\", \"true\", \"()\", \"torch.float32\", \"#{\\\"a\\\": 1}\"]"
    );
}

#[test]
fn lists_of_modules_are_gone_through_as_python_does() {
    let mut lab = Lab::on("cpu");
    let list = "let m = nn::ModuleList([nn::ReLU(), nn::Tanh()]); ";
    for (code, want) in [
        (
            "let all = []; for (i, layer) in enumerate(m) { all.push(`${i} ${layer}`); } all",
            "[\"0 ReLU()\", \"1 Tanh()\"]",
        ),
        ("list(m)", "[ReLU(), Tanh()]"),
        (
            "let all = []; for (a, b) in zip(m, [1, 2]) { all.push(`${a} ${b}`); } all",
            "[\"ReLU() 1\", \"Tanh() 2\"]",
        ),
    ] {
        assert_eq!(lab.text(&format!("{list}{code}")), want, "{code}");
    }
    let (text, _) = lab.error("list(nn::Linear(1, 1))");
    assert!(text.contains("is not iterable"), "{text}");
}

#[test]
fn a_frozen_parameter_is_a_parameter() {
    let mut lab = Lab::on("cpu");
    let net = "let m = nn::module(#{w: nn::Parameter(ones(2), #{requires_grad: false}), v: nn::Parameter(ones(1))}, |self, x| x * self.w); ";
    assert_eq!(
        lab.text(&format!("{net} m.named_parameters().map(|p| [p[0], p[1].requires_grad])")),
        "[[\"v\", true], [\"w\", false]]"
    );
    assert_eq!(lab.text("nn::Parameter(arange(2), #{requires_grad: false}).dtype"), "torch.int64");
}

#[test]
fn a_pass_that_frees_nothing_may_be_made_again() {
    let mut lab = Lab::on("cpu");
    let leaf = "let w = ones(3, #{requires_grad: true}); ";
    for (code, want) in [
        ("let l = w.sum(); l.backward(); l.backward(); w.grad", "tensor([2., 2., 2.])"),
        (
            "let a = w + 1; a.sum().backward(); (a * 1).mean().backward(); w.grad",
            "tensor([1.3333, 1.3333, 1.3333])",
        ),
        (
            "let a = -w.view(3, 1).t(); a.sum().backward(); a.sum().backward(); w.grad",
            "tensor([-2., -2., -2.])",
        ),
    ] {
        assert_eq!(lab.text(&format!("{leaf}{code}")), want, "{code}");
    }
    for made in [
        "w * w",
        "w * 3.0",
        "w / 2",
        "w.exp()",
        "w.relu()",
        "w[tensor([0])]",
        "w.gather(0, tensor([0]))",
        "w.max()",
        "w.clamp(0, 1)",
        "F::avg_pool1d(w.view(1, 1, 3), 2)",
    ] {
        let code = format!("{leaf}let c = {made}; c.sum().backward(); c.sum().backward();");
        assert!(lab.error(&code).0.contains("a second time"), "{made}");
    }
}

#[test]
fn errors_are_thrown_by_their_kind() {
    let mut lab = Lab::new();
    assert_eq!(lab.error("throw ValueError(\"too few\")").0, "ValueError: too few");
    assert_eq!(
        lab.text("let told = (); try { throw IndexError() } catch (e) { told = e.kind; } told"),
        "IndexError"
    );
}

#[test]
fn a_gradient_that_does_not_go_with_its_tensor_is_refused_where_it_is_given() {
    for (grad, text) in [
        ("ones(3)", "a gradient of size '[3]' to a tensor of size '[2]'"),
        ("ones(2)", "a gradient on cpu to a tensor on cuda:0"),
        (
            "ones(2, #{dtype: float64, device: \"cuda\"})",
            "a gradient with dtype 'float64' to a tensor with dtype 'float32'",
        ),
    ] {
        let code = format!("let p = ones(2, #{{device: \"cuda\", requires_grad: true}});\np.grad = {grad};");
        let fault = fault("sim:t4", &code);
        assert!(fault.message.contains(text) && fault.line == Some(2), "{}", fault.report);
    }
    assert_eq!(
        on("sim:t4", "let p = ones(2, #{device: \"cuda\"}); p.grad = p * 2.0; p.grad.tolist()"),
        "[2.0, 2.0]"
    );
}

#[test]
fn what_python_takes_as_true_is_told_where_a_bool_is_expected() {
    for (code, test) in [
        ("let xs = [1]; if xs { 1 }", "if !xs.is_empty() { 1 }"),
        ("let n = 2; while n { n -= 1; }", "while n != 0 { n -= 1; }"),
        ("let s = \"a\"; if s { 1 }", "if s != \"\" { 1 }"),
        ("let d = #{}; if d { 1 }", "if !d.is_empty() { 1 }"),
        ("let x = (); if x { 1 }", "`x != ()`"),
        ("let n = 0; if !n { 1 }", "if n == 0 { 1 }"),
        ("let xs = []; if !xs { 1 }", "if xs.is_empty() { 1 }"),
        ("let f = |v| { if v { 1 } }; f.call([])", "`!xs.is_empty()`"),
    ] {
        let fault = fault("cpu", code);
        assert!(fault.hint.as_ref().is_some_and(|hint| hint.contains(test)), "{code}: {}", fault.report);
    }
}

#[test]
fn a_function_of_another_module_is_told_where_it_is() {
    for (code, text, hint) in [
        ("F::ones(1)", "there is no function 'F::ones'", "here it is `ones`"),
        ("cuda::live_tensors()", "there is no function 'cuda::live_tensors'", "`telemetry::live_tensors`"),
        ("ones(2).copy()", "there is no function 'copy'", "`x.clone()`"),
        ("cuda::is_initialized()", "there is no function 'cuda::is_initialized'", "`cuda::is_available()`"),
        ("cudnn::version()", "there is no function 'cudnn::version'", "`doctor()`"),
        ("nn::relu(ones(2))", "there is no function 'nn::relu'", "`relu`"),
    ] {
        let fault = fault("cpu", code);
        assert!(fault.message.contains(text), "{}", fault.report);
        assert!(fault.hint.as_ref().is_some_and(|told| told.contains(hint)), "{code}: {}", fault.report);
    }
    // Where it is, what it takes is told.
    let taken = fault("cpu", "F::relu(5, 6, 7, 8)");
    assert!(!taken.message.contains("there is no function 'F::relu'"), "{}", taken.report);
}

/// What is told of a call with another number of arguments names what the code has written.
#[test]
fn a_call_with_another_number_of_arguments_is_told_by_what_was_written() {
    for (code, text, hint) in [
        (
            "let net = nn::module(#{fc: nn::Linear(4, 2)}, |self, x, mask| self.fc.forward(x));\nnet.forward(ones(1, 4))",
            "`|self, x, mask|` takes 2 arguments beside `self`, and is given 1",
            "`()` stands for one",
        ),
        (
            "let k = 1; let f = |x, y| x + y + k; f.call(1)",
            "`|x, y|` takes 2 arguments, and is given 1",
            "`()`",
        ),
        ("fn f(x, y) { x + y } f(1)", "`f(x, y)` takes 2 arguments, and is given 1", "`()`"),
        ("fn f(x) { x } f(1, 2)", "`f(x)` takes 1 argument, and is given 2", "`|x, b| …`"),
        (
            "distributed::spawn(|rank| rank, #{nprocs: 2})",
            "`|rank|` takes 1 argument, and is given 2",
            "`|rank, b| …`",
        ),
        (
            "try { let f = |x| x; f.call() } catch (e) { throw e.message; }",
            "the closure takes another number",
            "",
        ),
    ] {
        let fault = fault("cpu", code);
        assert!(fault.message.contains(text) && !fault.report.contains("anon$"), "{code}: {}", fault.report);
        assert!(fault.hint.unwrap_or_default().contains(hint), "{code}");
    }
    let mut lab = Lab::new();
    lab.run("let k = 1; let f = |x, y| x + y + k;");
    assert!(lab.error("f.call(1)").0.contains("`|x, y|` takes 2 arguments, and is given 1"));
}

#[test]
fn what_a_computer_has_is_printed_one_thing_to_a_line() {
    let text = Lab::new().text("`${doctor()}`");
    assert!(text.contains("processor") && text.contains("cuBLAS") && !text.contains("#{"), "{text}");
}

#[test]
fn nothing_where_a_value_belongs_and_a_list_behind_a_block_are_explained() {
    for (code, hint) in [
        ("let m = #{a: 1};\nm.b - 1", "a name that it does not have"),
        ("fn f() { let y = with no_grad() { 1 }\n[1, 2] }\nf()", "read as an index of the block"),
        ("let y = ones(2, #{requires_grad: true}) * 2;\ny.backward(ones(2).grad)", "where `()` is none"),
    ] {
        let told = fault("sim:t4", code).hint.unwrap_or_default();
        assert!(told.contains(hint), "{code}: {told}");
    }
    let told = fault("sim:t4", "let a = [1, 2];\na[0, 1]").hint.unwrap_or_default();
    assert!(told.contains("`at`"), "{told}");
}

#[test]
fn what_is_called_in_another_way_is_told() {
    let mut lab = Lab::on("sim:t4x2");
    for (code, want) in [
        ("let d = #{}; d[\"conv\"].mean(#{dim: 0})", "a map gives it for a name that it does not have"),
        ("let d = #{}; F::mse_loss(d[\"b\"], ones(2))", "a map gives it for a name that it does not have"),
        ("let d = #{}; d.b.c", "a map gives it for a name that it does not have"),
        (
            "let d = #{}; nn::Linear(2, 2).forward(d[\"b\"])",
            "a map gives it for a name that it does not have",
        ),
        ("let m = #{fc: nn::Linear(2, 2)}; m.fc(ones(2))", "a module by `d.fc.forward(x)`"),
        ("let net = nn::Linear(2, 2); net.predict(ones(2))", "`predict.call(net, x)`"),
        ("range(3.0)", "`range(x.to_int())`"),
        ("range(tensor(3))", "`range(x.item())`"),
        ("let batch = [ones(2), ones(2)]; batch.cuda()", "`xs[0].cuda(…)`"),
        ("autograd::Function(|ctx, x| x, |ctx, g| g).forward(ones(2))", "`f.apply(x)` calls it"),
        (
            "let f = |n| if n == 0 { 0 } else { f.call(n - 1) }; f.call(3)",
            "`fn f(…) { … }` calls itself by `f(…)`",
        ),
        ("F::cross_entropy(rand(2, 5, 3), zeros([2, 5]).long())", "`scores.transpose(1, -1)`"),
        ("F::binary_cross_entropy_with_logits(rand(2, 1), rand(2))", "`x.squeeze(1)` drops it"),
        ("data::default_collate([ones(2), ones(3)])", "`#{collate_fn: |samples| …}`"),
        (
            "fn r(n) { if n == 0 { 0 } else { r(n - 1) } } r(300)",
            "a loop with an array of what is left to do goes deeper",
        ),
        (
            "let w = ones(2, #{requires_grad: true}); w -= 1",
            "would make another tensor, which no network has",
        ),
    ] {
        let (text, hint) = lab.error(code);
        assert!(hint.contains(want), "{code}: {text}\n{hint}");
    }
    let (text, _) = lab.error("nn::utils::rnn::pad_sequence([ones(2), [3]])");
    assert!(text.contains("expected Tensor as element 1 in argument 0, but got array"), "{text}");
    // A loop that ends with its iterator can tell that from an error.
    assert_eq!(
        lab.text("let it = iter([]); let kind = (); try { next(it) } catch (e) { kind = e.kind } kind"),
        "StopIteration"
    );
}

/// As Python has it of what can't be changed.
#[test]
fn what_cannot_be_changed_is_one_where_it_is_equal() {
    let code = "let x = ones(2); let d = x.device; let a = [1]; let b = a;
        [x.dtype is float32, x.dtype is float64, d is d, 3 is 3, 3 is 3.0, 1 is true, \"cuda\" is \"cuda\", () is (), 0 is (),
         x is x, x is x.clone(), a is b]";
    assert_eq!(
        crate::parallel::on("cpu", code),
        "[true, false, true, true, false, false, true, true, false, true, false, false]"
    );
}
