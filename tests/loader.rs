//! Loaders: PyTorch's orders and errors, workers that come and go, page-locked batches.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::Value;
use tensorlab::device::Machine;
use tensorlab::script::engine::Stopped;
use tensorlab::script::{Interpreter, Limits, Origin, Silent};

use crate::nn::Lab;

fn recorded() -> Value {
    serde_json::from_str(include_str!("golden/loader.json")).unwrap()
}

/// A value printed as JSON.
fn json(lab: &mut Lab, code: &str) -> Value {
    let text = lab.text(&format!("({code}).to_json()"));
    serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e}: {text}"))
}

fn close(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| close(a, b)),
        (a, b) => (a.as_f64().unwrap() - b.as_f64().unwrap()).abs() < 1e-7,
    }
}

#[test]
fn orders_are_those_of_pytorch() {
    for order in recorded()["orders"].as_array().unwrap() {
        let (data, options, want) = (order[0].as_str().unwrap(), order[1].as_str().unwrap(), &order[2]);
        let mut lab = Lab::new();
        lab.run(&format!("manual_seed(5); let loader = data::DataLoader({data}, {options}); let all = [];"));
        let list = "if type_of(b) == \"array\" { b[0].tolist() } else { b.tolist() }";
        if data.contains("40000") {
            let got = lab.value("(next(iter(loader)).double() * arange(40000).double()).sum().item()");
            assert_eq!(got.as_float().unwrap() % 1_000_003.0, want[0].as_f64().unwrap());
            continue;
        }
        lab.run(&format!(
            "for e in 0..2 {{ let epoch = []; for b in loader {{ epoch.push({list}); }}
             all.push(epoch); all.push(rand(1).item()); }}"
        ));
        let got = json(&mut lab, "#{all: all}")["all"].clone();
        assert!(close(&got, want), "{data} {options}\n{got}\n{want}");
    }
}

/// Whatever gives the items, and however often the loop's body was empty before.
#[test]
fn an_error_of_an_item_ends_a_loop_with_nothing_in_it() {
    let setup =
        "let broken = data::Dataset(6, |i| if i == 4 { throw \"no such sample\" } else { tensor(i) });
                 let full = data::Dataset(2, |i| ones([1 << 40], #{device: \"cuda\"}));
                 fn through(items) { for b in items { } 1 }";
    for (items, error) in [
        ("data::DataLoader(broken)", "no such sample"),
        ("data::DataLoader(broken, #{num_workers: 2})", "no such sample"),
        ("progress(data::DataLoader(broken, #{num_workers: 1}))", "no such sample"),
        ("iter(data::DataLoader(broken))", "no such sample"),
        ("broken", "no such sample"),
        ("data::DataLoader(full)", "out of memory"),
        ("data::DataLoader(full, #{num_workers: 2})", "Cannot re-initialize CUDA in forked subprocess"),
    ] {
        let mut lab = Lab::on("sim:t4");
        lab.run(setup);
        for code in [
            format!("for b in {items} {{ }}"),
            format!("time(|| {{ for (b, i) in {items} {{ }} }})"),
            format!("through({items})"),
            format!("if true {{ for b in {items} {{ /* nothing */ }} }}"),
        ] {
            let (text, _) = lab.error(&code);
            assert!(text.contains(error), "{code}: {text}");
        }
    }
    let mut lab = Lab::new();
    lab.run(setup);
    let caught = "let got = 0; try { for b in broken { } } catch (e) { got = 1; } for b in 0..3 { } got";
    assert_eq!(lab.value(caught).as_int().unwrap(), 1);
    let (text, _) = Lab::on("sim:t4").error(
        "let x = rand(4, #{device: \"cuda\"}); let set = data::Dataset(4, |i| x.sum().item());
         let g = cuda::graph(|| { for b in data::DataLoader(set) { } });",
    );
    assert!(text.contains("not permitted when stream is capturing"), "{text}");
}

/// As PyTorch's workers, which are processes: each counts for itself, and the script sees none of it.
#[test]
fn workers_have_copies_of_what_functions_use() {
    let mut lab = Lab::new();
    lab.run(
        "let n = 0; let seen = []; let hist = zeros(2); let view = hist[0];
         let counted = data::Dataset(8, |i| { n += 1; hist[0] += 1.0; view += 1.0; [n, hist[0].item()] });
         for b in data::DataLoader(counted, #{num_workers: 2}) { seen.push([b[0].item(), b[1].item()]); }",
    );
    let got = json(&mut lab, "#{seen: seen, n: n, hist: hist.tolist()}");
    let want = "[[1,2.0],[1,2.0],[2,4.0],[2,4.0],[3,6.0],[3,6.0],[4,8.0],[4,8.0]]";
    assert_eq!((got["seen"].to_string().as_str(), got["n"].to_string().as_str()), (want, "0"));
    assert_eq!(got["hist"].to_string(), "[0.0,0.0]");
    // The same with workers that stay, which go on from where they were; what the script writes is its own.
    lab.run(
        "let seen = []; let c = 0; let big = zeros([300, 300]);
         let kept = data::Dataset(4, |i| { c += 1; c + big.sum().item() });
         let loader = data::DataLoader(kept, #{num_workers: 2, persistent_workers: true});
         for e in 0..2 { for b in loader { seen.push(b.item()); big += 1.0; } }",
    );
    let got = json(&mut lab, "#{seen: seen, c: c, big: big.sum().item()}");
    assert_eq!(got.to_string(), "{\"big\":720000.0,\"c\":0,\"seen\":[1.0,1.0,2.0,2.0,3.0,3.0,4.0,4.0]}");
    // What prepares a worker, its samples and its batches see one another; without workers the script does.
    for (workers, want) in [(1, "[0,[5,2],[5,3]]"), (0, "[2,[],[1,2]]")] {
        lab.run(&format!(
            "let state = []; let got = [];
             let from = data::Dataset(2, |i| if state.len() > 0 {{ state[0] }} else {{ [] }});
             let loader = data::DataLoader(from, #{{
                 num_workers: {workers}, worker_init_fn: |w| {{ state.push(5); }},
                 collate_fn: |s| {{ state.push(1); if s[0] == [] {{ [] }} else {{ [s[0], state.len()] }} }},
             }});
             for b in loader {{ got.push(b); }}"
        ));
        let got = json(&mut lab, "#{all: [state.len(), got[0], got[1]]}")["all"].to_string();
        assert_eq!(got, want, "{workers} workers");
    }
}

#[test]
fn times_of_workers_that_count_repeat() {
    let code = "let n = 0; let all = data::Dataset(40, |i| { n += 1; if n % 3 == 0 { sleep(0.01); } i });
                for b in data::DataLoader(all, #{batch_size: 2, num_workers: 2}) { }";
    let time = || Lab::on("sim:t4").value(&format!("{code} timestamp()")).to_string();
    let first = time();
    for _ in 0..5 {
        assert_eq!(time(), first);
    }
}

/// A dataset in memory is not copied for each worker that reads it, but for one that writes, with all its views.
#[test]
fn memory_that_workers_read_is_not_copied() {
    for (body, want) in [("", "[true,true]"), ("part[0] = 2.0;", "[false,true]")] {
        let mut lab = Lab::new();
        lab.run(&format!(
            "let big = ones([1024, 1024]); let part = big[3]; let all = []; let here = big.data_ptr();
             let set = data::Dataset(2, |i| {{ {body} [big.data_ptr() == here, big[3].equal(part)] }});
             for b in data::DataLoader(set, #{{num_workers: 1, batch_size: ()}}) {{ all.push(b); }}"
        ));
        assert_eq!(json(&mut lab, "#{all: all[1]}")["all"].to_string(), want, "{body}");
        assert_eq!(json(&mut lab, "#{sum: big.sum().item()}")["sum"].to_string(), "1048576.0");
    }
}

#[test]
fn workers_draw_what_pytorch_s_workers_draw() {
    for (workers, want) in [0, 1, 3].into_iter().zip(recorded()["noisy"].as_array().unwrap()) {
        let mut lab = Lab::new();
        lab.run(&format!(
            "manual_seed(5); let all = []; let noisy = data::Dataset(11, |i| [tensor(i), rand([])]);
             for b in data::DataLoader(noisy, #{{batch_size: 2, num_workers: {workers}}}) {{
                 all.push([b[0].tolist(), b[1].tolist()]);
             }}"
        ));
        let got = json(&mut lab, "#{all: all}")["all"].clone();
        assert!(close(&got, want), "{workers} workers\n{got}\n{want}");
    }
}

/// Three epochs, the second left after two batches; from `DataLoader(…, persistent_workers=True)` after seed 5.
#[test]
fn workers_that_persist_draw_on_where_they_were() {
    let cases = [
        (
            1,
            "[[[0,3],[0.710601,0.348306]],[[6,2],[0.638756,0.655748]],[[1,4],[0.11608,0.622262]],[[5],[0.386763]],\
             [[2,4],[0.106095,0.152345]],[[1,5],[0.2534,0.631284]],[[1,2],[0.947642,0.784316]],\
             [[5,3],[0.588074,0.354472]],[[6,4],[0.335201,0.090901]],[[0],[0.775622]]]",
        ),
        (
            2,
            "[[[0,3],[0.710601,0.348306]],[[6,2],[0.290519,0.585715]],[[1,4],[0.638756,0.655748]],[[5],[0.293527]],\
             [[2,4],[0.11608,0.622262]],[[1,5],[0.288264,0.038328]],[[1,2],[0.152345,0.2534]],\
             [[5,3],[0.984039,0.729433]],[[6,4],[0.631284,0.969897]],[[0],[0.05154]]]",
        ),
    ];
    for (workers, want) in cases {
        let mut lab = Lab::new();
        lab.run(&format!(
            "manual_seed(5); let all = []; let noisy = data::Dataset(7, |i| [tensor(i), rand([])]);
             let loader = data::DataLoader(noisy, #{{
                 batch_size: 2, shuffle: true, num_workers: {workers}, persistent_workers: true,
             }});
             for e in 0..3 {{
                 let k = 0;
                 for b in loader {{
                     all.push([b[0].tolist(), b[1].tolist()]);
                     k += 1;
                     if e == 1 && k == 2 {{ break; }}
                 }}
             }}"
        ));
        let got = json(&mut lab, "#{all: all}")["all"].clone();
        let want: Value = serde_json::from_str(want).unwrap();
        let (got, want) = (got.as_array().unwrap(), want.as_array().unwrap());
        assert_eq!(got.len(), want.len());
        for (a, b) in got.iter().zip(want) {
            let flat = |v: &Value| -> Vec<f64> {
                v.as_array()
                    .unwrap()
                    .iter()
                    .flat_map(|p| p.as_array().unwrap())
                    .map(|x| x.as_f64().unwrap())
                    .collect()
            };
            assert!(
                flat(a).iter().zip(flat(b)).all(|(a, b)| (a - b).abs() < 1e-6),
                "{workers}: {a}, not {b}"
            );
        }
        assert!((lab.float("rand(1).item()") - 0.033_264_636_993_408_2).abs() < 1e-7);
    }
}

#[test]
fn workers_that_persist_report_errors_and_end_with_the_loader() {
    let mut lab = Lab::new();
    lab.run(
        "let broken = data::Dataset(6, |i| if i == 4 { throw \"no such sample\" } else { tensor(i) });
         let loader = data::DataLoader(broken, #{batch_size: 2, num_workers: 2, persistent_workers: true});",
    );
    // An epoch that fails does not keep the next from failing in the same way.
    for _ in 0..2 {
        let (error, _) = lab.error("let n = 0; for b in loader { n += 1; }");
        assert!(error.contains("DataLoader worker process 0") && error.contains("no such sample"), "{error}");
        assert!(error.contains("sample 4"), "{error}");
    }
    let threads = || {
        std::fs::read_dir("/proc/self/task").map_or(0, |all| {
            let name =
                |t: std::fs::DirEntry| std::fs::read_to_string(t.path().join("comm")).unwrap_or_default();
            all.flatten().map(name).filter(|n| n.starts_with("loader-91")).count()
        })
    };
    // So many workers that no other test has one of this name.
    lab.run("let wide = data::DataLoader(arange(200), #{num_workers: 92, persistent_workers: true}); next(iter(wide));");
    if cfg!(target_os = "linux") {
        assert_eq!(threads(), 1);
    }
    lab.run("for b in wide {} drop(wide);");
    assert_eq!(threads(), 0);
    for (code, want) in [
        (
            "data::DataLoader(arange(4), #{persistent_workers: true})",
            "persistent_workers option needs num_workers > 0",
        ),
        (
            "let l = data::DataLoader(arange(4), #{num_workers: 1, persistent_workers: true});
             let a = iter(l); next(a); let b = iter(l); next(b); next(a)",
            "this epoch ended when its loader, whose workers persist, began another one",
        ),
    ] {
        let (error, _) = lab.error(code);
        assert!(error.contains(want), "{code}\n{error}");
    }
}

#[test]
fn splits_are_those_of_pytorch() {
    for split in recorded()["splits"].as_array().unwrap() {
        let (lengths, want) = (split[0].as_str().unwrap(), &split[1]);
        let total: usize = want.as_array().unwrap().iter().map(|p| p.as_array().unwrap().len()).sum();
        let mut lab = Lab::new();
        lab.run(&format!(
            "manual_seed(5); let parts = data::random_split(arange({total}), {lengths});
             let all = []; for p in parts {{ let one = []; for x in p {{ one.push(x.item()); }} all.push(one); }}"
        ));
        assert_eq!(&json(&mut lab, "#{all: all}")["all"], want, "{lengths}");
    }
}

#[test]
fn errors_and_reports_are_those_of_pytorch() {
    let record = recorded();
    let mut lab = Lab::new();
    lab.run(
        "let make = || nn::Sequential(nn::Linear(3, 2), nn::BatchNorm1d(2));
         let net = make.call();
         let sgd = optim::SGD(net.parameters(), #{lr: 0.1});
         let two = optim::SGD([#{params: net[0].parameters()}, #{params: net[1].parameters()}], #{lr: 0.1});
         let short = optim::SGD(net[0].parameters(), #{lr: 0.1});",
    );
    for error in record["errors"].as_array().unwrap() {
        let (code, kind, text) = (&error[0], &error[1], error[2].as_str().unwrap());
        let (got, _) = lab.error(code.as_str().unwrap());
        let want = format!("{}: {}", kind.as_str().unwrap(), text.trim_end());
        assert!(got.starts_with(&want), "{code}\n{got}\n{want}");
    }
    for report in record["reports"].as_array().unwrap() {
        assert_eq!(lab.text(report[0].as_str().unwrap()), report[1].as_str().unwrap());
    }
}

/// Threads of this process whose name starts so.
#[cfg(target_os = "linux")]
fn threads(name: &str) -> usize {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    let names = tasks.filter_map(|t| std::fs::read_to_string(t.ok()?.path().join("comm")).ok());
    names.filter(|n| n.starts_with(name)).count()
}

/// Tests of threads run one at a time: they count them.
#[cfg(target_os = "linux")]
static COUNTED: std::sync::Mutex<()> = std::sync::Mutex::new(());

#[cfg(target_os = "linux")]
fn alone() -> std::sync::MutexGuard<'static, ()> {
    COUNTED.lock().unwrap_or_else(|e| e.into_inner())
}

// Ten workers, so that there is one called `loader-9`, which no other test has.
#[cfg(target_os = "linux")]
#[test]
fn leaving_a_loop_or_dropping_an_iterator_ends_the_workers() {
    let _alone = alone();
    let mut lab = Lab::new();
    lab.run(
        "let d = data::Dataset(1000, |i| tensor(i));
         let loader = data::DataLoader(d, #{num_workers: 10, prefetch_factor: 4});
         let seen = 0; for b in loader { seen += 1; if seen == 3 { break; } }",
    );
    assert_eq!(threads("loader-9"), 0);
    lab.run("let it = iter(loader); let first = next(it);");
    // A thread names itself once it runs.
    let start = Instant::now();
    while threads("loader-9") == 0 && start.elapsed() < Duration::from_secs(10) {
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(threads("loader-9"), 1);
    assert_eq!(lab.numbers("first"), [0.0]);
    lab.run("drop(it);");
    assert_eq!(threads("loader-9"), 0);
    lab.run("let it = iter(data::DataLoader(arange(3), #{num_workers: 10})); next(it); next(it); next(it);");
    assert_eq!(threads("loader-9"), 0, "an epoch that is over needs no workers");
    assert!(lab.error("next(it)").0.contains("StopIteration"));
}

#[cfg(target_os = "linux")]
#[test]
fn a_worker_that_fails_names_the_sample_and_stops_the_others() {
    let _alone = alone();
    for workers in [0, 10] {
        let mut lab = Lab::new();
        lab.run(&format!(
            "let seen = []; let d = data::Dataset(100000, |i| {{
                 if i == 57 {{ ones(2) + ones(3) }} else {{ tensor(i) }}
             }});
             let loader = data::DataLoader(d, #{{batch_size: 4, num_workers: {workers}}});"
        ));
        let (text, _) = lab.error("for b in loader { seen.push(b[0].item()); }");
        assert!(
            text.contains("must match the size of tensor b") && text.contains("while loading sample 57"),
            "{text}"
        );
        assert_eq!(
            text.contains("Caught RuntimeError in DataLoader worker process 4.\n"),
            workers > 0,
            "{text}"
        );
        assert_eq!(lab.value("seen.len()").as_int().unwrap(), 14);
        assert_eq!(threads("loader-9"), 0);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn an_interrupt_ends_the_workers_and_leaves_the_variables() {
    let _alone = alone();
    let mut session = Interpreter::new(Machine::cpu_only(), Arc::new(Silent), &Limits::default());
    let run = |session: &mut Interpreter, code: &str| {
        session.evaluate(1, &Origin { name: "test", code, first_line: 1 })
    };
    let _ = run(
        &mut session,
        "let seen = []; let d = data::Dataset(1000, |i| { if i > 40 { while true { i += 1; } } tensor(i) });
         let loader = data::DataLoader(d, #{batch_size: 4, num_workers: 10});",
    )
    .unwrap();
    let shared = Arc::clone(&session.machine().shared);
    let interrupt = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(400));
        shared.cancel.interrupt();
    });
    let start = Instant::now();
    let ended = run(&mut session, "for b in loader { seen.push(b.sum().item()); }");
    interrupt.join().unwrap();
    assert!(matches!(ended, Err(Stopped::Cancelled(_))), "{ended:?}");
    assert!(start.elapsed() < Duration::from_secs(10));
    assert_eq!(threads("loader-9"), 0);
    session.machine().shared.cancel.clear();
    let seen = run(&mut session, "seen.len()").unwrap().as_int().unwrap();
    assert!((1..=10).contains(&seen), "{seen}");
    assert!(run(&mut session, "next(iter(data::DataLoader(arange(8), #{num_workers: 2})))").is_ok());
}

#[cfg(target_os = "linux")]
#[test]
fn workers_fetch_ahead_as_far_as_they_may() {
    let _alone = alone();
    // Of a GPU's host, whose page-locked memory is one for all.
    let mut lab = Lab::on("sim:t4");
    // Each fetch leaves a mark; the first batch is taken, and with it there are so many more under way.
    lab.run(
        "let marks = zeros(100).pin_memory(); let d = data::Dataset(100, |i| { marks[i] = 1.0; tensor(i) });
         let it = iter(data::DataLoader(d, #{batch_size: 2, num_workers: 2, prefetch_factor: 3})); next(it);",
    );
    let start = Instant::now();
    let wanted = 14.0; // one batch taken and six ahead, of two samples each
    while lab.float("marks.sum().item()") < wanted && start.elapsed() < Duration::from_secs(10) {
        std::thread::sleep(Duration::from_millis(10));
    }
    std::thread::sleep(Duration::from_millis(100));
    assert_eq!(lab.float("marks.sum().item()"), wanted);
}

#[test]
fn batches_are_the_same_with_and_without_workers() {
    let mut lab = Lab::new();
    lab.run("let d = data::digits(); let all = [];");
    for workers in [0, 1, 4] {
        lab.run(&format!(
            "manual_seed(1); let loader = data::DataLoader(data::TensorDataset(d.x_train, d.y_train),
                 #{{batch_size: 100, shuffle: true, num_workers: {workers}}});
             let xs = []; let ys = []; for b in loader {{ xs.push(b[0]); ys.push(b[1]); }}
             all.push([cat(xs), cat(ys)]);"
        ));
    }
    assert!(
        lab.truth("all[0][0].equal(all[1][0]) && all[0][0].equal(all[2][0]) && all[0][1].equal(all[2][1])")
    );
    assert!(lab.truth("all[0][0].shape == [1437, 64] && !all[0][1].equal(d.y_train)"));
}

#[test]
fn pinned_batches_are_copied_without_holding_the_host() {
    for workers in [0, 2] {
        let mut lab = Lab::on("sim:t4x2");
        lab.run(&format!(
            "let d = data::TensorDataset(rand(64, 8), arange(64));
             let loader = data::DataLoader(d, #{{batch_size: 16, pin_memory: true, num_workers: {workers}}});
             let pinned = true;
             let r = telemetry::record(|| for b in loader {{
                 pinned = pinned && b[0].is_pinned() && b[1].is_pinned();
                 let x = b[0].to(\"cuda\", #{{non_blocking: true}}); let y = b[1].cuda();
             }});
             let plain = telemetry::record(|| for b in data::DataLoader(d, #{{batch_size: 16}}) {{ b[0].to(\"cuda\", #{{non_blocking: true}}); }});"
        ));
        assert!(lab.truth("pinned"));
        assert_eq!(lab.text("[r.h2d.count, r.h2d.pinned, r.h2d.bytes].to_string()"), "[8, 8, 2560]");
        assert_eq!(lab.text("[plain.h2d.count, plain.h2d.pinned].to_string()"), "[4, 0]");
    }
    // Without a GPU there is nothing to copy to, and the same script runs.
    let mut lab = Lab::new();
    assert!(lab.truth("!next(iter(data::DataLoader(ones(4), #{pin_memory: true}))).is_pinned()"));
}

#[test]
fn non_blocking_shows_in_the_events() {
    use tensorlab::base::event::{Body, Page};
    let machine =
        Machine::open(&"sim:t4".parse().unwrap(), tensorlab::device::open::Use::Headless).unwrap().machine;
    let copies = Arc::new(std::sync::Mutex::new(Vec::new()));
    let sink = Arc::clone(&copies);
    let listening = machine.bus().read(Arc::new(move |page: &Page| {
        for e in page.iter() {
            if let Body::Copy { pinned, blocking, .. } = e.body {
                sink.lock().unwrap().push((pinned, blocking));
            }
        }
    }));
    let mut session = Interpreter::new(machine, Arc::new(Silent), &Limits::default());
    let code =
        "for b in data::DataLoader(rand(4, 1000), #{batch_size: 2, pin_memory: true, num_workers: 1}) {
        b.to(\"cuda\", #{non_blocking: true}); } rand(4).to(\"cuda\");";
    let _ = session.evaluate(1, &Origin { name: "test", code, first_line: 1 }).unwrap();
    drop(listening);
    assert_eq!(*copies.lock().unwrap(), [(true, false), (true, false), (false, true)]);
}

#[test]
fn datasets_of_every_kind() {
    let mut lab = Lab::new();
    lab.run(
        "let maps = data::DataLoader(data::Dataset(5, |i| #{x: ones(2) * i, y: i, name: `n${i}`}), #{batch_size: 3});
         let map = next(iter(maps));
         let own_map = #{len: || 4, get: |i| i * 10};
         let keyed = next(iter(data::DataLoader(own_map, #{batch_size: 4, num_workers: 1})));
         let list = next(iter(data::DataLoader([1.5, 2, 3], #{batch_size: 2})));
         let rows = next(iter(data::DataLoader(arange(6).reshape([3, 2]), #{batch_size: 2})));
         let subset = data::Subset(data::TensorDataset(arange(10), arange(10) * 2), [-1, 0]);
         let sub = next(iter(data::DataLoader(subset, #{batch_size: 2})));
         let own = next(iter(data::DataLoader([1, 2, 3], #{batch_size: 3, collate_fn: |s| s.len() * 100, num_workers: 1})));
         let bare = []; for s in data::DataLoader([7, \"x\"], #{batch_size: ()}) { bare.push(s); }
         fn square(i) { tensor(i * i) }
         let called = next(iter(data::DataLoader(data::Dataset(3, |i| square(i)), #{batch_size: 3, num_workers: 2})));",
    );
    assert_eq!(lab.text("map.x.shape.to_string()"), "[3, 2]");
    assert_eq!(lab.text("[map.y.tolist(), map.name].to_string()"), "[[0, 1, 2], [\"n0\", \"n1\", \"n2\"]]");
    assert_eq!(lab.numbers("keyed"), [0.0, 10.0, 20.0, 30.0]);
    assert!(lab.truth("list.dtype == float64") && lab.numbers("rows") == [0.0, 1.0, 2.0, 3.0]);
    assert_eq!(lab.text("sub.to_string()"), "[tensor([9, 0]), tensor([18,  0])]");
    assert_eq!(lab.text("[own, bare, called].to_string()"), "[300, [7, \"x\"], tensor([0, 1, 4])]");
    assert_eq!(lab.text("[maps.len(), len(subset), subset.len()].to_string()"), "[2, 2, 2]");
    assert_eq!(lab.text("maps.to_string()"), "DataLoader(Dataset, batch_size=3, 2 batches)");
    for (code, words) in [
        ("data::DataLoader(3)", "a dataset is expected, but got int"),
        ("data::DataLoader(arange(3), #{bach_size: 2})", "unknown option 'bach_size'"),
        ("data::DataLoader(arange(3), #{batch_size: 2.5})", "'batch_size' must be a count"),
        ("data::DataLoader(arange(3), #{sampler: [3]})", "IndexError: the sampler's index 3"),
        ("data::Dataset(3, 4)", "must be a function"),
        ("data::DataLoader(#{len: -1, get: |i| i})", "'len' must be a count"),
        ("data::DataLoader(#{length: 1})", "a dataset is expected, but got map"),
        ("data::Subset(arange(3), [5])", "IndexError: index 5 is out of bounds"),
        ("subset[2]", "IndexError: index 2 is out of bounds"),
    ] {
        let (text, _) = lab.error(code);
        assert!(text.contains(words), "{code}\n{text}");
    }
}

#[test]
fn functions_that_call_themselves_without_end_are_an_error() {
    // With the stack that a session evaluates on.
    let deep = || {
        let mut lab = Lab::new();
        for workers in [0, 1] {
            let options = format!("#{{num_workers: {workers}}}");
            lab.run(&format!(
                "fn f(i) {{ next(iter(data::DataLoader(data::Dataset(1, |j| f(j)), {options}))) }}"
            ));
            let (text, _) = lab.error("f(0)");
            assert!(text.contains("RecursionError") && text.len() < 8000, "{} bytes: {text}", text.len());
            lab.run("fn g(i) { g(i + 1) }");
            let code = format!("next(iter(data::DataLoader(data::Dataset(1, |j| g(j)), {options})))");
            let (text, _) = lab.error(&code);
            assert!(text.contains("RecursionError"), "{text}");
        }
    };
    std::thread::Builder::new().stack_size(64 << 20).spawn(deep).unwrap().join().unwrap();
}

/// A dataset with a bug.
struct Broken;

impl tensorlab::data::Dataset for Broken {
    fn name(&self) -> &'static str {
        "Broken"
    }

    fn len(&self) -> usize {
        10
    }

    fn get(&self, index: usize) -> tensorlab::base::Result<tensorlab::op::Value> {
        assert!(index < 4, "this panic is part of a test");
        Ok(tensorlab::op::Value::Scalar((index as i64).into()))
    }
}

#[test]
fn a_worker_that_is_gone_is_noticed() {
    use tensorlab::data::{Data, DataLoader, LoaderOptions};
    let _here = Machine::cpu_only().enter();
    let options = LoaderOptions { num_workers: 2, batch_size: Some(2), ..LoaderOptions::default() };
    let mut epoch = DataLoader::new(Data::new(Broken), options).unwrap().iter().unwrap();
    assert!(epoch.next().unwrap().is_ok() && epoch.next().unwrap().is_ok());
    let error = epoch.next().unwrap().unwrap_err();
    assert_eq!(error.message(), "DataLoader worker 0 exited unexpectedly");
    assert!(epoch.next().is_none());
}

#[test]
fn progress_goes_through_a_loader() {
    let mut lab = Lab::new();
    lab.run("let sum = 0; for b in progress(data::DataLoader(arange(10), #{batch_size: 4}), \"x\") { sum += b.sum().item(); }");
    assert_eq!(lab.value("sum").as_int().unwrap(), 45);
}

#[test]
fn csv_files_are_read_with_their_options() {
    let here = crate::files::Folder::new("csv");
    std::fs::write(here.path("a.csv"), "# note\nx;y\n1;2\n3;4\n").unwrap();
    let mut lab = Lab::new();
    let file = here.text("a.csv");
    assert_eq!(
        lab.text(&format!(
            "data::csv(\"{file}\", #{{delimiter: \";\", skiprows: 1, dtype: int64}}).tolist().to_string()"
        )),
        "[[1, 2], [3, 4]]"
    );
    for (options, words) in [
        ("#{delimiter: \";;\"}", "delimiter must be one character"),
        ("#{delimter: \";\"}", "unknown option 'delimter'"),
        ("#{dtype: bool}", "float32, float64 or int64"),
        ("#{skiprows: 1}", ":3: column 1 is not a number: '1;2'"),
    ] {
        let (text, _) = lab.error(&format!("data::csv(\"{file}\", {options})"));
        assert!(text.contains(words), "{text}");
    }
}

#[test]
fn a_file_of_text_is_read_whole() {
    let here = crate::files::Folder::new("text");
    std::fs::write(here.path("a.txt"), "Zeile 1\r\nünf\rc").unwrap();
    std::fs::write(here.path("b.txt"), b"ab\xff").unwrap();
    std::fs::write(here.path("large.txt"), vec![b'a'; (16 << 20) + 1]).unwrap();
    let mut lab = Lab::new();
    lab.run(&format!("let t = data::text(\"{}\");", here.text("a.txt")));
    assert_eq!(lab.text("t.split(\"\\n\")"), "[\"Zeile 1\", \"ünf\", \"c\"]");
    for (file, words) in [
        ("b.txt", "what begins at byte 2 is no UTF-8"),
        ("large.txt", "more than 16777216 bytes"),
        ("none.txt", "No such file"),
        ("", "it is no regular file"),
    ] {
        let (text, _) = lab.error(&format!("data::text(\"{}\")", here.text(file)));
        assert!(text.contains(words), "{file}: {text}");
    }
}

#[test]
fn workers_are_prepared_and_waited_for_as_long_as_one_asks() {
    let mut lab = Lab::new();
    // What a worker draws while it is prepared moves its generator on.
    lab.run(
        "let d = data::Dataset(4, |i| rand([])); let seen = [];
         for plain in [true, false] {
             manual_seed(3);
             let options = #{num_workers: 2};
             if !plain { options.worker_init_fn = |worker| { for i in 0..worker { rand([]); } } }
             let all = []; for b in data::DataLoader(d, options) { all.push(b.item()) } seen.push(all);
         }",
    );
    assert!(lab.truth("seen[0][0] == seen[1][0] && seen[0][1] != seen[1][1] && seen[0][3] == seen[1][1]"));
    let (text, _) = lab.error(
        "for b in data::DataLoader(d, #{num_workers: 1, worker_init_fn: |worker| throw \"no licence\"}) { b; }",
    );
    assert!(text.contains("in DataLoader worker process 0") && text.contains("no licence"), "{text}");
    let slow = "data::Dataset(1, |i| { let n = 0; for k in 0..200000 { n += k; } tensor(n) })";
    let (text, _) = lab
        .error(&format!("for b in data::DataLoader({slow}, #{{num_workers: 1, timeout: 0.0005}}) {{ b; }}"));
    assert_eq!(text, "RuntimeError: DataLoader timed out after 0.0005 seconds");
    // Samplers are drawn anew for each epoch, and print what they are.
    lab.run("let s = data::RandomSampler(arange(50)); let a = []; for i in s { a.push(i) } let b = []; for i in s { b.push(i) }");
    assert!(lab.truth("a != b && a.len() == 50"));
    assert_eq!(lab.text("s"), "RandomSampler(50 indices)");
    let (text, hint) =
        lab.error("data::DataLoader(arange(3), #{sampler: data::BatchSampler([0], 1, false)})");
    assert!(text.contains("gives batches") && hint.contains("batch_sampler"), "{text} {hint}");
    let (text, _) =
        lab.error("for b in data::DataLoader(arange(3), #{sampler: data::RandomSampler(arange(9))}) { b; }");
    assert!(text.contains("out of bounds for a dataset of 3 samples"), "{text}");
    let (_, hint) = lab.error("data::DataLoader(arange(3), #{batch_sampller: [[0]]})");
    assert!(hint.contains("`batch_sampler`"), "{hint}");
}

/// What a script prints and is warned of.
#[derive(Default)]
struct Told(std::sync::Mutex<Vec<String>>);

impl tensorlab::script::Host for Told {
    fn print(&self, _: &str) {}
    fn warn(&self, text: &str) {
        self.0.lock().unwrap().push(text.into());
    }
    fn figure(&self, _: &tensorlab::plot::Figure, _: Option<&str>) {}
    fn progress(&self, label: &str, done: u64, total: Option<u64>, note: &str) {
        if total == Some(done) {
            self.0.lock().unwrap().push(format!("{label} {note}"));
        }
    }
}

fn told(devices: &str, code: &str) -> Vec<String> {
    let host = Arc::new(Told::default());
    let mut script = Interpreter::new(
        crate::parallel::machine(devices),
        Arc::clone(&host) as Arc<dyn tensorlab::script::Host>,
        &Limits::default(),
    );
    let _ = script.evaluate(1, &Origin { name: "test", code, first_line: 1 }).unwrap();
    std::mem::take(&mut *host.0.lock().unwrap())
}

#[test]
fn more_workers_than_cores_are_warned_of_once() {
    let code = "let set = data::Dataset(4, |i| i); let loader = data::DataLoader(set, #{num_workers: 4});
                for e in 0..2 { for b in loader { } }";
    assert_eq!(
        told("sim:t4", code),
        [
            "This DataLoader will create 4 worker processes in total. Our suggested max number of worker in current \
          system is 2, which is smaller than what this DataLoader is going to create. Please be aware that excessive \
          worker creation might get DataLoader running slow or even freeze, lower the worker number to avoid potential \
          slowness/freeze if necessary."
        ]
    );
    assert!(told("sim:t4@workstation", code).is_empty());
    assert!(told("sim:t4", &code.replace("num_workers: 4", "num_workers: 2")).is_empty());
    let here = std::thread::available_parallelism().unwrap().get();
    let more = code.replace("num_workers: 4", &format!("num_workers: {}", here + 1));
    assert!(told("cpu", &more)[0].contains(&format!("in current system is {here}, ")));
}

/// PyTorch warns of it in a line of its own, which Python's filter lets through once.
#[test]
fn loaders_of_several_lines_warn_of_many_workers_once() {
    let set = "let set = data::Dataset(4, |i| i);";
    let loader = "let loader = data::DataLoader(set, #{num_workers: 4});";
    let many = told("sim:t4", &format!("{set}\n{loader}\n{loader}\nfor i in 0..3 {{ {loader} }}"));
    assert_eq!(many.len(), 1, "{many:?}");
    let other = loader.replace('4', "5");
    let two = told("sim:t4", &format!("{set}\n{loader}\n{other}\n{loader}"));
    assert_eq!(two.len(), 2, "another number is another text: {two:?}");
    let unpinned = "for b in data::DataLoader(arange(2), #{pin_memory: true}) { }";
    assert_eq!(told("cpu", &format!("{unpinned}\n{unpinned}")).len(), 1);
}

#[test]
fn progress_says_what_it_took_on_a_modelled_clock() {
    let code = "for i in progress(0..3, \"going\") { sleep(0.001); }";
    let said = told("sim:t4", code);
    assert!(
        said.len() == 1 && said[0].starts_with("going 3.0") && said[0].ends_with("ms modelled"),
        "{said:?}"
    );
    assert_eq!(told("sim:t4", code), said);
    assert_eq!(told("cpu", code), ["going "], "measured by who shows it");
}

#[test]
fn a_run_tells_which_loaders_gave_how_many_batches() {
    let mut lab = Lab::on("sim:t4");
    lab.run(
        "let seen = telemetry::record(|| {
             let aside = data::DataLoader(arange(4), #{num_workers: 7});
             for b in data::DataLoader(arange(5), #{batch_size: 2, num_workers: 2, pin_memory: true}) { b }
             for b in data::DataLoader(arange(3)) { if b == 1 { break; } }
         }).batches;",
    );
    assert_eq!(
        json(&mut lab, "#{all: seen.map(|b| [b.count, b.workers, b.pinned])}")["all"],
        serde_json::json!([[3, 2, true], [2, 0, false]])
    );
}

/// Whatever goes through a loader draws one order, and the generator goes on from there, as in PyTorch.
#[test]
fn what_goes_through_a_loader_begins_it_once() {
    let mut lab = Lab::new();
    lab.run("let l = data::DataLoader(arange(5), #{batch_size: 2, shuffle: true});");
    let end = "[all, (rand(1).item() * 1e4).round()]";
    for each in [
        "for b in l { all.push(b.tolist()); }",
        "for (i, b) in enumerate(l) { all.push(b.tolist()); }",
        "for (i, b) in zip(range(3), l) { all.push(b.tolist()); }",
        "for (i, b) in enumerate(progress(l)) { all.push(b.tolist()); }",
    ] {
        lab.run(&format!("manual_seed(0); let all = []; {each}"));
        assert_eq!(lab.text(end), "[[[1, 4], [2, 3], [0]], 3074.0]", "{each}");
    }
    let (text, _) = lab.error("zip(l, 3)");
    assert!(text.contains("'int' object is not iterable"), "{text}");
}

/// Samples that lie on a GPU are stacked there: no index is sent to it, and a batch is a launch for each tensor, as what
/// `cat` and `stack` join is on PyTorch's GPUs.
#[test]
fn batches_of_a_gpu_are_stacked_where_they_lie() {
    let mut lab = Lab::on("sim:h100");
    lab.run(
        "let rows = arange(12).reshape([6, 2]).to(\"cuda\");
         let loader = data::DataLoader(data::TensorDataset(rows, rows.sum(1)), #{batch_size: 4});
         let batches = [];
         let seen = telemetry::record(|| { for b in loader { batches.push(b); } });",
    );
    assert_eq!(lab.text("[seen.h2d.count, seen.d2h.count, seen.launches]"), "[0, 0, 4]");
    assert_eq!(lab.text("batches.map(|b| b.map(|t| t.tolist()))[1]"), "[[[8, 9], [10, 11]], [17, 21]]");
    lab.run(
        "let floats = rows.float(); let none = zeros([0], #{device: rows.device, dtype: \"int64\"});
         let deep = ones([1, 1, 1, 2], #{device: rows.device}); let many = []; many.pad(130, rows);
         let turned = []; turned.pad(130, rows.t());",
    );
    for (code, launches) in [
        ("cat([rows, rows, rows])", 1),
        ("stack([rows, rows, rows], 2)", 1),
        ("cat([rows, floats])", 2),
        ("cat([rows, none, rows])", 1),
        ("cat([rows.t(), rows.t()], 1)", 1),
        ("cat(many)", 2),
        ("cat(turned)", 3),
        ("stack([deep, deep])", 2),
    ] {
        assert_eq!(
            lab.text(&format!("telemetry::record(|| {code}).launches")),
            launches.to_string(),
            "{code}"
        );
    }
    let joined =
        "cat([rows.t(), rows.t().flip([1])], 1).tolist() == cat([rows, rows.flip([0])]).t().tolist()";
    assert_eq!(lab.text(joined), "true");
}

#[test]
fn a_batch_of_nothing_is_empty_on_every_device() {
    for devices in ["cpu", "sim:t4"] {
        let place = if devices == "cpu" { "cpu" } else { "cuda" };
        let mut lab = Lab::on(devices);
        lab.run(&format!(
            "let rows = ones([4, 2], #{{device: \"{place}\"}}); let shapes = [];
             for b in data::DataLoader(data::TensorDataset(rows), #{{batch_sampler: [[], [0, 1]]}}) {{ shapes.push(b[0].shape); }}"
        ));
        assert_eq!(lab.text("shapes"), "[[0, 2], [2, 2]]", "{devices}");
    }
}
