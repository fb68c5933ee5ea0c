//! gRPC: RocketMQ's `MessagingService`, for the clients of its fifth version.
//!
//! A call passes through in four steps: its metadata become a `context`, its names are checked (`names`),
//! it is turned into a request of `broker` and asked of the [`Service`], and the answer is turned back. One
//! verb is one file. A refusal of the broker becomes a code in `status`, which knows them all; a unary call
//! that is refused still ends well for gRPC, the refusal stands in the answer.
//!
//! What a client says of itself over its telemetry stream is kept in `clients`, a table with a limit and an
//! end: who is silent for two minutes and has no stream is forgotten, and with it its place in its groups.
//!
//! This room decides nothing about messages: it knows no queue, no lease and no timer, only how they are
//! spoken of. It opens no socket; the server hands in streams that are accepted, and free of TLS, already.

mod accepted;
mod ack;
mod assignment;
mod change_invisible;
mod clients;
mod context;
mod dead_letter;
mod end_transaction;
#[cfg(test)]
mod fake;
mod heartbeat;
mod message;
mod names;
mod offset;
mod pull;
mod question;
mod recall;
mod receive;
mod renewal;
mod route;
mod send;
mod settings;
mod status;
mod telemetry;
mod termination;
mod time;

pub use accepted::Accepted;
pub use settings::{Host, Settings};

use crate::clients::Clients;
use crate::context::Context;
use crate::renewal::Renewals;
use crate::status::Refused;
use futures_util::Stream;
use futures_util::stream::BoxStream;
use proto::v2;
use proto::v2::messaging_service_server::{MessagingService, MessagingServiceServer};
use service::Service;
use std::convert::Infallible;
use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;
use tonic::transport::Server;
use tonic::{Request, Response, Status, Streaming};

/// The largest call taken, in bytes, unless one message of the largest size needs more.
const INBOUND_MAX: usize = 16 << 20;

/// What a message may need besides its body.
const INBOUND_ROOM: usize = 1 << 20;

/// Calls at once on one connection; more wait at the client.
const STREAMS_MAX: u32 = 1024;

/// How often a connection without traffic is asked whether anybody is still there, and how long that may take.
const PING_EVERY: Duration = Duration::from_mins(1);
const PONG_WITHIN: Duration = Duration::from_secs(30);

/// How often clients that fell silent are looked for.
const EXPIRE_EVERY: Duration = Duration::from_secs(5);

/// How long open calls have to end, once the server stops.
const GRACE: Duration = Duration::from_secs(3);

/// The gRPC front. Cheap to clone: all clones are the same front.
#[derive(Clone)]
pub struct Proxy {
    service: Arc<dyn Service>,
    settings: Arc<Settings>,
    clients: Arc<Clients>,
    renewals: Arc<Mutex<Renewals>>,
    stopping: CancellationToken,
}

/// Why serving ended before it was told to.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The transport gave up.
    #[error("serving gRPC")]
    Transport(#[from] tonic::transport::Error),
}

impl Proxy {
    /// A front before `service`.
    pub fn new(service: Arc<dyn Service>, settings: Settings) -> Self {
        let clients = Arc::new(Clients::new(Arc::clone(&service), settings.clients_max));
        let (settings, renewals) = (Arc::new(settings), Arc::default());
        Self { service, settings, clients, renewals, stopping: CancellationToken::new() }
    }

    /// Serves the streams of `incoming` until `shutdown` is cancelled or `incoming` ends.
    ///
    /// On `shutdown`, long polls and telemetry streams end at once; other calls have three seconds. Pings are
    /// answered however many there are, and an idle connection is never closed while its client answers ours.
    ///
    /// # Errors
    /// Where the transport itself fails. An error in `incoming`, or of one connection, ends nothing else.
    pub async fn serve<IO>(
        self,
        incoming: impl Stream<Item = io::Result<Accepted<IO>>>,
        shutdown: CancellationToken,
    ) -> Result<(), ServeError>
    where
        IO: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let stopping = self.stopping.clone();
        let clients = Arc::clone(&self.clients);
        let renewing = renewal::renew(self.clone());
        let inbound_max = INBOUND_MAX.max(self.settings.body_max.saturating_add(INBOUND_ROOM));
        let verbs = MessagingServiceServer::new(self).max_decoding_message_size(inbound_max);
        let serving = Server::builder()
            .max_concurrent_streams(STREAMS_MAX)
            .http2_keepalive_interval(Some(PING_EVERY))
            .http2_keepalive_timeout(Some(PONG_WITHIN))
            .add_service(verbs)
            .serve_with_incoming_shutdown(incoming, shutdown.clone().cancelled_owned());
        let stop = async {
            shutdown.cancelled().await;
            stopping.cancel();
            tokio::time::sleep(GRACE).await;
        };
        tokio::select! {
            served = serving => {
                stopping.cancel();
                Ok(served?)
            }
            () = stop => Ok(()),
            never = expire(&clients) => match never {},
            never = renewing => match never {},
        }
    }
}

/// Forgets clients that fell silent, for ever.
async fn expire(clients: &Clients) -> Infallible {
    let mut every = tokio::time::interval(EXPIRE_EVERY);
    every.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        every.tick().await;
        clients.expire(tokio::time::Instant::now());
    }
}

/// Answers a unary call: a refusal stands in the answer's status, and the call itself ends well.
macro_rules! unary {
    ($proxy:ident, $request:ident, $verb:path, $answer:ident) => {{
        let context = Context::of(&$request);
        let answered = match context {
            Ok(context) => $verb($proxy, &context, $request.into_inner()).await,
            Err(refused) => Err(refused),
        };
        Ok(Response::new(answered.unwrap_or_else(|refused: Refused| {
            tracing::debug!(answer = stringify!($answer), code = ?refused.code, why = refused.text, "call refused");
            let mut answer = v2::$answer::default();
            answer.status = Some(refused.into());
            answer
        })))
    }};
}

#[async_trait::async_trait]
impl MessagingService for Proxy {
    type ReceiveMessageStream = BoxStream<'static, Result<v2::ReceiveMessageResponse, Status>>;
    type PullMessageStream = BoxStream<'static, Result<v2::PullMessageResponse, Status>>;
    type TelemetryStream = BoxStream<'static, Result<v2::TelemetryCommand, Status>>;

    async fn query_route(
        &self,
        request: Request<v2::QueryRouteRequest>,
    ) -> Result<Response<v2::QueryRouteResponse>, Status> {
        unary!(self, request, route::route, QueryRouteResponse)
    }

    async fn heartbeat(
        &self,
        request: Request<v2::HeartbeatRequest>,
    ) -> Result<Response<v2::HeartbeatResponse>, Status> {
        unary!(self, request, heartbeat::heartbeat, HeartbeatResponse)
    }

    async fn send_message(
        &self,
        request: Request<v2::SendMessageRequest>,
    ) -> Result<Response<v2::SendMessageResponse>, Status> {
        unary!(self, request, send::send, SendMessageResponse)
    }

    async fn query_assignment(
        &self,
        request: Request<v2::QueryAssignmentRequest>,
    ) -> Result<Response<v2::QueryAssignmentResponse>, Status> {
        unary!(self, request, assignment::assignment, QueryAssignmentResponse)
    }

    async fn receive_message(
        &self,
        request: Request<v2::ReceiveMessageRequest>,
    ) -> Result<Response<Self::ReceiveMessageStream>, Status> {
        let context = Context::of(&request);
        Ok(Response::new(Box::pin(receive::receive(self.clone(), context, request.into_inner()))))
    }

    async fn ack_message(
        &self,
        request: Request<v2::AckMessageRequest>,
    ) -> Result<Response<v2::AckMessageResponse>, Status> {
        unary!(self, request, ack::ack, AckMessageResponse)
    }

    async fn forward_message_to_dead_letter_queue(
        &self,
        request: Request<v2::ForwardMessageToDeadLetterQueueRequest>,
    ) -> Result<Response<v2::ForwardMessageToDeadLetterQueueResponse>, Status> {
        unary!(self, request, dead_letter::dead_letter, ForwardMessageToDeadLetterQueueResponse)
    }

    async fn pull_message(
        &self,
        request: Request<v2::PullMessageRequest>,
    ) -> Result<Response<Self::PullMessageStream>, Status> {
        let context = Context::of(&request);
        Ok(Response::new(Box::pin(pull::pull(self.clone(), context, request.into_inner()))))
    }

    async fn update_offset(
        &self,
        request: Request<v2::UpdateOffsetRequest>,
    ) -> Result<Response<v2::UpdateOffsetResponse>, Status> {
        unary!(self, request, offset::update, UpdateOffsetResponse)
    }

    async fn get_offset(
        &self,
        request: Request<v2::GetOffsetRequest>,
    ) -> Result<Response<v2::GetOffsetResponse>, Status> {
        unary!(self, request, offset::get, GetOffsetResponse)
    }

    async fn query_offset(
        &self,
        request: Request<v2::QueryOffsetRequest>,
    ) -> Result<Response<v2::QueryOffsetResponse>, Status> {
        unary!(self, request, offset::query, QueryOffsetResponse)
    }

    async fn end_transaction(
        &self,
        request: Request<v2::EndTransactionRequest>,
    ) -> Result<Response<v2::EndTransactionResponse>, Status> {
        unary!(self, request, end_transaction::end_transaction, EndTransactionResponse)
    }

    async fn telemetry(
        &self,
        request: Request<Streaming<v2::TelemetryCommand>>,
    ) -> Result<Response<Self::TelemetryStream>, Status> {
        let context = Context::of(&request).map_err(Status::from)?;
        Ok(Response::new(Box::pin(telemetry::telemetry(self.clone(), context, request.into_inner()))))
    }

    async fn notify_client_termination(
        &self,
        request: Request<v2::NotifyClientTerminationRequest>,
    ) -> Result<Response<v2::NotifyClientTerminationResponse>, Status> {
        unary!(self, request, termination::termination, NotifyClientTerminationResponse)
    }

    async fn change_invisible_duration(
        &self,
        request: Request<v2::ChangeInvisibleDurationRequest>,
    ) -> Result<Response<v2::ChangeInvisibleDurationResponse>, Status> {
        unary!(self, request, change_invisible::change_invisible, ChangeInvisibleDurationResponse)
    }

    async fn recall_message(
        &self,
        request: Request<v2::RecallMessageRequest>,
    ) -> Result<Response<v2::RecallMessageResponse>, Status> {
        unary!(self, request, recall::recall, RecallMessageResponse)
    }

    async fn sync_lite_subscription(
        &self,
        _: Request<v2::SyncLiteSubscriptionRequest>,
    ) -> Result<Response<v2::SyncLiteSubscriptionResponse>, Status> {
        Err(Status::unimplemented("SyncLiteSubscription is not served: there are no lite topics here"))
    }
}
