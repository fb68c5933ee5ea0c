//! What a verb answers with, before it is a frame.

use bytes::Bytes;
use model::NameError;
use service::Unavailable;
use wire::remoting::{BodyError, Command, FieldError, Fields, ResponseCode};

/// An answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub code: ResponseCode,
    pub remark: Option<String>,
    pub ext: Fields,
    /// The body, in parts.
    pub body: Vec<Bytes>,
    /// What is said in its place where the client has too much to read already; `None`: that the server is busy.
    pub instead: Option<Box<Answer>>,
}

/// A command on its way to the client.
#[derive(Debug)]
pub(crate) struct Outgoing {
    pub command: Command,
    /// Its body, in parts.
    pub body: Vec<Bytes>,
    /// What is said in its place where the client has too much to read already; `None` where it is small.
    pub instead: Option<Command>,
}

/// Bytes of a body that is said however much the client has to read: there are no more of them than requests.
const SMALL_BYTES: usize = 4 << 10;

/// An answer that is nothing but an error.
#[derive(Clone, Debug)]
pub(crate) struct Refused {
    pub code: ResponseCode,
    pub remark: String,
}

/// What a verb gives.
pub(crate) type Answered = Result<Answer, Refused>;

impl Answer {
    /// Code 0, and nothing else.
    pub fn success() -> Self {
        Self {
            code: ResponseCode::Success,
            remark: None,
            ext: Fields::new(),
            body: Vec::new(),
            instead: None,
        }
    }

    /// Code 0 and a body.
    pub fn with_body(body: Bytes) -> Self {
        Self { body: vec![body], ..Self::success() }
    }

    /// Code 0 and the fields that `write` sets.
    pub fn with_fields(write: impl FnOnce(&mut Fields)) -> Self {
        let mut answer = Self::success();
        write(&mut answer.ext);
        answer
    }

    /// The command that answers the request `blank` was made for.
    pub fn into_command(mut self, blank: Command) -> Outgoing {
        let body = std::mem::take(&mut self.body);
        let instead = (body.iter().map(Bytes::len).sum::<usize>() > SMALL_BYTES).then(|| {
            let busy = || Self { code: ResponseCode::SystemBusy, ..Self::success() };
            self.instead.take().map_or_else(busy, |instead| *instead).filled(blank.clone())
        });
        Outgoing { command: self.filled(blank), body, instead }
    }

    fn filled(self, mut blank: Command) -> Command {
        blank.code = self.code.number();
        blank.remark = self.remark;
        blank.ext = self.ext;
        blank
    }
}

impl From<Refused> for Answer {
    fn from(refused: Refused) -> Self {
        Self { code: refused.code, remark: Some(refused.remark), ..Self::success() }
    }
}

impl Refused {
    /// An error with that code, saying `why`.
    pub fn new(code: ResponseCode, why: &impl ToString) -> Self {
        Self { code, remark: why.to_string() }
    }

    /// A name breaks the rules, which `code` says for this verb.
    pub fn name(code: ResponseCode) -> impl FnOnce(NameError) -> Self {
        move |error| Self::new(code, &error)
    }
}

/// Peer: an exception while a header is read answers 1.
impl From<FieldError> for Refused {
    fn from(error: FieldError) -> Self {
        Self::new(ResponseCode::SystemError, &error)
    }
}

/// Peer: an exception while a body is read answers 1.
impl From<BodyError> for Refused {
    fn from(error: BodyError) -> Self {
        Self::new(ResponseCode::SystemError, &error)
    }
}

impl From<Unavailable> for Refused {
    fn from(unavailable: Unavailable) -> Self {
        let code = match unavailable {
            Unavailable::Busy => ResponseCode::SystemBusy,
            Unavailable::Stopping => ResponseCode::ServiceNotAvailable,
        };
        Self::new(code, &unavailable)
    }
}
