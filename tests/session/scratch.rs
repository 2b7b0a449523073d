//! The folder that a session's code may write to, and its limit, in the program itself.

use std::path::PathBuf;

use super::*;

struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Place {
        let path = std::env::temp_dir().join(format!("tensorlab-session-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Place(path)
    }

    /// A session that may write so many bytes within this folder, named as it stands there.
    fn session(&self, within: &str, bytes: u64) -> Client {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tensorlab"));
        command.args(["session", "--stdio", "--devices", "cpu", "--time-limit=20000"]).current_dir(&self.0);
        command
            .env_remove("TENSORLAB_DEVICES")
            .args(["--scratch", within])
            .arg(format!("--scratch-limit={bytes}"));
        let client = Client::spawn(command).unwrap();
        assert!(matches!(next(&client), Message::Ready { .. }));
        client
    }

    fn names(&self) -> Vec<String> {
        let all = std::fs::read_dir(&self.0).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap());
        let mut all: Vec<String> = all.collect();
        all.sort();
        all
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn outcome(client: &Client, id: u64, code: &str) -> Outcome {
    client.send(evaluate(id, code)).unwrap();
    finished(client, id).1
}

#[test]
fn the_folder_that_is_named_keeps_what_it_has_and_sessions_do_not_meet_in_it() {
    let place = Place::new("scratch-kept");
    std::fs::write(place.0.join("mine"), "mine").unwrap();
    let (first, second) = (place.session(".", 1 << 20), place.session(".", 1 << 20));
    let save = "save(ones([2]), SCRATCH + \"/x.npy\")";
    assert!(matches!(outcome(&first, 1, save), Outcome::Ok { .. }));
    second.send(Request::Reset { id: 2 }).unwrap();
    while !matches!(next(&second), Message::State { .. }) {}
    let loaded = Outcome::Ok { value: Some("tensor([1., 1.])".into()) };
    assert_eq!(outcome(&first, 3, "load(SCRATCH + \"/x.npy\")"), loaded, "another's reset takes nothing");
    assert_eq!(place.names().len(), 5, "{:?}", place.names());
    for client in [first, second] {
        client.shut_down(PATIENCE);
    }
    assert_eq!(place.names(), ["mine"], "what is a session's goes with it, and nothing else");
}

#[test]
fn the_limit_holds_while_code_writes_and_hides_nothing_of_later_cells() {
    let place = Place::new("scratch-limit");
    let client = place.session("scratch", 64 << 10);
    let over = Outcome::TooMuchOutput { limit: "64.0 KiB of files".into() };
    let flood = "let n = 0; while true { save(ones([1024]), SCRATCH + `/${n}.npy`); n += 1; }";
    assert_eq!(outcome(&client, 1, flood), over);
    let held = |folder: PathBuf| -> u64 {
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().metadata().unwrap().len()).sum()
    };
    let own = std::fs::read_dir(place.0.join("scratch")).unwrap().map(|entry| entry.unwrap().path());
    let own = own.into_iter().find(|path| path.is_dir()).unwrap();
    assert!(held(own.clone()) <= 64 << 10);
    // What is full says so to who writes to it, and to nobody else.
    assert_eq!(outcome(&client, 2, "1 + 1"), Outcome::Ok { value: Some("2".into()) });
    assert!(
        matches!(outcome(&client, 3, "no_such_name"), Outcome::Error { fault } if fault.kind == "NameError")
    );
    let figures = "for n in 0..40 { try { plot::line([1.0, 2.0]).save(SCRATCH + `/${n}.svg`) } catch {} }";
    assert_eq!(outcome(&client, 4, figures), over, "also where the refusal is caught");
    // Files without much in them take room too.
    client.send(Request::Reset { id: 5 }).unwrap();
    while !matches!(next(&client), Message::State { .. }) {}
    let small = "let n = 0; while true { save(ones([1]), SCRATCH + `/${n}.npy`); n += 1; }";
    assert_eq!(outcome(&client, 6, small), over);
    assert!(std::fs::read_dir(own).unwrap().count() <= 128);
    client.shut_down(PATIENCE);
}

#[test]
fn one_file_over_the_limit_is_refused_as_many_are_however_it_is_written() {
    let place = Place::new("scratch-one");
    let client = place.session("scratch", 64 << 10);
    let over = Outcome::TooMuchOutput { limit: "64.0 KiB of files".into() };
    let ways = [
        "save(#{x: zeros([17000])}, SCRATCH + \"/x.safetensors\")",
        "save(zeros([17000]), SCRATCH + \"/x.npy\")",
        "save(#{x: zeros([17000])}, SCRATCH + \"/x.npz\")",
        "plot::scatter(rand([9000]), rand([9000])).save(SCRATCH + \"/x.svg\")",
        "telemetry::export_chrome_trace(SCRATCH + \"/x.json\", || { let x = ones(2); for _ in 0..2000 { x = x + 1; } })",
    ];
    for (id, write) in (1..).zip(ways) {
        assert_eq!(outcome(&client, 10 * id, &format!("{write};")), over, "{write}");
        let caught = format!("let x = 0; try {{ {write}; }} catch {{ x = 6; }}");
        assert_eq!(outcome(&client, 10 * id + 1, &caught), over, "caught: {write}");
        let told =
            format!("let told = \"\"; try {{ {write}; }} catch (e) {{ told = e.message; }} print(told);");
        client.send(evaluate(10 * id + 2, &told)).unwrap();
        let said = format!("{:?}", finished(&client, 10 * id + 2).0);
        assert!(said.contains("takes no more than 64.0 KiB of files"), "{write}: {said}");
    }
    let fits = outcome(&client, 99, "save(zeros([15000]), SCRATCH + \"/x.npy\");");
    assert_eq!(fits, Outcome::Ok { value: None });
    client.shut_down(PATIENCE);
}
