//! Ranks that are processes: what ranks of one process give, and the ways in which a process can go wrong.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::ranks::MODELS;

/// What one process said, and how it ended.
#[derive(Debug)]
struct Ended {
    out: String,
    err: String,
    code: Option<i32>,
}

/// Processes of one script, each a rank.
struct Ranks {
    folder: PathBuf,
    children: Vec<Child>,
    port: u16,
}

impl Ranks {
    fn start(name: &str, devices: &str, world: usize, code: &str) -> Ranks {
        let all = (0..world).map(|rank| (rank.to_string(), world.to_string()));
        Ranks::start_as(name, devices, all.collect(), code)
    }

    /// With these values of RANK and WORLD_SIZE.
    fn start_as(name: &str, devices: &str, ranks: Vec<(String, String)>, code: &str) -> Ranks {
        let folder = std::env::temp_dir().join(format!("tensorlab-processes-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let script = folder.join("ranks.rhai");
        std::fs::write(&script, code).unwrap();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let mut all = Ranks { folder, children: Vec::new(), port };
        for (rank, world) in &ranks {
            let child = all.command(devices, rank, world).spawn().unwrap();
            all.children.push(child);
        }
        all
    }

    fn command(&self, devices: &str, rank: &str, world: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tensorlab"));
        command
            .args(["run", "--devices", devices])
            .arg(self.folder.join("ranks.rhai"))
            .envs([("RANK", rank), ("LOCAL_RANK", rank), ("WORLD_SIZE", world), ("MASTER_ADDR", "127.0.0.1")])
            .env("MASTER_PORT", self.port.to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    fn end(mut self) -> Vec<Ended> {
        let one = |child: Child| {
            let output = child.wait_with_output().unwrap();
            let [out, err] = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
            Ended { out, err, code: output.status.code() }
        };
        self.children.drain(..).map(one).collect()
    }
}

impl Drop for Ranks {
    fn drop(&mut self) {
        self.children.iter_mut().for_each(|child| drop(child.kill()));
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// A script of functions and of what every rank runs, which begins in its line 2.
fn joined(functions: &str, body: &str) -> String {
    let begin = "distributed::init_process_group(); let body = |rank, world| {";
    format!(
        "{begin}\n{body}\n}};\nprint(body.call(distributed::get_rank(), distributed::get_world_size()));\n{functions}"
    )
}

/// What the ranks print, as processes and as threads of one.
fn both_ways(name: &str, devices: &str, world: usize, functions: &str, body: &str) -> [Vec<String>; 2] {
    let ended = Ranks::start(name, devices, world, &joined(functions, body)).end();
    let whole = |ended: &Ended| {
        assert_eq!(ended.code, Some(0), "{body}\n{}", ended.err);
        ended.out.trim_end().to_owned()
    };
    let spawned = format!(
        "for own in distributed::spawn(|rank, world| {{\n{body}\n}}, #{{nprocs: {world}}}) {{ print(own); print(\"---\"); }}\n{functions}"
    );
    let folder = std::env::temp_dir().join(format!("tensorlab-threads-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let script = folder.join("threads.rhai");
    std::fs::write(&script, spawned).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_tensorlab"))
        .args(["run", "--devices", devices])
        .arg(&script)
        .output()
        .unwrap();
    let _ = std::fs::remove_dir_all(&folder);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let out = String::from_utf8(output.stdout).unwrap();
    let threads = out.trim_end().trim_end_matches("---").split("---\n").map(|own| own.trim_end().to_owned());
    [ended.iter().map(whole).collect(), threads.collect()]
}

#[test]
fn processes_give_what_ranks_of_one_process_give() {
    let trained = "
        let net = build(\"mlp\");
        let own = part(\"mlp\", rank, world);
        if cuda::is_available() { cuda::set_device(rank); net = net.cuda(rank); own = own.cuda(rank); }
        let ddp = nn::parallel::DistributedDataParallel(net);
        let opt = optim::SGD(ddp.parameters(), #{lr: 0.1, momentum: 0.9});
        let out = [];
        for step in 0..4 {
            opt.zero_grad();
            let loss = ddp.forward(own).pow(2).mean();
            loss.backward();
            opt.step();
            out.push(loss.item());
        }
        out.push(sums(net.parameters().map(|p| p.detach())));
        out";
    let sampled = "
        let set = data::TensorDataset(arange(10));
        let own = [];
        for i in data::DistributedSampler(set, #{shuffle: true, seed: 3}) { own.push(i); }
        [own, distributed::get_node_local_rank()]";
    for (name, devices, world, functions, body) in [
        ("collect", "cpu", 3, crate::ranks::PLACED_ON_CPU, crate::ranks::COLLECTIVES),
        ("collect-sim", "sim:t4x3", 3, crate::ranks::PLACED_ON_GPUS, crate::ranks::COLLECTIVES),
        ("trained", "cpu", 2, MODELS, trained),
        ("trained-sim", "sim:t4x2", 2, MODELS, trained),
        ("sampled", "cpu", 4, "", sampled),
    ] {
        let [processes, threads] = both_ways(name, devices, world, functions, body);
        assert_eq!(processes, threads, "{name}");
        assert_eq!(processes.len(), world, "{name}");
    }
}

#[test]
fn an_exchange_of_processes_takes_the_modelled_time_of_one() {
    let body = "
        cuda::set_device(rank);
        let x = ones([1024, 1024], #{device: `cuda:${rank}`});
        cuda::synchronize();
        let seen = telemetry::record(|| { distributed::all_reduce(x); cuda::synchronize(); }).collectives;
        seen.map(|one| [one.op, one.bytes, one.ranks, one.ms])";
    let [processes, threads] = both_ways("time", "sim:t4x2", 2, "", body);
    assert_eq!(processes[0], processes[1]);
    // The threads tell of it once, in the rank that came last.
    assert!(threads.contains(&processes[0]), "{processes:?} {threads:?}");
}

#[test]
fn what_ranks_do_not_do_together_is_told_as_in_one_process() {
    for (body, text) in crate::ranks::NOT_TOGETHER {
        let name = format!("apart-{}", text.len() + body.len());
        let ended = Ranks::start(&name, "cpu", 2, &joined("", body)).end();
        // Of its own error a process does not say whose it is.
        let own = text.split_once("rank 0 failed in line 2: ").map_or(*text, |(_, own)| own);
        let told = ended.iter().any(|rank| rank.err.contains(own));
        assert!(told, "{body}\n{text}\n{}\n{}", ended[0].err, ended[1].err);
        assert!(ended.iter().any(|rank| rank.code == Some(1)), "{body}: {ended:?}");
    }
}

#[test]
fn a_rank_that_is_killed_or_waits_for_ever_ends_the_others() {
    let body = "if rank == 1 { print(\"here\"); while true { sleep(0.05); } }\ndistributed::barrier();";
    let mut ranks = Ranks::start("killed", "cpu", 2, &joined("", body));
    let mut line = [0; 4];
    ranks.children[1].stdout.as_mut().unwrap().read_exact(&mut line).unwrap();
    ranks.children[1].kill().unwrap();
    let ended = ranks.end();
    assert!(ended[0].err.contains("rank 1 is gone"), "{}", ended[0].err);
    assert_eq!(ended[0].code, Some(1));
    // The process in which they meet is gone.
    let body = "if rank == 0 { sleep(0.2); exit_now(); }\ndistributed::barrier();";
    let mut ranks = Ranks::start(
        "hub",
        "cpu",
        2,
        &joined("fn exit_now() { print(\"here\"); while true { sleep(0.05); } }", body),
    );
    ranks.children[0].stdout.as_mut().unwrap().read_exact(&mut line).unwrap();
    ranks.children[0].kill().unwrap();
    let ended = ranks.end();
    assert!(ended[1].err.contains("rank 0 is gone"), "{}", ended[1].err);
    // Who never comes to the exchange.
    let since = Instant::now();
    let late = "if distributed::get_rank() == 0 { distributed::all_reduce(ones(3)); } else { sleep(4.0); }";
    let code = format!("distributed::init_process_group(\"gloo\", #{{timeout: 1}});\n{late}");
    let ended = Ranks::start("late", "cpu", 2, &code).end();
    let text = "no rank came for 1 s: rank 0 waits in all_reduce of float32 [3] (line 2); rank 1 runs line 2";
    assert!(ended[0].err.contains(text), "{}", ended[0].err);
    // Rank 0 does not wait for who never comes: it tells what went wrong, and the other hears of it when it comes.
    let late = "if distributed::get_rank() == 0 {\ndistributed::barrier();\n} else {\nwhile true { sleep(0.01); }\n}";
    let code = format!("distributed::init_process_group(\"gloo\", #{{timeout: 1}});\n{late}");
    let mut ranks = Ranks::start("endless", "cpu", 2, &code);
    let first = ranks.children.remove(0).wait_with_output().unwrap();
    let told = String::from_utf8(first.stderr).unwrap();
    assert!(told.contains("rank 0 waits in barrier (line 3); rank 1 runs line 5"), "{told}");
    drop(ranks);
    assert!(since.elapsed() < Duration::from_secs(60));
}

#[test]
fn who_is_no_rank_is_told_so() {
    let code = "distributed::init_process_group(\"gloo\", #{timeout: 20});\nprint(distributed::get_rank());";
    let alone = |variables: &[(&str, &str)]| {
        let output = Command::new(env!("CARGO_BIN_EXE_tensorlab"))
            .args(["run", "--devices", "cpu", "-"])
            .envs(variables.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .and_then(|mut child| {
                child.stdin.take().unwrap().write_all(code.as_bytes())?;
                child.wait_with_output()
            })
            .unwrap();
        String::from_utf8(output.stderr).unwrap()
    };
    let all = [("RANK", "0"), ("WORLD_SIZE", "1"), ("MASTER_ADDR", "127.0.0.1"), ("MASTER_PORT", "29500")];
    for (at, (name, _)) in all.iter().enumerate() {
        let told = alone(&all[..at]);
        let text = format!("rendezvous: environment variable {name} expected, but not set");
        assert!(told.contains(&text), "{told}");
    }
    for (name, value, text) in [
        ("RANK", "one", "the environment variable RANK is no number: one"),
        ("RANK", "3", "there is no rank 3 of 1"),
        ("WORLD_SIZE", "65", "there is no rank 0 of 65"),
        ("MASTER_ADDR", "192.0.2.1", "that is no address of this computer alone"),
        ("MASTER_PORT", "70000", "that is no port"),
    ] {
        let wrong = all.map(|(known, right)| (known, if known == name { value } else { right }));
        let told = alone(&wrong);
        assert!(told.contains(text), "{told}");
    }
    // Two that say that they are the same rank, and one of another world.
    let wrong = [("0", "3"), ("1", "3"), ("1", "3"), ("1", "2")];
    let wrong = wrong.map(|(rank, world)| (rank.to_owned(), world.to_owned())).to_vec();
    let mut ranks = Ranks::start_as("twice", "cpu", wrong, code);
    let since = Instant::now();
    let gone =
        |ranks: &mut Ranks| ranks.children.iter_mut().filter_map(|child| child.try_wait().unwrap()).count();
    while gone(&mut ranks) < 2 && since.elapsed() < Duration::from_secs(20) {
        std::thread::sleep(Duration::from_millis(20));
    }
    // The one that is missing comes last.
    let last = ranks.command("cpu", "2", "3").spawn().unwrap();
    ranks.children.push(last);
    let ended = ranks.end();
    let told: Vec<&str> = ended.iter().map(|rank| rank.err.as_str()).collect();
    assert!(told[1..3].iter().any(|err| err.contains("there is a rank 1 already")), "{told:?}");
    assert!(told[3].contains("WORLD_SIZE is 2, and that of rank 0 is 3"), "{told:?}");
    assert_eq!(ended.iter().filter(|rank| rank.code == Some(0)).count(), 3, "{ended:?}");
}

#[test]
fn what_is_no_rank_at_all_is_hung_up_on() {
    let code = "distributed::init_process_group();\nlet x = tensor([distributed::get_rank()]);\ndistributed::all_reduce(x);\nprint(x.item());";
    let ranks = vec![("0".to_owned(), "2".to_owned())];
    let first = Ranks::start_as("hostile", "cpu", ranks, code);
    let address = ("127.0.0.1", first.port);
    let since = Instant::now();
    let mut stranger = loop {
        match TcpStream::connect(address) {
            Ok(stream) => break stream,
            Err(_) if since.elapsed() < Duration::from_secs(20) => {
                std::thread::sleep(Duration::from_millis(20))
            }
            Err(error) => panic!("{error}"),
        }
    };
    stranger.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    let _ = stranger.read_to_end(&mut answer);
    assert!(answer.is_empty(), "{answer:?}");
    let mut silent = TcpStream::connect(address).unwrap();
    silent.write_all(b"{\"hello\":{\"version\":1,\"rank\":1").unwrap();
    drop(silent);
    let second = Command::new(env!("CARGO_BIN_EXE_tensorlab"))
        .args(["run", "--devices", "cpu"])
        .arg(first.folder.join("ranks.rhai"))
        .envs([("RANK", "1"), ("WORLD_SIZE", "2"), ("MASTER_ADDR", "localhost")])
        .env("MASTER_PORT", first.port.to_string())
        .output()
        .unwrap();
    assert_eq!(
        String::from_utf8(second.stdout).unwrap(),
        "1\n",
        "{}",
        String::from_utf8_lossy(&second.stderr)
    );
    assert_eq!(first.end()[0].out, "1\n");
}
