//! The screens, one file each: what they hold, their contexts, actions and keys.

pub(crate) mod home;
pub(crate) mod keys;
pub(crate) mod machine;
pub(crate) mod work;

use crate::lab::model::actions::OwnAction;
use crate::lab::model::context::{Context, Together};
use crate::lab::model::screens::home::Home;
use crate::lab::model::screens::keys::ScreenKeys;

/// What fills the terminal.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Screen {
    /// The lesson or notebook, with its panes.
    #[default]
    Work,
    Machine,
    Home,
}

/// What screens hold beside what is open.
#[derive(Debug, Default)]
pub(crate) struct ScreenStates {
    pub home: Home,
}

impl Screen {
    /// In the order of their keys.
    pub(crate) const ALL: [Screen; 3] = [Screen::Work, Screen::Machine, Screen::Home];

    pub(crate) const fn keys(self) -> &'static ScreenKeys {
        match self {
            Screen::Work => &work::KEYS,
            Screen::Machine => &machine::KEYS,
            Screen::Home => &home::KEYS,
        }
    }

    /// The screen that a context is of: the first on which it holds.
    pub(crate) fn of(context: &Context) -> Option<Screen> {
        Screen::ALL.into_iter().find(|screen| screen.has(context))
    }

    /// Whether a context may hold here.
    pub(crate) fn has(self, context: &Context) -> bool {
        self.keys().together.iter().any(|all| all.contains(&context))
    }

    /// Whether it shows panes; every other screen is alone between header and key bar.
    pub(crate) fn has_panes(self) -> bool {
        self == Screen::Work
    }
}

impl ScreenStates {
    /// The contexts that hold on a screen; `None` where the panes decide.
    pub(crate) fn contexts(&self, screen: Screen) -> Option<Together> {
        match screen {
            Screen::Work => None,
            Screen::Machine => Some(machine::HOLDING),
            Screen::Home => Some(self.home.contexts()),
        }
    }

    /// Whether an action of some screen can be done now.
    pub(crate) fn offers(&self, action: OwnAction) -> bool {
        self.home.offers(action)
    }
}
