//! What a kernel does, as far as its text tells. A family of forms is a table beside the planners that launch them.

use std::cell::Cell;
use std::fmt;
use std::hash::{Hash, Hasher};

use super::compute::Types;
use super::recipe::Recipe;

/// A form of some family: its row, and what its text depends on. Forms are equal where both are.
#[derive(Clone, Copy)]
pub(super) struct Form {
    row: &'static FormRow,
    fields: [u8; 3],
}

/// A row of a family's table, as [`forms!`] makes it.
pub(super) struct FormRow {
    /// Its family's name and its own.
    pub name: &'static str,
    /// How the text of a kernel of this form comes about.
    pub recipe: fn(&Fields, &Types) -> Recipe,
}

/// A form's fields, in order.
pub(super) struct Fields {
    codes: [u8; 3],
    next: Cell<usize>,
}

/// What a form can depend on: a value that a byte holds.
pub(super) trait Field: Copy {
    fn code(self) -> u8;

    /// The value with a code that [`Field::code`] gave.
    fn of(code: u8) -> Self;
}

impl Form {
    /// A form with the codes of its fields.
    pub(super) fn new<const N: usize>(row: &'static FormRow, codes: [u8; N]) -> Form {
        const { assert!(N <= 3, "a form has up to three fields") };
        let mut fields = [0; 3];
        fields.iter_mut().zip(codes).for_each(|(field, code)| *field = code);
        Form { row, fields }
    }

    /// How the text of a kernel of this form comes about.
    pub(super) fn recipe(self, types: &Types) -> Recipe {
        (self.row.recipe)(&Fields { codes: self.fields, next: Cell::new(0) }, types)
    }
}

impl Fields {
    /// The next field.
    pub(super) fn take<F: Field>(&self) -> F {
        let at = self.next.replace(self.next.get() + 1);
        F::of(self.codes.get(at).copied().unwrap_or_default())
    }
}

impl PartialEq for Form {
    fn eq(&self, other: &Form) -> bool {
        std::ptr::eq(self.row, other.row) && self.fields == other.fields
    }
}

impl Eq for Form {}

impl Hash for Form {
    fn hash<H: Hasher>(&self, state: &mut H) {
        std::ptr::from_ref(self.row).hash(state);
        self.fields.hash(state);
    }
}

impl fmt::Debug for Form {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}{:?}", self.row.name, self.fields)
    }
}

impl Field for bool {
    fn code(self) -> u8 {
        u8::from(self)
    }

    fn of(code: u8) -> bool {
        code != 0
    }
}

impl Field for u8 {
    fn code(self) -> u8 {
        self
    }

    fn of(code: u8) -> u8 {
        code
    }
}

// A family of forms, one row each: the form with what its text depends on, the recipe of its text, and the cases that
// the catalogue has of it. A field comes with the values that it takes in the catalogue, and a recipe may ask the types
// of the kernel's operands.
macro_rules! forms {
    (@each $what:block) => { $what };
    (@each $what:block $field:ident in $values:expr, $($rest:tt)*) => {
        for $field in $values {
            forms!(@each $what $($rest)*);
        }
    };
    ($(#[$about:meta])* $family:ident($types:ident) {
        $(
            $(#[$doc:meta])*
            $form:ident $({ $($field:ident: $type:ident in $values:expr),* })? => $recipe:expr, $cases:expr;
        )*
    }) => {
        $(#[$about])*
        #[derive(Clone, Copy)]
        pub(super) enum $family {
            $($(#[$doc])* $form $({ $($field: $type),* })?,)*
        }

        impl From<$family> for $crate::device::cuda::kernels::form::Form {
            fn from(form: $family) -> Self {
                use $crate::device::cuda::kernels::form::{Form, FormRow};
                match form {
                    $($family::$form $({ $($field),* })? => {
                        static ROW: FormRow = FormRow {
                            name: concat!(stringify!($family), "::", stringify!($form)),
                            recipe: |fields, $types| {
                                let _ = (fields, $types);
                                $($(let $field: $type = fields.take();)*)?
                                $recipe
                            },
                        };
                        Form::new(&ROW, [$($($crate::device::cuda::kernels::form::Field::code($field)),*)?])
                    })*
                }
            }
        }

        impl $family {
            /// Each form with what it is compiled for.
            pub(super) fn every() -> Vec<(
                $crate::device::cuda::kernels::form::Form,
                $crate::device::cuda::kernels::cases::Cases,
            )> {
                let mut all = Vec::new();
                $(
                    forms!(@each {
                        all.push(($family::$form $({ $($field),* })?.into(), $cases));
                    } $($($field in $values,)*)?);
                )*
                all
            }
        }
    };
}
pub(super) use forms;
