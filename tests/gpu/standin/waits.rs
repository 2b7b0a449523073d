//! Each wait of the engine is left out on purpose, and what is computed then is wrong in some order of the streams: a wait
//! that is missing would be seen.

use super::computes::computing;
use super::libraries::has_compiler;
use super::suite::drawn;

/// A script that prints `true`; how many waits of streams it makes, and how often it asks for what is under way.
struct Waits {
    name: &'static str,
    script: &'static str,
    streams: usize,
    /// Answers, from the first on, each of which decides about memory or values.
    answers: usize,
}

/// Orders that are tried until one of them shows a wait that is missing; most show it.
const ORDERS: u64 = 60;

/// In how many orders what waits for everything must be right.
const RIGHT: u64 = 6;

const PROGRAMS: [Waits; 8] = [
    Waits {
        name: "peer",
        // The copy may write only what was read, and what comes after reads what was written.
        script: "
            let a = ones(3000, #{device: \"cuda:0\"});
            let c = zeros(3000, #{device: \"cuda:1\"});
            let before = c + 5.0;
            c.copy_(a);
            let after = c + 1.0;
            print(near(before, full([3000], 5.0)) && near(after, full([3000], 2.0)));",
        streams: 2,
        answers: 0,
    },
    Waits {
        name: "streams",
        script: "
            let c = cuda::current_stream();
            let s = cuda::Stream();
            let e = cuda::Event();
            let x = full([5000], 2.0, #{device: \"cuda\"});
            s.wait_stream(c);
            let y = with cuda::stream(s) { let y = x * 3.0; e.record(); y };
            c.wait_event(e);
            print(near(y, full([5000], 6.0)));",
        streams: 2,
        answers: 0,
    },
    Waits {
        name: "backward",
        script: "
            let s = cuda::Stream();
            let x = full([4000], 2.0, #{device: \"cuda\"}).requires_grad_();
            s.wait_stream(cuda::current_stream());
            let y = with cuda::stream(s) { x * x };
            cuda::current_stream().wait_stream(s);
            let z = y * 3.0;
            z.sum().backward();
            print(near(z.detach(), full([4000], 12.0)) && near(x.grad, full([4000], 12.0)));",
        streams: 4,
        answers: 0,
    },
    Waits {
        name: "pinned",
        // Page-locked memory that is being copied from serves nobody else.
        script: "
            let block = full([4000], 1.0).pin_memory();
            let there = block.to(\"cuda\", #{non_blocking: true});
            block = ();
            let other = full([4000], 2.0).pin_memory();
            print(near(there, full([4000], 1.0)));",
        streams: 0,
        answers: 1,
    },
    Waits {
        name: "recorded",
        // What another stream still reads serves nobody else.
        script: "
            let c = cuda::current_stream();
            let s = cuda::Stream();
            let x = ones(5000, #{device: \"cuda\"});
            s.wait_stream(c);
            let y = with cuda::stream(s) { x * 2.0 };
            x.record_stream(s);
            x = ();
            let z = zeros(5000, #{device: \"cuda\"});
            c.wait_stream(s);
            print(near(y, full([5000], 2.0)));",
        streams: 2,
        answers: 1,
    },
    Waits {
        name: "back",
        // Memory that a copy writes is read after a wait for the device.
        script: "
            let x = full([4000], 4.0, #{device: \"cuda\"});
            let back = (x * 2.0).to(\"cpu\", #{non_blocking: true});
            cuda::synchronize();
            print(near(back, full([4000], 8.0)));",
        streams: 0,
        answers: 1,
    },
    Waits {
        name: "event",
        script: "
            let x = full([4000], 4.0, #{device: \"cuda\"});
            let back = (x * 2.0).to(\"cpu\", #{non_blocking: true});
            let e = cuda::Event();
            e.record();
            e.synchronize();
            print(near(back, full([4000], 8.0)));",
        streams: 0,
        answers: 1,
    },
    Waits {
        name: "read",
        script: "
            let x = full([3], 4.0, #{device: \"cuda\"});
            print(x.sum().item() == 12.0);",
        streams: 0,
        answers: 1,
    },
];

/// Whether the script is right in an order of its streams, with something left out.
fn is_right(program: &Waits, left_out: Option<(&str, usize)>, seed: u64) -> bool {
    let run = computing(&format!("waits-{}", program.name), program.script, seed);
    let mut run = left_out.into_iter().fold(run, |run, (what, at)| run.with(what, &at.to_string()));
    match run.printed().as_str() {
        "true\n" => true,
        "false\n" => false,
        other => panic!("STANDIN_SEED={seed} {}: {other}", program.name),
    }
}

#[test]
fn a_wait_that_is_left_out_is_seen_in_some_order() {
    if !has_compiler() {
        return;
    }
    let first = drawn();
    for program in &PROGRAMS {
        for seed in first..first + RIGHT {
            assert!(is_right(program, None, seed), "STANDIN_SEED={seed} {}", program.name);
        }
        let waits = (1..=program.streams).map(|at| ("STANDIN_LEAVES_OUT_WAIT", at));
        for (what, at) in waits.chain((1..=program.answers).map(|at| ("STANDIN_SAYS_REACHED", at))) {
            let is_seen = (first..first + ORDERS).any(|seed| !is_right(program, Some((what, at)), seed));
            assert!(is_seen, "{}: {what}={at} is right in {ORDERS} orders from {first} on", program.name);
        }
    }
}
