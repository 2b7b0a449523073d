//! The host of simulated GPUs: its work takes time on their clock.

use super::*;

/// The milliseconds that code gives.
fn ms(devices: &str, code: &str) -> Vec<f64> {
    let text = on(devices, code);
    text.trim_matches(['[', ']']).split(", ").map(|number| number.parse().unwrap()).collect()
}

#[test]
fn what_the_cpu_does_counts_beside_the_gpu() {
    let code = "
        let c = rand([256, 256]); let g = rand([256, 256], #{device: \"cuda\"}); g @ g;
        [time(|| { c @ c; g + 1.0 }).median_ms, time(|| c @ c).median_ms, time(|| { sleep(0.02); g + 1.0 }).median_ms,
         time(|| { let sum = 0; for i in 0..1000 { sum += i; } }).median_ms]";
    let [both, cpu, slept, steps] = ms("sim:t4", code)[..] else { panic!("four times") };
    assert!(both > cpu && cpu > 0.1, "{both} {cpu}");
    assert!((20.0..20.1).contains(&slept), "{slept}");
    assert!((0.05..2.0).contains(&steps), "{steps}");
    assert_eq!(ms("sim:t4", code), ms("sim:t4", code), "every time");
    let faster = ms("sim:t4@workstation", code);
    assert!(faster[1] < cpu && faster[3] < steps, "another host has other times: {faster:?}");
}

#[test]
fn a_stopwatch_without_a_wait_sees_the_queueing_alone() {
    let code = "
        let g = rand([1024, 1024], #{device: \"cuda\"}); g @ g; cuda::synchronize();
        let t = timestamp();
        for i in 0..10 { g @ g; }
        let early = t.elapsed;
        cuda::synchronize();
        let late = timestamp() - t;
        [early * 1000.0, late * 1000.0]";
    let [early, late] = ms("sim:t4", code)[..] else { panic!("two times") };
    assert!(early < 0.1 && late > 20.0 * early, "{early} {late}");
}

#[test]
fn workers_have_times_of_their_own_and_compete_for_cores() {
    let epoch = |sample: &str, devices: &str| {
        let code = format!(
            "let set = data::Dataset(32, |i| {{ {sample} }});
             [0, 1, 2, 4, 8].map(|n| time(|| {{
                 for b in data::DataLoader(set, #{{batch_size: 4, num_workers: n}}) {{ }}
             }}).median_ms)"
        );
        let times = ms(devices, &code);
        assert_eq!(times, ms(devices, &code), "every time");
        times
    };
    let [none, one, two, four, eight] = epoch("sleep(0.001); rand(4)", "sim:t4")[..] else { panic!("five") };
    let near = |a: f64, b: f64| (a / b - 1.0).abs() < 0.1;
    assert!(near(one, none) && near(2.0 * two, none) && near(4.0 * four, none), "{none} {one} {two} {four}");
    assert!(near(8.0 * eight, none), "who sleeps needs no core: {eight}");
    let [_, one, two, four, eight] = epoch("rand([256, 256]).exp()", "sim:t4")[..] else { panic!("five") };
    assert!(two < 0.6 * one && near(four, two) && near(eight, two), "two cores: {one} {two} {four} {eight}");
    let [_, one, _, _, eight] = epoch("rand([256, 256]).exp()", "sim:t4@workstation")[..] else {
        panic!("five")
    };
    assert!(eight < 0.25 * one, "eight cores: {one} {eight}");
}

/// The script's thread waits meanwhile, and what it does between two batches is short.
#[test]
fn workers_that_run_the_scripts_code_have_all_cores() {
    let steps = "let s = 0; for k in 0..2000 { s += k; } i";
    let both = "let s = 0; for k in 0..500 { s += k; } rand([128, 128]) @ rand([128, 128])";
    for (sample, cores, devices) in [
        (steps, 2, "sim:t4"),
        (both, 2, "sim:t4"),
        (steps, 8, "sim:t4@workstation"),
        (both, 8, "sim:t4@workstation"),
    ] {
        let code = format!(
            "let set = data::Dataset(64, |i| {{ {sample} }});
             [1, {cores}, {cores} * 2].map(|n| time(|| {{
                 for b in data::DataLoader(set, #{{num_workers: n}}) {{ let q = b; }}
             }}).median_ms)"
        );
        let [one, all, more] = ms(devices, &code)[..] else { panic!("three times") };
        let ideal = one / f64::from(cores);
        assert!(all < 1.05 * ideal && more < 1.05 * ideal, "{sample} on {devices}: {one} {all} {more}");
        assert!(
            all > 0.99 * ideal && more > 0.99 * ideal,
            "no more cores than there are: {one} {all} {more}"
        );
    }
}

/// Workers page-lock memory of the device while the script goes on.
#[test]
fn workers_that_pin_change_no_time_of_the_scripts() {
    let code = "
        let set = data::Dataset(64, |i| rand(256));
        let took = || time(|| {
            for b in data::DataLoader(set, #{batch_size: 2, num_workers: 4, pin_memory: true}) {
                let sum = 0;
                for i in 0..2000 { sum += i; }
            }
        }).median_ms;
        [took.call(), 0.0]";
    let first = ms("sim:t4", code);
    for _ in 0..5 {
        assert_eq!(ms("sim:t4", code), first);
    }
}

#[test]
fn waiting_for_a_batch_is_a_wait_with_its_line() {
    let code = "
        let set = data::Dataset(4, |i| { sleep(0.001); rand(4) });
        let r = telemetry::record(|| {
            for b in data::DataLoader(set, #{num_workers: 1}) { b.cuda(); }
        });
        let first = r.waits.filter(|w| w.cause == \"a loader's batch\")[0];
        [first.ms, first.line, first.clock]";
    let text = on("sim:t4", code);
    assert!(text.ends_with("\"modelled\"]") && text.contains(", 4, "), "{text}");
}

#[test]
fn on_a_real_clock_the_wait_for_a_batch_is_measured_where_it_was_not_there() {
    let code = "
        let set = data::Dataset(3, |i| { if i != 1 { sleep(0.02); } rand(4) });
        let batches = iter(data::DataLoader(set, #{num_workers: 1}));
        let held = |events| events.waits.filter(|w| w.cause == \"a loader's batch\");
        let first = held.call(telemetry::record(|| next(batches)));
        sleep(1.0);
        let second = held.call(telemetry::record(|| next(batches)));
        [first.len(), first[0].ms > 0.0, first[0].line, first[0].clock, second.len()]";
    assert_eq!(on("cpu", code), "[1, true, 5, \"measured\", 0]");
}

#[test]
fn timeit_runs_what_is_deterministic_until_it_is_sure() {
    let code = "
        let g = rand([64, 64], #{device: \"cuda\"}); let runs = [0];
        let took = timeit(|| { runs[0] += 1; g @ g; });
        [took.runs, took.iqr_ms == 0.0, took.clock, timeit(|| g @ g, #{repeat: 4}).runs]";
    assert_eq!(on("sim:t4", code), "[1, true, \"modelled\", 4]");
}

#[test]
fn a_measured_host_leaves_its_work_out_of_modelled_times() {
    let code = "
        let g = rand([64, 64], #{device: \"cuda\"}); g + 1.0;
        [time(|| { sleep(0.02); g + 1.0 }).median_ms, time(|| sleep(0.02)).median_ms]";
    let [gpu, host] = ms("sim:t4@measured", code)[..] else { panic!("two times") };
    assert!(gpu < 1.0 && host >= 20.0, "{gpu} {host}");
}
