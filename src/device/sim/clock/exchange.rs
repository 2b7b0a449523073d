//! What passes between devices at once.

use crate::device::backend::Exchange;

use super::{Clock, ClockError, Span};
use crate::device::sim::cost;
use crate::device::sim::queues::Lane;

impl Clock {
    /// Has the devices' streams carry an exchange, on all of them at the same time: it begins when each stream has got
    /// there and the links are free, and the slowest link sets the pace. Holds neither host nor other streams.
    pub(in crate::device::sim) fn exchange(&mut self, exchange: &Exchange) -> Result<Span, ClockError> {
        let at: Vec<usize> = exchange.devices.iter().map(|device| device.index()).collect();
        let (mut step, mut hop, mut direct, mut start) = (0, 0, true, exchange.ready);
        for (from, to) in at.iter().zip(at.iter().cycle().skip(1)) {
            let (source, target) = (self.device(*from)?, self.device(*to)?);
            step = cost::peer(&source.profile, &target.profile, exchange.bytes).max(step);
            hop = cost::peer(&source.profile, &target.profile, 0).max(hop);
            direct &= source.profile.peer.access;
            start = start.max(source.free(exchange.stream));
        }
        let length = exchange.steps.saturating_mul(step).saturating_add(exchange.hops.saturating_mul(hop));
        let lanes: &[Lane] = if direct { &[Lane::ToPeer] } else { &[Lane::FromDevice, Lane::ToDevice] };
        loop {
            let before = start;
            for device in &at {
                for lane in lanes {
                    start = self.device_mut(*device)?.engines.lane(*lane).fit(start, length);
                }
            }
            if start == before {
                break;
            }
        }
        let end = start.saturating_add(length);
        for device in at {
            let device = self.device_mut(device)?;
            for lane in lanes {
                // An engine may serve both ways.
                if device.engines.lane(*lane).fit(start, length) == start {
                    device.engines.lane(*lane).book(start, length);
                }
            }
            device.advance(exchange.stream, end);
        }
        Ok(Span { start, end })
    }
}
