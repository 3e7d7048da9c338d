use bytes::Bytes;
use http::HeaderValue;

/// The name, color and logo of the pages.
#[derive(Debug, Clone)]
pub struct Brand {
    pub(crate) name: String,
    pub(crate) color: [u8; 3],
    pub(crate) logo: Option<(HeaderValue, Bytes)>,
}

/// Why a color or a logo was rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BadBrand {
    /// Not a color such as `#1f4fd8`.
    #[error("a colour is written as # and six hexadecimal digits")]
    Color,
    /// The logo is too large, or is not an image that pages can show.
    #[error("a logo is a PNG, JPEG, WebP or SVG picture of at most 64 KiB")]
    Logo,
}

const LOGO: usize = 64 << 10;

impl Default for Brand {
    fn default() -> Self {
        Self {
            name: "This server".to_owned(),
            color: [0x1f, 0x4f, 0xd8],
            logo: None,
        }
    }
}

impl Brand {
    /// Creates a brand with this name.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            ..Self::default()
        }
    }

    /// Sets the color of buttons, such as `#1f4fd8`. Their text is black or white, whichever has more contrast.
    ///
    /// # Errors
    ///
    /// [`BadBrand::Color`].
    pub fn color(mut self, color: &str) -> Result<Self, BadBrand> {
        let digits = color.strip_prefix('#').filter(|it| it.len() == 6);
        let digits = digits.filter(|it| it.bytes().all(|c| c.is_ascii_hexdigit()));
        let number = digits.and_then(|it| u32::from_str_radix(it, 16).ok());
        let [_, red, green, blue] = number.ok_or(BadBrand::Color)?.to_be_bytes();
        self.color = [red, green, blue];
        Ok(self)
    }

    /// Sets the logo and its media type.
    ///
    /// # Errors
    ///
    /// [`BadBrand::Logo`].
    pub fn logo(mut self, media: &str, bytes: impl Into<Bytes>) -> Result<Self, BadBrand> {
        const KNOWN: [&str; 4] = ["image/png", "image/jpeg", "image/webp", "image/svg+xml"];
        let bytes = bytes.into();
        let media = KNOWN.iter().find(|known| **known == media);
        let media = media.filter(|_| bytes.len() <= LOGO);
        self.logo = Some((
            HeaderValue::from_static(media.ok_or(BadBrand::Logo)?),
            bytes,
        ));
        Ok(self)
    }

    /// The favicon: the logo, or a disc in the brand color.
    pub(crate) fn icon(&self) -> (HeaderValue, Bytes) {
        self.logo.clone().unwrap_or_else(|| {
            let disc = format!(
                r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 2 2"><circle cx="1" cy="1" r="1" fill="{}"/></svg>"#,
                self.written_color()
            );
            (HeaderValue::from_static("image/svg+xml"), disc.into())
        })
    }

    fn written_color(&self) -> String {
        let [red, green, blue] = self.color;
        format!("#{red:02x}{green:02x}{blue:02x}")
    }

    pub(crate) fn style(&self) -> String {
        let brand = self.written_color();
        let is_light = luminance(self.color) > 0.179;
        let on_brand = if is_light { "#000000" } else { "#ffffff" };
        include_str!("../templates/style.css")
            .replace("ONBRAND", on_brand)
            .replace("BRAND", &brand)
    }
}

/// The relative luminance of a color (WCAG 2.2). Above 0.179, black has more contrast with it.
fn luminance(color: [u8; 3]) -> f64 {
    let linear = |part: u8| {
        let part = f64::from(part) / 255.0;
        match part <= 0.040_45 {
            true => part / 12.92,
            false => ((part + 0.055) / 1.055).powf(2.4),
        }
    };
    let [red, green, blue] = color.map(linear);
    0.2126 * red + 0.7152 * green + 0.0722 * blue
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_on_a_button_is_easy_to_read() {
        for (color, expected) in [
            ("#000000", "--on-brand: #ffffff"),
            ("#1f4fd8", "--on-brand: #ffffff"),
            ("#ffffff", "--on-brand: #000000"),
            ("#ffd500", "--on-brand: #000000"),
        ] {
            let style = Brand::new("x").color(color).unwrap().style();
            assert!(style.contains(expected) && style.contains(&format!("--brand: {color}")));
        }
    }

    #[test]
    fn a_tab_has_the_logo_or_the_colour() {
        let brand = Brand::new("x").color("#ffd500").unwrap();
        let (media, bytes) = brand.icon();
        let text = String::from_utf8_lossy(&bytes);
        assert!(
            media == "image/svg+xml" && text.contains("#ffd500"),
            "{text}"
        );
        let brand = brand.logo("image/png", "png").unwrap();
        assert_eq!(brand.icon().0, "image/png");
    }

    #[test]
    fn what_is_no_colour_or_logo_is_refused() {
        for color in [
            "", "red", "#fff", "#gggggg", "#1f4fd", "#1f4fd8;", "#+f4fd8",
        ] {
            assert_eq!(Brand::new("x").color(color).unwrap_err(), BadBrand::Color);
        }
        for (media, length) in [("text/html", 1), ("image/png", LOGO + 1)] {
            let logo = Brand::new("x").logo(media, vec![0; length]);
            assert_eq!(logo.unwrap_err(), BadBrand::Logo);
        }
        assert!(Brand::new("x").logo("image/png", vec![0; LOGO]).is_ok());
    }
}
