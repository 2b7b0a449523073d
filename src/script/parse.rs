//! Code as a session parses it, without a machine and without evaluating anything.

use rhai::{AST, Engine, ParseError};

use super::{engine, rewrite, syntax};

/// Rhai's parser with what the language adds to it.
pub(crate) struct Parser(Engine);

impl Default for Parser {
    fn default() -> Parser {
        let mut engine = Engine::new_raw();
        engine::limit(&mut engine, &engine::Limits::default());
        syntax::register(&mut engine);
        Parser(engine)
    }
}

impl Parser {
    /// Of the code of checks, which have `call` for what the learner wrote.
    pub(crate) fn of_checks() -> Parser {
        let Parser(mut engine) = Parser::default();
        syntax::free_call(&mut engine, syntax::CALL);
        Parser(engine)
    }

    /// The tree of some code.
    ///
    /// # Errors
    /// Where and why it is no code.
    pub(crate) fn tree(&self, code: &str) -> Result<AST, ParseError> {
        self.0.compile(rewrite::prepared(&self.0, code))
    }
}
