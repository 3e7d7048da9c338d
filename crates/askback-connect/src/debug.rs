//! What `Debug` prints of values that are secret, or that say who somebody is.

/// Has `Debug` print these fields of a type alone.
macro_rules! debug_only {
    ($($type:ident { $($field:ident),* })*) => {$(
        impl std::fmt::Debug for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.debug_struct(stringify!($type))
                    $(.field(stringify!($field), &self.$field))*
                    .finish_non_exhaustive()
            }
        }
    )*};
}

pub(crate) use debug_only;
