//! Splits lists into pages.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};

use crate::error::{Error, Result};

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Pages {
    /// The maximum number of items on a page. `None` means no limit.
    pub(super) size: Option<usize>,
}

impl Pages {
    pub(super) fn page<'a, T>(
        self,
        items: &'a [T],
        name: impl Fn(&T) -> &str,
        cursor: Option<&str>,
    ) -> Result<(&'a [T], Option<String>)> {
        let start = cursor.map_or(Ok(0), |cursor| start(items, &name, cursor))?;
        let rest = &items[start..];
        let Some(size) = self.size.filter(|size| *size < rest.len()) else {
            return Ok((rest, None));
        };
        let page = &rest[..size];
        let next = page.last().map(|last| write(start + size, name(last)));
        Ok((page, next))
    }
}

/// Returns the index at which the cursor's page begins.
///
/// A cursor holds the name and the index of the last item on the previous page. If the list has
/// changed in between, the name finds the place again, with as few repeated and skipped items as
/// possible. If the item is gone, the items after it have moved up, and the page begins at its
/// index.
pub(super) fn start<T>(items: &[T], name: impl Fn(&T) -> &str, cursor: &str) -> Result<usize> {
    let wrong = || Error::invalid_params("the cursor is not one this server gave");
    let (place, last) = read(cursor).ok_or_else(wrong)?;
    let is_last = |item: &T| name(item) == last;
    let before = place.saturating_sub(1);
    let found = match items.get(before) {
        Some(item) if is_last(item) => Some(before),
        _ => items.iter().position(is_last),
    };
    Ok(found.map_or(before, |at| at + 1).min(items.len()))
}

fn write(place: usize, last: &str) -> String {
    URL_SAFE_NO_PAD.encode(format!("{place} {last}"))
}

fn read(cursor: &str) -> Option<(usize, String)> {
    let text = String::from_utf8(URL_SAFE_NO_PAD.decode(cursor).ok()?).ok()?;
    let (place, last) = text.split_once(' ')?;
    Some((place.parse().ok()?, last.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn walk(pages: Pages, items: &[&str]) -> Vec<Vec<String>> {
        let mut seen = Vec::new();
        let mut cursor = None;
        loop {
            let (page, next) = pages.page(items, |item| item, cursor.as_deref()).unwrap();
            seen.push(page.iter().map(|item| (*item).to_owned()).collect());
            match next {
                Some(next) => cursor = Some(next),
                None => return seen,
            }
        }
    }

    #[test]
    fn every_item_is_on_exactly_one_page() {
        let items: Vec<String> = (0..7).map(|at| format!("item {at}")).collect();
        let items: Vec<&str> = items.iter().map(String::as_str).collect();
        for size in 1..=8 {
            let pages = walk(Pages { size: Some(size) }, &items);
            assert_eq!(pages.len(), items.len().div_ceil(size));
            assert_eq!(pages.concat(), items);
        }
        assert_eq!(walk(Pages { size: None }, &items).len(), 1);
        assert_eq!(walk(Pages { size: Some(3) }, &[]), [Vec::<String>::new()]);
    }

    // Shows PG-02.
    #[test]
    fn a_list_that_changes_goes_on_where_it_was() {
        let pages = Pages { size: Some(2) };
        let (_, next) = pages
            .page(&["a", "b", "c", "d"], |item| item, None)
            .unwrap();
        let cases: [(&[&str], &[&str]); 3] = [
            (&["0", "a", "b", "c"], &["c"]),
            (&["a", "c", "d"], &["c", "d"]),
            (&[], &[]),
        ];
        for (items, expected) in cases {
            let (page, _) = pages.page(items, |item| item, next.as_deref()).unwrap();
            assert_eq!(page, expected);
        }
    }

    // Shows PG-03.
    #[test]
    fn a_cursor_of_somebody_else_is_refused() {
        for cursor in ["", "1", "!", "AAAA", "bm90IGEgcGxhY2U"] {
            assert!(
                Pages::default()
                    .page(&["a"], |item| item, Some(cursor))
                    .is_err(),
                "{cursor}"
            );
        }
    }
}
