//! Work that was written down and runs as one.

use std::ffi::c_int;

use crate::launches::log;
use crate::streams::{self, Captured, Work};
use crate::{CAPTURE_UNSUPPORTED, INVALID_VALUE, put, state};

#[unsafe(no_mangle)]
pub extern "C" fn cuStreamBeginCapture_v2(stream: usize, _mode: c_int) -> c_int {
    streams::lock().begin_capture(stream)
}
#[unsafe(no_mangle)]
pub extern "C" fn cuStreamEndCapture(stream: usize, graph: *mut *mut Captured) -> c_int {
    let Some(captured) = streams::lock().end_capture(stream) else { return INVALID_VALUE };
    if captured.broken {
        return CAPTURE_UNSUPPORTED;
    }
    put(graph, Box::into_raw(Box::new(captured)))
}
#[unsafe(no_mangle)]
pub extern "C" fn cuGraphInstantiateWithFlags(
    whole: *mut *mut Captured,
    graph: *const Captured,
    _: u64,
) -> c_int {
    let Captured { tasks, lines, .. } = unsafe { &*graph };
    let copy = Captured { tasks: tasks.clone(), lines: lines.clone(), broken: false };
    put(whole, Box::into_raw(Box::new(copy)))
}
#[unsafe(no_mangle)]
pub extern "C" fn cuGraphLaunch(whole: *const Captured, stream: usize) -> c_int {
    let whole = unsafe { &*whole };
    log(&format!("graph of {}", whole.lines.len()));
    whole.lines.iter().for_each(|line| log(line));
    let mut all = streams::lock();
    let code =
        whole.tasks.iter().map(|task| all.enqueue(stream, Work::Do(task.clone()))).find(|code| *code != 0);
    code.unwrap_or_else(state)
}
#[unsafe(no_mangle)]
pub extern "C" fn cuGraphExecDestroy(whole: *mut Captured) -> c_int {
    drop(unsafe { Box::from_raw(whole) });
    0
}
#[unsafe(no_mangle)]
pub extern "C" fn cuGraphDestroy(graph: *mut Captured) -> c_int {
    cuGraphExecDestroy(graph)
}
