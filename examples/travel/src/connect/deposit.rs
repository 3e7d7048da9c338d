//! The agency's own page, on which only the user who was asked can pay a deposit.

use askback_connect::{Connections, PageVisit};
use http::{HeaderMap, Method, Request, StatusCode};
use http_body::Body;

use super::web::{Answer, Escaped, Fields, empty, page};

pub(super) const PATH: &str = "/deposit";

/// Returns the path of the page for a booking. The user is asked to open exactly this path and query, so that they
/// cannot change the reference or the amount.
pub(super) fn path(reference: &str, amount: u32) -> String {
    format!("{PATH}?booking={reference}&amount={amount}")
}

/// Shows the page, and handles its form.
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
    // The form has no action, so it is sent to the page's URL.
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
    // No money moves here. In a real payment, release the claim if the payment fails.
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

/// The page has the same message for every kind of invalid visit.
fn not_yours() -> Answer {
    let body = "<p>Its link was used, is too old, or is somebody else's. \
                Go back to your client and start again there.</p>";
    page(StatusCode::FORBIDDEN, "This page is not for you", body, "")
}
