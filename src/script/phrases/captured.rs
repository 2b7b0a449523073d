//! Functions within methods: a closure has its variables, and not the object that the method is of.

use super::classes::replaced;
use super::lex::has_word;
use super::tree::Expr;
use super::writer::Writer;

impl Writer<'_> {
    /// What a closure in a method computes, with a variable in place of the object: the lines before it give it that.
    pub(super) fn captured(&mut self, value: String) -> String {
        if !self.objects.contains("self") || !has_word(&value.replace("..", " "), "self") {
            return value;
        }
        if self.changes_object(std::slice::from_ref(&value), "self") {
            self.mark("what a function within a method changes of the object is lost");
        }
        let own = self.free_name("own");
        let line = format!("let {own} = self;");
        if !self.prelude.contains(&line) {
            self.prelude.push(line);
        }
        replaced(&value, "self", &own)
    }

    /// A function that is called by what it is given to, and no more.
    pub(super) fn passed(&mut self, function: &Expr) -> Option<String> {
        let around = std::mem::replace(&mut self.passed, true);
        let text = self.expr(function);
        self.passed = around;
        text
    }

    /// The same for a function that may be called later: what the object is by then, it does not see.
    pub(super) fn kept_function(&mut self, value: String) -> String {
        let text = self.captured(value.clone());
        if text != value && !self.passed {
            self.mark("a function within a method has the object as it is now");
        }
        text
    }
}
