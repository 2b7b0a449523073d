//! What a script waits for or works at ends when it is interrupted.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tensorlab::base::Cause;
use tensorlab::device::{Machine, Use};
use tensorlab::plot::Figure;
use tensorlab::script::engine::Stopped;
use tensorlab::script::{Host, Interpreter, Limits, Origin};

/// Longer than this and nothing was interrupted.
const PATIENCE: Duration = Duration::from_secs(10);

/// A host that says when the script has begun.
struct Begun(std::sync::mpsc::Sender<()>);

impl Host for Begun {
    fn print(&self, text: &str) {
        if text == "begun" {
            let _ = self.0.send(());
        }
    }
    fn warn(&self, _: &str) {}
    fn figure(&self, _: &Figure, _: Option<&str>) {}
    fn progress(&self, _: &str, _: u64, _: Option<u64>, _: &str) {}
}

/// Runs a script, interrupts it soon after it has made what it needs, and gives how long it took to end.
fn interrupted(need: &str, code: &str) -> Duration {
    let machine = Machine::open(&"sim:tiny".parse().unwrap(), Use::Headless).unwrap().machine;
    let (begins, begun) = std::sync::mpsc::channel();
    let mut script = Interpreter::new(Arc::clone(&machine), Arc::new(Begun(begins)), &Limits::default());
    let code = format!("{need} print(\"begun\"); {code}");
    let interrupter = std::thread::spawn(move || {
        begun.recv().unwrap();
        std::thread::sleep(Duration::from_millis(30));
        machine.shared.cancel.interrupt();
        Instant::now()
    });
    let result = script.evaluate(0, &Origin { name: "test", code: &code, first_line: 1 });
    let end = Instant::now();
    match result {
        Err(Stopped::Cancelled(error)) => assert!(matches!(error.cause(), Cause::Interrupted), "{error}"),
        other => panic!("{code}: {other:?}"),
    }
    end.saturating_duration_since(interrupter.join().unwrap())
}

#[test]
fn waits_and_growing_values_end_with_an_interrupt() {
    for code in [
        "sleep(600)",
        "sleep(600.5)",
        "sleep(1e308)",
        "sleep(9223372036854775807)",
        "fn f() { sleep(600) } f()",
        "try { sleep(600) } catch { print(\"caught\") }",
        "loop { let a = []; try { loop { a.push(a); } } catch { } }",
        "loop { let a = []; try { loop { a = [a, a]; } } catch { } }",
        "loop { let a = [1]; try { loop { a += a; } } catch { } }",
    ] {
        let took = interrupted("", code);
        println!("{code}: {took:?}");
        assert!(took < PATIENCE, "{code}: {took:?}");
    }
}

#[test]
fn prints_and_figures_end_with_an_interrupt() {
    let file = std::env::temp_dir().join(format!("tensorlab-interrupts-{}.png", std::process::id()));
    for (need, code) in [
        ("let x = rand([4096]).reshape([4, 4, 4, 4, 4, 4]);", "loop { print(x); }"),
        ("let y = rand([2000000]);", "loop { plot::figure(); plot::line(y).save(PATH); }"),
        ("let y = rand([2000000]);", "loop { plot::line(y).show(); }"),
        ("let y = rand([2000000]);", "loop { plot::hist(y).show(); plot::show(); }"),
        ("let y = rand([1500, 1500]);", "loop { plot::figure(); plot::image(y).save(PATH); }"),
        ("let y = rand([1500, 1500]);", "loop { display(y); }"),
    ] {
        let path = format!("{:?}", file.display().to_string());
        let took = interrupted(need, &code.replace("PATH", &path));
        println!("{code}: {took:?}");
        assert!(took < PATIENCE, "{code}: {took:?}");
    }
    let _ = std::fs::remove_file(file);
}

#[test]
fn a_sleep_is_as_long_as_it_says_and_refuses_what_is_no_length() {
    let run = |code: &str| {
        let mut script =
            Interpreter::new(Machine::cpu_only(), Arc::new(tensorlab::script::Silent), &Limits::default());
        let start = Instant::now();
        let result = script.evaluate(0, &Origin { name: "test", code, first_line: 1 });
        (result.map(|_| start.elapsed()), code.to_string())
    };
    assert!(run("sleep(0.05)").0.unwrap() >= Duration::from_millis(50));
    run("sleep(0); sleep(0.0)").0.unwrap();
    for code in ["sleep(-1)", "sleep(-0.5)", "sleep(0.0 / 0.0)"] {
        let Err(Stopped::Fault(fault)) = run(code).0 else { panic!("{code}") };
        assert_eq!(fault.kind, "ValueError", "{code}: as Python's time.sleep");
    }
}
