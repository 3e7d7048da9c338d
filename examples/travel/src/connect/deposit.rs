//! A page of the agency's own: a deposit is paid on it, by the person alone who was asked to.

use askback_connect::{Connections, PageVisit};
use http::{HeaderMap, Method, Request, StatusCode};
use http_body::Body;

use super::web::{Answer, Escaped, Fields, empty, page};

/// Where the page is.
pub(super) const PATH: &str = "/deposit";

/// The path of the page for a booking. Its reference and the amount are the agency's: at any other path and query, nobody
/// was asked.
pub(super) fn path(reference: &str, amount: u32) -> String {
    format!("{PATH}?booking={reference}&amount={amount}")
}

/// Shows the page, and takes the form on it.
pub(super) async fn respond<B: Body>(connections: &Connections, request: Request<B>) -> Answer
where
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let (parts, body) = request.into_parts();
    let query = Fields::of_query(parts.uri.query().unwrap_or_default());
    let Ok(visit) = connections.asked(&parts).await else {
        return not_yours();
    };
    match parts.method {
        Method::GET => shown(&visit, &query).await,
        Method::POST => match Fields::of_form(&parts.headers, body).await {
            Some(form) => paid(visit, &parts.headers, &form).await,
            None => empty(StatusCode::UNSUPPORTED_MEDIA_TYPE),
        },
        _ => empty(StatusCode::METHOD_NOT_ALLOWED),
    }
}

async fn shown(visit: &PageVisit, query: &Fields) -> Answer {
    let Ok(token) = visit.token().await else {
        return empty(StatusCode::INTERNAL_SERVER_ERROR);
    };
    let (booking, amount) = (query.text("booking"), query.text("amount"));
    // The form goes to the address that it stands at.
    let body = format!(
        "<p>Booking {}: {} USD.</p>\n<p>This is a demonstration. No money moves.</p>\n\
         <form method=\"post\">\n<input type=\"hidden\" name=\"token\" value=\"{}\">\n\
         <button>Pay {} USD</button>\n</form>\n\
         <p>To pay nothing, close this page and decline in your client.</p>",
        Escaped(booking),
        Escaped(amount),
        Escaped(&token),
        Escaped(amount)
    );
    page(StatusCode::OK, "Pay the deposit?", &body, "")
}

async fn paid(visit: PageVisit, headers: &HeaderMap, form: &Fields) -> Answer {
    // No money moves between the two; where it does, it is released if it fails.
    let claimed = visit.claim(headers, form.text("token")).await;
    let done = match claimed {
        Ok(claim) => claim.done().await,
        Err(refused) => Err(refused),
    };
    match done {
        Ok(()) => {
            let body = "<p>You can close this page and go back to your client.</p>";
            page(StatusCode::OK, "The deposit is paid", body, "")
        }
        Err(_) => not_yours(),
    }
}

/// Whatever is wrong with a visitor, the page says the same.
fn not_yours() -> Answer {
    let body = "<p>Its link was used, is too old, or is somebody else's. \
                Go back to your client and start again there.</p>";
    page(StatusCode::FORBIDDEN, "This page is not for you", body, "")
}
