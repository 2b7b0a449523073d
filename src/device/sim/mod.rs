//! The simulated GPU: real values, modelled capacity, transfers and time.
