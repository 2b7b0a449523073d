//! Values that every layer shares: dtypes, shapes, layouts, errors, events.
