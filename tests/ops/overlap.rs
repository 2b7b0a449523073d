//! What is read while it is written: refused and allowed as in PyTorch 2.15.

use crate::nn::Lab;

const READ: &str = "unsupported operation: some elements of the input tensor and the written-to tensor refer to a single \
                    memory location. Please clone() the tensor before performing the operation.";
const REPEATED: &str = "unsupported operation: more than one element of the written-to tensor refers to a single memory \
                        location. Please clone() the tensor before performing the operation.";

const MADE: &str = "let x = arange(9.0).reshape([3, 3]).to(PLACE); let y = ones_like(x); let i = tensor([2, 0, 1]).to(PLACE);
                    let ii = tensor([[1, 2, 0], [0, 0, 1], [2, 1, 0]]).to(PLACE); let b = x > 3;
                    let e = ones([1], #{device: PLACE}).expand([3]);";

/// A fresh `x` and its like for each code, on the CPU and on a simulated GPU.
fn each(codes: &[&str], mut f: impl FnMut(&mut Lab, &str)) {
    let mut lab = Lab::on("sim:t4");
    for place in ["cpu", "cuda"] {
        for code in codes {
            lab.run(&MADE.replace("PLACE", &format!("\"{place}\"")));
            f(&mut lab, code);
        }
    }
}

#[test]
fn what_is_written_is_not_read_elsewhere() {
    each(
        &[
            "x.add_(x.t())",
            "x += x.t()",
            "x.t().add_(x)",
            "x.sub_(x[0])",
            "x.mul_(x[1][1])",
            "x.narrow(0, 1, 2).add_(x.narrow(0, 0, 2))",
            "x.narrow(0, 1, 2).copy_(x.narrow(0, 0, 2))",
            "x[0..2] = x[1..3]",
            "x.copy_(x.t())",
            "x.lerp_(x.t(), 0.5)",
            "x.addcmul_(x.t(), y)",
            "x.addcdiv_(y, x.t())",
            "x.addr_(x[0], y[0])",
            "x.clamp_(x.t())",
            "x.clamp_max_(x[0])",
            "x.div_(x[0], #{rounding_mode: \"floor\"})",
            "x.lt_(x.t())",
            "x.atan2_(x.t())",
            "ii.gcd_(ii[0])",
            "b.logical_or_(b.t())",
            // Whole rows and elements go to other places: not even the tensor itself may be read.
            "x.index_add_(0, i, x)",
            "x.index_copy_(0, i, x)",
            "x.index_reduce_(0, i, x, \"amax\")",
            "x.scatter_(0, ii, x)",
            "x.scatter_add_(0, ii, x)",
            "x.scatter_reduce_(0, ii, x, \"prod\")",
            "ii.scatter_(0, ii, 5)",
            "x.put_(ii, x)",
            "x.index_put_([i], x)",
            "x[i] = x",
            "x[i] = x.view(3, 3)",
            // What is not dense is known to be itself.
            "let n = x.narrow(1, 0, 2); n.index_add_(0, i, n)",
            "ii.index_put_([ii[0]], ones([3, 3], #{dtype: int64}).to(ii.device))",
            "let line = ii[0]; line.index_fill_(0, line, 5)",
            "b.masked_fill_(b.t(), true)",
        ],
        |lab, code| {
            let before = lab.text("x.tolist()");
            let (error, hint) = lab.error(code);
            assert!(error.contains(READ), "{code}: {error}");
            assert!(hint.contains("what is read would change"), "{code}");
            assert_eq!(lab.text("x.tolist()"), before, "{code}");
        },
    );
}

#[test]
fn what_is_written_may_be_read_in_its_place() {
    let allowed = [
        ("x.add_(x)", "72.0"),
        ("x.t().mul_(x.t())", "204.0"),
        ("x.mul_(x.expand([3, 3]))", "204.0"),
        ("x[0].add_(x[1])", "48.0"),
        // What is not dense is not looked at, as in PyTorch.
        ("x.mul_(x.narrow(1, 1, 1))", "198.0"),
        ("x.addmm_(x, y)", "144.0"),
        ("x.addmm_(y, x)", "144.0"),
        ("x.masked_fill_(b, x[2][2])", "46.0"),
        ("x.masked_scatter_(b, x)", "16.0"),
        ("x.index_fill_(0, i, x[0][1])", "9.0"),
        ("x.fill_(x[0][2])", "18.0"),
        ("x.ldexp_(x.t())", "3142.0"),
        // A value that is repeated is none of what is written.
        ("x[0..2] = x[0]", "27.0"),
        ("x[0] = x[0][1]", "36.0"),
        ("x[..] = x[0][2]", "18.0"),
        ("x[0..2] = x[1..2]", "45.0"),
        ("x[b] = x[2][2]", "46.0"),
        // Nothing lies nowhere.
        ("x.index_copy_(0, i[..0], x.narrow(0, 1, 0))", "36.0"),
        ("x.add_(x.narrow(0, 1, 1).narrow(1, 0, 0).sum())", "36.0"),
    ];
    let codes: Vec<&str> = allowed.iter().map(|(code, _)| *code).collect();
    let wanted = |code: &str| allowed.iter().find(|(c, _)| *c == code).map(|(_, want)| *want);
    each(&codes, |lab, code| {
        lab.run(&format!("{code};"));
        assert_eq!(Some(lab.text("x.sum().item()").as_str()), wanted(code), "{code}");
    });
}

#[test]
fn places_that_repeat_are_written_by_one_value_alone() {
    each(&["e.fill_(2)", "e[..] = 2", "e.fill_(tensor(2.0))"], |lab, code| {
        lab.run(&format!("{code};"));
        assert_eq!(lab.text("e.tolist()"), "[2.0, 2.0, 2.0]", "{code}");
    });
    each(&["e.zero_()"], |lab, code| {
        lab.run(&format!("let other = e[1]; {code};"));
        assert_eq!(lab.text("[e.sum().item(), other.item()]"), "[0.0, 0.0]", "{code}");
    });
    let refused =
        ["e.add_(1)", "e.copy_(x[0])", "e.scatter_(0, i, 1.0)", "e.index_add_(0, i, x[0])", "e.relu_()"];
    each(&refused, |lab, code| {
        let (error, hint) = lab.error(code);
        assert!(error.contains(REPEATED), "{code}: {error}");
        assert!(hint.contains("its elements share their memory"), "{code}");
    });
    // Their gradient would be that of several: it is refused where one is kept.
    let mut lab = Lab::on("sim:t4");
    let (error, _) = lab.error("let w = ones([1], #{requires_grad: true}); (w * 2).expand([3]).fill_(1)");
    assert!(error.contains(REPEATED), "{error}");
    let (error, _) = lab.error("zeros([1]).expand([3]).fill_(tensor(2.0, #{requires_grad: true}))");
    assert!(error.contains(REPEATED), "{error}");
    for change in ["fill_(1)", "zero_()"] {
        let (error, _) = lab.error(&format!(
            "let w = ones([1], #{{requires_grad: true}}); let v = (); with no_grad() {{ v = w.expand([3]); }} v.{change}"
        ));
        assert!(error.contains("view"), "{error}");
        assert_eq!(lab.text("w.tolist()"), "[1.0]");
    }
}

/// The shape is looked at before the dtype, as PyTorch does.
#[test]
fn a_wrong_shape_is_told_before_a_wrong_dtype() {
    let mut lab = Lab::on("sim:t4");
    let (error, _) = lab.error("tensor([4, 6]).div_(ones(3))");
    assert!(error.contains("The size of tensor a (2) must match the size of tensor b (3)"), "{error}");
    let (error, _) = lab.error("tensor([4, 6]).div_(ones(2, 2))");
    assert!(error.contains("output with shape [2] doesn't match the broadcast shape [2, 2]"), "{error}");
    let (error, _) = lab.error("tensor([4, 6]).div_(ones(2))");
    assert!(error.contains("result type Float can't be cast to the desired output type Long"), "{error}");
    let (error, _) = lab.error("ones(3).float_power_(2)");
    assert!(
        error.contains(
            "the base given to float_power_ has dtype Float but the operation's result requires dtype Double"
        ),
        "{error}"
    );
}
