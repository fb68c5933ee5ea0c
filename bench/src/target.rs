//! The server that is measured: how to reach it, and what it uses.

use crate::machine::Used;
use anyhow::{Context as _, bail};
use client::Client;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use wire::remoting::topic::Header;

/// Queues of each topic that is made.
pub const QUEUES: i32 = 8;

/// How long a new topic may take until it has a route.
const ROUTE: Duration = Duration::from_secs(30);

/// Where the server is, and how it is called in results.
#[derive(Clone, Debug, clap::Args)]
pub struct Target {
    /// The name server.
    #[arg(long, global = true, default_value = "127.0.0.1:9876", env = "NAMESRV")]
    pub namesrv: String,
    /// The gRPC endpoint, plaintext.
    #[arg(long, global = true, default_value = "127.0.0.1:8081", env = "GRPC")]
    pub grpc: String,
    /// The processes of the server, whose processor time and memory are told.
    #[arg(long, global = true, value_delimiter = ',', env = "SERVER_PID")]
    pub pid: Vec<u32>,
    /// The server's data folder, whose size is told, and on whose disk the machine's own speed is measured.
    #[arg(long, global = true, env = "SERVER_DATA")]
    pub data: Option<PathBuf>,
    /// What the server is called in results.
    #[arg(long, global = true, default_value = "duemq")]
    pub label: String,
}

/// A topic made for one run, and its broker's address.
#[derive(Debug)]
pub struct Topic {
    /// Its name.
    pub name: String,
    /// The broker that has it.
    pub broker: String,
    /// That broker's address, `host:port`.
    pub address: String,
}

impl Target {
    /// Makes a topic of a kind (`NORMAL`, `DELAY`) that no other run uses, and waits until it has a route.
    pub async fn topic(&self, purpose: &str, kind: &str) -> anyhow::Result<Topic> {
        let names = Client::connect(self.namesrv.as_str())
            .await
            .with_context(|| format!("no name server at {}", self.namesrv))?;
        let cluster = names.cluster().await?;
        let brokers = cluster.broker_addr_table;
        let Some((broker, data)) = brokers.iter().next() else { bail!("no broker at {}", self.namesrv) };
        let Some(address) = data.broker_addrs.get(&0) else { bail!("broker {broker} has no master") };
        let name = format!("bench_{purpose}_{:x}", crate::machine::now_us());
        let header = Header {
            topic: name.clone(),
            default_topic: Some("TBW102".to_owned()),
            read_queues: QUEUES,
            write_queues: QUEUES,
            permission: 6,
            filter_type: Some("SINGLE_TAG".to_owned()),
            sys_flag: Some(0),
            order: false,
            attributes: Some(format!("+message.type={kind}")),
        };
        connect(address).await?.create_topic(&header).await?;
        let begin = Instant::now();
        while names.route(&name).await?.is_none_or(|route| route.queue_datas.is_empty()) {
            if begin.elapsed() > ROUTE {
                bail!("topic {name} has no route after {} s", ROUTE.as_secs());
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Ok(Topic { name, broker: broker.clone(), address: address.clone() })
    }

    /// What the server has used so far.
    pub fn used(&self) -> Used {
        Used::by(&self.pid)
    }

    /// A folder on the server's disk.
    pub fn disk(&self) -> PathBuf {
        self.data.clone().unwrap_or_else(|| PathBuf::from("."))
    }
}

/// Connects to a broker, for calls that may take long under load.
pub async fn connect(address: &str) -> anyhow::Result<Client> {
    let client = Client::connect(address).await.with_context(|| format!("no broker at {address}"))?;
    Ok(client.with_timeout(Duration::from_secs(60)))
}
