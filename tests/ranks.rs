//! Ranks of one process: `distributed::` on the CPU and on simulated GPUs.

use serde_json::Value;

use crate::parallel::{evaluate, fault, machine, on};

fn golden() -> Value {
    serde_json::from_str(include_str!("golden/ddp.json")).unwrap()
}

/// What a script gives, where that is numbers and lists of them.
fn numbers(devices: &str, code: &str) -> Value {
    let shown = on(devices, code).replace("()", "null");
    serde_json::from_str(&shown).unwrap_or_else(|e| panic!("{e}: {shown}"))
}

/// Milliseconds, or another number, that a script gives on devices that compute no values.
fn modelled(devices: &str, code: &str) -> f64 {
    let machine = machine(devices);
    machine.shared.leave_out_values();
    let (_, value) = evaluate(&machine, code).unwrap_or_else(|f| panic!("{}", f.report));
    value.as_float().unwrap()
}

/// Within PyTorch's tolerances for float32.
fn close(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| close(a, b)),
        _ => match (a.as_f64(), b.as_f64()) {
            (Some(a), Some(b)) => (a - b).abs() <= 1e-5 + 1.3e-6 * b.abs(),
            _ => a == b,
        },
    }
}

/// The networks and the input of the recording.
pub const MODELS: &str = "
    fn fill(t, k) {
        let n = t.numel();
        let m = if t.ndim > 1 { 2.0 / (n.to_float() / t.size(0)).sqrt() } else { 0.1 };
        let v = (((arange(n, #{dtype: float64}) * 37 + 11 * k) % 101) / 101 - 0.5) * m;
        with no_grad() { t.copy_(v.float().reshape(t.shape)); }
    }
    fn build(kind) {
        let net = nn::Sequential();
        if kind == \"mlp\" {
            net = nn::Sequential(nn::Linear(6, 5), nn::Tanh(), nn::Linear(5, 3));
        } else if kind == \"conv\" {
            net = nn::Sequential(nn::Conv2d(1, 8, 3), nn::ReLU(), nn::Flatten(), nn::Linear(288, 10));
        } else {
            for i in 0..12 { net.append(nn::Linear(512, 512)); net.append(nn::ReLU()); }
        }
        let k = 0;
        for p in net.parameters() { fill(p, k); k += 1; }
        net
    }
    fn input(kind) {
        let shape = if kind == \"mlp\" { [8, 6] } else if kind == \"conv\" { [8, 1, 8, 8] } else { [8, 512] };
        let n = 1;
        for s in shape { n *= s; }
        ((arange(n, #{dtype: float64}) * 53 % 97) / 97 - 0.5).float().reshape(shape)
    }
    fn part(kind, rank, world) { input(kind)[rank * 8 / world..(rank + 1) * 8 / world] }
    fn sums(tensors) { tensors.map(|t| if t == () { () } else { t.double().sum().item() }) }
";

#[test]
fn every_rank_has_its_number_and_its_own_of_everything() {
    let code = "
        let count = [0];
        let w = ones([2]);
        let net = nn::Linear(2, 1);
        manual_seed(7);
        let seen = distributed::spawn(|rank, world| {
            count[0] += rank + 1;
            w.add_(rank);
            with no_grad() { net.weight.fill_(rank); }
            cuda::set_device(rank);
            set_default_device(\"cuda\");
            distributed::barrier();
            [[count[0], w.tolist(), net.weight.sum().item(), cuda::current_device(), zeros(1).device.index],
                rand(1, #{device: \"cpu\"}).item()]
        });
        [seen.map(|own| own[0]), seen[0][1] == seen[1][1], count, w.tolist(), cuda::current_device(),
            zeros(1).device == device(\"cpu\")]";
    assert_eq!(
        on("sim:t4x2", code),
        "[[[1, [1.0, 1.0], 0.0, 0, 0], [2, [2.0, 2.0], 2.0, 1, 1]], true, [0], [1.0, 1.0], 0, true]"
    );
}

#[test]
fn a_timeline_has_a_row_of_the_cpu_for_each_rank() {
    let file = std::env::temp_dir().join(format!("tensorlab-ranks-{}.svg", std::process::id()));
    let path = file.to_str().unwrap();
    let rows = |body: &str| {
        on("sim:t4x2", &format!("plot::timeline(|| {body}); plot::save({path:?}); 0"));
        let drawn = std::fs::read_to_string(&file).unwrap();
        std::fs::remove_file(&file).unwrap();
        ["cpu, rank 0", "cpu, rank 1", "cpu"].map(|row| drawn.contains(&format!("\n{row}</text>")))
    };
    let work = "ones(3).to(`cuda:${rank}`).sum().item()";
    assert_eq!(
        rows(&format!("distributed::spawn(|rank, world| {work}, #{{nprocs: 2}})")),
        [true, true, false]
    );
    assert_eq!(rows(&work.replace("${rank}", "0")), [false, false, true]);
}

pub const PLACED_ON_CPU: &str = "fn t(v, rank) { tensor(v) }";
pub const PLACED_ON_GPUS: &str = "fn t(v, rank) { tensor(v).cuda(rank) }";

/// Every collective once, of three ranks.
pub const COLLECTIVES: &str = "
                if world > 1 && cuda::is_available() { cuda::set_device(rank); }
                let out = [];
                for op in [\"sum\", \"avg\", \"product\", \"min\", \"max\"] {
                    let x = t([rank + 1.0, 2.0 - rank], rank);
                    distributed::all_reduce(x, #{op: op});
                    out.push(x.tolist());
                }
                let x = t([rank, rank], rank);
                distributed::all_reduce(x, #{op: \"avg\"});
                out.push(x.tolist());
                let x = t([rank], rank);
                distributed::broadcast(x, 2);
                out.push(x.tolist());
                let x = t([rank + 1], rank);
                distributed::reduce(x, 1);
                out.push(x.tolist());
                out.push(distributed::all_gather(t([rank, -rank], rank)).map(|x| x.tolist()));
                let all = distributed::gather(t(rank, rank), 2);
                out.push(if rank == 2 { all.map(|x| x.item()) } else { all });
                out.push(distributed::scatter(if rank == 1 { [t(4, rank), t(5, rank), t(6, rank)] } else { () }, 1).item());
                out.push(distributed::reduce_scatter([t(rank, rank), t(10, rank), t(20 * rank, rank)]).item());
                if rank == 0 { distributed::send(t([7], rank), 2); }
                if rank == 2 { out.push(distributed::recv(t([0], rank), 0).tolist()); }
                let work = distributed::all_gather(t(rank, rank), #{async_op: true});
                work.wait();
                out.push(work.wait().map(|x| x.item()));
                distributed::barrier();
                out";

#[test]
fn collectives_give_what_pytorchs_do() {
    for (devices, place) in [("cpu", PLACED_ON_CPU), ("sim:t4x3", PLACED_ON_GPUS)] {
        let code = format!("{place}\ndistributed::spawn(|rank, world| {{{COLLECTIVES}\n}}, #{{nprocs: 3}})");
        let same = "[6.0, 3.0], [2.0, 1.0], [6.0, 0.0], [1.0, 0.0], [3.0, 2.0], [1, 1], [2]";
        let gathered = "[[0, 0], [1, -1], [2, -2]]";
        let expected = format!(
            "[[{same}, [1], {gathered}, (), 4, 3, [0, 1, 2]], [{same}, [6], {gathered}, (), 5, 30, [0, 1, 2]], \
             [{same}, [3], {gathered}, [0, 1, 2], 6, 60, [7], [0, 1, 2]]]"
        );
        assert_eq!(on(devices, &code), expected, "{devices}");
    }
}

#[test]
fn a_run_repeats_with_its_times_and_its_events() {
    let code = "
        let events = telemetry::record(|| distributed::spawn(|rank, world| {
            cuda::set_device(rank);
            let x = randn([128, 128], #{device: \"cuda\"});
            for i in 0..3 + rank { x = x @ x * 0.01; }
            let work = distributed::all_reduce(x, #{async_op: true});
            let y = x.clone() * 2;
            work.wait();
            print(rank);
            cuda::synchronize();
            distributed::barrier();
        }));
        [events.collectives, events.busy_ms, events.waited_ms, events.launches]";
    let first = on("sim:t4x2", code);
    assert!(
        first.contains("all_reduce") && first.contains("barrier") && first.contains("modelled"),
        "{first}"
    );
    assert_eq!(first, on("sim:t4x2", code));
}

#[test]
fn ranks_work_side_by_side_on_the_modelled_clock() {
    let time = |devices: &str, ranks: usize| -> f64 {
        let code = format!(
            "let start = cuda::Event(#{{enable_timing: true}}); let end = cuda::Event(#{{enable_timing: true}}); start.record();
             distributed::spawn(|rank, world| {{
                cuda::set_device(rank);
                let x = randn([1024, 1024], #{{device: \"cuda\"}});
                for i in 0..20 {{ x = x @ x; }}
                cuda::synchronize();
             }}, #{{nprocs: {ranks}}});
             end.record(); cuda::synchronize(); start.elapsed_time(end)"
        );
        modelled(devices, &code)
    };
    let (one, two) = (time("sim:t4x2", 1), time("sim:t4x2", 2));
    assert!(two < one * 1.2, "{one} {two}");
}

#[test]
fn an_all_reduce_takes_what_a_ring_takes() {
    let time = |devices: &str, mib: u64| -> f64 {
        let code = format!(
            "telemetry::record(|| distributed::spawn(|rank, world| {{
                distributed::all_reduce(zeros([{mib}, 262144], #{{device: `cuda:${{rank}}`}}));
             }})).collectives[0].ms"
        );
        modelled(devices, &code)
    };
    let (two, four) = (time("sim:t4x2", 32), time("sim:t4x4", 32));
    // 2 (n - 1) / n of the bytes: 1 and 1.5 times.
    let ratio = four / two;
    assert!((ratio - 1.5).abs() < 0.02, "{two} {four}");
    let twice = time("sim:t4x2", 64) / two;
    assert!((twice - 2.0).abs() < 0.02, "{twice}");
}

/// What two ranks do that does not go together, and what is told.
pub const NOT_TOGETHER: &[(&str, &str)] = &[
    (
        "if rank == 0 { distributed::all_reduce(ones(3)); }",
        "no rank can go on: rank 0 waits in all_reduce of float32 [3] (line 2); rank 1 has ended",
    ),
    (
        "if rank == 0 { distributed::all_reduce(ones(3)); } else {\ndistributed::broadcast(ones(3), 1); }",
        "ranks do not do the same: rank 0 calls all_reduce of float32 [3] on cpu in line 2; rank 1 calls broadcast \
             from rank 1 of float32 [3] on cpu in line 3",
    ),
    (
        "distributed::all_reduce(ones(3 + rank));",
        "ranks do not do the same: rank 0 calls all_reduce of float32 [3] on cpu in line 2; rank 1 calls all_reduce \
             of float32 [4] on cpu in line 2",
    ),
    (
        "distributed::all_reduce(tensor([rank + 0.0], #{dtype: if rank == 0 { float32 } else { float64 }}));",
        "of float64 [1] on cpu in line 2",
    ),
    ("distributed::broadcast(ones(1), rank);", "broadcast from rank 1 of float32 [1] on cpu in line 2"),
    (
        "distributed::send(ones(1), 1 - rank);",
        "no rank can go on: rank 0 waits in send to rank 1 of float32 [1] (line 2); rank 1 waits in send to rank 0 \
             of float32 [1] (line 2)",
    ),
    (
        "distributed::barrier();\nif rank == 1 {\nones(2) + ones(3);\n}\ndistributed::barrier();",
        "rank 1 failed in line 4: The size of tensor a (2)",
    ),
    ("if rank == 1 {\nthrow \"tired\";\n}\ndistributed::barrier();", "rank 1 failed in line 3: tired"),
    (
        "distributed::broadcast(ones(1), 2);",
        "rank 0 failed in line 2: Global rank 2 is not part of the group of 2 ranks",
    ),
    (
        "distributed::send(ones(1), rank);",
        "Invalid destination rank: destination rank should not be the same",
    ),
    ("distributed::scatter((), 0);", "Argument ``scatter_list`` must be specified on source rank."),
    ("distributed::all_reduce(ones(1), #{op: \"mean\"});", "there is no reduction \"mean\""),
    ("distributed::spawn(|r, w| r);", "a rank can't start ranks of its own"),
    (
        "distributed::init_process_group(); distributed::init_process_group();",
        "initialize the default process group twice!",
    ),
    (
        "distributed::destroy_process_group();\ndistributed::barrier();",
        "Default process group has not been initialized",
    ),
];

#[test]
fn what_ranks_do_not_do_together_is_told_with_lines() {
    let ranks = |body: &str| format!("distributed::spawn(|rank, world| {{\n{body}\n}}, #{{nprocs: 2}})");
    for (body, text) in NOT_TOGETHER {
        let message = fault("cpu", &ranks(body)).message;
        assert!(message.contains(text), "{body}\n{message}");
    }
    let outside = fault("cpu", "distributed::all_reduce(ones(1))").message;
    assert!(outside.contains(
        "Default process group has not been initialized, please make sure to call init_process_group."
    ));
    let same_gpu = fault("sim:t4x2", &ranks("distributed::all_reduce(ones(1).cuda());")).message;
    assert!(
        same_gpu.contains("Duplicate GPU detected : rank 1 and rank 0 both on CUDA device 0"),
        "{same_gpu}"
    );
    let gloo = "distributed::init_process_group(\"gloo\"); let x = ones(1).cuda(); distributed::all_reduce(x); x.item()";
    assert_eq!(on("sim:t4", &ranks(gloo)), "[2.0, 2.0]");
}

#[test]
fn after_a_failure_the_script_goes_on_as_before() {
    let code = "
        let told = \"\";
        try { distributed::spawn(|rank, world| {
            set_default_device(\"cuda:1\");
            if rank == 1 { throw \"tired\"; }
            try { distributed::barrier(); } catch (e) { print(e.message); }
        }); } catch (e) { told = e.message; }
        [told, zeros(1).device == device(\"cpu\"), distributed::is_initialized(), distributed::spawn(|rank, world| rank)]";
    assert_eq!(on("sim:t4x2", code), "[\"rank 1 failed in line 5: tired\", true, false, [0, 1]]");
}

#[test]
fn an_interrupt_ends_all_ranks() {
    let machine = machine("cpu");
    let cancel = std::sync::Arc::clone(&machine);
    let stop = std::thread::spawn(move || {
        std::thread::sleep(std::time::Duration::from_millis(300));
        cancel.shared.cancel.interrupt();
    });
    let code = "distributed::spawn(|rank, world| { if rank == 0 { distributed::barrier(); } else { loop {} } }, #{nprocs: 2})";
    let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| evaluate(&machine, code).is_ok()));
    stop.join().unwrap();
    assert!(ended.is_err(), "it is cancelled, which is no fault");
}

#[test]
fn a_sampler_gives_each_rank_pytorchs_share() {
    let golden = golden();
    let cases = golden["sampler"].as_array().unwrap();
    assert_eq!(cases.len(), 48);
    let code: Vec<String> = cases
        .iter()
        .map(|case| {
            format!(
                "(|| {{ let all = []; for rank in 0..{world} {{
                    let s = data::DistributedSampler({n}, #{{num_replicas: {world}, rank: rank, shuffle: {shuffle},
                        seed: {seed}, drop_last: {drop_last}}});
                    s.set_epoch({epoch});
                    let own = []; for i in s {{ own.push(i); }}
                    if own.len() != s.len() {{ throw \"len\"; }}
                    all.push(own);
                }} all }}).call()",
                n = case["n"],
                world = case["world"],
                shuffle = case["shuffle"],
                seed = case["seed"],
                drop_last = case["drop_last"],
                epoch = case["epoch"],
            )
        })
        .collect();
    let given = numbers("cpu", &format!("[{}]", code.join(",\n")));
    for (case, given) in cases.iter().zip(given.as_array().unwrap()) {
        assert_eq!(&case["indices"], given, "{case}");
    }
    let loaded = on(
        "cpu",
        "distributed::spawn(|rank, world| {
            let sampler = data::DistributedSampler(arange(5), #{shuffle: false});
            let all = [];
            for b in data::DataLoader(arange(5), #{batch_size: 2, sampler: sampler}) { all.push(b.tolist()); }
            all
        }, #{nprocs: 2})",
    );
    assert_eq!(loaded, "[[[0, 2], [4]], [[1, 3], [0]]]");
    for (call, text) in [
        ("4, #{num_replicas: 2, rank: 2}", "Invalid rank 2, rank should be in the interval [0, 1]"),
        ("4", "Default process group has not been initialized"),
    ] {
        assert!(fault("cpu", &format!("data::DistributedSampler({call})")).message.contains(text));
    }
}

#[test]
fn averaged_training_is_pytorchs_in_its_numbers_and_its_buckets() {
    let golden = golden();
    for (kind, cap) in [("mlp", 25), ("conv", 25), ("deep", 25), ("deep", 1)] {
        let given = if cap == 25 { "()".into() } else { format!("{cap}") };
        let code = format!(
            "{MODELS}
            let seen = [];
            let events = telemetry::record(|| {{ seen += distributed::spawn(|rank, world| {{
                let net = nn::parallel::DistributedDataParallel(build(\"{kind}\"), #{{bucket_cap_mb: {given}}});
                let opt = optim::SGD(net.parameters(), #{{lr: 0.1}});
                let x = part(\"{kind}\", rank, world);
                for i in 0..3 {{ opt.zero_grad(); (net.forward(x) ** 2).mean().backward(); opt.step(); }}
                [sums(net.parameters()), net.module[0].weight.flatten()[0..6].tolist()]
            }}, #{{nprocs: 2}}); }});
            let sizes = [];
            for c in events.collectives {{ if c.op == \"all_reduce\" {{ sizes.push(c.bytes); }} }}
            [seen, sizes]"
        );
        let given = numbers("cpu", &code);
        let wanted = &golden["train"]["2"];
        for rank in ["0", "1"] {
            let wanted = &wanted[rank][format!("{kind} cap {cap}")];
            let own = &given[0][rank.parse::<usize>().unwrap()];
            assert!(
                close(&own[0], &wanted["sum"]) && close(&own[1], &wanted["head"]),
                "{kind}: {own} {wanted}"
            );
            let mut sizes: Vec<Value> = wanted["first"].as_array().unwrap().clone();
            for _ in 0..2 {
                sizes.extend(wanted["rebuilt"].as_array().unwrap().iter().cloned());
            }
            assert_eq!(given[1].as_array().unwrap(), &sizes, "{kind}");
        }
    }
}

#[test]
fn without_synchronisation_gradients_stay_local_until_the_next_pass() {
    let code = format!(
        "{MODELS}
        distributed::spawn(|rank, world| {{
            let net = nn::parallel::DistributedDataParallel(build(\"mlp\"));
            let x = part(\"mlp\", rank, world);
            with net.no_sync() {{ (net.forward(x) ** 2).mean().backward(); }}
            let local = sums(net.parameters().map(|p| p.grad));
            (net.forward(x * 0.5) ** 2).mean().backward();
            [local, sums(net.parameters().map(|p| p.grad))]
        }}, #{{nprocs: 2}})"
    );
    let (given, golden) = (numbers("cpu", &code), golden());
    for rank in ["0", "1"] {
        let wanted = &golden["train"]["2"][rank]["no_sync"];
        let own = &given[rank.parse::<usize>().unwrap()];
        assert!(close(&own[0], &wanted["local"]) && close(&own[1], &wanted["after"]), "{own} {wanted}");
    }
}

#[test]
fn parameters_without_a_gradient_are_an_error_or_left_alone() {
    let net = "nn::module(#{a: nn::Linear(3, 2), b: nn::Linear(3, 2)}, |self, x| self.a.forward(x))";
    let golden = golden();
    let text = fault(
        "cpu",
        &format!(
            "distributed::spawn(|rank, world| {{
                let net = nn::parallel::DistributedDataParallel({net});
                for i in 0..2 {{ net.forward(ones([3, 3])).sum().backward(); }}
            }}, #{{nprocs: 2}})"
        ),
    )
    .message;
    let wanted = golden["train"]["2"]["0"]["unused"].as_str().unwrap();
    assert!(text.contains(wanted), "{text}");
    assert!(text.ends_with("did not receive grad for rank 1: 2 3"), "{text}");
    let code = format!(
        "{MODELS}
        distributed::spawn(|rank, world| {{
            let net = nn::parallel::DistributedDataParallel({net}, #{{find_unused_parameters: true}});
            for i in 0..2 {{ net.forward(ones([3, 3])).sum().backward(); }}
            sums(net.parameters().map(|p| p.grad))
        }}, #{{nprocs: 2}})"
    );
    let given = numbers("cpu", &code);
    for rank in ["0", "1"] {
        let wanted = &golden["train"]["2"][rank]["found"];
        assert!(close(&given[rank.parse::<usize>().unwrap()], wanted), "{given}");
    }
}

#[test]
fn equal_shares_give_the_gradients_of_the_whole_batch() {
    for (devices, place) in [("cpu", ""), ("sim:t4x2", ".cuda(rank)"), ("sim:t4x4", ".cuda(rank)")] {
        let ranks = if devices == "cpu" { 2 } else { devices.trim_start_matches("sim:t4x").parse().unwrap() };
        let code = format!(
            "{MODELS}
            let whole = build(\"mlp\");
            (whole.forward(input(\"mlp\")) ** 2).mean().backward();
            let all = distributed::spawn(|rank, world| {{
                if cuda::is_available() {{ cuda::set_device(rank); }}
                let net = nn::parallel::DistributedDataParallel(build(\"mlp\"){place});
                for i in 0..2 {{
                    net.zero_grad();
                    (net.forward(part(\"mlp\", rank, world){place}) ** 2).mean().backward();
                }}
                net.parameters().map(|p| p.grad.cpu().flatten().tolist())
            }}, #{{nprocs: {ranks}}});
            [whole.parameters().map(|p| p.grad.flatten().tolist()), all]"
        );
        let given = numbers(devices, &code);
        let all = given[1].as_array().unwrap();
        assert_eq!(all.len(), ranks);
        for own in all {
            assert!(close(own, &given[0]), "{devices}: {own}");
            assert_eq!(own, &all[0], "all ranks have the same to the last bit");
        }
    }
}

#[test]
fn a_wrapped_network_is_a_module_with_the_state_of_rank_0() {
    let code = "
        distributed::spawn(|rank, world| {
            let inner = nn::Sequential(nn::Linear(2, 2), nn::BatchNorm1d(2));
            with no_grad() { inner[0].weight.fill_(rank + 1); inner[1].running_mean.fill_(rank + 5); }
            let net = nn::parallel::DistributedDataParallel(inner);
            let begun = [inner[0].weight.at([0, 0]).item(), inner[1].running_mean[0].item()];
            inner[1].running_mean.fill_(rank + 7);
            net.eval();
            with no_grad() { net.forward(ones([2, 2])); };
            [begun, inner[1].running_mean[0].item(), inner.training, net.state_dict().keys().len(),
                \"module.0.weight\" in net.state_dict(), `${net}`.starts_with(\"DistributedDataParallel(\")]
        }, #{nprocs: 2})";
    let one = "[[1.0, 5.0], 7.0, false, 7, true, true]";
    assert_eq!(on("cpu", code), format!("[{one}, {one}]"));
    for (devices, call, text) in [
        (
            "cpu",
            "nn::ReLU()",
            "is not needed when a module doesn't have any parameter that requires a gradient.",
        ),
        (
            "sim:t4x2",
            "nn::Linear(1, 1), #{device_ids: [0]}",
            "but got device_ids [0], output_device None, and module parameters {cpu}.",
        ),
        (
            "sim:t4x2",
            "nn::Linear(1, 1).cuda(), #{device_ids: [0, 1]}",
            "device_ids can only be None or contain a single element.",
        ),
        ("cpu", "nn::Linear(1, 1 + rank)", "ranks do not do the same"),
        ("cpu", "nn::Linear(1, 1), #{bucket_cap_mb: 0}", "bucket_cap_mb is a number of MiB above 0"),
    ] {
        let code = format!(
            "distributed::spawn(|rank, world| nn::parallel::DistributedDataParallel({call}), #{{nprocs: 2}})"
        );
        let message = fault(devices, &code).message;
        assert!(message.contains(text), "{call}: {message}");
    }
}

/// Milliseconds of one step of training on `sim:t4x2`, as events of the first GPU tell them.
fn step(wrap: &str, options: &str, net: &str, shape: &str) -> f64 {
    let code = format!(
        "fn steps(net, x, n) {{
            let opt = optim::SGD(net.parameters(), #{{lr: 0.01}});
            for i in 0..n {{ opt.zero_grad(); net.forward(x).square().mean().backward(); opt.step(); }}
            cuda::synchronize();
        }}
        fn timed(net, x) {{
            steps(net, x, 2);
            let start = cuda::Event(#{{enable_timing: true}}); let end = cuda::Event(#{{enable_timing: true}});
            start.record(); steps(net, x, 3); end.record(); end.synchronize();
            start.elapsed_time(end) / 3
        }}
        let x = rand({shape}).cuda();
        let batch = x.size(0);
        if \"{wrap}\" == \"dp\" {{ timed(nn::DataParallel({net}.cuda()), x) }} else {{
            distributed::spawn(|rank, world| {{
                cuda::set_device(rank);
                let own = x[rank * batch / world..(rank + 1) * batch / world].cuda();
                timed(nn::parallel::DistributedDataParallel({net}.cuda(), #{{device_ids: [rank]{options}}}), own)
            }})[0]
        }}"
    );
    modelled("sim:t4x2", &code)
}

#[test]
fn a_step_of_ranks_is_shorter_than_one_of_replicas() {
    let net = "nn::Sequential(nn::Conv2d(1, 16, 3), nn::ReLU(), nn::Conv2d(16, 32, 3), nn::ReLU(), nn::Flatten(), \
               nn::Linear(512, 10))";
    let (replicas, ranks) = (step("dp", "", net, "[256, 1, 8, 8]"), step("ddp", "", net, "[256, 1, 8, 8]"));
    assert!(ranks < replicas, "{ranks} ms with ranks, {replicas} ms with replicas");
}

#[test]
fn buckets_are_reduced_while_the_backward_pass_goes_on() {
    let layers = ["nn::Linear(512, 512)"; 6].join(", ");
    let net = format!("nn::Sequential({layers})");
    let many = step("ddp", ", bucket_cap_mb: 1", &net, "[2048, 512]");
    let one = step("ddp", ", bucket_cap_mb: 1000", &net, "[2048, 512]");
    assert!(many < one, "{many} ms in buckets, {one} ms in one");
}

/// What never comes is waited for as long as `timeout` says, and what each rank did is told.
#[test]
fn a_rank_that_never_comes_is_no_hang() {
    let code = "let told = \"\";
try { distributed::spawn(|rank, world| {
if rank == 1 { while true { sleep(0.01); } }
distributed::barrier();
}, #{nprocs: 3, timeout: 0.3}); } catch (e) { told = e.message; }
let next = distributed::spawn(|rank, world| rank, #{nprocs: 2});
`${told} ${next}`";
    let told = on("cpu", code);
    let want = "no rank came for 0.3 s: rank 0 waits in barrier (line 4); rank 1 runs line 3; rank 2 waits for its turn [0, 1]";
    assert_eq!(told.trim_matches('"'), want);
    for bad in ["0", "-1", "0.0 / 0.0", "1e300"] {
        let fault = fault("cpu", &format!("distributed::spawn(|r, w| r, #{{nprocs: 2, timeout: {bad}}})"));
        assert!(fault.message.contains("timeout is a number of seconds above 0"), "{}", fault.report);
    }
    // Ranks that only wait for their turn are not late.
    let code = "distributed::spawn(|rank, world| { distributed::barrier(); if rank > 0 { sleep(0.4) } distributed::barrier(); rank }, #{nprocs: 2, timeout: 2.0})";
    assert_eq!(on("cpu", code), "[0, 1]");
}

#[test]
fn a_program_as_pytorchs_tutorial_has_it_comes_through() {
    let code = "
        fn main(rank, world, w, name) {
            distributed::init_process_group(\"nccl\", #{rank: rank, world_size: world});
            cuda::set_device(rank);
            w.add_(rank);
            distributed::barrier();
            let told = [name, w.sum().item(), distributed::get_world_size()];
            distributed::destroy_process_group();
            told
        }
        let w = ones(2);
        let seen = distributed::spawn(main, #{args: [2, w, \"net\"], nprocs: 2});
        [seen, w.sum().item()]";
    assert_eq!(on("sim:t4x2", code), "[[[\"net\", 2.0, 2], [\"net\", 4.0, 2]], 2.0]");
    let wrong = |options: &str| {
        fault("cpu", &format!("distributed::spawn(|rank, world| {{ distributed::init_process_group(\"gloo\", {options}); }}, #{{nprocs: 2}})"))
            .message
    };
    assert!(
        wrong("#{rank: 1}").contains("rank is 0 for the calling rank, and got 1"),
        "{}",
        wrong("#{rank: 1}")
    );
    assert!(wrong("#{world_size: 3}").contains("world_size is 2"), "{}", wrong("#{world_size: 3}"));
    let message = fault("cpu", "distributed::spawn(|r, w| r, #{nprocs: 2, args: 5})").message;
    assert!(message.contains("args is an array"), "{message}");
    let full = fault(
        "sim:tiny",
        "distributed::spawn(|rank, world| { if rank == 1 { zeros([1 << 30], #{device: \"cuda\"}); } }, #{nprocs: 2})",
    );
    assert!(full.hint.as_ref().is_some_and(|hint| hint.contains("ank 1 failed in line 1")), "{full:?}");
}

/// The first rank's turn never ends, so that the others never come to wait in anything.
#[test]
fn a_rank_that_never_comes_ends_the_others_wait_for_their_turn() {
    let code = "distributed::spawn(|rank, world| { if rank == 0 { loop { } } distributed::barrier(); }, #{nprocs: 2, timeout: 0.4})";
    let start = std::time::Instant::now();
    let fault = fault("cpu", code);
    assert!(start.elapsed() < std::time::Duration::from_secs(10));
    assert!(fault.message.contains("rank 0 runs line 1; rank 1 waits for its turn"), "{}", fault.report);
}

/// A rank's timings wait for the GPU that it uses, and all ranks run what they time as often.
#[test]
fn ranks_time_their_own_work() {
    let code = "let seen = distributed::spawn(|rank, world| {
    let x = ones([256, 256], #{device: rank});
    let times = if rank == 0 { 1 } else { 20 };
    let work = || { for _i in 0..times { x.mm(x); } };
    let took = timeit(|| { work.call(); distributed::barrier(); }).median_ms;
    [took > 0.0, time(work).median_ms]
}, #{nprocs: 2});
[seen[0][0], seen[1][0], seen[0][1] * 3.0 < seen[1][1]]";
    assert_eq!(on("sim:t4x2", code), "[true, true, true]");
}

/// PyTorch takes the memory of the buckets where the network is wrapped.
#[test]
fn gradients_have_room_from_the_start() {
    let code = "distributed::spawn(|rank, world| {
            cuda::set_device(rank);
            let net = nn::Linear(512, 512).cuda(rank);
            let before = cuda::memory_allocated();
            let net = nn::parallel::DistributedDataParallel(net);
            let wrapped = cuda::memory_allocated() - before;
            net.forward(ones([1, 512]).cuda(rank)).sum().backward();
            [wrapped, cuda::memory_allocated() - before - wrapped]
        }, #{nprocs: 2})";
    // Once for the buckets, and once for the gradients.
    assert_eq!(on("sim:t4x2", code), "[[1050624, 1050624], [1050624, 1050624]]");
}
