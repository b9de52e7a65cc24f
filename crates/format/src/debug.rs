//! `Debug` of types that show more, or less, than their fields.

/// Implements `Debug` for a struct by named values: `debug_struct!(Name, it => { id: it.id() });`.
macro_rules! debug_struct {
    ($name:ident $(<$lifetime:lifetime>)?, $it:ident => { $($field:ident: $value:expr,)+ }) => {
        impl ::std::fmt::Debug for $name $(<$lifetime>)? {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                let $it = self;
                f.debug_struct(stringify!($name))
                    $(.field(stringify!($field), &$value))+
                    .finish_non_exhaustive()
            }
        }
    };
}

pub(crate) use debug_struct;
