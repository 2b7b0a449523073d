//! What checks read of a run: every figure of `events`, on a run in which it differs from what another run has.

use tensorlab::session::protocol::Verdict;

use crate::forged::Lesson;

/// Code, a check that it meets, and code that does not meet it.
const FIGURES: &[(&str, &str, &str)] = &[
    (
        "let x = ones([64]); let p = x.pin_memory(); let y = p.to(\"cuda\", #{non_blocking: true});",
        "expect_equal(events.h2d.blocking, 0); expect_equal(events.h2d.pinned, 1);",
        "let x = ones([64]); let p = x.pin_memory(); let y = x.to(\"cuda\", #{non_blocking: true});",
    ),
    (
        "let a = ones([64, 64], #{device: \"cuda\"}); let b = a @ a; let c = b + 1.0;",
        "expect_equal(events.launches(\"matmul\"), 1); expect_equal(events.launches(\"add\", float32), 1); expect_equal(events.launches(\"add\", float16), 0);",
        "let a = ones([64, 64], #{device: \"cuda\"}); let b = a @ a; let c = b.half() + 1.0;",
    ),
    (
        "let a = ones([64, 64], #{device: \"cuda\"}).half(); let b = a @ a;",
        "expect(events.launches(\"matmul\", float16) == 1 && events.launches(\"matmul\", float32) == 0);",
        "let a = ones([64, 64], #{device: \"cuda\"}); let b = a @ a;",
    ),
    (
        "let a = ones([64, 64], #{device: \"cuda\"}); let b = a @ a;",
        "expect_equal(events.launches(\"conv_backward_weight\") + events.launches(\"layer_norm_backward\"), 0);",
        "let net = nn::Conv2d(1, 1, 3).cuda(); net.forward(ones([1, 1, 8, 8], #{device: \"cuda\"})).sum().backward();",
    ),
    (
        "let a = ones([64], #{device: \"cuda\"}); let s = a.sum();",
        "expect_equal(events.waits.len(), 0); expect_equal(events.waited_ms, 0.0);",
        "let a = ones([64], #{device: \"cuda\"}); let s = a.sum().item();",
    ),
    (
        "let a = ones([2048, 2048], #{device: \"cuda\"}); let b = a @ a;",
        "expect(events.busy_ms(\"cuda:0\") > 1.0, \"it works too little\"); expect(events.idle_ms(\"cuda:0\") < 1.0);",
        "let a = ones([2048, 2048], #{device: \"cuda\"}); let b = a + a;",
    ),
    (
        "for i in 0..4 { let x = ones([1 << 20], #{device: \"cuda\"}); }",
        "expect(events.reserved_bytes(\"cuda:0\") <= 20 * 1024 * 1024, \"too much is reserved\");",
        "let all = []; for i in 0..8 { all.push(ones([1 << 20], #{device: \"cuda\"})); }",
    ),
    (
        "let p = ones([1 << 22]).pin_memory(); let a = ones([2048, 2048], #{device: \"cuda\"}); let s = cuda::Stream(); let b = a @ a; with cuda::stream(s) { let y = p.to(\"cuda\", #{non_blocking: true}); } cuda::synchronize();",
        "expect(events.overlap(\"cuda:0\", 0, \"cuda:0\", 1), \"nothing ran at the same time\");",
        "let p = ones([1 << 22]).pin_memory(); let a = ones([2048, 2048], #{device: \"cuda\"}); let b = a @ a; let y = p.to(\"cuda\", #{non_blocking: true}); cuda::synchronize();",
    ),
    (
        "let a = ones([1024, 1024], #{device: \"cuda:0\"}); let b = ones([1024, 1024], #{device: \"cuda:1\"}); let c = a @ a; let d = b @ b; cuda::synchronize();",
        "expect(events.overlap(\"cuda:0\", 0, \"cuda:1\", 0), \"the GPUs took turns\");",
        "let a = ones([1024, 1024], #{device: \"cuda:0\"}); let c = a @ a; cuda::synchronize(); let b = ones([1024, 1024], #{device: \"cuda:1\"}); let d = b @ b; cuda::synchronize(1);",
    ),
    (
        "let x = ones([64], #{device: \"cuda:0\"}); let y = x.cpu(); let z = x.to(\"cuda:1\");",
        "expect_equal(events.d2h.count, 1); expect_equal(events.d2h.bytes, 256); expect_equal(events.d2d.bytes, 256);",
        "let x = ones([64], #{device: \"cuda:0\"}); let y = x.cpu(); let z = x.to(\"cuda:0\");",
    ),
    (
        "let x = ones([64], #{device: \"cuda\"}).to(\"cpu\"); cuda::synchronize();",
        "expect_equal(events.d2h.blocking, 1); expect_equal(events.syncs, 1); expect(events.implicit_syncs <= 1);",
        "let x = ones([64], #{device: \"cuda\"}).to(\"cpu\"); let s = x.cuda().sum().item();",
    ),
    (
        "let x = ones([1 << 20], #{device: \"cuda\"}); drop(x);",
        "expect_equal(events.peak_bytes(\"cuda:0\"), 4194304); expect_equal(events.leaked_bytes(\"cuda:0\"), 0);",
        "let x = ones([1 << 20], #{device: \"cuda\"});",
    ),
    (
        "cuda::set_per_process_memory_fraction(0.001); try { let x = zeros([1 << 24], #{device: \"cuda\"}); } catch (e) { }",
        "expect_equal(events.oom, 1);",
        "let x = zeros([1 << 20], #{device: \"cuda\"});",
    ),
    (
        "let x = ones([64], #{device: \"cuda\"}).half(); let y = x + x;",
        "expect(events.ops(float16) >= 2, \"not in float16\");",
        "let x = ones([64], #{device: \"cuda\"}); let y = x + x;",
    ),
    (
        "let x = ones([64], #{device: \"cuda\"}); let y = x + x;",
        "expect(events.time < 0.1, \"it takes too long\");",
        "let x = ones([2048, 2048], #{device: \"cuda\"}); let y = x @ x;",
    ),
    (
        "let net = nn::Linear(2, 2).to(\"cuda\");",
        "expect_device(net, \"cuda:0\");",
        "let net = nn::Linear(2, 2);",
    ),
];

#[test]
fn each_figure_tells_two_runs_apart() {
    let mut lesson = Lesson::new();
    for (right, check, wrong) in FIGURES {
        assert_eq!(lesson.attempt(right, check), Verdict::Pass, "{right}\n{check}");
        let verdict = lesson.attempt(wrong, check);
        assert!(matches!(verdict, Verdict::Fail { .. }), "{wrong}\n{check}\n{verdict:?}");
    }
}

#[test]
fn an_operation_that_there_is_not_is_the_checks_fault() {
    let mut lesson = Lesson::new();
    let verdict = lesson.attempt("let a = ones(2);", "expect_equal(events.launches(\"matmull\"), 0);");
    assert!(
        matches!(&verdict, Verdict::CheckerFault { message, .. } if message.contains("matmull")),
        "{verdict:?}"
    );
}

/// What can't be found in any run is no figure: a check that asked for its absence would always hold.
#[test]
fn what_no_run_could_have_is_the_checks_fault() {
    let mut lesson = Lesson::new();
    for (check, words) in [
        ("expect_equal(events.ops(\"flot16\"), 0);", "flot16"),
        ("expect_equal(events.launches(\"konv_backward_weight\"), 0);", "konv_backward_weight"),
        ("expect_close(1.0, 2.0, #{rtol: -1.0});", "rtol"),
        ("expect_close(1.0, 2.0, #{atol: 1.0 / 0.0});", "atol"),
        ("expect(!events.overlap(\"cuda:0\", 0, \"cuda:7\", 0));", "cuda:7"),
        ("expect(events.busy_ms(\"cuda:7\") < 1.0);", "cuda:7"),
        ("expect(events.idle_ms(\"cuda:7\") < 1.0);", "cuda:7"),
        ("expect(events.reserved_bytes(\"cuda:7\") < 1);", "cuda:7"),
    ] {
        let verdict = lesson.attempt("let a = ones(2, #{device: \"cuda\"});", check);
        let told = matches!(&verdict, Verdict::CheckerFault { message, .. } if message.contains(words));
        assert!(told, "{check}: {verdict:?}");
    }
}

#[test]
fn one_stream_never_overlaps_with_itself() {
    let mut lesson = Lesson::new();
    let code = "let a = ones([64, 64], #{device: \"cuda\"}); for i in 0..5 { a @ a; }";
    let check = "expect(events.overlap(\"cuda:0\", 0, \"cuda:0\", 0));";
    assert!(matches!(lesson.attempt(code, check), Verdict::Fail { .. }));
}

/// Ranks exchange gradients on a stream of their own while the backward pass goes on.
#[test]
fn a_collective_overlaps_with_the_backward_pass_beside_it() {
    let mut lesson = Lesson::new();
    let code = "fn net() { nn::Sequential([nn::Linear(64, 512), nn::ReLU(), nn::Linear(512, 512), nn::ReLU(), nn::Linear(512, 512)]) }
        distributed::spawn(|rank, world| {
            cuda::set_device(rank);
            let ddp = nn::parallel::DistributedDataParallel(net().to(\"cuda\"), #{device_ids: [rank], bucket_cap_mb: 1});
            for i in 0..3 { ddp.forward(rand([128, 64], #{device: \"cuda\"})).sum().backward(); }
        });";
    let check = "expect(events.overlap(\"cuda:0\", 0, \"cuda:0\", 33)); expect(!events.overlap(\"cuda:0\", 0, \"cuda:0\", 7));";
    assert_eq!(lesson.attempt(code, check), Verdict::Pass);
}

/// The allocator gives back what it has cached before it refuses.
#[test]
fn retries_are_counted_and_point_at_no_other_device() {
    let mut lesson = Lesson::new();
    let code = "cuda::set_per_process_memory_fraction(0.01); { let a = zeros([25 << 20], #{device: \"cuda\"}); } let b = zeros([30 << 20], #{device: \"cuda\"});";
    let check = "expect_equal(events.alloc_retries(\"cuda:0\"), 1); expect_equal(events.alloc_retries(\"cuda:1\"), 0);";
    assert_eq!(lesson.attempt(code, check), Verdict::Pass);
    let verdict = lesson.attempt("let a = ones(2);", check);
    assert!(matches!(verdict, Verdict::Fail { .. }), "{verdict:?}");
}

#[test]
fn a_failing_figure_points_at_the_line_behind_it() {
    let mut lesson = Lesson::new();
    let code = "let a = ones([1024, 1024], #{device: \"cuda\"});\nlet b = a @ a;\nlet s = b.sum().item();\nlet t = ones([2]).cuda();";
    let line = |verdict: Verdict| match verdict {
        Verdict::Fail { line, .. } => line,
        other => panic!("{other:?}"),
    };
    let verdict = lesson.attempt(code, "expect(events.waited_ms < 0.001, \"too long\");");
    assert_eq!(line(verdict), Some(3), "the longest of the waits");
    let verdict = lesson.attempt(code, "expect_equal(events.launches(\"matmul\"), 0);");
    assert_eq!(line(verdict), Some(2));
    // What it gave the GPU in many small orders counts together.
    let many = format!("{code}\nfor i in 0..4 {{ a @ a; }}\nt.sum().item();");
    let busy = "expect(events.busy_ms(\"cuda:0\") < 0.001, \"too much\");";
    assert_eq!(line(lesson.attempt(code, busy)), Some(2), "the work, and no wait for it");
    assert_eq!(line(lesson.attempt(&many, busy)), Some(5));
}
