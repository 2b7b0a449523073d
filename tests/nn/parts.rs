//! Modules as containers: children, parameters and buffers that come and go after a network is made.

use super::Lab;

#[test]
fn a_head_is_replaced_and_trained_as_in_fine_tuning() {
    let mut lab = Lab::new();
    lab.run(
        "let net = nn::module(\"Net\", #{
             body: nn::Sequential(nn::Linear(4, 3), nn::ReLU()), fc: nn::Linear(3, 2), seen: 0,
         }, |self, x| { self.seen += 1; self.fc.forward(self.body.forward(x)) });
         let old = net.fc; let x = ones([5, 4]); net.requires_grad_(false);
         net.fc = nn::Linear(3, 7);",
    );
    assert_eq!(
        lab.text("net"),
        "Net(\n  (body): Sequential(\n    (0): Linear(in_features=4, out_features=3, bias=True)\n    (1): ReLU()\n  )\n  \
         (fc): Linear(in_features=3, out_features=7, bias=True)\n)"
    );
    assert!(lab.truth("!(net.fc is old) && net.fc.weight.requires_grad && !old.weight.requires_grad"));
    assert_eq!(lab.text("net.forward(x).shape"), "[5, 7]");
    lab.run(
        "let before = net.fc.bias.detach().clone(); let body = net.body[0].weight.detach().clone();
         let opt = optim::SGD(net.parameters().filter(|p| p.requires_grad), #{lr: 0.5});
         net.forward(x).square().sum().backward(); opt.step();",
    );
    assert!(lab.truth("!net.fc.bias.equal(before) && net.body[0].weight.equal(body)"));
    assert_eq!(
        lab.text("net.state_dict().keys()"),
        "[\"body.0.bias\", \"body.0.weight\", \"fc.bias\", \"fc.weight\"]"
    );
    assert_eq!(lab.text("net.state_dict()[\"fc.weight\"].shape"), "[7, 3]");
    assert_eq!(lab.text("net.seen"), "2");
    // A new child, one inside a child, and one taken away.
    lab.run("net.extra = nn::Dropout(0.5); net.body[1] = nn::Tanh(); net.eval();");
    assert!(lab.truth("!net.extra.training && net.body[1].isinstance(\"Tanh\")"));
    assert_eq!(lab.text("net.named_children().map(|p| p[0])"), "[\"body\", \"fc\", \"extra\"]");
    lab.run("net.extra = ();");
    assert!(lab.truth("net.extra == ()"));
    assert_eq!(lab.text("net.children().len()"), "2");
    let (text, _) = lab.error("net.fc = 3");
    assert_eq!(
        text,
        "TypeError: cannot assign 'int' as child module 'fc' (torch.nn.Module or None expected)"
    );
    let (text, hint) = lab.error("net.heads = [nn::ReLU()]");
    assert!(
        text.contains("would not be found by parameters()") && hint.contains("ModuleList"),
        "{text} {hint}"
    );
}

#[test]
fn leaves_that_are_assigned_later_are_trained_and_other_values_are_kept() {
    let mut lab = Lab::new();
    lab.run("let m = nn::module(#{fc: nn::Linear(2, 1)}, |self, x| { self.last = x; self.fc.forward(x) * self.scale });");
    lab.run("m.scale = nn::Parameter(tensor([3.0])); m.rate = 0.5; m.rate += 1.0; m.forward(ones([1, 2]));");
    assert_eq!(lab.text("m.named_parameters().map(|p| p[0])"), "[\"scale\", \"fc.weight\", \"fc.bias\"]");
    assert_eq!(lab.text("[m.rate, m.last]"), "[1.5, tensor([[1., 1.]])]");
    assert_eq!(lab.text("m.state_dict().keys()"), "[\"fc.bias\", \"fc.weight\", \"scale\"]");
    lab.run(
        "m.register_buffer(\"mean\", zeros(2)); m.register_buffer(\"cache\", ones(2), #{persistent: false});",
    );
    lab.run("m.fc.register_parameter(\"gain\", tensor([1.0])); m.add_module(\"act\", nn::ReLU());");
    assert_eq!(lab.text("m.named_buffers().map(|p| p[0])"), "[\"mean\", \"cache\"]");
    assert!(lab.truth("\"mean\" in m.state_dict() && !(\"cache\" in m.state_dict())"));
    assert!(lab.truth("m.double(); m.cache.dtype == float64 && m.scale.dtype == float64"));
    assert!(lab.truth("m.get_submodule(\"\") is m && m.get_submodule(\"act\") is m.act"));
    assert!(lab.truth("m.get_parameter(\"fc.gain\") is m.fc.gain && m.get_buffer(\"mean\") is m.mean"));
    assert!(lab.truth("m.fc.gain.requires_grad"));
    for (code, want) in [
        ("m.get_submodule(\"fc.weight\")", "TypeError: `weight` is not an nn.Module"),
        ("m.get_submodule(\"fd\")", "TypeError: Module has no attribute `fd`"),
        ("m.get_parameter(\"mean\")", "TypeError: `mean` is not an nn.Parameter"),
        ("m.get_buffer(\"scale\")", "TypeError: `scale` is not a buffer"),
        ("m.add_module(\"a.b\", nn::ReLU())", "ValueError: module name can't contain \".\", got: a.b"),
        ("m.add_module(\"\", nn::ReLU())", "ValueError: module name can't be empty string \"\""),
        ("m.add_module(\"scale\", nn::ReLU())", "ValueError: attribute 'scale' already exists"),
        ("m.add_module(\"b\", 3)", "TypeError: int is not a Module subclass"),
        ("m.register_buffer(\"fc\", zeros(1))", "ValueError: attribute 'fc' already exists"),
        (
            "m.register_buffer(\"c\", 3)",
            "TypeError: cannot assign 'int' object to buffer 'c' (torch Tensor or None required)",
        ),
    ] {
        assert_eq!(lab.error(code).0, want, "{code}");
    }
    let (text, hint) = lab.error("m.register_buffer(\"c\", zeros(1), #{persistant: false})");
    assert!(text.contains("'persistant'") && hint.contains("`persistent`"), "{text} {hint}");
}

#[test]
fn lists_and_maps_of_modules_grow_and_shrink() {
    let mut lab = Lab::new();
    lab.run(
        "let list = nn::ModuleList(); list.append(nn::Linear(2, 3)).append(nn::ReLU());
         list.extend([nn::Linear(3, 4), nn::Tanh()]); list.insert(1, nn::Dropout(0.1)); let gone = list.pop(-1);",
    );
    assert_eq!(lab.text("type_of(gone)"), "Tanh");
    assert_eq!(
        lab.text("list"),
        "ModuleList(\n  (0): Linear(in_features=2, out_features=3, bias=True)\n  (1): Dropout(p=0.1, inplace=False)\n  \
         (2): ReLU()\n  (3): Linear(in_features=3, out_features=4, bias=True)\n)"
    );
    assert_eq!(
        lab.text("list.named_parameters().map(|p| p[0])"),
        "[\"0.weight\", \"0.bias\", \"3.weight\", \"3.bias\"]"
    );
    assert_eq!(lab.text("[len(list), list.len()]"), "[4, 4]");
    lab.run("let net = nn::Sequential(nn::Linear(2, 3)) + nn::Sequential(nn::ReLU()); net.append(nn::Linear(3, 1));");
    assert_eq!(lab.text("net.forward(ones([4, 2])).shape"), "[4, 1]");
    lab.run(
        "let opt = optim::SGD(net.parameters(), #{lr: 0.1}); let wide = nn::Linear(1, 5); net.append(wide);",
    );
    lab.run(
        "opt.add_param_group(#{params: wide.parameters(), lr: 0.2}); let old = wide.bias.detach().clone();",
    );
    lab.run("net.forward(ones([4, 2])).sum().backward(); opt.step();");
    assert!(lab.truth("allclose(wide.bias, old - 0.8)"));
    lab.run(
        "let dict = nn::ModuleDict(#{act: nn::ReLU()}); dict[\"fc\"] = nn::Linear(2, 2);
         dict.update(#{norm: nn::LayerNorm(2)}); dict[\"act\"] = nn::GELU();",
    );
    assert_eq!(lab.text("dict.keys()"), "[\"act\", \"fc\", \"norm\"]");
    assert!(lab.truth("\"fc\" in dict && !(\"fd\" in dict) && type_of(dict[\"act\"]) == \"GELU\""));
    assert!(lab.truth("let fc = dict[\"fc\"]; dict.pop(\"fc\") is fc && dict.len() == 2"));
    lab.run("dict.clear();");
    assert_eq!(lab.text("dict"), "ModuleDict()");
    for (code, want) in [
        ("list[9] = nn::ReLU()", "IndexError: index 9 is out of range"),
        ("list[0] = 4", "TypeError: int is not a Module subclass"),
        ("list.append(4)", "TypeError: int is not a Module subclass"),
        ("net.insert(9, nn::ReLU())", "IndexError: Index out of range: 9"),
        ("nn::Linear(2, 2).append(nn::ReLU())", "TypeError: 'Linear' object has no attribute 'append'"),
        ("dict.pop(\"fc\")", "TypeError: ModuleDict has no attribute `fc`"),
    ] {
        assert_eq!(lab.error(code).0, want, "{code}");
    }
}

#[test]
fn children_with_names_of_their_own_keep_them() {
    let mut lab = Lab::new();
    let names = "net.named_children().map(|p| p[0])";
    lab.run("let net = nn::Sequential(); net.add_module(\"a\", nn::Linear(2, 2)); net.append(nn::ReLU());");
    assert_eq!(lab.text("net.state_dict().keys()"), "[\"a.bias\", \"a.weight\"]");
    assert_eq!(lab.text(names), "[\"a\", \"1\"]");
    lab.run("net.extend([nn::Tanh(), nn::GELU()]); net.insert(2, nn::SiLU()); net.insert(-1, nn::Mish());");
    assert_eq!(lab.text(names), "[\"a\", \"1\", \"2\", \"3\", \"4\", \"5\"]");
    assert_eq!(
        lab.text("net.children().map(|m| type_of(m))"),
        "[\"Linear\", \"ReLU\", \"SiLU\", \"Tanh\", \"Mish\", \"GELU\"]"
    );
    let (text, hint) = lab.error("net.insert(0, nn::Tanh())");
    assert_eq!(text, "KeyError: '0'");
    assert!(hint.contains("name of its own"), "{hint}");
    assert_eq!(lab.text("net.len()"), "6", "what is refused changes nothing");
    // A part of the row keeps the names, and a list counts anew; so does whoever takes one out.
    assert_eq!(lab.text("net[0..3].named_children().map(|p| p[0])"), "[\"a\", \"1\", \"2\"]");
    assert_eq!(lab.text("net[1..3].named_children().map(|p| p[0])"), "[\"1\", \"2\"]");
    lab.run("let list = nn::ModuleList([nn::ReLU(), nn::Tanh()]);");
    assert_eq!(lab.text("list[1..2].named_children().map(|p| p[0])"), "[\"0\"]");
    lab.run("net.pop(1);");
    assert_eq!(lab.text(names), "[\"0\", \"1\", \"2\", \"3\", \"4\"]");
    // A name that is a number is replaced by the module that gets it.
    lab.run("let net = nn::Sequential(); net.add_module(\"1\", nn::Linear(2, 2)); net.append(nn::ReLU());");
    assert_eq!(lab.text("net"), "Sequential(\n  (1): ReLU()\n)");
}

#[test]
fn what_stands_for_a_parameter_is_a_parameter() {
    let mut lab = Lab::on("sim:t4");
    lab.run("let net = nn::Linear(2, 2); let norm = nn::BatchNorm1d(2);");
    let expected = "(torch.nn.Parameter or None expected)";
    for (value, given) in [
        ("zeros([2, 2])", "torch.FloatTensor"),
        ("zeros([2, 2]).double()", "torch.DoubleTensor"),
        ("zeros([2, 2]).to(bfloat16)", "torch.BFloat16Tensor"),
        ("zeros([2, 2]).long()", "torch.LongTensor"),
        ("zeros([2, 2]) > 0", "torch.BoolTensor"),
        ("zeros([2, 2], #{device: \"cuda\"})", "torch.cuda.FloatTensor"),
        ("net.weight * 2", "torch.FloatTensor"),
    ] {
        let (text, hint) = lab.error(&format!("net.weight = {value}"));
        assert_eq!(text, format!("TypeError: cannot assign '{given}' as parameter 'weight' {expected}"));
        assert!(hint.contains("`nn::Parameter(t)`") && hint.contains("net.weight.copy_(t)"), "{hint}");
    }
    for (code, want) in [
        (
            "net.weight = 3",
            "TypeError: cannot assign 'int' as parameter 'weight' (torch.nn.Parameter or None expected)",
        ),
        (
            "net.weight = nn::ReLU()",
            "TypeError: cannot assign 'ReLU' as parameter 'weight' (torch.nn.Parameter or None expected)",
        ),
        (
            "norm.running_mean = 3",
            "TypeError: cannot assign 'int' as buffer 'running_mean' (torch.nn.Buffer, torch.Tensor or None expected)",
        ),
        (
            "let row = nn::Sequential(); row.add_module(\"a\", nn::ReLU()); row.a = zeros(2);",
            "TypeError: cannot assign 'torch.FloatTensor' as child module 'a' (torch.nn.Module or None expected)",
        ),
    ] {
        assert_eq!(lab.error(code).0, want, "{code}");
    }
    // What is one goes in, frozen or not, and methods of what is there run in its place.
    lab.run(
        "let w = nn::Parameter(ones([2, 2])); net.weight = w; net.bias = (); norm.running_mean = ones(2);
         with no_grad() { net.weight.mul_(2.0); }
         let other = nn::Linear(2, 2); other.requires_grad_(false); let tied = nn::Linear(2, 2); tied.weight = other.weight;",
    );
    assert!(lab.truth("net.weight is w && net.bias == () && w.sum().item() == 8.0"));
    assert!(lab.truth("tied.weight is other.weight && !tied.weight.requires_grad"));
    // In a buffer's place it is a parameter, the last of all.
    lab.run(
        "let own = nn::module(#{w: ones(2), v: nn::Parameter(ones(1))}, |self, x| x * self.w);
         own.w = nn::Parameter(ones(2)); norm.running_mean = nn::Parameter(ones(2));",
    );
    assert!(lab.truth("own.parameters().len() == 2 && own.named_parameters()[1][0] == \"w\""));
    assert!(lab.truth("norm.parameters().len() == 3 && norm.buffers().len() == 2"));
    assert_eq!(lab.text("tied.named_parameters().map(|p| p[0])"), "[\"weight\", \"bias\"]");
    // A parameter takes the place of a module.
    lab.run(
        "let row = nn::Sequential(); row.add_module(\"a\", nn::ReLU()); row.a = nn::Parameter(zeros(2));",
    );
    assert_eq!(lab.text("[row.len(), row.state_dict().keys()]"), "[0, [\"a\"]]");
}

#[test]
fn no_module_comes_to_stand_inside_itself_or_too_deep() {
    let mut lab = Lab::new();
    lab.run("let a = nn::Sequential(nn::ReLU()); let b = nn::Sequential(a);");
    for code in ["a.append(b)", "a[0] = b", "a[0] = a", "a.inner = b"] {
        let (text, _) = lab.error(code);
        assert!(text.contains("cannot hold itself as a child"), "{code}: {text}");
    }
    assert_eq!(lab.text("b"), "Sequential(\n  (0): Sequential(\n    (0): ReLU()\n  )\n)");
    // Hung below the last one each time, no module alone is tall.
    let (text, _) = lab.error(
        "let top = nn::Sequential(); let at = top;
         for i in 0..200 { let next = nn::Sequential(); at.append(next); at = next; }",
    );
    assert!(text.contains("nested more than"), "{text}");
    assert_eq!(lab.text("top.modules().len()"), "100");
    // What was taken out is free to hold what held it.
    lab.run("b[0] = nn::ReLU(); a.append(b);");
    assert_eq!(lab.text("a.modules().len()"), "4");
}

#[test]
fn layers_optimisers_and_schedules_say_which_they_are() {
    let mut lab = Lab::new();
    lab.run(
        "let net = nn::Sequential(nn::Linear(2, 2), nn::ReLU()); let opt = optim::AdamW(net.parameters());",
    );
    lab.run(
        "let sched = optim::lr_scheduler::StepLR(opt, 3); let own = nn::module(\"Mine\", #{}, |self, x| x);",
    );
    assert_eq!(
        lab.text("[net, net[0], net[1], own, opt, sched].map(|v| type_of(v))"),
        "[\"Sequential\", \"Linear\", \"ReLU\", \"Mine\", \"AdamW\", \"StepLR\"]"
    );
    assert_eq!(
        lab.text("[1, 1.5, \"a\", (), [1], #{}, ones(1), float32].map(|v| v.type_of())"),
        "[\"i64\", \"f64\", \"string\", \"()\", \"array\", \"map\", \"Tensor\", \"dtype\"]"
    );
    assert!(lab.truth("let t = net[0]; type_of(t) == \"Linear\""));
}

#[test]
fn classes_are_named_as_in_python_or_by_texts() {
    let mut lab = Lab::new();
    lab.run(
        "let net = nn::Sequential(nn::Conv2d(1, 2, 3), nn::ReLU(), nn::Flatten(), nn::Linear(8, 2));
         net.apply(|m| { if isinstance(m, nn::Linear) { nn::init::zeros_(m.bias); } });",
    );
    assert_eq!(lab.numbers("net[3].bias"), [0.0, 0.0]);
    for (code, want) in [
        ("isinstance(net, nn::Sequential)", true),
        ("isinstance(net[1], nn::Linear)", false),
        ("isinstance(net[0], [nn::Linear, nn::Conv2d])", true),
        ("isinstance(net[0], [\"Linear\", \"nn::Conv2d\"])", true),
        ("isinstance(net[1], [])", false),
        ("isinstance(net, nn::Module) && isinstance(net[0], \"Module\")", true),
        ("isinstance(nn::MultiheadAttention(4, 2).out_proj, nn::Linear)", true),
        ("isinstance(nn::ReLU6(), nn::Hardtanh) && !isinstance(nn::Hardtanh(), nn::ReLU6)", true),
        ("isinstance(net, nn::parallel::DistributedDataParallel)", false),
    ] {
        assert_eq!(lab.truth(code), want, "{code}");
    }
    for (code, want) in [
        ("isinstance(net, nn::Lineer)", "NameError: name 'nn::Lineer' is not defined"),
        (
            "isinstance(net, 3)",
            "TypeError: isinstance() argument 'class' must be a class or its name, not int",
        ),
    ] {
        let (text, _) = lab.error(code);
        assert!(text.starts_with(want), "{code}: {text}");
    }
}
