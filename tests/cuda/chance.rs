//! What hardware leaves to chance, and what stops it.

use std::process::Command;

use super::on;

/// (a sum, set up by the code before it)
const SUMS: [(&str, &str); 9] = [
    ("", "zeros([3, 8], #{device: d}).index_add(0, at, x)"),
    ("", "zeros([3, 8], #{device: d}).index_add_(0, at, x)"),
    ("let wide = at.unsqueeze(1).expand([400, 8]);", "zeros([3, 8], #{device: d}).scatter_add(0, wide, x)"),
    (
        "let flat = at.reshape([2, 200]);",
        "zeros([2, 3], #{device: d}).scatter_add(1, flat, x.reshape([2, 200, 8]).select(2, 0))",
    ),
    ("let flat = x.select(1, 0);", "zeros([3], #{device: d}).scatter_reduce(0, at, flat, \"sum\")"),
    (
        "let w = zeros([3, 8], #{device: d, requires_grad: true});",
        "w.grad = (); (F::embedding(at, w) * x).sum().backward(); w.grad",
    ),
    (
        "let w = zeros([3, 8], #{device: d, requires_grad: true});",
        "w.grad = (); (w[at] * x).sum().backward(); w.grad",
    ),
    (
        "let w = zeros([1, 1, 3, 4], #{device: d, requires_grad: true}); let g = x.reshape([1, 1, 40, 80]);",
        "w.grad = (); (F::interpolate(w, #{size: [40, 80], mode: \"bilinear\"}) * g).sum().backward(); w.grad",
    ),
    (
        "let w = zeros([4, 2, 3, 3], #{device: d, requires_grad: true}); let p = x.reshape([25, 2, 8, 8]);",
        "w.grad = (); F::conv2d(p, w, #{padding: 1}).pow(2).sum().backward(); \
         w.grad = (); (F::conv2d(p, w, #{padding: 1}) * p.repeat([1, 2, 1, 1])).sum().backward(); w.grad",
    ),
];

/// How many of eight results equal the first, to the bit, and whether all are near it.
fn equal(device: &str, set: &str, (before, sum): (&str, &str)) -> String {
    let code = format!(
        "let d = \"{device}\";
         let x = randn([400, 8]).to(d); let at = (arange(400) % 3).to(d);
         {before}
         {set}
         let first = {{ {sum} }};
         let same = 0; let near = true;
         for i in 0..8 {{
             let next = {{ {sum} }};
             if next.equal(first) {{ same += 1; }}
             near = near && allclose(next, first, #{{rtol: 1e-4, atol: 1e-4}});
         }}
         [same, near]"
    );
    on("sim:t4", &code)
}

#[test]
fn sums_by_atomics_differ_in_their_last_bits_until_determinism_is_asked_for() {
    for sum in SUMS {
        let shown = equal("cuda", "", sum);
        assert!(shown.ends_with(", true]"), "{sum:?}: {shown}");
        assert!(!shown.starts_with("[8,"), "{sum:?} always gives the same bits");
        for set in
            ["use_deterministic_algorithms(true);", "use_deterministic_algorithms(true, #{warn_only: true});"]
        {
            assert_eq!(equal("cuda", set, sum), "[8, true]", "{sum:?}");
        }
        assert_eq!(equal("cpu", "", sum), "[8, true]", "{sum:?} on the CPU");
    }
}

#[test]
fn cudnns_switch_is_for_convolutions_alone() {
    let set = "cudnn::deterministic(true);";
    assert_eq!(equal("cuda", set, SUMS[8]), "[8, true]");
    assert!(!equal("cuda", set, SUMS[0]).starts_with("[8,"));
    assert_eq!(equal("cuda", "cudnn::enabled(false);", SUMS[8]), "[8, true]");
}

#[test]
fn where_order_cannot_matter_bits_stay() {
    for sum in [
        ("let at = randperm(400).to(d);", "zeros([400, 8], #{device: d}).index_add(0, at, x)"),
        ("let wide = randperm(400).to(d).unsqueeze(1).expand([400, 8]);", "x.scatter_add(0, wide, x)"),
        ("", "zeros([3, 8], #{device: d, dtype: int64}).index_add(0, at, x.long())"),
        ("let bags = at.reshape([4, 100]);", "F::embedding_bag(bags, x)"),
        ("", "x.clone().index_put_([at], x, true)"),
    ] {
        assert_eq!(equal("cuda", "", sum), "[8, true]", "{sum:?}");
    }
    // Two parts give one sum in either order, and what they give is that of the CPU.
    let code = "let x = randn([200]); let at = arange(200) % 100;
                zeros([100], #{device: \"cuda\"}).index_add(0, at.cuda(), x.cuda()).cpu().equal(zeros([100]).index_add(0, at, x))";
    assert_eq!(on("sim:t4", code), "true");
}

#[test]
fn draws_are_not_touched() {
    let drawn = |between: &str| {
        let code = format!(
            "manual_seed(3); let x = ones([64, 4], #{{device: \"cuda\"}}); let at = zeros([64], #{{dtype: int64, device: \"cuda\"}});
             {between}
             [rand([2], #{{device: \"cuda\"}}).tolist(), rand([2]).tolist()]"
        );
        on("sim:t4", &code)
    };
    assert_eq!(drawn(""), drawn("for i in 0..5 { zeros([1, 4], #{device: \"cuda\"}).index_add(0, at, x); }"));
}

#[test]
fn determinism_takes_longer() {
    let code = "
        let x = randn([5000, 8], #{device: \"cuda\"}); let at = zeros([5000], #{dtype: int64, device: \"cuda\"});
        let time = || timeit(|| zeros([3, 8], #{device: \"cuda\"}).index_add(0, at, x), #{warmup: 1, repeat: 1}).median_ms;
        let any = time.call(); use_deterministic_algorithms(true); let one = time.call();
        use_deterministic_algorithms(false);
        let w = rand([64, 64, 3, 3], #{device: \"cuda\", requires_grad: true}); let p = rand([32, 64, 32, 32], #{device: \"cuda\"});
        let train = || timeit(|| F::conv2d(p, w, #{padding: 1}).sum().backward(), #{warmup: 1, repeat: 1}).median_ms;
        let free = train.call(); cudnn::deterministic(true); let fixed = train.call();
        [any < one, free < fixed]";
    assert_eq!(on("sim:t4", code), "[true, true]");
}

#[test]
fn a_search_is_paid_for_once_a_shape_and_gains_by_it() {
    let code = |set: &str| {
        format!(
            "let x = rand([16, 32, 28, 28], #{{device: \"cuda\"}}); let w = rand([32, 32, 3, 3], #{{device: \"cuda\"}});
             let small = x[0..8].clone();
             // What they need is cached from here on.
             let warm = [F::conv2d(x, w), F::conv2d(small, w), F::conv2d(x, w)]; drop(warm);
             let time = |x| time(|| F::conv2d(x, w, #{{padding: 1}})).median_ms;
             let before = F::conv2d(x, w, #{{padding: 1}});
             let plain = time.call(x); let plain_small = time.call(small);
             {set}
             let first = telemetry::record(|| F::conv2d(x, w, #{{padding: 1}}));
             let searched = first.waits.filter(|wait| wait.cause == \"cudnn.benchmark\");
             let later = telemetry::record(|| F::conv2d(x, w, #{{padding: 1}}));
             let again = later.waits.filter(|wait| wait.cause == \"cudnn.benchmark\");
             let quick = time.call(x);
             let other = time.call(small); let other_later = time.call(small);
             [searched.len, searched.len == 0 || searched[0].ms > 4.0 * plain, again.len, quick < plain,
              other > plain_small, other_later < plain_small, before.equal(F::conv2d(x, w, #{{padding: 1}}))]"
        )
    };
    assert_eq!(on("sim:t4", &code("cudnn::benchmark(true);")), "[1, true, 0, true, true, true, true]");
    assert_eq!(on("sim:t4", &code("")), "[0, true, 0, false, false, false, true]");
    assert_eq!(
        on("sim:t4", &code("cudnn::benchmark(true); cudnn::enabled(false);")),
        "[0, true, 0, false, false, false, true]"
    );
}

#[test]
fn a_search_takes_memory_and_does_without_where_there_is_none() {
    let code = "
        let x = rand([16, 16, 64, 64], #{device: \"cuda\"}); let w = rand([16, 16, 3, 3], #{device: \"cuda\"});
        let run = || { cuda::reset_peak_memory_stats(); F::conv2d(x, w, #{padding: 1}); cuda::max_memory_allocated() };
        let plain = run.call();
        cudnn::benchmark(true);
        let first = run.call(); let kept = cuda::memory_allocated(); let later = run.call();
        [first > later, later > plain, cuda::memory_allocated() == kept]";
    assert_eq!(on("sim:t4", code), "[true, true, true]");
    // The copies and workspaces of three algorithms want more than what is left of 256 MiB.
    let full = "
        let x = rand([16, 16, 64, 64], #{device: \"cuda\"}); let w = rand([16, 16, 3, 3], #{device: \"cuda\"});
        let most = zeros([224 * 262144], #{device: \"cuda\"});
        cudnn::benchmark(true);
        let y = F::conv2d(x, w, #{padding: 1}); F::conv2d(x, w, #{padding: 1}).equal(y)";
    assert_eq!(on("sim:tiny", full), "true");
}

/// The last bits of a sum that a script prints.
fn printed(arguments: &[&str]) -> String {
    let folder = std::env::temp_dir().join(format!("tensorlab-chance-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("sum.rhai");
    let code = "manual_seed(0); let x = randn([3000, 64], #{device: \"cuda\"});
                let at = (arange(3000) % 3).cuda();
                print(zeros([3, 64], #{device: \"cuda\"}).index_add(0, at, x).tolist());";
    std::fs::write(&path, code).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_tensorlab"))
        .args(["run", "--devices", "sim:t4"])
        .args(arguments)
        .arg(&path)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn a_seed_makes_a_run_repeat_and_nothing_else_does() {
    assert_eq!(printed(&["--seed", "5"]), printed(&["--seed", "5"]));
    assert_ne!(printed(&["--seed", "5"]), printed(&["--seed", "6"]), "the script seeds its draws itself");
    assert_ne!(printed(&[]), printed(&[]));
}
