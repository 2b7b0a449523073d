//! Races on simulated devices: what nothing orders is told with both lines, and what is ordered is not.

use std::sync::{Arc, Mutex};

use rhai::{Array, Map};
use tensorlab::base::event::{Body, Page};
use tensorlab::session::protocol::Verdict;

use crate::cuda::mistakes;
use crate::forged::Lesson;
use crate::parallel::{evaluate, machine, on};

/// What the scripts have: a stream `s`, a tensor `x` that everybody knows, and the current stream.
const BEGIN: &str = "let s = cuda::Stream(); let c = cuda::current_stream(); let x = ones([64, 64], #{device: \"cuda\"}); cuda::synchronize(); let seen = telemetry::record(|| {\n";

/// The races of a function's body, whose lines count from 2: kind, line with operation and stream, and those of the
/// earlier access.
pub fn races(body: &str) -> Vec<String> {
    let code = format!("{BEGIN}{body}\n}}); seen.races");
    let (_keeps, found) = evaluate(&machine("sim:t4x2"), &code).unwrap_or_else(|f| panic!("{}", f.report));
    let text = |race: &Map, name: &str| race[name].to_string();
    let shown = |race: Map| {
        let side = |prefix: &str| {
            let [line, op, by, stream] =
                ["line", "op", "by", "stream"].map(|n| text(&race, &format!("{prefix}{n}")));
            format!("{line} {op} {by}/{stream}")
        };
        format!("{}: {}, {}", text(&race, "kind"), side(""), side("earlier_"))
    };
    found.cast::<Array>().into_iter().map(|race| shown(race.cast())).collect()
}

pub fn none(body: &str) {
    assert_eq!(races(body), Vec::<String>::new(), "{body}");
}

#[test]
fn reading_what_another_stream_writes_is_a_race() {
    let body = "x.add_(1.0);
with cuda::stream(s) { let y = x * 2.0; let z = x * 3.0; }
cuda::synchronize();";
    assert_eq!(
        races(body),
        ["read after write: 3 mul cuda:0/1, 2 add cuda:0/0"],
        "the same two streams once"
    );
    let body = "with cuda::stream(s) { x.mul_(2.0); }
x.add_(1.0);
cuda::synchronize();";
    assert_eq!(races(body), ["write after write: 3 add cuda:0/0, 2 mul cuda:0/1"]);
    let body = "let y = with cuda::stream(s) { x * 2.0 };
x.add_(1.0);
cuda::synchronize();";
    assert_eq!(races(body), ["write after read: 3 add cuda:0/0, 2 mul cuda:0/1"]);
    let body = "let y = with cuda::stream(s) { x * 2.0 };
print(y);
cuda::synchronize();";
    assert!(races(body)[0].starts_with("read after write: "), "printing reads on the current stream");
}

/// A race is a missing order, not a matter of time: the host is slow enough here for the kernel to be done.
#[test]
fn that_it_went_well_this_time_is_no_order() {
    let body = "x.add_(1.0);
for i in 0..200 { s.query(); }
with cuda::stream(s) { let y = x * 2.0; }
cuda::synchronize();";
    assert_eq!(races(body).len(), 1);
}

#[test]
fn whatever_orders_two_streams_is_seen() {
    for order in [
        "s.wait_stream(c);",
        "let e = cuda::Event(); e.record(); s.wait_event(e);",
        "let e = c.record_event(); e.wait(s);",
        "let e = c.record_event(); e.synchronize();",
        "let e = c.record_event(); while !e.query() { }",
        "c.synchronize();",
        "while !c.query() { }",
        "cuda::synchronize();",
        "x.sum().item();",
        "x.cpu();",
        "let other = cuda::Stream(); other.wait_stream(c); s.wait_stream(other);",
        "let other = cuda::Stream(); let e = c.record_event(); x.add_(0.0); c.synchronize(); e.wait(other); s.wait_stream(other);",
    ] {
        none(&format!(
            "x.add_(1.0); {order} with cuda::stream(s) {{ x.mul_(2.0); }} c.wait_stream(s); x.add_(1.0);"
        ));
    }
    let before =
        "let e = c.record_event(); x.add_(1.0); s.wait_event(e); with cuda::stream(s) { x.mul_(2.0); }";
    assert_eq!(races(before).len(), 1, "an event orders what came before it alone");
    let aside = "x.add_(1.0); let e = cuda::Event(); s.wait_event(e); with cuda::stream(s) { x.mul_(2.0); }";
    assert_eq!(races(aside).len(), 1, "an event that was never recorded orders nothing");
    let wrong = "x.add_(1.0); c.wait_stream(s); with cuda::stream(s) { x.mul_(2.0); }";
    assert_eq!(races(wrong).len(), 1, "the wrong way round");
}

#[test]
fn two_streams_may_read_and_may_work_on_parts() {
    none("with cuda::stream(s) { let y = x * 2.0; } let z = x * 3.0; cuda::synchronize();");
    none("with cuda::stream(s) { x[0..32].mul_(2.0); } x[32..64].add_(1.0); cuda::synchronize();");
    none(
        "let t = x.transpose(0, 1); with cuda::stream(s) { t[0..32].mul_(2.0); } t[32..64].add_(1.0); cuda::synchronize();",
    );
    let overlap = "with cuda::stream(s) { x[0..33].mul_(2.0); } x[32..64].add_(1.0);";
    assert_eq!(races(overlap).len(), 1);
    let columns =
        "let t = x.transpose(0, 1); with cuda::stream(s) { t[0..33].mul_(2.0); } t[32..64].add_(1.0);";
    assert_eq!(races(columns).len(), 1);
}

/// Pieces of pinned memory, each copied and worked on by a stream of its own.
#[test]
fn pieces_on_streams_of_their_own_do_not_race() {
    none(
        "let p = ones([4, 1024]).pin_memory(); let d = zeros([4, 1024], #{device: \"cuda\"}); let all = [];
        for i in 0..4 {
            let own = cuda::Stream(); own.wait_stream(c);
            with cuda::stream(own) { d[i].copy_(p[i], #{non_blocking: true}); d[i].mul_(2.0); }
            all.push(own);
        }
        for own in all { c.wait_stream(own); }
        d.sum().item();",
    );
}

#[test]
fn the_host_and_pinned_memory() {
    let early = "let p = x.to(\"cpu\", #{non_blocking: true});
p.sum().item();
cuda::synchronize(); p.sum().item();";
    assert_eq!(races(early), ["read after write: 3 sum cpu/0, 2 copy_ cuda:0/0"]);
    for look in ["print(p);", "p.tolist();", "p[0][0].item();", "let q = p + 1.0;"] {
        let body = format!("let p = x.to(\"cpu\", #{{non_blocking: true}});\n{look}");
        assert_eq!(races(&body).len(), 1, "{look}");
    }
    let written = "let p = ones([64, 64]).pin_memory();
let y = p.to(\"cuda\", #{non_blocking: true});
p.add_(1.0);
cuda::synchronize(); p.add_(1.0);";
    assert_eq!(races(written), ["write after read: 4 add cpu/0, 3 copy_ cuda:0/0"]);
    none(
        "let p = ones([64, 64]).pin_memory(); let y = p.to(\"cuda\", #{non_blocking: true}); p.sum().item();",
    );
    // Indices are looked at before a kernel reads them, which doesn't run where one of them is wrong.
    for (read, op) in [
        ("F::embedding(i, ones([1, 2]))", "embedding"),
        ("F::embedding(i - 2, ones([1, 2]))", "sub"),
        ("F::embedding(i, ones([2, 2]))", "embedding"),
        ("ones([1]).put_(i, ones([4]))", "put"),
        ("ones([1]).index_select(0, i)", "index_select"),
        ("ones([2]).index_select(0, i)", "index_select"),
    ] {
        let body = format!(
            "let i = ones([4], #{{dtype: int64, device: \"cuda\"}}).to(\"cpu\", #{{non_blocking: true}});\ntry {{ {read}; }} catch {{}}"
        );
        assert_eq!(races(&body), [format!("read after write: 3 {op} cpu/0, 2 copy_ cuda:0/0")]);
    }
    none("let p = ones([64, 64]).pin_memory(); let y = p.to(\"cuda\"); p.add_(1.0);");
    none("let p = ones([64, 64]); let y = p.to(\"cuda\", #{non_blocking: true}); p.add_(1.0);");
    none("let p = x.to(\"cpu\", #{non_blocking: true}); c.synchronize(); p.add_(1.0);");
    none(
        "for i in 0..5 { let p = rand([64, 64]).pin_memory(); let y = p.to(\"cuda\", #{non_blocking: true}); }",
    );
    none(
        "let p = x.to(\"cpu\", #{non_blocking: true}); let y = p.to(\"cuda\", #{non_blocking: true}); cuda::synchronize();",
    );
}

/// Given back to the stream it came from while another one uses it.
#[test]
fn memory_freed_while_another_stream_uses_it_is_a_race() {
    let used = "let t = x + 1.0; s.wait_stream(c); let y = with cuda::stream(s) { t * 2.0 };";
    let freed = races(&format!("{used}\nif true {{ drop(t); }} cuda::synchronize();"));
    assert!(
        matches!(&freed[..], [race] if race.starts_with("free after use: ") && race.ends_with("free cuda:0/0, 2 mul cuda:0/1")),
        "{freed:?}"
    );
    for cure in ["t.record_stream(s);", "c.wait_stream(s);", "s.synchronize();"] {
        none(&format!("{used} {cure} drop(t); let z = x + 1.0; cuda::synchronize();"));
    }
    none("let t = x + 1.0; let y = t * 2.0; drop(t); let z = x + 3.0;");
}

/// It goes back to the side stream, which uses it again only behind what it waits for.
#[test]
fn memory_of_a_side_stream_is_watched_until_it_is_used_again() {
    let made = "let t = with cuda::stream(s) { ones([64, 64], #{device: \"cuda\"}) };
c.wait_stream(s);
let y = t * 2.0;
drop(t);";
    let again = "with cuda::stream(s) { let t = ones([64, 64], #{device: \"cuda\"}); } cuda::synchronize();";
    none(&format!("{made} s.wait_stream(c); {again}"));
    none(&format!("{made} cuda::synchronize();"));
    none(&made.replace("drop(t)", &format!("t.record_stream(c); drop(t); {again}")));
    let found = races(&format!("{made}\n{again}"));
    assert!(
        matches!(&found[..], [race] if race.starts_with("free after use: ") && race.ends_with(" 4 mul cuda:0/0")),
        "{found:?}"
    );
}

/// A loader's batches copied ahead on a stream of their own.
#[test]
fn a_prefetcher_that_orders_itself_is_told_of_nothing() {
    let prefetch = |record: &str| {
        format!(
            "let next = (); let net = nn::Linear(64, 8).cuda(); let opt = optim::SGD(net.parameters(), #{{lr: 0.1}});
            s.wait_stream(c);
            for b in data::DataLoader(rand([40, 64]), #{{batch_size: 8, num_workers: 2, pin_memory: true}}) {{
                let now = next;
                with cuda::stream(s) {{ next = b.to(\"cuda\", #{{non_blocking: true}}); }}
                if now != () {{ opt.zero_grad(); net.forward(now).sum().backward(); opt.step(); }}
                c.wait_stream(s);
                {record}
            }}"
        )
    };
    none(&prefetch("next.record_stream(c);"));
    assert!(!races(&prefetch("")).is_empty(), "without it the copy may write what the network still reads");
}

#[test]
fn a_race_within_a_datasets_function_names_its_line() {
    let body = "let set = data::Dataset(2, |i| {
with cuda::stream(s) {
x.add_(1.0);
}
1
});
for b in data::DataLoader(set) { }
x.mul_(2.0);
cuda::synchronize();";
    assert_eq!(races(body), ["write after write: 9 mul cuda:0/0, 4 add cuda:0/1"]);
    let body = "let f = || {
let b = rand([64, 64], #{device: \"cuda\"});
s.wait_stream(c);
with cuda::stream(s) { let y = b @ b; }
};
f.call();
cuda::synchronize();";
    assert!(races(body)[0].starts_with("free after use: 5 free"), "{:?}", races(body));
}

/// Nothing that a machine with simulated GPUs prints has an address of this process.
#[test]
fn addresses_of_the_hosts_memory_are_the_same_every_time() {
    let code = "let a = rand([64], #{device: \"cuda\"}); let kept = [];
let r = telemetry::record(|| {
    for b in data::DataLoader(rand([8, 64]), #{num_workers: 2, pin_memory: true}) { kept.push(b); }
    let h = a.to(\"cpu\", #{non_blocking: true}); h.sum();
});
r.races.map(|race| race.address) + kept.map(|b| b.data_ptr()) + [rand([4]).data_ptr(), rand([4]).pin_memory().data_ptr()]";
    for devices in ["sim:t4", "sim:t4x2@measured"] {
        let first = on(devices, code);
        let blocks: Vec<Vec<u8>> = (1..8).map(|n| vec![0; n << 20]).collect();
        assert_eq!(on(devices, code), first, "{devices}");
        assert_eq!(blocks.len(), 7);
    }
    let twice = "let a = rand(4); let b = a[2..]; [b.data_ptr() - a.data_ptr(), a.data_ptr() % 64]";
    assert_eq!(on("sim:t4", twice), "[8, 0]");
}

#[test]
fn training_and_several_devices_are_told_of_nothing() {
    none(
        "let net = nn::DataParallel(nn::Sequential(nn::Linear(64, 8), nn::ReLU(), nn::Linear(8, 2)).cuda());
        let opt = optim::Adam(net.parameters(), #{lr: 0.1});
        for i in 0..3 { opt.zero_grad(); checkpoint(|x| net.forward(x), x).sum().backward(); opt.step(); }
        let y = x.to(\"cuda:1\"); let z = y.to(\"cuda:0\", #{non_blocking: true}) + x; z.sum().item();",
    );
    none("let y = x.to(\"cuda:1\"); let own = cuda::Stream(1); own.wait_stream(cuda::current_stream(1));
        let z = with cuda::stream(own) { y.to(\"cuda:0\") }; let w = z + 1.0; cuda::current_stream(1).wait_stream(own); cuda::synchronize();");
    none("let net = nn::Linear(64, 8).cuda(); let opt = optim::SGD(net.parameters(), #{lr: 0.1});
        s.wait_stream(c);
        with cuda::stream(s) { for i in 0..3 { opt.zero_grad(); net.forward(x).sum().backward(); opt.step(); } }
        c.wait_stream(s);
        opt.zero_grad();
        let g = cuda::graph(|| { let loss = net.forward(x).sum(); loss.backward(); opt.step(); loss });
        for i in 0..3 { x.copy_(ones([64, 64], #{device: \"cuda\"})); g.replay(); g.result.item(); }");
}

/// An exchange works on its tensors until it is waited for, on a stream of its own.
#[test]
fn what_an_exchange_still_works_on_is_not_to_be_touched() {
    let ranks = |body: &str| {
        format!(
            "distributed::spawn(|rank, world| {{\ncuda::set_device(rank); let t = ones([64, 64], #{{device: \"cuda\"}}); \n{body}\ncuda::synchronize(); }}, #{{nprocs: 2}});"
        )
    };
    for (body, kind) in [
        (
            "let h = distributed::all_reduce(t, #{async_op: true}); let q = t + 1.0;\nh.wait();",
            "read after write",
        ),
        (
            "let h = distributed::all_reduce(t, #{async_op: true}); t.fill_(3.0);\nh.wait();",
            "write after write",
        ),
        ("let h = distributed::all_gather(t, #{async_op: true}); t.zero_();\nh.wait();", "write after read"),
        // One that is waited for says nothing of a later one.
        (
            "let u = t * 2.0; let a = distributed::all_reduce(t, #{async_op: true}); let b = distributed::all_reduce(u, #{async_op: true}); a.wait(); let q = u + 1.0;\nb.wait();",
            "read after write",
        ),
        (
            "let s = cuda::Stream(); with cuda::stream(s) { t.add_(1.0); }\ndistributed::all_reduce(t);",
            "write after write",
        ),
    ] {
        let found = races(&ranks(body));
        assert!(!found.is_empty() && found.iter().all(|race| race.starts_with(kind)), "{body}: {found:?}");
    }
    for body in [
        "let h = distributed::all_reduce(t, #{async_op: true}); h.wait(); t.add_(1.0);",
        "let h = distributed::broadcast(t, #{src: 0, async_op: true}); h.wait(); let y = t * 2.0; drop(t);",
        "let all = distributed::all_gather(t); drop(t); let u = ones([64, 64], #{device: \"cuda\"}); all[0] + all[1];",
        "let h = distributed::all_gather(t, #{async_op: true}); drop(t); let u = ones([64, 64], #{device: \"cuda\"}); let all = h.wait(); all[0].add_(1.0);",
        "let s = cuda::Stream(); s.wait_stream(cuda::current_stream()); with cuda::stream(s) { t.add_(1.0); distributed::all_reduce(t); t.mul_(2.0); }",
        "let net = nn::parallel::DistributedDataParallel(nn::Linear(64, 64).cuda(), #{device_ids: [rank]}); let opt = optim::SGD(net.parameters(), #{lr: 0.1});
         for i in 0..3 { opt.zero_grad(); net.forward(t).square().mean().backward(); opt.step(); }",
    ] {
        none(&ranks(body));
    }
}

/// Streams that don't wait for each other while a graph is written down.
#[test]
fn an_exchange_that_comes_to_nothing_races_with_nothing() {
    for body in [
        "let x = ones(3 + rank, #{device: rank}); distributed::all_reduce(x);",
        "let x = ones(3, #{device: rank}); if rank == 1 { throw \"no\"; } distributed::all_reduce(x);",
    ] {
        none(&format!(
            "try {{ distributed::spawn(|rank, world| {{ {body} }}, #{{nprocs: 2}}); }} catch {{ }}"
        ));
    }
}

#[test]
fn a_race_in_a_graph_is_told_of_when_it_is_captured() {
    let body = "let g = cuda::graph(|| {
    x.add_(1.0);
    with cuda::stream(s) { x.mul_(2.0); }
});
g.replay(); g.replay(); x.sum().item();";
    assert_eq!(races(body), ["write after write: 4 mul cuda:0/1, 3 add cuda:0/0"]);
    none("let g = cuda::graph(|| { x.add_(1.0); s.wait_stream(c); with cuda::stream(s) { x.mul_(2.0); } c.wait_stream(s); });
        let t = x + 1.0; with cuda::stream(s) { let y = x * 2.0; } cuda::synchronize(); g.replay(); x.sum().item();");
}

#[test]
fn a_race_is_one_event_a_warning_for_its_lines_and_a_figure_for_checks() {
    let machine = machine("sim:t4");
    let seen = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&seen);
    let subscription = machine.bus().read(Arc::new(move |page: &Page| {
        let races = page.iter().filter_map(|event| match &event.body {
            Body::Race { race } => Some((event.source.line, race.clone())),
            _ => None,
        });
        sink.lock().unwrap().extend(races);
    }));
    let code = "let s = cuda::Stream();
for i in 0..3 {
    let x = ones([3, 5], #{device: \"cuda\"});
    with cuda::stream(s) { let y = x.sum(); }
    cuda::synchronize();
}";
    let (_keeps, _) = evaluate(&machine, code).unwrap();
    drop(subscription);
    let seen = seen.lock().unwrap();
    assert_eq!(seen.len(), 3, "each time");
    let (line, race) = &seen[0];
    assert_eq!((*line, race.earlier.line, race.shape.as_slice()), (4, 3, &[3, 5][..]));
    assert_eq!((&*race.op, &*race.earlier_op, race.stream, race.earlier_stream), ("sum", "ones", 1, 0));
    assert!(race.address >= 0x7000_0000_0000);

    let mut lesson = Lesson::new();
    let check = "expect_equal(events.races.len(), 0);";
    let verdict = lesson.attempt(code, check);
    assert!(matches!(verdict, Verdict::Fail { line: Some(4), .. }), "{verdict:?}");
    assert_eq!(
        lesson.attempt(&code.replace("with", "s.wait_stream(cuda::current_stream()); with"), check),
        Verdict::Pass
    );
    let told = "expect(events.races[0].line == 4 && events.races[0].earlier_line == 3 && events.races[0].count == 3);";
    assert_eq!(lesson.attempt(code, told), Verdict::Pass);
}

#[test]
fn the_warning_and_the_summary_name_both_lines() {
    let folder = std::env::temp_dir().join(format!("tensorlab-races-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let script = folder.join("race.rhai");
    let code = "let s = cuda::Stream();\nlet x = ones([3], #{device: \"cuda\"});\nfor i in 0..9 {\nx.add_(1);\nwith cuda::stream(s) { let y = x * 2; } cuda::synchronize(); }";
    std::fs::write(&script, code).unwrap();
    let run = std::process::Command::new(env!("CARGO_BIN_EXE_tensorlab"))
        .args(["run", "--devices", "sim:t4", "--telemetry"])
        .arg(&script)
        .output()
        .unwrap();
    let _ = std::fs::remove_dir_all(&folder);
    let said = String::from_utf8_lossy(&run.stderr);
    assert_eq!(said.matches("warning: race on cuda:0: in line 5, stream 1").count(), 1, "{said}");
    assert!(said.contains("stream 0 of cuda:0 still writes it (line 4, add)"), "{said}");
    assert!(
        said.contains(
            "race              read after write on cuda:0: line 5 (mul) with line 4 (add), 9 times"
        ),
        "{said}"
    );
}

/// `record_stream` keeps the memory from others until the stream is done, by bytes and by address.
#[test]
fn a_recorded_tensors_memory_waits_for_the_stream() {
    let code = |record: &str| {
        format!(
            "let s = cuda::Stream(); let big = zeros([4 << 20], #{{device: \"cuda\"}});
            let t = ones([1 << 20], #{{device: \"cuda\"}}); let at = t.data_ptr();
            s.wait_stream(cuda::current_stream());
            with cuda::stream(s) {{ big.add_(1.0); let y = t * 2.0; }}
            {record} drop(t);
            let held = cuda::memory_allocated(); let active = cuda::memory_stats()[\"active_bytes.all.current\"];
            let early = ones([1 << 20], #{{device: \"cuda\"}}).data_ptr() == at;
            cuda::synchronize();
            [held, active - held, early, ones([1 << 20], #{{device: \"cuda\"}}).data_ptr() == at]"
        )
    };
    let big = 4 << 22;
    assert_eq!(on("sim:t4", &code("")), format!("[{big}, 0, true, true]"));
    assert_eq!(on("sim:t4", &code("t.record_stream(s);")), format!("[{big}, {}, false, true]", 1 << 22));
    let own = code("t.record_stream(cuda::current_stream());");
    assert_eq!(on("sim:t4", &own), format!("[{big}, 0, true, true]"), "its own stream need not be recorded");
}

#[test]
fn mistakes_with_record_stream() {
    mistakes(
        "sim:t4x2",
        &[
            ("ones(2).record_stream(cuda::Stream())", "RuntimeError", "Could not run 'aten::record_stream'"),
            (
                "ones(2).cuda().record_stream(cuda::Stream(1))",
                "RuntimeError",
                "record_stream(): the tensor is on cuda:0",
            ),
            ("ones(2).cuda().record_stream(1)", "TypeError", "record_stream(): argument 's'"),
        ],
    );
}
