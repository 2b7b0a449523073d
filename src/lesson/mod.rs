//! Lessons: format, checks, verdicts.
