//! Figures as descriptions, drawn to PNG, SVG or text.
pub struct Figure;
