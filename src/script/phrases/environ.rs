//! The environment: what a launcher of ranks says in it is asked for here.

use super::book::Idiom;
use super::tree::{Arg, Expr};
use super::writer::Writer;

impl Writer<'_> {
    /// What the launcher of ranks says in the environment, as it is asked for here.
    pub(super) fn of_launcher(&mut self, name: &Expr) -> Option<String> {
        let Expr::Text(name) = name else { return None };
        let here = match name.trim_matches(['"', '\'']) {
            "LOCAL_RANK" => "get_node_local_rank",
            "RANK" => "get_rank",
            "WORLD_SIZE" => "get_world_size",
            _ => return None,
        };
        self.uses(Idiom::LocalRank);
        Some(format!("distributed::{here}()"))
    }

    /// `os.environ.get("RANK")` and `os.getenv("RANK")`.
    pub(super) fn of_environment(&mut self, name: &str, arguments: &[Arg]) -> Option<String> {
        let ("get" | "getenv", [name, default @ ..]) = (name, arguments) else { return None };
        let text = self.of_launcher(&name.value)?;
        // The number of a rank on its computer has a default as well.
        match default {
            [default] if text.contains("local") => {
                let default = self.expr(&default.value)?;
                Some(text.replace("()", &format!("({})", default.trim_matches('"'))))
            }
            _ => Some(text),
        }
    }
}
