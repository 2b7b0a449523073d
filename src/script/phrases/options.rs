//! What a call is given by names: `**options`, and more than a function names.

use super::book::Idiom;
use super::reserved;
use super::tree::Arg;
use super::writer::{Holds, Writer};

/// Whether an argument is a map of arguments: `**options`.
pub(super) fn is_map(argument: &Arg) -> bool {
    argument.name.as_deref() == Some("**")
}

impl Writer<'_> {
    /// Arguments of a function that takes any number: what is more goes in an array, and what has a name in a map.
    pub(super) fn collected(
        &mut self,
        function: &str,
        params: &[String],
        arguments: &[Arg],
    ) -> Option<String> {
        self.uses(Idiom::Rest);
        let own = params.iter().take_while(|param| !param.starts_with('*')).count();
        let (mut all, mut rest, mut named) = (Vec::new(), Vec::new(), Vec::new());
        let (mut given, mut options, mut by_name) = (None, None, Vec::new());
        // Those that stand behind `*args` are given by their names.
        let mut behind: Vec<Option<String>> = self.defaults.get(function).cloned().unwrap_or_default();
        behind.resize(params.len(), None);
        for argument in arguments {
            let value = self.expr(&argument.value)?;
            let place = params.iter().position(|param| Some(param) == argument.name.as_ref());
            if let Some(place) = place.filter(|place| *place != own && *place >= all.len()) {
                *behind.get_mut(place)? = Some(value);
                by_name.push(place);
                continue;
            }
            match &argument.name {
                // What is handed on as it was taken.
                None if argument.spread && rest.is_empty() && given.is_none() && all.len() == own => {
                    given = Some(value);
                }
                Some(name) if name == "**" && named.is_empty() && options.is_none() => options = Some(value),
                _ if argument.spread || argument.name.as_ref().is_some_and(|name| params.contains(name)) => {
                    return None;
                }
                Some(name) => named.push(format!("{name}: {value}")),
                None if all.len() < own => all.push(value),
                None if given.is_none() => rest.push(value),
                None => return None,
            }
        }
        // A map has those as well that are given by no name of their own.
        if let Some(map) = options.as_mut() {
            *map = self.once(map);
            for at in (all.len()..own).chain(own + 1..params.len()).filter(|at| !by_name.contains(at)) {
                let Some(param) = params.get(at).filter(|param| !param.starts_with('*')) else { continue };
                let default = behind.get(at).cloned().flatten();
                *behind.get_mut(at)? = Some(of_map(map, param, default.as_deref()));
            }
        }
        for at in all.len()..own {
            all.push(behind.get(at).cloned().flatten()?);
        }
        for (param, behind) in params.iter().zip(behind).skip(own) {
            all.push(match param {
                param if param.starts_with("**") => {
                    options.take().unwrap_or_else(|| format!("#{{{}}}", named.join(", ")))
                }
                param if param.starts_with('*') => {
                    given.take().unwrap_or_else(|| format!("[{}]", rest.join(", ")))
                }
                _ => behind?,
            });
        }
        Some(all.join(", "))
    }

    /// `f(a, **options)` of a function that names all that it takes: what has no value of its own is asked for by its name.
    pub(super) fn by_names(
        &mut self,
        params: &[(String, Option<String>)],
        arguments: &[Arg],
    ) -> Option<String> {
        self.uses(Idiom::Options);
        let mut given: Vec<Option<String>> = vec![None; params.len()];
        let mut maps = Vec::new();
        for (at, argument) in arguments.iter().enumerate() {
            (!argument.spread).then_some(())?;
            if is_map(argument) {
                maps.push(self.bound(&argument.value, 150)?);
                continue;
            }
            let is = |param: &str, name: &str| param == name || param.strip_suffix('_') == Some(name);
            let place = match &argument.name {
                Some(name) => params.iter().position(|(param, _)| is(param, name))?,
                None => at,
            };
            *given.get_mut(place)? = Some(self.expr(&argument.value)?);
        }
        let map = self.once(&maps.join(" + "));
        let all = params.iter().zip(given).map(|((param, default), given)| match (given, default) {
            (Some(given), _) => given,
            // A closure that is given itself.
            (None, Some(own)) if own == param => own.clone(),
            (None, default) => of_map(&map, param, default.as_deref()),
        });
        Some(all.collect::<Vec<_>>().join(", "))
    }

    /// A value that is read several times: a variable of its own, where it is none.
    fn once(&mut self, text: &str) -> String {
        if text.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '.')) {
            return text.to_owned();
        }
        let own = self.free_name("options");
        self.bind(&own, Holds::Map);
        self.prelude.push(format!("let {own} = {text};"));
        own
    }
}

/// What a map has by a parameter's name, or what stands for that where it has none.
fn of_map(map: &str, param: &str, default: Option<&str>) -> String {
    let value = match param.strip_suffix('_').filter(|name| reserved::is_kept(name)) {
        Some(name) => format!("{map}[\"{name}\"]"),
        None => format!("{map}.{param}"),
    };
    match default {
        Some(default) => format!("{value} ?? {default}"),
        None => value,
    }
}
