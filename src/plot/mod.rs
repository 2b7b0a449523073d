//! Figures as descriptions, drawn to PNG, SVG or text.
