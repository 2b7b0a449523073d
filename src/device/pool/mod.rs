//! temporary
pub trait Memory: Send {
    fn allocate(&mut self, bytes: u64) -> Option<u64>;
    fn free(&mut self, address: u64, bytes: u64);
    fn total(&self) -> u64;
    fn available(&self) -> u64;
}
pub struct Pool<M: Memory>(M);
pub struct SegmentChange {
    pub address: u64,
    pub bytes: u64,
    pub mapped: bool,
}
impl Memory for Box<dyn Memory + Send> {
    fn allocate(&mut self, b: u64) -> Option<u64> {
        (**self).allocate(b)
    }
    fn free(&mut self, a: u64, b: u64) {
        (**self).free(a, b)
    }
    fn total(&self) -> u64 {
        (**self).total()
    }
    fn available(&self) -> u64 {
        (**self).available()
    }
}
impl<M: Memory> Pool<M> {
    pub fn allocated(&self) -> u64 {
        0
    }
    pub fn reserved(&self) -> u64 {
        0
    }
    pub fn take_changes(&mut self) -> Vec<SegmentChange> {
        Vec::new()
    }
    pub fn empty_cache(&mut self) {}
    pub fn reset_peak(&mut self) {}
}
