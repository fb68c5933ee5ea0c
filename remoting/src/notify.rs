//! Notify: what a client hears without having asked.

use broker::{Check, Notice};
use bytes::Bytes;
use std::net::SocketAddr;
use wire::message_id;
use wire::remoting::notify::ConsumersChanged;
use wire::remoting::{Command, Fields, Language, RequestCode, transaction};
use wire::stored::View;

/// The request that tells of `notice`; none is answered, so its number is of use to logs alone.
pub(crate) fn request(notice: Notice, number: i32, store_host: SocketAddr) -> Command {
    let mut ext = Fields::new();
    let (code, body) = match notice {
        Notice::ConsumersChanged { group } => {
            ConsumersChanged { group: group.to_string() }.write(&mut ext);
            (RequestCode::NotifyConsumerIdsChanged, Bytes::new())
        }
        Notice::CheckTransaction(check) => {
            header(&check, store_host).write(&mut ext);
            (RequestCode::CheckTransactionState, check.message)
        }
    };
    let mut command = Command::request(code, ext, body).one_way();
    command.opaque = number;
    command.language = Language::Java;
    command
}

fn header(check: &Check, store_host: SocketAddr) -> transaction::Check {
    transaction::Check {
        topic: View::parse(&check.message).ok().map(|view| view.topic().to_owned()),
        queue_offset: check.queue_offset.0,
        log_offset: check.log_offset.0 as i64,
        message_id: Some(check.unique_key.clone()),
        transaction_id: Some(check.unique_key.clone()),
        offset_message_id: Some(message_id::encode(store_host, check.log_offset)),
    }
}
