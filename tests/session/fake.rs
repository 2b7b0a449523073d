//! An evaluator whose language is one command a line, for what a session must survive.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tensorlab::base::event::{Body, Bus, Clock, Source, Span};
use tensorlab::base::{DType, Device};
use tensorlab::session::engine::{CheckStopped, Evaluator, Host, Inspected, Interrupt};
use tensorlab::session::protocol::{
    Completion, Display, Fault, Outcome, ProbeValue, Stream, Usage, Variable, Verdict,
};

/// Text that a terminal must never get as it is.
pub const DIRTY: &str = "\u{1B}]0;title\u{7}\u{1B}[2J\0\u{FFFE}\u{202E}\r\n\"\\ \u{10FFFF}";

#[derive(Default)]
pub struct Fake {
    variables: Vec<String>,
    stop: Arc<AtomicBool>,
    bus: Arc<Bus>,
}

impl Evaluator for Fake {
    fn evaluate(&mut self, cell: u32, first_line: u32, code: &str, host: &Arc<dyn Host>) -> Outcome {
        let mut value = None;
        for (line, text) in (first_line..).zip(code.lines()) {
            let (command, argument) = text.split_once(' ').unwrap_or((text, ""));
            match self.run(command, argument, cell, host) {
                Ok(v) => value = v,
                Err(fault) => return Outcome::Error { fault: Fault { line: Some(line), ..*fault } },
            }
            if self.stop.load(Ordering::Relaxed) {
                return Outcome::Interrupted;
            }
        }
        Outcome::Ok { value }
    }

    fn usage(&self) -> Usage {
        Usage { modelled_nanos: Some(7), ..Usage::default() }
    }

    fn check(&mut self, of: u32, _: u32, code: &str, host: &Arc<dyn Host>) -> Result<Verdict, CheckStopped> {
        host.print(Stream::Stderr, "checking\n");
        Ok(match self.variables.iter().any(|v| v == code) {
            true => Verdict::Pass,
            false => Verdict::Fail { reason: format!("no {code} in cell {of}"), line: Some(1) },
        })
    }

    fn probe(&mut self, _: u32, expression: &str) -> Result<Result<ProbeValue, Box<Fault>>, CheckStopped> {
        Ok(expression.parse().map(ProbeValue::Number).map_err(|_| Box::new(fault("not a number"))))
    }

    fn complete(&self, code: &str, cursor: usize) -> (usize, Vec<Completion>) {
        let text = code.split_at(cursor).0.to_string();
        (0, vec![Completion { text, signature: String::new(), summary: String::new() }])
    }

    fn help(&self, name: &str) -> (Option<String>, Vec<String>) {
        ((name == "relu").then(|| "max(x, 0)".into()), vec!["relu".into()])
    }

    fn inspect(&self) -> Inspected {
        let variable = |name: &String| Variable {
            name: name.clone(),
            type_name: "int".into(),
            summary: "1".into(),
            tensor: None,
        };
        Inspected { variables: self.variables.iter().map(variable).collect(), ..Inspected::default() }
    }

    fn reset(&mut self) {
        self.variables.clear();
    }

    fn interrupt_handle(&self) -> Arc<dyn Interrupt> {
        Arc::clone(&self.stop) as _
    }

    fn bus(&self) -> &Arc<Bus> {
        &self.bus
    }
}

impl Fake {
    fn run(
        &mut self,
        command: &str,
        argument: &str,
        cell: u32,
        host: &Arc<dyn Host>,
    ) -> Result<Option<String>, Box<Fault>> {
        let number: usize = argument.parse().unwrap_or(0);
        match command {
            "set" => self.variables.push(argument.into()),
            "print" => host.print(Stream::Stdout, &format!("{argument}\n")),
            "dirty" => host.print(Stream::Stdout, DIRTY),
            "bytes" => host.print(Stream::Stdout, &"é".repeat(number / 2)),
            "lines" => (0..number).for_each(|i| host.print(Stream::Stdout, &format!("line {i}\n"))),
            "progress" => {
                (0..number).for_each(|i| host.progress("work", i as u64 + 1, Some(number as u64), argument));
            }
            "table" => {
                host.display(Display::Table { header: vec!["a".into()], rows: vec![vec!["1".into()]] }, None)
            }
            "redraw" => (0..number).for_each(|i| {
                host.display(Display::Text { text: i.to_string() }, Some(argument));
            }),
            "emit" => (0..number).for_each(|i| self.emit(cell, i)),
            "cost" => return Ok(Some(self.cost(cell, number).to_string())),
            "spin" => {
                while !self.stop.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            }
            "deaf" => std::thread::sleep(Duration::from_secs(600)),
            "chatter" => {
                while !self.stop.load(Ordering::Relaxed) {
                    host.print(Stream::Stdout, "and so on and so on\n");
                }
            }
            "abort" => std::process::abort(),
            "exit" => std::process::exit(argument.parse().unwrap_or(0)),
            "panic" => panic!("the fake evaluator was told to panic"),
            "overflow" => return Ok(Some(deeper(1).to_string())),
            "allocate" => return Ok(Some(vec![1u8; number].iter().filter(|&&b| b == 1).count().to_string())),
            "noise" => {
                println!("printed by the process itself");
                eprintln!("said on standard error");
            }
            "value" => return Ok(Some(argument.into())),
            _ => return Err(Box::new(fault(&format!("unknown command {command}")))),
        }
        Ok(None)
    }

    fn emit(&self, cell: u32, index: usize) {
        let source = Source::at(cell, index as u32);
        let device = Device::Cuda(0);
        let span = Span { start: index as u64, nanos: 5, clock: Clock::Modelled };
        self.bus.emit(source, || match index % 4 {
            0 => Body::Alloc {
                device,
                address: 0x7f00_0000_0000 + index as u64 * 512,
                bytes: 512,
                requested: 400,
                dtype: DType::Float32,
                shape: vec![10, 10].into(),
                op: "randn".into(),
                allocated: 512,
                reserved: 2 << 20,
            },
            1 | 2 => Body::Launch {
                device,
                stream: 0,
                op: "add".into(),
                kernel: "elementwise".into(),
                dtype: DType::Float32,
                bytes: 1200,
                flops: 100,
                span,
            },
            _ => {
                Body::Free { device, address: 0x7f00_0000_0000, bytes: 512, allocated: 0, reserved: 2 << 20 }
            }
        });
    }

    /// Nanoseconds an event costs the evaluation, in bursts that the writer can follow.
    fn cost(&self, cell: u32, bursts: usize) -> u64 {
        const BURST: usize = 200;
        let mut fastest = Duration::MAX;
        for _ in 0..bursts {
            let start = Instant::now();
            (0..BURST).for_each(|i| self.emit(cell, i));
            fastest = fastest.min(start.elapsed());
            std::thread::sleep(Duration::from_millis(2));
        }
        fastest.as_nanos() as u64 / BURST as u64
    }
}

#[inline(never)]
fn deeper(level: u64) -> u64 {
    let here = std::hint::black_box([level; 64]);
    if level == 0 { 0 } else { deeper(level + 1) + here[(level % 64) as usize] }
}

fn fault(message: &str) -> Fault {
    Fault {
        caller: None,
        missing: None,
        elsewhere: None,
        kind: "RuntimeError".into(),
        message: message.into(),
        hint: None,
        line: None,
        column: None,
        source_line: None,
        operands: Vec::new(),
        report: message.into(),
    }
}
