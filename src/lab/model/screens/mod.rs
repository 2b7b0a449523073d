//! The screens, one file each: contexts and keys.

pub(crate) mod home;
pub(crate) mod keys;
pub(crate) mod machine;
pub(crate) mod work;

use crate::lab::model::screens::keys::ScreenKeys;

/// Every screen, in the order of their keys.
pub(crate) const SCREENS: [&ScreenKeys; 3] = [&work::KEYS, &machine::KEYS, &home::KEYS];
