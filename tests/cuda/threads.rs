//! The current stream and a capture belong to the thread: a loader's workers have their own.

use super::on;

/// Two workers that make side streams current and stay there.
const SWITCHING: &str = "
    let rows = #{len: || 8, get: |i| { cuda::set_stream(cuda::Stream()); ones([4], #{device: \"cuda\"}) * i }};
    let before = cuda::current_stream().id; let seen = []; let sums = [];";

#[test]
fn a_worker_that_switches_streams_leaves_the_scripts_alone() {
    let code = format!(
        "{SWITCHING}
        let s = cuda::Stream();
        for b in data::DataLoader(rows, #{{batch_size: 2, num_workers: 2}}) {{ seen += cuda::current_stream().id; }}
        let t = telemetry::record(|| {{ ones([4], #{{device: \"cuda\"}}); }});
        with cuda::stream(s) {{
            for b in data::DataLoader(rows, #{{batch_size: 4, num_workers: 2}}) {{ seen += cuda::current_stream() == s; }}
        }};
        [before, seen, cuda::current_stream().id]"
    );
    assert_eq!(on("sim:t4", &code), "[0, [0, 0, 0, 0, true, true], 0]");
}

/// A worker starts on the default stream, whatever is current where the loader is.
#[test]
fn a_worker_starts_on_the_default_stream() {
    let code = "
        let rows = #{len: || 4, get: |i| cuda::current_stream().id};
        let s = cuda::Stream(); let seen = [];
        with cuda::stream(s) { for b in data::DataLoader(rows, #{num_workers: 2}) { seen += b.tolist(); } }
        seen";
    assert_eq!(on("sim:t4", code), "[0, 0, 0, 0]");
}

#[test]
fn what_workers_do_meanwhile_is_not_in_the_graph() {
    let code = "
        let rows = #{len: || 6, get: |i| (ones([4], #{device: \"cuda\"}) * i).sum().item()};
        let x = ones([4], #{device: \"cuda\"}); let it = (); let got = [];
        let loader = data::DataLoader(rows, #{batch_size: 2, num_workers: 2});
        let g = cuda::graph(|| {
            for b in loader { x += 1.0; got.push(b.tolist()); }
        });
        g.replay();
        [g.len(), got, x.tolist()]";
    assert_eq!(on("sim:t4", code), "[3, [[0.0, 4.0], [8.0, 12.0], [16.0, 20.0]], [4.0, 4.0, 4.0, 4.0]]");
}
