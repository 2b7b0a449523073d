//! Arguments of modules and methods: a closure is given every one that it takes.

use super::book::Idiom;
use super::functions::Parameter;
use super::options::is_map;
use super::tree::Arg;
use super::writer::{Holds, Writer};

impl Writer<'_> {
    /// Arguments of a module whose class is known: a closure takes every one, and the class says what stands for those
    /// that are not given.
    pub(super) fn forwarded(&mut self, of: &str, arguments: &[Arg]) -> Option<String> {
        let known = self.forwards.get(of).cloned().or_else(|| self.takes_of_any(of, arguments));
        let Some(params) = known else { return self.arguments(arguments) };
        if params.iter().any(|(param, _)| param.starts_with('*')) {
            let (names, defaults): (Vec<String>, Vec<Option<String>>) = params.into_iter().unzip();
            self.defaults.insert(of.to_owned(), defaults);
            return self.collected(of, &names, arguments);
        }
        if let [before @ .., Arg { spread: true, value: rest, name: None }] = arguments {
            return self.spread_over(&params, before, rest);
        }
        let place = |(at, argument): (usize, &Arg)| match &argument.name {
            Some(name) => params.iter().position(|(param, _)| param == name),
            None => Some(at),
        };
        if arguments.iter().any(is_map) {
            return self.by_names(&params, arguments);
        }
        let places: Option<Vec<usize>> = arguments.iter().enumerate().map(place).collect();
        let Some(places) = places.filter(|_| !arguments.iter().any(|argument| argument.spread)) else {
            return self.arguments(arguments);
        };
        let mut all: Vec<Option<String>> = params.into_iter().map(|(_, default)| default).collect();
        for (argument, at) in arguments.iter().zip(places) {
            let handed = self.handed.len();
            self.note_object(&argument.value);
            // A method that changes it says so itself.
            self.handed.truncate(handed);
            *all.get_mut(at)? = Some(self.expr(&argument.value)?);
        }
        Some(all.into_iter().collect::<Option<Vec<String>>>()?.join(", "))
    }

    /// What a module of which nothing is known takes: what every class of the program's does that may be given so much.
    fn takes_of_any(&mut self, of: &str, arguments: &[Arg]) -> Option<Vec<Parameter>> {
        const OTHERS: [&str; 6] = ["loss", "crit", "act", "norm", "layer", "pool"];
        let is_unknown = self.python && self.holds(of) == Some(Holds::Other) && !self.made.contains_key(of);
        let is_network = self.of_unknown(of, arguments).0 == Idiom::Forward;
        (is_unknown && is_network && !OTHERS.iter().any(|part| of.contains(part))).then_some(())?;
        let takes = |params: &&Vec<Parameter>| {
            let needed = params.iter().filter(|(_, default)| default.is_none()).count();
            (needed..=params.len()).contains(&arguments.len())
        };
        let classes = self.fields.keys().filter_map(|class| self.forwards.get(class));
        let all: Vec<&Vec<Parameter>> = classes.filter(takes).collect();
        let rest = |params: &Vec<Parameter>| -> Vec<Option<String>> {
            params.iter().skip(arguments.len()).map(|(_, default)| default.clone()).collect()
        };
        let first = (*all.first()?).clone();
        if all.iter().all(|params| rest(params) == rest(&first)) {
            return (first.len() > arguments.len()).then_some(first);
        }
        self.mark(&format!("`{of}` may take more than it is given here"));
        None
    }
}
