//! Pending: what waits for its moment. Requests of this project's own.

use crate::pull::messages;
use crate::{AskError, Client, Delivered};
use bytes::Bytes;
use wire::remoting::pending::{
    Counts, Histogram, List, Listed, RecallByKey, Recalled, Reschedule, Rescheduled, Stretches,
};
use wire::remoting::{RequestCode, ResponseCode, json};

impl Client {
    /// A page of the messages that wait, in the order in which they will leave, and where the next page begins.
    pub async fn list_pending(&self, which: &List) -> Result<(Vec<Delivered>, Listed), AskError> {
        let good = [ResponseCode::Success];
        let (_, answer) =
            self.ask(RequestCode::ListPending, |ext| which.write(ext), Bytes::new(), &good).await?;
        let next = Listed::read(&answer.ext)?;
        Ok((messages(answer.body)?, next))
    }

    /// How many messages wait, by topic.
    pub async fn count_pending(&self) -> Result<Counts, AskError> {
        let good = [ResponseCode::Success];
        let (_, answer) = self.ask(RequestCode::CountPending, |_| {}, Bytes::new(), &good).await?;
        Ok(json::read(&answer.body)?)
    }

    /// Calls back what waits under a key.
    pub async fn recall_by_key(&self, which: &RecallByKey) -> Result<Recalled, AskError> {
        let good = [ResponseCode::Success];
        let (_, answer) =
            self.ask(RequestCode::RecallByKey, |ext| which.write(ext), Bytes::new(), &good).await?;
        Ok(json::read(&answer.body)?)
    }

    /// Gives what waits under a key another moment.
    pub async fn reschedule(&self, which: &Reschedule) -> Result<Rescheduled, AskError> {
        let good = [ResponseCode::Success];
        let (_, answer) =
            self.ask(RequestCode::Reschedule, |ext| which.write(ext), Bytes::new(), &good).await?;
        Ok(json::read(&answer.body)?)
    }

    /// How many messages are due in each stretch of time, and where the next answer begins.
    pub async fn histogram(&self, which: &Histogram) -> Result<(Stretches, Listed), AskError> {
        let good = [ResponseCode::Success];
        let (_, answer) =
            self.ask(RequestCode::PendingHistogram, |ext| which.write(ext), Bytes::new(), &good).await?;
        Ok((json::read(&answer.body)?, Listed::read(&answer.ext)?))
    }
}
