//! Answers the requests of a connection: an endpoint with its side services, or pages alone.

use std::sync::Arc;

use askback_core::limits::Limits;
use http::{Request, Response, StatusCode};

use super::{
    body::Body,
    health::Health,
    response,
    service::Service,
    side_services::{ConnectionEnds, Outgoing, RequestBody, SideServices},
    stop::Stop,
};

#[derive(Clone)]
pub(super) struct Responder {
    limits: Arc<Limits>,
    stop: Stop,
    endpoint: Option<(Service, Arc<str>)>,
    health: Option<Health>,
    beside: SideServices,
}

pub(super) enum Answer {
    Ours(Body),
    Beside(Outgoing),
}

impl Responder {
    pub(super) fn of_endpoint(service: Service, path: &str, beside: SideServices) -> Self {
        Self {
            limits: Arc::clone(service.shared().limits()),
            stop: service.stop().clone(),
            endpoint: Some((service, path.into())),
            health: None,
            beside,
        }
    }

    pub(super) fn of_pages(pages: SideServices, limits: &Limits) -> Self {
        Self {
            limits: Arc::new(limits.clone()),
            stop: Stop::default(),
            endpoint: None,
            health: None,
            beside: pages,
        }
    }

    pub(super) fn with_health(mut self, health: Health) -> Self {
        self.health = Some(health);
        self
    }

    pub(super) fn limits(&self) -> &Limits {
        &self.limits
    }

    pub(super) fn stop(&self) -> &Stop {
        &self.stop
    }

    pub(super) fn is_of_fleet(&self) -> bool {
        let service = self.endpoint.as_ref().map(|(service, _)| service);
        service.is_some_and(|service| service.shared().fleet.is_some())
    }

    pub(super) async fn respond(
        &self,
        mut request: Request<RequestBody>,
        ends: ConnectionEnds,
    ) -> Response<Answer> {
        let asked = request.uri().path();
        if let Some((service, path)) = &self.endpoint
            && (asked == &**path || service.serves(asked))
        {
            return service.respond(request).await.map(Answer::Ours);
        }
        if let Some(health) = &self.health
            && Health::serves(asked)
        {
            let answered = health.respond(request.method(), asked).await;
            return answered.map(Answer::Ours);
        }
        let Some(answers) = self.beside.at(asked) else {
            let why = match &self.endpoint {
                Some((_, path)) => format!("not found; the endpoint is {path}"),
                None => "not found".to_owned(),
            };
            return response::refusal(StatusCode::NOT_FOUND, why).map(Answer::Ours);
        };
        let endpoint = self.endpoint.as_ref();
        if let Some(refusal) = endpoint.and_then(|(service, _)| service.refuse_host(&request)) {
            return refusal.map(Answer::Ours);
        }
        request.extensions_mut().insert(ends);
        answers(request).await.map(Answer::Beside)
    }
}
