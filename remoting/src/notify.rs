//! Notify: what a client hears without having asked.

use broker::Notice;
use bytes::Bytes;
use wire::remoting::notify::ConsumersChanged;
use wire::remoting::{Command, Fields, Language, RequestCode};

/// The request that tells of `notice`; none is answered, so its number is of use to logs alone.
pub(crate) fn request(notice: Notice, number: i32) -> Command {
    let (code, ext) = match notice {
        Notice::ConsumersChanged { group } => {
            let mut ext = Fields::new();
            ConsumersChanged { group: group.to_string() }.write(&mut ext);
            (RequestCode::NotifyConsumerIdsChanged, ext)
        }
    };
    let mut command = Command::request(code, ext, Bytes::new()).one_way();
    command.opaque = number;
    command.language = Language::Java;
    command
}
