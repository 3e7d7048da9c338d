//! QR codes for links, for a phone's camera.

use qrcode::{EcLevel, QrCode, render::unicode::Dense1x2};

use crate::{
    page::{Page, Style},
    text::{Words, given},
};

/// The width of the light margin around the code, in modules. QR codes need it to be found.
const MARGIN: usize = 4;

pub(crate) fn put(page: &mut Page, url: &str) {
    let Some(rows) = rows(url, page.look().columns) else {
        let words = "the link is too long for a code on a terminal of this width";
        return page.item("× ", Style::Error, words);
    };
    for row in rows {
        // Not wrapped, even if the page counts a block character as two columns: a terminal that
        // draws it that wide cannot show the code anyway.
        page.line(row);
    }
}

/// The rows of a link's code, each two modules high; `None` if it is wider than `columns`.
///
/// Light modules are drawn and dark modules are blank, because most terminals are dark.
fn rows(url: &str, columns: usize) -> Option<Vec<Words>> {
    let code = QrCode::with_error_correction_level(url, EcLevel::L).ok()?;
    let width = code.width();
    let whole = width.saturating_add(MARGIN.saturating_mul(2));
    if whole > columns {
        return None;
    }
    let mut drawn = code.render::<Dense1x2>();
    drawn
        .dark_color(Dense1x2::Light)
        .light_color(Dense1x2::Dark);
    let rows = drawn.build();
    Some(rows.lines().map(given).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(rows: &[Words]) -> Option<String> {
        let dark = |upper: bool, c: char| match c {
            '█' => false,
            '▀' => !upper,
            '▄' => upper,
            _ => true,
        };
        let modules: Vec<Vec<bool>> = rows
            .iter()
            .flat_map(|row| {
                [true, false].map(|half| row.as_str().chars().map(|c| dark(half, c)).collect())
            })
            .collect();
        const SCALE: usize = 4;
        let (width, height) = (
            modules[0].len().saturating_mul(SCALE),
            modules.len().saturating_mul(SCALE),
        );
        let mut image = rqrr::PreparedImage::prepare_from_greyscale(width, height, |x, y| {
            if modules[y / SCALE][x / SCALE] {
                0
            } else {
                255
            }
        });
        let grids = image.detect_grids();
        let (_, text) = grids.first()?.decode().ok()?;
        Some(text)
    }

    #[test]
    fn a_telephone_reads_the_link() {
        for path in [1, 40, 200, 500] {
            let url = format!("https://example.com/{}", "a".repeat(path));
            let rows = rows(&url, 200).expect("it fits");
            assert_eq!(read(&rows), Some(url));
        }
    }

    #[test]
    fn a_code_that_does_not_fit_is_not_drawn() {
        let widest = |url: &str| (1..300).find(|&columns| rows(url, columns).is_some());
        // 25 modules and two margins.
        assert_eq!(widest("https://example.com/"), Some(33));
        let longest = format!("https://example.com/{}", "a".repeat(3000));
        assert_eq!(widest(&longest), None);
    }
}
