use syn::{Attribute, Expr, ExprLit, Lit, Meta};

/// Returns the text of the doc comments, with lines joined and paragraphs separated.
pub(crate) fn doc_comment(attributes: &[Attribute]) -> Option<String> {
    let mut text = String::new();
    let mut paragraph_ends = false;
    for line in attributes.iter().filter_map(doc_line) {
        let line = line.trim();
        if line.is_empty() {
            paragraph_ends = !text.is_empty();
            continue;
        }
        if paragraph_ends {
            text.push_str("\n\n");
        } else if !text.is_empty() {
            text.push(' ');
        }
        paragraph_ends = false;
        text.push_str(line);
    }
    (!text.is_empty()).then_some(text)
}

fn doc_line(attribute: &Attribute) -> Option<String> {
    let Meta::NameValue(meta) = &attribute.meta else {
        return None;
    };
    match &meta.value {
        Expr::Lit(ExprLit {
            lit: Lit::Str(line),
            ..
        }) if meta.path.is_ident("doc") => Some(line.value()),
        _ => None,
    }
}
