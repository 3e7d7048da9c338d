//! A macro for the structs of messages.

/// Defines structs whose members have the names of the protocol, in `camelCase`.
///
/// - `name: T;` is a member that is required.
/// - `name?: T;` is an `Option<T>` that is not written if it is `None`; with `= "path"`, it is read by that function.
///   Only then it has a default: a struct whose members all have one could be read from `[]`.
/// - `meta;` is the `_meta`, and implements [`HasMeta`](super::HasMeta). It comes last.
macro_rules! messages {
    ($($(#[$attr:meta])* struct $name:ident { $($members:tt)* })*) => {
        $($crate::protocol::messages::messages! { @of ($(#[$attr])*) $name {} $($members)* })*
    };
    (@of ($($head:tt)*) $name:ident { $($fields:tt)* }) => {
        $($head)*
        #[derive(Debug, Clone, PartialEq, serde::Serialize)]
        #[serde(rename_all = "camelCase")]
        pub struct $name { $($fields)* }
    };
    (@of $head:tt $name:ident { $($fields:tt)* } meta $(= $read:tt)?;) => {
        $crate::protocol::messages::messages! { @of $head $name { $($fields)*
            /// The `_meta`.
            #[serde(rename = "_meta", skip_serializing_if = "Option::is_none" $(, default, deserialize_with = $read)?)]
            pub meta: Option<alloc::boxed::Box<$crate::protocol::Meta>>,
        } }
        $crate::protocol::meta::has_meta! { $name }
    };
    (@of $head:tt $name:ident { $($fields:tt)* }
        $(#[$attr:meta])* $field:ident?: $type:ty $(= $read:tt)?; $($rest:tt)*) => {
        $crate::protocol::messages::messages! { @of $head $name { $($fields)*
            $(#[$attr])*
            #[serde(skip_serializing_if = "Option::is_none" $(, default, deserialize_with = $read)?)]
            pub $field: Option<$type>,
        } $($rest)* }
    };
    (@of $head:tt $name:ident { $($fields:tt)* }
        $(#[$attr:meta])* $field:ident: $type:ty; $($rest:tt)*) => {
        $crate::protocol::messages::messages! { @of $head $name { $($fields)*
            $(#[$attr])*
            pub $field: $type,
        } $($rest)* }
    };
}
pub(super) use messages;
