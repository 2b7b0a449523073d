//! What an error says to do about it.

use crate::nn::Lab;

/// Whether each line fails with a text, and its hint has another.
fn holds(rows: &[(&str, &str, &str)]) {
    for (code, said, hint) in rows {
        let (text, told) = Lab::on("cpu").error(code);
        assert!(text.contains(said) && told.contains(hint), "{code}: {text}\n{told}");
    }
}

#[test]
fn a_parameter_that_a_step_has_changed_is_no_slip_of_assignment() {
    let step = "let d = nn::Linear(2, 1); let o = optim::Adam(d.parameters()); let x = ones(4, 2, #{requires_grad: true}); \
                let s = d.forward(x).mean(); s.backward(#{retain_graph: true}); o.step(); s.backward();";
    holds(&[
        (
            step,
            "[torch.FloatTensor [1, 2]] is at version",
            "all `backward()` calls stand before `step()`, or the forward pass is run again",
        ),
        (
            "let x = ones(2); let w = ones(2, #{requires_grad: true}); let y = (w * x).sum(); x += 1; y.backward();",
            "[torch.FloatTensor [2]] is at version 1; expected version 0 instead",
            "write `y = y + …` instead of `y += …`",
        ),
    ]);
}

#[test]
fn a_second_pass_of_a_loop_is_told_to_cut_off_what_it_carries_on() {
    holds(&[(
        "let h = zeros(3, #{requires_grad: true}); for i in range(2) { h = (h + 1).tanh(); h.sum().backward(); }",
        "Trying to backward through the graph a second time",
        "`h = h.detach()` cuts it off",
    )]);
}

#[test]
fn integers_that_floats_are_written_to_are_told_of_a_new_tensor() {
    for code in ["x *= 0.5", "x /= 2", "x += 0.5", "x.mul_(0.5)"] {
        holds(&[(
            &format!("let x = arange(5); {code};"),
            "result type Float can't be cast to the desired output type Long",
            "`x = x * y` instead of `x *= y` makes a new one, and `x = x.float()` converts it",
        )]);
    }
}

#[test]
fn of_two_dtypes_that_which_holds_less_is_converted() {
    holds(&[
        ("nn::Linear(4, 2).forward(arange(4))", "got Long and Float", "convert the input: `x.float()`"),
        (
            "nn::Conv2d(1, 2, 3).forward(zeros([1, 1, 8, 8], #{dtype: uint8}))",
            "Input type (unsigned char)",
            "convert the input: `x.float()`",
        ),
        (
            "nn::Linear(4, 2).half().forward(ones(1, 4))",
            "got Float and Half",
            "`x.to(float16)` converts the input; `net.float()` would convert a network instead",
        ),
        (
            "nn::Linear(4, 2, #{bias: false}).half().forward(ones(1, 4))",
            "m1 and m2",
            "`x.to(float16)` converts the input",
        ),
        ("let a = arange(4).view(2, 2); mm(a, ones(2, 2))", "same dtype", "`a.to(float32)`"),
        ("let a = arange(4).view(2, 2); mm(ones(2, 2), a)", "same dtype", "`a.to(float32)`"),
        ("addmm(ones(2), ones(2, 2).long(), ones(2, 2))", "same dtype", "with `.float()`"),
    ]);
}

#[test]
fn collectives_are_told_as_they_are_called_here() {
    let on_two =
        |body: &str| format!("distributed::spawn(|r, w| {{ let t = ones(1); {body} }}, #{{nprocs: 2}})");
    holds(&[
        (
            &on_two("let outs = [zeros(1), zeros(1)]; distributed::all_gather(outs, t)"),
            "must be Tensor, not array",
            "`let all = distributed::all_gather(t);`",
        ),
        (
            &on_two("distributed::all_reduce(t, #{op: distributed::ReduceOp::SUM})"),
            "'distributed::ReduceOp::SUM' is not defined",
            "`#{op: \"sum\"}`",
        ),
    ]);
}

#[test]
fn names_of_other_modules_are_told_where_they_stand() {
    holds(&[
        (
            "utils::checkpoint::checkpoint(|z| z, ones(2))",
            "there is no module 'utils::checkpoint'",
            "here it is `checkpoint(f, x)`, in no module",
        ),
        (
            "utils::checkpoint_sequential([|z| z], 1, ones(2))",
            "there is no module 'utils'",
            "here it is `checkpoint_sequential(functions, segments, x)`",
        ),
        ("utils::data::DataLoader(ones(2))", "there is no module", "here it is `data::DataLoader`"),
        ("utils::nothing(2)", "there is no module 'utils'", "`checkpoint(f, x)`, `data::DataLoader(…)`"),
        (
            "let o = optim::SGD([nn::Parameter(ones(2))], 0.1); let s = lr_scheduler::StepLR(o, 1);",
            "there is no module 'lr_scheduler'",
            "here it is `optim::lr_scheduler::StepLR`",
        ),
        (
            "nn::linear(3, 2)",
            "there is no function 'nn::linear'",
            "did you mean `nn::Linear`? `F::linear` is its function",
        ),
        ("nn::crossentropyloss()", "there is no function", "did you mean `nn::CrossEntropyLoss`?"),
    ]);
}

#[test]
fn devices_of_other_kinds_are_told_not_to_be_here() {
    for device in ["meta", "mps"] {
        holds(&[(
            &format!("rand(3, #{{device: \"{device}\"}})"),
            "Expected one of cpu, cuda",
            "`cpu` and `cuda` alone are here",
        )]);
    }
    holds(&[("ones(1).to(\"cuda:x\")", "Invalid device string", "a device is written \"cpu\"")]);
}

#[test]
fn a_name_without_its_end_is_known_and_a_short_one_is_not_offered_for_a_longer() {
    holds(&[(
        "nn::CrossEntropy()",
        "there is no function 'nn::CrossEntropy'",
        "did you mean `CrossEntropyLoss`?",
    )]);
    let (text, told) = Lab::on("cpu").error("print(net);");
    assert!(text.contains("'net' is not defined") && !told.contains("did you mean"), "{text}\n{told}");
}

#[test]
fn what_is_read_of_values_is_told_as_it_is_written() {
    holds(&[
        (
            "let b = #{image: ones(2)}; b.images[0]",
            "cannot index ()",
            "a map gives it for a name that it does not have",
        ),
        ("ones(2, #{dtype: f16})", "name 'f16' is not defined", "the dtype is called `float16`"),
        ("let x = ones(2); x.device()", "a device is a string", "`x.device`, which is no function"),
    ]);
}

#[test]
fn slips_of_a_line_are_told() {
    holds(&[
        ("let x = ones(2, 2); x.at([1, 1]) = 4;", "cannot be assigned to", "`x.put([1, 1], 4)`"),
        (
            "let z = (ones(2, #{requires_grad: true}) * 2).sum(); z.grad_fn.next_functions",
            "'string' object has no attribute 'next_functions'",
            "`grad_fn` is a text here",
        ),
        ("let a = if (1 > 0) 3 else 4;", "Expecting '{'", "`if a { 3 } else { 4 }`"),
        ("let a = true; let b = true; if a { } elif b { }", "Expecting ';'", "`else if`"),
        ("if a { } elif b { }", "Expecting ';'", "`else if`"),
    ]);
}

#[test]
fn modules_say_what_they_have_and_take() {
    holds(&[
        (
            "let net = nn::module(\"Net\", #{a: nn::Linear(2, 2)}, |self, x| self.b.forward(x)); net.forward(ones(2))",
            "'Net' object has no attribute 'b'",
            "its parts are `a`",
        ),
        (
            "nn::Sequential(#{fc1: nn::Linear(2, 2), fc2: nn::Linear(2, 2)})",
            "map is not a Module subclass",
            "`nn::Sequential([[\"fc1\", nn::Linear(2, 2)], …])`",
        ),
    ]);
}

#[test]
fn a_vowel_is_behind_an() {
    holds(&[(
        "optim::Adam([#{params: [nn::Parameter(ones(2))], betas: 3}])",
        "must be an array, not int",
        "",
    )]);
}

#[test]
fn members_of_enumerations_are_told_as_texts() {
    for code in
        ["let o = ReduceOp::SUM;", "let o = dist::ReduceOp::SUM;", "let o = distributed::ReduceOp::BXOR;"]
    {
        let (_, hint) = Lab::on("cpu").error(code);
        assert!(hint.contains("\"sum\""), "{code}: {hint}");
    }
}

#[test]
fn an_odd_bias_is_what_is_converted() {
    holds(&[
        (
            "F::linear(ones(2, 3), ones(4, 3), ones(4, #{dtype: float64}))",
            "Double",
            "convert the bias: `bias.float()`",
        ),
        (
            "F::conv2d(ones(1, 1, 3, 3), ones(1, 1, 1, 1), ones(1, #{dtype: int64}))",
            "bias",
            "convert the bias: `bias.float()`",
        ),
    ]);
}

#[test]
fn places_that_are_written_to_are_told_of_put_and_nothing_else_is() {
    for code in [
        "x.at([0]) = \"a=b\";",
        "x.at([0]) = tensor(1, #{dtype: int64});",
        "x.at([x.at([0]).item()]) += 4;",
        "x.at([0]) = if true { 3 } else { 4 };",
    ] {
        holds(&[(&format!("let x = zeros(2); {code}"), "assigned", "`x.put(places, value)`")]);
    }
    holds(&[("let x = zeros(2); x.at(x == 1) = 0;", "assigned", "`x.put(x == 1, 0)`")]);
    for code in ["let y = x.at([0]) == 3; x.sum() = 4;", "let t = \"x.at(0)\"; sum(x) = 4;"] {
        let (_, hint) = Lab::on("cpu").error(&format!("let x = zeros(2); {code}"));
        assert!(!hint.contains("put"), "{code}: {hint}");
    }
}

#[test]
fn names_are_looked_for_where_they_are() {
    holds(&[
        ("dist::barrier()", "no module 'dist'", "`distributed::barrier`"),
        ("functional::relu(ones(2))", "no module 'functional'", "`F::relu`"),
        ("nn::Linear(2, 1).in_featurs", "no attribute", "did you mean `in_features`?"),
        ("nn::Sequential(nn::ReLU()).fc1", "no attribute", "`net[0]`"),
        ("let net = 1; print(Net);", "name 'Net'", "did you mean `net`?"),
        ("print(PI)", "name 'PI'", "the number is `PI()`"),
        ("plot(ones(2))", "plot() does not take", "`plot` is a module"),
        ("ones(2).gelu()", "gelu() does not take", "it is no method: `F::gelu(x)`"),
        ("_ + 1", "name '_'", "`let x = …`"),
        ("tensor(5.0).size(0)", "Dimension specified as 0 but tensor has no dimensions", ""),
    ]);
}

#[test]
fn an_array_where_a_tensor_belongs_is_told_of_its_parts() {
    let parts = "an array holds values one after the other, and `[0]` is the first of them";
    holds(&[
        (
            "let out = nn::LSTM(2, 3).forward(ones(4, 1, 2)); out.shape",
            "'array' object has no attribute 'shape'",
            parts,
        ),
        ("ones(2) * [ones(2)]", "for (Tensor, array)", parts),
        ("[1, 2] - ones(2)", "for (array, Tensor)", parts),
        (
            "for [x, y] in data::DataLoader(data::TensorDataset(ones(4), ones(4))) { x }",
            "Expecting name of a variable",
            "`for (x, y) in …`",
        ),
        ("let t = rand(3).aminmax(); t[0]", "string is expected, not int", "`.min` and `.max` of aminmax"),
        (
            "print(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17)",
            "print() does not take",
            "print() takes 16 values",
        ),
        ("float::NAN", "there is no module 'float'", "`nan`"),
        ("f64::INFINITY", "there is no module 'f64'", "`inf`"),
    ]);
    // What arrays have is told as before.
    let (_, hint) = Lab::on("cpu").error("[1, 2].lenn");
    assert!(hint.contains("`len`"), "{hint}");
}

#[test]
fn an_operand_without_a_name_is_told_by_its_side() {
    let mut lab = Lab::on("sim:t4");
    let (_, hint) = lab.error("let y = ones(3, #{device: \"cuda\"}); y + ones(5)");
    assert!(hint.contains("`.to(\"cuda:0\")` behind the right one or `y.to(\"cpu\")`"), "{hint}");
    let (_, hint) = lab.error("ones(3) * y");
    assert!(hint.contains("`y.to(\"cpu\")` or `.to(\"cuda:0\")` behind the left one"), "{hint}");
}

#[test]
fn of_two_devices_each_operand_is_moved_to_the_others() {
    let mut lab = Lab::on("sim:t4");
    lab.run("let g = ones(3, #{device: \"cuda\"}); let c = ones(3);");
    for code in ["c + g", "c.add(g)", "c - g", "c.maximum(g)"] {
        let (_, hint) = lab.error(code);
        assert!(hint.contains("`g.to(\"cpu\")` or `c.to(\"cuda:0\")`"), "{code}: {hint}");
    }
    let (_, hint) = lab.error("g + c");
    assert!(hint.contains("`c.to(\"cuda:0\")` or `g.to(\"cpu\")`"), "{hint}");
}

#[test]
fn a_block_is_not_made_over_for_a_name_that_another_statement_has_too() {
    let code = "for i in [1] { let x = 3; print(infx); }\nlet x = 4;\nprint(x);";
    let (_, hint) = Lab::on("cpu").error(code);
    assert_eq!(hint, "did you mean `inf`?");
}

#[test]
fn hints_keep_to_what_they_are_about() {
    for (code, unsaid) in [
        ("let x = ones(2); x.grad_fn.foo", "is a text"),
        ("device(3.5)", "x.device"),
        ("for i in range(0, 3) step 2 { }", "stands in braces"),
        ("let a = 3; if a == 3 then { }", "stands in braces"),
    ] {
        let (_, hint) = Lab::on("cpu").error(code);
        assert!(!hint.contains(unsaid), "{code}: {hint}");
    }
}

#[test]
fn a_layer_where_a_value_belongs_is_told_how_it_is_made() {
    holds(&[
        (
            "nn::Sequential([nn::Linear(4, 4), relu])",
            "name 'relu' is not defined",
            "`relu` is a function, no value: `nn::ReLU()` is the layer, and `|x| relu(x)` hands the function on",
        ),
        ("let n = ReLU;", "name 'ReLU'", "it is `nn::ReLU`, called to make one: `nn::ReLU(…)`"),
        ("let f = leaky_relu;", "name 'leaky_relu'", "`nn::LeakyReLU()` is the layer"),
        ("let o = SGD;", "name 'SGD'", "it is `optim::SGD`"),
        ("let f = flaot64;", "name 'flaot64'", "did you mean `float64`?"),
    ]);
}

#[test]
fn a_mask_is_told_of_as_the_mask() {
    for call in ["x.masked_fill(m, 1.0)", "x.masked_fill(m, tensor(1.0))"] {
        let code = format!("let x = rand(2, 3); let m = tensor([true, false]); {call}");
        let fault = crate::parallel::fault("cpu", &code);
        let listed = fault.operands.join("; ");
        assert!(listed.contains("x: float32 [2, 3] on cpu; m: bool [2] on cpu"), "{call}: {listed}");
    }
}

#[test]
fn of_several_tensors_the_one_elsewhere_is_moved() {
    for (code, hint) in [
        (
            "let a = rand(2, 3).cuda(); where(a > 0.5, a, rand(2, 3))",
            "move `other` first, `other.to(\"cuda:0\")`",
        ),
        (
            "let a = rand(2, 3); where(a > 0.5, a, rand(2, 3).cuda())",
            "move `other` first, `other.to(\"cpu\")`",
        ),
        ("let a = rand(2, 3); let c = a.cuda() > 0.5; where(c, a, a)", "move `c` first, `c.to(\"cpu\")`"),
    ] {
        let (_, told) = Lab::on("sim:t4").error(code);
        assert!(told.contains(hint) && !told.contains("`b."), "{code}: {told}");
    }
}

#[test]
fn what_is_advised_of_ranges_shapes_and_types_is_of_use() {
    holds(&[
        ("arange(0, 10, -1)", "inconsistent with step sign", "a range that goes up needs a positive step"),
        (
            "arange(0.0, 1.0, -0.1)",
            "inconsistent with step sign",
            "a range that goes up needs a positive step",
        ),
        ("arange(10, 0, 1)", "inconsistent with step sign", "a range that goes down needs a negative step"),
        (
            "arange(1.0, 0.0, 0.1)",
            "inconsistent with step sign",
            "a range that goes down needs a negative step",
        ),
        (
            "nn::Conv2d(3, 8, 3).forward(rand(5, 5))",
            "but got input of size: [5, 5]",
            "it takes `[channels, height, width]` or `[batch, channels, height, width]`",
        ),
        ("nn::Conv1d(3, 8, 3).forward(rand(5))", "of size: [5]", "it takes `[channels, length]`"),
        (
            "nn::Conv3d(3, 8, 3).forward(rand(5, 5, 5))",
            "of size: [5, 5, 5]",
            "it takes `[channels, depth, height, width]`",
        ),
        (
            "ones(3).to(#{dtype: \"fp16\"})",
            "argument 'dtype' must be a dtype such as float32, not \"fp16\"",
            "dtypes are names of their own: float64, float32, float16",
        ),
        ("ones(3).to(#{dtype: \"flaot16\"})", "not \"flaot16\"", "did you mean `float16`?"),
        ("ones(3).to(\"gpu\")", "at start of device string: gpu", "\"cpu\", \"cuda\" or \"cuda:0\""),
        (
            "device(#{kind: \"cuda\"})",
            "unexpected argument 'kind'",
            "it takes a `type` that is a text, and an `index`",
        ),
        ("device(#{index: 1})", "missing required argument 'type'", ""),
    ]);
    let made = "[device(#{type: \"cuda\"}), device(#{type: \"cuda\", index: 1}), device(#{type: \"cpu\", index: ()})]
        == [device(\"cuda\"), device(\"cuda:1\"), device(\"cpu\")]";
    assert!(Lab::on("cpu").truth(made));
}

#[test]
fn characters_that_look_like_codes_are_told_by_their_ascii_form() {
    holds(&[
        ("print(“hello”)", "Unexpected '“'", "`“` is U+201C; code has `\"`"),
        ("print(‘x’)", "Unexpected '‘'", "code has `\"` around a text"),
        ("3 × 4", "Unexpected '×'", "code has `*`"),
        ("let a = 5 − 3;", "Unexpected '−'", "code has `-`"),
        ("6 ÷ 2", "Unexpected '÷'", "code has `/`"),
        ("6 · 2", "Unexpected '·'", "code has `*`"),
        ("if 3 ≤ 4 { 1 }", "Unexpected '≤'", "code has `<=`"),
        ("let a = 3 ≥ 4;", "Unexpected '≥'", "code has `>=`"),
        ("3 ≠ 4", "Unexpected '≠'", "code has `!=`"),
        ("let a\u{200b} = 3;", "U+200B, which can't be seen", "delete it"),
        ("let\u{a0}a = 3;", "space U+00A0", "a plain space"),
        ("let π = 3.14;", "Unexpected 'π'", "names are made of the letters a to z"),
        ("\"≤\"; /* ≤ */ `≤` ≥ 3", "Unexpected '≥'", "code has `>=`"),
    ]);
}

#[test]
fn signs_of_other_languages_are_told() {
    let deep = format!("print({})", vec!["1"; 300].join(" + "));
    holds(&[
        ("#{device=\"cuda\"}", "to follow the property 'device'", "`#{device: …}`"),
        ("let f = |x, y=2| x;", "to separate the parameters", "`let y = y ?? …;`"),
        ("let f = x => x + 1;", "Expecting ';'", "`|x| x + 1`"),
        ("[1].map(|_| 1)", "close the parameters list", "`|_x| …`"),
        ("try { x } catch e { 1 }", "Expecting '{'", "`catch (e) { … }`"),
        ("let f = fn(x) { x };", "Unexpected 'fn'", "is a closure: `|x| { … }`"),
        ("let y = .5;", "Unexpected '.'", "`0.5`"),
        ("with no_grad() print(1);", "Expecting '{'", "`with no_grad() { … }`"),
        ("let x = ones(20); x[0..10..2]", "no function '..'", "`x[arange(0, 10, 2)]`"),
        (&deep, "exceeds maximum complexity", "parts get names of their own"),
        ("bool([])", "does not take (array)", "`!xs.is_empty()`"),
        ("ord(\"a\")", "no function 'ord'", "`\"a\".to_string().to_chars()[0].to_int()`"),
        ("chr(98)", "no function 'chr'", "that of a number is read by its four digits"),
        (
            "let f = (); f = |n| if n <= 1 { 1 } else { n * f.call(n - 1) }; f.call(5)",
            "uses the variable whose method calls it",
            "a closure can't call itself, for it is in use while it runs: `fn f(…)",
        ),
        ("let x = ones(1); x += \"a\";", "operand type(s) for +=: 'Tensor' and 'string'", "`x.to_string()`"),
    ]);
    for code in ["\"a\"[0].to_int()", "[1, 2].reduce(|all, x| all + x, 0)", "arange(9)[arange(0, 9, 2)]"] {
        Lab::on("cpu").run(code);
    }
}
