//! Setters for the title, description and icons that clients show.

/// Adds the setters of title, description and icons to a type whose `$field` holds them.
macro_rules! described {
    ($type:ident.$field:ident: $description:literal) => {
        impl $type {
            /// Sets the title that users see.
            #[must_use = "it is given back with the change"]
            pub fn title(mut self, title: impl Into<String>) -> Self {
                self.$field.title = Some(title.into());
                self
            }

            #[doc = $description]
            #[must_use = "it is given back with the change"]
            pub fn description(mut self, description: impl Into<String>) -> Self {
                self.$field.description = Some(description.into());
                self
            }

            /// Adds an icon.
            #[must_use = "it is given back with the change"]
            pub fn icon(mut self, icon: askback_core::protocol::Icon) -> Self {
                self.$field.icons.get_or_insert_default().push(icon);
                self
            }
        }
    };
}

pub(super) use described;
