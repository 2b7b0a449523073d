//! Cells and documents.
