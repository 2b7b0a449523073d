//! What is ordered before what: a vector clock for each stream and one for the host.
//!
//! The threads of the host count as one: what one of them has waited for, the others have seen.

use std::sync::Arc;

use crate::base::Device;

/// How far each stream was known to have come, by its lane.
type VectorClock = Vec<u64>;

/// A moment of a stream's work: what is done once it is reached.
#[derive(Clone, Debug)]
pub(crate) struct Moment(Arc<[u64]>);

/// A step of a stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct StreamStep {
    pub lane: usize,
    pub count: u64,
}

/// The orders of a machine.
#[derive(Debug, Default)]
pub(super) struct Orders {
    lanes: Vec<StreamClock>,
    host: VectorClock,
    /// Counts what the host has learnt.
    lessons: u64,
    /// Some device has several streams.
    pub has_side_streams: bool,
}

/// A stream.
#[derive(Debug)]
struct StreamClock {
    device: Device,
    stream: u32,
    /// Steps so far.
    count: u64,
    /// What its next step comes after.
    known: VectorClock,
    /// What it has of the host's.
    lessons: u64,
}

impl Orders {
    /// The stream's number; it starts with what the host knows.
    pub(super) fn lane(&mut self, device: Device, stream: u32) -> usize {
        let found = self.lanes.iter().position(|lane| lane.stream == stream && lane.device == device);
        found.unwrap_or_else(|| {
            let (known, lessons) = (self.host.clone(), self.lessons);
            self.has_side_streams |= self.lanes.iter().any(|lane| lane.device == device);
            self.lanes.push(StreamClock { device, stream, count: 0, known, lessons });
            self.lanes.len() - 1
        })
    }

    /// The stream of that number.
    pub(super) fn stream(&self, lane: usize) -> (Device, u32) {
        self.lanes.get(lane).map_or((Device::Cpu, 0), |lane| (lane.device, lane.stream))
    }

    /// The stream goes on by one piece of work, which comes after all that the host knows.
    pub(super) fn step(&mut self, lane: usize) -> StreamStep {
        self.learn(lane);
        let count = self.lanes.get_mut(lane).map_or(0, |lane| {
            lane.count += 1;
            lane.count
        });
        StreamStep { lane, count }
    }

    /// Whether a step is done before the next one of `lane` begins, or before the host goes on.
    pub(super) fn is_before(&mut self, step: StreamStep, lane: Option<usize>) -> bool {
        let known = match lane {
            Some(lane) if lane == step.lane => return true,
            Some(lane) => {
                self.learn(lane);
                self.lanes.get(lane).map(|lane| &lane.known)
            }
            None => Some(&self.host),
        };
        known.and_then(|known| known.get(step.lane)).is_some_and(|count| *count >= step.count)
    }

    /// The stream's present end.
    pub(super) fn moment(&mut self, lane: usize) -> Moment {
        self.learn(lane);
        let Some(found) = self.lanes.get(lane) else { return Moment(Arc::default()) };
        let mut all = found.known.clone();
        raise(&mut all, lane, found.count);
        Moment(all.into())
    }

    /// The stream's next step comes after the moment.
    pub(super) fn wait(&mut self, lane: usize, moment: &Moment) {
        if let Some(lane) = self.lanes.get_mut(lane) {
            join(&mut lane.known, &moment.0);
        }
    }

    /// The host has come past the moment.
    pub(super) fn host_waits(&mut self, moment: &Moment) {
        join(&mut self.host, &moment.0);
        self.lessons += 1;
    }

    /// The host has waited for a stream, or for all of a device.
    pub(super) fn host_waits_for(&mut self, device: Device, stream: Option<u32>) {
        let wanted = |lane: &StreamClock| lane.device == device && stream.is_none_or(|s| s == lane.stream);
        for lane in 0..self.lanes.len() {
            if self.lanes.get(lane).is_some_and(wanted) {
                let moment = self.moment(lane);
                self.host_waits(&moment);
            }
        }
    }

    /// A stream of the same device that came to wait for a step of `lane`'s, and has since done what nothing of `lane`'s
    /// comes after.
    pub(super) fn unjoined(&self, step: StreamStep) -> Option<u32> {
        let origin = self.lanes.get(step.lane)?;
        let is_open = |(at, other): (usize, &StreamClock)| {
            let waited = other.known.get(step.lane).is_some_and(|count| *count >= step.count);
            let joined = origin.known.get(at).is_some_and(|count| *count >= other.count);
            (at != step.lane && other.device == origin.device && waited && !joined).then_some(other.stream)
        };
        self.lanes.iter().enumerate().find_map(is_open)
    }

    /// What the host knows, the stream's next step comes after.
    fn learn(&mut self, lane: usize) {
        if let Some(lane) = self.lanes.get_mut(lane).filter(|lane| lane.lessons != self.lessons) {
            lane.lessons = self.lessons;
            join(&mut lane.known, &self.host);
        }
    }
}

fn join(known: &mut VectorClock, other: &[u64]) {
    for (lane, count) in other.iter().enumerate() {
        raise(known, lane, *count);
    }
}

fn raise(known: &mut VectorClock, lane: usize, count: u64) {
    if known.len() <= lane {
        known.resize(lane + 1, 0);
    }
    if let Some(at) = known.get_mut(lane) {
        *at = (*at).max(count);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GPU: Device = Device::Cuda(0);

    #[test]
    fn order_goes_through_events_streams_and_the_host() {
        let mut orders = Orders::default();
        let [a, b, c] = [0, 1, 2].map(|stream| orders.lane(GPU, stream));
        let first = orders.step(a);
        assert!(orders.is_before(first, Some(a)) && !orders.is_before(first, Some(b)));
        let moment = orders.moment(a);
        orders.wait(b, &moment);
        assert!(orders.is_before(first, Some(b)) && !orders.is_before(first, Some(c)));
        let later = orders.step(a);
        assert!(!orders.is_before(later, Some(b)), "the event came before");
        let through = orders.moment(b);
        orders.wait(c, &through);
        assert!(orders.is_before(first, Some(c)) && !orders.is_before(first, None));
        orders.host_waits_for(GPU, Some(2));
        assert!(orders.is_before(first, None) && !orders.is_before(later, None));
        let new = orders.lane(GPU, 3);
        assert!(orders.is_before(first, Some(new)), "a stream starts with what the host knows");
        orders.host_waits_for(GPU, None);
        assert!(orders.is_before(later, Some(new)) && orders.is_before(later, Some(b)));
    }

    #[test]
    fn only_streams_of_one_device_are_beside_each_other() {
        let mut orders = Orders::default();
        orders.lane(GPU, 0);
        orders.lane(Device::Cuda(1), 0);
        assert!(!orders.has_side_streams);
        orders.lane(Device::Cuda(1), 4);
        assert!(orders.has_side_streams);
    }
}
