//! The real GPU: probing, kernel templates and the place of the backend.
