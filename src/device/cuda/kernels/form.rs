//! What a kernel does, as far as its text tells. Each family of forms is a table beside the planners that launch them.

use super::catalogue::Cases;
use super::convolution::ConvForm;
use super::create::CreateForm;
use super::index::IndexForm;
use super::key::Key;
use super::lines::LineForm;
use super::loss::LossForm;
use super::map::MapForm;
use super::matmul::MatmulForm;
use super::optimise::OptimiseForm;
use super::pooling::PoolForm;
use super::recipe::Recipe;
use super::reduce::ReduceForm;

// A family of forms, one row each: the form with what its text depends on, the recipe of its text, and the cases that
// the catalogue has of it. A field comes with the values that it takes in the catalogue, and a recipe may ask the key.
macro_rules! forms {
    (@each $what:block) => { $what };
    (@each $what:block $field:ident in $values:expr, $($rest:tt)*) => {
        for $field in $values {
            forms!(@each $what $($rest)*);
        }
    };
    ($(#[$about:meta])* $family:ident($key:pat_param) {
        $(
            $(#[$doc:meta])*
            $form:ident $({ $($field:ident: $type:ident in $values:expr),* })? => $recipe:expr, $cases:expr;
        )*
    }) => {
        $(#[$about])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub(super) enum $family {
            $($(#[$doc])* $form $({ $($field: $type),* })?,)*
        }

        impl $family {
            pub(super) fn recipe(
                self,
                $key: &$crate::device::cuda::kernels::Key,
            ) -> $crate::device::cuda::kernels::recipe::Recipe {
                match self {
                    $($family::$form $({ $($field),* })? => $recipe,)*
                }
            }

            /// Each form with what it is compiled for.
            pub(super) fn every() -> Vec<($family, $crate::device::cuda::kernels::catalogue::Cases)> {
                let mut all = Vec::new();
                $(
                    forms!(@each {
                        all.push(($family::$form $({ $($field),* })?, $cases));
                    } $($($field in $values,)*)?);
                )*
                all
            }
        }
    };
}
pub(super) use forms;

macro_rules! families {
    ($($name:ident($family:ident)),* $(,)?) => {
        /// What a kernel does, by its family.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub(super) enum Form {
            $($name($family),)*
        }

        impl Form {
            /// How the text of a key of this form comes about.
            pub(super) fn recipe(self, key: &Key) -> Recipe {
                match self {
                    $(Form::$name(form) => form.recipe(key),)*
                }
            }

            /// Each form with what it is compiled for.
            pub(super) fn every() -> Vec<(Form, Cases)> {
                let mut all = Vec::new();
                $(all.extend($family::every().into_iter().map(|(form, cases)| (Form::$name(form), cases)));)*
                all
            }
        }

        $(
            impl From<$family> for Form {
                fn from(form: $family) -> Form {
                    Form::$name(form)
                }
            }
        )*
    };
}

families! {
    Map(MapForm),
    Create(CreateForm),
    Reduce(ReduceForm),
    Line(LineForm),
    Index(IndexForm),
    Loss(LossForm),
    Optimise(OptimiseForm),
    Pool(PoolForm),
    Matmul(MatmulForm),
    Conv(ConvForm),
}
