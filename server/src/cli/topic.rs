//! `duemq topic create`.

use super::{CreateTopic, Kind, reach};
use crate::exit::{Exit, Failure};
use anyhow::anyhow;
use model::{Permission, TopicKind, TopicName};
use wire::remoting::topic::Header;

/// Makes the topic on every broker that the name server knows.
pub fn create(args: &CreateTopic) -> Result<(), Failure> {
    let topic = TopicName::new(&args.name).map_err(reach::wrong)?;
    let kind = TopicKind::from(args.kind);
    let queues = i32::try_from(args.queues).expect("the command line takes 1024 at most");
    let header = Header {
        topic: topic.to_string(),
        default_topic: Some("TBW102".to_owned()),
        read_queues: queues,
        write_queues: queues,
        permission: Permission::READ_WRITE.0 as i32,
        filter_type: Some("SINGLE_TAG".to_owned()),
        sys_flag: Some(0),
        order: false,
        attributes: Some(format!("+message.type={}", kind.as_str())),
    };
    reach::run(async {
        let names = reach::name_server(&args.server).await?;
        let cluster = names.cluster().await.map_err(reach::refused)?;
        if cluster.broker_addr_table.is_empty() {
            return Err(Failure::new(
                Exit::NoServer,
                anyhow!("the name server at {} knows no broker", args.server.namesrv),
            ));
        }
        for broker in cluster.broker_addr_table.values() {
            let client = reach::broker(reach::master(broker)?).await?;
            client.create_topic(&header).await.map_err(reach::refused)?;
            let (broker, kind) = (&broker.broker_name, kind.as_str());
            reach::say(&format!("topic {topic} on broker {broker}: {kind} messages, {queues} queues\n"))?;
        }
        Ok(())
    })
}

impl From<Kind> for TopicKind {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::Normal => Self::Normal,
            Kind::Delay => Self::Delay,
            Kind::Fifo => Self::Fifo,
            Kind::Transaction => Self::Transaction,
            Kind::Mixed => Self::Mixed,
        }
    }
}
