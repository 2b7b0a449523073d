//! A loader's workers have no accelerator, as forked ones in PyTorch: nothing that they do reaches a stream or a graph.

use super::{fault, on};

const REFUSED: &str = "Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing, you must use the 'spawn' start method";

#[test]
fn a_worker_that_uses_an_accelerator_is_told_what_to_do() {
    for uses in [
        "ones([4], #{device: \"cuda\"})",
        "ones([4]).cuda()",
        "x[i] * 2.0",
        "x[i].item()",
        "{ x[i].cpu() }",
        "{ cuda::synchronize(); i }",
        "x[i]",
    ] {
        let code = |workers: u32| {
            format!(
                "let x = ones([8], #{{device: \"cuda\"}}); let seen = 0;
let rows = data::Dataset(8, |i| {uses});
for b in data::DataLoader(rows, #{{batch_size: 2, num_workers: {workers}}}) {{ seen += 1; }}
seen"
            )
        };
        assert_eq!(on("sim:t4", &code(0)), "4", "{uses}");
        let fault = fault("sim:t4", &code(2));
        assert!(fault.message.contains(REFUSED), "{uses}: {}", fault.message);
        assert!(
            fault.message.starts_with("Caught RuntimeError in DataLoader worker process 0."),
            "{}",
            fault.message
        );
        assert!(fault.hint.unwrap().contains("copy each batch in the loop"), "{uses}");
    }
}

#[test]
fn what_workers_prepare_goes_to_the_device_in_the_loop() {
    let code = "
        let rows = data::Dataset(6, |i| ones([4]) * i);
        let x = zeros([4], #{device: \"cuda\"});
        for b in data::DataLoader(rows, #{batch_size: 2, num_workers: 2, pin_memory: true}) {
            x += b.to(\"cuda\", #{non_blocking: true}).sum(0);
        }
        x.tolist()";
    assert_eq!(on("sim:t4", code), "[15.0, 15.0, 15.0, 15.0]");
}

/// A worker asks for the default stream, whatever is current where the loader is.
#[test]
fn a_worker_starts_on_the_default_stream() {
    let code = "
        let rows = #{len: || 4, get: |i| cuda::current_stream().id};
        let s = cuda::Stream(); let seen = [];
        with cuda::stream(s) { for b in data::DataLoader(rows, #{num_workers: 2}) { seen += b.tolist(); } }
        seen";
    assert_eq!(on("sim:t4", code), "[0, 0, 0, 0]");
}
