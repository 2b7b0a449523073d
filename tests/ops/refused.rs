//! What PyTorch 2.15 refuses, or gives, of masks, of nothing and of borders.

use crate::parallel::{fault, on};

#[test]
fn masks_are_refused_where_numbers_belong() {
    for (code, told) in [
        ("trapezoid(b)", "trapezoid: received a bool input for `y`, but bool is not supported"),
        (
            "trapezoid(b, rand(2))",
            "trapezoid: received a bool input for `x` or `y`, but bool is not supported",
        ),
        (
            "trapezoid(rand(2), b)",
            "trapezoid: received a bool input for `x` or `y`, but bool is not supported",
        ),
        (
            "cumulative_trapezoid(b)",
            "cumulative_trapezoid: received a bool input for `y`, but bool is not supported",
        ),
        ("isin(b, b)", "Unsupported input type encountered for isin(): Bool"),
        ("isin(rand(2), b)", "Unsupported input type encountered for isin(): Bool"),
        ("isin(b, rand(2))", "Unsupported input type encountered for isin(): Bool"),
        ("addcmul(b, b, b)", "\"addcmul_cpu_out\" not implemented for 'Bool'"),
        ("b.addcmul_(b, b)", "\"addcmul_cpu_out\" not implemented for 'Bool'"),
        ("dot(b[0..0], b[0..0])", "\"dot\" not implemented for 'Bool'"),
        ("mm(b.unsqueeze(0), b.unsqueeze(1))", "\"addmm_impl_cpu_\" not implemented for 'Bool'"),
    ] {
        let fault = fault("cpu", &format!("let b = tensor([true, false]); {code}"));
        assert_eq!((fault.kind.as_str(), fault.message.as_str()), ("NotImplementedError", told), "{code}");
    }
    for (code, want) in [
        ("trapezoid(b[0..0]).item()", "0.0"),
        ("addcmul(ones(2), b, b)", "tensor([2., 1.])"),
        ("addcmul(tensor([1, 1]), b, b)", "tensor([2, 1])"),
    ] {
        assert_eq!(on("cpu", &format!("let b = tensor([true, false]); {code}")), want, "{code}");
    }
}

/// That there is nothing to compute is no reason to take what is refused otherwise.
#[test]
fn of_nothing_dtypes_are_refused_as_well() {
    for (calls, dtype, name) in [
        (["bitwise_and", "bitwise_or", "bitwise_xor"].as_slice(), "float32", "Float"),
        (&["hypot", "logaddexp", "logaddexp2"], "int64", "Long"),
        (&["hypot", "logaddexp", "logaddexp2"], "bool", "Bool"),
    ] {
        for call in calls {
            for size in [0, 1] {
                let code = format!("let e = zeros({size}, #{{dtype: {dtype}}}); e.{call}(e)");
                let told = format!("\"{call}_cpu\" not implemented for '{name}'");
                assert_eq!(fault("cpu", &code).message, told, "{code}");
            }
        }
    }
    assert_eq!(
        fault("cpu", "let e = zeros(0); e &= e").message,
        "\"bitwise_and_cpu\" not implemented for 'Float'"
    );
    assert_eq!(on("cpu", "zeros(0, #{dtype: int64}).hypot(zeros(0))"), "tensor([])");
}

/// Nothing is multiplied where a factor has no elements.
#[test]
fn products_of_empty_masks_are_zeros() {
    for (call, want) in [
        ("mm(e([2, 0]), e([0, 3])).tolist()", "[[false, false, false], [false, false, false]]"),
        ("mm(e([0, 3]), e([3, 2])).shape", "[0, 2]"),
        ("mm(e([2, 3]), e([3, 0])).shape", "[2, 0]"),
        ("bmm(e([1, 2, 0]), e([1, 0, 1])).tolist()", "[[[false], [false]]]"),
        ("matmul(e([1, 2, 0]), e([1, 0, 1])).tolist()", "[[[false], [false]]]"),
        ("mv(e([2, 0]), e([0])).tolist()", "[false, false]"),
        ("addmv(e([2]), e([2, 0]), e([0])).tolist()", "[false, false]"),
    ] {
        assert_eq!(on("cpu", &format!("fn e(s) {{ zeros(s, #{{dtype: bool}}) }} {call}")), want, "{call}");
    }
}

#[test]
fn borders_are_made_for_samples_and_batches_of_them() {
    for mode in ["reflect", "replicate", "circular"] {
        for rank in 1usize..=6 {
            for dims in 1..=rank.min(4) {
                let shape = vec!["3"; rank].join(", ");
                let code =
                    format!("F::pad(rand([{shape}]), {:?}, \"{mode}\").shape.len()", vec![1; 2 * dims]);
                if dims <= 3 && (rank == dims + 1 || rank == dims + 2) {
                    assert_eq!(on("cpu", &code), rank.to_string(), "{code}");
                    continue;
                }
                let fault = fault("cpu", &code);
                let told = format!("Padding size {} is not supported for {rank}D input tensor.\n", 2 * dims);
                assert_eq!(fault.kind, "NotImplementedError", "{code}");
                assert!(fault.message.starts_with(&told), "{code}: {}", fault.message);
            }
        }
    }
}
