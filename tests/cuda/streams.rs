//! Streams and events from scripts.

use super::{mistakes, on};

#[test]
fn a_stream_is_current_inside_its_block_on_its_device() {
    let code = "
        let s = cuda::Stream(1);
        let seen = [];
        with cuda::stream(s) { seen += cuda::current_stream() == s; seen += cuda::current_device(); };
        seen += cuda::current_stream(1) == cuda::default_stream(1);
        seen += cuda::current_device();
        cuda::set_stream(s);
        seen += cuda::current_stream() == s;
        [seen, `${s}`, s.device.index]";
    assert_eq!(
        on("sim:t4x2", code),
        "[[true, 1, true, 0, true], \"<torch.cuda.Stream device=cuda:1 cuda_stream=0x1>\", 1]"
    );
}

#[test]
fn events_measure_on_the_virtual_clock() {
    let code = "
        let x = zeros([16 << 20], #{device: \"cuda\"});
        let a = cuda::Event(#{enable_timing: true}); let b = cuda::Event(true);
        let fresh = [a.query(), b.query()];
        cuda::synchronize();
        a.record(); x.add_(1.0); b.record();
        let early = b.query();
        b.synchronize();
        let ms = a.elapsed_time(b);
        // 128 MiB at 80 % of 320 GB/s.
        [fresh, early, b.query(), ms > 0.52 && ms < 0.54, b.elapsed_time(a) == -ms]";
    assert_eq!(on("sim:t4", code), "[[true, true], false, true, true, true]");
}

#[test]
fn waiting_orders_streams() {
    let code = "
        let x = zeros([16 << 20], #{device: \"cuda\"});
        let s = cuda::Stream(); let done = cuda::Event();
        x.add_(1.0);
        done.record();
        let free = s.query();
        s.wait_event(done);
        let held = s.query();
        let t = cuda::Stream();
        t.wait_stream(s);
        let behind = t.query();
        done.synchronize();
        [free, held, behind, s.query(), t.query(), cuda::Event().wait() == ()]";
    assert_eq!(on("sim:t4", code), "[true, false, false, true, true, true]");
}

#[test]
fn mistakes_with_events_have_pytorchs_texts() {
    mistakes(
        "sim:t4x2",
        &[
            (
                "let a = cuda::Event(); a.record(); a.elapsed_time(a)",
                "ValueError",
                "Both events must be created with argument 'enable_timing=True'.",
            ),
            (
                "let a = cuda::Event(true); a.elapsed_time(a)",
                "ValueError",
                "Both events must be recorded before calculating elapsed time.",
            ),
            (
                "let x = zeros([1 << 24], #{device: \"cuda\"}); let a = cuda::Event(true); a.record(); a.elapsed_time(a)",
                "RuntimeError",
                "Both events must be completed before calculating elapsed time.",
            ),
            (
                "let a = cuda::Event(); a.record(); a.record(cuda::Stream(1))",
                "RuntimeError",
                "Event device 0 does not match recording stream's device 1.",
            ),
            (
                "cuda::Event(#{enable_timin: true})",
                "TypeError",
                "Event() got an unknown option 'enable_timin'",
            ),
            ("cuda::Stream(#{devise: 1})", "TypeError", "Stream() got an unknown option 'devise'"),
        ],
    );
}

#[test]
fn the_same_script_has_the_same_times_everywhere() {
    let code = "
        let net = nn::Linear(256, 256).cuda();
        let x = rand([64, 256]).pin_memory();
        let a = cuda::Event(true); let b = cuda::Event(true);
        a.record();
        for i in 0..10 { net.forward(x.to(\"cuda\", #{non_blocking: true})).sum().backward(); }
        b.record(); b.synchronize();
        a.elapsed_time(b)";
    let first = on("sim:t4", code);
    assert_eq!(first, on("sim:t4", code));
    assert_ne!(first, on("sim:h100", code));
}
