//! What streams, copies, graphs and training come to on the driver that runs kernels on the host: it does everything as
//! late and in as odd an order as streams and events allow. The CPU engine is the reference.

use super::Run;
use super::libraries::{all_libraries, has_compiler, kernels};
use super::suite::drawn;

/// What scripts compare tensors by, the host's and the device's.
const NEAR: &str = "
    fn near(got, want) { allclose(got.cpu().double(), want.cpu().double(), #{rtol: 1e-4, atol: 1e-5}) }
";

pub(super) fn computing(test: &str, script: &str, seed: u64) -> Run {
    Run::new(test, &format!("{NEAR}{script}"))
        .with("TENSORLAB_CUDA_PATH", all_libraries().to_str().unwrap())
        .with("STANDIN_COMPUTES", kernels().to_str().unwrap())
        .with("STANDIN_MEMORY", "1024")
        .with("STANDIN_SEED", &seed.to_string())
}

/// A script prints nothing but `true`, in whatever order its streams go on.
fn holds(test: &str, script: &str) {
    holds_in(test, script, 3);
}

/// The same for so many orders.
fn holds_in(test: &str, script: &str, orders: u64) {
    if !has_compiler() {
        return;
    }
    let given = std::env::var("STANDIN_SEED").ok().and_then(|seed| seed.parse().ok());
    let drawn = drawn();
    let seeds = given.map_or_else(|| (drawn..drawn + orders).collect(), |seed| vec![seed]);
    for seed in seeds {
        let output = computing(test, script, seed).output();
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        let wrong = out.is_empty() || out.lines().any(|line| line != "true") || !output.status.success();
        assert!(!wrong, "STANDIN_SEED={seed}\n{out}{err}");
    }
}

#[test]
fn streams_that_wait_for_each_other_are_in_order() {
    holds(
        "streams",
        "
        let x = arange(5000, #{dtype: float32}).cuda();
        let c = cuda::current_stream();
        let streams = [cuda::Stream(), cuda::Stream(), cuda::Stream()];
        let y = x.clone();
        for i in 0..30 {
            let s = streams[i % 3];
            let e = cuda::Event();
            s.wait_stream(c);
            with cuda::stream(s) { y.mul_(2.0); y.sub_(x); e.record(); }
            if i % 2 == 0 { c.wait_event(e); } else { c.wait_stream(s); }
            y.add_(1.0); y.sub_(1.0);
        }
        print(near(y, x));
        // What a stream makes and lets go serves that stream again, and others only later.
        let total = zeros(5000, #{device: \"cuda\"});
        for i in 0..20 {
            let s = streams[i % 3];
            s.wait_stream(c);
            let part = with cuda::stream(s) { (x * 2.0 + i.to_float()) - x };
            c.wait_stream(s);
            total.add_(part);
            part.record_stream(c);
            drop(part);
            with cuda::stream(s) { zeros(5000, #{device: \"cuda\"}).sub_(7.0); }
        }
        print(near(total, x * 20.0 + 190.0));",
    );
}

/// One call does both; what the library does not take goes the other way, and is as right.
#[test]
fn a_bias_is_added_where_the_product_is_written() {
    if !has_compiler() {
        return;
    }
    let fused = |code: &str| {
        let script = format!(
            "manual_seed(0);
             fn close(got, want) {{ allclose(got.cpu().double(), want.double(), #{{rtol: 1e-2, atol: 5e-2}}) }}
             for d in [float32, float64, float16, bfloat16] {{
                 let x = randn([33, 24]).to(d); let w = randn([40, 24]).to(d); let b = randn([40]).to(d);
                 {code}
             }}"
        );
        let mut run = computing("fused", &script, drawn());
        let printed = run.printed();
        assert!(
            printed.lines().all(|line| line == "true") && printed.lines().count() == 4,
            "{code}: {printed}"
        );
        let all = run.launches();
        let products = all.iter().filter(|line| line.as_str() == "cublasLtMatmul").count();
        (products, all.len() - products)
    };
    let linear = "let y = F::linear(x.cuda(), w.cuda(), b.cuda()); print(close(y, F::linear(x, w, b)));";
    assert_eq!(fused(linear), (4, 0), "a product each, and no copy of the bias");
    for taken in [
        "print(close(addmm(b.cuda(), x.cuda(), w.cuda().t()), addmm(b, x, w.t())));",
        "print(close(addmm(b.cuda(), x.cuda(), w.cuda().t(), #{alpha: 2}), addmm(b, x, w.t(), #{alpha: 2})));",
        "print(close(addmm(b.cuda(), x.cuda(), w.t().contiguous().cuda()), addmm(b, x, w.t())));",
        "let z = x.t().contiguous(); print(close(F::linear(z.cuda().t(), w.cuda(), b.cuda()), F::linear(x, w, b)));",
        "let r = b.clone().unsqueeze(0); let s = r.cuda(); s.addmm_(x.narrow(0, 0, 1).cuda(), w.cuda().t()); \
         print(close(s, r.addmm(x.narrow(0, 0, 1), w.t())));",
    ] {
        assert_eq!(fused(taken).0, 4, "{taken}");
    }
    for other in [
        "print(close(addmm(b.cuda(), x.cuda(), w.cuda().t(), #{beta: 0.5}), addmm(b, x, w.t(), #{beta: 0.5})));",
        "let c = randn([33, 40]).to(d); print(close(addmm(c.cuda(), x.cuda(), w.cuda().t()), addmm(c, x, w.t())));",
        "let p = b.cuda(); let q = randn([39]).to(d); let v = w.narrow(0, 0, 39); \
         print(close(F::linear(x.cuda(), v.cuda(), p.narrow(0, 1, 39)), F::linear(x, v, b.narrow(0, 1, 39))));",
        "let v = w.narrow(0, 0, 1); print(close(F::linear(x.cuda(), v.cuda(), b.narrow(0, 0, 1).cuda()), F::linear(x, v, b.narrow(0, 0, 1))));",
    ] {
        assert_eq!(fused(other).0, 0, "{other}");
    }
}

/// Large matrices stay on the device, one call after another; small ones are the host's, and a note says so.
#[test]
fn large_matrices_are_taken_apart_on_the_device() {
    if !has_compiler() {
        return;
    }
    let done = |sizes: &str, code: &str| {
        let script = format!(
            "manual_seed(1);
             let d = #{{dtype: float64}};
             fn close(got, want) {{ allclose(got.cpu(), want, #{{rtol: 1e-8, atol: 1e-8}}) }}
             let x = randn({sizes}, d); let g = x.cuda(); let n = x.size(-1);
             {code}"
        );
        let mut run = computing("factors", &script, drawn());
        let output = run.output();
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success() && out == "true\n", "{code}: {out}{err}");
        let calls = run.launches().into_iter().filter(|line| line.starts_with("cusolver"));
        (calls.collect::<Vec<_>>(), err.into_owned())
    };
    let solve = "print(close(linalg::solve(g, ones([n, 2], d).cuda()), linalg::solve(x, ones([n, 2], d))));";
    let (large, small) = ("[2, 130, 130]", "[2, 30, 30]");
    assert_eq!(done(large, solve).0, [["cusolverDnDgetrf"; 2], ["cusolverDnDgetrs"; 2]].concat());
    let (calls, told) = done(small, solve);
    assert_eq!(calls, [""; 0]);
    assert!(told.contains("cuda:0 leaves solve of small matrices to the host"), "{told}");
    assert!(done(large, solve).1.is_empty(), "nothing is told of what the device does");
    for (code, calls) in [
        ("print(close(linalg::lu(g).U, linalg::lu(x).U) && close(linalg::lu(g).P, linalg::lu(x).P));", 4),
        (
            "let s = x.matmul(x.mT) + eye(n, d); print(close(linalg::cholesky(s.cuda()), linalg::cholesky(s)));",
            2,
        ),
        ("let w = randn([200, 130], d); print(close(linalg::qr(w.cuda()).Q, linalg::qr(w).Q));", 2),
        ("let w = randn([130, 200], d); print(close(linalg::qr(w.cuda()).R, linalg::qr(w).R));", 2),
        (
            "let w = randn([260, 260], d); let s = w + w.t(); print(close(linalg::eigvalsh(s.cuda()), linalg::eigvalsh(s)));",
            1,
        ),
        (
            "let w = randn([260, 260], d); \
             print(close(linalg::eigvalsh(w.cuda(), \"U\"), linalg::eigvalsh(w, \"U\")) && close(linalg::eigh(w.cuda()).eigenvalues, linalg::eigvalsh(w)));",
            2,
        ),
        (
            "let w = randn([300, 260], d); let f = linalg::svd(w.cuda(), false); print(close(f.U.matmul(f.S.unsqueeze(-1) * f.Vh), w));",
            1,
        ),
        (
            "let s = eye(260, d); s[200][200] = -1.0; print(linalg::cholesky_ex(s.cuda()).info.item() == 201);",
            1,
        ),
    ] {
        let (made, told) = done(large, code);
        assert_eq!(made.len(), calls, "{code}: {made:?}");
        assert_eq!(told, "", "{code}");
    }
}

/// Of NaN the library finds values, rotations come to no end, and some versions refuse matrices: the host then says what
/// they come to.
#[test]
fn what_cusolver_gives_up_is_computed_by_the_host() {
    if !has_compiler() {
        return;
    }
    let told = |script: &str, how: &str| {
        let script = format!("manual_seed(2); let d = #{{dtype: float64}}; {script}");
        let mut run = computing("gives-up", &script, drawn());
        run.command.env(how, "1");
        let output = run.output();
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success() && out == "true\n", "{how} {script}: {out}{err}");
        err.into_owned()
    };
    let lost = "let x = eye(260, d); x[1][1] = nan;
        fn said(work) { try { work.call(); } catch (e) { return e.message; } return \"nothing\"; }
        let same = |work| said(|| work.call(x.cuda())) == said(|| work.call(x)) && said(|| work.call(x)) != \"nothing\";";
    for call in ["svd(x)", "svdvals(x)", "eigh(x)", "eigvalsh(x)"] {
        let note = told(&format!("{lost} print(same.call(|x| linalg::{call}));"), "STANDIN_NOTHING");
        assert!(note.contains("to the host, as cuSOLVER found no end"), "{call}: {note}");
    }
    let rows = "let x = eye(130, d); x[1][1] = nan; let b = ones([130, 2], d);
        print(linalg::solve(x.cuda(), b.cuda()).cpu().isnan().any().item());";
    assert_eq!(told(rows, "STANDIN_NOTHING"), "");
    let values = "let x = randn([270, 260], d);
        print(allclose(linalg::svdvals(x.cuda()).cpu(), linalg::svdvals(x)));";
    assert!(told(values, "STANDIN_GIVES_UP").contains("as cuSOLVER found no end"));
    let all = "let x = randn([260, 260], d); let s = x.matmul(x.mT) + eye(260, d); let g = s.cuda();
        print(allclose(linalg::inv(g).cpu(), linalg::inv(s)) && allclose(linalg::cholesky(g).cpu(), linalg::cholesky(s))
            && allclose(linalg::eigvalsh(g).cpu(), linalg::eigvalsh(s)) && allclose(linalg::qr(g).R.cpu(), linalg::qr(s).R));";
    let note = told(all, "STANDIN_REFUSES_MATRICES");
    for name in ["solve", "cholesky", "eigh", "qr"] {
        assert!(note.contains(&format!("leaves {name} to the host")), "{name}: {note}");
    }
}

/// What the pool keeps makes room for libraries that find none as they start, in whatever words.
#[test]
fn libraries_start_on_a_device_whose_memory_the_pool_keeps() {
    if !has_compiler() {
        return;
    }
    for work in [
        "g.matmul(g).cpu().equal(x.matmul(x))",
        "allclose(F::linear(g, g, g[0]).cpu(), F::linear(x, x, x[0]))",
        "allclose(F::conv2d(g.view([1, 1, 130, 130]), ones([1, 1, 1, 1]).cuda()).cpu().view([130, 130]), x)",
        "allclose(linalg::solve(g, g).cpu(), eye(130), #{atol: 1e-4})",
    ] {
        let script = format!(
            "manual_seed(0); let x = eye(130) * 2.0; let g = x.cuda(); (g + g).sum().item();
             let keep = [];
             for size in [4 << 20, 512 << 10, 256 << 10, 64 << 10] {{
                 try {{ loop {{ keep.push(empty([size], #{{device: \"cuda\"}})); }} }} catch {{}}
             }}
             keep = ();
             print({work} && cuda::memory_reserved() < (60 << 20));"
        );
        let mut run = computing("starts", &script, drawn()).with("STANDIN_MEMORY", "64");
        assert_eq!(run.printed(), "true\n", "{work}");
    }
    // Where something holds it, that is said.
    let held = "let keep = []; for size in [4 << 20, 512 << 10, 256 << 10, 64 << 10] {
            try { loop { keep.push(empty([size], #{device: \"cuda\"})); } } catch {}
        }
        let part = |at| keep[0].narrow(0, at * 4096, 4096).view([64, 64]);
        let x = part.call(0); let y = part.call(1); let out = part.call(2);
        try { out.addmm_(x, y); } catch (e) { print(if e.kind == \"OutOfMemoryError\" { true } else { `${e}` }); }";
    assert_eq!(computing("held", held, drawn()).with("STANDIN_MEMORY", "64").printed(), "true\n");
}

/// A library that has to start in a stream does so before work of that stream is written down.
#[test]
fn a_graph_is_written_down_in_a_stream_that_ran_it() {
    if !has_compiler() {
        return;
    }
    let script = "
        let x = ones([40, 40]).cuda(); let y = zeros([40, 40]).cuda();
        let graph = cuda::graph(|| y.copy_(x.matmul(x) * 2.0));
        let streams = [cuda::Stream(), cuda::Stream()];
        for i in 0..6 {
            y.zero_();
            cuda::synchronize();
            with cuda::stream(streams[if i < 3 { 0 } else { 1 }]) { graph.replay(); }
            cuda::synchronize();
            print(y[3][4].item() == 80.0);
        }";
    let mut run = computing("written", script, drawn());
    let output = run.output();
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!((out.into_owned(), err.into_owned()), ("true\n".repeat(6), String::new()));
    let whole = run.launches().into_iter().filter(|line| line.starts_with("graph of"));
    assert_eq!(whole.count(), 4, "the second and third in each stream");
}

/// Without TF32 an algorithm works in more than it said of TF32; a library that adds no bias has the kernel here do all.
#[test]
fn convolutions_have_room_to_work_in_and_another_way() {
    if !has_compiler() {
        return;
    }
    for (switch, how) in [
        ("", "STANDIN_NOTHING"),
        ("cudnn::allow_tf32(false);", "STANDIN_NOTHING"),
        ("", "STANDIN_ADDS_NOTHING"),
    ] {
        let script = format!(
            "manual_seed(0); {switch}
             for dtype in [float32, float64, float16] {{
                 let x = randn([2, 3, 8, 8]).to(dtype); let w = randn([4, 3, 3, 3]).to(dtype);
                 let b = randn([4]).to(dtype);
                 let back = |x, w, b| {{
                     let x = x.detach().requires_grad_(); let w = w.detach().requires_grad_();
                     F::conv2d(x, w, b).pow(2).sum().backward();
                     [x.grad, w.grad]
                 }};
                 let got = back.call(x.cuda(), w.cuda(), b.cuda()); let want = back.call(x, w, b);
                 let bound = if dtype == float64 {{ 1e-9 }} else {{ 2e-2 }};
                 for i in 0..2 {{
                     print(allclose(got[i].cpu().double(), want[i].double(), #{{rtol: bound, atol: 10.0 * bound}}));
                 }}
             }}"
        );
        let mut run = computing("rooms", &script, drawn());
        run.command.env(how, "1");
        let output = run.output();
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success() && out == "true\n".repeat(6), "{switch} {how}: {out}{err}");
        assert_eq!(err, "", "{switch} {how}");
    }
}

/// What a T4 has tensor cores for is asked of them, though the library leaves them out by itself.
#[test]
fn convolutions_of_halves_use_the_tensor_cores_of_older_gpus() {
    if !has_compiler() {
        return;
    }
    for (dtype, capability, uses) in
        [("float16", "75", true), ("float32", "75", false), ("float16", "86", true), ("float64", "75", false)]
    {
        let script = format!(
            "manual_seed(0);
             let x = randn([2, 3, 8, 8]).to({dtype}); let w = randn([4, 3, 3, 3]).to({dtype});
             let back = |x, w| {{ let x = x.detach().requires_grad_(); F::conv2d(x, w).sum().backward(); x.grad }};
             let got = back.call(x.cuda(), w.cuda());
             print(allclose(got.cpu().double(), back.call(x, w).double(), #{{rtol: 1e-2, atol: 1e-2}}));"
        );
        let mut run = computing("cores", &script, drawn()).with("STANDIN_CAPABILITY", capability);
        assert_eq!(run.printed(), "true\n", "{dtype} on {capability}");
        let used = run.launches().iter().any(|line| line == "cudnn on tensor cores");
        assert_eq!(used, uses, "{dtype} on {capability}");
    }
}

#[test]
fn a_wait_that_is_missing_is_seen() {
    if !has_compiler() {
        return;
    }
    let script = |wait: &str| {
        format!(
            "let x = ones(1000).cuda(); cuda::synchronize();
             let s = cuda::Stream();
             let wrong = false;
             for i in 0..20 {{
                 let y = zeros(1000, #{{device: \"cuda\"}});
                 cuda::synchronize();
                 with cuda::stream(s) {{ y.add_(x); }}
                 {wait}
                 wrong = wrong || y.sum().item() != 1000.0;
                 cuda::synchronize();
             }}
             print(wrong);"
        )
    };
    let printed = |wait: &str| computing("missing", &script(wait), drawn()).printed();
    assert_eq!(printed(""), "true\n");
    assert_eq!(printed("cuda::current_stream().wait_stream(s);"), "false\n");
}

#[test]
fn pinned_memory_is_read_and_written_when_the_copy_runs() {
    holds(
        "pinned",
        "
        // The memory of a copy that is under way serves nobody else.
        let all = [];
        for i in 0..40 {
            let block = full([4000], i.to_float()).pin_memory();
            all.push(block.to(\"cuda\", #{non_blocking: true}));
            block = ();
        }
        let right = true;
        for i in 0..40 { right = right && (all[i] == i.to_float()).all().item(); }
        print(right);
        let back = all.map(|t| (t * 2.0).to(\"cpu\", #{non_blocking: true}));
        cuda::synchronize();
        for i in 0..40 { right = right && (back[i] == 2.0 * i.to_float()).all().item(); }
        print(right);
        // Other memory is read at the call.
        let x = ones(3000);
        let there = x.to(\"cuda\", #{non_blocking: true});
        x.mul_(5.0);
        print(near(there, ones(3000)));
        // Between the devices, and back again.
        let a = arange(3000, #{dtype: float32}).cuda();
        for i in 0..10 {
            let b = (a + 1.0).to(\"cuda:1\", #{non_blocking: true});
            b.mul_(2.0);
            let c = b.to(\"cuda:0\");
            a = c / 2.0 - 1.0;
        }
        print(near(a, arange(3000, #{dtype: float32})));",
    );
}

/// As PyTorch users write it: a loader with workers and pinned memory, and copies ahead on a stream of their own.
#[test]
fn a_loader_feeds_the_device_ahead() {
    holds(
        "loader",
        "
        let set = data::Dataset(60, |i| full([64], i.to_float()));
        let side = cuda::Stream();
        let sums = zeros([], #{device: \"cuda\", dtype: float64});
        for epoch in 0..2 {
            let loader = data::DataLoader(set, #{batch_size: 8, num_workers: 2, pin_memory: true});
            let next = ();
            for b in loader {
                let ready = next;
                next = with cuda::stream(side) { b.to(\"cuda\", #{non_blocking: true}) };
                if ready != () { sums += ready.double().sum(); }
                cuda::current_stream().wait_stream(side);
                next.record_stream(cuda::current_stream());
            }
            sums += next.double().sum();
        }
        print(sums.item() == 2.0 * 64.0 * 1770.0);",
    );
}

#[test]
fn backward_runs_on_the_streams_of_its_forward() {
    holds(
        "backward",
        "
        manual_seed(1);
        let x = rand([48, 48], #{device: \"cuda\"});
        let work = |x| { let y = x; for i in 0..4 { y = (y.matmul(x) / 24.0).tanh(); } y.exp().square().mean() };
        let plain = x.clone().requires_grad_();
        work.call(plain).backward();
        let host = x.cpu().requires_grad_();
        work.call(host).backward();
        print(near(plain.grad, host.grad));
        let right = true;
        for i in 0..6 {
            let s = cuda::Stream();
            let leaf = x.clone().requires_grad_();
            s.wait_stream(cuda::current_stream());
            let loss = ();
            with cuda::stream(s) { loss = work.call(leaf); }
            loss.backward();
            right = right && near(leaf.grad, plain.grad);
            loss = ();
            with cuda::stream(s) { for j in 0..4 { rand([48, 48], #{device: \"cuda\"}); } }
        }
        print(right);",
    );
}

#[test]
fn a_graph_of_a_training_step_is_the_step() {
    holds(
        "graph-step",
        "
        manual_seed(7);
        let made = || nn::Sequential(nn::Linear(8, 16), nn::ReLU(), nn::Linear(16, 4)).cuda();
        let nets = [made.call(), made.call()];
        nets[1].load_state_dict(nets[0].state_dict());
        let x = rand([12, 8]).cuda();
        let y = randint(0, 4, [12], #{device: \"cuda\"});
        let opts = nets.map(|net| optim::SGD(net.parameters(), #{lr: 0.1, momentum: 0.5}));
        let step = |i| {
            let loss = F::cross_entropy(nets[i].forward(x), y);
            opts[i].zero_grad(#{set_to_none: false});
            loss.backward();
            opts[i].step();
            loss
        };
        for i in 0..2 { for k in 0..3 { step.call(i); } }
        let graph = cuda::graph(|| step.call(1));
        for k in 0..8 { step.call(0); graph.replay(); }
        let want = nets[0].parameters();
        let got = nets[1].parameters();
        for i in 0..want.len() { print(near(got[i], want[i])); }",
    );
}

/// Trains a net on both and compares losses and parameters.
fn trains(test: &str, net: &str, input: &str, classes: usize, optimiser: &str) {
    let script = format!(
        "manual_seed(3);
        let host = {net};
        let there = {net};
        there.load_state_dict(host.state_dict());
        there.cuda();
        let x = {input};
        let y = randint(0, {classes}, [x.shape[0]]);
        let opts = [host, there].map(|net| {{ let all = net.parameters(); {optimiser} }});
        matmul::allow_tf32(false);
        cudnn::allow_tf32(false);
        for i in 0..4 {{
            let losses = [];
            for at in 0..2 {{
                let net = if at == 0 {{ host }} else {{ there }};
                let loss = F::cross_entropy(net.forward(if at == 0 {{ x }} else {{ x.cuda() }}), if at == 0 {{ y }} else {{ y.cuda() }});
                opts[at].zero_grad();
                loss.backward();
                opts[at].step();
                losses.push(loss.detach());
            }}
            print(near(losses[1], losses[0]));
        }}
        let want = host.parameters();
        let got = there.parameters();
        for i in 0..want.len() {{ if !near(got[i], want[i]) {{ print(`parameter ${{i}}: ${{(got[i].cpu() - want[i]).abs().max()}}`); }} }}"
    );
    // A single stream has a single order.
    holds_in(test, &script, 1);
}

#[test]
fn a_convolutional_net_trains_as_on_the_host() {
    let net =
        "nn::Sequential(nn::Conv2d(2, 4, 3, #{padding: 1}), nn::BatchNorm2d(4), nn::ReLU(), nn::MaxPool2d(2),
        nn::Conv2d(4, 6, 3, #{stride: 2, groups: 2}), nn::Tanh(), nn::Flatten(), nn::Linear(24, 5))";
    trains(
        "net",
        net,
        "randn([6, 2, 10, 10])",
        5,
        "optim::SGD(all, #{lr: 0.1, momentum: 0.9, nesterov: true})",
    );
}

#[test]
fn a_net_with_its_channels_last_trains_as_on_the_host() {
    let net = "nn::Sequential(nn::Conv2d(2, 4, 3, #{padding: 1}), nn::BatchNorm2d(4), nn::ReLU(), nn::MaxPool2d(2),
        nn::Conv2d(4, 4, 1), nn::Conv2d(4, 6, 3, #{groups: 2}), nn::AvgPool2d(3), nn::ConvTranspose2d(6, 3, 2),
        nn::Flatten(), nn::Linear(12, 5)).to(#{memory_format: \"channels_last\"})";
    let input = "randn([6, 2, 10, 10]).to(#{memory_format: \"channels_last\"})";
    trains("channels_last", net, input, 5, "optim::SGD(all, #{lr: 0.1, momentum: 0.9})");
}

#[test]
fn a_transformer_trains_as_on_the_host() {
    let net = "nn::Sequential(nn::Embedding(11, 8),
        nn::TransformerEncoderLayer(8, 2, #{dim_feedforward: 16, dropout: 0.0, batch_first: true}),
        nn::LayerNorm(8), nn::Flatten(), nn::Linear(48, 3))";
    trains("transformer", net, "randint(0, 11, [4, 6])", 3, "optim::SGD(all, #{lr: 0.2})");
}

#[test]
fn optimisers_step_as_on_the_host() {
    let net = "nn::Sequential(nn::Linear(6, 10), nn::GELU(), nn::Linear(10, 4))";
    for optimiser in
        ["AdamW(all, #{lr: 0.01})", "Adam(all, #{lr: 0.01, amsgrad: true})", "RMSprop(all, #{lr: 0.01})"]
    {
        trains("optimisers", net, "randn([8, 6])", 4, &format!("optim::{optimiser}"));
    }
}

/// An index that is none stops the kernel, and with it the device, as an assertion does on a GPU.
#[test]
fn an_index_out_of_range_is_the_devices_error() {
    if !has_compiler() {
        return;
    }
    let script = "
        let x = rand([64, 8], #{device: \"cuda\"});
        for i in 0..3 {
            try { x.index_select(0, tensor([1 << 20]).cuda()); cuda::synchronize(); print(\"nothing\"); }
            catch (e) { print(`${e.kind}: ${e.message.split(\"(\")[0]}`); }
        }";
    let printed = computing("assert", script, drawn()).printed();
    assert_eq!(printed, "DeviceError: CUDA error: device-side assert triggered \n".repeat(3));
}

/// Where warpgroups multiply, where the driver takes no tensor map, and elsewhere.
#[test]
fn attention_has_kernels_of_its_own_where_warpgroups_multiply() {
    if !has_compiler() {
        return;
    }
    let script = "
        manual_seed(3);
        fn attended(all, g, causal) {
            let leaves = all.map(|t| t.detach().requires_grad_());
            let y = F::scaled_dot_product_attention(leaves[0], leaves[1], leaves[2], #{is_causal: causal});
            y.backward(g);
            [y.detach()] + leaves.map(|t| t.grad)
        }
        for e in [64, 128] {
            let made = |rows| randn([1, rows, 2, e]).to(bfloat16).transpose(1, 2);
            let all = [made.call(140), made.call(170), made.call(170)];
            let g = made.call(140);
            let got = attended(all.map(|t| t.cuda()), g.cuda(), e == 64);
            let want = attended(all.map(|t| t.float()), g.float(), e == 64);
            for i in 0..4 { print(allclose(got[i].cpu().float(), want[i], #{rtol: 3e-2, atol: 3e-2})); }
        }";
    let launched = |name: &str, with: &[(&str, &str)]| {
        let run = computing(name, script, drawn());
        let mut run = with.iter().fold(run, |run, (variable, value)| run.with(variable, value));
        assert_eq!(run.printed(), "true\n".repeat(8), "{with:?}");
        let names = run.launches();
        let attends = |line: &&String| line.starts_with("attention");
        let own = names.iter().filter(attends).filter(|line| line.contains("wgmma")).count();
        (names.iter().filter(attends).count(), own)
    };
    assert_eq!(launched("attention-90", &[("STANDIN_CAPABILITY", "90")]), (8, 6));
    let refused = [("STANDIN_CAPABILITY", "90"), ("STANDIN_REFUSES_MAPS", "1")];
    assert_eq!(launched("attention-refused", &refused), (8, 0));
    let older = [("STANDIN_CAPABILITY", "90"), ("STANDIN_COMPILER_IS_OLDER", "1")];
    assert_eq!(launched("attention-older", &older), (8, 0));
    assert_eq!(launched("attention-86", &[]), (8, 0));
}
